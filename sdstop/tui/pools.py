"""ZFS pools as the screen shows them: their vdevs as lines of a tree, their devices beside each other in one scale."""

from __future__ import annotations

from dataclasses import dataclass

from sdstop.analysis.pooling import Whole, wholes
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.finding import Severity
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.drives import USABLE, Drive, drives, rows
from sdstop.tui.scene import Scene


@dataclass(frozen=True, slots=True)
class Leaf:
    """A line of the tree: an inner vdev has no drive, a device one, if only by its name."""

    vdev: Vdev
    drive: Drive | None
    severity: Severity | None


@dataclass(frozen=True, slots=True)
class Tree:
    """A pool with its lines, what it rebuilds, and the worst that is said of it."""

    whole: Whole
    lines: tuple[Leaf, ...]
    rebuilds: tuple[Rebuild, ...]
    severity: Severity | None

    @property
    def name(self) -> str:
        """Name of the pool."""
        return self.whole.name


def trees(scene: Scene) -> list[Tree]:
    """Return the pools, by name."""
    return scene.window.once("tui.pools", lambda: _trees(scene))


def _trees(scene: Scene) -> list[Tree]:
    known = drives(scene)
    worst = scene.worst()
    rebuilds, _ = rows(scene, Rebuild)
    found = []
    for whole in wholes(scene.window):
        lines = []
        for vdev in whole.vdevs:
            said = worst.get(f"{whole.name}/{vdev.vdev}")
            lines.append(Leaf(vdev, _drive(vdev, known, said) if vdev.leaf else None, said))
        own = tuple(r for r in rebuilds.values() if r.kind == "zfs" and r.array.partition("/")[0] == whole.name)
        found.append(Tree(whole, tuple(lines), own, worst.get(whole.name)))
    return found


def _drive(vdev: Vdev, known: dict[str, Drive], said: Severity | None) -> Drive:
    """Return the whole disk of a leaf: that is what gets busy. A device that is gone is there by its name alone."""
    own = known.get(vdev.device or "")
    disk = known.get(own.device.parent) if own is not None and own.device is not None and own.device.parent else own
    found = disk or Drive(vdev.device or vdev.vdev.rpartition("/")[2], vdev.kind, None)
    flag = "" if vdev.state in USABLE else vdev.state.lower()
    severity = max((s for s in (said, found.severity) if s is not None), key=lambda s: s.rank, default=None)
    if flag and severity is None:
        severity = Severity.WARNING
    return found._replace(severity=severity, flag=flag or found.flag or _errors(vdev))


def _errors(vdev: Vdev) -> str:
    return f"{vdev.errors} errs" if vdev.errors else ""
