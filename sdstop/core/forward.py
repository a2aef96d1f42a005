"""Forward pass: judges the frames of an opened capture or recording in order, while its end is already shown.

The dashboard shows the last frame at once, judged by its window alone. Earlier findings, recurrences and vanished
things are known when every frame has been judged in order, as a report does. Keys do not wait for it. The minutes
around a moment that the user chose are judged before the rest, so that findings near it are known at once.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from sdstop.core.diagnosis import Episode
from sdstop.core.guard import Part
from sdstop.core.history import KEEP
from sdstop.core.judging import SWITCH
from sdstop.core.session import Session

_SHOWN = 0.5
"""Seconds between two signs of progress."""
BEFORE, AFTER = 600.0, 600.0
"""Seconds around a chosen moment that are judged before the rest."""
_FAR = 200
"""Frames that are judged soon, and not out of turn."""
MOST_SCOUTED = 1500
"""Maximum number of frames of them."""
_MOST_SCOUTS = 8
"""Moments around which findings are kept that were judged out of turn."""
_STEP = 0.002
"""Seconds for which the pass waits while something more urgent is judged."""


class ForwardPass:
    """Thread that feeds a session with all frames of its timeline."""

    def __init__(self, session: Session, urgent: Callable[[], bool] = bool) -> None:
        """Prepare the thread; it waits while something else is `urgent`. An exception costs its frame."""
        self._session = session
        self._urgent = urgent
        self._ended = False
        self._sign = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._near: int | None = None
        self._scout: _Scout | None = None
        self._scouted: list[_Scout] = []
        self._thread = threading.Thread(target=self._run, name="forward", daemon=True)

    def start(self) -> None:
        """Begin with the oldest frame."""
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        self._thread.start()

    def near(self, index: int) -> None:
        """Judge the minutes around a frame next, unless they are judged already."""
        self._near = index

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is progress."""
        return self._sign

    def take(self) -> float:
        """Return the part of the frames that are judged, and clear the sign."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._sign)
        return self.done

    @property
    def done(self) -> float:
        """The part of the frames that are judged."""
        return min(self._session.frames_seen / max(len(self._session.timeline.frames), 1), 1.0)

    def close(self) -> None:
        """End after the current frame, without waiting for it."""
        self._ended = True

    def join(self, seconds: float) -> bool:
        """Wait for the end for at most `seconds`; return whether it was reached."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        session, shown = self._session, time.monotonic()
        count, index = len(session.timeline.frames), session.frames_seen
        session.diagnosis.pause = self._wait
        while index < count:
            self._wait()
            if self._ended:
                return
            if not self._scouting():
                session.guard.call(Part.FRAME, "frame", partial(self._feed, index), lambda _: None)
                index += 1
            if time.monotonic() - shown >= _SHOWN:
                shown = time.monotonic()
                os.eventfd_write(self._sign, 1)
        os.eventfd_write(self._sign, 1)

    def _wait(self) -> None:
        while self._urgent() and not self._ended:
            time.sleep(_STEP)

    def _feed(self, index: int) -> None:
        self._session.feed(self._session.timeline.frame(index))

    def _scouting(self) -> bool:
        """Judge a frame near the chosen moment; return False if there is none to judge."""
        near, self._near = self._near, None
        session = self._session
        if near is not None and near - session.frames_seen > _FAR and not any(near in s.range for s in self._scouted):
            self._leave()
            self._scout = made = _Scout(session, near)
            others = [s for s in self._scouted if s.range[0] < made.range[0] or s.range[-1] > made.range[-1]]
            self._scouted = [*others[1 - _MOST_SCOUTS :], made]
        scout = self._scout
        if scout is None:
            return False
        if not session.guard.call(Part.FRAME, "frame", scout.step, lambda _: False):
            self._leave()
        elif scout.has_news:
            scout.note()
            session.scouted = [episode for each in self._scouted for episode in each.episodes]
        return True

    def _leave(self) -> None:
        """End the current scout, if there is one, at its last frame or because another moment was chosen."""
        if self._scout is None:
            return
        self._scout.end()
        self._scout = None
        self._scouted = [each for each in self._scouted if each.range]
        self._session.scouted = [episode for each in self._scouted for episode in each.episodes]
        self._session.scouted_times = [each.times for each in self._scouted]


class _Scout:
    """Judgement of the minutes around a frame, by a session of its own that begins there and is released at its end.

    `range` has the frames that it judges, then those that it judged.
    """

    def __init__(self, session: Session, index: int) -> None:
        self._timeline = session.timeline
        at = self._timeline.frames[index].monotonic
        first = max(self._timeline.at(at - BEFORE), session.frames_seen, index - MOST_SCOUTED // 2)
        self.range = range(first, min(self._timeline.at(at + AFTER) + 1, first + MOST_SCOUTED))
        self.episodes: list[Episode] = []
        diagnosis = session.diagnosis
        self._session = Session(
            session.origin, session.collectors, session.rules, diagnosis.configured, remember=0.0,
            policy=diagnosis.policy,
        )  # fmt: skip
        self._session.diagnosis.pause = diagnosis.pause

    @property
    def times(self) -> tuple[float, float]:
        """Monotonic times between which starts and ends are those that the forward pass will find."""
        frames = self._timeline.frames
        return frames[self.range[0]].monotonic + KEEP, frames[self.range[-1]].monotonic

    @property
    def has_news(self) -> bool:
        """Whether episodes began since they were noted."""
        return len(self._session.diagnosis.episodes) != len(self.episodes)

    def step(self) -> bool:
        """Judge the next frame; return whether there are more."""
        index = self.range[self._session.frames_seen]
        first = index == self.range[0]
        self._session.feed(self._timeline.recall(index, index + 1)[0] if first else self._timeline.frame(index))
        return self._session.frames_seen < len(self.range)

    def note(self) -> None:
        """Take over the episodes so far; active ones are known up to the last frame."""
        now = self._session.head().now
        ordered = self._session.diagnosis.ordered()
        self.episodes = [replace(e, ended=now.monotonic) if e.until is None else e for e in ordered]

    def end(self) -> None:
        """Judge no more frames, and release the session: it holds the samples of a minute and all that is known."""
        if self._session.latest is not None:
            self.note()
        self.range = self.range[: self._session.frames_seen]
        del self._session
