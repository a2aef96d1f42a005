"""Load course: reads and writes of all disks over all frames that a session keeps."""

from __future__ import annotations

from collections import deque
from itertools import takewhile

from msgspec import Struct

from sdstop.analysis.drives import DiskTotals, totals
from sdstop.core.guard import Part
from sdstop.core.history import Window
from sdstop.core.session import Look, Session


class LoadSample(Struct, frozen=True):
    """Totals of all disks over the `seconds` that end at `ends` (monotonic seconds)."""

    ends: float
    seconds: float
    total: DiskTotals


class LoadCourse:
    """Totals of all disks, one sample per run of the source, oldest first.

    A window holds about a minute; this has the range of the session's timeline. It is extended by each frame that the
    session judges, in the thread that judges; others may read it at the same time.
    """

    def __init__(self, session: Session) -> None:
        """Follow a session; of frames that it has judged already, take the samples of its newest window."""
        self._session = session
        self._samples: deque[LoadSample] = deque()
        session.listeners.append(self._heard)
        if session.latest is not None:
            self._heard(session.latest)

    @property
    def samples(self) -> tuple[LoadSample, ...]:
        """All samples, oldest first."""
        return tuple(self._samples)

    def _heard(self, look: Look) -> None:
        self._session.guard.call(Part.VIEW, "load course", lambda: self.add(look.window), lambda _: None)

    def add(self, window: Window) -> None:
        """Add the samples of a window that are newer than the last one, and drop those of forgotten frames."""
        last = self._samples[-1].ends if self._samples else float("-inf")
        newer = takewhile(lambda sample: sample[0] > last, reversed(totals(window)))
        self._samples.extend(LoadSample(*sample) for sample in reversed([*newer]) if sample[1] > 0)
        frames = self._session.timeline.frames
        while self._samples and frames and self._samples[0].ends < frames[0].monotonic:
            self._samples.popleft()
