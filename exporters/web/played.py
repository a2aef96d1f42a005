"""Frames of a capture, given at the pace at which they were recorded: rates that Prometheus computes are then real."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from sdstop.core.evidence import Frame

LINGER = 15.0
"""Seconds that the last frame is shown, so that a scraper with the usual interval sees it."""


class PlayedFrames:
    """Source of recorded frames that arrive as they did on the node. A thread waits; no method does.

    `linger` is the number of seconds after the last frame until the source ends.
    """

    def __init__(self, frames: Sequence[Frame], linger: float = LINGER) -> None:
        """Keep at least one frame; `start` begins the playback."""
        self._frames = frames
        self._linger = linger
        self._due: deque[Frame] = deque()
        self._over = False
        self._begun: float | None = None
        self._ending = threading.Event()
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="playback", daemon=True)

    def start(self) -> None:
        """Give the first frame now, and each other one at its time."""
        self._thread.start()

    def now(self) -> float:
        """Return the time of the node that is played, in monotonic seconds."""
        passed = 0.0 if self._begun is None else time.monotonic() - self._begun
        return self._frames[0].monotonic + passed

    @property
    def interval(self) -> float:
        """Usual time between two frames in seconds."""
        steps = sorted(after.monotonic - before.monotonic for before, after in pairwise(self._frames))
        return steps[len(steps) // 2] if steps else 0.0

    def _run(self) -> None:
        begun, first = time.monotonic(), self._frames[0].monotonic
        self._begun = begun
        for frame in self._frames:
            if self._ending.wait(max(begun + frame.monotonic - first - time.monotonic(), 0.0)):
                return
            self._due.append(frame)
            os.eventfd_write(self._descriptor, 1)
        if not self._ending.wait(self._linger):
            self._over = True
            os.eventfd_write(self._descriptor, 1)

    @property
    def alive(self) -> bool:
        """Whether the playback is not over."""
        return not self._over

    def fileno(self) -> int:
        """Return the descriptor that is readable when frames are due, and at the end."""
        return self._descriptor

    def receive(self) -> list[Frame]:
        """Return the frames that became due since the last call."""
        try:
            os.eventfd_read(self._descriptor)
        except BlockingIOError:
            return []
        found = []
        while self._due:
            found.append(self._due.popleft())
        return found

    def close(self) -> None:
        """End the thread."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
