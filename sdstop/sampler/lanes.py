"""Lanes: threads in which collectors run one after the other, as long as none of them takes long."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

BLINK = 0.005
"""Seconds that those behind a run wait for its end."""


@dataclass(slots=True, eq=False)
class _Lane:
    """A thread: when what runs in it began (None: nothing runs), and whether the others have gone on without it."""

    began: float | None = None
    left: bool = False


class Lanes:
    """Runs in turn. Who takes longer than a blink, or hangs, keeps its thread, and those behind go on in another.

    All at once they would take Python's lock from each other at every file that they read, which with forty of them
    costs more than the reading. `put`, `pause` and `step` belong to one thread, `idle` may be asked by any.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread."""
        self._clock = clock
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lane: _Lane | None = None

    def put(self, order: Callable[[], None]) -> None:
        """Have something run after what was put before; it starts with the next `step` at the latest."""
        self._orders.put(order)

    def idle(self) -> bool:
        """Whether nobody waits for a turn."""
        return self._orders.empty()

    def pause(self) -> float:
        """Return the seconds until `step` has something to do."""
        lane = self._lane
        if lane is None:
            return math.inf if self._orders.empty() else 0.0
        began = lane.began
        if began is None:
            return math.inf if self._orders.empty() else BLINK
        return max(0.0, began + BLINK - self._clock())

    def step(self) -> None:
        """Leave who takes long alone, and see to it that somebody works for the others."""
        lane = self._lane
        began = None if lane is None else lane.began
        if lane is not None and began is not None and self._clock() - began >= BLINK:
            lane.left = True
            self._lane = None
        if self._lane is None and not self._orders.empty():
            self._lane = _Lane()
            threading.Thread(target=self._work, args=(self._lane,), name="lane", daemon=True).start()

    def _work(self, lane: _Lane) -> None:
        while not lane.left:  # who was left just after this takes one more turn beside the others, and then ends
            order = self._orders.get()
            lane.began = self._clock()
            with contextlib.suppress(Exception):  # whose it is has been told by then; the lane is everybody's
                order()
            lane.began = None
