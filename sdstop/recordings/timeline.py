"""Stored timeline: the frames of a recording, read from the file when they are asked for.

The runs of a recorder form one timeline (clock.py). The first frame of a further run is `fresh`. Only the times of
frames that were asked for are kept, and the evidence of the blocks that were read last. A recorder may drop its oldest
blocks while they are open: their frames then have no evidence, and nothing is known then.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import RLock
from typing import cast, overload

from msgspec.structs import replace

from sdstop.core.block import OpenBlock
from sdstop.core.column_series import Reprint
from sdstop.core.evidence import RAN, Evidence, Frame, RunMark
from sdstop.core.minute import Minute
from sdstop.core.timeline import Moved, RunStart, Timeline
from sdstop.core.versions import Damaged
from sdstop.recordings.clock import RecordingClock
from sdstop.recordings.database import NoRecording, Recording

_OPEN_BYTES = 24 << 20
"""Bytes of evidence of the blocks that are kept."""
_FEWEST_OPEN = 3
_STATES = 4
"""Blocks before which the known evidence is kept; they share most of it."""
_MOST_MOVED = 4000
"""Pieces of evidence that may have changed between two blocks to read only those."""


class StoredTimeline(Timeline):
    """Frames of a recording between two Unix times, each inclusive; without one between them, the one before."""

    def __init__(self, recording: Recording, since: float, until: float) -> None:
        """Find the frames. Raises LookupError if there are none, and NoRecording."""
        super().__init__()
        self.complete = True
        self.recording = recording
        self.part: Callable[[Frame], Frame] = _same
        """Returns the part of a frame to keep."""
        self._clock = RecordingClock(recording)
        self._open: OrderedDict[int, tuple[list[Frame], int]] = OrderedDict()
        self._guard = RLock()
        self._states: OrderedDict[int, tuple[dict[str, Evidence], dict[str, RunMark]]] = OrderedDict()
        """Evidence and last runs known before the blocks asked for last."""
        self._near: tuple[int, OpenBlock | None] = (-1, None)
        """The block read last for a single frame."""
        self._first = 0
        self._last = 0
        self._bound(since, until)
        self.starts = tuple(self._run_starts())
        """Starts of further runs."""
        self.minutes = tuple(self._read_minutes())
        """Summaries of the recorded minutes, with the times of this timeline, oldest first."""
        self.frames = cast("deque[Frame]", _StoredFrames(self))

    def __len__(self) -> int:
        return self._last - self._first + 1

    def name(self, named: Callable[[Frame], Frame]) -> None:
        """Replace the keys of all frames."""
        part = self.part
        self.part = lambda frame: named(part(frame))

    def append(self, frame: Frame, reprints: Mapping[str, Reprint] | None = None) -> None:
        """Do nothing: the frame is held already."""

    def copy(self) -> Timeline:
        """Return itself: it does not change."""
        return self

    def close(self) -> None:
        """Close the file."""
        self.recording.close()

    @property
    def faults(self) -> Sequence[str]:
        """What could not be read so far."""
        return tuple(self.recording.notes)

    def doubt(self, number: int) -> str:
        """Return that the recording is damaged at the frame with a number, "" if it is not, or was not read yet."""
        return (
            "no sample at this moment: the recording is damaged"
            if self._clock.place(number - 1) in self._clock.damaged
            else ""
        )

    @property
    def held(self) -> int:
        """Bytes of evidence of the blocks that are kept."""
        return sum(size for _, size in tuple(self._open.values()))

    @property
    def newest_run(self) -> int:
        """Index of the run of the newest frame."""
        return self._clock.places[self._clock.place(self._last)].run

    def moment(self, index: int) -> Frame:
        """Return a frame without its evidence."""
        at = self._first + index
        place = self._clock.place(at)
        taken, monotonic = self._clock.moments(place)
        within = at - self._clock.starts[place]
        begins = self._is_fresh(at) or (index > 0 and self._is_doubtful(at))
        return Frame(at + 1, taken[within], monotonic[within], fresh=begins)

    def frame(self, index: int) -> Frame:
        """Return a frame; the first of the timeline, or of a further run, has all that was known at its time.

        So has the first one after a damaged block, in which anything may have changed: nothing known before holds.
        """
        at = self._first + index
        if index and not self._is_apart(at):
            return self.part(self._recorded(at))
        whole = self.recall(index, index + 1)[0]
        return replace(whole, fresh=True) if index and self._is_doubtful(at) else whole

    def single(self, index: int) -> Frame:
        """Return a frame as `frame` does; of a block that is not read yet, only this frame is read.

        With 1000 disks all frames of a block take 0.2 s.
        """
        at = self._first + index
        place = self._clock.place(at)
        opened = None
        if index and place not in self._open and self._clock.holds(place) and not self._is_apart(at):
            opened = self._opened(place)
        if opened is None:
            return self.frame(index)
        within, shift = at - self._clock.starts[place], self._clock.shift(self._clock.places[place].run)
        try:
            found = replace(self.moment(index), evidence=tuple(opened.evidence(within)), ran=opened.runs(within))
        except Damaged:
            return self.frame(index)
        return self.part(_shifted_evidence(found, shift))

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        at = self._first + start
        known, marks, noted = self._known_at(at)
        moment = self.moment(start)
        first = replace(moment, evidence=tuple(known.values()), ran=marks if noted else None)
        return [self.part(first), *(self.frame(index) for index in range(start + 1, min(stop, len(self))))]

    def moved(self, number: int, index: int) -> Moved | None:
        """Return the way from the frame with a number to frame `index` and the one before it; None if there is none.

        Of the blocks between them nothing is read but which evidence changed.
        """
        base, at = number - 1, self._first + index
        if not index or not self._first <= base <= self._last or self._is_fresh(at):
            return None
        begin, then, place = self._clock.place(base), self._clock.place(at - 1), self._clock.place(at)
        if self._clock.places[begin].run != self._clock.places[place].run:
            return None
        opened, coming = self._opened(then), self._opened(place)
        if opened is None or coming is None:
            return None
        if not all(map(self._clock.holds, (begin, then, place))):
            return None  # their changes are dropped, too
        within = at - 1 - self._clock.starts[then]
        try:
            names = self._differs(base, at - 1, opened)
        except (Damaged, NoRecording):
            return None
        try:
            known, now = opened.around((key for key in names.values() if not key.startswith(RAN)), within)
            marks, ran = opened.last_runs(within), coming.runs(at - self._clock.starts[place])
            if place != then:
                now = coming.around((), -1)[1]
        except Damaged:
            return None
        older = [name for name, key in names.items() if key not in known and key.removeprefix(RAN) not in marks]
        before, earlier = self.recording.known(
            self.recording.runs[self._clock.places[then].run], self._clock.places[then].id, older
        )
        known, marks = {**before, **known}, {**earlier, **marks}
        gone = [
            key
            for key in names.values()
            if (key not in known if not key.startswith(RAN) else key.removeprefix(RAN) not in marks)
        ]
        shift = self._clock.shift(self._clock.places[then].run)
        first, second = self.moment(index - 1), self.moment(index)
        noted = marks if opened.moments[within].noted else None
        first = _shifted_evidence(replace(first, evidence=tuple(known.values()), ran=noted), shift)
        second = _shifted_evidence(replace(second, evidence=tuple(now.values()), ran=ran), shift)
        return Moved(self.part(first), gone, self.part(second))

    def _differs(self, base: int, at: int, opened: OpenBlock) -> dict[int, str]:
        """Return the names, with their keys, of the evidence that may differ between two frames of a run.

        `opened` is the block of the second one. Raises Damaged and NoRecording.
        """
        first, last = sorted((self._clock.place(base), self._clock.place(at)))
        places = self._clock.places
        earliest: OpenBlock | None = opened
        if self._clock.place(at) != first:
            begins = not first or places[first - 1].run != places[first].run  # with every piece there is
            earliest = self._opened(first) if begins else None
        if earliest is None:
            return self.recording.changed(places[first].id, places[last].id + 1)
        later = earliest.changed_after(min(base, at) - self._clock.starts[first])
        return {**self.recording.changed(places[first].id + 1, places[last].id + 1), **self.recording.names(later)}

    def _opened(self, place: int) -> OpenBlock | None:
        """Return a block whose evidence is read when asked for; the last one is kept."""
        with self._guard:
            if self._near[0] != place:
                opened = self.recording.opened(self._clock.places[place].id)
                whole = opened is not None and len(opened.moments) == self._clock.places[place].frames
                self._near = place, opened if whole else None
            return self._near[1]

    def whole(self) -> Sequence[Frame]:
        """Return no frames: days of them would have to be read."""
        return ()

    def place(self, number: int) -> int:
        """Return the index of the first frame with this number or a higher one."""
        return min(max(number - 1 - self._first, 0), len(self))

    def at(self, monotonic: float) -> int:
        """Return the index of the last frame at or before monotonic seconds, or of the oldest frame."""
        low, high = self._clock.place(self._first), self._clock.place(self._last)
        while low < high:
            middle = (low + high + 1) // 2
            if self._clock.moments(middle)[1][0] <= monotonic:
                low = middle
            else:
                high = middle - 1
        found = self._clock.starts[low] + bisect_right(self._clock.moments(low)[1], monotonic) - 1
        return max(min(found, self._last) - self._first, 0)

    def taken_by(self, taken: float) -> int | None:
        """Return the index of the last frame that is at most NEAR before a Unix time, or else the nearest before it.

        None if all are later.
        """
        found = self._clock.taken_by(taken, self._clock.place(self._last))
        return None if found is None or found < self._first else min(found, self._last) - self._first

    def read_at(self, index: int, key: str) -> float:
        """Return the Unix time of the frame: recordings have the times of all evidence."""
        del key
        return self.moment(index).taken

    # -- places -----------------------------------------------------------------------------------------------

    def _is_fresh(self, at: int) -> bool:
        """Return whether a frame is the first one of a further run."""
        clock = self._clock
        place = clock.place(at)
        begins = at > self._first and at == clock.starts[place]
        return begins and bool(place) and clock.places[place].run != clock.places[place - 1].run

    def _is_doubtful(self, at: int) -> bool:
        """Return whether a frame is the first one after a damaged block."""
        place = self._clock.place(at)
        return at == self._clock.starts[place] and place - 1 in self._clock.damaged

    def _is_apart(self, at: int) -> bool:
        """Return whether a frame has all that was known at its time, because none before it counts."""
        return self._is_doubtful(at) or self._is_fresh(at) or self._is_first_left(at)

    def _is_first_left(self, at: int) -> bool:
        """Return whether a frame is the first one after those that were dropped for their age."""
        clock = self._clock
        place = clock.place(at)
        return place > 0 and at == clock.starts[place] and not clock.holds(place - 1) and clock.holds(place)

    def _bound(self, since: float, until: float) -> None:
        last = self._clock.starts[-1] - 1 if self._clock.places else None  # the clock may have been set back
        if until < math.inf and self._clock.places:
            last = self._clock.taken_by(until + 1e-6, len(self._clock.places) - 1)
        if last is None:
            raise LookupError("no frame before the end of the period")
        self._first, self._last = 0, last
        for place in range(self._clock.place(last) + 1):
            if max(self._clock.places[place].first, self._clock.places[place].last) >= since:
                times = self._clock.moments(place)[0]
                within = next((n for n, taken in enumerate(times) if taken >= since - 1e-6), len(times))
                self._first = min(self._clock.starts[place] + within, last)
                return
        self._first = last

    def _run_starts(self) -> Iterator[RunStart]:
        for place in range(self._clock.place(self._first) + 1, self._clock.place(self._last) + 1):
            at = self._clock.starts[place]
            if self._is_fresh(at):
                before, after = self._clock.at(at - 1), self._clock.at(at)
                yield RunStart(
                    at - self._first, after[1] - before[1], self._clock.is_booted(self._clock.places[place].run)
                )

    def _read_minutes(self) -> Iterator[Minute]:
        first, last = self._clock.at(self._first)[1], self._clock.at(self._last)[1]
        runs = {place.run for place in self._clock.places}
        known = [(self._clock.shift(run), minute) for run, minute in self.recording.minutes() if run in runs]
        for shift, minute in known:
            moved = replace(minute, monotonic=minute.monotonic + shift)
            if moved.monotonic + moved.seconds >= first and moved.monotonic <= last:
                yield moved

    # -- evidence ---------------------------------------------------------------------------------------------

    def _recorded(self, at: int) -> Frame:
        """Return a frame as it was recorded, with the times and the number of this timeline."""
        place = self._clock.place(at)
        frames = self._block(place) if self._clock.holds(place) else []
        if not frames:
            moment = self.moment(at - self._first)
            return replace(moment, ran={})
        return replace(frames[at - self._clock.starts[place]], number=at + 1)

    def _known_at(self, at: int) -> tuple[dict[str, Evidence], dict[str, RunMark], bool]:
        """Return the evidence known and the last runs of collectors at a frame, and whether runs are recorded there.

        Of a block that is not read yet, only the versions of that moment are.
        """
        place = self._clock.place(at)
        known, marks = self._known(place)
        opened = self._opened(place) if place not in self._open and self._clock.holds(place) else None
        if opened is not None and len(opened.keys) <= _MOST_MOVED:
            within, shift = at - self._clock.starts[place], self._clock.shift(self._clock.places[place].run)
            try:
                newer, ran = opened.known(within), opened.last_runs(within)
            except Damaged:
                pass
            else:
                known.update((item.key, _shifted(item, shift)) for item in newer)
                marks.update((name, _shifted_mark(mark, shift)) for name, mark in ran.items())
                return known, marks, opened.moments[within].noted
        frame = None
        for frame in map(self._recorded, range(self._clock.starts[place], at + 1)):
            known.update((item.key, item) for item in frame.evidence)
            marks.update(frame.ran or {})
        return known, marks, frame is not None and frame.ran is not None

    def _known(self, place: int) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        """Return the evidence known, and the last runs of collectors, before a block.

        Most evidence of a node is that of the block read last: only the pieces that changed in between are read.
        """
        with self._guard:
            if not self._clock.holds(place):
                return {}, {}
            near = min(
                (
                    each
                    for each in self._states
                    if self._clock.places[each].run == self._clock.places[place].run and self._clock.holds(each)
                ),
                key=lambda each: abs(each - place),
                default=None,
            )
            if near is None:
                state = self._read_known(place, None)
            elif near == place:
                state = self._states[place]
            else:
                state = self._moved(near, place)
            self._states[place] = state
            self._states.move_to_end(place)
            while len(self._states) > _STATES:
                self._states.popitem(last=False)
            return dict(state[0]), dict(state[1])

    def _moved(self, near: int, place: int) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        """Return the state before a block from that before another one of the same run."""
        first, last = sorted((self._clock.places[near].id, self._clock.places[place].id))
        try:
            names = self.recording.changed(first, last)
        except NoRecording:  # whatever may have changed is read
            return self._read_known(place, None)
        if len(names) > _MOST_MOVED:
            return self._read_known(place, None)
        known, marks = dict(self._states[near][0]), dict(self._states[near][1])
        for key in names.values():
            known.pop(key, None)
            marks.pop(key.removeprefix(RAN), None) if key.startswith(RAN) else None
        more, ran = self._read_known(place, tuple(names))
        return {**known, **more}, {**marks, **ran}

    def _read_known(self, place: int, names: Sequence[int] | None) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        where = self._clock.places[place]
        known, marks = self.recording.known(self.recording.runs[where.run], where.id, names)
        shift = self._clock.shift(where.run)
        if not shift:
            return known, marks
        shifted = {key: _shifted(item, shift) for key, item in known.items()}
        return shifted, {name: _shifted_mark(mark, shift) for name, mark in marks.items()}

    def _block(self, place: int) -> list[Frame]:
        with self._guard:
            known = self._open.get(place)
            if known is not None:
                self._open.move_to_end(place)
                return known[0]
        where = self._clock.places[place]
        shift = self._clock.shift(where.run)
        frames = [_shifted_frame(frame, shift) for frame in self.recording.block_frames(where.id)]
        if len(frames) != where.frames:
            frames = []
            if self._clock.holds(place):
                self._clock.damaged.add(place)
        size = sum(len(item.data) for frame in frames for item in frame.evidence)
        with self._guard:
            self._open[place] = frames, size
            while len(self._open) > _FEWEST_OPEN and sum(each for _, each in self._open.values()) > _OPEN_BYTES:
                self._open.popitem(last=False)
        return frames


class _StoredFrames(Sequence[Frame]):
    """Frames of a stored timeline without their evidence, found when they are asked for."""

    def __init__(self, timeline: StoredTimeline) -> None:
        self._timeline = timeline

    def __len__(self) -> int:
        return len(self._timeline)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> list[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | list[Frame]:
        if isinstance(index, slice):
            return [self._timeline.moment(each) for each in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError("no such frame")
        return self._timeline.moment(place)


def _same(frame: Frame) -> Frame:
    return frame


def _shifted(item: Evidence, shift: float) -> Evidence:
    return replace(item, monotonic=item.monotonic + shift) if shift and item.monotonic is not None else item


def _shifted_mark(mark: RunMark, shift: float) -> RunMark:
    return RunMark(mark.started + shift, mark.duration) if shift else mark


def _shifted_frame(frame: Frame, shift: float) -> Frame:
    return replace(_shifted_evidence(frame, shift), monotonic=frame.monotonic + shift) if shift else frame


def _shifted_evidence(frame: Frame, shift: float) -> Frame:
    if not shift:
        return frame
    ran = None if frame.ran is None else {name: _shifted_mark(mark, shift) for name, mark in frame.ran.items()}
    return replace(frame, evidence=tuple(_shifted(item, shift) for item in frame.evidence), ran=ran)
