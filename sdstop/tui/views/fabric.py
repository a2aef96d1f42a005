"""Fabric: tree of HBAs, expanders, slots and disks with link capacity, throughput and link errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.analysis.disks.membership import memberships
from sdstop.analysis.fabric.state import FabricState, FabricTreeCache, fabric
from sdstop.analysis.fabric.tree import FabricNode
from sdstop.analysis.thing_parts import thing_of
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.port_readings import SasDevice, SasPhy, SasPhyActivity, SasPort
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.core.finding import Severity
from sdstop.core.format import duration, mebibytes, natural, number, percent, utc
from sdstop.core.model import Reading
from sdstop.readings.disk import DiskActivity
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.tui.device.graph_grid import GraphGrid
from sdstop.tui.device.graphs import courses
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import BAD, Scene
from sdstop.tui.views.budgets import budget_rows
from sdstop.tui.views.cells import bar_cell, counted, severity_name
from sdstop.tui.views.fabric_node import fabric_node_rows, linked, made
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, text
from sdstop.tui.widgets.pane import Pane, Row
from sdstop.tui.widgets.table import MIB, PERCENT, Cell, TableColumn
from sdstop.tui.widgets.tree import Branch, TreeTable, all_rows, severe


class FabricRow(Struct, frozen=True):
    """A row of the tree."""

    node: FabricNode
    fabric: FabricState
    scene: Scene
    lead: str = ""

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the node and of everything below it."""
        return self.fabric.worst.get(self.node.key)

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        return FactSubject(self.node.name, tuple(_readings(self.node)))


def _readings(node: FabricNode) -> Iterable[tuple[type[Reading], str]]:
    if node.hba is not None:
        yield Hba, node.hba.hba
    if node.path is not None:
        yield DiskActivity, node.path.device
        yield DiskPath, node.path.device
        yield BlockDevice, node.path.device
    if node.device is not None:
        yield SasDevice, node.device.device
        if node.device.port is not None:
            yield SasPort, node.device.port
    for phy in node.phys:
        yield SasPhy, phy.phy
        yield SasPhyActivity, phy.phy


def _name(item: FabricRow, _: int) -> Line:
    own = item.fabric.own.get(item.node.key)
    palette = item.scene.palette
    return (*text((item.lead, FAINT)), *severity_name(item.node.name, own, palette, stale=item.fabric.stale))


def _made(item: FabricRow, _: int) -> Cell:
    return text((" ".join(made(item.node, item.scene)) or "-", FAINT))


def _place(item: FabricRow, _: int) -> Cell:
    node = item.node
    if node.hba is not None:
        return text(("-", FAINT)) if node.hba.node is None else f"node{node.hba.node}"
    bay = bay_of(node)
    if bay is not None:
        return f"bay {bay}"
    if node.kind == "expander":
        return ""
    number_ = node.phys[0].number if node.phys and node.kind != "host" else None
    return text(("-" if number_ is None else f"phy {number_}", FAINT))


def bay_of(node: FabricNode) -> int | None:
    """Return the number of a disk's bay, None if unknown."""
    told = [row.bay for row in (node.path, node.device) if row is not None and row.bay is not None]
    return told[0] if told else None


def _link(item: FabricRow, _: int) -> Cell:
    now, can = linked(item.node)
    if not now and not can:
        return text(("-", FAINT))
    return text((f"{now or '-'}/{can or '-'}", FAINT if now == can else PLAIN))


def _disks(item: FabricRow, _: int) -> Cell:
    return text((str(len(item.node.disks)), FAINT)) if item.node.kind in {"hba", "host", "expander"} else ""


def _moves(item: FabricRow, _: int) -> Cell:
    said = mebibytes(item.fabric.moves(item.node))
    return text((said, FAINT)) if said in {"0.0", "-"} else said


def _share(item: FabricRow, width: int) -> Cell:
    share = item.fabric.share(item.node)
    return text(("-".rjust(5), FAINT)) if share is None else bar_cell(share, width, item.scene.palette)


def _new(item: FabricRow, _: int) -> Cell:
    return _errors(item, item.fabric.new(item.node))


def _total(item: FabricRow, _: int) -> Cell:
    return _errors(item, item.fabric.total(item.node))


def _errors(item: FabricRow, count: int | None) -> Cell:
    severity = item.fabric.own.get(item.node.key)
    if not count:
        return text((number(count), FAINT))
    return text((number(count), PLAIN if severity is None else item.scene.palette.severity(severity)))


