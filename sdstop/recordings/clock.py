"""Clock of a recording: the times of its frames, which it reads by blocks.

The runs of a recorder form one timeline. Its clock is the monotonic one of the first run; a further run of the same
boot continues it, and one after a boot begins at its wall-clock time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from threading import RLock

from sdstop.core.timeline import NEAR, nearest
from sdstop.recordings.database import NoRecording, Recording

_CLOCKS = 2.0
"""Seconds that the clocks of two runs of one boot may differ by."""


class RecordingClock:
    """Times of all frames of a recording. Frames are counted over all of it, from 0; blocks by their place, from 0."""

    def __init__(self, recording: Recording) -> None:
        """Read where the blocks are. Raises NoRecording."""
        self._recording = recording
        self.places = recording.blocks()
        """The blocks, oldest first."""
        self.starts = [0, *accumulate(place.frames for place in self.places)]
        """The first frame of each block, and the number of all frames."""
        self.damaged: set[int] = set()
        """Places of the blocks that could not be read."""
        self._times: dict[int, tuple[Sequence[float], Sequence[float]]] = {}
        self._shifts: dict[int, float] = {}
        self._guard = RLock()

    def place(self, at: int) -> int:
        """Return the place of the block of a frame, counted over the whole recording. Raises IndexError without one."""
        if not 0 <= at < self.starts[-1]:
            raise IndexError("no such frame")
        return bisect_right(self.starts, at) - 1

    def holds(self, place: int) -> bool:
        """Return whether the recording still has a block."""
        try:
            return self._recording.holds(self.places[place].id)
        except NoRecording:
            return True  # it is damaged, not dropped

    def taken_by(self, taken: float, newest: int) -> int | None:
        """Return the last frame that is at most NEAR before a Unix time, or else the nearest one before it."""
        found, distance = None, math.inf
        for place in reversed(range(newest + 1)):
            where = self.places[place]
            if max(where.first, where.last) <= taken - distance:
                continue
            if where.first <= taken or where.last < where.first:  # the clock was set back in between
                times = self.moments(place)[0]
                within = nearest(times, taken)
                if within is None and where.first <= taken:
                    within = 0
                if within is not None and (found is None or taken - times[within] < distance):
                    found, distance = self.starts[place] + within, taken - times[within]
            if distance <= NEAR:
                break
        return found

    def at(self, at: int) -> tuple[float, float]:
        """Return the Unix and the monotonic time of a frame."""
        place = self.place(at)
        taken, monotonic = self.moments(place)
        return taken[at - self.starts[place]], monotonic[at - self.starts[place]]

    def moments(self, place: int) -> tuple[Sequence[float], Sequence[float]]:
        """Return the Unix and monotonic times of a block's frames; of a damaged block, times between its ends."""
        with self._guard:
            found = self._times.get(place)
            if found is None:
                raw = self._raw(place)
                shift = self.shift(self.places[place].run)
                found = self._times[place] = raw[0], [each + shift for each in raw[1]] if shift else raw[1]
            return found

    def _raw(self, place: int) -> tuple[Sequence[float], Sequence[float]]:
        where = self.places[place]
        moments = self._recording.moments(where.id)
        if len(moments) != where.frames and self.holds(place):
            self.damaged.add(place)
        if len(moments) == where.frames:
            return [moment.taken for moment in moments], [moment.monotonic for moment in moments]
        step = max(where.last - where.first, 0.0) / where.frames
        begins = 0.0
        if place and self.places[place - 1].run == where.run:
            begins = self._raw(place - 1)[1][-1] + max(where.first - self.places[place - 1].last, 1e-3)
        spread = [step * within for within in range(where.frames)]
        return [where.first + each for each in spread], [begins + each for each in spread]

    def shift(self, run: int) -> float:
        """Return the seconds by which the monotonic times of a run are moved."""
        with self._guard:
            if run not in self._shifts:
                self._shifts[run] = self._shift_of(run)
            return self._shifts[run]

    def _ends(self, run: int) -> tuple[int, int] | None:
        """Return the last block of the run before one, and its own first block."""
        own = next((n for n, place in enumerate(self.places) if place.run == run), None)
        return (own - 1, own) if own else None

    def is_booted(self, run: int) -> bool:
        """Return whether the node booted before a run: its clock shows less than the time without a frame."""
        ends = self._ends(run)
        if ends is None:
            return False
        (old_taken, old), (new_taken, new) = self._raw(ends[0]), self._raw(ends[1])
        return new[0] <= old[-1] or new[0] <= new_taken[0] - old_taken[-1] + _CLOCKS

    def _shift_of(self, run: int) -> float:
        ends = self._ends(run)
        if ends is None:
            return 0.0
        (old_taken, old), (new_taken, new) = self._raw(ends[0]), self._raw(ends[1])
        before = self.shift(self.places[ends[0]].run)
        if not self.is_booted(run):
            return before
        return before + old[-1] + max(new_taken[0] - old_taken[-1], 1.0) - new[0]
