"""Cluster: quorum, spare compared with the largest failure domain, rebuilds, and nodes by failure domain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from textual.app import ComposeResult

from sdstop.analysis.clusters.tree import ClusterEntity, forest
from sdstop.collectors.ceph.readings import CephBlocker, CephCheck, CephDaemon, CephPool
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterHeal, GlusterVolume
from sdstop.collectors.pacemaker.readings import ClusterResource, CorosyncLink
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, natural, number, wait
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.capacity import headline, summary_rows
from sdstop.tui.views.cells import bar_cell, counted, severity_name
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.table import MS, PERCENT, Cell, TableColumn
from sdstop.tui.widgets.tree import Branch, TreeTable, all_rows, severe

SOURCES = ("scaleio", "ceph", "drbd", "pacemaker", "gluster")
"""Names of the collectors for clusters, one of each kind."""


class ClusterRow(Struct, frozen=True):
    """A row of the tree of nodes."""

    entity: ClusterEntity
    scene: Scene
    lead: str = ""

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the entity and of everything below it."""
        return self.entity.severity

    @property
    def opens(self) -> FactSubject | None:
        """Target that Enter opens for this row, None for a fold about which nothing is known."""
        entity = self.entity
        parts: list[tuple[type[Reading], Hashable]] = []
        if entity.cluster is not None:
            parts.append((Cluster, entity.cluster.cluster))
        parts += [(FailureDomain, (row.cluster, row.pool, row.domain)) for row in entity.domains]
        parts += [(ClusterNode, (row.cluster, row.role, row.node)) for row in entity.nodes]
        if entity.device is not None:
            parts.append((ClusterDevice, (entity.device.cluster, entity.device.node, entity.device.device)))
        return FactSubject(entity.name, tuple(parts)) if parts else None


def _name(item: ClusterRow, _: int) -> Line:
    return (*text((item.lead, FAINT)), *severity_name(item.entity.name, item.severity, item.scene.palette))


def _role(item: ClusterRow, _: int) -> Cell:
    entity = item.entity
    if entity.kind == "domain":
        return text((item.scene.palette.word(entity.domains[0].of if entity.domains else "together", 16), FAINT))
    if entity.device is not None:
        return text((item.scene.palette.word(entity.device.media or "device", 12), FAINT))
    said = " ".join(row.role + (" leads" if row.leads else "") for row in entity.nodes)
    return item.scene.palette.word(said, 24)


def _state(item: ClusterRow, _: int) -> Cell:
    palette = item.scene.palette
    entity = item.entity
    if entity.device is not None:
        said, good = entity.device.state, entity.device.healthy != 0
    elif entity.nodes:
        worst = min(entity.nodes, key=lambda row: row.healthy if row.healthy is not None else 1)
        said, good = worst.maintenance or worst.state, worst.healthy != 0
    elif entity.cluster is not None:
        said, good = entity.cluster.state, entity.cluster.healthy != 0
    else:
        down = _down(entity)
        said, good = (f"{down} unhealthy" if down else f"{counted(len(entity.below), 'node')}"), not down
    style = FAINT if good else palette.severity(entity.severity or Severity.WARNING)
    return text((palette.word(said or "-", 40), style))


def _down(entity: ClusterEntity) -> int:
    return sum(any(row.healthy == 0 for row in part.nodes) for part in entity.below)


def _figure(said: str) -> Cell:
    return text((said, FAINT)) if said in {"-", "0"} else said


def _devices(item: ClusterRow, _: int) -> Cell:
    return "" if item.entity.kind in {"device", "manager", "managers"} else _figure(number(item.entity.devices))


def _size(item: ClusterRow, _: int) -> Cell:
    return "" if item.entity.kind in {"manager", "managers"} else _figure(bytes_(item.entity.capacity))


def _used(item: ClusterRow, width: int) -> Cell:
    used = item.entity.used
    return "" if used is None else bar_cell(used, width, item.scene.palette)


def _waits(field: str) -> partial[Cell]:
    def cell(name: str, item: ClusterRow, _: int) -> Cell:
        device = item.entity.device
        return "" if device is None else _figure(wait(getattr(device, name)))

    return partial(cell, field)


def _waited(field: str) -> Callable[[ClusterRow], float | None]:
    return lambda item: getattr(item.entity.device, field) if item.entity.device is not None else None


