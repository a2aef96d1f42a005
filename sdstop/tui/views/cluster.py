"""Cluster: quorum, spare against the largest failure domain, rebuilds, and nodes by what fails together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import NamedTuple

from textual.app import ComposeResult

from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, number, wait
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, FailureDomain
from sdstop.tui.clusters import Twig, forest
from sdstop.tui.drives import natural, rows
from sdstop.tui.facts import Thing
from sdstop.tui.palette import FAINT, PLAIN, Line, text
from sdstop.tui.pane import Pane, Row
from sdstop.tui.scene import Scene
from sdstop.tui.table import Cell, Column
from sdstop.tui.tree import Branch, TreeTable, severe
from sdstop.tui.views.capacity import headline, summary_rows
from sdstop.tui.views.cells import bar_cell, counted, pressed
from sdstop.tui.views.claims import note_row
from sdstop.tui.views.view import View

SOURCES = ("scaleio", "ceph", "ceph-osds", "drbd", "pacemaker")
"""Collectors of clusters."""


class Stem(NamedTuple):
    """A row of the tree of nodes."""

    twig: Twig
    scene: Scene
    lead: str = ""

    @property
    def severity(self) -> Severity | None:
        """The worst that is said of it and of all below."""
        return self.twig.severity

    @property
    def opens(self) -> Thing:
        """What a choice of the row leads to."""
        twig = self.twig
        parts: list[tuple[type[Reading], Hashable]] = []
        if twig.cluster is not None:
            parts.append((Cluster, twig.cluster.cluster))
        parts += [(FailureDomain, (row.cluster, row.pool, row.domain)) for row in twig.domains]
        parts += [(ClusterNode, (row.cluster, row.role, row.node)) for row in twig.nodes]
        if twig.device is not None:
            parts.append((ClusterDevice, (twig.device.cluster, twig.device.node, twig.device.device)))
        return Thing(twig.name, tuple(parts))


def _name(item: Stem, width: int) -> Line:
    del width
    return (*text((item.lead, FAINT)), *pressed(item.twig.name, item.severity, item.scene.palette))


def _role(item: Stem, width: int) -> Cell:
    del width
    twig = item.twig
    if twig.kind == "domain":
        return text((item.scene.palette.word(twig.domains[0].of if twig.domains else "together", 16), FAINT))
    if twig.device is not None:
        return text((item.scene.palette.word(twig.device.media or "device", 12), FAINT))
    said = " ".join(row.role + (" leads" if row.leads else "") for row in twig.nodes)
    return item.scene.palette.word(said, 24)


def _state(item: Stem, width: int) -> Cell:
    del width
    palette = item.scene.palette
    twig = item.twig
    if twig.device is not None:
        said, good = twig.device.state, twig.device.healthy != 0
    elif twig.nodes:
        worst = min(twig.nodes, key=lambda row: row.healthy if row.healthy is not None else 1)
        said, good = worst.maintenance or worst.state, worst.healthy != 0
    elif twig.cluster is not None:
        said, good = twig.cluster.state, twig.cluster.healthy != 0
    else:
        down = _down(twig)
        said, good = (f"{down} not well" if down else f"{counted(len(twig.below), 'node')}"), not down
    style = FAINT if good else palette.severity(twig.severity or Severity.WARNING)
    return text((palette.word(said or "-", 40), style))


def _down(twig: Twig) -> int:
    return sum(any(row.healthy == 0 for row in part.nodes) for part in twig.below)


def _figure(said: str) -> Cell:
    return text((said, FAINT)) if said in {"-", "0"} else said


def _devices(item: Stem, width: int) -> Cell:
    del width
    return "" if item.twig.kind in {"device", "manager", "managers"} else _figure(number(item.twig.devices))


def _size(item: Stem, width: int) -> Cell:
    del width
    return "" if item.twig.kind in {"manager", "managers"} else _figure(bytes_(item.twig.capacity))


def _used(item: Stem, width: int) -> Cell:
    used = item.twig.used
    return "" if used is None else bar_cell(used, width, item.scene.palette)


def _waits(field: str) -> partial[Cell]:
    def cell(name: str, item: Stem, width: int) -> Cell:
        del width
        device = item.twig.device
        return "" if device is None else _figure(wait(getattr(device, name)))

    return partial(cell, field)


def _where(item: Stem, width: int) -> Cell:
    """Say the pool of a device and which of this node's disks it is; of a node its addresses."""
    del width
    twig, word = item.twig, item.scene.palette.word
    if twig.device is not None:
        path = twig.device.path or twig.device.device
        facts = [twig.device.pool or "-", path if twig.device.local else "", twig.device.model or ""]
        here = f"here: {word(twig.device.local, 20)} " if twig.device.local else ""
        return text((here, PLAIN), (" ".join(word(fact, 60) for fact in facts if fact), FAINT))
    here = "this node " if twig.here else ""
    address = next((row.address for row in twig.nodes if row.address), "")
    return text((here, PLAIN), (word(address, 60), FAINT))


