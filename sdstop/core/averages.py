"""Averages of numbers. The module `statistics` has them too, and imports 150 KB of others for it."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum


def median(values: Iterable[float]) -> float:
    """Return the middle value, or the mean of the two in the middle. Raises ValueError without values."""
    known = sorted(values)
    if not known:
        raise ValueError("no values")
    half = len(known) // 2
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2


def fmean(values: Iterable[float]) -> float:
    """Return the arithmetic mean. Raises ValueError without values."""
    known = list(values)
    if not known:
        raise ValueError("no values")
    return fsum(known) / len(known)
