"""Readings of block devices, their links, and tests of them."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State, Unplaced
from sdstop.readings.disk import sysfs_name

UDEV = "/run/udev/data"
"""Folder of udev's database, one file for each device."""
BLOCK = "/sys/block"
_FILES = {
    "size": "size",
    "start": "start",
    "read_only": "ro",
    "hidden": "hidden",
    "diskseq": "diskseq",
    "vendor": "device/vendor",
    "model": "device/model",
    "revision": "device/rev",
    "state": "device/state",
    "queue_depth": "device/queue_depth",
    "dm_name": "dm/name",
    "dm_uuid": "dm/uuid",
    "backing_file": "loop/backing_file",
    "scheduler": "queue/scheduler",
    "write_cache": "queue/write_cache",
    "rotational": "queue/rotational",
    "iostats_enabled": "queue/iostats",
    "logical_block_size": "queue/logical_block_size",
    "physical_block_size": "queue/physical_block_size",
    "minimum_io": "queue/minimum_io_size",
    "optimal_io": "queue/optimal_io_size",
    "max_request": "queue/max_sectors_kb",
    "read_ahead": "queue/read_ahead_kb",
    "nr_requests": "queue/nr_requests",
    "discard_granularity": "queue/discard_granularity",
}
"""Source file of each field, relative to the device's directory."""
_NVME_FILES = {"serial": "device/serial", "revision": "device/firmware_rev"}
_OF_UDEV = {"by_path", "by_id", "wwn", "serial"}
_HOSTED = (
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual disk",
    "Virtual Disk",
    "Elastic Block Store",
    "PersistentDisk",
    "BlockVolume",
)
"""Vendor and model strings of virtual disks of hypervisors and clouds."""


