"""ZFS pools as trees of vdevs, each leaf with its block device."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.disks.drives import USABLE, DriveState, drives
from sdstop.analysis.latest import latest_rows
from sdstop.analysis.space.pooling import PoolAnalysis, pool_analyses
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.finding import Finding, Severity, worst_by_subject, worst_of
from sdstop.core.history import Window
from sdstop.readings.rebuild import Rebuild


class VdevNode(Struct, frozen=True):
    """Line of the tree: inner vdevs have no drive; devices always have one, possibly just a name."""

    vdev: Vdev
    drive: DriveState | None
    severity: Severity | None


class PoolTree(Struct, frozen=True):
    """A pool with its lines, rebuild and worst severity."""

    whole: PoolAnalysis
    lines: tuple[VdevNode, ...]
    rebuilds: tuple[Rebuild, ...]
    severity: Severity | None

    @property
    def name(self) -> str:
        """Name of the pool."""
        return self.whole.name


def pool_trees(window: Window, findings: Sequence[Finding]) -> list[PoolTree]:
    """Return the pools, by name; `findings` are those active at the window's end."""
    return window.once("pool trees", lambda: _trees(window, findings))


def _trees(window: Window, findings: Sequence[Finding]) -> list[PoolTree]:
    known = drives(window, findings)
    worst = worst_by_subject(findings)
    rebuilds, _ = latest_rows(window, Rebuild)
    found = []
    for whole in pool_analyses(window):
        lines = []
        for vdev in whole.vdevs:
            said = worst.get(f"{whole.name}/{vdev.vdev}")
            lines.append(VdevNode(vdev, _drive(vdev, known, said) if vdev.leaf else None, said))
        own = tuple(r for r in rebuilds.values() if r.kind == "zfs" and r.array.partition("/")[0] == whole.name)
        found.append(PoolTree(whole, tuple(lines), own, worst.get(whole.name)))
    return found


def _drive(vdev: Vdev, known: dict[str, DriveState], said: Severity | None) -> DriveState:
    """Return the whole disk of a leaf, because load occurs on the disk. A missing device has only its name."""
    own = known.get(vdev.device or "")
    disk = known.get(own.device.parent) if own is not None and own.device is not None and own.device.parent else own
    found = disk or DriveState(vdev.device or vdev.vdev.rpartition("/")[2], vdev.kind, {})
    flag = "" if vdev.state in USABLE else vdev.state.lower()
    severity = worst_of((said, found.severity))
    if flag and severity is None:
        severity = Severity.WARNING
    return replace(found, severity=severity, flag=flag or found.flag or _errors(vdev))


def _errors(vdev: Vdev) -> str:
    return f"{vdev.errors} errs" if vdev.errors else ""
