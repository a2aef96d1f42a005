"""Ending: a process that is asked to end does so within a limit, whatever its main thread is busy with."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from sdstop.core.guard import caught

LIMIT = 1.8
"""Seconds from the signal to the end of the process."""
LAST = 0.2
"""Seconds of these for leaving things in order."""


def end_soon(code: int, last: Callable[[], None] = lambda: None) -> None:
    """End this process with an exit code within LIMIT seconds unless it has ended by itself; for signal handlers.

    `last` leaves things in order, such as the terminal, before a forced end.
    """
    threading.Thread(target=_end, args=(code, last), name="ending", daemon=True).start()


def _end(code: int, last: Callable[[], None]) -> None:
    time.sleep(LIMIT - LAST)
    tidying = threading.Thread(target=caught, args=(last,), name="tidying", daemon=True)
    tidying.start()
    tidying.join(LAST)
    os._exit(code)
