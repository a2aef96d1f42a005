"""The fabric at a moment: what moves through each part, what its links carry, and which of them count errors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sdstop.analysis.fabric import Load, loads, pcie_payload
from sdstop.analysis.fabric_tree import Knot, Topology, topology, total
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.fabric.hba import DiskPath, Hba
from sdstop.collectors.fabric.sas import COUNTERS, SasDevice, SasPhy, SasPhyActivity
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity


@dataclass(frozen=True, slots=True)
class Fabric:
    """The fabric at a moment: the worst that is said of each knot, and of it and all below, and budgets of HBAs."""

    topology: Topology
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

    def at(self, window: Window) -> Topology:
        """Return what hangs on what at a moment."""
        families = (Hba, DiskPath, SasDevice, SasPhy, SasPhyActivity)
        read = tuple(latest_rows(window, family)[0] or None for family in families)
        if len(read) != len(self._of) or any(a is not b for a, b in zip(read, self._of, strict=True)):
            self._of = read
            self._made = topology(window)
        return self._made


def fabric(cache: Known, window: Window, findings: Sequence[Finding], limits: Mapping[str, float]) -> Fabric:
    """Return the fabric at the end of a window.

    `findings` are those in force; `limits` has what disks move (`disk_rate`, `flash_rate`, bytes per second) and
    which share of a link is payload (`efficiency`).
    """
    tree = cache.at(window)
    own: dict[str, Severity] = {}
    worst: dict[str, Severity] = {}
    for name, severity in worst_by_subject(findings).items():
        chain = tree.chains.get(name, ())
        for key in chain[-1:]:
            own[key] = max(own.get(key, severity), severity, key=lambda s: s.rank)
        for key in chain:
            worst[key] = max(worst.get(key, severity), severity, key=lambda s: s.rank)
    found = loads(window, limits["disk_rate"], limits["flash_rate"], limits["efficiency"])
    return Fabric(
        tree, own, worst, {load.hba.hba: load for load in found}, limits["efficiency"],
        latest_rows(window, DiskActivity)[0], latest_rows(window, SasPhyActivity)[0],
        any(latest_rows(window, family)[1] for family in (Hba, SasPhy)),
    )  # fmt: skip
