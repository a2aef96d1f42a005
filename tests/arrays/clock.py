"""The order of events."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any


class Clock:
    """A queue of future calls; calls for the same time keep the order in which they were made."""

    __slots__ = ("_calls", "_order")

    def __init__(self) -> None:
        self._calls: list[tuple[float, int, Callable[[float, Any], None], Any]] = []
        self._order = itertools.count()

    def at(self, time: float, call: Callable[[float, Any], None], argument: Any = None) -> None:
        """Have `call(time, argument)` made when the clock gets there."""
        heapq.heappush(self._calls, (time, next(self._order), call, argument))

    def run_until(self, end: float) -> None:
        """Make every call that is due up to and including `end`."""
        calls, pop = self._calls, heapq.heappop
        while calls and calls[0][0] <= end:
            time, _, call, argument = pop(calls)
            call(time, argument)
