"""State of the fabric: throughput of each part, capacity and error counts of its links."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.fabric.hba_throughput import HbaLoad, loads, pcie_payload
from sdstop.analysis.fabric.tree import FabricNode, FabricTree, fabric_tree, total
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.fabric.port_readings import SasDevice, SasPhy, SasPhyActivity
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.fabric.sas import COUNTERS
from sdstop.core.finding import Finding, Severity, worst_by_subject
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity


class FabricState(Struct, frozen=True):
    """State of the fabric: severity of each node and of its subtree, and bandwidth budgets of HBAs."""

    tree: FabricTree
    own: Mapping[str, Severity]
    worst: Mapping[str, Severity]
    loads: Mapping[str, HbaLoad]
    efficiency: float
    activities: Mapping[Hashable, DiskActivity]
    fresh: Mapping[Hashable, SasPhyActivity]
    stale: bool

    def moves(self, node: FabricNode) -> float | None:
        """Return bytes per second of the disks in a node, None if unknown."""
        known = [row for name in node.disks if (row := self.activities.get(name)) is not None]
        if not known:
            return None if node.disks or not self.activities else 0.0
        return sum(row.read_bytes_per_second + row.write_bytes_per_second for row in known)

    def carries(self, node: FabricNode) -> float | None:
        """Return the capacity of the node's links in bytes per second."""
        if node.hba is None:
            return node.carries
        load = self.loads.get(node.hba.hba)
        if load is not None:
            return load.carries
        if node.hba.speed is None or node.hba.width is None:
            return None
        return pcie_payload(node.hba.speed, node.hba.width, self.efficiency)

    def share(self, node: FabricNode) -> float | None:
        """Return the throughput relative to the link capacity."""
        moves, carries = self.moves(node), self.carries(node)
        return moves / carries if moves is not None and carries else None

    def new(self, node: FabricNode) -> int | None:
        """Return the phy errors between the last two readings, None with fewer than two."""
        return self.tree.once(("new", node.key), lambda: self._new(node))

    def _new(self, node: FabricNode) -> int | None:
        known = [row for phy in node.counted if (row := self.fresh.get(phy.phy)) is not None]
        return sum(new_errors(row) for row in known) if known else None

    def total(self, node: FabricNode) -> int | None:
        """Return the total errors of its phys, None if none is counted."""
        return self.tree.once(("total", node.key), lambda: _totals(node.counted))


def _totals(phys: Iterable[SasPhy]) -> int | None:
    known = [count for phy in phys if (count := total(phy)) is not None]
    return sum(known) if known else None


def new_errors(row: SasPhyActivity) -> int:
    """Return the errors between two readings: invalid dwords or disparity errors, and lost links."""
    steps = {name: round((getattr(row, f"{name}_per_second") or 0.0) * row.seconds) for name in COUNTERS}
    damaged = max(steps["invalid_dwords"], steps["disparity_errors"])
    return damaged + steps["sync_losses"] + steps["reset_problems"]


class FabricTreeCache:
    """Cache of the topology, rebuilt only after a source was read again."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._of: tuple[object, ...] = ()
        self._made = FabricTree((), {}, 0, 0)

    def at(self, window: Window) -> FabricTree:
        """Return the topology at the window's end."""
        families = (Hba, DiskPath, SasDevice, SasPhy, SasPhyActivity)
        read = tuple(latest_rows(window, family)[0] or None for family in families)
        if len(read) != len(self._of) or any(a is not b for a, b in zip(read, self._of, strict=True)):
            self._of = read
            self._made = fabric_tree(window)
        return self._made


def fabric(
    cache: FabricTreeCache, window: Window, findings: Sequence[Finding], limits: Mapping[str, float]
) -> FabricState:
    """Return the fabric at the end of a window.

    `findings` are the active ones; `limits` has the disk throughput (`disk_rate`, `flash_rate`, bytes per second) and
    the payload share of a link (`efficiency`).
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
    return FabricState(
        tree, own, worst, {load.hba.hba: load for load in found}, limits["efficiency"],
        latest_rows(window, DiskActivity)[0], latest_rows(window, SasPhyActivity)[0],
        any(latest_rows(window, family)[1] for family in (Hba, SasPhy)),
    )  # fmt: skip
