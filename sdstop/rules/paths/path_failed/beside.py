"""Disks that lead to the data of a multipath map without being one of its paths."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.readings.disk import Disk
from sdstop.rules.paths.path_used_directly import users_of

_SETTLED = 30.0
"""Seconds after which a disk that was found belongs to its map."""


def disks_beside(window: Window, row: MultipathState) -> list[str]:
    """Return the disks that run, have the identity of a path of a map, and are in no map; not those in direct use.

    The map cannot have a disk that is in use: path-used-directly reports that cause.
    """
    own = [each.path for each in window.where(MultipathPath, "mapping", row.mapping) if each.path is not None]
    keys = dict.fromkeys(_identity(disk) for path in own if (disk := window.get(BlockDevice, path)) is not None)
    free = window.once("disks in no map", lambda: _free(window))
    return [
        each.device for key in keys for each in free.get(key, ())
        if _is_settled(window, each.device) and not users_of(window, each.device)
    ]  # fmt: skip


def _free(window: Window) -> dict[tuple[object, ...], list[BlockDevice]]:
    """Return the disks that run and are in no map, by identity."""
    mapped = {each.number for each in window.rows(MultipathPath).values()}
    found: dict[tuple[object, ...], list[BlockDevice]] = {}
    for each in window.rows(BlockDevice).values():
        known = each.kind == "disk" and each.number not in mapped and each.hctl and each.own_wwn and each.size
        if known and each.state == "running":
            found.setdefault(_identity(each), []).append(each)
    return found


def _identity(disk: BlockDevice) -> tuple[object, ...]:
    return disk.own_wwn, disk.size, disk.model, disk.serial


def _is_settled(window: Window, device: str) -> bool:
    """Return whether a disk is there for so long that multipathd has seen it; a single sample has to be believed."""
    moments = window.moments(Disk)
    if not moments:
        return True
    known = [moment.started for moment in moments if device in moment.rows]
    if not known or device not in moments[-1].rows:
        return False
    return known[-1] - known[0] >= _SETTLED or len(known) == len(moments)


def beside_finding(window: Window, row: MultipathState, names: Sequence[str]) -> Finding:
    """Return the finding of a map that works and has fewer paths than the node."""
    paths = row.paths or 0
    disk = window.get(BlockDevice, names[0])
    listed = human.listed([human.safe(name, 12) for name in names])
    lead, be = ("leads", "is") if len(names) == 1 else ("lead", "are")
    return Finding(
        severity=Severity.WARNING,
        subject=row.mapping,
        title=f"PATH NOT IN THE MAP: {paths} of {paths + len(names)} used",
        cause=fitting(
            f"{listed} {lead} to the same data but {be} not in the map.",
            f"{human.plural(len(names), 'path')} to the same data not in the map.",
        ),
        impact="If the last path fails, the data is unreachable."
        if paths == 1 else "The map has fewer paths than the node.",
        values=(
            Value("active", "active paths", row.active, "", of=row.paths),
            Value("left_out", "paths that the map lacks", ", ".join(names[:8])),
        ),
        evidence=cites(window.cite(row), window.cite(disk, "wwn") if disk is not None and disk.wwn else None),
        advice=(
            "Check blacklist, find_multipaths and the wwids file for the disk.",
            run("multipath", "-v3", "-d", f"/dev/{names[0]}", note="changes nothing"),
            run("multipathd", "show", "config"),
            run("multipathd", "add", "path", *operands(names[0])),
        ),
        refuted_by="a different serial number of each of these disks",
        harmless_if="the configuration excludes the path on purpose",
        damage=Damage.REDUNDANCY,
    )  # fmt: skip