class BlockDevice(Reading, frozen=True):
    """A block device (whole disk or partition) in `/sys/block`, with its queue settings and stable names.

    Sizes are in bytes; booleans are 1 and 0. A partition shares the queue of its disk, so its own queue fields are
    None; see its `parent`.
    """

    family: ClassVar[str] = "block_device"
    title: ClassVar[str] = "Block devices"
    things: ClassVar = {
        "device": Identity(
            Stated("kind", {"nvme_path": ThingKind.PATH}, ThingKind.DEVICE),
            Naming.DEV,
            aliases=(
                ("{device}", Naming.LINK),
                ("mapper/{dm_name}", Naming.LINK),
                ("disk/by-id/{by_id}", Naming.LINK),
                ("disk/by-path/{by_path}", Naming.LINK),
                ("{number}", Naming.NUMBER),
                ("{own_wwn}", Naming.WWN),
                ("{dm_uuid}", Naming.UUID),
            ),
        ),
        "parent": Identity(ThingKind.DEVICE, Naming.DEV),
    }
    joins = (Join("device", "parent", Relation.PART),)
    peers = (
        Peers(
            kind=Stated("kind", {"disk": GroupKind.MODEL, "nvme": GroupKind.MODEL}),
            member="device",
            by=("model",),
            alike=True,
        ),
    )

    device: Annotated[str, Label("Device", "Kernel name, `/` as in /proc/diskstats", names=Name.DEVICE)]
    kind: Annotated[
        str,
        Fact("Kind", "disk, nvme, nvme_path, rom, floppy, mmc, partition, md, dm, loop, ram, zram, nbd, rbd, "
             "aoe, drbd, bcache, zvol, pmem, scini or virtual", plain=True),
    ]  # fmt: skip
    parent: Annotated[str | None, Fact("Disk", "The whole disk of a partition", names=Name.DEVICE)] = None
    number: Annotated[str | None, Fact("Number", "major:minor", export=False, plain=True)] = None
    driver: Annotated[str | None, Fact("Driver", "Kernel driver of the device", plain=True)] = None
    vendor: Annotated[str | None, Fact("Vendor", "Vendor as the device reports it", plain=True)] = None
    model: Annotated[str | None, Fact("Model", "Model as the device reports it", plain=True)] = None
    revision: Annotated[str | None, Fact("Firmware", "Firmware revision", plain=True)] = None
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False, names=Name.SERIAL)] = None
    wwn: Annotated[str | None, Fact("WWN", "World wide name, or the kernel's wwid", names=Name.IDENTIFIER)] = None
    hctl: Annotated[str | None, Fact("H:C:T:L", "SCSI host:channel:target:lun", plain=True)] = None
    by_path: Annotated[
        str | None, Fact("By path", "Name in /dev/disk/by-path, which identifies the slot", names=Name.IDENTIFIER)
    ] = None
    by_id: Annotated[str | None, Fact("By id", "Name in /dev/disk/by-id", names=Name.DEVICE)] = None
    path: Annotated[str | None, Fact("Place", "Folder of the device below /sys/devices", export=False, plain=True)] = (
        None
    )
    dm_name: Annotated[str | None, Fact("Mapping", "Name of a device mapper device", names=Name.MAPPING)] = None
    dm_uuid: Annotated[
        str | None,
        Fact(
            "Mapping's UUID",
            "UUID of the mapping; its prefix names the creator: LVM-, CRYPT-, mpath-, DMRAID-...",
            export=False,
            names=Name.IDENTIFIER,
        ),
    ] = None
    backing_file: Annotated[str | None, Fact("File", "File behind a loop device", export=False, names=Name.PATH)] = None
    scheduler: Annotated[str | None, Fact("Scheduler", "I/O scheduler in use", plain=True)] = None
    write_cache: Annotated[str | None, Fact("Write cache", "write back or write through", plain=True)] = None
    state: Annotated[
        str | None, State("State", "State of a SCSI or NVMe device: running, live, offline, blocked...", detail=True)
    ] = None
    size: Annotated[int | None, Metric("Size", "Size of the block device", "bytes", setting=True, detail=True)] = None
    start: Annotated[int | None, Metric("Start", "Offset of a partition on its disk", "bytes", detail=True)] = None
    rotational: Annotated[
        int | None,
        Metric("Rotates", "Whether the kernel reports a rotational device (often wrong)", detail=True, setting=True),
    ] = None
    read_only: Annotated[
        int | None, Metric("Read-only", "Whether the device refuses writes", detail=True, setting=True)
    ] = None
    hidden: Annotated[
        int | None,
        Metric(
            "Hidden",
            "Whether the device is a path below an NVMe multipath device",
            detail=True,
        ),
    ] = None
    iostats_enabled: Annotated[
        int | None,
        Metric(
            "Accounted",
            "Whether I/O accounting is enabled (queue/iostats)",
            detail=True,
            setting=True,
        ),
    ] = None
    logical_block_size: Annotated[
        int | None, Metric("Logical block", "Logical block size", "bytes", detail=True, setting=True)
    ] = None
    physical_block_size: Annotated[
        int | None,
        Metric(
            "Physical block",
            "Physical block size: smallest write without read-modify-write",
            "bytes",
            detail=True,
            setting=True,
        ),
    ] = None
    minimum_io: Annotated[
        int | None, Metric("Minimum I/O", "Minimum preferred I/O size; for arrays the chunk size", "bytes", detail=True)
    ] = None
    optimal_io: Annotated[
        int | None,
        Metric(
            "Optimal I/O",
            "Optimal I/O size; for arrays a full stripe; 0 if not reported",
            "bytes",
            detail=True,
        ),
    ] = None
    max_request: Annotated[
        int | None, Metric("Largest request", "Largest request of the block device", "bytes", detail=True, setting=True)
    ] = None
    read_ahead: Annotated[
        int | None, Metric("Read-ahead", "Read-ahead of the block device", "bytes", detail=True, setting=True)
    ] = None
    nr_requests: Annotated[
        int | None,
        Metric(
            "Queue",
            "Requests that the block layer's queue holds (nr_requests)",
            detail=True,
            setting=True,
        ),
    ] = None
    discard_granularity: Annotated[
        int | None,
        Metric("Discard unit", "Unit in which the device frees discarded space; 0: it has no discards", "bytes",
               detail=True, setting=True),
    ] = None  # fmt: skip
    queue_depth: Annotated[int | None, Metric("Depth", "SCSI queue depth", detail=True, setting=True)] = None
    diskseq: Annotated[int | None, Metric("Sequence", "Disk sequence number (diskseq)", export=False)] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None

    @property
    def own_wwn(self) -> str | None:
        """World wide name of a whole device, None for partitions, to which udev assigns the WWN of their disk."""
        return self.wwn if self.parent is None else None

    @property
    def hosted(self) -> bool:
        """Whether it is a virtual disk of a hypervisor or cloud, whose performance limits are not visible here."""
        said = f"{self.vendor or ''} {self.model or ''}"
        named = self.device.startswith(("vd", "xvd")) or self.driver in {"virtio_blk", "vbd"}
        return named or any(word in said for word in _HOSTED)

    def source(self, field: str = "") -> Source | None:
        """Return the source file of `field` (the device number if no field is given)."""
        if self.told is not None:
            return Source(self.told, self.dm_name or self.device)
        file = _NVME_FILES.get(field) if self.kind.startswith("nvme") else None
        if field == "wwn" and self.by_id is None:  # udev has no data on the device
            file = "wwid" if self.kind.startswith("nvme") else "device/wwid"
        if file is None and field in _OF_UDEV and self.number is not None:
            return Source(f"{UDEV}/b{self.number}")
        parent = f"{sysfs_name(self.parent)}/" if self.parent is not None else ""
        return Source(f"{BLOCK}/{parent}{sysfs_name(self.device)}/{file or _FILES.get(field, 'dev')}")


