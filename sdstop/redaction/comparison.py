"""Comparison of the readings of original and redacted evidence, ignoring names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import cache

from sdstop.core.model import Name, Reading, schema
from sdstop.core.snapshot import Run, Snapshot, is_derived

Shown = Callable[[Name, str], str]
"""Function that returns the replacement of a name of a kind."""
_UNCOMPARED = frozenset({Name.TEXT, Name.EVIDENCE})


def differing(before: Snapshot, after: Snapshot, shown: Shown, same: Shown) -> set[str]:
    """Return the families and the collectors that differ between two snapshots.

    Names are mapped before the comparison: those of the first snapshot by `shown`, those of the second by `same`.
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
        if is_derived(rows):  # derived from other tables
            continue
        fields = _fields(family)
        others = after.tables.get(family, {})
        wanted = Counter(_row(row, fields, shown) for row in rows.values())
        if wanted != Counter(_row(row, fields, same) for row in others.values()):
            wrong.add(family.family)
    return wrong


_Fields = tuple[tuple[str, ...], tuple[tuple[str, Name], ...]]
"""Names of the fields without names of things; names and kinds of the others that are compared."""


@cache
def _fields(family: type[Reading]) -> _Fields:
    columns = schema(family).columns
    plain = tuple(column.name for column in columns if column.names is None)
    kinds = ((column.name, column.names) for column in columns)
    return plain, tuple((name, kind) for name, kind in kinds if kind is not None and kind not in _UNCOMPARED)


def _row(row: Reading, fields: _Fields, shown: Shown) -> tuple[Hashable, ...]:
    """Return a row's values in a comparable form.

    Names are mapped by `shown` and sorted, because the order of a pair's ends can depend on their names.
    """
    plain = tuple([_plain(getattr(row, name)) for name in fields[0]])
    named = [(kind, getattr(row, name)) for name, kind in fields[1]]
    names = sorted([name for kind, value in named if value is not None for name in _shown(kind, value, shown)])
    return plain, tuple(names)


def _plain(value: object) -> Hashable:
    if isinstance(value, dict):
        return tuple(value.items())
    hashable: Hashable = value if getattr(value, "__hash__", None) else repr(value)
    return hashable


def _shown(kind: Name, value: str, shown: Shown) -> list[str]:
    """Return the mapped names of a field, which may be a comma-separated list."""
    return shown(kind, value).replace(" ", "").split(",")
