"""Rebuilds in a window: pace, and the load of their members and of the array."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.rebuilds.advice import RebuildAdvice, advice, filled
from sdstop.analysis.rebuilds.pace import PAUSE, PAUSES, READINGS, STALLED, Pace, is_stalled, pace
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.zfs.datasets import DatasetActivity
from sdstop.core import format as human
from sdstop.core.advice import Advice
from sdstop.core.finding import Damage
from sdstop.core.history import Moment, Window
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity
from sdstop.readings.rebuild import Rebuild, folder

SECONDS = 75.0
"""Time span of the progress history; for slowly read sources as long as needed (history.COURSE runs)."""
LOAD_SECONDS = 20.0
"""Time span over which the load of the members is averaged."""

REPAIRS = frozenset({"recovery", "resync", "reshape", "resilver", "rebuild", "forward rebuild", "backward rebuild"})
"""Operations that restore redundancy; check, repair and scrub process intact data, rebalance moves it."""

_OF_DISKS = frozenset({"md", "zfs", "lvm"})
"""Kinds of rebuilds that the view of disks shows."""

NEAR, LEAST, BUSY = 0.1, 1.25, 0.8
"""Held by a limit: tolerance to the upper limit, multiple of the lower limit, member busy time that rules it out."""
_BELOW = 0.7
"""Multiple of the lower limit below which md no longer yields: the disks are saturated or another fault exists."""


_STEPS = 3.0
"""Steps of the source's progress counter that must be overdue before the rebuild counts as stalled."""


class DeviceLoad(Struct, frozen=True):
    """Mean load of a device: share of time busy, wait (seconds), requests and bytes per second."""

    device: str
    busy: float | None
    wait: float | None
    completed: float
    bytes: float
    in_flight: int | None


class RebuildAnalysis(Struct, frozen=True):
    """One rebuild, with its pace and the loads beside it.

    `own` is the array's own load, that is the demand of its users (rebuild traffic does not pass there). `motion` is
    the pace of any progress: ZFS scans data long before it is repaired. `at_end`: by its source's count it is complete
    or overdue, but still running; its end is then unpredictable.
    """

    rebuild: Rebuild
    array: Array | None
    pace: Pace | None
    motion: Pace | None
    loads: tuple[DeviceLoad, ...]
    own: DeviceLoad | None
    at_end: bool = False

    @property
    def name(self) -> str:
        """Name of the array or pool."""
        return self.rebuild.array

    @property
    def advice(self) -> RebuildAdvice:
        """Advice for this kind of rebuild."""
        return advice(self.rebuild)

    def lines(self, *patterns: Advice) -> tuple[Advice, ...]:
        """Return advice with the names filled in."""
        return filled(self.rebuild, *patterns)

    @property
    def what(self) -> str:
        """Name of the operation, for display."""
        if self.rebuild.kind == "zfs" and self.rebuild.operation == "rebuild":
            return "sequential rebuild"
        return "data check" if self.rebuild.operation == "check" else self.rebuild.operation

    @property
    def not_judged(self) -> str:
        """Reason why its speed is not judged: it does not run, repairs nothing, or is at its end."""
        if self.rebuild.state != "running":
            return f"{self.what} {self.rebuild.state}"
        if self.stands:
            return f"{self.what} makes no progress"
        return f"{self.what} at its end" if self.at_end else f"{self.what} restores no redundancy"

    @property
    def damage(self) -> Damage:
        """Damage that its delay does: less redundancy, except for operations that restore none."""
        restores = self.rebuild.operation in REPAIRS and self.rebuild.operation != "reshape"
        return Damage.REDUNDANCY if restores else Damage.SPEED

    @property
    def view(self) -> str:
        """ID of the view that shows it best."""
        return "disks" if self.rebuild.kind in _OF_DISKS else "cluster"

    @property
    def end(self) -> str:
        """Its end as the beginning of a sentence: what returns or ends, and in which time by the pace seen."""
        if self.pace is None or self.pace.latest is None or self.pace.soonest is None:
            return self.soon
        return f"{self.soon} ({_range(self.pace.soonest, self.pace.latest)})"

    @property
    def soon(self) -> str:
        """Its end as the beginning of a sentence, without a range."""
        ends = "Full redundancy returns" if self.damage is Damage.REDUNDANCY else f"The {self.what} ends"
        if self.pace is None or self.pace.eta is None:
            return f"{ends} at an unknown time"
        return f"{ends} in {'about ' if self.pace.latest is None else ''}{human.duration(self.pace.eta)}"

    @property
    def stands(self) -> bool:
        """Whether a repair has stopped; its speed is then history, and rebuild-stalled reports it."""
        return self.rebuild.operation in REPAIRS and self.stood()

    def stood(
        self, pause: float = PAUSE, pauses: float = PAUSES, readings: float = READINGS, stalled: float = STALLED
    ) -> bool:
        """Return whether progress stopped for longer than is usual for its kind and for its source's step size."""
        if self.motion is None or self.motion.unchanged < self.patience:
            return False
        return is_stalled(self.motion, pause, pauses, readings, stalled)

    @property
    def patience(self) -> float:
        """Seconds without progress that are normal for its kind, or for the steps in which progress is reported."""
        usual, step = self.advice.patience, self.rebuild.step
        if not step:
            return usual
        speed = max((self.pace.rate if self.pace is not None else None) or 0.0, float(self.rebuild.speed or 0))
        return max(usual, _STEPS * step / speed) if speed else math.inf

    @property
    def done(self) -> str:
        """Share that is done, never rounded up to 100 percent."""
        return human.done(self.rebuild.progress)

    @property
    def busiest(self) -> DeviceLoad | None:
        """Busiest member, None if no busy time is known."""
        known = [load for load in self.loads if load.busy is not None]
        return max(known, key=lambda load: load.busy or 0.0, default=None)

    @property
    def foreground(self) -> bool | None:
        """Whether the array has other users; None if its own load is unknown."""
        return None if self.own is None else self.own.completed >= 1.0


