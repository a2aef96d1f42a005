"""Timeline: the frames of a session, the older ones of a live session in compact form.

Evidence that changes from frame to frame is kept as a series: a text and the differences of its numbers
(sdstop.core.versions), or only the numbers where its parser can print it again (sdstop.core.column_series). A quarter
of an hour of a node with 1000 disks takes 11 MB instead of 200.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.column_series import VERSIONS, ColumnSeries, Reprint
from sdstop.core.evidence import RAN, Evidence, Frame, RunMark
from sdstop.core.history import KEEP
from sdstop.core.known import Known
from sdstop.core.minute import Minute
from sdstop.core.packed_marks import PackedMarks
from sdstop.core.sheaf import Buffer, Sheaf
from sdstop.core.text_series import LENGTH, TextSeries

RING_SECONDS = 900.0
"""Seconds that a live session can be stepped back."""
RING_BYTES = 20 << 20
"""Maximum size of the evidence kept by a live session, in compact form, in bytes."""
RING_LOOSE = 1 << 18
"""Size in bytes above which evidence is compacted; short sessions avoid the cost."""

WORTH_PACKING = 512
"""Bytes above which evidence is kept in compact form."""
NEAR = 15.0
"""Seconds for which a frame shows the moment that was asked for; a later one of a clock that was set back counts."""


def nearest(times: Sequence[float], taken: float) -> int | None:
    """Return the index of the last time that is at most NEAR before another one, or else of the nearest before it."""
    found, distance = None, math.inf
    for at in reversed(range(len(times))):
        if times[at] <= taken and (found is None or taken - times[at] < distance):
            found, distance = at, taken - times[at]
            if distance <= NEAR:
                break
    return found


class RunStart(Struct, frozen=True):
    """Start of a further run of the recorder, with the seconds without a frame before it."""

    index: int
    gap: float
    booted: bool
    """Whether the node booted in between."""


class Moved(Struct, frozen=True):
    """Way from one frame to two successive ones, `then` and `frame`, which may be earlier.

    `then` has all evidence that may differ from that known at the first one, and the last runs of the collectors that
    ran in between. The keys `gone`, also those of runs, were not known then.
    """

    then: Frame
    gone: Sequence[str]
    frame: Frame


class Timeline:
    """Frames in order; a live timeline drops the oldest ones but keeps their latest evidence as its base.

    The evidence of older frames of a live timeline has no data: `frame` and `recall` return it with data. One thread
    appends while others read.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """Start without a frame; `seconds` is how long frames are kept (None: all)."""
        self.seconds = seconds
        self.frames: deque[Frame] = deque()
        self.base = Known()
        self.ran: dict[str, RunMark] = {}
        self.minutes: Sequence[Minute] = ()
        """Summaries of minutes, of a recording."""
        self.starts: Sequence[RunStart] = ()
        """Starts of further runs, of a recording."""
        self.complete = False
        """Whether it holds all its frames before a session judges the first of them."""
        self._growing: dict[str, TextSeries | ColumnSeries] = {}
        self._read: dict[str, tuple[TextSeries | ColumnSeries, int, Callable[[int], bytes]]] = {}
        """The series that was read last, by key: its versions are usually read one after the other."""
        self._names: dict[str, int] = {}
        """Numbers of collectors, for the marks of their runs."""
        self._bytes = 0
        self._lock = Lock()

    def whole(self) -> Sequence[Frame]:
        """Return the frames with the keys of their evidence, and the data of all that is short."""
        return tuple(self.frames)

    def place(self, number: int) -> int:
        """Return the index of the first frame with this number or a higher one."""
        return bisect_left(tuple(self.frames), number, key=lambda frame: frame.number)

    def at(self, monotonic: float) -> int:
        """Return the index of the last frame at or before monotonic seconds, or of the oldest frame."""
        return max(bisect_right(tuple(self.frames), monotonic, key=lambda frame: frame.monotonic) - 1, 0)

    def taken_by(self, taken: float) -> int | None:
        """Return the index of the last frame that is at most NEAR before a Unix time, or else the nearest before it.

        None if all are later. The search is linear, because the clock may have been set back.
        """
        return nearest([frame.taken for frame in tuple(self.frames)], taken)

    def read_at(self, index: int, key: str) -> float:
        """Return the Unix time of the frame that brought the evidence of a key that is known at frame `index`."""
        frames = tuple(self.frames)[: index + 1]
        found = (frame.taken for frame in reversed(frames) if _some(frame.evidence, {key}))
        return next(found, frames[0].taken)

    def append(self, frame: Frame, reprints: Mapping[str, Reprint] | None = None) -> None:
        """Add the newest frame; `reprints` print its evidence from the columns that were parsed from it."""
        packed = frame
        if self.seconds is not None:
            known = reprints or {}
            marks = None if frame.ran is None else PackedMarks(frame.ran, self._names)
            kept = tuple([self._packed(e, known.get(e.key)) for e in frame.evidence])
            packed = replace(frame, evidence=kept, ran=marks)
        with self._lock:
            self._append(frame, packed)

    def copy(self) -> Timeline:
        """Return a copy that is unaffected by new frames."""
        with self._lock:
            made = Timeline(self.seconds)
            made.frames, made.base, made.ran = deque(self.frames), self.base.copy(), dict(self.ran)
            return made

    @property
    def faults(self) -> Sequence[str]:
        """What could not be read so far, of a recording."""
        return ()

    def doubt(self, number: int) -> str:
        """Return why the evidence known at the frame with a number may be older, "" if it is not."""
        del number
        return ""

    def name(self, named: Callable[[Frame], Frame]) -> None:
        """Replace the keys of frames that are held before a session is fed."""

    def close(self) -> None:
        """Close the file, if frames are read from one."""

    def _append(self, frame: Frame, packed: Frame) -> None:
        self.frames.append(packed)
        if self.seconds is None:
            return
        self._bytes += _size(packed.evidence)
        while len(self.frames) > 2 and (
            frame.monotonic - self.frames[0].monotonic > self.seconds or self._bytes > RING_BYTES
        ):
            oldest = self.frames.popleft()
            self._bytes -= _size(oldest.evidence) + sum([_left(e) for e in _loose(oldest) if isinstance(e, _Stored)])
            self.base.update(oldest.evidence)
            self.ran.update(_marks(oldest))

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        still = self.copy()
        known, ran = dict(still.base.items()), still.ran
        chosen: list[Frame] = []
        for index, frame in enumerate(still.frames):
            if index >= stop:
                break
            if index <= start:
                known.update((e.key, e) for e in frame.evidence)
                ran.update(_marks(frame))
            if index == start:
                marks = None if frame.ran is None else ran
                chosen.append(replace(frame, evidence=tuple(map(self._unpacked, known.values())), ran=marks))
            elif index > start:
                chosen.append(self._whole(frame))
        return chosen

    def frame(self, index: int) -> Frame:
        """Return a frame as it was appended."""
        return self._whole(self.frames[index])

    def single(self, index: int) -> Frame:
        """Return a frame as `frame` does, for a step: its neighbors may never be asked for."""
        return self.frame(index)

    def release(self) -> None:
        """Drop unpacked versions of older frames: 50 of the counters of 1000 disks take 5 MB."""
        self._read = {}

    def moved(self, number: int, index: int) -> Moved | None:
        """Return the way from the frame with a number to frame `index` and the one before it.

        None if there is none: the frame with the number is not held any more, or is from another run of the recorder.
        """
        still = self.copy()
        frames, start, then = tuple(still.frames), still.place(number), index - 1
        if then < 0 or start >= len(frames) or frames[start].number != number:
            return None
        between = frames[min(start, then) + 1 : max(start, then) + 1]
        if frames[index].fresh or any(frame.fresh for frame in between):
            return None
        keys = {item.key for frame in between for item in frame.evidence}
        runs = {name for frame in between for name in frame.ran or {}}
        known, ran = still._newest(keys, runs, index)  # noqa: SLF001  # same class
        gone = (*(key for key in keys if key not in known), *(RAN + name for name in runs if name not in ran))
        evidence = tuple(self._unpacked(known[key]) for key in keys if key in known)
        marks = None if frames[then].ran is None else {name: ran[name] for name in runs if name in ran}
        return Moved(replace(frames[then], evidence=evidence, ran=marks), gone, self._whole(frames[index]))

    def _newest(
        self, keys: Collection[str], runs: Collection[str], index: int
    ) -> tuple[Mapping[str, Evidence], Mapping[str, RunMark]]:
        """Return evidence with some keys, and the last runs of some collectors, as known before a frame."""
        known, ran, left = dict[str, Evidence](), dict[str, RunMark](), set(keys)
        for frame in reversed(tuple(self.frames)[:index]):
            if left:
                found = _some(frame.evidence, left)
                known.update(found)
                left.difference_update(found)
            for name, mark in _marks(frame).items():
                if name in runs:
                    ran.setdefault(name, mark)
            if frame.fresh or (not left and len(ran) == len(runs)):
                return known, ran
        known.update((key, piece) for key in left if (piece := self.base.get(key)) is not None)
        return known, {**{name: mark for name, mark in self.ran.items() if name in runs}, **ran}

    def _whole(self, kept: Frame) -> Frame:
        marks = None if kept.ran is None else _marks(kept)
        return replace(kept, evidence=tuple(map(self._unpacked, kept.evidence)), ran=marks)

    def _packed(self, item: Evidence, reprint: Reprint | None) -> Evidence:
        """Return evidence as it is kept: in a series of columns, or of texts once these take much memory."""
        if len(item.data) < WORTH_PACKING:
            return item
        series = self._growing.get(item.key)
        if reprint is not None and reprint.data is item.data:  # else it was not parsed, as that of a run that hangs
            if not isinstance(series, ColumnSeries) or not series.takes(reprint):
                # A history holds the columns of its own time anyway.
                most = 1 if self.seconds is not None and self.seconds <= KEEP else VERSIONS
                series = self._growing[item.key] = ColumnSeries(reprint.printer, most)
            before = series.size
            series.add(reprint)
        elif self._bytes <= RING_LOOSE:
            return item
        else:
            if not isinstance(series, TextSeries) or series.count == LENGTH:
                series = self._growing[item.key] = TextSeries()
            before = series.size
            series.add(item.data)
        with self._lock:
            self._bytes += series.size - before
        return _Stored(**_fields(item, b""), series=series, version=series.count - 1)

    def _unpacked(self, item: Evidence) -> Evidence:
        if not isinstance(item, _Stored):
            return item
        known = self._read.get(item.key)
        if known is None or known[0] is not item.series or known[1] <= item.version:
            known = self._read[item.key] = item.series, *item.series.reader()
        return Evidence(**_fields(item, known[2](item.version)))

    def sheave(self, number: int, buffers: Sequence[tuple[Buffer, Sequence[Evidence]]], packed: frozenset[int]) -> None:
        """Keep those pieces of a frame that are in buffers there; `packed` are their places in the frame."""
        with self._lock:
            place = self.place(number)
            if place < len(self.frames) and self.frames[place].number == number:
                frame = self.frames[place]
                loose = [(at, piece) for at, piece in enumerate(frame.evidence) if at not in packed]
                sheaf = Sheaf([buffer for buffer, _ in buffers], loose)
                self._bytes += sheaf.size - _size(frame.evidence)
                self.frames[place] = replace(frame, evidence=sheaf)
            else:
                for buffer, pieces in buffers:
                    self.base.adopt(buffer, pieces)


