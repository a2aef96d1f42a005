"""Counters of a block device, and its activity between two samples, as shown by `iostat -x`.

Formulas and units follow sysstat's iostat (12.x); where iostat prints 0.00 for undefined values, which makes idle
devices look fast, the value here is None.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

from msgspec.structs import replace

from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source

DISKSTATS = "/proc/diskstats"

SECTOR = 512
"""Bytes per sector in all kernel counters, regardless of the device's block size."""
WRAP = 1 << 32
"""Milliseconds at which the kernel's 32-bit time counters wrap."""
SLACK = 16
"""Decreases smaller than this are not resets: the kernel sums per-CPU counters without a lock."""

_COUNTER = Kind.COUNTER


def device_name(entry: str) -> str:
    """Return the kernel name of a device from its directory name in /sys/block: `etherd!e0.1` -> `etherd/e0.1`."""
    return entry.replace("!", "/")


def sysfs_name(device: str) -> str:
    """Return the directory name of a device in /sys/block: `etherd/e0.1` -> `etherd!e0.1`."""
    return device.replace("/", "!")


class Disk(Reading, frozen=True):
    """Counters of a block device since it appeared: a line of `/proc/diskstats`, whole disk or partition.

    Times are kernel milliseconds that wrap at 2^32; sizes are sectors of 512 bytes. Fields that the kernel does not
    support yet are None (discards: since 4.18, flushes: since 5.5).
    """

    family: ClassVar[str] = "disk"
    numerous: ClassVar[bool] = True
    title: ClassVar[str] = "Disk counters"
    rows_of = Source(DISKSTATS, " {device} ")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("{major}:{minor}", Naming.NUMBER),)),
    }

    device: Annotated[str, Label("Device", "Kernel name, `/` as in /proc/diskstats", names=Name.DEVICE)]
    major: Annotated[int, Metric("Major", "Major number", export=False)]
    minor: Annotated[int, Metric("Minor", "Minor number", export=False)]
    reads: Annotated[int, Metric("Reads", "Reads completed", kind=_COUNTER, name="sdstop_disk_reads_total")]
    reads_merged: Annotated[int, Metric("Reads merged", "Reads merged into another", kind=_COUNTER, detail=True)]
    read_sectors: Annotated[
        int,
        Metric("Read", "Bytes read", "bytes", _COUNTER, SECTOR, "sdstop_disk_read_bytes_total"),
    ]
    read_time: Annotated[
        int, Metric("Read time", "Total time spent reading, summed over requests", "seconds", _COUNTER, 0.001)
    ]
    writes: Annotated[int, Metric("Writes", "Writes completed", kind=_COUNTER)]
    writes_merged: Annotated[int, Metric("Writes merged", "Writes merged into another", kind=_COUNTER, detail=True)]
    write_sectors: Annotated[
        int,
        Metric("Written", "Bytes written", "bytes", _COUNTER, SECTOR, "sdstop_disk_written_bytes_total"),
    ]
    write_time: Annotated[
        int, Metric("Write time", "Total time spent writing, summed over requests", "seconds", _COUNTER, 0.001)
    ]
    in_flight: Annotated[
        int | None,
        Metric("In flight", "Requests in flight", name="sdstop_disk_io_now", detail=True),
    ]
    io_time: Annotated[int, Metric("Busy time", "Time with a request in flight", "seconds", _COUNTER, 0.001)]
    weighted_time: Annotated[
        int,
        Metric(
            "Weighted time",
            "Weighted I/O time (time summed over all requests)",
            "seconds",
            _COUNTER,
            0.001,
            "sdstop_disk_io_time_weighted_seconds_total",
        ),
    ]
    discards: Annotated[int | None, Metric("Discards", "Discards completed", kind=_COUNTER, detail=True)] = None
    discards_merged: Annotated[
        int | None, Metric("Discards merged", "Discards merged into another", kind=_COUNTER, detail=True)
    ] = None
    discard_sectors: Annotated[
        int | None,
        Metric(
            "Discarded", "Bytes discarded", "bytes", _COUNTER, SECTOR, "sdstop_disk_discarded_bytes_total", detail=True
        ),
    ] = None
    discard_time: Annotated[
        int | None,
        Metric(
            "Discard time", "Total time spent discarding, summed over requests", "seconds", _COUNTER, 0.001, detail=True
        ),
    ] = None
    flushes: Annotated[
        int | None, Metric("Flushes", "Flushes completed; not counted for partitions", kind=_COUNTER, detail=True)
    ] = None
    flush_time: Annotated[
        int | None,
        Metric(
            "Flush time", "Total time spent flushing, summed over requests", "seconds", _COUNTER, 0.001, detail=True
        ),
    ] = None


