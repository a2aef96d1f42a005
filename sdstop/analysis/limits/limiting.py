"""Limits in use: utilization of each limit in a window, the binding limit, and the wait that it causes."""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from sdstop.analysis.limits.limit_courses import (
    AT_LIMIT,
    JITTER,
    READINGS,
    SECONDS,
    LimitCourse,
    evaluated,
    ordered_limits,
)
from sdstop.analysis.limits.limit_samples import BANDWIDTH, IOPS, Sample, by_devices, by_source, mean, weighted
from sdstop.core.evidence import Cite
from sdstop.core.history import Moment, Window
from sdstop.core.kept import kept
from sdstop.core.model import Rows
from sdstop.core.snapshot import Run
from sdstop.core.text import added
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.readings.limit import CGROUP, QEMU, LeakyBucket, Limit, LimitUse

CALM = 0.7
"""Share of a limit below which requests wait only for the disks."""
TOGETHER = 2.0
"""Maximum seconds between readings of two sources that count as simultaneous."""
SHAPED = 0.02
"""Maximum deviation of the mean from the limit that proves by itself that the limit shapes the load."""


class LimitedWait(Struct, frozen=True):
    """Mean time of a request in seconds, and its parts below the limit and at it; None if unknown.

    `least`: `wait` and `limit` are lower bounds, because only stalls of tasks are known.
    """

    wait: float | None
    disks: float | None
    limit: float | None
    least: bool = False


class LimitAnalysis(Struct, frozen=True, dict=True):
    """A limit and its use in the window; `samples` are the evaluated ones, oldest first."""

    limit: Limit
    samples: tuple[Sample, ...]
    calm_wait: float | None
    """Mean wait in samples far below the limit, caused by the disks; None without such samples."""
    level: float | None
    """For a limit with bursts: minimum level of the bucket according to the samples; None without bursts."""
    measured: bool = True
    """Whether any source reports the use of this limit."""

    @kept
    def requests(self) -> float | None:
        """Mean requests per second."""
        return mean([s.requests for s in self.samples])

    @kept
    def bytes(self) -> float | None:
        """Mean bytes per second."""
        return mean([s.bytes for s in self.samples])

    @kept
    def size(self) -> float | None:
        """Mean size of a request, in bytes."""
        requests, moved = self.requests, self.bytes
        return moved / requests if requests and moved is not None else None

    @kept
    def low(self) -> float | None:
        """Mean of the minimum share of the limit in use; None if unknown."""
        return mean([s.low for s in self.samples])

    @kept
    def share(self) -> float | None:
        """Mean of the maximum share of the limit in use; above 1 in a burst."""
        return mean([s.high for s in self.samples])

    @kept
    def certain(self) -> bool:
        """Whether the use is the owner's own, so that `low` and `share` are the same."""
        return all(s.low == s.high for s in self.samples)

    @kept
    def binding(self) -> str | None:
        """Limit that is closer to being reached, "IOPS" or "bandwidth"."""
        return max(self.samples, key=lambda s: s.high).binding if self.samples else None

    @kept
    def at_limit(self) -> float | None:
        """Share of the samples in which at least AT_LIMIT of the limit was certainly in use."""
        return sum(s.low >= AT_LIMIT for s in self.samples) / len(self.samples) if self.samples else None

    @kept
    def maybe_at_limit(self) -> float | None:
        """Share of the samples at the limit, assuming that shared use was all this owner's."""
        return sum(s.high >= AT_LIMIT for s in self.samples) / len(self.samples) if self.samples else None

    @kept
    def full(self) -> float | None:
        """Mean share in the samples at the limit, None if there is none."""
        return mean([s.low for s in self.samples if s.low >= AT_LIMIT])

    @kept
    def seconds(self) -> float:
        """Time span of the samples."""
        return added(s.seconds for s in self.samples)

    @kept
    def shaped(self) -> bool:
        """Whether the mean throughput was so close to the limit, for so long, that the limit must be the cause.

        Single samples vary: the kernel admits requests in slices of 0.1 s.
        """
        seconds = self.seconds
        if seconds < SECONDS - 1:
            return False
        return abs(math.fsum(s.low * s.seconds for s in self.samples) / seconds - 1) <= SHAPED

    @kept
    def allowed(self) -> float | None:
        """Requests per second that the limits allow at the mean request size."""
        return self.limit.iops_at(self.size)

    def promise(self, iops: float = 0.0) -> float | None:
        """Return the guaranteed requests per second at the mean request size, at most `iops` if given."""
        allowed = self.allowed
        return allowed if allowed is None or not iops else min(allowed, iops)

    def cited(self, window: Window) -> tuple[Cite | None, ...]:
        """Return quotes of the device counters that show the use, if there are any."""
        rows = [window.get(DiskActivity, device) for device in devices_of(window, self.limit)]
        return tuple(window.cite(row) for row in rows if row is not None)

    @kept
    def headroom(self) -> float | None:
        """Requests per second that could be added at this request size."""
        allowed, requests = self.allowed, self.requests
        return None if allowed is None or requests is None else max(allowed - requests, 0.0)

    @kept
    def wait(self) -> float | None:
        """Mean time of a request, including the wait that the limit causes."""
        return weighted([(s.wait, s.requests) for s in self.samples])

    @kept
    def disk_wait(self) -> float | None:
        """Mean wait below the limit: reported or measured there, or else the wait while use was far below the limit."""
        told = weighted([(s.disk_wait, s.requests) for s in self.samples])
        return self.calm_wait if told is None else told

    @kept
    def queue(self) -> float | None:
        """Mean outstanding requests, including those that the limit holds back."""
        return mean([s.queue for s in self.samples])

    @kept
    def stalled(self) -> float | None:
        """Minimum share of time in which a task of the owner waited for I/O (on any device)."""
        return mean([s.stalled for s in self.samples])

    @kept
    def limit_wait(self) -> float | None:
        """Part of the wait that the limit causes, None if unknown."""
        wait, disks = self.wait, self.disk_wait
        return None if wait is None or disks is None else max(wait - disks, 0.0)

    @kept
    def least_wait(self) -> float | None:
        """Minimum wait if only task stalls are known: a stalled task has at least one outstanding request."""
        stalled, requests = self.stalled, self.requests
        return stalled / requests if stalled is not None and requests else None

    @kept
    def split(self) -> LimitedWait:
        """Wait of a request and its parts: as measured, or as a lower bound if only task stalls are known."""
        disks = self.disk_wait
        if self.wait is not None:
            return LimitedWait(self.wait, disks, self.limit_wait)
        least = self.least_wait
        if least is None or disks is None or least <= disks:
            return LimitedWait(None, disks, None)
        return LimitedWait(least, disks, least - disks, least=True)

    @kept
    def bursting(self) -> bool:
        """Whether the latest rate exceeds the sustained limit."""
        return bool(self.samples) and self._bucket is not None and self.samples[-1].low > 1 + SHAPED

    @kept
    def burst_left(self) -> float | None:
        """Maximum seconds for which the last rate remains allowed; None without a burst."""
        bucket = self._bucket
        if bucket is None or self.level is None or not self.bursting:
            return None
        last = self.samples[-1]
        rate = _counted(self.limit, last) if self._burst_of == IOPS else last.bytes
        return None if rate is None else bucket.left(self.level, rate)

    @kept
    def _burst_of(self) -> str | None:
        return _burst_of(self.limit, self.binding)

    @kept
    def _bucket(self) -> LeakyBucket | None:
        return _bucket(self.limit, self._burst_of)