class BlockLink(Reading, frozen=True):
    """Relation of `device` to the device `below` it.

    `below` is a slave of md, dm or bcache, a path of an NVMe multipath device, or the disk of a partition. Where a
    tree in sysfs lacks slaves, recorded output of lsblk has them.
    """

    family: ClassVar[str] = "block_link"
    title: ClassVar[str] = "Stacked devices"
    joined: ClassVar[bool] = True
    rows_of = Unplaced("a relation is a folder's entry, or follows from several")
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
        "below": Identity(None, Naming.DEV),
    }
    joins = (
        Join(
            "device", "below", Stated("relation", {"partition": Relation.PART, "path": Relation.PATH}, Relation.STORED)
        ),
    )
    peers = (Peers(kind=Stated("relation", {"path": GroupKind.PATHS}), upper="device", member="below"),)

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    below: Annotated[str, Label("Below", "Kernel name of the device below it", names=Name.DEVICE)]
    relation: Annotated[str, Fact("Relation", "slave, partition, or path of an NVMe multipath device", plain=True)]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None


class FioResult(Reading, frozen=True, kw_only=True):
    """A result of fio: what one job, or a group of jobs, measured in one direction."""

    family: ClassVar[str] = "fio_result"
    title: ClassVar[str] = "Results of fio"
    exported: ClassVar[bool] = False
    rows_of = Source("{told}", "{mark}: (groupid=")

    job: Annotated[str, Label("Job", "Name of the job, with a number if several have it", names=Name.VOLUME)]
    way: Annotated[str, Label("Direction", "read, write or trim", plain=True)]
    pattern: Annotated[str | None, Fact("Pattern", "randread, read, randrw ...", plain=True)]
    block: Annotated[str | None, Fact("Block", "Block sizes", plain=True)]
    engine: Annotated[str | None, Fact("Engine", "I/O engine", plain=True)]
    depth: Annotated[int | None, Metric("Depth", "Queue depth of each job")]
    jobs: Annotated[int, Metric("Jobs", "Number of jobs in the result")]
    error: Annotated[int, Metric("Error", "First error number of the job; 0 without")]
    iops: Annotated[float, Metric("IOPS", "Mean requests per second", "per_second")]
    bandwidth: Annotated[float, Metric("Rate", "Mean throughput", "bytes_per_second")]
    latency: Annotated[float | None, Metric("Latency", "Mean completion latency", "seconds")]
    latency_99: Annotated[float | None, Metric("99%", "99th percentile of the latency", "seconds")]
    latency_999: Annotated[float | None, Metric("99.9%", "99.9th percentile of the latency", "seconds")]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]

    @property
    def mark(self) -> str:
        """Name of the job as the text has it."""
        return re.sub(r" #\d+$", "", self.job)


class DiskDay(Reading, frozen=True, kw_only=True):
    """Activity of a disk over the time recorded by sysstat, from intervals of several minutes.

    `since` and `to` are times of day as printed, in the node's time zone.
    """

    family: ClassVar[str] = "disk_day"
    title: ClassVar[str] = "Disk statistics recorded by sar"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", " {device} ")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
    }

    device: Annotated[str, Label("Device", "Name in the output of sar: sda, or dev8-0", names=Name.DEVICE)]
    intervals: Annotated[int, Metric("Intervals", "Number of recorded intervals")]
    since: Annotated[str, Fact("From", "End of the first interval", plain=True)]
    to: Annotated[str, Fact("To", "End of the last interval", plain=True)]
    busy: Annotated[float, Metric("Busy", "Mean share of time with a request in flight", "ratio")]
    busy_most: Annotated[
        float, Metric("At most", "Share of time with a request in flight in the busiest interval", "ratio")
    ]
    busy_at: Annotated[str, Fact("At", "End of the busiest interval", plain=True)]
    wait: Annotated[float | None, Metric("await", "Mean time of a request", "seconds")]
    wait_most: Annotated[float | None, Metric("At most", "Longest mean time of an interval", "seconds")]
    requests: Annotated[float, Metric("tps", "Mean requests per second", "per_second")]
    bytes: Annotated[float | None, Metric("Bytes", "Mean bytes read and written per second", "bytes_per_second")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
