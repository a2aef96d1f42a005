"""What keeps the simulated array busy."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from dataclasses import dataclass
from typing import Any

from tests.arrays.array import Array
from tests.arrays.spec import ArraySpec, Bursts, Clones, Direction, Random, Rebuild

_AREAS = 256
_BLOCK = 4096


class RandomLoad:
    """Poisson arrivals and closed-loop callers, spread over the array evenly, by popularity, or onto one region."""

    def __init__(self, array: Array, load: Random, rng: random.Random) -> None:
        self._array, self._load, self._rng = array, load, rng
        weights = [1 / (rank + 1) ** load.skew for rank in range(_AREAS)]
        rng.shuffle(weights)
        self._popularity = list(itertools.accumulate(weights))

    def start(self) -> None:
        """Make the first arrivals."""
        if self._load.rate:
            self._array.clock.at(0.0, self._arrive)
        for _ in range(self._load.outstanding):
            self._array.clock.at(0.0, self._call)

    def _arrive(self, now: float, _: Any) -> None:
        self._array.clock.at(now + self._rng.expovariate(self._load.rate), self._arrive)
        self._submit(now, closed=False)

    def _call(self, now: float, _: Any) -> None:
        self._submit(now, closed=True)

    def _submit(self, now: float, *, closed: bool) -> None:
        load, rng = self._load, self._rng
        size = load.sizes[0] if len(load.sizes) == 1 else rng.choice(load.sizes)
        done = self._again if closed else _nothing
        self._array.submit(now, self._offset(size), size, write=rng.random() < load.writes, done=done)

    def _again(self, now: float) -> None:
        self._submit(now, closed=True)

    def _offset(self, size: int) -> int:
        load, rng, geometry = self._load, self._rng, self._array.geometry
        chunk = self._array.spec.chunk
        if load.hot_share and rng.random() < load.hot_share:
            # The region is one chunk, the first of the column in the middle of the array: a log, a hot table.
            first = geometry.size // chunk // 2
            while geometry.place(first).column != load.hot_column:
                first += 1
            return first * chunk + rng.randrange(max(1, (chunk - size) // _BLOCK)) * _BLOCK
        if load.skew:
            area = bisect.bisect(self._popularity, rng.random() * self._popularity[-1])
            width = geometry.size // _AREAS
            # A popular area is small: its first 64 blocks of 64 KiB.
            return (area * width // _BLOCK + rng.randrange(1024)) * _BLOCK
        return rng.randrange((geometry.size - size) // _BLOCK) * _BLOCK


def _nothing(_: float) -> None:
    """End a request nobody waits for."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Where the clones stood during an interval, whatever the counters say.

    A clone stands on the members that its latest request engages: one for a read, both legs of a mirror or data and
    parity for a write. `crowd` is the number of clones on the fullest member and `occupied` the number of members
    with at least one clone (means over time); `places` is the share of time for which each column was one of the
    fullest: reads that change between the legs of a mirror do not move on.
    """

    crowd: float
    occupied: float
    places: tuple[float, ...]


class Stream:
    """One sequential closed loop, and where it stands."""

    __slots__ = ("_array", "_clones", "_crowd", "_next", "_source", "_target", "members")

    def __init__(self, array: Array, clones: Clones, crowd: Crowd, target: int, source: int) -> None:
        self._array, self._clones, self._crowd = array, clones, crowd
        self._target, self._source = target, source
        self._next = 0
        self.members: tuple[int, ...] = ()

    def start(self, now: float, _: Any) -> None:
        """Have the stream's whole window outstanding."""
        for _slot in range(self._clones.window):
            self._go_on(now, None)

    def _go_on(self, now: float, _: Any) -> None:
        clones, size = self._clones, self._clones.size
        number = self._next
        self._next += 1
        writing = clones.direction is Direction.WRITE
        base = self._target
        if clones.direction is Direction.COPY:
            writing = bool(number % 2)
            base = self._target if writing else self._source
            number //= 2
        offset = (base + number * size) % (self._array.geometry.size - size)
        members = self._array.submit(now, offset, size, write=writing, done=self._done)
        if members != self.members:
            self._crowd.move(now, self, members)

    def _done(self, now: float) -> None:
        if self._clones.think:
            self._array.clock.at(now + self._clones.think, self._go_on)
        else:
            self._go_on(now, None)