def limit_analyses(window: Window) -> list[LimitAnalysis]:
    """Return every limit of the window's end with its use, by volume and owner; views share the work.

    Rules read courses (sdstop.analysis.limits.limit_courses) first: of thousands, few limits deserve an analysis.
    """
    return window.once("limitings", lambda: [limit_analysis(window, *each) for each in ordered_limits(window)])


def promised_analyses(window: Window) -> list[LimitAnalysis]:
    """Return the same without the limits of control groups, which promise nothing and are the most numerous."""

    def promised() -> list[LimitAnalysis]:
        return [
            limit_analysis(window, course, place) for course, place in ordered_limits(window)
            if course.limits.column("kind")[place] != CGROUP
        ]  # fmt: skip

    return window.once("limitings.promised", promised)


def limit_analysis(window: Window, course: LimitCourse, place: int) -> LimitAnalysis:
    """Return the limit at a place of a source's, with its use."""

    def make() -> LimitAnalysis:
        moments = window.moments(DiskActivity)
        turns = window.once(("limit turns", id(course)), lambda: _turns(course, moments))
        return _look(window, cast("Limit", course.limits.row(place)), turns, moments)

    return window.once(("limiting", id(course), place), make)


def mappings(window: Window) -> list[list[LimitAnalysis]]:
    """Return the limits of each volume, one per owner: that on reads and writes together, or else on one of them.

    Those of control groups are left out: they imply nothing for other groups.
    """
    return window.once("limitings.mappings", lambda: _mappings(window))


def _mappings(window: Window) -> list[list[LimitAnalysis]]:
    found: dict[tuple[str, str], dict[str, LimitAnalysis]] = {}
    for known in promised_analyses(window):
        row = known.limit
        found.setdefault((row.kind, row.volume), {}).setdefault(row.owner, known)
    return [list(owners.values()) for owners in found.values()]


