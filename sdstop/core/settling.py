"""Settling: pieces of evidence of frames that had many move to buffers, which a node's state and its timeline share."""

from __future__ import annotations

from collections import deque

from sdstop.core.evidence import Frame
from sdstop.core.known import Known
from sdstop.core.sheaf import bound
from sdstop.core.timeline import WORTH_PACKING, Timeline

MANY = 256
"""Pieces of a frame from which they are worth buffers."""
WAIT = 3.0
"""Seconds after which they move: the first frames are shown, and objects that follow find room in place of pieces."""
EVERY = 30.0
"""Seconds after which pieces made of buffers are let go."""


class Settling:
    """Frames whose pieces have not moved yet."""

    def __init__(self) -> None:
        """Start without a frame."""
        self._waiting: deque[Frame] = deque()
        self._settled = 0.0

    def add(self, frame: Frame) -> None:
        """Take a frame."""
        if len(frame.evidence) >= MANY:
            self._waiting.append(frame)

    def settle(self, now: float, known: Known, timeline: Timeline) -> None:
        """Let go of the pieces that a frame needed, and move those of one that has waited, by monotonic seconds.

        Moving takes 2 ms for each 1000 of them.
        """
        if self._waiting and now - self._waiting[0].monotonic >= WAIT:
            frame = self._waiting.popleft()
            small = {place: piece for place, piece in enumerate(frame.evidence) if len(piece.data) < WORTH_PACKING}
            buffers = list(bound(list(small.values())))
            for buffer, pieces in buffers:
                known.adopt(buffer, pieces)
            timeline.sheave(frame.number, buffers, frozenset(small))
        known.let_go()
        if now - self._settled >= EVERY:
            self._settled = now
            known.settle()
            timeline.base.settle()
