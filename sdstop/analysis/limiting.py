"""Limits at work: how much of each was used in a window, which one binds, and what wait is the limit's own."""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from sdstop.analysis.limit_samples import BANDWIDTH, IOPS, Sample, by_devices, by_source, mean, weighted
from sdstop.core.evidence import Cite
from sdstop.core.history import Moment, Window
from sdstop.core.snapshot import Run
from sdstop.core.text import added
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.limit import CGROUP, QEMU, LeakyBucket, Limit, LimitUse

READINGS, SECONDS = 5, 10.0
"""How far back is looked: so many readings at least, and so many seconds."""
AT_LIMIT = 0.9
"""Share of a limit from which one reading counts as at it: the kernel lets requests through in slices of 0.1 s."""
CALM = 0.7
"""Share below which a request's wait is the disks' alone."""
TOGETHER = 2.0
"""Seconds between two sources' readings that are of one moment."""
SHAPED = 0.02
"""How near to the limit the mean must lie to show, by itself, that it shapes what passes."""


class Limiting(Struct, frozen=True):
    """A limit and what the window shows of it; `samples` are the readings looked at, oldest first."""

    limit: Limit
    samples: tuple[Sample, ...]
    calm_wait: float | None
    """Mean wait at readings far below the limit, which is the disks'; None if there were none."""
    level: float | None
    """Of a limit with bursts: what the bucket holds at least, by all that was seen; None without bursts."""
    measured: bool = True
    """Whether anything tells the use of this limit at all."""

    @property
    def requests(self) -> float | None:
        """Mean requests a second."""
        return mean([s.requests for s in self.samples])

    @property
    def bytes(self) -> float | None:
        """Mean bytes a second."""
        return mean([s.bytes for s in self.samples])

    @property
    def size(self) -> float | None:
        """Mean size of a request, in bytes."""
        requests, moved = self.requests, self.bytes
        return moved / requests if requests and moved is not None else None

    @property
    def low(self) -> float | None:
        """The least share of the limit that was used, on average; None if it is not known."""
        return mean([s.low for s in self.samples])

    @property
    def share(self) -> float | None:
        """The most that can have been used of it, on average; above 1 in a burst."""
        return mean([s.high for s in self.samples])

    @property
    def certain(self) -> bool:
        """Whether the use is the owner's own, so that `low` and `share` are the same."""
        return all(s.low == s.high for s in self.samples)

    @property
    def binding(self) -> str | None:
        """Which limit is nearer, "IOPS" or "bandwidth"."""
        return max(self.samples, key=lambda s: s.high).binding if self.samples else None

    @property
    def at_limit(self) -> float | None:
        """Share of the time at the limit: readings of at least AT_LIMIT for sure."""
        return sum(s.low >= AT_LIMIT for s in self.samples) / len(self.samples) if self.samples else None

    @property
    def maybe_at_limit(self) -> float | None:
        """The same where the use is shared, if all of it was this owner's."""
        return sum(s.high >= AT_LIMIT for s in self.samples) / len(self.samples) if self.samples else None

    @property
    def full(self) -> float | None:
        """Mean share at the readings that were at the limit, None if none was."""
        return mean([s.low for s in self.samples if s.low >= AT_LIMIT])

    @property
    def seconds(self) -> float:
        """Time that the readings cover."""
        return added(s.seconds for s in self.samples)

    @property
    def shaped(self) -> bool:
        """Whether what passed in all lies so near to the limit, for so long, that nothing but the limit made it so.

        Single readings vary: the kernel lets requests through in slices of 0.1 s.
        """
        seconds = self.seconds
        if seconds < SECONDS - 1:
            return False
        return abs(math.fsum(s.low * s.seconds for s in self.samples) / seconds - 1) <= SHAPED

    @property
    def allowed(self) -> float | None:
        """Requests a second that the limits allow at the size that was seen."""
        return self.limit.iops_at(self.size)

    def promise(self, iops: float = 0.0) -> float | None:
        """Return the requests a second that are promised at the size that was seen, no more than `iops` if given."""
        allowed = self.allowed
        return allowed if allowed is None or not iops else min(allowed, iops)

    def cited(self, window: Window) -> tuple[Cite | None, ...]:
        """Quote what shows the use, where the device's own counters do."""
        rows = [window.get(DiskActivity, device) for device in devices_of(window, self.limit)]
        return tuple(window.cite(row) for row in rows if row is not None)

    @property
    def headroom(self) -> float | None:
        """Requests a second that could be added at this size."""
        allowed, requests = self.allowed, self.requests
        return None if allowed is None or requests is None else max(allowed - requests, 0.0)

    @property
    def wait(self) -> float | None:
        """Mean time of a request, the limit's own wait included."""
        return weighted([(s.wait, s.requests) for s in self.samples])

    @property
    def disk_wait(self) -> float | None:
        """What of it is spent below the limit: as told or measured there, or as it was while the limit was far."""
        told = weighted([(s.disk_wait, s.requests) for s in self.samples])
        return self.calm_wait if told is None else told

    @property
    def queue(self) -> float | None:
        """Mean requests outstanding, those that the limit holds back included."""
        return mean([s.queue for s in self.samples])

    @property
    def stalled(self) -> float | None:
        """Share of the time in which a task of the owner waited for I/O (on any device), at least."""
        return mean([s.stalled for s in self.samples])

    @property
    def limit_wait(self) -> float | None:
        """What of the wait the limit itself causes, None if that cannot be told."""
        wait, disks = self.wait, self.disk_wait
        return None if wait is None or disks is None else max(wait - disks, 0.0)

    @property
    def least_wait(self) -> float | None:
        """Where only tasks' stalls are known: at least one request is outstanding while one stalls."""
        stalled, requests = self.stalled, self.requests
        return stalled / requests if stalled is not None and requests else None

    @property
    def bursting(self) -> bool:
        """Whether more passed lately than the limit allows for long."""
        return bool(self.samples) and self._bucket is not None and self.samples[-1].low > 1 + SHAPED

    @property
    def burst_left(self) -> float | None:
        """For how many seconds more the last rate is let through, at most; None if it is no burst."""
        bucket = self._bucket
        if bucket is None or self.level is None or not self.bursting:
            return None
        last = self.samples[-1]
        rate = _counted(self.limit, last) if self._burst_of == IOPS else last.bytes
        return None if rate is None else bucket.left(self.level, rate)

    @property
    def _burst_of(self) -> str | None:
        return _burst_of(self.limit, self.binding)

    @property
    def _bucket(self) -> LeakyBucket | None:
        return _bucket(self.limit, self._burst_of)


