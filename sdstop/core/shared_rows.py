"""Shared rows: rows that a source reads alike again and again are one object, and so are equal values of many rows."""

from __future__ import annotations

import enum
import operator
from collections.abc import Hashable, MutableMapping
from typing import Any

from msgspec.structs import astuple, force_setattr

from sdstop.core.columns import Columns
from sdstop.core.model import Reading, Rows

_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
_MANY = 64
"""Rows of a table from which equal values of new rows are one object."""


def share(rows: MutableMapping[Hashable, Reading], before: Rows) -> Rows:
    """Replace rows by those with the same key in a table of the run before, if they are exactly equal; return a table.

    If all are, in the same order, it is the table of the run before. Of the others, equal texts and integers become
    one object: a thousand disks have the same driver and block size.
    """
    if isinstance(before, Columns):
        return rows
    same: dict[str | int, str | int] | None = {} if len(rows) >= _MANY else None
    for key, row in rows.items():
        known = before.get(key)
        if known is not None and known == row and type(known) is type(row):
            old, new = astuple(known), astuple(row)
            kinds = list(map(type, new))
            if kinds == list(map(type, old)) and (_PLAIN.issuperset(kinds) or all(map(_is_same, old, new))):
                rows[key] = known
                continue
        if same is not None:
            _share_values(row, same)
    is_same = len(rows) == len(before) and all(map(operator.is_, rows.values(), before.values()))
    return before if is_same else rows


def _share_values(row: Reading, same: dict[str | int, str | int]) -> None:
    for name, value in zip(row.__struct_fields__, astuple(row), strict=True):
        if type(value) is str or type(value) is int:
            known = same.setdefault(value, value)
            if known is not value:
                force_setattr(row, name, known)  # an equal value: for readers the row does not change


def _is_same(old: Any, new: Any) -> bool:
    """Return whether equal values are of the same types: 1 and 1.0 are equal, but not shown alike."""
    kind = type(old)
    if kind is not type(new):
        return False
    if kind in _PLAIN or old is new:
        return True
    if kind is tuple:
        return all(map(_is_same, old, new))
    return isinstance(old, enum.Enum)
