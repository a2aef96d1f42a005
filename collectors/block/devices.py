"""Block devices from sysfs and udev: properties, underlying devices and stable names."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from sdstop.collectors.block.attributes import attribute_bytes, hardware, kind_of, place, queue_settings
from sdstop.collectors.block.readings import BLOCK, UDEV, BlockDevice, BlockLink
from sdstop.collectors.block.udev import QUESTION, UdevDatabase, kept_answer, kept_names
from sdstop.core.collector import QUIET, SLOW, Collector, Need, Question
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.disk import SECTOR, device_name

PARTITIONS = "/proc/partitions"


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


_EVENTS = "/sys/kernel/uevent_seqnum"
"""Number of the kernel's last event, of any subsystem."""
_RESTING = "attributes of block devices"
_WITHOUT_DISK = expression(r"(?:loop|ram|zram|fd|sr)\d+")
"""Devices whose states and write protection are not read again without an event: nodes have hundreds of them."""
_STATED = expression(r"sd[a-z]+|nvme\d+n\d+")
"""Disks whose state the kernel exposes."""


def _rests(host: Host) -> bool:
    """Return whether a live node was asked for all attributes lately, and has had no event since."""
    known = "\n".join([host.maybe(_EVENTS) or "", *host.names(BLOCK), host.maybe(PARTITIONS) or ""])
    if host.rests(_RESTING, known):
        return True
    host.rest(_RESTING, QUIET, known)
    return False


def _silent(host: Host, wholes: Sequence[str]) -> Iterable[Reading]:
    """Read again what changes without an event: states of disks (SCSI's error handling), and write protection.

    blockdev --setro sends none, and neither does a SCSI disk that is taken offline. The rows of a live node are made
    from all evidence, of which this is the part that may have changed.
    """
    for entry in wholes:
        if _WITHOUT_DISK.fullmatch(entry) is None:
            read_only = host.number(f"{BLOCK}/{entry}/ro")
            state = host.maybe(f"{BLOCK}/{entry}/device/state") if _STATED.fullmatch(entry) is not None else None
            yield BlockDevice(device_name(entry), kind_of(entry, ()), state=state or None, read_only=read_only)
    known = frozenset(wholes)
    for line in (host.maybe(PARTITIONS) or "").splitlines()[2:]:
        name = line.split()[-1] if line.strip() else ""
        disk = _PARTITION.fullmatch(name)
        if disk is not None and name not in known and (parent := disk["disk"] or disk["digit"]) in known:
            host.maybe(f"{BLOCK}/{parent}/{name}/ro")


_PARTITION = expression(r"(?:(?P<digit>\S*\d)p|(?P<disk>\S*\D))\d+")
"""Name of a partition: a `p` follows the name of a disk that ends with a digit."""


def read(host: Host) -> Iterable[Reading]:
    """Yield every whole device and its partitions, with a BlockLink to each underlying device."""
    entries = host.entries(BLOCK)
    if _rests(host):
        yield from _silent(host, entries)
        return
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
        Need(_EVENTS, "whether the kernel has reported an event, so that devices are read again"),
        Need(f"{BLOCK}/nvme*/device/model", "model of an NVMe disk, by which similar ones are compared", filled=True),
        Need("list:/run/udev", "whether udev runs"),
        Need(f"{UDEV}/b*", "stable names: by-path, by-id, WWN, serial number", redact=kept_names),
        Question(QUESTION, "names of devices, if the udev database cannot be read", redact=kept_answer),
    ),
    SLOW,
    deadline=30.0,
    fingerprint=fingerprint,
)