def _part(item: FabricRow, _: int) -> Cell:
    """Return the array or pool of a disk; for an HBA, the possible throughput of its disks relative to its links."""
    palette = item.scene.palette
    if item.node.kind == "hba":
        load = item.fabric.loads.get(item.node.name)
        share = load.share if load is not None else None
        return text((f"up to {percent(share)}%" if share else "", FAINT))
    if item.node.kind == "disk":
        shown = ", ".join(f"{p.whole} {p.part}".rstrip() for p in memberships(item.scene.window, item.node.name))
        return palette.word(shown, 60)
    if item.node.kind == "phy":
        return palette.word(item.node.phys[0].state or "-", 40)
    return ""


def _flag(item: FabricRow, _: int) -> Cell:
    severity = item.fabric.own.get(item.node.key)
    if severity is None:
        return ""
    names = set(item.node.names)
    said = (f.rule for f in item.scene.in_force if names & {f.subject, _last(f.subject)})
    return text((next(said, ""), item.scene.palette.severity(severity)))


def _last(subject: str) -> str:
    return subject.rpartition("/")[2]


_COLUMNS = (
    TableColumn("device", "DEVICE", 17, _name, lambda i: natural(i.node.name), widest=28, rising=True),
    TableColumn("made", "TYPE", 12, _made, keep=1, widest=30),
    TableColumn("place", "PLACE", 6, _place, keep=8),
    TableColumn("link", "LINK/MAX", 13, _link, lambda i: i.fabric.carries(i.node), widest=15, rising=True),
    TableColumn("disks", "DISKS", 5, _disks, lambda i: len(i.node.disks), right=True, keep=5),
    TableColumn("moves", "MiB/s", 7, _moves, lambda i: i.fabric.moves(i.node), right=True, scale=MIB),
    TableColumn("share", "%LINK", 5, _share, lambda i: i.fabric.share(i.node), scale=PERCENT, keep=7, widest=16),
    TableColumn("new", "NEW", 4, _new, lambda i: i.fabric.new(i.node), right=True, keep=9),
    TableColumn("errors", "ERR", 5, _total, lambda i: i.fabric.total(i.node), right=True),
    TableColumn("part", "MEMBER OF", 11, _part, keep=6, widest=24),
    TableColumn("flag", "FLAG", 10, _flag, keep=2, widest=18),
)


