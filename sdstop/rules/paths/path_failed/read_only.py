"""Paths that refuse writes in a map that takes them."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.devicemapper.multipath import MultipathPath, MultipathState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window


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
