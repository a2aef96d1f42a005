"""Judging of the frames that the user steps to, in a thread of its own, so that keys do not wait for it."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from functools import partial

from sdstop.core.diagnosis import Superseded
from sdstop.core.guard import Part
from sdstop.core.judging import SWITCH
from sdstop.core.session import Look, Session


class Lookup:
    """Thread that judges one frame at a time. A new request supersedes the one before, also while that is judged."""

    def __init__(self, session: Session) -> None:
        """Start the thread."""
        self._session = session
        self._wanted: int | None = None
        self._found: Look | None = None
        self._ended = False
        self._changed = threading.Condition()
        self._sign = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        threading.Thread(target=self._run, name="lookup", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when `take` has a result."""
        return self._sign

    def ask(self, number: int | None) -> None:
        """Request the state at the frame with this number, instead of any other; None: of no frame. Never waits."""
        with self._changed:
            self._wanted, self._found = number, None
            self._changed.notify()

    def take(self) -> Look | None:
        """Return the result of the last request once, None if there is none (any more). Never waits."""
        with self._changed:
            found, self._found = self._found, None
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._sign)
        return found

    @property
    def busy(self) -> bool:
        """Whether the last request has no result yet."""
        with self._changed:
            return self._wanted is not None

    def close(self) -> None:
        """End the thread after the current rule, without waiting for it."""
        with self._changed:
            self._ended, self._wanted = True, None
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._wanted is None and not self._ended:
                    self._changed.wait()
                if self._ended:
                    return
                number = self._wanted or 0
            look = self._session.guard.call(Part.FRAME, "frame", partial(self._judged, number), lambda _: None)
            with self._changed:
                if self._wanted == number:
                    self._wanted, self._found = None, look
                    os.eventfd_write(self._sign, 1)

    def _judged(self, number: int) -> Look | None:
        try:
            return self._session.look(self._session.timeline.place(number), lambda: self._wanted != number)
        except Superseded:
            return None