class _Stored(Evidence, frozen=True):
    """Evidence whose data are one version of a series."""

    series: TextSeries | ColumnSeries = field(default_factory=TextSeries)
    version: int = 0


def _marks(frame: Frame) -> Mapping[str, RunMark]:
    """Return the marks of a frame, which are packed in a live timeline."""
    return frame.ran.whole() if isinstance(frame.ran, PackedMarks) else frame.ran or {}


def _size(evidence: Iterable[Evidence]) -> int:
    """Return the bytes of evidence; versions of a series have none of their own."""
    return evidence.size if isinstance(evidence, Sheaf) else sum([len(item.data) for item in evidence])


def _loose(frame: Frame) -> Iterable[Evidence]:
    """Return the pieces of a frame that are not in a buffer."""
    return (piece for _, piece in frame.evidence.loose) if isinstance(frame.evidence, Sheaf) else frame.evidence


def _some(evidence: Sequence[Evidence], keys: set[str]) -> dict[str, Evidence]:
    """Return the pieces with some keys."""
    return evidence.some(keys) if isinstance(evidence, Sheaf) else {p.key: p for p in evidence if p.key in keys}


def _left(item: _Stored) -> int:
    """Return the bytes of a series that are dropped with one of its versions: all with the last one."""
    if item.version < item.series.count - 1:
        return 0
    size, item.series.size = item.series.size, 0
    return size


def _fields(item: Evidence, data: bytes) -> dict[str, Any]:
    """Return the fields of evidence with other data."""
    return {name: data if name == "data" else getattr(item, name) for name in Evidence.__struct_fields__}
