"""Judging of the frames that the user steps to, in a thread of its own, so that keys do not wait for it."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from functools import partial

from sdstop.core.guard import Part, Superseded
from sdstop.core.heap import return_free_blocks
from sdstop.core.judging import SWITCH
from sdstop.core.lookback import Lookback
from sdstop.core.session import Look

_LEFT = 2.0
"""Seconds after which the states of earlier frames are dropped when the newest one is shown again."""
_PAINTED = 0.1
"""Maximum seconds for which the thread waits while a result is painted: both would take twice as long."""


class Lookup:
    """Thread that judges one frame at a time. A new request supersedes the one before, also while that is judged.

    What takes longer than a blink is preceded by a glance. The frames next to it are judged ahead, and a glance of a
    frame that is being named is made before it is asked for.
    """

    def __init__(self, lookback: Lookback, ahead: Callable[[Look], None] = lambda _: None) -> None:
        """Start the thread, which calls `ahead` with each state before it is painted, except glances asked for."""
        self._lookback = lookback
        self._timeline, self._guard = lookback.session.timeline, lookback.session.guard
        self._ahead = ahead
        self._wanted: int | None = None
        self._shown: int | None = None
        """Number of a frame that is shown and whose neighbors are still to be judged."""
        self._named: int | None = None
        """Number of a frame that may be asked for next."""
        self._is_left = False
        """Whether the newest frame is shown again, and the states of earlier ones are still to be dropped."""
        self._found: Look | None = None
        self._glanced: int | None = None
        """Number of the wanted frame if a glance of it was made ahead."""
        self._painting = False
        self._ended = False
        self._before = 0
        """Number of the frame that was shown before the last one."""
        self._changed = threading.Condition()
        self._sign = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        threading.Thread(target=self._run, name="lookup", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when `take` has a result."""
        return self._sign

    def ask(self, number: int | None) -> Look | None:
        """Request the state at the frame with this number, instead of any other; None: of no frame. Never waits.

        Return a glance of it that was made ahead, which is painted now; None without one.
        """
        glance = None if number is None else self._lookback.foreseen(self._timeline.place(number))
        self._lookback.forget()
        with self._changed:
            self._wanted, self._found, self._shown, self._named = number, None, None, None
            self._glanced, self._painting = None if glance is None else number, glance is not None
            self._is_left = False
            self._changed.notify()
        return glance

    def leave(self) -> None:
        """Request no frame, and drop the states of earlier ones unless one is asked for soon. Never waits."""
        self.ask(None)
        with self._changed:
            self._is_left = True
            self._changed.notify()

    def expect(self, number: int | None) -> None:
        """Make a glance of a frame that may be asked for next, before those next to the one shown. Never waits.

        None: no frame is expected any more.
        """
        with self._changed:
            self._named = number
            self._changed.notify()
        if number is None:
            self._lookback.forget()

    def near(self, number: int) -> None:
        """Request the states next to a frame that is painted now, instead of any other. Never waits."""
        with self._changed:
            self._wanted, self._found, self._shown, self._named, self._painting = None, None, number, None, True
            self._changed.notify()

    def painted(self) -> None:
        """Go on: the newest result is painted."""
        with self._changed:
            self._painting = False
            self._changed.notify()

    def take(self) -> tuple[Look | None, bool]:
        """Return the newest result of the last request once, and whether that is its last one. Never waits.

        The result is None if there is none (any more). A glance is followed by the judged state.
        """
        with self._changed:
            found, self._found = self._found, None
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._sign)
            return found, self._wanted is None

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

    @property
    def is_urgent(self) -> bool:
        """Whether a request has no result yet, or a result is being painted."""
        with self._changed:
            return self._wanted is not None or self._painting

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_interrupted)
                if self._ended:
                    return
                work, number = self._next()
            self._guard.call(Part.FRAME, "frame", partial(work, number), lambda _: None)

    def _next(self) -> tuple[Callable[[int], None], int]:
        """Return what to do now, and the number of its frame."""
        if self._wanted is not None:
            return self._answer, self._wanted
        if self._is_left:
            self._is_left = False
            return self._release, 0
        if self._named is not None:
            number, self._named = self._named, None
            return self._foresee, number
        number, self._shown = self._shown or 0, None
        return self._show_near, number

    def _answer(self, number: int) -> None:
        """Find a glance of a frame unless one is shown already, its state, and those next to it."""
        if self._glanced != number:
            look = self._made(self._glance, number)
            if look is not None:
                self._announce(number, look, is_last=False)
        with self._changed:
            self._wait(number)
            named, self._named = self._named, None
        if named is not None:
            self._foresee(named)
        self._announce(number, self._made(self._judged, number), is_last=True)
        self._show_near(number)

    def _made(self, work: Callable[[int], Look | None], number: int) -> Look | None:
        return self._guard.call(Part.FRAME, "frame", partial(work, number), lambda _: None)

    def _announce(self, number: int, look: Look | None, *, is_last: bool) -> None:
        """Hand over a result, unless another frame is wanted by now."""
        with self._changed:
            if self._wanted == number:
                self._wanted, self._found, self._painting = None if is_last else number, look, True
                os.eventfd_write(self._sign, 1)

    def _show_near(self, number: int) -> None:
        """Prepare the frames next to one that is painted now."""
        with self._changed:
            self._wait(None)
        self._prepare(number)
        with self._changed:
            if self._named is not None and self._wanted is None and self._shown is None:
                self._shown = number  # goes on after the glance

    def _release(self, _: int) -> None:
        with self._changed:
            if self._changed.wait_for(self._is_interrupted, _LEFT):
                return
        self._lookback.release()
        return_free_blocks()  # they were tens of megabytes

    def _foresee(self, number: int) -> None:
        index = self._timeline.place(number)
        look = self._lookback.foreseen(index) or self._lookback.foresee(index)
        if look is not None and not self._is_interrupted():
            self._ahead(look)

    def _wait(self, wanted: int | None) -> None:
        """Wait until the last result is painted, or for another request."""
        self._changed.wait_for(lambda: not self._painting or self._wanted != wanted or self._ended, _PAINTED)
        self._painting = False

    def _glance(self, number: int) -> Look | None:
        index = self._timeline.place(number)
        return self._lookback.foreseen(index) or self._lookback.glance(index)

    def _judged(self, number: int) -> Look | None:
        try:
            look = self._lookback.at(self._timeline.place(number), lambda: self._wanted != number)
        except Superseded:
            return None
        if self._wanted == number:
            self._ahead(look)
        return look

    def _prepare(self, number: int) -> None:
        """Judge the next frame in the direction of the last step, or both after a jump, until there is a request."""
        moved, self._before = number - self._before, number
        index = self._timeline.place(number)
        for step in (1, -1) if abs(moved) != 1 else (moved,):
            if self._is_interrupted():
                return
            with contextlib.suppress(Superseded):
                look = self._lookback.prepare(index + step, self._is_interrupted)
                if look is not None and not self._is_interrupted():
                    self._ahead(look)

    def _is_interrupted(self) -> bool:
        asked = self._wanted is not None or self._shown is not None or self._named is not None
        return asked or self._is_left or self._ended
