"""Numbers and words out of foreign text and JSON. What is missing, malformed or too large is None, never 0."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import TypeVar

DIGITS = 20
"""Decimal digits of the largest counter that the kernel prints (64 bits)."""

Number = TypeVar("Number", int, float)


def is_whole(word: str, digits: int = DIGITS) -> bool:
    """Whether a word is a whole number of ASCII digits, at most `digits` of them, without a sign."""
    return len(word) <= digits and word.isascii() and word.isdecimal()


def whole(word: str | None, digits: int = DIGITS) -> int | None:
    """Return the whole number that a word is, None if it is not one."""
    return int(word) if word is not None and is_whole(word, digits) else None


def json_whole(value: object, limit: int = 1 << 63) -> int | None:
    """Return a JSON value that is a whole number from 0 to below `limit`. JSON's true and false are no numbers."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def json_number(value: object, limit: float = 1e18) -> float | None:
    """Return a JSON value that is a number from 0 to below `limit`."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < limit
    return float(value) if known and isinstance(value, int | float) else None


def json_text(value: object) -> str | None:
    """Return a JSON value that is a text of at least one character."""
    return value if isinstance(value, str) and value else None


def added(parts: Iterable[float]) -> float:
    """Return the sum of floating-point numbers, added one after the other: every Python gives the same last digit.

    The built-in `sum` carries the rounding error along since Python 3.12.
    """
    return functools.reduce(operator.add, parts, 0)


def total(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum of the parts that are known, None if none is."""
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.add, known) if known else None


def whole_total(parts: Iterable[Number | None]) -> Number | None:
    """Return the sum of all parts, None if one of them is unknown."""
    every = list(parts)
    known = [part for part in every if part is not None]
    return functools.reduce(operator.add, known, 0) if len(known) == len(every) else None
