"""Stored timeline: the frames of a recording, read from the file when they are asked for.

The runs of a recorder form one timeline (clock.py). The first frame of a further run is `fresh`. Only the times of
frames that were asked for are kept, the evidence of the blocks that were read last (blocks.py), and the state
before some of them (known.py). A recorder may drop its oldest blocks while they are open: their frames then have no
evidence, and nothing is known then.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast, overload

from msgspec.structs import replace

from sdstop.core.column_series import Reprint
from sdstop.core.evidence import Frame
from sdstop.core.minute import Minute
from sdstop.core.timeline import Moved, RunStart, Timeline
from sdstop.recordings.blocks import RecordedBlocks
from sdstop.recordings.clock import RecordingClock
from sdstop.recordings.database import Recording
from sdstop.recordings.known import KnownEvidence


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
        self._blocks = RecordedBlocks(recording, self._clock)
        self._known = KnownEvidence(recording, self._clock, self._blocks)
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
    def newest_run(self) -> int:
        """Index of the run of the newest frame."""
        return self._run(self._last)

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
        """Return a frame as `frame` does; of a block that is not read yet, only this frame is read."""
        at = self._first + index
        found = self._blocks.single(at) if index and not self._is_apart(at) else None
        if found is None:
            return self.frame(index)
        evidence, ran = found
        return self.part(replace(self.moment(index), evidence=evidence, ran=ran))

    def recall(self, start: int, stop: int) -> list[Frame]:
        """Return frames start..stop-1; the first one contains all evidence known at that time."""
        known = self._known.at(self._first + start)
        first = replace(self.moment(start), evidence=known.evidence, ran=known.ran)
        return [self.part(first), *(self.frame(index) for index in range(start + 1, min(stop, len(self))))]

    def moved(self, number: int, index: int) -> Moved | None:
        """Return the way from the frame with a number to frame `index` and the one before it; None if there is none.

        Of the blocks between them nothing is read but which evidence changed.
        """
        base, at = number - 1, self._first + index
        if not index or not self._first <= base <= self._last or self._is_fresh(at):
            return None
        if self._run(base) != self._run(at):
            return None
        change = self._known.change(base, at - 1)
        if change is None:
            return None
        then = replace(self.moment(index - 1), evidence=change.then.evidence, ran=change.then.ran)
        coming = replace(self.moment(index), evidence=change.coming.evidence, ran=change.coming.ran)
        return Moved(self.part(then), change.gone, self.part(coming))

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

    def _run(self, at: int) -> int:
        """Return the index of the run of a frame."""
        return self._clock.places[self._clock.place(at)].run

    def _recorded(self, at: int) -> Frame:
        """Return a frame as it was recorded, with the times and the number of this timeline."""
        frame = self._blocks.frame(at)
        return replace(self.moment(at - self._first), ran={}) if frame is None else frame

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