def rebuild_analyses(window: Window) -> list[RebuildAnalysis]:
    """Return every rebuild at the window's end, by array; rules share the work."""
    return window.once("rebuildings", lambda: [_look(window, row) for row in _newest(window)])


def _newest(window: Window) -> list[Rebuild]:
    return sorted(window.rows(Rebuild).values(), key=lambda row: (row.array, row.operation))


def _look(window: Window, row: Rebuild) -> RebuildAnalysis:
    loads = (_load(window, device) for device in _devices(window, row))
    carrier = row.array if row.kind == "md" else row.carrier
    seen = _run(window, row)
    done = [(moment, float(then.done)) for moment, then in seen if then.done is not None]
    moved = [(moment, float((then.done or 0) + (then.scanned or 0) + (then.repaired or 0))) for moment, then in seen]
    apart = any(then.scanned is not None or then.repaired is not None for _, then in seen)
    known = pace(done, float(row.total or 0))
    at_end = known is not None and _at_end(row, known)
    if known is not None and at_end:
        known = replace(known, eta=None, soonest=None, latest=None, confidence=None)
    return RebuildAnalysis(
        row,
        window.get(Array, row.array) if row.kind == "md" else None,
        known,
        pace(moved, math.inf) if apart else known,
        tuple(load for load in loads if load is not None),
        _load(window, carrier) if carrier else _of_pool(window, row),
        at_end,
    )


def _at_end(row: Rebuild, seen: Pace) -> bool:
    """Return whether a rebuild is complete by its own count but still running.

    ZFS has then issued every I/O and waits for completions.
    """
    if row.kind == "md" or row.state != "running" or row.done is None or row.total is None:
        return False
    return row.total - row.done <= row.step or (seen.eta is not None and seen.eta < seen.unchanged)


def _devices(window: Window, row: Rebuild) -> list[str]:
    """Return the participating devices; md's members have a separate source."""
    if row.kind != "md":
        return list(dict.fromkeys(name for name in (row.devices or "").split(",") if name))
    return [m.device for m in window.where(Member, "array", row.array) if m.state in _AT_WORK]


_AT_WORK = frozenset({"in_sync", "rebuilding", "replacement", "unknown"})


def _run(window: Window, row: Rebuild) -> list[tuple[float, Rebuild]]:
    """Return the timed samples of this run; a missing sample or a requested pause starts another run.

    Each source is read at its own interval, so samples of other sources in between are irrelevant.
    """
    key = (row.array, row.operation)
    for course in window.courses(Rebuild, SECONDS):
        if course and key in course[-1].rows:
            return _since(course, key, row)
    return []


def _since(course: list[Moment[Rebuild]], key: tuple[str, str], row: Rebuild) -> list[tuple[float, Rebuild]]:
    seen: list[tuple[float, Rebuild]] = []
    for moment in course:
        then = moment.rows.get(key)
        if then is None or then.done is None or then.state != "running" or _other(then, row):
            seen.clear()
        else:
            seen.append((moment.started, then))
    return seen


def _other(then: Rebuild, row: Rebuild) -> bool:
    """Return whether a row belongs to another run; md's total is fixed, others grow with concurrent writes."""
    return then.total != row.total if row.kind == "md" else then.total is None


def _load(window: Window, device: str) -> DeviceLoad | None:
    """Return the mean load of a device; for a partition that of the whole disk, where the load occurs."""
    known = window.get(BlockDevice, device)
    name = known.parent if known is not None and known.parent else device
    recent = window.once("rebuilding.load", lambda: _recent(window))
    count = measured = 0
    busy = completed = weight = waited = moved = 0.0
    in_flight: int | None = None
    for moment in recent:  # single pass, because each frame has dozens of members and moments
        kept: dict[str, _Work | None] = moment.memo.setdefault(_WORK, {})
        if name not in kept:
            kept[name] = _work(moment.rows.get(name))
        work = kept[name]
        if work is None:
            continue
        rate, size, used, wait, in_flight = work
        count += 1
        completed += rate
        moved += size
        if used is not None:
            busy += used
            measured += 1
        if wait is not None:
            waited += wait * rate
            weight += rate
    if not count:
        return None
    return DeviceLoad(
        name,
        busy / count if measured == count else None,
        waited / weight if weight else None,
        completed / count,
        moved / count,
        in_flight,
    )