class DiskActivity(Reading, frozen=True):
    """Activity of a block device between two samples: every column of `iostat -x`, in base units.

    None: no such request completed (for a wait or size), or the kernel does not count it.
    """

    family: ClassVar[str] = "disk_activity"
    numerous: ClassVar[bool] = True
    title: ClassVar[str] = "Disk activity"
    exported: ClassVar[bool] = False
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
    }

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    reads_per_second: Annotated[float, Metric("r/s", "Reads completed", "per_second")]
    read_bytes_per_second: Annotated[float, Metric("Read", "Bytes read", "bytes_per_second")]
    reads_merged_per_second: Annotated[float, Metric("rrqm/s", "Reads merged into another", "per_second")]
    reads_merged_ratio: Annotated[
        float | None, Metric("%rrqm", "Share of reads that were merged before they were issued", "ratio")
    ]
    read_wait: Annotated[float | None, Metric("r_await", "Mean read latency, including queueing", "seconds")]
    read_size: Annotated[float | None, Metric("rareq-sz", "Mean size of reads", "bytes")]
    writes_per_second: Annotated[float, Metric("w/s", "Writes completed", "per_second")]
    write_bytes_per_second: Annotated[float, Metric("Write", "Bytes written", "bytes_per_second")]
    writes_merged_per_second: Annotated[float, Metric("wrqm/s", "Writes merged into another", "per_second")]
    writes_merged_ratio: Annotated[
        float | None, Metric("%wrqm", "Share of writes that were merged before they were issued", "ratio")
    ]
    write_wait: Annotated[float | None, Metric("w_await", "Mean write latency, including queueing", "seconds")]
    write_size: Annotated[float | None, Metric("wareq-sz", "Mean size of writes", "bytes")]
    discards_per_second: Annotated[float | None, Metric("d/s", "Discards completed", "per_second")]
    discard_bytes_per_second: Annotated[float | None, Metric("Discard", "Bytes discarded", "bytes_per_second")]
    discards_merged_per_second: Annotated[float | None, Metric("drqm/s", "Discards merged into another", "per_second")]
    discards_merged_ratio: Annotated[
        float | None, Metric("%drqm", "Share of discards that were merged before they were issued", "ratio")
    ]
    discard_wait: Annotated[float | None, Metric("d_await", "Mean discard latency", "seconds")]
    discard_size: Annotated[float | None, Metric("dareq-sz", "Mean size of discards", "bytes")]
    flushes_per_second: Annotated[float | None, Metric("f/s", "Flushes completed", "per_second")]
    flush_wait: Annotated[float | None, Metric("f_await", "Mean flush latency", "seconds")]
    queue: Annotated[float | None, Metric("aqu-sz", "Mean outstanding requests, credited at completion", "")]
    busy: Annotated[
        float | None,
        Metric(
            "%util", "Share of time with a request in flight, which is not load if several are served at once", "ratio"
        ),
    ]
    completed_per_second: Annotated[float, Metric("tps", "Reads, writes and discards completed", "per_second")]
    wait: Annotated[float | None, Metric("await", "Mean time of reads, writes and discards", "seconds")]
    size: Annotated[float | None, Metric("areq-sz", "Mean size of reads, writes and discards", "bytes")]
    in_flight: Annotated[int | None, Metric("In flight", "Requests in flight at the second reading")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = DISKSTATS

    def source(self, field: str = "") -> Source | None:
        """Return the device's line in /proc/diskstats, or in the recorded iostat output."""
        del field
        return Source(self.origin, f" {self.device} " if self.origin == DISKSTATS else self.device)


def activity(before: Disk, after: Disk, seconds: float) -> DiskActivity | None:
    """Return the activity of a device in the `seconds` between two samples, or None if it is unknown.

    It is unknown if a count of requests, merges or sectors decreased (the device was replaced or its counters were
    reset, so that they do not cover the whole interval), or if the major or minor number changed. Decreases of less
    than SLACK count as 0.

    A time that decreased has wrapped if it advanced by less than half of 2^32 ms modulo 2^32; otherwise it was reset
    and the values derived from it are None (for aqu-sz and %util, sysstat treats every decrease as a wrap, and
    since 12.7.4 prints 0.00). A weighted time that wraps twice in an interval cannot be recognized (at a queue of
    100: 24 hours between samples). If requests completed but no time ever advanced (md before kernel 5.12), waits,
    queue and busy are None.
    """
    if seconds <= 0 or before.major != after.major or before.minor != after.minor:
        return None
    timed = _timed(after) or _timed(before) or not (after.reads or after.writes)
    if before is after:
        return _idle(after.device, after.in_flight, timed, after.discards is not None, after.flushes is not None)

    reads, writes = _reads(before, after, timed=timed), _writes(before, after, timed=timed)
    discards = _discards(before, after, timed=timed)
    done = (reads, writes) if discards is None else (reads, writes, discards)
    counts_flushes = after.flushes is not None and before.flushes is not None
    flushes = (after.flushes or 0) - (before.flushes or 0) if counts_flushes else 0
    if flushes < 0 or any(each.is_reset for each in done):
        return _again(before, after, seconds)
    flush_time = _elapsed(before.flush_time or 0, after.flush_time or 0) if flushes and timed else None
    completed, moved = sum(each.number for each in done), sum(each.moved for each in done)
    times = [each.time for each in done if each.time is not None]
    took = sum(times) if len(times) == len(done) else None
    io_time = _elapsed(before.io_time, after.io_time) if timed else None
    weighted = _elapsed(before.weighted_time, after.weighted_time) if timed else None
    return DiskActivity(
        after.device,
        *reads.columns(seconds),
        *writes.columns(seconds),
        *(_UNCOUNTED if discards is None else discards.columns(seconds)),
        flushes / seconds if counts_flushes else None,
        None if flush_time is None else flush_time / flushes / 1000,
        None if weighted is None else weighted / 1000 / seconds,
        None if io_time is None else io_time / 1000 / seconds,
        completed / seconds,
        took / completed / 1000 if completed and took is not None else None,
        moved / completed if completed else None,
        after.in_flight,
        DISKSTATS,
    )


_Columns = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
"""Columns of one type of requests: completed, bytes and merged per second, merged share, wait, size."""
_UNCOUNTED: _Columns = (None, None, None, None, None, None)
_NOTHING = (0.0, 0.0, 0.0, None, None, None)


class _Requests(NamedTuple):
    """Requests of one type that completed between two samples: how many, merged ones, bytes, and milliseconds."""

    number: int
    merged: int
    moved: int
    time: int | None

    @property
    def is_reset(self) -> bool:
        """Whether a count decreased."""
        return self.number < 0 or self.merged < 0 or self.moved < 0

    def columns(self, seconds: float) -> tuple[float, float, float, float | None, float | None, float | None]:
        """Return the columns of a sample this long."""
        number, merged, moved, time = self
        return (
            number / seconds,
            moved / seconds,
            merged / seconds,
            merged / (merged + number) if merged or number else None,
            time / number / 1000 if number and time is not None else None,
            moved / number if number else None,
        )


def _reads(before: Disk, after: Disk, *, timed: bool) -> _Requests:
    return _Requests(
        after.reads - before.reads,
        after.reads_merged - before.reads_merged,
        (after.read_sectors - before.read_sectors) * SECTOR,
        _elapsed(before.read_time, after.read_time) if timed else None,
    )


def _writes(before: Disk, after: Disk, *, timed: bool) -> _Requests:
    return _Requests(
        after.writes - before.writes,
        after.writes_merged - before.writes_merged,
        (after.write_sectors - before.write_sectors) * SECTOR,
        _elapsed(before.write_time, after.write_time) if timed else None,
    )


def _discards(before: Disk, after: Disk, *, timed: bool) -> _Requests | None:
    """Return the discards between two samples, None unless both count them."""
    if before.discards is None or after.discards is None:
        return None
    return _Requests(
        after.discards - before.discards,
        (after.discards_merged or 0) - (before.discards_merged or 0),
        ((after.discard_sectors or 0) - (before.discard_sectors or 0)) * SECTOR,
        _elapsed(before.discard_time or 0, after.discard_time or 0) if timed else None,
    )


_COUNTS = (
    "reads", "reads_merged", "read_sectors", "writes", "writes_merged", "write_sectors",
    "discards", "discards_merged", "discard_sectors", "flushes",
)  # fmt: skip
"""Fields that only a reset decreases; those of time wrap."""


def _timed(disk: Disk) -> bool:
    """Return whether the kernel ever accounted any time to a device."""
    return bool(disk.io_time or disk.weighted_time or disk.read_time or disk.write_time)


def _elapsed(before: int, after: int) -> int | None:
    """Return the milliseconds between two samples of a wrapping time counter, or None if it was reset."""
    step = after - before
    if step >= 0:
        return step
    if step > -SLACK:
        return 0
    step += WRAP
    return step if 0 <= step < WRAP // 2 else None


def _again(before: Disk, after: Disk, seconds: float) -> DiskActivity | None:
    """Return the activity after a count decreased: small decreases are ignored, a larger one is a reset (None)."""
    level: dict[str, Any] = {}
    for name in _COUNTS:
        old, new = getattr(before, name), getattr(after, name)
        if old is None or new is None or new >= old:
            continue
        if old - new >= SLACK:
            return None
        level[name] = new
    return activity(replace(before, **level), after, seconds)


@lru_cache(maxsize=16384)
def _idle(device: str, in_flight: int | None, timed: bool, discards: bool, flushes: bool) -> DiskActivity:  # noqa: FBT001
    """Return the row of a device with unchanged counters; cached, because most devices are idle most of the time."""
    rate = 0.0 if timed else None
    trims: _Columns = _NOTHING if discards else _UNCOUNTED
    flushed = 0.0 if flushes else None
    return DiskActivity(
        device, *_NOTHING, *_NOTHING, *trims, flushed, None, rate, rate, 0.0, None, None, in_flight, DISKSTATS
    )
