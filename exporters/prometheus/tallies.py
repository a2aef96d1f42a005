"""Tallies: seconds that scraping would miss, added up reading by reading: hot members, saturated disks, limits reached.

A scraper that comes every minute sees means over a minute, in which ten seconds of a crowd before one disk are nothing.
What is counted here at the sampler's pace keeps them: the rate of such a counter is the share of time, however seldom
it is asked for. A counter begins with this process at 0, never runs back, and is not there while nothing can be
counted.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Annotated, Any, ClassVar

from sdstop.analysis.column import StripeLimits
from sdstop.analysis.stripe import crowd
from sdstop.analysis.striped import PARITY, Striped, striped_arrays
from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.history import Moment, Window
from sdstop.core.model import Kind, Label, Metric, Name, Reading, Source, Unplaced
from sdstop.readings.disk import DISKSTATS, Disk, DiskActivity
from sdstop.readings.limit import Limit, LimitUse

BUSY = 0.95
"""Share of a reading in which a saturated disk had requests."""
QUEUE = 2.0
"""Requests outstanding before a disk that seeks, from which on others wait."""
DEPTH = 32.0
"""The same of other disks, where they do not say how many they take at once (SATA: 32)."""

AT_LIMIT = 0.95
"""Share of a limit from which a reading counts as at it."""

_SECONDS = Kind.COUNTER


class DiskSaturation(Reading, frozen=True):
    """How long a disk was saturated: busy all the time, with more outstanding than it takes at once."""

    family: ClassVar[str] = "disk_saturation"
    title: ClassVar[str] = "Saturated disks"
    rows_of = Source(DISKSTATS, " {device} ")

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Saturated", "Time in which it was busy all along and more requests waited than it takes at once",
               "seconds", _SECONDS, name="sdstop_disk_saturated_seconds_total"),
    ] = 0.0  # fmt: skip


class ArrayHeat(Reading, frozen=True):
    """How long requests stood before one column of a striped array, whichever it was."""

    family: ClassVar[str] = "array_heat"
    title: ClassVar[str] = "Crowded arrays"
    rows_of = Source(DISKSTATS)

    array: Annotated[str, Label("Array", "Name of the array's device", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Hot", "Time in which its requests stood before one member while others had nothing to do",
               "seconds", _SECONDS, name="sdstop_array_hot_seconds_total"),
    ] = 0.0  # fmt: skip


class MemberHeat(Reading, frozen=True):
    """How long it was this member before which they stood."""

    family: ClassVar[str] = "array_member_heat"
    title: ClassVar[str] = "Hot members"
    rows_of = Source(DISKSTATS, " {device} ")

    array: Annotated[str, Label("Array", "Name of the array's device", names=Name.DEVICE)]
    device: Annotated[str, Label("Device", "Kernel name of the member", names=Name.DEVICE)]
    seconds: Annotated[
        float,
        Metric("Hot", "Time in which the array's requests stood before this member",
               "seconds", _SECONDS, name="sdstop_array_member_hot_seconds_total"),
    ] = 0.0  # fmt: skip


class LimitSaturation(Reading, frozen=True):
    """How long a volume was at a limit that somebody set."""

    family: ClassVar[str] = "limit_saturation"
    title: ClassVar[str] = "Limits that were reached"
    rows_of = Unplaced("it adds up over the exporter's own readings of limits")

    volume: Annotated[str, Label("Volume", "What is limited", names=Name.VOLUME)]
    owner: Annotated[str, Label("Owner", "Who is held to it", names=Name.HOST)]
    kind: Annotated[str, Label("Kind", "Who enforces it: powerflex, cgroup, qemu, rbd", plain=True)]
    direction: Annotated[str, Label("Direction", "What it counts: total, read, write", plain=True)]
    seconds: Annotated[
        float,
        Metric("At limit", "Time in which 95 % or more of the requests or bytes it lets through were used",
               "seconds", _SECONDS, name="sdstop_limit_saturated_seconds_total"),
    ] = 0.0  # fmt: skip


OF: Mapping[type[Reading], type[Reading]] = {
    DiskSaturation: Disk, ArrayHeat: Array, MemberHeat: Member, LimitSaturation: Limit,
}  # fmt: skip
"""The families that are counted here, and the one whose rows each of them follows."""

Rows = dict[Hashable, Reading]


class Tallies:
    """The counters, and the rows of those that are shown."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.rows: dict[type[Reading], Rows] = {family: {} for family in OF}
        self._totals: dict[tuple[type[Reading], Hashable], float] = {}
        self._started: float | None = None
        self._read: dict[str, float] = {}

    def observe(self, window: Window, limits: Mapping[str, float], disks: Collection[str] | None) -> None:
        """Add the newest reading to them; `disks` are those that are shown, None: all.

        `limits` are those of the rules on striped arrays.
        """
        self._observe_limits(window)
        moments = window.moments(DiskActivity)
        if not moments or moments[-1].started == self._started or moments[-1].seconds is None:
            return
        if len(window.moments(Disk)) < 2:  # recorded by others, who say rates only
            return
        last = moments[-1]
        self._started, seconds = last.started, last.seconds or 0.0
        self._count(DiskSaturation, _saturated(window, last, disks), window.rows(Disk))
        arrays: dict[Hashable, float] = {}
        members: dict[Hashable, float] = {}
        for striped in striped_arrays(window, limits):
            if (
                striped.seconds
                and last.memo.get(("second", striped.array.array), (None, None))[1] is striped.seconds[-1]
            ):
                hot = _hot(striped, limits)
                arrays[striped.array.array] = seconds if hot else 0.0
                for column in striped.columns:
                    for device in column:
                        members[striped.array.array, device] = seconds if device in hot else 0.0
        self._count(ArrayHeat, arrays, window.rows(Array))
        self._count(MemberHeat, members, window.rows(Member))

    def _observe_limits(self, window: Window) -> None:
        """Add what each source of limits read last; several of them bring rows, each at its own pace."""
        spent: dict[Hashable, float] = {}
        known = window.rows(Limit)
        for run in window.now.runs.values():
            used = run.tables.get(LimitUse)
            if used is None or run.seconds is None or run.started == self._read.get(run.collector):
                continue
            self._read[run.collector] = run.started
            for key, row in used.items():
                limit = known.get(key)
                if isinstance(row, LimitUse) and limit is not None:
                    share = _share(limit, row)
                    if share is not None:
                        spent[key] = run.seconds if share >= AT_LIMIT else 0.0
        if spent or self.rows[LimitSaturation]:
            self._count(LimitSaturation, spent, known)

    def _count(self, family: type[Reading], spent: Mapping[Hashable, float], there: Mapping[Any, Reading]) -> None:
        """Add to the totals, and show those of rows that are still there; a row that did not change stays the same."""
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
                self._totals[family, key] = total
                row = make(*(key if isinstance(key, tuple) else (key,)), total)
            rows[key] = row
        self.rows[family] = before if rows == before else rows


