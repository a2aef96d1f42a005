"""Sums and estimates of the exporter itself: saturated disks, hot members, reached limits, ends of rebuilds, paths.

A scraper with a one-minute interval sees averages, which hide a queue of ten seconds on one disk. Counting at
the sampler's rate preserves such peaks: the rate of the counter is a share of time at any scrape interval.
A counter starts at 0 with this process, never decreases, and is absent while its inputs are unavailable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast

from sdstop.analysis.disks.saturation import BUSY, QUEUE, depth
from sdstop.analysis.members.column import StripeLimits
from sdstop.analysis.members.judged_group import JudgedGroup
from sdstop.analysis.members.peer_groups import renewed, striped_groups
from sdstop.analysis.members.peer_samples import is_of
from sdstop.analysis.members.stripe import crowd
from sdstop.analysis.rebuilds.rebuilding import rebuild_analyses
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.columns import Columns, values_at
from sdstop.core.guard import Guard, Part
from sdstop.core.history import Moment, Window
from sdstop.core.judgement import Judgement
from sdstop.core.model import Kind, Label, Metric, Name, Reading, Source, Unplaced
from sdstop.core.snapshot import Run
from sdstop.exporters.prometheus.demand import Demand
from sdstop.exporters.prometheus.stages import AHEAD, PACE, PathStage, path_stages
from sdstop.readings.disk import DISKSTATS, Disk, DiskActivity
from sdstop.readings.limit import Limit, LimitUse, request_weight
from sdstop.readings.rebuild import Rebuild

AT_LIMIT = 0.95
"""Minimum used share of a limit for a sample to count as at the limit."""

NOT_JUDGED = Judgement()
MOST_GONE = 10_000
"""Maximum counts kept of things that are gone, which can return; names of containers never do."""

_SECONDS = Kind.COUNTER


class DiskSaturation(Reading, frozen=True):
    """Time a disk was saturated: always busy, with more requests outstanding than it accepts."""

    family: ClassVar[str] = "disk_saturation"
    title: ClassVar[str] = "Saturated disks"
    rows_of = Source(DISKSTATS, " {device} ")

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Saturated", "Seconds in which the disk was continuously busy with more requests than its queue depth",
               "seconds", _SECONDS, name="sdstop_disk_saturated_seconds_total"),
    ] = 0.0  # fmt: skip


class ArrayHeat(Reading, frozen=True):
    """Time requests of a striped array queued on a single column, whichever it was."""

    family: ClassVar[str] = "array_heat"
    title: ClassVar[str] = "Crowded arrays"
    rows_of = Source(DISKSTATS)

    array: Annotated[str, Label("Array", "Name of the array's device", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Hot", "Seconds in which the array's requests queued on one member while others were idle",
               "seconds", _SECONDS, name="sdstop_array_hot_seconds_total"),
    ] = 0.0  # fmt: skip


class MemberHeat(Reading, frozen=True):
    """Time requests of a striped array queued on this member."""

    family: ClassVar[str] = "array_member_heat"
    title: ClassVar[str] = "Hot members"
    rows_of = Source(DISKSTATS, " {device} ")

    array: Annotated[str, Label("Array", "Name of the array's device", names=Name.DEVICE)]
    device: Annotated[str, Label("Device", "Kernel name of the member", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Hot", "Seconds in which the array's requests queued on this member",
               "seconds", _SECONDS, name="sdstop_array_member_hot_seconds_total"),
    ] = 0.0  # fmt: skip


class LimitSaturation(Reading, frozen=True):
    """Time a volume was at its configured limit."""

    family: ClassVar[str] = "limit_saturation"
    title: ClassVar[str] = "Limits that were reached"
    rows_of = Unplaced("it adds up over the exporter's own readings of limits")

    volume: Annotated[str, Label("Volume", "Limited volume or device", names=Name.VOLUME)]
    owner: Annotated[str, Label("Owner", "Throttled client", names=Name.HOST)]
    kind: Annotated[str, Label("Kind", "Enforced by: powerflex, cgroup, qemu, rbd", plain=True)]
    direction: Annotated[str, Label("Direction", "Direction: total, read, write", plain=True)]
    seconds: Annotated[
        float,
        Metric("At limit", "Seconds in which at least 95% of the limit was used",
               "seconds", _SECONDS, name="sdstop_limit_saturated_seconds_total"),
    ] = 0.0  # fmt: skip


class RebuildEstimate(Reading, frozen=True):
    """Pace and end of a rebuild as sdstop estimates them from its progress, one row each.

    The figures of the source (`sdstop_rebuild_speed_bytes_per_second`, `sdstop_rebuild_remaining_seconds`) are of the
    last seconds, or of the time since the start; they mislead right after a start and while it stalls.
    """

    family: ClassVar[str] = "rebuild_estimate"
    title: ClassVar[str] = "Estimated ends of rebuilds"
    rows_of = Unplaced("it is computed from successive readings of the progress")

    array: Annotated[
        str, Label("Array", "Rebuilt array, pool (tank, tank/draid1-0), resource or cluster", names=Name.DEVICE)
    ]
    operation: Annotated[str, Label("Operation", "recovery, resync, check, resilver, scrub, rebalance", plain=True)]
    rate: Annotated[
        float | None,
        Metric("Pace", "Pace at which the rebuild progresses, from its own counter", "bytes_per_second",
               name="sdstop_rebuild_estimated_bytes_per_second"),
    ]  # fmt: skip
    eta: Annotated[
        float | None,
        Metric("Ends in", "Estimated remaining time of the rebuild; absent while it makes no progress", "seconds",
               name="sdstop_rebuild_estimated_remaining_seconds"),
    ]  # fmt: skip
    latest: Annotated[
        float | None,
        Metric("At the latest", "Upper bound of the estimated remaining time", "seconds",
               name="sdstop_rebuild_estimated_latest_seconds"),
    ]  # fmt: skip


OF: Mapping[type[Reading], type[Reading]] = {
    DiskSaturation: Disk, ArrayHeat: Array, MemberHeat: Member, LimitSaturation: Limit, RebuildEstimate: Rebuild,
    PathStage: Disk,
}  # fmt: skip
"""Families computed here, each with the family whose rows it follows."""

Rows = dict[Hashable, Reading]


class EventCounters:
    """Counters, and the rows of those that are shown."""

    def __init__(self, guard: Guard | None = None, demand: Demand | None = None) -> None:
        """Start all counters at 0; a counter that raises an exception is absent from the frame.

        `demand` knows when pages are asked for.
        """
        self._demand = demand or Demand()
        self.rows: dict[type[Reading], Rows] = {family: {} for family in OF}
        self._guard = guard or Guard()
        self._totals: dict[tuple[type[Reading], Hashable], float] = {}
        self._started: float | None = None
        self._read: dict[str, float] = {}
        self._staged = self._seen = -math.inf
        self._striped: Sequence[JudgedGroup] = ()
        """Striped arrays whose pattern could be judged last."""

    def observe(
        self,
        window: Window,
        limits: Mapping[str, float],
        disks: Collection[str] | None,
        judgement: Judgement = NOT_JUDGED,
        *,
        held: bool = False,
    ) -> None:
        """Add the newest sample to the counters; `disks` are the exported ones, None: all.

        `limits` are the thresholds of the rules on striped arrays; findings of the `judgement` choose data paths. If
        the rules have not judged this sample (`held`), the arrays are those that they could judge last, and rebuilds
        are as the rules saw them.
        """
        self._call((PathStage,), lambda: self._observe_paths(window, judgement))
        self._call((LimitSaturation,), lambda: self._observe_limits(window))
        if not held:
            self._call((RebuildEstimate,), lambda: self._observe_rebuilds(window))
        moments = window.moments(DiskActivity)
        if not moments or moments[-1].started == self._started or moments[-1].seconds is None:
            return
        if len(window.moments(Disk)) < 2:  # recorded by another tool, which has rates only
            return
        last = moments[-1]
        self._started = last.started
        self._call((DiskSaturation,), lambda: self._observe_disks(window, last, disks))
        self._call((ArrayHeat, MemberHeat), lambda: self._observe_arrays(window, last, limits, held=held))

    def _call(self, families: Sequence[type[Reading]], observe: Callable[[], None]) -> None:
        """Count some families; they are absent if that raises an exception."""

        def absent(_: str) -> None:
            self.rows.update((family, {}) for family in families)

        self._guard.call(Part.TALLY, families[0].family, observe, absent)

    def _observe_disks(self, window: Window, last: Moment[DiskActivity], disks: Collection[str] | None) -> None:
        self._count(DiskSaturation, _saturated(window, last, disks), window.rows(Disk))

    def _observe_arrays(
        self, window: Window, last: Moment[DiskActivity], limits: Mapping[str, float], *, held: bool
    ) -> None:
        if held:
            self._striped = [renewed(window, striped, limits) for striped in self._striped]
        else:
            self._striped = [
                each for each in striped_groups(window, limits) if each.array is not None and each.verdict is not None
            ]
        seconds = last.seconds or 0.0
        arrays: dict[Hashable, float] = {}
        members: dict[Hashable, float] = {}
        for striped in self._striped:
            if striped.array is not None and striped.seconds and is_of(striped.seconds[-1], striped.layout, last):
                hot = _hot(striped, limits)
                arrays[striped.array.array] = seconds if hot else 0.0
                for column in striped.columns:
                    for device in column:
                        members[striped.array.array, device] = seconds if device in hot else 0.0
        self._count(ArrayHeat, arrays, window.rows(Array))
        self._count(MemberHeat, members, window.rows(Member))

    def _observe_rebuilds(self, window: Window) -> None:
        """Show the estimates of the rebuilds that have made progress."""
        self.rows[RebuildEstimate] = {
            (known.rebuild.array, known.rebuild.operation): RebuildEstimate(
                known.rebuild.array, known.rebuild.operation, known.pace.rate, known.pace.eta, known.pace.latest
            )
            for known in rebuild_analyses(window)
            if known.pace is not None and known.pace.rate is not None
        }

    def _observe_paths(self, window: Window, judgement: Judgement) -> None:
        """Show the stages of data paths; computed again after PACE seconds before a page, or after a step back."""
        now = window.now.monotonic
        passed, step, self._seen = now - self._staged, now - self._seen, now
        if passed < 0 or (passed >= PACE and self._demand.expects(now, AHEAD * step)):
            self._staged = now
            self.rows[PathStage] = dict(path_stages(window, judgement.every))

    def _observe_limits(self, window: Window) -> None:
        """Add the last sample of each source of limits; several sources have rows, at their own intervals."""
        spent: dict[Hashable, float] = {}
        known = window.rows(Limit)
        for run in window.now.runs.values():
            used = run.tables.get(LimitUse)
            if used is None or run.seconds is None or run.started == self._read.get(run.collector):
                continue
            self._read[run.collector] = run.started
            for key, share in zip(used, _shares(run), strict=True):
                if share is not None and key in known:
                    spent[key] = run.seconds if share >= AT_LIMIT else 0.0
        if spent or self.rows[LimitSaturation]:
            self._count(LimitSaturation, spent, known)

    def _count(self, family: type[Reading], spent: Mapping[Hashable, float], there: Mapping[Any, Reading]) -> None:
        """Add to the totals and show the rows that still exist; unchanged rows stay the same objects."""
        before = self.rows[family]
        if spent.keys() == before.keys() <= there.keys() and not any(spent.values()):
            return
        make: Any = family
        rows: Rows = {}
        for key in there:
            row = before.get(key)
            more = spent.get(key)
            if more is None and row is None:
                continue
            total = self._totals.get((family, key), 0.0)
            if more or row is None:
                total += more or 0.0
                if total:  # a device can return; one without a count starts at 0
                    self._totals[family, key] = total
                row = make(*(key if isinstance(key, tuple) else (key,)), total)
            rows[key] = row
        self.rows[family] = before if rows == before else rows
        if len(self._totals) > MOST_GONE + 2 * len(rows):
            self._totals = {(of, key): n for (of, key), n in self._totals.items() if of is not family or key in rows}


def _shares(run: Run) -> Iterator[float | None]:
    """Yield the used share of the tighter limit of each row; None without a limit or if several share the use."""
    limits, used = run.tables[Limit], run.tables[LimitUse]
    assert isinstance(limits, Columns)  # noqa: S101  # both are numerous
    assert isinstance(used, Columns)  # noqa: S101
    places = limits.beside(used)
    bounds = [
        [limits.column(name)[at] for at in places if at is not None] for name in ("iops", "bandwidth", "iops_size")
    ]
    uses = map(used.column, ("requests_per_second", "bytes_per_second", "request_size", "sharers"))
    for iops, bandwidth, large, requests, moved, size, sharers in zip(*bounds, *uses, strict=True):
        shares = []
        if iops and requests is not None:
            shares.append(requests * request_weight(size, large) / iops)
        if bandwidth and moved is not None:
            shares.append(moved / bandwidth)
        yield max(shares, default=None) if sharers == 1 else None


def _saturated(window: Window, last: Moment[DiskActivity], disks: Collection[str] | None) -> dict[Hashable, float]:
    """Return the saturated seconds of each disk in the last sample; disks without I/O times are left out."""
    seconds = last.seconds or 0.0
    before, after = (cast("Rows", moment.rows) for moment in window.moments(Disk)[-2:])
    most = BUSY * seconds * 1000
    found: dict[Hashable, float] = {}
    names = list(after if disks is None else disks)
    figures = *values_at(before, names, "io_time"), *values_at(after, names, "io_time", "reads", "writes")
    for name, old, new, reads, writes in zip(names, *figures, strict=True):
        if old is None or new is None:
            continue
        if 0 <= new - old < most:  # fast path: nearly all disks
            if new or not (reads or writes):
                found[name] = 0.0
            continue
        row = last.rows.get(name)
        if row is not None and row.busy is not None:
            full = row.busy >= BUSY and row.queue is not None and row.queue >= _depth(window, row.device)
            found[name] = seconds if full else 0.0
    return found


def _depth(window: Window, device: str) -> float:
    """Return the number of requests that a device accepts before further ones wait."""
    known = window.get(BlockDevice, device)
    if known is not None and known.parent:
        known = window.get(BlockDevice, known.parent) or known
    return depth(known) if known is not None else QUEUE


def _hot(striped: JudgedGroup, limits: Mapping[str, float]) -> frozenset[str]:
    """Return the members that requests queued on in the newest second, including sharing mirror legs."""
    known = StripeLimits.__struct_fields__
    chosen = StripeLimits(**{name: value for name, value in limits.items() if name in known})
    column = crowd(striped.seconds, rotational=striped.rotational is True, parity=striped.parity, limits=chosen)
    if column is None:
        return frozenset()
    most = max(member.queue for member in column.members)
    return frozenset(member.name for member in column.members if member.queue >= most / 2)
