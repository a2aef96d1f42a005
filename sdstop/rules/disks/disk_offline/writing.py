"""Disks and volumes in use that refuse writes, or whose file is deleted."""

from __future__ import annotations

from sdstop.collectors.block.readings import BlockDevice, MountPoint
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.joins import Naming, ThingKind

DELETED = " (deleted)"
"""End of the path of a file that has no name any more."""
_MAPPED = frozenset({"dm", "bcache", "drbd", "zvol", "loop"})
"""Kinds of volumes, which no disk change makes writable."""
_WRITTEN = frozenset({ThingKind.ARRAY, ThingKind.POOL})


def holder_of(window: Window, row: BlockDevice) -> str:
    """Return the array, pool or file system that writes to a disk, "" for none."""
    thing = window.topology.find(row.device, (ThingKind.DEVICE,))
    above = window.topology.above(thing) if thing is not None else ()
    known = next((each.name for each in above if each.kinds & _WRITTEN), "")
    if known:
        return known
    parts = (row.device, *(part.device for part in window.where(BlockDevice, "parent", row.device)))
    below = [thing for part in parts if (thing := window.topology.named(Naming.DEV, part)) is not None]
    points = {each.name for one in below for each in window.topology.upper(one) if ThingKind.MOUNT in each.kinds}
    mounts = (
        *(mount for point in points for mount in window.where(MountPoint, "point", point)),
        *(mount for part in parts for mount in window.where(MountPoint, "kernel", part)),
    )
    return min((mount.point for mount in mounts if mount.access == "rw"), default="")


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
        cause=f"The device refuses writes, and {human.safe(holder, 24)} writes to it.",
        impact=f"Writes of {human.safe(holder, 24)} to the device fail.",
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
    )
