"""Filling: how fast a limited space fills, and when it will be full at this rate."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from msgspec import Struct

from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.model import Reading

R = TypeVar("R", bound=Reading)

SECONDS = 600.0
"""Time over which the trend is measured."""
LEAST = 8.0
"""Shortest observed time for a trend, in seconds: shorter ones are noise."""
FORESEEN = 200.0
"""Multiple of the observed time up to which a trend is worth a sentence: ten seconds do not predict the next hours."""


class Filling(Struct, frozen=True):
    """Use of a space in bytes, and its trend: bytes per second over the last `seconds`; None if not known yet."""

    used: float
    size: float
    rate: float | None = None
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """Share in use, 0..1."""
        return self.used / self.size if self.size else 0.0

    @property
    def full_in(self) -> float | None:
        """Seconds until it is full at this rate; None if it does not fill."""
        return max(self.size - self.used, 0.0) / self.rate if self.rate is not None and self.rate > 0 else None

    @property
    def words(self) -> str:
        """When it is full: `, full in 3h10 at this rate`; "" if it does not fill, or if that lies too far ahead."""
        left = self.full_in
        within = FORESEEN * self.seconds
        return f", full in {human.duration(left)} at this rate" if left is not None and left <= within else ""


def filling(samples: Sequence[tuple[float, float]], size: float) -> Filling | None:
    """Return the trend of (seconds, bytes used), oldest first; None without a sample.

    Space that was freed for good is not a trend: only samples since the last drop by a tenth of the use count.
    """
    if not samples:
        return None
    first = max((i for i in range(1, len(samples)) if samples[i][1] < 0.9 * samples[i - 1][1]), default=0)
    (began, before), (now, used) = samples[first], samples[-1]
    span = now - began
    return Filling(used, size, (used - before) / span if span >= LEAST else None, span)


def filling_of(
    window: Window, family: type[R], key: Hashable, used: Callable[[R], float | None], size: float
) -> Filling | None:
    """Return the filling of a row's space from the runs that its `remembered` family keeps."""
    samples = []
    for course in window.courses(family, SECONDS):
        for moment in course:
            row = moment.rows.get(key)
            value = used(row) if row is not None else None
            if value is not None and moment.started >= window.now.monotonic - SECONDS - LEAST:
                samples.append((moment.started, value))
    return filling(samples, size)
