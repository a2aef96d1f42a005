"""Disks and volumes in use that refuse writes, or whose file is deleted."""

from __future__ import annotations

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.multipath import MAP_UUID
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.joins import Naming, ThingKind
from sdstop.core.thing import Thing

DELETED = " (deleted)"
"""End of the path of a file that has no name any more."""
_MAPPED = frozenset({"dm", "bcache", "drbd", "zvol", "loop"})
"""Kinds of volumes, which no disk change makes writable."""
_WRITTEN = frozenset({ThingKind.ARRAY, ThingKind.POOL})
_NOT_WRITTEN = frozenset({"readonly", "read-auto", "inactive", "read-only", "auto-read-only"})
"""States of arrays that do not write to their members (kernel drivers/md/md.c: array_states), and those of mdstat."""
_READ_BELOW = frozenset({"snapshot", "clone"})
"""Targets of device mapper that only read one of the devices below them."""


def holder_of(window: Window, row: BlockDevice) -> str:
    """Return the array, pool or file system that writes to a device, "" for none.

    An array or a pool precedes a file system, which counts if it is mounted for writing, whatever is between it and the
    device, except what never writes to it: see `_writes`.
    """
    thing = window.topology.find(row.device, (ThingKind.DEVICE,)) or window.topology.named(Naming.DEV, row.device)
    above = (
        window.topology.above_by(thing, lambda upper, lower: _writes(window, upper, lower)) if thing is not None else ()
    )
    known = next((each.name for each in above if each.kinds & _WRITTEN), "")
    if known:
        return known
    points = {each.name for each in above if ThingKind.MOUNT in each.kinds}
    parts = {row.device, *(part.device for part in window.where(BlockDevice, "parent", row.device))}
    mounts = (
        *(mount for point in points for mount in window.where(MountPoint, "point", point)),
        *(mount for part in parts for mount in window.where(MountPoint, "kernel", part)),
    )
    return min((mount.point for mount in mounts if mount.access == "rw"), default="")


def _writes(window: Window, upper: Thing, lower: Thing) -> bool:
    """Return whether writes to a device reach the one below it.

    An origin of a snapshot, an external origin of a thin volume and the source of a clone are only read. Devices that
    are read-only themselves do not write, and neither do arrays that were not written to since their start. A multipath
    map writes over its other paths (path-failed judges it).
    """
    if upper.device is None:
        return True
    row, array = window.get(BlockDevice, upper.device), window.get(Array, upper.device)
    if (row is not None and row.read_only == 1) or (array is not None and array.state in _NOT_WRITTEN):
        return False
    below = [other.device for other in window.topology.lower(upper) if other.device is not None]
    if row is None or row.kind != "dm" or len(below) < 2:
        return True
    mapped = next(iter(window.where(MappedDevice, "device", upper.device)), None)
    targets = set(mapped.targets.split(",")) if mapped is not None else set()
    if "multipath" in targets or (row.dm_uuid or "").startswith(MAP_UUID):
        return all((path := window.get(BlockDevice, name)) is not None and path.read_only == 1 for name in below)
    if "thin" in targets:
        return ThingKind.POOL in lower.kinds
    return bool(targets) and not targets & _READ_BELOW


def unlinked(window: Window, row: BlockDevice, holder: str) -> Finding:
    """Return the finding of a loop device whose file has no name any more."""
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title="FILE OF THE DEVICE DELETED",
        cause=f"The file behind the loop device is deleted; {human.safe(holder, 24)} writes to it.",
        impact="All data is lost as soon as the loop device is detached.",
        values=(Value("file", "file", row.backing_file), Value("holder", "used by", holder)),
        evidence=cites(window.cite(row, "backing_file")),
        advice=(
            "Copy the data to another device before anything is unmounted.",
            run("losetup", "-l", f"/dev/{row.device}"),
        ),
        refuted_by="a file that losetup -l lists without (deleted)",
        harmless_if="the device is meant to vanish with its last user",
        damage=Damage.DATA,
    )


def refuses(window: Window, row: BlockDevice, holder: str) -> Finding:
    """Return the finding of a device that refuses the writes of its holder."""
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title="VOLUME WRITE-PROTECTED" if row.kind in _MAPPED else "DISK WRITE-PROTECTED",
        cause=f"The device is read-only, and {human.safe(holder, 24)} writes to it.",
        impact=f"Writes of {human.safe(holder, 24)} can fail, and so can its next start.",
        values=(Value("read_only", "writes refused", row.read_only),),
        evidence=cites(window.cite(row, "read_only")),
        advice=(
            *(
                (
                    "Find out what made the volume read-only; then make it writable again.",
                    run("dmsetup", "info", row.dm_name or row.device),
                )
                if row.kind in _MAPPED
                else ("Replace the disk: many flash drives refuse writes when worn out.",)
            ),
            run("journalctl", "-k").pipe("grep", "-w", *operands(row.device.rpartition("/")[2])),
            run("blockdev", "--getro", f"/dev/{row.device}"),
            *(() if row.kind in _MAPPED else (run("smartctl", "-x", f"/dev/{row.device}"),)),
        ),
        refuted_by="0 in the file ro of the device",
        harmless_if="it was made read-only on purpose, to be unmounted next",
    )
