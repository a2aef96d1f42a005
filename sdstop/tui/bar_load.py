"""Load of the time bar: samples of the judged frames, or the minutes of a recording."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.disks.recent_activity import DiskTotals
from sdstop.analysis.load_course import LoadMetric, LoadOf, LoadSample
from sdstop.core.format import number
from sdstop.core.minute import MINUTE, Minute, MinuteLoad, Spread
from sdstop.core.timeline import Timeline
from sdstop.tui.load_graph import LoadScale
from sdstop.tui.scene import Scene
from sdstop.tui.spans import TimeAxis

_COARSE = 20.0
"""Seconds of a cell above which minutes are drawn, even where samples are known."""


class ShownLoad(Struct, frozen=True):
    """Samples to draw and their source; `grows` if only newer ones are added to those drawn last."""

    samples: Sequence[LoadSample]
    of: LoadOf
    grows: bool
    by_minute: bool


class BarLoad:
    """Samples of a session's load for an axis."""

    def __init__(self) -> None:
        """Start without any."""
        self._known: tuple[Sequence[Minute], list[LoadSample], LoadOf] = (), [], LoadOf.NOTHING
        self._by_minute = False

    def shown(self, scene: Scene, axis: TimeAxis) -> ShownLoad:
        """Return the samples to draw."""
        samples = scene.course.samples if scene.course is not None else ()
        of = scene.course.of if scene.course is not None else LoadOf.NOTHING
        minutes, minutes_of = self._minutes(scene.session.timeline.minutes)
        if not minutes:
            return ShownLoad(samples, of, grows=True, by_minute=False)
        same, self._by_minute = self._by_minute, axis.step >= _COARSE
        if self._by_minute:
            return ShownLoad(minutes, minutes_of, grows=same, by_minute=True)
        judged = samples[-1].ends if samples else float("-inf")
        rest = minutes[bisect_right(minutes, judged, key=lambda sample: sample.ends) :]
        return ShownLoad((*samples, *rest), max(of, minutes_of), grows=not same and not rest, by_minute=bool(rest))

    def _minutes(self, minutes: Sequence[Minute]) -> tuple[list[LoadSample], LoadOf]:
        if self._known[0] is not minutes:
            best = max((minute.of for minute in minutes), default=0)
            drawn = [_sample(minute) for minute in minutes if minute.of == best and minute.reads is not None]
            self._known = minutes, drawn, LoadOf(best) if best in set(LoadOf) else LoadOf.NOTHING
        return self._known[1], self._known[2]


def minute_text(timeline: Timeline, at: float, scale: LoadScale, of: LoadOf) -> str:
    """Return median, 95th percentile and maximum of the minute at a time, "" if it has none: `minute 3.1 8.0 12.0`."""
    index = bisect_right(timeline.minutes, at, key=lambda minute: minute.monotonic) - 1
    minute = timeline.minutes[index] if index >= 0 else None
    if minute is None or minute.of != of or at > minute.monotonic + minute.seconds + MINUTE:
        return ""
    said = []
    for name, load in (("r", minute.reads), ("w", minute.writes)):
        spread = _spread(load, scale.metric)
        if spread is not None:
            values = (number(value / scale.size, 1) for value in (spread.median, spread.p95, spread.most))
            said.append(f"{name} {'/'.join(values)}")
    return f"minute p50/p95/max {' '.join(said)}" if said else ""


def _spread(load: MinuteLoad | None, metric: LoadMetric) -> Spread | None:
    if load is None:
        return None
    return {LoadMetric.THROUGHPUT: load.bytes, LoadMetric.REQUESTS: load.requests, LoadMetric.LATENCY: load.wait}[
        metric
    ]


def _sample(minute: Minute) -> LoadSample:
    reads, writes = minute.reads, minute.writes
    total = DiskTotals(
        reads.bytes.mean if reads else 0.0, writes.bytes.mean if writes else 0.0,
        reads.requests.mean if reads else 0.0, writes.requests.mean if writes else 0.0,
        reads.wait.mean if reads and reads.wait else None, writes.wait.mean if writes and writes.wait else None,
    )  # fmt: skip
    seconds = max(minute.seconds, 1.0)
    return LoadSample(minute.monotonic + seconds, seconds, total)