_WORK = "work of rebuilds"


def _recent(window: Window) -> list[Moment[DiskActivity]]:
    """Return the samples of a load; those before them do not keep figures any more."""
    recent, every = window.last(LOAD_SECONDS).moments(DiskActivity), window.moments(DiskActivity)
    for moment in reversed(every[: len(every) - len(recent)]):
        if moment.memo.pop(_WORK, None) is None:
            break
    return recent


_Work = tuple[float, float, float | None, float | None, int | None]
"""Requests and bytes per second, busy share, mean wait in seconds, and requests in flight."""


def _work(row: DiskActivity | None) -> _Work | None:
    """Return the figures of a row that a load needs: a third of its memory, kept with each sample."""
    if row is None:
        return None
    moved = row.read_bytes_per_second + row.write_bytes_per_second
    return row.completed_per_second, moved, row.busy, row.wait, row.in_flight


def _of_pool(window: Window, row: Rebuild) -> DeviceLoad | None:
    """Return the application load of a pool's datasets, None if not counted."""
    pool = row.array.partition("/")[0]
    found = [
        [activity for activity in moment.rows.values() if activity.pool == pool]
        for moment in window.last(LOAD_SECONDS).moments(DatasetActivity)
    ]
    if row.kind != "zfs" or not any(found):
        return None
    calls = added((one.reads or 0.0) + (one.writes or 0.0) for rows in found for one in rows)
    moved = added((one.read_bytes or 0.0) + (one.written_bytes or 0.0) for rows in found for one in rows)
    return DeviceLoad(pool, None, None, calls / len(found), moved / len(found), None)


def eta_words(known: Pace) -> str:
    """Return the remaining time and its uncertainty as text: `2h 10m left (1h 50m to 2h 40m)`."""
    if known.eta is None:
        return "remaining time unknown"
    if known.latest is None or known.soonest is None:
        return f"about {human.duration(known.eta)} left (early estimate)"
    return f"{human.duration(known.eta)} left ({_range(known.soonest, known.latest)})"


def _range(soonest: float, latest: float) -> str:
    return f"{human.duration(soonest)} to {human.duration(latest)}"


class SpeedLimit(Struct, frozen=True):
    """Speed limit that holds a rebuild: `which` is max or min, in bytes per second, and its origin.

    `path` and `sysctl` are the files of md's limits, "" for others.
    """

    which: str
    limit: int
    by: str
    path: str = ""
    sysctl: str = ""

    @property
    def set_by(self) -> str:
        """Origin of the limit, for display."""
        if not self.path:
            return self.by
        return f"{self.setting} of this {'array' if self.by == 'local' else 'node'}"

    @property
    def setting(self) -> str:
        """Name of the setting, for display."""
        if not self.path:
            return self.by.partition(" (")[0]
        return f"sync_speed_{self.which}" if self.by == "local" else self.sysctl


def active_throttle(
    known: RebuildAnalysis, near: float = NEAR, least: float = LEAST, busy: float = BUSY
) -> SpeedLimit | None:
    """Return the limit that holds a rebuild, None if none does or its pace is unknown.

    Upper limit: the pace is within `near` (0.1: a tenth) of speed_max or above, while no member is busy for more than
    `busy` of the time; md compares its own figure with the limit, so that one counts too while there is progress. Lower
    limit (md): the pace is at most `least` (1.25: a quarter more) times speed_min while others use the array, because
    md yields to them until it falls to that.
    """
    row, seen = known.rebuild, known.pace
    if seen is None or seen.rate is None or row.state != "running":
        return None
    busiest = known.busiest
    idle = busiest is not None and busiest.busy is not None and busiest.busy < busy
    if row.kind != "md":
        # The disks of a cluster are on other nodes, so no local data can contradict the limit.
        idle = idle or not row.devices
        by = row.limited_by or "its limit"
        most = row.speed_max is not None and seen.rate >= row.speed_max * (1 - near) and idle
        return SpeedLimit("max", row.speed_max, by) if most and row.speed_max is not None else None
    speed = max(seen.rate, min(float(row.speed or 0), 2 * seen.rate))
    if row.speed_max is not None and speed >= row.speed_max * (1 - near) and idle:
        return _held("max", row.speed_max, row.speed_max_set, known.name)
    least_rate = row.speed_min or 0
    if row.speed_min is not None and known.foreground and _BELOW * least_rate <= seen.rate <= least * least_rate:
        return _held("min", row.speed_min, row.speed_min_set, known.name)
    return None


def _held(which: str, limit: int, by: str | None, array: str) -> SpeedLimit:
    path = f"{folder(array)}/sync_speed_{which}"
    return SpeedLimit(which, limit, by or "system", path, f"dev.raid.speed_limit_{which}")