def limitings(window: Window) -> list[Limiting]:
    """Return every limit of the window's end with its use, by volume and owner; rules and views share the work."""
    return window.once("limitings", lambda: _all(window))


def mappings(window: Window) -> list[list[Limiting]]:
    """Return the limits of each volume, one for each owner: on reads and writes together, or else on one of them."""
    return window.once("limitings.mappings", lambda: _mappings(window))


def _mappings(window: Window) -> list[list[Limiting]]:
    found: dict[tuple[str, str], dict[str, Limiting]] = {}
    for known in limitings(window):
        row = known.limit
        found.setdefault((row.kind, row.volume), {}).setdefault(row.owner, known)
    return [list(owners.values()) for owners in found.values()]


def _all(window: Window) -> list[Limiting]:
    rows = sorted(window.rows(Limit).values(), key=lambda row: (row.volume, row.owner, row.kind, row.direction))
    if not rows:
        return []
    moments = window.moments(DiskActivity)
    starts = [moment.started for moment in moments]
    turns = [_Turn(run, table, _beside(run, moments, starts)) for run, table in _runs(window)]
    return [_look(window, row, turns, moments) for row in rows]


class _Turn(Struct, frozen=True):
    """A run that brought uses of limits, and what disks did about then."""

    run: Run
    table: Mapping[Hashable, LimitUse]
    disks: Moment[DiskActivity] | None


def _runs(window: Window) -> list[tuple[Run, Mapping[Hashable, LimitUse]]]:
    """Return each collector's own runs, oldest first: joined, a slow one's rows would be counted again and again."""
    seen: set[int] = set()
    found = []
    for shot in window.snapshots:
        for run in shot.runs.values():
            table = run.tables.get(LimitUse)
            if table and run.ok and id(run) not in seen:
                seen.add(id(run))
                found.append((run, cast("Mapping[Hashable, LimitUse]", table)))
    return found


def _beside(run: Run, moments: Sequence[Moment[DiskActivity]], starts: Sequence[float]) -> Moment[DiskActivity] | None:
    """Return what disks did about then: collectors run one after the other in a round."""
    place = bisect.bisect(starts, run.started)
    near = min(moments[max(place - 1, 0) : place + 1], key=lambda m: abs(m.started - run.started), default=None)
    return near if near is not None and abs(near.started - run.started) < TOGETHER else None


