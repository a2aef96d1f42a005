"""Spans: when each finding was active, and the axis of the time bar on which they are drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct

from sdstop.analysis.load_course import LoadMetric, LoadSample
from sdstop.core.averages import median
from sdstop.core.diagnosis import Episode
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_order import Urgency, urgency
from sdstop.core.session import Session

ZOOMS = (60.0, 300.0, 900.0, 3600.0, 6 * 3600.0, 86400.0, 7 * 86400.0)
"""Seconds that the time bar can be zoomed to."""
RANGES = (60.0, 120.0, 300.0, 600.0, 900.0)
"""Seconds shown of a live session: the shortest range that holds all its frames, so that the scale rarely changes."""

Load = tuple[float | None, float | None] | None
"""A value of reads and of writes, None without requests; None as a whole where nothing was sampled."""


class TimeAxis(Struct, frozen=True):
    """Cells of equal length in monotonic seconds; `first` and `last` are the oldest and newest time with frames."""

    start: float
    step: float
    width: int
    first: float
    last: float

    @property
    def end(self) -> float:
        """End of the last cell."""
        return self.start + self.step * self.width

    def cell(self, at: float) -> int:
        """Return the cell of a time; times outside belong to the first and the last one."""
        return max(0, min(int((at - self.start) / self.step + 1e-9), self.width - 1))

    def time(self, cell: int) -> float:
        """Return the time of a cell: its middle, or the oldest or newest frame at the ends."""
        if cell <= self.cell(self.first):
            return self.first
        return self.last if cell >= self.cell(self.last) else self.start + (cell + 0.5) * self.step


def time_axis(session: Session, width: int, zoom: float | None = None, at: float = 0.0) -> TimeAxis | None:
    """Return an axis of `width` cells over all kept frames, None without frames.

    `zoom` are the seconds to show of them: a part that has a time near its middle, and that moves in quarters.
    That of a capture fits its frames. That of a live session has one of `RANGES`, and its cells start at multiples of
    their length, so that only the last one changes until all of them move.
    """
    frames = session.timeline.frames
    if not frames or width <= 0:
        return None
    first, last = frames[0].monotonic, frames[-1].monotonic
    if zoom is not None and zoom < last - first:
        quarter = zoom / 4
        start = first + int((min(max(at, first), last) - first - zoom / 2) / quarter + 0.5) * quarter
        start = max(first, min(start, last - zoom))
        return TimeAxis(start, zoom / width, width, start, start + zoom)
    if not session.origin.live:
        return TimeAxis(first, max(last - first, 1e-3) / width, width, first, last)
    held = last - first
    step = next((each for each in RANGES if each >= held), held) / width
    return TimeAxis((int(last / step) - width + 1) * step, step, width, first, last)


def zoomed(held: float, zoom: float | None, direction: int) -> float | None:
    """Return the next shorter (1) or longer (-1) range of the time bar, None for all of the `held` seconds."""
    shown = held if zoom is None else zoom
    if direction > 0:
        return max((each for each in ZOOMS if each < shown), default=zoom)
    return min((each for each in ZOOMS if shown < each < held), default=None)


class Span(Struct, frozen=True):
    """A finding with the times (monotonic seconds) at which it began and ended; None: it is active."""

    finding: Finding
    times: tuple[tuple[float, float | None], ...]

    @property
    def active(self) -> bool:
        """Whether it is active at the newest frame."""
        return self.times[-1][1] is None


def spans(episodes: Iterable[Episode], axis: TimeAxis) -> list[Span]:
    """Return a span for each finding with episodes on the axis; those that others explain are last."""
    times: dict[str, list[Episode]] = {}
    for episode in episodes:
        if (episode.ended is None or episode.ended >= axis.first) and episode.began <= axis.last:
            times.setdefault(episode.finding.id, []).append(episode)
    explained = {key for known in times.values() for episode in known for key in episode.finding.explains}
    found = []
    for key, known in times.items():
        known.sort(key=lambda episode: episode.began)
        worst = max((episode.finding for episode in known), key=lambda finding: finding.severity.rank)
        span = Span(worst, tuple((episode.began, episode.ended) for episode in known))
        found.append((key in explained, _order(span), span))
    return [span for _, _, span in sorted(found, key=lambda each: each[:2])]


def _order(span: Span) -> tuple[bool, int, bool, Urgency]:
    """Return the order of a span: active faults, then by severity, those that have ended last."""
    fault = span.active and span.finding.severity is not Severity.INFO
    return not fault, -span.finding.severity.rank, not span.active, urgency(span.finding)


class LoadCells:
    """Mean of a metric of reads and writes in each half cell of an axis; new samples extend it."""

    def __init__(self, metric: LoadMetric = LoadMetric.THROUGHPUT) -> None:
        """Start empty."""
        self.metric = metric
        self._grid: tuple[float, float] = (0.0, 0.0)
        self._until = float("-inf")
        self._sums: dict[int, tuple[float, float, float, float]] = {}

    def of(self, samples: Sequence[LoadSample], axis: TimeAxis) -> list[Load]:
        """Return the values of reads and writes in two halves a cell; None where no sample covers any of it.

        A sample longer than three times the median of its neighbors spans a gap; only its last part, of median length,
        counts.
        """
        half = axis.step / 2
        if not half:
            return []
        origin = axis.start % half if half else 0.0
        grid = (half, round(origin, 6) % half)
        begin = round((axis.start - grid[1]) / half)
        if self._grid != grid or (samples and samples[-1].ends < self._until):
            self._grid, self._until, self._sums = grid, float("-inf"), {}
        at = bisect_left(samples, max(self._until + 1e-6, axis.start), key=lambda sample: sample.ends)
        for index in range(at, len(samples)):
            if samples[index].ends - samples[index].seconds > axis.end:
                break
            self._add(samples[index], _covered(samples, index))
        for old in [place for place in self._sums if place < begin]:
            del self._sums[old]
        cells = (self._sums.get(begin + place) for place in range(2 * axis.width))
        return [
            None if sums is None else (sums[1] / sums[0] if sums[0] else None, sums[3] / sums[2] if sums[2] else None)
            for sums in cells
        ]

    def _add(self, sample: LoadSample, covers: float) -> None:
        half, origin = self._grid
        begins = sample.ends - covers
        place = int((begins - origin) // half)
        self._until = sample.ends
        (reads, read), (writes, written) = (
            (0.0, 0.0) if value is None else (weight, value) for weight, value in self.metric.read(sample.total)
        )
        while (left := max(begins, origin + place * half)) < sample.ends - 1e-6:
            share = min(sample.ends, origin + (place + 1) * half) - left
            if share > 1e-6:
                up, ups, down, downs = self._sums.get(place, (0.0, 0.0, 0.0, 0.0))
                up, down = up + share * reads, down + share * writes
                self._sums[place] = up, ups + share * reads * read, down, downs + share * writes * written
            place += 1


def _covered(samples: Sequence[LoadSample], index: int) -> float:
    near = [sample.seconds for sample in samples[max(index - 2, 0) : index + 3]]
    usual = median(near)
    seconds = samples[index].seconds
    return seconds if seconds <= 3 * usual else usual
