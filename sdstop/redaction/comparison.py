"""Comparison: whether redacted evidence gives the same readings, but for the names in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

from sdstop.core.model import Column, Name, Reading, schema
from sdstop.core.snapshot import Derived, Run, Snapshot

Shown = Callable[[Name, str], str]
"""What stands for a name of a kind."""
_UNCOMPARED = frozenset({Name.TEXT, Name.EVIDENCE})


def differing(before: Snapshot, after: Snapshot, shown: Shown, same: Shown) -> set[str]:
    """Return the families, and the collectors, of which the second snapshot says something else than the first.

    Names of the first are compared as they are `shown`, those of the second as what is the `same`.
    """
    wrong: set[str] = set()
    for name, run in before.runs.items():
        other = after.runs.get(name)
        if run.ok and (other is None or not other.ok):
            wrong.add(name)
        elif run.ok and other is not None:
            wrong |= _tables(run, other, shown, same)
    return wrong


def _tables(before: Run, after: Run, shown: Shown, same: Shown) -> set[str]:
    wrong = set()
    for family, rows in before.tables.items():
        if isinstance(rows, Derived):  # they follow from the others
            continue
        columns = schema(family).columns
        others = after.tables.get(family, {})
        wanted = Counter(_row(row, columns, shown) for row in rows.values())
        if wanted != Counter(_row(row, columns, same) for row in others.values()):
            wrong.add(family.family)
    return wrong


def _row(row: Reading, columns: tuple[Column, ...], shown: Shown) -> tuple[Hashable, ...]:
    """Return a row's values in a form that can be compared.

    Names are as they are shown, in any order: which end of a pair comes first may be decided by what they are called.
    """
    plain = tuple(_plain(getattr(row, column.name)) for column in columns if column.names is None)
    named = [(c.names, getattr(row, c.name)) for c in columns if c.names is not None and c.names not in _UNCOMPARED]
    names = sorted(name for kind, value in named if value is not None for name in _shown(kind, value, shown))
    return plain, tuple(names)


def _plain(value: object) -> Hashable:
    if isinstance(value, dict):
        return tuple(value.items())
    hashable: Hashable = value if getattr(value, "__hash__", None) else repr(value)
    return hashable


def _shown(kind: Name, value: str, shown: Shown) -> list[str]:
    """Return the names of a field, which may be a list with commas."""
    return shown(kind, value).replace(" ", "").split(",")
