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
    """Thread that judges one frame at a time. A new request supersedes the one before, also while that is judged.

    What takes longer than a blink is preceded by a glance. The frames next to it are judged ahead.
    """

    def __init__(self, session: Session) -> None:
        """Start the thread."""
        self._session = session
        self._wanted: int | None = None
        self._found: Look | None = None
        self._ended = False
        self._before = 0
        """Number of the frame that was judged before the last one."""
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
        """Return the newest result of the last request once, None if there is none (any more). Never waits.

        A glance is followed by the judged state; `busy` is set until then.
        """
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
            for work in (self._glanced, self._judged):
                look = self._session.guard.call(Part.FRAME, "frame", partial(work, number), lambda _: None)
                with self._changed:
                    is_last = work != self._glanced
                    if self._wanted == number and (is_last or look is not None):
                        self._wanted, self._found = None if is_last else number, look
                        os.eventfd_write(self._sign, 1)
            self._session.guard.call(Part.FRAME, "frame", partial(self._prepare, number), lambda _: None)

    def _glanced(self, number: int) -> Look | None:
        return self._session.glance(self._session.timeline.place(number))

    def _judged(self, number: int) -> Look | None:
        try:
            return self._session.look(self._session.timeline.place(number), lambda: self._wanted != number)
        except Superseded:
            return None

    def _prepare(self, number: int) -> None:
        """Judge the next frame in the direction of the last step, or both after a jump, until there is a request."""
        moved, self._before = number - self._before, number
        index = self._session.timeline.place(number)
        for step in (1, -1) if abs(moved) != 1 else (moved,):
            with contextlib.suppress(Superseded):
                self._session.prepare(index + step, lambda: self._wanted is not None or self._ended)