class FabricView(View):
    """Tree with details of the row under the cursor beside or below it; on a large screen, HBA budgets above."""

    families = (DiskPath, Hba, SasDevice, SasPhy, SasPhyActivity, SasPort)
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        shown = _state(scene, FabricTreeCache())
        yield Listing(_COLUMNS, list(all_rows(branches(shown.tree.roots, shown, scene))))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.known = FabricTreeCache()
        self.shown: FabricState | None = None
        self.main = self.hanging = TreeTable("Fabric", _COLUMNS, id="fabric")
        self.budgets = Pane("HBAs: possible load of the disks against the links", id="budgets", cursor=False)
        self.detail = Pane("Device", id="fabric-detail")
        self.halves = Horizontal(self.main, self.detail, id="fabric-halves")
        self.graphs = GraphGrid("fabric-graphs")
        self.spare = 0
        yield self.budgets
        yield self.halves
        yield self.graphs

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.shown = _state(scene, self.known)
        roots = branches(self.shown.tree.roots, self.shown, scene)
        notes = [] if roots else self.absent(_nothing(scene), scene, _SOURCES)
        self.hanging.grow(roots, scene.palette, _note(self.shown, scene), notes)
        tall, wide = self.app.size.height >= 36, self.app.size.width >= 160
        lines = budget_rows(self.shown, scene, self.app.size.width) if tall else []
        self.budgets.display = len(lines) > 1
        self.budgets.styles.height = min(len(lines) + 1, 12)
        self.budgets.put(lines, scene.palette)
        below = 0 if wide else max(5, min(self.room // 3, 12))
        self.detail.styles.height = below or "1fr"
        self.detail.display = bool(roots) and self.app.size.height >= 18
        taken = len(lines) + 1 if self.budgets.display else 0
        tree = max(len(self.main.rows) + 2, _DETAIL if wide else 0) + below * self.detail.display
        self.spare = self.room - taken - tree if roots and tall else 0
        self.halves.styles.height = "1fr"
        self._show_chosen()

    def moved(self, pane: Pane) -> None:
        """Show details of the row under the cursor."""
        if pane is self.main:
            self._show_chosen()

    def _wide(self) -> int:
        """Return the width of the detail pane in cells, even before layout."""
        width = self.app.size.width
        return width if width < 160 else max(width * 2 // 5 - 2, 40)

    def _show_chosen(self) -> None:
        row = self.main.chosen
        item = row.item if row is not None else None
        self.graphs.display = False
        if not isinstance(item, FabricRow) or not self.detail.display:
            return
        self._show_graphs(item)
        palette = item.scene.palette
        self.detail.title = palette.word(item.node.name, 60)
        self.detail.put(
            fabric_node_rows(item.node, item.fabric, item.scene, self._wide()), palette, "Tab Enter: evidence"
        )

    def _show_graphs(self, item: FabricRow) -> None:
        """Draw the load of the row under the cursor, or else of the first HBA, in the lines that the tree leaves."""
        if self.spare < _GRAPHED:
            return
        scene = item.scene
        for each in (item, *(row.item for row in self.main.rows)):
            if isinstance(each, FabricRow):
                parts = each.opens.parts
                shown = courses(scene.window, parts, thing_of(scene.window, parts))[: 4 if self.spare > _BOTH else 2]
                if shown:
                    name = scene.palette.word(each.node.name, 40)
                    self.graphs.draw(shown, scene, self.app.size.width, self.spare, name)
                    return


_DETAIL = 14
"""Lines of the details beside the tree, at least."""
_GRAPHED, _BOTH = 5, 16
"""Minimum lines of a graph with its title, and of two rows of graphs."""


def _state(scene: Scene, known: FabricTreeCache) -> FabricState:
    limits = HBA_OVERSUBSCRIBED.limits(scene.session.diagnosis.configured.get(HBA_OVERSUBSCRIBED.id))
    return fabric(known, scene.window, scene.in_force, limits)


def branches(nodes: Sequence[FabricNode], shown: FabricState, scene: Scene) -> list[Branch]:
    """Return nodes as branches, the worst first."""
    worst = shown.worst

    def below(node: FabricNode) -> list[Branch]:
        return branches(node.below, shown, scene)

    def marked(node: FabricNode) -> list[Branch]:
        return branches([part for part in node.below if severe(FabricRow(part, shown, scene))], shown, scene)

    ordered = sorted(nodes, key=lambda node: -worst[node.key].rank if node.key in worst else 1)
    return [
        Branch(
            Row(node.key, FabricRow(node, shown, scene), None, partial(_searchable, node, scene)),
            partial(below, node), partial(marked, node), *shown.tree.once(node.key, partial(_size, node)),
        )
        for node in ordered
    ]  # fmt: skip


def _size(node: FabricNode) -> tuple[int, int]:
    """Return the number of nodes below, and the number of direct children that are leaves."""
    return sum(1 + _size(part)[0] for part in node.below), sum(not part.below for part in node.below)


def _searchable(node: FabricNode, scene: Scene) -> str:
    bay = bay_of(node)
    words = [node.name, node.kind, *node.names, *made(node, scene), "" if bay is None else f"bay {bay}"]
    if node.kind == "disk":
        words += [f"{part.whole} {part.part}" for part in memberships(scene.window, node.name)]
        drive = scene.drives().get(node.name)
        device = drive.device if drive is not None else None
        words += [word for word in (device.serial, device.wwn) if word] if device is not None else []
    return " ".join(words)


def _note(shown: FabricState, scene: Scene) -> str:
    tree = shown.tree
    hbas = sum(node.kind in {"hba", "host"} for node in tree.roots)
    disks = sum(len(node.disks) for node in tree.roots)
    facts = [counted(hbas, "HBA")] if hbas else []
    facts += [counted(tree.expanders, "expander")] if tree.expanders else []
    facts += [counted(disks, "disk")] if tree.roots else []
    spans = [row.seconds for row in list(shown.fresh.values())[:1]]
    run = scene.now.run_of(SasPhy)
    if spans:
        facts.append(f"NEW in {duration(spans[0])}")
    elif run is not None and scene.rows(SasPhy)[0]:
        facts.append(f"phys read at {utc(run.taken)}, NEW needs a second one")
    elif tree.roots:
        facts.append("no SAS phys")
    return f" {scene.palette.dot} ".join(facts)


_SOURCES = ("hba", "sas")
"""Names of the collectors that the tree needs."""


def _nothing(scene: Scene) -> str:
    """Return why the tree is missing."""
    for name in _SOURCES:
        run = scene.now.runs.get(name)
        if run is not None and run.outcome in BAD:
            return f"HBAs unknown: {name}: {run.outcome.value}, {run.reason}"
    known = [run for name in _SOURCES if (run := scene.now.runs.get(name)) is not None]
    if not known:
        return "waiting for HBAs"
    if not any(run.recorded for run in known) and not scene.session.origin.live:
        return "HBAs, SAS phys and disk paths not recorded"
    return "no PCI or SAS disks"