class Crowd:
    """The ground truth, from the streams themselves: it knows nothing of queues or counters."""

    def __init__(self, spec: ArraySpec) -> None:
        self._spec = spec
        self._at = [0] * spec.disks
        self._on = [0] * spec.columns  # clones on each
        self._since = self._taken = 0.0
        self._clear()

    def _clear(self) -> None:
        self._crowd = self._occupied = 0.0
        self._places = [0.0] * len(self._on)

    def move(self, now: float, stream: Stream, members: tuple[int, ...]) -> None:
        """Note that a stream has gone on to these members."""
        self._advance(now)
        for change, there in ((-1, stream.members), (1, members)):
            for member in there:
                self._at[member] += change
            for column in {self._spec.column_of(member) for member in there}:
                self._on[column] += change
        stream.members = members

    def _advance(self, now: float) -> None:
        passed = now - self._since
        if not passed:
            return
        self._since = now
        self._crowd += max(self._at) * passed
        self._occupied += passed * sum(clones > 0 for clones in self._at)
        fullest = max(self._on)
        for column, clones in enumerate(self._on):
            if clones and clones == fullest:
                self._places[column] += passed

    def take(self, now: float) -> Truth:
        """Return the means since the last call."""
        self._advance(now)
        passed = now - self._taken
        truth = Truth(self._crowd / passed, self._occupied / passed, tuple(part / passed for part in self._places))
        self._taken = now
        self._clear()
        return truth


def start_clones(array: Array, clones: Clones, crowd: Crowd, rng: random.Random) -> None:
    """Start the streams, each in a region of its own; within half a second of each other unless in phase."""
    geometry, chunk = array.geometry, array.spec.chunk
    stripe = geometry.data * chunk * array.spec.disks  # parity has gone round once: the same row, the same disks
    region = geometry.size // (2 * clones.count) // stripe * stripe
    for index in range(clones.count):
        target, source = region * index, region * (clones.count + index)
        if not clones.same_phase:
            target += rng.randrange(region // 2 // clones.size) * clones.size
            source += rng.randrange(region // 2 // clones.size) * clones.size
        stream = Stream(array, clones, crowd, target, source)
        array.clock.at(0.0 if clones.same_phase else rng.random() / 2, stream.start)


def start_bursts(array: Array, bursts: Bursts, rng: random.Random) -> None:
    """Write back `count` pages at once, again and again."""

    def burst(now: float, _: Any) -> None:
        array.clock.at(now + bursts.period, burst)
        blocks = (array.geometry.size - bursts.size * bursts.run) // bursts.size
        for _run in range(math.ceil(bursts.count / bursts.run)):
            start = rng.randrange(blocks) * bursts.size
            for index in range(bursts.run):
                array.submit(now, start + index * bursts.size, bursts.size, write=True, done=_nothing)

    array.clock.at(rng.random() * bursts.period, burst)


class Reconstruction:
    """Goes through the members from start to end: reads what is needed, writes the member that is rebuilt."""

    def __init__(self, array: Array, rebuild: Rebuild) -> None:
        self._array, self._rebuild = array, rebuild
        self._first = int(array.spec.member_size * rebuild.started) // rebuild.size * rebuild.size
        self._next = self._first
        self.done = self._first  # bytes of each member
        self._sources = self._members()

    def _members(self) -> tuple[int, ...]:
        spec, target = self._array.spec, self._rebuild.member
        if target is None:
            return tuple(range(spec.disks))
        if spec.column_of(target) == target:
            return tuple(member for member in range(spec.disks) if member != target)
        return (target ^ 1,)

    def start(self) -> None:
        """Begin."""
        for _ in range(self._rebuild.window):
            self._array.clock.at(0.0, self._step)

    def _step(self, now: float, _: Any) -> None:
        rebuild, disks = self._rebuild, self._array.disks
        position = self._next
        self._next += rebuild.size
        left = len(self._sources)

        def written(then: float) -> None:
            self.done += rebuild.size
            due = (self.done - self._first) / rebuild.limit
            self._array.clock.at(max(then, due), self._step)

        def read(then: float) -> None:
            nonlocal left
            left -= 1
            if left:
                return
            if rebuild.member is None:
                written(then)
            else:
                disks[rebuild.member].submit(then, position, rebuild.size, write=True, done=written)

        for member in self._sources:
            disks[member].submit(now, position, rebuild.size, write=False, done=read)
