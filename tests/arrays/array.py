"""The simulated md array: turns an array request into members' requests, as the personality would."""

from __future__ import annotations

import random

from tests.arrays.clock import Clock
from tests.arrays.counters import Counters
from tests.arrays.disk import Disk, Done
from tests.arrays.geometry import Geometry, Place
from tests.arrays.spec import ArraySpec


class _Countdown:
    """Calls `done` when as many parts as were announced have ended."""

    __slots__ = ("_done", "_left")

    def __init__(self, left: int, done: Done) -> None:
        self._left = left
        self._done = done

    def __call__(self, now: float) -> None:
        self._left -= 1
        if not self._left:
            self._done(now)


class Array:
    """An array of disks with its own line in the statistics (`counters`)."""

    def __init__(self, spec: ArraySpec, clock: Clock, rng: random.Random) -> None:
        self.spec = spec
        self.clock = clock
        self.geometry = Geometry(spec)
        self.counters = Counters(spec.ticks)
        slow = dict(spec.slow)
        self.disks = [Disk(clock, spec.media, rng, spec.ticks, slow.get(member, 1.0)) for member in range(spec.disks)]

    def submit(self, now: float, offset: int, size: int, *, write: bool, done: Done) -> tuple[int, ...]:
        """Read or write a part of the array; `done` is called with the time at which all of it is there.

        Return the members that (the last chunk of) the request engages.
        """
        chunk = self.spec.chunk
        if offset % chunk + size <= chunk:
            return self._submit_part(now, offset, size, write=write, done=done)
        parts = []
        while size:
            part = min(size, chunk - offset % chunk)
            parts.append((offset, part))
            offset += part
            size -= part
        done = _Countdown(len(parts), done)
        engaged: tuple[int, ...] = ()
        for start, part in parts:
            engaged = self._submit_part(now, start, part, write=write, done=done)
        return engaged

    def _submit_part(self, now: float, offset: int, size: int, *, write: bool, done: Done) -> tuple[int, ...]:
        self.counters.begin(now)

        def finished(end: float) -> None:
            self.counters.end(end, write=write, size=size, waited=end - now)
            done(end)

        number, inside = divmod(offset, self.spec.chunk)
        place = self.geometry.place(number)
        start = place.start + inside
        if not write:
            return self._read(now, place, start, size, finished)
        if place.parity:
            return self._update(now, place, start, size, finished)
        return self._everywhere(now, self._alive(place.copies), start, size, write=True, done=finished)

    def _alive(self, members: tuple[int, ...]) -> tuple[int, ...]:
        missing = self.spec.missing
        return tuple(member for member in members if member not in missing) if missing else members

    def _everywhere(
        self, now: float, members: tuple[int, ...], start: int, size: int, *, write: bool, done: Done
    ) -> tuple[int, ...]:
        if len(members) > 1:
            done = _Countdown(len(members), done)
        for member in members:
            self.disks[member].submit(now, start, size, write=write, done=done)
        return members

    def _read(self, now: float, place: Place, start: int, size: int, done: Done) -> tuple[int, ...]:
        rebuilding = self.spec.rebuild.member if self.spec.rebuild else None
        alive = tuple(member for member in self._alive(place.copies) if member != rebuilding)
        if alive:
            member = self._balance(alive, start)
            self.disks[member].submit(now, start, size, write=False, done=done)
            return (member,)
        others = tuple(m for m in self._alive(tuple(range(self.spec.disks))) if m not in (*place.copies, rebuilding))
        return self._everywhere(now, others, start, size, write=False, done=done)

    def _balance(self, copies: tuple[int, ...], start: int) -> int:
        """Choose a mirror's leg as raid10 does: least pending on flash, else an idle one, else the nearest head."""
        if len(copies) == 1:
            return copies[0]
        disks = self.disks
        if not self.spec.media.rotational:
            return min(copies, key=lambda member: disks[member].pending)
        return min(copies, key=lambda member: disks[member].pending and abs(disks[member].head - start))

    def _update(self, now: float, place: Place, start: int, size: int, done: Done) -> tuple[int, ...]:
        """Read-modify-write of RAID5 and RAID6: the old data and parity must be read before the new is written."""
        members = self._alive((*place.copies, *place.parity))

        def write(then: float) -> None:
            self._everywhere(then, members, start, size, write=True, done=done)

        return self._everywhere(now, members, start, size, write=False, done=write)