_COLUMNS = (
    Column("node", "NODE", 17, _name, lambda i: natural(i.twig.name), widest=34, rising=True),
    Column("role", "IS", 10, _role, keep=4, widest=16),
    Column("state", "STATE", 12, _state, keep=9, widest=24),
    Column("devices", "DEV", 4, _devices, lambda i: i.twig.devices, right=True, keep=5),
    Column("size", "SIZE", 5, _size, lambda i: i.twig.capacity, right=True, keep=7),
    Column("used", "%USED", 5, _used, lambda i: i.twig.used, keep=8, widest=20),
    Column("rwait", "r_ms", 5, _waits("read_wait"), lambda i: i.twig.device and i.twig.device.read_wait, right=True,
           keep=2),
    Column("wwait", "w_ms", 5, _waits("write_wait"), lambda i: i.twig.device and i.twig.device.write_wait, right=True,
           keep=2),
    Column("where", "POOL, ADDRESS", 14, _where, keep=6, widest=60),
)  # fmt: skip


class ClusterView(View):
    """The clusters at a glance above, the tree of nodes below."""

    key = "7"

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.glance = Pane("Clusters", id="cluster-glance")
        self.main = self.hanging = TreeTable("Nodes by what fails together", _COLUMNS, id="cluster-nodes", bushy=2)
        yield self.glance
        yield self.main

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        width, height = self.app.size.width, max(self.app.size.height - 3, 1)
        lines = summary_rows(scene, width)
        self.glance.display = bool(lines)
        self.glance.styles.height = min(len(lines) + 1, max(height * 3 // 5, height - 12, 3))
        self.glance.put(lines, scene.palette, headline(scene))
        twigs = forest(scene)
        notes = [] if lines else [note_row(nothing(scene), scene)]
        self.hanging.grow(branches(twigs, scene), scene.palette, _note(scene), notes)


def _note(scene: Scene) -> str:
    nodes = {(row.cluster, row.node) for row in rows(scene, ClusterNode)[0].values()}
    devices = rows(scene, ClusterDevice)[0]
    facts = [counted(len(nodes), "node")] if nodes else []
    facts += [counted(len(devices), "device")] if devices else []
    return f" {scene.palette.dot} ".join(facts)


def branches(twigs: Sequence[Twig], scene: Scene) -> list[Branch]:
    """Return twigs as branches of the table, the worst first."""

    def below(twig: Twig) -> list[Branch]:
        return branches(twig.below, scene)

    def marked(twig: Twig) -> list[Branch]:
        return branches([part for part in twig.below if severe(part) or part.here], scene)

    ordered = sorted(twigs, key=lambda twig: 1 if twig.severity is None else -twig.severity.rank)
    return [
        Branch(
            Row(twig.key, Stem(twig, scene), None, partial(_searchable, twig)), partial(below, twig),
            partial(marked, twig), _count(twig), sum(not part.below for part in twig.below),
        )
        for twig in ordered
    ]  # fmt: skip


def _count(twig: Twig) -> int:
    return sum(1 + _count(part) for part in twig.below)


def _searchable(twig: Twig) -> str:
    facts = [twig.name, twig.kind, "this node" if twig.here else ""]
    for row in twig.nodes:
        facts += [row.role, row.state or "", row.address or "", row.area or ""]
    if twig.device is not None:
        d = twig.device
        facts += [d.device, d.pool or "", d.state or "", d.path or "", d.model or "", d.serial or ""]
    return " ".join(facts)


def nothing(scene: Scene) -> str:
    """Say why no cluster is shown."""
    said = scene.unseen(SOURCES)
    if said:
        return f"no cluster is known; {said}"
    return "no cluster is known here: no gateway, no Ceph, DRBD or Pacemaker found"
