"""Run an array under load and look at it as a kernel would let us."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.arrays import evidence
from tests.arrays.array import Array
from tests.arrays.clock import Clock
from tests.arrays.load import Crowd, RandomLoad, Reconstruction, Truth, start_bursts, start_clones
from tests.arrays.spec import ArraySpec

_BOOT = 1000.0


@dataclass(frozen=True, slots=True)
class Frame:
    """One look at the simulated node.

    `files` are the array's sysfs files by absolute path. `truth` says where the clones stood since the frame before
    (for the first: since the load began).
    """

    monotonic: float
    diskstats: str
    mdstat: str
    files: dict[str, str]
    truth: Truth


def simulate(spec: ArraySpec, seed: int, seconds: int, interval: float = 1.0, warmup: float = 4.0) -> Iterator[Frame]:
    """Yield a frame every `interval`, the first after `warmup` seconds of load, the last `seconds` later.

    The same arguments give the same frames.
    """
    rng = random.Random(f"{seed} {spec}")
    clock = Clock()
    array = Array(spec, clock, rng)
    crowd = Crowd(spec)
    RandomLoad(array, spec.random, rng).start()
    if spec.clones:
        start_clones(array, spec.clones, crowd, rng)
    if spec.bursts:
        start_bursts(array, spec.bursts, rng)
    rebuilding = Reconstruction(array, spec.rebuild) if spec.rebuild else None
    if rebuilding:
        rebuilding.start()
    done, before, elapsed = rebuilding.done if rebuilding else 0, 0, warmup
    for number in range(int(seconds / interval) + 1):
        now = warmup + number * interval
        clock.run_until(now)
        if rebuilding:
            before, done = done, rebuilding.done
        speed = (done - before) / elapsed
        yield Frame(
            monotonic=_BOOT + now,
            diskstats=_diskstats(array, now),
            mdstat=evidence.mdstat(spec, done, speed),
            files=evidence.sysfs(spec, done, speed),
            truth=crowd.take(now),
        )
        elapsed = interval


def _diskstats(array: Array, now: float) -> str:
    rows = []
    for member, disk in enumerate(array.disks):
        rows.append(disk.counters.row(*evidence.member_number(member), evidence.member_name(member), now))
    rows.append(array.counters.row(*evidence.array_number(array.spec), array.spec.name, now))
    return "\n".join(rows) + "\n"
