"""Forward pass: judges the frames of an opened capture or recording in order, while its end is already shown.

The dashboard shows the last frame at once, judged by its window alone. Earlier findings, recurrences and vanished
things are known when every frame has been judged in order, as a report does. Keys do not wait for it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from sdstop.core.guard import Part
from sdstop.core.judging import SWITCH
from sdstop.core.session import Session

_SHOWN = 0.5
"""Seconds between two signs of progress."""
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
        self._thread = threading.Thread(target=self._run, name="forward", daemon=True)

    def start(self) -> None:
        """Begin with the oldest frame."""
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        self._thread.start()

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
        for index in range(session.frames_seen, len(session.timeline.frames)):
            while self._urgent() and not self._ended:
                time.sleep(_STEP)
            if self._ended:
                return
            session.guard.call(Part.FRAME, "frame", partial(self._feed, index), lambda _: None)
            if time.monotonic() - shown >= _SHOWN:
                shown = time.monotonic()
                os.eventfd_write(self._sign, 1)
        os.eventfd_write(self._sign, 1)

    def _feed(self, index: int) -> None:
        self._session.feed(self._session.timeline.frame(index))
