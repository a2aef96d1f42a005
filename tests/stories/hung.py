"""The story of a disk that stops answering."""

from __future__ import annotations

import random

from tests.arrays import ArraySpec, Random, simulate
from tests.arrays.spec import GIB, KIB
from tests.nodes.system import Shape
from tests.stories.disks import Shelf
from tests.stories.rows import IN_FLIGHT, IO_TICKS, Rows, rows
from tests.stories.scene import Part, Scene, Stories

_STARTED = 1_795_186_800.0
_HANGS_AT = 15
_LASTS = 45
_CALLERS = 16


def _device_hung() -> Scene:
    """Let sdf (slot 5) answer nothing any more: within a second or two every caller of the array waits for it.

    The kernel goes on counting busy time of whatever has requests in flight (6.1 stable), but credits their waiting
    only on completion.
    """
    spec = ArraySpec(disks=8, chunk=512 * KIB, member_size=3726 * GIB, random=Random(outstanding=_CALLERS, writes=0.6))
    shelf = Shelf(spec)
    frames = list(simulate(spec, 41, _HANGS_AT))
    found = [shelf.rows(rows(frame)) for frame in frames]
    rng = random.Random("hung")
    waiting = 1
    for _ in range(_LASTS):
        waiting = min(_CALLERS, waiting + rng.randrange(4, 9)) if waiting > 1 else 6
        found.append(_later(found[-1], waiting))
    part = Part.of(shelf, frames)
    part.rows = found
    part.mdstat, part.sysfs = part.mdstat[:1], part.sysfs[:1]
    shape = Shape("vault9", iowait=0.5, load=17.0, stalled=0.95, dirty=1_400_000)
    return Scene(shape, _STARTED, _HANGS_AT + _LASTS, [part])


def _later(before: Rows, waiting: int) -> Rows:
    """Return the rows a second later: `waiting` requests stuck, the other callers still served by the other disks."""
    now = {name: list(numbers) for name, numbers in before.items()}
    served = 20 * (_CALLERS - waiting)
    for name, numbers in now.items():
        if name == "md0":
            numbers[IN_FLIGHT] = _CALLERS
            numbers[IO_TICKS] += 1000
            _serve(numbers, served)
        elif name == "sdf":
            numbers[IN_FLIGHT] = waiting
            numbers[IO_TICKS] += 1000
        else:
            numbers[IN_FLIGHT] = 0
            _serve(numbers, served // 6)
            numbers[IO_TICKS] += served // 6 * 9
    return now


def _serve(numbers: list[int], count: int) -> None:
    numbers[0] += count
    numbers[2] += count * 16
    numbers[3] += count * 9
    numbers[10] += count * 9


STORIES: Stories = {
    "device-hung": _device_hung,
}
