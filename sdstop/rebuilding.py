"""Rebuilds of a window: their pace, and what their members and the array were doing meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdstop import format as human
from sdstop.collectors.blockdev import BlockDevice
from sdstop.collectors.mdraid import Array, Member, Rebuild
from sdstop.disk import DiskActivity
from sdstop.history import Window
from sdstop.rebuild import Pace, pace, stands

SECONDS = 75.0
"""How far back progress is looked at: all that is kept."""
LOAD_SECONDS = 20.0
"""How far back the load of the members is averaged."""

REPAIRS = frozenset({"recovery", "resync", "reshape"})
"""Operations on which redundancy waits; check and repair go over data that is whole."""

NEAR, LEAST, BUSY = 0.1, 1.25, 0.8
"""Held by a limit: how near to the upper one, times the lower one, busy time of the members that speaks against it."""
_BELOW = 0.7
"""Times the lower limit, below which md yields to nobody: then the disks are full, or something else is wrong."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a device did on average: share of time busy, mean wait (seconds), requests and bytes a second."""

    device: str
    busy: float | None
    wait: float | None
    completed: float
    bytes: float
    in_flight: int | None


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """One rebuild, with its pace and the loads it runs among.

    `own` is the array's own load, which is what others want of it (rebuild traffic does not pass there).
    """

    rebuild: Rebuild
    array: Array | None
    members: tuple[Member, ...]
    pace: Pace | None
    loads: tuple[Load, ...]
    own: Load | None

    @property
    def name(self) -> str:
        """Kernel name of the array."""
        return self.rebuild.array

    @property
    def what(self) -> str:
        """The operation in a person's words."""
        return "data check" if self.rebuild.operation == "check" else self.rebuild.operation

    @property
    def stands(self) -> bool:
        """Whether it stands still: then its speed is history, and rebuild-stalled speaks."""
        return self.rebuild.operation in REPAIRS and self.pace is not None and stands(self.pace)

    @property
    def done(self) -> str:
        """The share that is done, never rounded up to a hundred percent."""
        share = self.rebuild.progress
        return human.percent(None if share is None else math.floor(share * 1000) / 1000)

    @property
    def busiest(self) -> Load | None:
        """The member that was busiest, None if none is known."""
        known = [load for load in self.loads if load.busy is not None]
        return max(known, key=lambda load: load.busy or 0.0, default=None)

    @property
    def foreground(self) -> bool | None:
        """Whether others use the array; None if its own load is not known."""
        return None if self.own is None else self.own.completed >= 1.0


def rebuildings(window: Window) -> list[Rebuilding]:
    """Return every rebuild of the window's end, by array; rules share the work."""
    return window.once("rebuildings", lambda: [_look(window, row) for row in _newest(window)])


def _newest(window: Window) -> list[Rebuild]:
    return sorted(window.rows(Rebuild).values(), key=lambda row: (row.array, row.operation))


def _look(window: Window, row: Rebuild) -> Rebuilding:
    members = tuple(m for m in window.rows(Member).values() if m.array == row.array)
    loads = (_load(window, member.device) for member in members if member.state in _AT_WORK)
    return Rebuilding(
        row,
        window.get(Array, row.array),
        members,
        _pace(window, row),
        tuple(load for load in loads if load is not None),
        _load(window, row.array),
    )


_AT_WORK = frozenset({"in_sync", "rebuilding", "replacement", "unknown"})


def _pace(window: Window, row: Rebuild) -> Pace | None:
    """Return the pace of this run: what lies before a moment without it, or at a standstill ordered, is another."""
    samples: list[tuple[float, float]] = []
    key = (row.array, row.operation)
    for moment in window.last(SECONDS).moments(Rebuild):
        then = moment.rows.get(key)
        if then is None or then.done is None or then.state != "running" or then.total != row.total:
            samples.clear()
        else:
            samples.append((moment.started, float(then.done)))
    return pace(samples, float(row.total or 0))


def _load(window: Window, device: str) -> Load | None:
    """Return the mean load of a device, of the whole disk where it is a partition: the disk is what gets busy."""
    known = window.get(BlockDevice, device)
    name = known.parent if known is not None and known.parent else device
    recent = window.once("rebuilding.load", lambda: window.last(LOAD_SECONDS).moments(DiskActivity))
    rows = [moment.rows.get(name) for moment in recent]
    found = [row for row in rows if row is not None]
    if not found:
        return None
    busy = [row.busy for row in found if row.busy is not None]
    completed = sum(row.completed_per_second for row in found)
    waits = [(row.wait, row.completed_per_second) for row in found if row.wait is not None]
    weight = sum(count for _, count in waits)
    moved = sum(row.read_bytes_per_second + row.write_bytes_per_second for row in found)
    return Load(
        name,
        sum(busy) / len(busy) if len(busy) == len(found) else None,
        sum(wait * count for wait, count in waits) / weight if weight else None,
        completed / len(found),
        moved / len(found),
        found[-1].in_flight,
    )


def eta_words(known: Pace) -> str:
    """Return when it will be done, with how sure that is: `in 2h 10m (1h 50m to 2h 40m)`."""
    if known.eta is None:
        return "no end in sight yet"
    if known.latest is None or known.soonest is None:
        return f"in about {human.duration(known.eta)}, too early to be sure"
    return f"in {human.duration(known.eta)} ({human.duration(known.soonest)} to {human.duration(known.latest)})"


@dataclass(frozen=True, slots=True)
class Held:
    """That a speed limit of md holds a rebuild: `which` max or min, in bytes a second, and the file that sets it."""

    which: str
    limit: int
    by: str
    path: str
    sysctl: str


def held(known: Rebuilding, near: float = NEAR, least: float = LEAST, busy: float = BUSY) -> Held | None:
    """Return the limit that holds a rebuild, None if none does or its pace is not known.

    At the most it may do: within `near` (0.1: a tenth) of speed_max or above, while no member is busy more than
    `busy` of the time; what md holds against its limit is its own figure, so that one counts too, as long as
    something moves. At the least: no faster than `least` (1.25: a quarter more) times speed_min while others use
    the array: md yields to them until it falls to that.
    """
    row, seen = known.rebuild, known.pace
    if seen is None or seen.rate is None or row.state != "running":
        return None
    busiest = known.busiest
    idle = busiest is not None and busiest.busy is not None and busiest.busy < busy
    speed = max(seen.rate, min(float(row.speed or 0), 2 * seen.rate))
    if row.speed_max is not None and speed >= row.speed_max * (1 - near) and idle:
        return _held("max", row.speed_max, row.speed_max_set, known.name)
    least_rate = row.speed_min or 0
    if row.speed_min is not None and known.foreground and _BELOW * least_rate <= seen.rate <= least * least_rate:
        return _held("min", row.speed_min, row.speed_min_set, known.name)
    return None


def _held(which: str, limit: int, by: str | None, array: str) -> Held:
    path = f"/sys/block/{array.replace('/', '!')}/md/sync_speed_{which}"
    return Held(which, limit, by or "system", path, f"dev.raid.speed_limit_{which}")
