"""A block device's counters, and its activity between two readings of them: what `iostat -x` shows.

Formulas and units follow sysstat's iostat (12.x); where it prints 0.00 for lack of an answer, so that an idle
device looks like a fast one, the figure here is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.model import Fact, Kind, Label, Metric, Reading, Source

DISKSTATS = "/proc/diskstats"

SECTOR = 512
"""Bytes of a sector in every counter of the kernel, whatever the device's block size."""
WRAP = 1 << 32
"""Milliseconds at which the kernel's 32 bit counters of time start again."""
SLACK = 16
"""Steps back smaller than this are no reset: the kernel sums counters of all CPUs without a lock."""

_COUNTER = Kind.COUNTER


def device_name(entry: str) -> str:
    """Return the kernel's name of a device for its folder in /sys/block: `etherd!e0.1` -> `etherd/e0.1`."""
    return entry.replace("!", "/")


def sysfs_name(device: str) -> str:
    """Return the folder in /sys/block of a device: `etherd/e0.1` -> `etherd!e0.1`."""
    return device.replace("/", "!")


@dataclass(frozen=True, slots=True)
class Disk(Reading):
    """A block device's counters since it appeared; a row of `/proc/diskstats`, whole disk or partition.

    Times are the kernel's milliseconds and start again at 2^32, sizes are sectors of 512 bytes. Fields
    that the kernel is too old for are None (discards: 4.18, flushes: 5.5).
    """

    family: ClassVar[str] = "disk"
    title: ClassVar[str] = "Disk counters"

    device: Annotated[str, Label("Device", "Kernel name, `/` as in /proc/diskstats")]
    major: Annotated[int, Metric("Major", "Major number", export=False)]
    minor: Annotated[int, Metric("Minor", "Minor number", export=False)]
    reads: Annotated[int, Metric("Reads", "Reads completed", kind=_COUNTER, name="sdstop_disk_reads_total")]
    reads_merged: Annotated[int, Metric("Reads merged", "Reads merged into another", kind=_COUNTER)]
    read_sectors: Annotated[
        int,
        Metric("Read", "Bytes read", "bytes", _COUNTER, SECTOR, "sdstop_disk_read_bytes_total"),
    ]
    read_time: Annotated[int, Metric("Read time", "Time reads took, summed over reads", "seconds", _COUNTER, 0.001)]
    writes: Annotated[int, Metric("Writes", "Writes completed", kind=_COUNTER)]
    writes_merged: Annotated[int, Metric("Writes merged", "Writes merged into another", kind=_COUNTER)]
    write_sectors: Annotated[
        int,
        Metric("Written", "Bytes written", "bytes", _COUNTER, SECTOR, "sdstop_disk_written_bytes_total"),
    ]
    write_time: Annotated[int, Metric("Write time", "Time writes took, summed over writes", "seconds", _COUNTER, 0.001)]
    in_flight: Annotated[
        int | None,
        Metric("In flight", "Requests begun and not completed", name="sdstop_disk_io_now"),
    ]
    io_time: Annotated[int, Metric("Busy time", "Time with a request in flight", "seconds", _COUNTER, 0.001)]
    weighted_time: Annotated[
        int,
        Metric(
            "Weighted time",
            "Time of all requests, summed at completion",
            "seconds",
            _COUNTER,
            0.001,
            "sdstop_disk_io_time_weighted_seconds_total",
        ),
    ]
    discards: Annotated[int | None, Metric("Discards", "Discards completed", kind=_COUNTER)] = None
    discards_merged: Annotated[int | None, Metric("Discards merged", "Discards merged into another", kind=_COUNTER)] = (
        None
    )
    discard_sectors: Annotated[
        int | None,
        Metric("Discarded", "Bytes discarded", "bytes", _COUNTER, SECTOR, "sdstop_disk_discarded_bytes_total"),
    ] = None
    discard_time: Annotated[
        int | None, Metric("Discard time", "Time discards took, summed", "seconds", _COUNTER, 0.001)
    ] = None
    flushes: Annotated[
        int | None, Metric("Flushes", "Flushes completed; not counted for partitions", kind=_COUNTER)
    ] = None
    flush_time: Annotated[int | None, Metric("Flush time", "Time flushes took, summed", "seconds", _COUNTER, 0.001)] = (
        None
    )

    def source(self, field: str = "") -> Source | None:
        """Return the device's line of /proc/diskstats."""
        del field
        return Source(DISKSTATS, f" {self.device} ")