def _turns(course: LimitCourse, moments: Sequence[Moment[DiskActivity]]) -> list[_UseSample]:
    starts = [moment.started for moment in moments]
    return [_UseSample(run, run.tables[LimitUse], _beside(run, moments, starts)) for run in course.runs]


class _UseSample(Struct, frozen=True):
    """A run with readings of limit use, and the disk activity at about that time."""

    run: Run
    table: Rows
    disks: Moment[DiskActivity] | None


def _beside(run: Run, moments: Sequence[Moment[DiskActivity]], starts: Sequence[float]) -> Moment[DiskActivity] | None:
    """Return the disk activity at about the time of a run; collectors run one after the other in a round."""
    place = bisect.bisect(starts, run.started)
    near = min(moments[max(place - 1, 0) : place + 1], key=lambda m: abs(m.started - run.started), default=None)
    return near if near is not None and abs(near.started - run.started) < TOGETHER else None


def _look(
    window: Window, row: Limit, turns: Sequence[_UseSample], moments: Sequence[Moment[DiskActivity]]
) -> LimitAnalysis:
    if row.limited == "none" or row.unheld:
        return LimitAnalysis(row, (), None, None)
    key = (row.volume, row.owner, row.kind, row.direction)
    devices = devices_of(window, row)
    newest: Iterator[Sample | None]
    if devices and row.kind != CGROUP and moments and _found(moments[-1].rows, devices):
        newest = (_of_moment(row, moment, devices) for moment in reversed(moments))
        waits = row.kind != QEMU
    else:
        newest = (_of_turn(row, key, turn, devices) for turn in reversed(turns))
        waits = row.wait is not None
    # Older samples are needed only for the calm wait or the bucket's level.
    whole = waits or bool(row.iops_burst or row.bandwidth_burst)
    every = _taken(newest, whole=whole)
    kept = every[len(every) - evaluated([sample.seconds for sample in every]) :]
    calm = [(s.wait, s.requests) for s in every if s.high < CALM]
    return LimitAnalysis(row, tuple(kept), weighted(calm), _level(row, every), measured=_measured(row, devices))


def _taken(newest: Iterator[Sample | None], *, whole: bool) -> list[Sample]:
    """Return the samples, oldest first: all of them, or only those that are evaluated."""
    found: list[Sample] = []
    covered = 0.0
    for sample in newest:
        if sample is not None:
            found.append(sample)
            covered += sample.seconds
            if not whole and len(found) >= READINGS and covered >= SECONDS - JITTER:
                break
    return found[::-1]


def _of_turn(row: Limit, key: Hashable, turn: _UseSample, devices: Sequence[str]) -> Sample | None:
    """Return the sample of a run by the limit that held then, cached for all windows that contain the run."""
    run = turn.run
    known = ("limit", key)
    if known not in run.memo:
        use = cast("LimitUse | None", turn.table.get(key))
        then = cast("Limit", run.tables[Limit].get(key, row))
        below = turn.disks.rows.get(devices[0]) if turn.disks is not None and row.kind == CGROUP and devices else None
        run.memo[known] = None if use is None else by_source(then, run.started, run.seconds or 0.0, use, below)
    return cast("Sample | None", run.memo[known])


def _of_moment(row: Limit, moment: Moment[DiskActivity], devices: Sequence[str]) -> Sample | None:
    found = _found(moment.rows, devices)
    return by_devices(row, moment.started, moment.seconds or 0.0, found) if found else None


def _found(rows: Mapping[Hashable, DiskActivity], devices: Sequence[str]) -> list[DiskActivity]:
    """Return the activity of the devices, empty unless all are present."""
    found = [row for row in (rows.get(device) for device in devices) if row is not None]
    return found if len(found) == len(devices) else []


def _measured(row: Limit, devices: Sequence[str]) -> bool:
    counted = row.used_requests is not None or row.used_bytes is not None
    return counted or row.requests_rate is not None or row.bytes_rate is not None or bool(devices)


def devices_of(window: Window, row: Limit) -> list[str]:
    """Return the kernel names of the devices under a limit; `254:0` is a device number in /proc/diskstats."""
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
    """Return the minimum bucket level; the level before the first sample is unknown."""
    of = _burst_of(row, max(samples, key=lambda s: s.high).binding if samples else None)
    bucket = _bucket(row, of)
    if bucket is None:
        return None
    level = 0.0
    for sample in samples:
        rate = _counted(row, sample) if of == IOPS else sample.bytes
        level = bucket.after(level, rate or 0.0, sample.seconds)
    return level
