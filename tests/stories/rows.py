"""Rows of /proc/diskstats as numbers: renamed, given a past, and one run of the simulator continued by another."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tests.arrays import Frame

Rows = dict[str, list[int]]
"""Device to its 17 counters, in the kernel's order."""

IN_FLIGHT = 8
IO_TICKS = 9
_WEIGHTED = 10
_TIMES = (3, 7, IO_TICKS, _WEIGHTED, 14, 16)
_WRAP = 1 << 32


def rows(frame: Frame) -> Rows:
    """Return a simulated frame's rows."""
    lines = (line.split() for line in frame.diskstats.splitlines())
    return {words[2]: [int(word) for word in words[3:]] for words in lines}


def added(first: Rows, second: Rows) -> Rows:
    """Return the sums of the devices of `second`; what is in flight is that of `first`."""
    found = {}
    for name, numbers in second.items():
        total = [a + b for a, b in zip(first[name], numbers, strict=True)]
        total[IN_FLIGHT] = first[name][IN_FLIGHT]
        for index in _TIMES:
            total[index] %= _WRAP
        found[name] = total
    return found


def continued(first: Sequence[Rows], second: Sequence[Rows]) -> list[Rows]:
    """Let the second run go on where the first one ended: its first frame becomes the first run's last."""
    end, begin = first[-1], second[0]
    more = []
    for after in second[1:]:
        delta = {name: [n - b for n, b in zip(after[name], begin[name], strict=True)] for name in after}
        for name, numbers in delta.items():
            numbers[IN_FLIGHT] = after[name][IN_FLIGHT]
        more.append(added(delta, end))
    return [*first, *more]


def past(shelf: Sequence[str], seed: str, mirrors: int = 1) -> Rows:
    """Return what the disks and their array, which comes last, may have counted in some weeks.

    Each `mirrors` disks carried the same writes. A few are about to wrap their 32 bit times.
    """
    rng = random.Random(f"past {seed}")
    *disks, array = shelf
    found: Rows = {}
    writes = 0
    for number, name in enumerate(disks):
        reads = int(41_300_000 * rng.uniform(0.97, 1.03))
        if not number % mirrors:
            writes = int(63_900_000 * rng.uniform(0.98, 1.02))
        found[name] = _counted(reads, writes)
        if number % 7 == 3:
            found[name][_WEIGHTED] = _WRAP - 20_000
    reads = sum(numbers[0] for numbers in found.values())
    found[array] = _counted(reads, sum(numbers[4] for numbers in found.values()) // mirrors)
    return found


def _counted(reads: int, writes: int) -> list[int]:
    times = (int(reads * 6.1), int(writes * 4.4))
    numbers = [
        reads, reads // 190, reads * 61, times[0], writes, writes // 24, writes * 70, times[1],
        0, int(reads * 5.0 + writes * 2.0), sum(times), 0, 0, 0, 0, writes // 900, writes // 110,
    ]  # fmt: skip
    return [number % _WRAP if index in _TIMES else number for index, number in enumerate(numbers)]


def text(devices: Mapping[str, tuple[int, int]], found: Rows) -> str:
    """Return /proc/diskstats of the devices (name to major and minor), in their order."""
    lines = [
        f"{major:4d} {minor:7d} {name} {' '.join(map(str, found[name]))}\n" for name, (major, minor) in devices.items()
    ]
    return "".join(lines)
