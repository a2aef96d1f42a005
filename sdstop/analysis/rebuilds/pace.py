"""Pace, ETA and confidence of a rebuild: pure arithmetic on progress samples.

The kernel's own figures cover the last 3 to 30 seconds and mislead after a start and in a stall. Here the rate is the
actual progress over the whole observed time, and its variation gives the uncertainty.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Sequence

from msgspec import Struct

from sdstop.core.averages import median
from sdstop.core.text import added

SLICES = 6
"""Number of slices of the observed time that show how the rate varies."""
SLICE_SECONDS = 4.0
"""Minimum length of a slice: a throttled md progresses in steps of seconds."""
PAUSE, PAUSES, READINGS, STALLED = 10.0, 3.0, 3.0, 60.0
"""A stall: seconds without progress, multiple of the longest previous pause, samples, and seconds that always count."""
STEADY = 0.15
"""Relative change of the rate between the two halves below which it counts as steady."""
_STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57}
"""Student's t by number of slices: 95% of rates are within that many standard errors of the mean."""


class Trend(enum.StrEnum):
    """Direction in which the rate changes."""

    STEADY = "steady"
    SLOWING = "slowing"
    RISING = "rising"


class Pace(Struct, frozen=True, kw_only=True):
    """Observed progress.

    `rate` is bytes per second; `eta` is the seconds to the end at an unchanged rate, between `soonest` and `latest`
    (None: possibly never); `confidence` is 0..1. `unchanged` is the seconds since the counter last moved,
    `longest_pause` the longest such time before, `moved` the bytes in `seconds`. None: not known yet.
    """

    done: float
    total: float
    seconds: float
    samples: int
    moved: float
    unchanged: float
    longest_pause: float
    rate: float | None = None
    eta: float | None = None
    soonest: float | None = None
    latest: float | None = None
    confidence: float | None = None
    trend: Trend | None = None
    unchanged_samples: int = 1


def pace(samples: Sequence[tuple[float, float]], total: float) -> Pace | None:
    """Judge progress from (seconds, bytes done), oldest first; None without a sample.

    Samples from before the counter last decreased belong to another run and are ignored, as are those from before the
    end of a stall, which do not predict the pace after it.
    """
    if not samples:
        return None
    first = max((i for i in range(1, len(samples)) if samples[i][1] < samples[i - 1][1]), default=0)
    seen = samples[first:]
    moves = [seen[0], *(b for a, b in itertools.pairwise(seen) if b[1] > a[1])]
    resumed = _resumed(moves)
    if resumed is not None:
        seen = [sample for sample in seen if sample[0] >= resumed]
        moves = [move for move in moves if move[0] >= resumed]
    now, done = seen[-1]
    last_move = moves[-1][0]
    unchanged = now - last_move
    still = sum(1 for moment, _ in seen if moment >= last_move)
    # The first pause began before the first sample, so this is its minimum length.
    pauses = [b[0] - a[0] for a, b in itertools.pairwise(moves)]
    longest = max(pauses, default=0.0)
    known = Pace(
        done=done,
        total=total,
        seconds=now - seen[0][0],
        samples=len(seen),
        moved=done - seen[0][1],
        unchanged=unchanged,
        longest_pause=longest,
        unchanged_samples=still,
    )
    if len(moves) < 2:
        return known
    # Measure from move to move, so that no partial step is lost; a pause longer than any before counts in full.
    end = now if unchanged > longest else last_move
    start = moves[1][0] if len(moves) > 2 else moves[0][0]
    base = moves[1][1] if len(moves) > 2 else moves[0][1]
    if end <= start or done <= base:
        return known
    points = [*(m for m in moves if m[0] >= start), *([(end, done)] if end > last_move else [])]
    return _with_rate(known, points)


def _resumed(moves: Sequence[tuple[float, float]]) -> float | None:
    """Return when progress resumed after the last stall, None if there was none."""
    rests = [b[0] - a[0] for a, b in itertools.pairwise(moves)]
    if len(rests) < 2:
        return None
    usual = max(PAUSE, PAUSES * median(rests))
    return max((move[0] for rest, move in zip(rests, moves[1:], strict=True) if rest >= usual), default=None)


def is_stalled(
    seen: Pace,
    pause: float = PAUSE,
    pauses: float = PAUSES,
    readings: float = READINGS,
    stalled: float = STALLED,
) -> bool:
    """Return whether progress has stopped for longer than a throttled rebuild pauses between steps.

    That is `pause` seconds over `readings` samples, and either `pauses` times the longest previous pause or `stalled`
    seconds.
    """
    if seen.unchanged < pause or seen.unchanged_samples < readings:
        return False
    return seen.unchanged >= min(pauses * seen.longest_pause, stalled)


def _with_rate(known: Pace, points: Sequence[tuple[float, float]]) -> Pace:
    (start, base), (end, done) = points[0], points[-1]
    span = end - start
    rate = (done - base) / span
    left = max(known.total - done, 0.0)
    parts = min(SLICES, int(span / max(SLICE_SECONDS, known.longest_pause)))
    spread, trend = None, None
    if parts >= 2:
        edges = [start + span * i / parts for i in range(parts + 1)]
        marks = [_at(points, edge) for edge in edges]
        rates = [(b - a) * parts / span for a, b in itertools.pairwise(marks)]
        deviation = math.sqrt(added((r - rate) ** 2 for r in rates) / (parts - 1))
        spread = _STUDENT[parts] * deviation / math.sqrt(parts) / rate
        half = (_at(points, start + span / 2) - base) / (done - base)
        change = 2 * (1 - 2 * half)
        trend = _trend(change, spread)
    # A pause of the usual length can be at either end.
    spread = min(1.0, math.hypot(1.0 if spread is None else spread, known.longest_pause / span / 2))
    eta = left / rate
    latest = eta / (1 - spread) if spread < 1 else None
    confidence = max(0.0, 1 - spread) * min(1.0, span / 30)
    return Pace(
        done=known.done,
        total=known.total,
        seconds=known.seconds,
        samples=known.samples,
        moved=known.moved,
        unchanged=known.unchanged,
        longest_pause=known.longest_pause,
        rate=rate,
        eta=eta,
        soonest=eta / (1 + spread),
        latest=latest,
        confidence=confidence,
        trend=trend,
        unchanged_samples=known.unchanged_samples,
    )


def _trend(change: float, spread: float) -> Trend:
    if abs(change) <= max(STEADY, spread):
        return Trend.STEADY
    return Trend.RISING if change > 0 else Trend.SLOWING


def _at(points: Sequence[tuple[float, float]], moment: float) -> float:
    """Return the bytes done at a moment, interpolated linearly between the points."""
    for (t0, d0), (t1, d1) in itertools.pairwise(points):
        if moment <= t1:
            return d0 + (d1 - d0) * (moment - t0) / (t1 - t0) if t1 > t0 else d1
    return points[-1][1]
