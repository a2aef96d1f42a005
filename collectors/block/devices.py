"""Block devices from sysfs and udev: properties, underlying devices and stable names."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from sdstop.collectors.block.attributes import attribute_bytes, hardware, kind_of, place, queue_settings
from sdstop.collectors.block.udev import QUESTION, UDEV, UdevDatabase, kept_answer, kept_names
from sdstop.core.collector import QUIET, SLOW, Collector, Need, Question
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State, Unplaced
from sdstop.readings.disk import SECTOR, device_name, sysfs_name

BLOCK = "/sys/block"
PARTITIONS = "/proc/partitions"

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

_ATTRIBUTES = {
    "dev": "major and minor number",
    "size": "size",
    "start": "start of a partition",
    "ro": "whether writes are refused",
    "hidden": "whether a device is a path below an NVMe multipath device",
    "diskseq": "distinguishes a new device from the former owner of its name",
    "serial": "serial number of a virtual disk",
    "wwid": "world wide name of an NVMe namespace",
    "queue/*": "scheduler, block sizes, limits, write cache, whether I/O is accounted",
    "device/*": "vendor, model, firmware, state, queue depth, world wide name, serial number",
    "dm/*": "name and UUID of a device mapper device",
    "loop/backing_file": "the file behind a loop device",
}
_FILLED: Mapping[str, bool | tuple[str, ...]] = {
    **dict.fromkeys(("dev", "size", "start", "ro", "hidden", "diskseq", "queue/*"), True),
    "device/*": ("state", "queue_depth"),
    "dm/*": ("name",),
}


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


_PART = expression(r"p?\d+")


def _device(host: Host, entry: str, names: Collection[str], udev: UdevDatabase) -> BlockDevice:
    folder = f"{BLOCK}/{entry}"
    device, kind = device_name(entry), kind_of(entry, names)
    number = host.maybe(f"{folder}/dev") or None
    stable = udev.names(device, number)
    said: dict[str, Any] = queue_settings(host, folder) if "queue" in names else {}
    if "device" in names:
        said |= hardware(host, folder, kind, stable.wwn)
    if "serial" in names:
        said["serial"] = host.maybe(f"{folder}/serial") or None
    if kind == "dm":
        said |= {"dm_name": host.maybe(f"{folder}/dm/name") or None, "dm_uuid": host.maybe(f"{folder}/dm/uuid") or None}
    if "loop" in names:
        said["backing_file"] = host.maybe(f"{folder}/loop/backing_file") or None
    properties: dict[str, Any] = {
        "number": number,
        "path": place(host, folder),
        "size": attribute_bytes(host, f"{folder}/size", SECTOR),
        "read_only": host.number(f"{folder}/ro"),
        "hidden": host.number(f"{folder}/hidden") if kind in {"nvme", "nvme_path"} else None,
        "diskseq": host.number(f"{folder}/diskseq") if "diskseq" in names else None,
    }
    said["wwn"] = said.get("wwn") or stable.wwn
    said["serial"] = stable.serial or said.get("serial")
    return BlockDevice(device, kind, by_path=stable.by_path, by_id=stable.by_id, **properties, **said)


def _partition(host: Host, disk: str, entry: str, udev: UdevDatabase) -> BlockDevice:
    folder = f"{BLOCK}/{disk}/{entry}"
    device = device_name(entry)
    number = host.maybe(f"{folder}/dev") or None
    stable = udev.names(device, number)
    return BlockDevice(
        device,
        "partition",
        device_name(disk),
        number,
        size=attribute_bytes(host, f"{folder}/size", SECTOR),
        start=attribute_bytes(host, f"{folder}/start", SECTOR),
        read_only=host.number(f"{folder}/ro"),
        wwn=stable.wwn,
        by_path=stable.by_path,
        by_id=stable.by_id,
    )


def read(host: Host) -> Iterable[Reading]:
    """Yield every whole device and its partitions, with a BlockLink to each underlying device."""
    entries = host.entries(BLOCK)
    udev = UdevDatabase(host)
    for entry in entries:
        names = host.names(f"{BLOCK}/{entry}")
        row = _device(host, entry, names, udev)
        yield row
        if row.kind == "nvme_path":
            yield BlockLink(re.sub(r"c\d+", "", row.device), row.device, "path")
        if "slaves" in names and "device" not in names:  # hardware has no underlying devices
            for below in host.names(f"{BLOCK}/{entry}/slaves"):
                yield BlockLink(row.device, device_name(below), "slave")
        for name in names:
            if not (name.startswith(entry) and _PART.fullmatch(name, len(entry))):
                continue
            yield _partition(host, entry, name, udev)
            yield BlockLink(device_name(name), row.device, "partition")


def fingerprint(host: Host) -> Hashable:
    """Return the names of all whole devices, and the sizes of those that have one.

    A device gets its size after its name: a loop device when a file is attached, a disk when its medium is inserted.
    """
    return tuple(host.names(BLOCK)), host.maybe(PARTITIONS)


BLOCKDEV = Collector(
    "blockdev",
    "Block devices, their queues and names",
    read,
    (BlockDevice, BlockLink),
    (
        Need(f"list:{BLOCK}", "which block devices there are", everyone=True),
        Need(PARTITIONS, "whether a size has changed, so that devices are read again"),
        Need(f"list:{BLOCK}/*", "partitions, kind of device, devices below it (slaves)"),
        Need(f"link:{BLOCK}/*", "location of a device: PCI path, SCSI address, driver"),
        *(Need(f"{BLOCK}/*/{name}", why, filled=_FILLED.get(name, False)) for name, why in _ATTRIBUTES.items()),
        Need(f"{BLOCK}/nvme*/device/model", "model of an NVMe disk, by which similar ones are compared", filled=True),
        Need("list:/run/udev", "whether udev runs"),
        Need(f"{UDEV}/b*", "stable names: by-path, by-id, WWN, serial number", redact=kept_names),
        Question(QUESTION, "names of devices, if the udev database cannot be read", redact=kept_answer),
    ),
    SLOW,
    deadline=30.0,
    fingerprint=fingerprint,
    quiet=QUIET,
)