def _share(limit: Limit, used: LimitUse) -> float | None:
    """Return how much of the limit that binds was used; None if there is none, or several share what is told."""
    if used.sharers > 1:
        return None
    shares = []
    if limit.iops and used.requests_per_second is not None:
        shares.append(used.requests_per_second * limit.weight(used.request_size) / limit.iops)
    if limit.bandwidth and used.bytes_per_second is not None:
        shares.append(used.bytes_per_second / limit.bandwidth)
    return max(shares, default=None)


def _saturated(window: Window, last: Moment[DiskActivity], disks: Collection[str] | None) -> dict[Hashable, float]:
    """Return how long each disk was saturated in the last reading; those whose times the kernel does not count lack."""
    seconds = last.seconds or 0.0
    before, after = (moment.rows for moment in window.moments(Disk)[-2:])
    most = BUSY * seconds * 1000
    found: dict[Hashable, float] = {}
    for name in after if disks is None else disks:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            continue
        if 0 <= new.io_time - old.io_time < most:  # nearly all of them, and asking no more of them is cheap
            if new.io_time or not (new.reads or new.writes):
                found[name] = 0.0
            continue
        row = last.rows.get(name)
        if row is not None and row.busy is not None:
            full = row.busy >= BUSY and row.queue is not None and row.queue >= _depth(window, row.device)
            found[name] = seconds if full else 0.0
    return found


def _depth(window: Window, device: str) -> float:
    """Return how many requests a device takes at once, before others wait for their turn."""
    known = window.get(BlockDevice, device)
    if known is not None and known.parent:
        known = window.get(BlockDevice, known.parent) or known
    if known is None or known.rotational == 1:
        return QUEUE
    return max(QUEUE, float(known.queue_depth or DEPTH))


def _hot(striped: Striped, limits: Mapping[str, float]) -> frozenset[str]:
    """Return the members before which the requests of the newest second stood; the legs of a mirror that share them."""
    known = StripeLimits.__struct_fields__
    chosen = StripeLimits(**{name: value for name, value in limits.items() if name in known})
    parity = PARITY.get(striped.array.level or "", 0)
    column = crowd(striped.seconds, rotational=striped.rotational is True, parity=parity, limits=chosen)
    if column is None:
        return frozenset()
    most = max(member.queue for member in column.members)
    return frozenset(member.name for member in column.members if member.queue >= most / 2)
