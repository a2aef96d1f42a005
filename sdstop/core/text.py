"""Numbers and words parsed from foreign text and JSON. Missing, malformed or too large values are None, never 0."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import TypeVar

DIGITS = 20
"""Decimal digits of the largest counter printed by the kernel (64 bits)."""

Number = TypeVar("Number", int, float)


def is_whole(word: str, digits: int = DIGITS) -> bool:
    """Return whether a word is an unsigned integer of at most `digits` ASCII digits."""
    return len(word) <= digits and word.isascii() and word.isdecimal()


def whole(word: str | None, digits: int = DIGITS) -> int | None:
    """Return a word as an unsigned integer, or None if it is not one."""
    return int(word) if word is not None and is_whole(word, digits) else None


def decimal(word: str) -> float | None:
    """Return a decimal number as the kernel prints it (`0.42`), None for any other word."""
    before, _, after = word.partition(".")
    return float(word) if is_whole(before + after) and before else None


def json_whole(value: object, limit: int = 1 << 63) -> int | None:
    """Return a JSON value if it is an integer of at least 0 and below `limit`, else None. Booleans are not numbers."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def json_number(value: object, limit: float = 1e18) -> float | None:
    """Return a JSON value as float if it is a number of at least 0 and below `limit`, else None."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < limit
    return float(value) if known and isinstance(value, int | float) else None


def json_text(value: object) -> str | None:
    """Return a JSON value if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def added(parts: Iterable[float]) -> float:
    """Return the sum of floating-point numbers, added in order, so that all Python versions give the same last digit.

    The built-in `sum` compensates rounding errors since Python 3.12.
    """
    return functools.reduce(operator.add, parts, 0)


def total(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum of the known parts, or None if all are unknown."""
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.add, known) if known else None


def whole_total(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum of all parts, or None if any is unknown."""
    every = list(parts)
    known = [part for part in every if part is not None]
    return functools.reduce(operator.add, known, 0) if len(known) == len(every) else None
