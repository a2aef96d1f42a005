"""Block devices as sysfs and udev describe them: what they are, what they are built upon, stable names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.collector import SLOW, Collector, Need
from sdstop.disk import sysfs_name
from sdstop.host import Host
from sdstop.model import Fact, Label, Metric, Reading, Source, State

BLOCK = "/sys/block"


@dataclass(frozen=True, slots=True)
class BlockDevice(Reading):
    """A block device (whole or partition) of `/sys/block`, with its queue's settings and stable names.

    Sizes are bytes; yes and no are 1 and 0. A partition has its disk's queue, so its own fields of the queue
    are None: ask its `parent`.
    """

    family: ClassVar[str] = "block_device"
    title: ClassVar[str] = "Block devices"

    device: Annotated[str, Label("Device", "Kernel name, `/` as in /proc/diskstats")]
    kind: Annotated[
        str,
        Fact("Kind", "disk, nvme, nvme_path, rom, floppy, mmc, partition, md, dm, loop, ram, zram, nbd, rbd, "
             "aoe, drbd, bcache, zvol, pmem, scini or virtual"),
    ]  # fmt: skip
    parent: Annotated[str | None, Fact("Disk", "The whole disk of a partition")] = None
    number: Annotated[str | None, Fact("Number", "major:minor", export=False)] = None
    driver: Annotated[str | None, Fact("Driver", "Kernel driver of the device")] = None
    vendor: Annotated[str | None, Fact("Vendor", "Vendor as the device says")] = None
    model: Annotated[str | None, Fact("Model", "Model as the device says")] = None
    revision: Annotated[str | None, Fact("Firmware", "Firmware revision")] = None
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False)] = None
    wwn: Annotated[str | None, Fact("WWN", "World wide name, or the kernel's wwid")] = None
    hctl: Annotated[str | None, Fact("H:C:T:L", "SCSI host:channel:target:lun")] = None
    by_path: Annotated[str | None, Fact("By path", "Name in /dev/disk/by-path: the slot it sits in")] = None
    by_id: Annotated[str | None, Fact("By id", "Name in /dev/disk/by-id")] = None
    path: Annotated[str | None, Fact("Place", "Folder of the device below /sys/devices", export=False)] = None
    dm_name: Annotated[str | None, Fact("Mapping", "Name of a device mapper device")] = None
    dm_uuid: Annotated[
        str | None, Fact("Mapping's UUID", "begins with LVM-, CRYPT-, mpath-, DMRAID-...", export=False)
    ] = None
    backing_file: Annotated[str | None, Fact("File", "File behind a loop device", export=False)] = None
    scheduler: Annotated[str | None, Fact("Scheduler", "I/O scheduler in use")] = None
    write_cache: Annotated[str | None, Fact("Write cache", "write back or write through")] = None
    state: Annotated[str | None, State("State", "Of a SCSI or NVMe device: running, live, offline, blocked...")] = None
    size: Annotated[int | None, Metric("Size", "Size", "bytes")] = None
    start: Annotated[int | None, Metric("Start", "Where a partition begins on its disk", "bytes")] = None
    rotational: Annotated[
        int | None, Metric("Rotates", "1 where the kernel takes it for a spinning disk (often wrongly)")
    ] = None
    read_only: Annotated[int | None, Metric("Read-only", "1 where writes are refused")] = None
    hidden: Annotated[int | None, Metric("Hidden", "1 for a path below an NVMe multipath device")] = None
    iostats_enabled: Annotated[
        int | None, Metric("Accounted", "0 where the kernel was told not to count (queue/iostats)")
    ] = None
    logical_block_size: Annotated[int | None, Metric("Logical block", "Smallest request", "bytes")] = None
    physical_block_size: Annotated[
        int | None, Metric("Physical block", "Smallest write without read-modify-write", "bytes")
    ] = None
    minimum_io: Annotated[
        int | None, Metric("Minimum I/O", "Preferred smallest request; of an array its chunk", "bytes")
    ] = None
    optimal_io: Annotated[
        int | None, Metric("Optimal I/O", "Preferred request; of an array a full stripe; 0 not said", "bytes")
    ] = None
    max_request: Annotated[int | None, Metric("Largest request", "Largest request", "bytes")] = None
    read_ahead: Annotated[int | None, Metric("Read-ahead", "Read-ahead", "bytes")] = None
    nr_requests: Annotated[int | None, Metric("Queue", "Requests the queue holds (nr_requests)")] = None
    queue_depth: Annotated[int | None, Metric("Depth", "Commands the device takes at once (SCSI)")] = None
    diskseq: Annotated[
        int | None, Metric("Sequence", "Number of this appearance of the device (diskseq)", export=False)
    ] = None

    def source(self, field: str = "") -> Source | None:
        """Return the file of `field`."""
        del field
        return Source(f"{BLOCK}/{sysfs_name(self.device)}/uevent")


@dataclass(frozen=True, slots=True)
class BlockLink(Reading):
    """`device` is built upon `below`: a slave of md, dm or bcache, or the disk of a partition."""

    family: ClassVar[str] = "block_link"
    title: ClassVar[str] = "What devices are built upon"

    device: Annotated[str, Label("Device", "Kernel name")]
    below: Annotated[str, Label("Below", "Kernel name of what it is built upon")]
    relation: Annotated[str, Fact("Relation", "slave or partition")]


def read(host: Host) -> Iterable[Reading]:
    """Yield every device and what it is built upon."""
    raise NotImplementedError


def fingerprint(host: Host) -> Hashable:
    """Return what changes when a whole device comes or goes."""
    return tuple(host.names(BLOCK))


BLOCKDEV = Collector(
    "blockdev",
    "Block devices, their queues and names",
    read,
    (BlockDevice, BlockLink),
    (Need(f"list:{BLOCK}", "which block devices there are"),),
    SLOW,
    deadline=30.0,
    fingerprint=fingerprint,
)
