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
    """Return the families, and the collectors, of which one snapshot says something else than the other.

    Names of the first are compared as they are `shown`, those of the second as what is the `same`.
    """
    wrong: set[str] = set()
    for name, run in before.runs.items():
        other = after.runs.get(name)
        if other is None or other.outcome is not run.outcome:
            wrong.add(name)
        else:
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
    """Return a row's values in a form that can be compared: names as they are shown, of a list in any order."""
    return tuple(
        _value(column, getattr(row, column.name), shown) for column in columns if column.names not in _UNCOMPARED
    )


def _value(column: Column, value: object, shown: Shown) -> Hashable:
    if isinstance(value, dict):
        return tuple(value.items())
    if column.names is None or not isinstance(value, str):
        return value if isinstance(value, Hashable) else repr(value)
    return tuple(sorted(shown(column.names, value).replace(" ", "").split(",")))
