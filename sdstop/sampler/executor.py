"""Serial executor: runs collectors one after the other, and moves the queue to a new thread behind one that waits."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from sdstop.core.guard import caught
from sdstop.node.threads import blocked as blocked_in_kernel

BLINK = 0.005
"""Seconds for which queued tasks wait before the current one is checked, and between checks."""
STALLED = 0.05
"""Seconds without CPU time after which a task counts as waiting, wherever it waits."""
GREEDY = 0.1
"""Seconds of CPU time after which queued tasks no longer wait for the current one."""


IN_TURN = 2
"""Urgent tasks in a row, after which another one that is queued gets its turn."""


class _Orders:
    """Queue of tasks in two lines: of each IN_TURN + 1 tasks, one is not urgent if there are both. Any thread uses it.

    On a node without CPU to spare all sources together take far longer than an interval. In one line, disks would be
    read once in half a minute there.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._queued: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._urgent: deque[Callable[[], None]] = deque()
        self._others: deque[Callable[[], None]] = deque()
        self._row = 0
        """Urgent tasks that were taken in a row."""

    def put(self, order: Callable[[], None], *, urgent: bool) -> None:
        """Add a task at the end of its line."""
        (self._urgent if urgent else self._others).append(order)
        self._queued.put(None)

    def empty(self) -> bool:
        """Return whether no task is queued."""
        return self._queued.empty()

    def get(self) -> Callable[[], None]:
        """Wait for a task, and return it."""
        self._queued.get()  # one for each task
        while True:  # another thread may take from a line that was not empty
            lines = [self._urgent, self._others]
            for line in reversed(lines) if self._row >= IN_TURN else lines:
                try:
                    order = line.popleft()
                except IndexError:
                    continue
                self._row = self._row + 1 if line is self._urgent else 0
                return order


class _Worker(Struct, eq=False):
    """Thread state: start of the current task (None: idle), and whether the queue was moved to another thread."""

    began: float | None = None
    left: bool = False
    thread: int = 0
    """Kernel number of the thread."""
    clock: int = 0
    """Clock of the thread's CPU time."""
    spent: float = 0.0
    """CPU time of the thread at the start of the task."""


class _TaskState(Struct):
    """State of the current task as last seen: its start, the next check, its CPU time, and when that last grew."""

    began: float
    again: float
    spent: float
    grew: float


class SerialExecutor:
    """Serial executor that moves the queued tasks to a new thread when the current one waits or takes much CPU time.

    Parallel tasks would contend for Python's global lock at every file that they read, which with forty of them costs
    more than the reading. So a task that only computes, or that has no CPU on a busy node, keeps its turn: checked
    after BLINK, it must sleep in the kernel, have got no CPU time for STALLED, or have used GREEDY. `put`, `pause` and
    `step` must be called by one thread; any thread may call `idle`.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, blocked: Callable[[int], bool] = blocked_in_kernel
    ) -> None:
        """Start without a thread; `blocked` returns whether the thread with a number sleeps in the kernel."""
        self._clock = clock
        self._blocked = blocked
        self._orders = _Orders()
        self._worker: _Worker | None = None
        self._state = _TaskState(-math.inf, 0.0, 0.0, 0.0)

    def put(self, order: Callable[[], None], *, urgent: bool = False) -> None:
        """Queue a task, an urgent one before most others; it starts with the next `step` at the latest."""
        self._orders.put(order, urgent=urgent)

    def idle(self) -> bool:
        """Return whether the queue is empty."""
        return self._orders.empty()

    def pause(self) -> float:
        """Return the seconds until `step` has something to do."""
        worker = self._worker
        if self._orders.empty():
            return math.inf
        if worker is None:
            return 0.0
        began = worker.began
        if began is None:
            return BLINK
        check = self._state.again if self._state.began == began else began + BLINK
        return max(0.0, check - self._clock())

    def step(self) -> None:
        """Move the queue to a new thread if the current task waits or takes too much, or without a thread."""
        worker = self._worker
        began = None if worker is None else worker.began
        if self._orders.empty():
            return
        if worker is not None and began is not None and self._holds_up(worker, began):
            worker.left = True
            self._worker = None
        if self._worker is None:
            self._worker = _Worker()
            threading.Thread(target=self._work, args=(self._worker,), name="collectors", daemon=True).start()

    def _holds_up(self, worker: _Worker, began: float) -> bool:
        """Return whether the current task, which began then, must no longer hold up the others; check it if due."""
        now, seen = self._clock(), self._state
        if seen.began != began:
            seen = self._state = _TaskState(began, began + BLINK, worker.spent, began)
        if now < seen.again:
            return False
        seen.again = now + BLINK
        spent = time.clock_gettime(worker.clock)
        if spent > seen.spent:
            seen.spent, seen.grew = spent, now
        return self._blocked(worker.thread) or now - seen.grew >= STALLED or spent - worker.spent >= GREEDY

    def _work(self, worker: _Worker) -> None:
        worker.thread = threading.get_native_id()
        worker.clock = time.pthread_getcpuclockid(threading.get_ident())
        while not worker.left:  # if set just after this check, one more task runs in parallel to the new thread
            order = self._orders.get()
            worker.spent = time.thread_time()
            worker.began = self._clock()
            caught(order)  # the task has already reported its exception; the thread must go on
            worker.began = None
