"""Waiting for keys without waking up.

Textual's thread that reads keys asks ten times a second whether to end, and whether an escape sequence has remained
incomplete. Both matter only after input, or at the end.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

SETTLES = 1.0
"""Seconds after input in which the thread goes on as it is; an incomplete sequence is over after 0.1 s."""


class InputEvent(threading.Event):
    """Event that ends the thread that reads a descriptor. There, `is_set` waits until there is something to do."""

    def __init__(self, descriptor: int) -> None:
        """Begin without a thread: until `wait_here`, this is an event like any other."""
        super().__init__()
        self._descriptor = descriptor
        self._sign = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = 0
        self._until = 0.0

    def __del__(self) -> None:
        """Close the descriptor of its own."""
        with contextlib.suppress(OSError):
            os.close(self._sign)

    def wait_here(self) -> None:
        """Let `is_set` wait if the calling thread asks."""
        self._thread = threading.get_ident()
        self._until = time.monotonic() + SETTLES

    def set(self) -> None:
        """Set the event, and end the wait."""
        super().set()
        os.eventfd_write(self._sign, 1)

    def clear(self) -> None:
        """Clear the event."""
        super().clear()
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._sign)

    def is_set(self) -> bool:
        """Return whether the event is set; in the thread that reads, wait for that or for input first."""
        if threading.get_ident() == self._thread and not super().is_set() and time.monotonic() >= self._until:
            poll = select.poll()
            poll.register(self._sign, select.POLLIN)
            poll.register(self._descriptor, select.POLLIN)
            poll.poll()
            self._until = time.monotonic() + SETTLES
        return super().is_set()