def _where(item: ClusterRow, _: int) -> Cell:
    """Return a device's pool and its disk on this node; for a node, return its address."""
    entity, word = item.entity, item.scene.palette.word
    if entity.device is not None:
        path = entity.device.path or entity.device.device
        facts = [entity.device.pool or "-", path if entity.device.local else "", entity.device.model or ""]
        here = f"local: {word(entity.device.local, 20)} " if entity.device.local else ""
        return text((here, PLAIN), (" ".join(word(fact, 60) for fact in facts if fact), FAINT))
    here = "this node " if entity.here else ""
    address = next((row.address for row in entity.nodes if row.address), "")
    return text((here, PLAIN), (word(address, 60), FAINT))


_COLUMNS = (
    TableColumn("node", "NODE", 17, _name, lambda i: natural(i.entity.name), widest=34, rising=True),
    TableColumn("role", "ROLE", 10, _role, keep=4, widest=16),
    TableColumn("state", "STATE", 12, _state, keep=9, widest=24),
    TableColumn("devices", "DEV", 4, _devices, lambda i: i.entity.devices, right=True, keep=5),
    TableColumn("size", "SIZE", 5, _size, lambda i: i.entity.capacity, right=True, keep=7),
    TableColumn("used", "%USED", 5, _used, lambda i: i.entity.used, scale=PERCENT, keep=8, widest=20),
    TableColumn("rwait", "r_ms", 5, _waits("read_wait"), _waited("read_wait"), right=True, scale=MS, keep=2),
    TableColumn("wwait", "w_ms", 5, _waits("write_wait"), _waited("write_wait"), right=True, scale=MS, keep=2),
    TableColumn("where", "POOL/ADDRESS", 14, _where, keep=6, widest=60),
)  # fmt: skip


class ClusterView(View):
    """Cluster summary above, tree of nodes below."""

    families = (
        CephBlocker, CephCheck, CephDaemon, CephPool, Cluster, ClusterDevice, ClusterNode, ClusterPool, ClusterResource,
        CorosyncLink, FailureDomain, GlusterBrick, GlusterHeal, GlusterVolume,
    )  # fmt: skip
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, list(all_rows(branches(forest(scene.window, scene.in_force), scene))))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.glance = Pane("Clusters", id="cluster-glance")
        self.main = self.hanging = TreeTable("Nodes by failure domain", _COLUMNS, id="cluster-nodes", bushy=2)
        yield self.glance
        yield self.main

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        width, height = self.app.size.width, self.room
        lines = summary_rows(scene, width)
        self.glance.display = bool(lines)
        self.glance.styles.height = min(len(lines) + 1, max(height * 3 // 5, height - 12, 3))
        self.glance.put(lines, scene.palette, headline(scene))
        entities = forest(scene.window, scene.in_force)
        notes = [] if lines else self.absent(no_cluster_reason(scene), scene, SOURCES)
        self.hanging.grow(branches(entities, scene), scene.palette, _note(scene), notes)


def _note(scene: Scene) -> str:
    nodes = {(row.cluster, row.node) for row in scene.rows(ClusterNode)[0].values()}
    devices = scene.rows(ClusterDevice)[0]
    facts = [counted(len(nodes), "node")] if nodes else []
    facts += [counted(len(devices), "device")] if devices else []
    return f" {scene.palette.dot} ".join(facts)


def branches(entities: Sequence[ClusterEntity], scene: Scene) -> list[Branch]:
    """Return entities as branches of the table, the worst first."""

    def below(entity: ClusterEntity) -> list[Branch]:
        return branches(entity.below, scene)

    def marked(entity: ClusterEntity) -> list[Branch]:
        return branches([part for part in entity.below if severe(part) or part.here], scene)

    ordered = sorted(entities, key=lambda entity: 1 if entity.severity is None else -entity.severity.rank)
    return [
        Branch(
            Row(entity.key, ClusterRow(entity, scene), None, partial(_searchable, entity)), partial(below, entity),
            partial(marked, entity), _count(entity), sum(not part.below for part in entity.below),
        )
        for entity in ordered
    ]  # fmt: skip


def _count(entity: ClusterEntity) -> int:
    return sum(1 + _count(part) for part in entity.below)


def _searchable(entity: ClusterEntity) -> str:
    facts = [entity.name, entity.kind, "this node" if entity.here else ""]
    for row in entity.nodes:
        facts += [row.role, row.state or "", row.address or "", row.area or ""]
    if entity.device is not None:
        d = entity.device
        facts += [d.device, d.pool or "", d.state or "", d.path or "", d.model or "", d.serial or ""]
    return " ".join(facts)


def no_cluster_reason(scene: Scene) -> str:
    """Return why no cluster is shown."""
    said = scene.unseen(SOURCES)
    if said:
        return f"no cluster found; {said}"
    return "no cluster found (PowerFlex gateway, Ceph, DRBD, Pacemaker, GlusterFS)"
