"""Minute meter: summaries of the frames of a recorder, one for each minute (sdstop.core.minute)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sdstop.analysis.disks.recent_activity import whole_names
from sdstop.analysis.load_course import LoadCourse, LoadOf, LoadSample
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.network.readings import Interface
from sdstop.core.evidence import Frame, Origin
from sdstop.core.families import in_use
from sdstop.core.guard import Part
from sdstop.core.minute import LONGEST, MINUTE, Minute, MinuteLoad, spread
from sdstop.core.session import Session
from sdstop.readings.cluster import ClusterPool
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.rebuild import Rebuild

_FAMILIES = frozenset({Disk, BlockDevice, Interface, ClusterPool, Rebuild})
_COLLECTORS = tuple(collector for collector in BUILTIN if not _FAMILIES.isdisjoint(in_use(collector.families)))
_MOST_NAMED = 20
"""Names of an event in a minute; a node may lose hundreds of disks at once."""


class MinuteMeter:
    """Meter of one run of a recorder. An exception costs its frame."""

    def __init__(self, origin: Origin) -> None:
        """Start before the first frame."""
        self._session = Session(origin, _COLLECTORS, (), remember=0.0)
        self._course = LoadCourse(self._session)
        self._samples: list[LoadSample] = []
        self._until = float("-inf")
        self._frames: list[Frame] = []
        self._count = 0
        self._devices: Collection[str] | None = None
        self._rebuilds: Collection[str] | None = None
        self._events: dict[str, dict[str, None]] = {}

    def add(self, frame: Frame) -> Minute | None:
        """Add a frame, and return the summary of the minute that ended before it."""
        minute = None
        first = self._frames[0] if self._frames else frame
        if frame.monotonic - first.monotonic >= MINUTE or frame.monotonic < first.monotonic:
            minute = self.ended(frame.monotonic)
        self._frames = [*self._frames[:1], frame]
        self._count += 1
        self._session.guard.call(Part.FRAME, "minute", lambda: self._take(frame), lambda _: None)
        return minute

    def ended(self, next_: float | None = None) -> Minute | None:
        """Return the summary of the frames since the last one, None without any; the next one begins.

        It lasts to the frame at the monotonic seconds `next_`, unless that is after a gap.
        """
        frames, samples, events, count = self._frames, self._samples, self._events, self._count
        self._frames, self._samples, self._events, self._count = [], [], {}, 0
        if not frames:
            return None
        first, last = frames[0], frames[-1]
        named = {name: tuple(found)[:_MOST_NAMED] for name, found in events.items()}
        totals = [sample.total for sample in samples]
        reads, writes = None, None
        if totals:
            reads = _load([t.read_bytes for t in totals], [t.reads for t in totals], [t.read_wait for t in totals])
            writes = _load([t.write_bytes for t in totals], [t.writes for t in totals], [t.write_wait for t in totals])
        seconds = max(last.monotonic - first.monotonic, 0.0)
        if next_ is not None and next_ > last.monotonic:
            usual = seconds / (count - 1) if count > 1 else LONGEST
            seconds = min(next_ - first.monotonic, seconds + 1.5 * usual)
        return Minute(first.taken, first.monotonic, seconds, int(self._course.of), reads, writes, **named)

    def _take(self, frame: Frame) -> None:
        look = self._session.feed(Frame(frame.number, frame.taken, frame.monotonic, frame.evidence, frame.ran))
        for sample in self._course.samples:
            if sample.ends > self._until:
                self._samples.append(sample)
                self._until = sample.ends
        window = look.window
        if window.now.run_of(DiskActivity) is not None or self._course.of is LoadOf.DISKS:
            self._devices = self._changed("added", "removed", self._devices, whole_names(window))
        if window.now.run_of(Rebuild) is not None:
            arrays = [row.array for row in window.rows(Rebuild).values()]
            self._rebuilds = self._changed("started", "ended", self._rebuilds, arrays)

    def _changed(self, more: str, less: str, before: Collection[str] | None, now: Sequence[str]) -> Collection[str]:
        found = dict.fromkeys(now)
        if before is not None and found.keys() != set(before):
            self._events.setdefault(more, {}).update((name, None) for name in found if name not in before)
            self._events.setdefault(less, {}).update((name, None) for name in before if name not in found)
        return found


def _load(sizes: list[float], requests: list[float], waits: list[float | None]) -> MinuteLoad | None:
    of_bytes, of_requests = spread(sizes), spread(requests)
    if of_bytes is None or of_requests is None:
        return None
    known = [(wait, number) for wait, number in zip(waits, requests, strict=True) if wait is not None]
    return MinuteLoad(of_bytes, of_requests, spread([wait for wait, _ in known], [number for _, number in known]))
