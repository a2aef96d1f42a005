"""Minute: the load and the events of a minute of a recording, so that days of it are drawn at once.

The recorder writes one for each minute; frames need not be read for the time bar. They are a summary for the screen:
rules judge frames only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from msgspec import Struct

MINUTE = 60.0
"""Seconds of a summary."""
LONGEST = 600.0
"""Seconds of one if frames are further apart."""


class Spread(Struct, frozen=True, array_like=True, gc=False):
    """Mean, median, 95th percentile and maximum of the samples of a minute, in base units."""

    mean: float
    median: float
    p95: float
    most: float


class MinuteLoad(Struct, frozen=True, array_like=True):
    """Load of a minute in one direction: bytes and requests per second, seconds a request; None if unknown."""

    bytes: Spread
    requests: Spread
    wait: Spread | None = None


class Minute(Struct, frozen=True, array_like=True):
    """Summary of a minute, or of its recorded part.

    `taken` and `monotonic` are the times of its first frame, Unix and monotonic, `seconds` is the time up to the last
    one. `of` is the source of the load (sdstop.analysis.load_course.LoadOf). `added` and `removed` are devices,
    `started` and `ended` the arrays with a rebuild.
    """

    taken: float
    monotonic: float
    seconds: float
    of: int = 0
    reads: MinuteLoad | None = None
    writes: MinuteLoad | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether its numbers can be drawn; a hostile recording may hold any."""
        times = isfinite(self.taken) and isfinite(self.monotonic) and 0 <= self.seconds <= 2 * LONGEST
        loads = [load for load in (self.reads, self.writes) if load is not None]
        spreads = [spread for load in loads for spread in (load.bytes, load.requests, load.wait) if spread is not None]
        return times and all(0 <= value < 1e18 for s in spreads for value in (s.mean, s.median, s.p95, s.most))


def spread(values: Sequence[float], weights: Sequence[float] | None = None) -> Spread | None:
    """Return the spread of values, None without any; the mean is weighed."""
    if not values:
        return None
    ordered = sorted(values)
    weighed = sum(weights) if weights is not None else 0.0
    mean = sum(v * w for v, w in zip(values, weights, strict=True)) / weighed if weights and weighed else None
    middle, high = ordered[(len(ordered) - 1) // 2], ordered[max(ceil(0.95 * len(ordered)) - 1, 0)]
    return Spread(sum(values) / len(values) if mean is None else mean, middle, high, ordered[-1])
