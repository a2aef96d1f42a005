"""Hysteresis of a severity: what reached a limit stays above it until it is clearly below.

It follows from the samples of the window alone, so that a replayed frame gets the severity that it had live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

BAND = 0.8
"""Share of a limit below which a value that had reached it is clearly below."""


def is_above(value: float, limit: float, earlier: Callable[[], Iterable[float | None]]) -> bool:
    """Return whether a value is above a limit, or reached it lately and has not been below BAND of it since.

    `earlier` returns the values of the time before, the newest first, None where there is none; it is called only for a
    value in the band.
    """
    if value >= limit:
        return True
    if value < BAND * limit:
        return False
    for one in earlier():
        if one is None or one < BAND * limit:
            return False
        if one >= limit:
            return True
    return False
