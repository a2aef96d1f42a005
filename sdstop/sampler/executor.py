"""Serial executor: runs collectors one after the other, and moves the queue to a new thread behind a slow one."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable

from msgspec import Struct

from sdstop.core.guard import caught

BLINK = 0.005
"""Seconds that queued tasks wait for the end of the current one."""


class _Worker(Struct, eq=False):
    """Thread state: start of the current task (None: idle), and whether the queue was moved to another thread."""

    began: float | None = None
    left: bool = False


class SerialExecutor:
    """Serial executor that moves the queued tasks to a new thread when one takes longer than BLINK, or hangs.

    Parallel tasks would contend for Python's global lock at every file that they read, which with forty of them costs
    more than the reading. `put`, `pause` and `step` must be called by one thread; any thread may call `idle`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without a thread."""
        self._clock = clock
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._worker: _Worker | None = None

    def put(self, order: Callable[[], None]) -> None:
        """Queue a task; it starts with the next `step` at the latest."""
        self._orders.put(order)

    def idle(self) -> bool:
        """Return whether the queue is empty."""
        return self._orders.empty()

    def pause(self) -> float:
        """Return the seconds until `step` has something to do."""
        worker = self._worker
        if worker is None:
            return math.inf if self._orders.empty() else 0.0
        began = worker.began
        if began is None:
            return math.inf if self._orders.empty() else BLINK
        return max(0.0, began + BLINK - self._clock())

    def step(self) -> None:
        """Move the queue to a new thread if the current task takes too long, or without a thread."""
        worker = self._worker
        began = None if worker is None else worker.began
        if worker is not None and began is not None and self._clock() - began >= BLINK:
            worker.left = True
            self._worker = None
        if self._worker is None and not self._orders.empty():
            self._worker = _Worker()
            threading.Thread(target=self._work, args=(self._worker,), name="collectors", daemon=True).start()

    def _work(self, worker: _Worker) -> None:
        while not worker.left:  # if set just after this check, one more task runs in parallel to the new thread
            order = self._orders.get()
            worker.began = self._clock()
            caught(order)  # the task has already reported its exception; the thread must go on
            worker.began = None
