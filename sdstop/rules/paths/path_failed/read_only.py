"""Paths that refuse writes in a map that takes them."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind


def refusing_paths(window: Window, row: MultipathState) -> list[BlockDevice]:
    """Return the read-only paths of a map; none if the map or all of its paths are read-only."""
    paths = [each.path for each in window.where(MultipathPath, "mapping", row.mapping) if each.path is not None]
    disks = [disk for path in paths if (disk := window.get(BlockDevice, path)) is not None]
    refusing = [disk for disk in disks if disk.read_only == 1]
    maps = window.where(BlockDevice, "dm_name", row.mapping)
    if any(each.read_only == 1 for each in maps) or len(refusing) == len(disks):
        return []
    return refusing


def refusing_finding(window: Window, row: MultipathState, refusing: Sequence[BlockDevice]) -> Finding:
    """Return the finding of a map with such paths: a write that takes one of them fails."""
    names = human.listed([disk.device for disk in refusing], 3, 12)
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title="PATH READ-ONLY, the map is not",
        cause=f"Read-only: {names}; the other paths of the map are not.",
        impact="Writes over these paths fail with an error.",
        values=(Value("read_only", "read-only paths", len(refusing), "", of=row.paths),),
        evidence=cites(*(window.cite(disk, "read_only") for disk in refusing[:3]), window.cite(row)),
        advice=(
            "Find the write protection of the volume on the storage system.",
            run("blockdev", "--getro", f"/dev/{refusing[0].device}"),
            run("echo", "1", into=f"/sys/block/{refusing[0].device}/device/rescan"),
            run("multipath", "-ll", *operands(row.mapping)),
        ),
        refuted_by="0 in the file ro of all paths",
        damage=Damage.AVAILABILITY,
    )


def written_mount(window: Window, row: MultipathState) -> str:
    """Return the first writable mount point of a file system on a map, "" if there is none."""
    thing = window.topology.find(row.device or row.mapping)
    above = window.topology.above(thing) if thing is not None else ()
    known = (window.get(MountPoint, each.name) for each in above if ThingKind.MOUNT in each.kinds)
    return min((mount.point for mount in known if mount is not None and mount.access == "rw"), default="")


def protected_finding(window: Window, row: MultipathState, point: str) -> Finding:
    """Return the finding of a map that refuses the writes of a file system."""
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title="MAP READ-ONLY, mount writable",
        cause=f"The map refuses writes (wp=ro), and {human.safe(point, 24)} is mounted read-write.",
        impact=f"Writes to {human.safe(point, 24)} fail.",
        values=(Value("mount", "mount point", point),),
        evidence=cites(window.cite(row, "read_only")),
        advice=(
            "Make the volume writable on the array; then load the map again.",
            run("multipath", "-r", *operands(row.mapping)),
            run("multipath", "-ll", *operands(row.mapping), note="wp=rw"),
        ),
        refuted_by="wp=rw in multipath -ll",
        damage=Damage.AVAILABILITY,
    )