@dataclass(frozen=True, slots=True)
class DiskActivity(Reading):
    """What a block device did between two readings: every column of `iostat -x`, in base units.

    None: nothing of that kind completed (a wait, a size), or the kernel does not count it.
    """

    family: ClassVar[str] = "disk_activity"
    title: ClassVar[str] = "Disk activity"
    exported: ClassVar[bool] = False

    device: Annotated[str, Label("Device", "Kernel name")]
    reads_per_second: Annotated[float, Metric("r/s", "Reads completed", "per_second")]
    read_bytes_per_second: Annotated[float, Metric("Read", "Bytes read", "bytes_per_second")]
    reads_merged_per_second: Annotated[float, Metric("rrqm/s", "Reads merged into another", "per_second")]
    reads_merged_ratio: Annotated[
        float | None, Metric("%rrqm", "Share of reads that were merged before they were issued", "ratio")
    ]
    read_wait: Annotated[float | None, Metric("r_await", "Mean time a read took, queueing included", "seconds")]
    read_size: Annotated[float | None, Metric("rareq-sz", "Mean size of reads", "bytes")]
    writes_per_second: Annotated[float, Metric("w/s", "Writes completed", "per_second")]
    write_bytes_per_second: Annotated[float, Metric("Write", "Bytes written", "bytes_per_second")]
    writes_merged_per_second: Annotated[float, Metric("wrqm/s", "Writes merged into another", "per_second")]
    writes_merged_ratio: Annotated[
        float | None, Metric("%wrqm", "Share of writes that were merged before they were issued", "ratio")
    ]
    write_wait: Annotated[float | None, Metric("w_await", "Mean time a write took, queueing included", "seconds")]
    write_size: Annotated[float | None, Metric("wareq-sz", "Mean size of writes", "bytes")]
    discards_per_second: Annotated[float | None, Metric("d/s", "Discards completed", "per_second")]
    discard_bytes_per_second: Annotated[float | None, Metric("Discard", "Bytes discarded", "bytes_per_second")]
    discards_merged_per_second: Annotated[float | None, Metric("drqm/s", "Discards merged into another", "per_second")]
    discards_merged_ratio: Annotated[
        float | None, Metric("%drqm", "Share of discards that were merged before they were issued", "ratio")
    ]
    discard_wait: Annotated[float | None, Metric("d_await", "Mean time a discard took", "seconds")]
    discard_size: Annotated[float | None, Metric("dareq-sz", "Mean size of discards", "bytes")]
    flushes_per_second: Annotated[float | None, Metric("f/s", "Flushes completed", "per_second")]
    flush_wait: Annotated[float | None, Metric("f_await", "Mean time a flush took", "seconds")]
    queue: Annotated[float | None, Metric("aqu-sz", "Mean requests outstanding, credited at completion", "")]
    busy: Annotated[
        float | None,
        Metric("%util", "Share of time with a request in flight; may exceed 1, and is no measure of capacity "
               "where a device serves several at once", "ratio"),
    ]  # fmt: skip
    completed_per_second: Annotated[float, Metric("tps", "Reads, writes and discards completed", "per_second")]
    wait: Annotated[float | None, Metric("await", "Mean time of reads, writes and discards", "seconds")]
    size: Annotated[float | None, Metric("areq-sz", "Mean size of reads, writes and discards", "bytes")]
    in_flight: Annotated[int | None, Metric("In flight", "Requests in flight at the second reading")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False)] = DISKSTATS

    def source(self, field: str = "") -> Source | None:
        """Return the device's line of /proc/diskstats, or of the recorded iostat."""
        del field
        return Source(self.origin, f" {self.device} " if self.origin == DISKSTATS else self.device)


def activity(before: Disk, after: Disk, seconds: float) -> DiskActivity | None:
    """Return what a device did in the `seconds` between two readings."""
    raise NotImplementedError