def _look(window: Window, row: Limit, turns: Sequence[_Turn], moments: Sequence[Moment[DiskActivity]]) -> Limiting:
    if row.limited == "none" or row.unheld:
        return Limiting(row, (), None, None)
    key = (row.volume, row.owner, row.kind, row.direction)
    devices = devices_of(window, row)
    newest: Iterator[Sample | None]
    if devices and row.kind != CGROUP and moments and _found(moments[-1].rows, devices):
        newest = (_of_moment(row, moment, devices) for moment in reversed(moments))
        waits = row.kind != QEMU
    else:
        newest = (_of_turn(row, key, turn, devices) for turn in reversed(turns))
        waits = row.wait is not None
    # All readings only where those further back tell something: the wait when it was calm, a bucket's level.
    whole = waits or bool(row.iops_burst or row.bandwidth_burst)
    every = _taken(newest, whole=whole)
    kept = every[-max(READINGS, _fitting(every)) :]
    calm = [(s.wait, s.requests) for s in every if s.high < CALM]
    return Limiting(row, tuple(kept), weighted(calm), _level(row, every), measured=_measured(row, devices))


def _taken(newest: Iterator[Sample | None], *, whole: bool) -> list[Sample]:
    """Return the samples, oldest first; unless all are wanted, as many as are looked at."""
    found: list[Sample] = []
    covered = 0.0
    for sample in newest:
        if sample is not None:
            found.append(sample)
            covered += sample.seconds
            if not whole and len(found) >= READINGS and covered >= SECONDS - 0.5:
                break
    return found[::-1]


def _of_turn(row: Limit, key: Hashable, turn: _Turn, devices: Sequence[str]) -> Sample | None:
    """Return the sample of a run, made once for all windows that it is in."""
    run = turn.run
    known = ("limit", key)
    if known not in run.memo:
        use = turn.table.get(key)
        below = turn.disks.rows.get(devices[0]) if turn.disks is not None and row.kind == CGROUP and devices else None
        run.memo[known] = None if use is None else by_source(row, run.started, run.seconds or 0.0, use, below)
    return cast("Sample | None", run.memo[known])


def _of_moment(row: Limit, moment: Moment[DiskActivity], devices: Sequence[str]) -> Sample | None:
    found = _found(moment.rows, devices)
    return by_devices(row, moment.started, moment.seconds or 0.0, found) if found else None


def _found(rows: Mapping[Hashable, DiskActivity], devices: Sequence[str]) -> list[DiskActivity]:
    """Return what each of some devices did, nothing unless all are there."""
    found = [row for row in (rows.get(device) for device in devices) if row is not None]
    return found if len(found) == len(devices) else []


def _measured(row: Limit, devices: Sequence[str]) -> bool:
    counted = row.used_requests is not None or row.used_bytes is not None
    return counted or row.requests_rate is not None or row.bytes_rate is not None or bool(devices)


def _fitting(samples: Sequence[Sample]) -> int:
    """Return how many of the last readings lie within SECONDS."""
    covered, count = 0.0, 0
    for sample in reversed(samples):
        if covered >= SECONDS - 0.5:
            break
        covered += sample.seconds
        count += 1
    return count


def devices_of(window: Window, row: Limit) -> list[str]:
    """Return the kernel's names of the devices that a limit is on; `254:0` is a number of /proc/diskstats."""
    if row.device is None:
        return []
    if ":" not in row.device:
        return row.device.split(",")
    names = window.once(
        "limiting.numbers", lambda: {f"{d.major}:{d.minor}": d.device for d in window.rows(Disk).values()}
    )
    return [names[row.device]] if row.device in names else []


def _counted(row: Limit, sample: Sample) -> float | None:
    return None if sample.requests is None else sample.requests * row.weight(sample.size)


def _burst_of(row: Limit, binding: str | None) -> str | None:
    if row.iops_burst and (binding == IOPS or not row.bandwidth_burst):
        return IOPS
    return BANDWIDTH if row.bandwidth_burst else None


def _bucket(row: Limit, of: str | None) -> LeakyBucket | None:
    if of == IOPS and row.iops and row.iops_burst:
        return LeakyBucket(row.iops, row.iops_burst, row.iops_burst_length or 1.0)
    if of == BANDWIDTH and row.bandwidth and row.bandwidth_burst:
        return LeakyBucket(row.bandwidth, row.bandwidth_burst, row.bandwidth_burst_length or 1.0)
    return None


def _level(row: Limit, samples: Sequence[Sample]) -> float | None:
    """Return what the bucket holds at least: what it held before anybody looked is not known."""
    of = _burst_of(row, max(samples, key=lambda s: s.high).binding if samples else None)
    bucket = _bucket(row, of)
    if bucket is None:
        return None
    level = 0.0
    for sample in samples:
        rate = _counted(row, sample) if of == IOPS else sample.bytes
        level = bucket.after(level, rate or 0.0, sample.seconds)
    return level
