"""Fabric: HBAs, expanders, slots and disks as a tree; what their links carry, what moves, and what is damaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Horizontal

from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.fabric.hba import DiskPath, Hba
from sdstop.collectors.fabric.sas import SasDevice, SasPhy, SasPhyActivity, SasPort
from sdstop.core.finding import Severity
from sdstop.core.format import duration, number, percent, rate, utc
from sdstop.core.model import Reading
from sdstop.readings.disk import DiskActivity
from sdstop.tui.drives import drives, natural, rows
from sdstop.tui.fabrics import Fabric, Known, fabric, parts
from sdstop.tui.facts import Thing
from sdstop.tui.palette import FAINT, PLAIN, Line, text
from sdstop.tui.pane import Pane, Row
from sdstop.tui.scene import BAD, Scene
from sdstop.tui.table import Cell, Column
from sdstop.tui.topology import Knot
from sdstop.tui.tree import Branch, TreeTable, severe
from sdstop.tui.views.budgets import budget_rows
from sdstop.tui.views.cells import bar_cell, counted, pressed
from sdstop.tui.views.claims import note_row
from sdstop.tui.views.knot import knot_rows, linked, made
from sdstop.tui.views.view import View


class Limb(NamedTuple):
    """A row of the tree. A named tuple: thousands may be made every second."""

    knot: Knot
    fabric: Fabric
    lead: str = ""

    @property
    def severity(self) -> Severity | None:
        """The worst that is said of it and of all below."""
        return self.fabric.worst.get(self.knot.key)

    @property
    def opens(self) -> Thing:
        """What a choice of the row leads to."""
        return Thing(self.knot.name, tuple(_readings(self.knot)))


def _readings(knot: Knot) -> Iterable[tuple[type[Reading], str]]:
    if knot.hba is not None:
        yield Hba, knot.hba.hba
    if knot.path is not None:
        yield DiskActivity, knot.path.device
        yield DiskPath, knot.path.device
        yield BlockDevice, knot.path.device
    if knot.device is not None:
        yield SasDevice, knot.device.device
        if knot.device.port is not None:
            yield SasPort, knot.device.port
    for phy in knot.phys:
        yield SasPhy, phy.phy
        yield SasPhyActivity, phy.phy


def _name(item: Limb, width: int) -> Line:
    del width
    own = item.fabric.own.get(item.knot.key)
    palette = item.fabric.scene.palette
    return (*text((item.lead, FAINT)), *pressed(item.knot.name, own, palette, stale=item.fabric.stale))


def _made(item: Limb, width: int) -> Cell:
    del width
    return text((" ".join(made(item.knot, item.fabric.scene)) or "-", FAINT))


def _place(item: Limb, width: int) -> Cell:
    del width
    knot = item.knot
    if knot.hba is not None:
        return text(("-", FAINT)) if knot.hba.node is None else f"node{knot.hba.node}"
    bay = bay_of(knot)
    if bay is not None:
        return f"bay {bay}"
    if knot.kind == "expander":
        return ""
    number_ = knot.phys[0].number if knot.phys and knot.kind != "host" else None
    return text(("-" if number_ is None else f"phy {number_}", FAINT))


def bay_of(knot: Knot) -> int | None:
    """Return the number of the bay that a disk sits in, None where nobody says."""
    told = [row.bay for row in (knot.path, knot.device) if row is not None and row.bay is not None]
    return told[0] if told else None


def _link(item: Limb, width: int) -> Cell:
    del width
    now, can = linked(item.knot)
    if not now and not can:
        return text(("-", FAINT))
    return text((f"{now or '-'}/{can or '-'}", FAINT if now == can else PLAIN))


def _disks(item: Limb, width: int) -> Cell:
    del width
    return text((str(len(item.knot.disks)), FAINT)) if item.knot.kind in {"hba", "host", "expander"} else ""


def _moves(item: Limb, width: int) -> Cell:
    del width
    said = rate(item.fabric.moves(item.knot))
    return text((said, FAINT)) if said in {"0", "-"} else said


def _share(item: Limb, width: int) -> Cell:
    share = item.fabric.share(item.knot)
    return text(("-".rjust(5), FAINT)) if share is None else bar_cell(share, width, item.fabric.scene.palette)


def _new(item: Limb, width: int) -> Cell:
    del width
    return _errors(item, item.fabric.new(item.knot))


def _total(item: Limb, width: int) -> Cell:
    del width
    return _errors(item, item.fabric.total(item.knot))


def _errors(item: Limb, count: int | None) -> Cell:
    severity = item.fabric.own.get(item.knot.key)
    if not count:
        return text((number(count), FAINT))
    return text((number(count), PLAIN if severity is None else item.fabric.scene.palette.severity(severity)))


def _part(item: Limb, width: int) -> Cell:
    """Say what a disk is part of; of an HBA, what its disks could move of what its links carry."""
    del width
    palette = item.fabric.scene.palette
    if item.knot.kind == "hba":
        load = item.fabric.loads.get(item.knot.name)
        share = load.share if load is not None else None
        return text((f"could {percent(share)}%" if share else "", FAINT))
    if item.knot.kind == "disk":
        shown = ", ".join(f"{p.whole} {p.part}".rstrip() for p in parts(item.fabric.scene, item.knot.name))
        return palette.word(shown, 60)
    if item.knot.kind == "phy":
        return palette.word(item.knot.phys[0].state or "-", 40)
    return ""


def _flag(item: Limb, width: int) -> Cell:
    del width
    severity = item.fabric.own.get(item.knot.key)
    if severity is None:
        return ""
    names = set(item.knot.names)
    said = (f.rule for f in item.fabric.scene.look.judgement.findings if names & {f.subject, _last(f.subject)})
    return text((next(said, ""), item.fabric.scene.palette.severity(severity)))


def _last(subject: str) -> str:
    return subject.rpartition("/")[2]


_COLUMNS = (
    Column("device", "DEVICE", 17, _name, lambda i: natural(i.knot.name), widest=28, rising=True),
    Column("made", "IS", 12, _made, keep=1, widest=30),
    Column("place", "PLACE", 6, _place, keep=8),
    Column("link", "LINK/CAN", 13, _link, lambda i: i.fabric.carries(i.knot), widest=15, rising=True),
    Column("disks", "DISKS", 5, _disks, lambda i: len(i.knot.disks), right=True, keep=5),
    Column("moves", "B/s", 5, _moves, lambda i: i.fabric.moves(i.knot), right=True),
    Column("share", "%LINK", 5, _share, lambda i: i.fabric.share(i.knot), keep=7, widest=16),
    Column("new", "NEW", 4, _new, lambda i: i.fabric.new(i.knot), right=True, keep=9),
    Column("errors", "ERR", 5, _total, lambda i: i.fabric.total(i.knot), right=True),
    Column("part", "PART OF", 11, _part, keep=6, widest=24),
    Column("flag", "FLAG", 10, _flag, keep=2, widest=18),
)


class FabricView(View):
    """The tree; beside or below it what is known of the row under the cursor; on a large screen HBAs' budgets above."""

    key = "5"

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.known = Known()
        self.shown: Fabric | None = None
        self.main = self.hanging = TreeTable("Fabric", _COLUMNS, id="fabric")
        self.budgets = Pane("HBAs against what their links carry", id="budgets", cursor=False)
        self.detail = Pane("Device", id="fabric-detail")
        yield self.budgets
        with Horizontal(id="fabric-halves"):
            yield self.main
            yield self.detail

    def show(self, scene: Scene) -> None:
        """Paint a moment."""
        self.shown = fabric(self.known, scene)
        roots = branches(self.shown.topology.roots, self.shown)
        self.hanging.grow(roots, scene.palette, _note(self.shown), [] if roots else [note_row(_nothing(scene), scene)])
        tall, wide = self.app.size.height >= 36, self.app.size.width >= 160
        lines = budget_rows(self.shown, self.app.size.width) if tall else []
        self.budgets.display = len(lines) > 1
        self.budgets.styles.height = min(len(lines) + 1, 12)
        self.budgets.put(lines, scene.palette)
        self.detail.styles.height = "1fr" if wide else max(5, min(self.app.size.height // 3, 12))
        self.detail.display = bool(roots) and self.app.size.height >= 18
        self._show_chosen()

    def on_pane_moved(self, event: Pane.Moved) -> None:
        """Show what is under the cursor."""
        event.stop()
        if event.pane is self.main:
            self._show_chosen()

    def _wide(self) -> int:
        """Return the cells of a line of the detail, also before it is laid out."""
        width = self.app.size.width
        return width if width < 160 else max(width * 2 // 5 - 2, 40)

    def _show_chosen(self) -> None:
        row = self.main.chosen
        item = row.item if row is not None else None
        if not isinstance(item, Limb) or not self.detail.display:
            return
        palette = item.fabric.scene.palette
        self.detail.title = palette.word(item.knot.name, 60)
        self.detail.put(knot_rows(item.knot, item.fabric, self._wide()), palette, "Tab Enter: evidence")


def branches(knots: Sequence[Knot], shown: Fabric) -> list[Branch]:
    """Return knots as branches, the worst first."""
    worst = shown.worst

    def below(knot: Knot) -> list[Branch]:
        return branches(knot.below, shown)

    def marked(knot: Knot) -> list[Branch]:
        return branches([part for part in knot.below if severe(Limb(part, shown))], shown)

    ordered = sorted(knots, key=lambda knot: -worst[knot.key].rank if knot.key in worst else 1)
    return [
        Branch(
            Row(knot.key, Limb(knot, shown), None, partial(_searchable, knot, shown.scene)),
            partial(below, knot), partial(marked, knot), *shown.topology.once(knot.key, partial(_size, knot)),
        )
        for knot in ordered
    ]  # fmt: skip


def _size(knot: Knot) -> tuple[int, int]:
    """Return how many knots are below, and how many of them directly and with nothing below."""
    return sum(1 + _size(part)[0] for part in knot.below), sum(not part.below for part in knot.below)


def _searchable(knot: Knot, scene: Scene) -> str:
    bay = bay_of(knot)
    words = [knot.name, knot.kind, *knot.names, *made(knot, scene), "" if bay is None else f"bay {bay}"]
    if knot.kind == "disk":
        words += [f"{part.whole} {part.part}" for part in parts(scene, knot.name)]
        device = drives(scene)[knot.name].device if knot.name in drives(scene) else None
        words += [word for word in (device.serial, device.wwn) if word] if device is not None else []
    return " ".join(words)


def _note(shown: Fabric) -> str:
    topology, scene = shown.topology, shown.scene
    hbas = sum(knot.kind in {"hba", "host"} for knot in topology.roots)
    disks = sum(len(knot.disks) for knot in topology.roots)
    facts = [counted(hbas, "HBA")] if hbas else []
    facts += [counted(topology.expanders, "expander")] if topology.expanders else []
    facts += [counted(disks, "disk")] if topology.roots else []
    spans = [row.seconds for row in list(shown.fresh.values())[:1]]
    run = scene.now.run_of(SasPhy)
    if spans:
        facts.append(f"NEW in {duration(spans[0])}")
    elif run is not None and rows(scene, SasPhy)[0]:
        facts.append(f"phys read {utc(run.taken)}, NEW after the next reading")
    elif topology.roots:
        facts.append("no SAS phys here")
    return f" {scene.palette.dot} ".join(facts)


def _nothing(scene: Scene) -> str:
    """Say why there is no tree."""
    for name in ("hba", "sas"):
        run = scene.now.runs.get(name)
        if run is not None and run.outcome in BAD:
            return f"HBAs are not known: {name}: {run.outcome.value}, {run.reason}"
    known = [run for name in ("hba", "sas") if (run := scene.now.runs.get(name)) is not None]
    if not known:
        return "HBAs are not known yet"
    if not any(run.recorded for run in known) and not scene.session.origin.live:
        return "HBAs, SAS phys and the ways to disks were not recorded"
    return "no disk here hangs on PCI, and there is no SAS"
