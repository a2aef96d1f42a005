"""Recorded blocks: the blocks of a recording that were read last, in the time of the whole recording.

Blocks are named by their place and frames by their number `at`, both from 0 over the whole recording, as in
`RecordingClock`. Any thread may ask.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import RLock

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.open_block import OpenBlock
from sdstop.core.versions import Damaged
from sdstop.recordings.clock import RecordingClock
from sdstop.recordings.database import Recording
from sdstop.recordings.shift import shifted_evidence, shifted_frame, shifted_runs

_MOST_BYTES = 24 << 20
"""Bytes of evidence of the blocks that are kept."""
_FEWEST = 3
"""Blocks that are kept however large they are."""


class RecordedBlocks:
    """Blocks of a recording, the ones read last without reading them again."""

    def __init__(self, recording: Recording, clock: RecordingClock) -> None:
        """Start without any."""
        self._recording = recording
        self._clock = clock
        self._read: OrderedDict[int, tuple[list[Frame], int]] = OrderedDict()
        """Frames of the blocks read last, and their bytes of evidence."""
        self._opened: tuple[int, OpenBlock | None] = (-1, None)
        """The block opened last."""
        self._guard = RLock()

    @property
    def size(self) -> int:
        """Bytes of evidence of the blocks that are kept."""
        return sum(size for _, size in tuple(self._read.values()))

    def frame(self, at: int) -> Frame | None:
        """Return a frame; None if its block was dropped for its age or is damaged."""
        place = self._clock.place(at)
        frames = self.frames(place)
        return replace(frames[at - self._clock.starts[place]], number=at + 1) if frames else None

    def single(self, at: int) -> tuple[tuple[Evidence, ...], Mapping[str, RunMark] | None] | None:
        """Return evidence and runs of a frame whose block is not read yet, reading nothing else of the block.

        None if the block is read already, was dropped, or is damaged. With 1000 disks all frames of a block take 0.2 s.
        """
        place = self._clock.place(at)
        opened = self.unread(place)
        if opened is None:
            return None
        within, shift = at - self._clock.starts[place], self._clock.shift(self._clock.places[place].run)
        try:
            evidence, ran = opened.evidence(within), opened.runs(within)
        except Damaged:
            return None
        return shifted_evidence(evidence, shift), None if ran is None else shifted_runs(ran, shift)

    def frames(self, place: int) -> list[Frame]:
        """Return the frames of a block, numbered from its first one; none if it was dropped or is damaged."""
        if not self._clock.holds(place):
            return []
        with self._guard:
            known = self._read.get(place)
            if known is not None:
                self._read.move_to_end(place)
                return known[0]
        where = self._clock.places[place]
        shift = self._clock.shift(where.run)
        frames = [shifted_frame(frame, shift) for frame in self._recording.block_frames(where.id)]
        if len(frames) != where.frames:
            frames = []
            if self._clock.holds(place):
                self._clock.damaged.add(place)
        size = sum(len(item.data) for frame in frames for item in frame.evidence)
        with self._guard:
            self._read[place] = frames, size
            while len(self._read) > _FEWEST and self.size > _MOST_BYTES:
                self._read.popitem(last=False)
        return frames

    def unread(self, place: int) -> OpenBlock | None:
        """Return a block as `opened` does, None if its frames are read already or it was dropped."""
        return self.opened(place) if place not in self._read and self._clock.holds(place) else None

    def opened(self, place: int) -> OpenBlock | None:
        """Return a block whose evidence is read when asked for, in the time of its own run; None if it is damaged.

        The last one is kept.
        """
        with self._guard:
            if self._opened[0] != place:
                opened = self._recording.opened(self._clock.places[place].id)
                whole = opened is not None and len(opened.moments) == self._clock.places[place].frames
                self._opened = place, opened if whole else None
            return self._opened[1]
