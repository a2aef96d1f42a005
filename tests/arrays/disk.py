"""One simulated disk: a queue, an elevator that merges, and one or more channels that serve."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.arrays.clock import Clock
from tests.arrays.counters import Counters
from tests.arrays.spec import MIB, Media, Ticks

Done = Callable[[float], None]

_LARGEST_MERGE = MIB // 2


class Request:
    """What the disk is asked for; `done` are the callers, several after a merge."""

    __slots__ = ("arrived", "done", "size", "start", "write")

    def __init__(self, start: int, size: int, *, write: bool, arrived: float, done: Done) -> None:
        self.start = start
        self.size = size
        self.write = write
        self.arrived = arrived
        self.done = [done]


class Disk:
    """Serves requests in order of arrival, but looks `media.reorder` deep for one that needs no seek."""

    __slots__ = ("_free", "_media", "_queue", "_rng", "_tails", "clock", "counters", "head", "slowness")

    def __init__(self, clock: Clock, media: Media, rng: random.Random, ticks: Ticks, slowness: float = 1.0) -> None:
        self.clock = clock
        self.counters = Counters(ticks)
        self.head = -1
        self.slowness = slowness
        self._media = media
        self._rng = rng
        self._queue: list[Request] = []
        self._tails: dict[tuple[int, bool], Request] = {}  # end of a waiting request -> that request
        self._free = media.channels

    @property
    def pending(self) -> int:
        """Requests queued or being served."""
        return self.counters.inflight

    def submit(self, now: float, start: int, size: int, *, write: bool, done: Done) -> None:
        """Queue a request; `done` is called with the time of its completion."""
        waiting = self._tails.pop((start, write), None)
        if waiting is not None and waiting.size + size <= _LARGEST_MERGE:
            waiting.size += size
            waiting.done.append(done)
            self.counters.merged[write] += 1
            self._tails[start + size, write] = waiting
            return
        request = Request(start, size, write=write, arrived=now, done=done)
        self.counters.begin(now)
        self._queue.append(request)
        self._tails[start + size, write] = request
        if self._free:
            self._serve(now)

    def _serve(self, now: float) -> None:
        queue, media = self._queue, self._media
        chosen = 0
        for index in range(min(media.reorder, len(queue))):
            if queue[index].start == self.head:
                chosen = index
                break
        request = queue.pop(chosen)
        self._free -= 1
        end = request.start + request.size
        if self._tails.get((end, request.write)) is request:
            del self._tails[end, request.write]
        took = request.size / media.rate
        if media.latency:
            took += media.latency * (1 + media.jitter * (2 * self._rng.random() - 1))
        if request.start != self.head and media.turn:
            low, high = media.seek
            took += low + (high - low) * self._rng.random() + media.turn * self._rng.random()
        self.head = end
        self.clock.at(now + took * self.slowness, self._finish, request)

    def _finish(self, now: float, request: Request) -> None:
        self._free += 1
        self.counters.end(now, write=request.write, size=request.size, waited=now - request.arrived)
        # The next one starts before the caller hears of this one: a lone synchronous stream loses its turn.
        while self._free and self._queue:
            self._serve(now)
        for done in request.done:
            done(now)
