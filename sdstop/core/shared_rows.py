"""Shared rows: rows that a source reads alike again and again are one object."""

from __future__ import annotations

import enum
from collections.abc import Hashable, MutableMapping
from typing import Any

from msgspec.structs import astuple

from sdstop.core.columns import Columns
from sdstop.core.model import Reading, Rows

_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})


def share(rows: MutableMapping[Hashable, Reading], before: Rows) -> None:
    """Replace rows by those with the same key in a table of the run before, if they are exactly equal."""
    if not before or isinstance(before, Columns):
        return
    for key, row in rows.items():
        known = before.get(key)
        if known is not None and known == row and type(known) is type(row):
            old, new = astuple(known), astuple(row)
            kinds = list(map(type, new))
            if kinds == list(map(type, old)) and (_PLAIN.issuperset(kinds) or all(map(_is_same, old, new))):
                rows[key] = known


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
