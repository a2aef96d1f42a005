"""The fabric at a moment: what moves through each part and what is damaged, and what the disks are part of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sdstop.analysis.fabric import Load, loads, pcie_payload
from sdstop.collectors.block.devices import BlockLink
from sdstop.collectors.fabric.hba import DiskPath, Hba
from sdstop.collectors.fabric.sas import COUNTERS, SasDevice, SasPhy, SasPhyActivity
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.finding import Severity
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.disk import DiskActivity
from sdstop.rules.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.tui.drives import drives, rows
from sdstop.tui.scene import Scene
from sdstop.tui.topology import Knot, Topology, topology, total


@dataclass(frozen=True, slots=True)
class Fabric:
    """The fabric at a moment: the worst that is said of each knot, and of it and all below, and budgets of HBAs."""

    topology: Topology
    scene: Scene
    own: Mapping[str, Severity]
    worst: Mapping[str, Severity]
    loads: Mapping[str, Load]
    efficiency: float
    activities: Mapping[Hashable, DiskActivity]
    fresh: Mapping[Hashable, SasPhyActivity]
    stale: bool

    def moves(self, knot: Knot) -> float | None:
        """Return bytes per second of the disks in a knot, None where none is known."""
        known = [row for name in knot.disks if (row := self.activities.get(name)) is not None]
        if not known:
            return None if knot.disks or not self.activities else 0.0
        return sum(row.read_bytes_per_second + row.write_bytes_per_second for row in known)

    def carries(self, knot: Knot) -> float | None:
        """Return bytes per second that its links carry."""
        if knot.hba is None:
            return knot.carries
        load = self.loads.get(knot.hba.hba)
        if load is not None:
            return load.carries
        if knot.hba.speed is None or knot.hba.width is None:
            return None
        return pcie_payload(knot.hba.speed, knot.hba.width, self.efficiency)

    def share(self, knot: Knot) -> float | None:
        """Return what moves, of what its links carry."""
        moves, carries = self.moves(knot), self.carries(knot)
        return moves / carries if moves is not None and carries else None

    def new(self, knot: Knot) -> int | None:
        """Return the errors of its phys between the last two readings, None before there are two."""
        return self.topology.once(("new", knot.key), lambda: self._new(knot))

    def _new(self, knot: Knot) -> int | None:
        known = [row for phy in knot.counted if (row := self.fresh.get(phy.phy)) is not None]
        return sum(new_errors(row) for row in known) if known else None

    def total(self, knot: Knot) -> int | None:
        """Return the errors of its phys in all, None where none is counted."""
        return self.topology.once(("total", knot.key), lambda: _totals(knot.counted))


def _totals(phys: Iterable[SasPhy]) -> int | None:
    known = [count for phy in phys if (count := total(phy)) is not None]
    return sum(known) if known else None


def new_errors(row: SasPhyActivity) -> int:
    """Return the errors between two readings: of words that are damaged a code or disparity, and lost links."""
    steps = {name: round((getattr(row, f"{name}_per_second") or 0.0) * row.seconds) for name in COUNTERS}
    damaged = max(steps["invalid_dwords"], steps["disparity_errors"])
    return damaged + steps["sync_losses"] + steps["reset_problems"]


class Known:
    """The topology, made again only when a source has read again."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._of: tuple[object, ...] = ()
        self._made = Topology((), {}, 0, 0)

    def at(self, scene: Scene) -> Topology:
        """Return what hangs on what at a moment."""
        families = (Hba, DiskPath, SasDevice, SasPhy, SasPhyActivity)
        read = tuple(rows(scene, family)[0] or None for family in families)
        if len(read) != len(self._of) or any(a is not b for a, b in zip(read, self._of, strict=True)):
            self._of = read
            self._made = topology(scene)
        return self._made


def fabric(known: Known, scene: Scene) -> Fabric:
    """Return the fabric at a moment."""
    tree = known.at(scene)
    own: dict[str, Severity] = {}
    worst: dict[str, Severity] = {}
    for name, severity in scene.worst().items():
        chain = tree.chains.get(name, ())
        for key in chain[-1:]:
            own[key] = max(own.get(key, severity), severity, key=lambda s: s.rank)
        for key in chain:
            worst[key] = max(worst.get(key, severity), severity, key=lambda s: s.rank)
    limits = HBA_OVERSUBSCRIBED.limits(scene.session.diagnosis.configured.get(HBA_OVERSUBSCRIBED.id))
    found = loads(scene.window, limits["disk_rate"], limits["flash_rate"], limits["efficiency"])
    return Fabric(
        tree, scene, own, worst, {load.hba.hba: load for load in found}, limits["efficiency"],
        rows(scene, DiskActivity)[0], rows(scene, SasPhyActivity)[0], any(rows(scene, f)[1] for f in (Hba, SasPhy)),
    )  # fmt: skip


# -- what a disk is part of -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """What a disk carries a part of: an array, a pool of ZFS or of a cluster, and which part."""

    whole: str
    part: str = ""
    clustered: bool = False


def parts(scene: Scene, disk: str) -> list[Part]:
    """Return what a disk is part of, through partitions, paths and mappings."""
    known = drives(scene)
    given = scene.window.once("tui.given", lambda: _given(scene))
    found: list[Part] = []
    for name in _upwards(scene, disk):
        drive = known.get(name)
        members = drive.members if drive is not None else ()
        found += [Part(m.array, f"slot {m.slot}" if m.slot is not None else m.state) for m in members]
        found += given.get(name, ())
    return found


def _given(scene: Scene) -> dict[str, list[Part]]:
    """Return what of this node's devices is given to a pool of ZFS or to a cluster, by kernel name."""
    found: dict[str, list[Part]] = {}
    for vdev in rows(scene, Vdev)[0].values():
        if vdev.leaf and vdev.device is not None:
            found.setdefault(vdev.device, []).append(Part(vdev.pool, vdev.parent or vdev.group))
    for row in rows(scene, ClusterDevice)[0].values():
        if row.local is not None:
            whole = f"{row.cluster}/{row.pool}" if row.pool else row.cluster
            name = row.device.rpartition("/")[2]
            found.setdefault(row.local, []).append(Part(whole, "" if name == row.local else name, clustered=True))
    return found


def _upwards(scene: Scene, disk: str) -> Iterator[str]:
    """Yield a disk and everything that is built upon it, through no array."""
    above = scene.window.of_run(BlockLink, "tui.above", lambda: _above(scene))
    known = drives(scene)
    todo, seen = [disk], {disk}
    while todo and len(seen) < _MOST:
        name = todo.pop(0)
        yield name
        drive = known.get(name)
        if drive is not None and drive.members:
            continue
        for holder in above.get(name, ()):
            if holder not in seen:
                seen.add(holder)
                todo.append(holder)


_MOST = 256
"""Devices upon a disk that are looked at."""


def _above(scene: Scene) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for link in rows(scene, BlockLink)[0].values():
        found.setdefault(link.below, []).append(link.device)
    return found
