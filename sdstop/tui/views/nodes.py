"""NUMA nodes: their HBAs, network cards and NVMe drives, and their utilization."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from sdstop.analysis.fabric.hba_throughput import KINDS
from sdstop.collectors.fabric.readings import DiskPath, Hba, InterfaceNode, NumaActivity, NumaNode
from sdstop.collectors.network.readings import Interface
from sdstop.collectors.system.readings import CpuActivity
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, natural, number, percent
from sdstop.core.model import Reading
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import bar_cell, counted, severity_name
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.widgets.palette import FAINT, Line, text
from sdstop.tui.widgets.pane import Row
from sdstop.tui.widgets.table import PERCENT, Cell, TableColumn

_MOST_CPUS = 1 << 14
"""Maximum number of processors accepted from a list."""


class NumaRow(Struct, frozen=True, kw_only=True):
    """A NUMA node and its devices; `node` is None for devices with no node or an unknown node."""

    name: str
    scene: Scene
    node: NumaNode | None
    activity: NumaActivity | None
    busy: float | None
    hbas: tuple[Hba, ...]
    drives: tuple[DiskPath, ...]
    cards: tuple[InterfaceNode, ...]
    disks: Counter[str]

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the node."""
        return self.scene.worst().get(self.name)

    @property
    def used(self) -> float | None:
        """Share of the node's memory in use, including caches."""
        if self.node is None or not self.node.memory or self.node.free is None:
            return None
        return 1 - self.node.free / self.node.memory

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        parts: list[tuple[type[Reading], str]] = []
        if self.node is not None:
            parts += [(NumaNode, self.name), (NumaActivity, self.name)]
        parts += [(Hba, row.hba) for row in self.hbas]
        parts += [(Hba, path.hba) for path in self.drives]
        return FactSubject(self.name, (*parts, *((InterfaceNode, row.interface) for row in self.cards)))


def cpus(said: str | None) -> list[int] | None:
    """Return the processors of a list such as `0-7,16-23`, None if it is not a valid list."""
    found: list[int] = []
    for part in (said or "").split(",") if said else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(first) > 6 or len(last) > 6:
            return None
        found += range(int(first), min(int(last if dash else first), _MOST_CPUS) + 1)
        if len(found) > _MOST_CPUS:
            return None
    return None if said is None else found


def numa_rows(scene: Scene) -> list[NumaRow]:
    """Return the nodes by number, followed by the devices without a known node, if any."""
    nodes = {row.number: row for row in scene.rows(NumaNode)[0].values()}
    activities, _ = scene.rows(NumaActivity)
    busy = scene.rows(CpuActivity)[0]
    paths = list(scene.rows(DiskPath)[0].values())
    disks = Counter(path.hba for path in paths)
    hbas = {row.hba: row for row in scene.rows(Hba)[0].values()}
    cards = sorted(scene.rows(InterfaceNode)[0].values(), key=lambda row: natural(row.interface))

    def at(number_: int | None) -> NumaRow:
        row = nodes.get(number_) if number_ is not None else None
        here = [h for h in hbas.values() if h.node == number_ and (disks[h.hba] or h.kind in KINDS)]
        shares = [busy[str(cpu)].busy for cpu in (cpus(row.cpus) or ()) if str(cpu) in busy] if row else []
        return NumaRow(
            name="unknown" if number_ is None else f"node{number_}",
            scene=scene,
            node=row,
            activity=activities.get(f"node{number_}"),
            busy=sum(shares) / len(shares) if shares else None,
            hbas=tuple(sorted((h for h in here if h.kind != "nvme"), key=lambda h: h.hba)),
            drives=tuple(sorted((p for p in paths if any(h.hba == p.hba and h.kind == "nvme" for h in here)),
                         key=lambda p: natural(p.device))),
            cards=tuple(card for card in cards if card.node == number_),
            disks=disks,
        )  # fmt: skip

    placed = {*(row.node for row in hbas.values()), *(row.node for row in cards)}
    found = [at(number_) for number_ in sorted({*nodes, *(n for n in placed if n is not None)})]
    unknown = at(None)
    return [*found, unknown] if unknown.hbas or unknown.drives or unknown.cards else found


def _name(item: NumaRow, _: int) -> Line:
    return severity_name(item.name, item.severity, item.scene.palette)


def _share(read: Callable[[NumaRow], float | None]) -> dict[str, Any]:
    def cell(item: NumaRow, width: int) -> Cell:
        found = read(item)
        return text(("-".rjust(5), FAINT)) if found is None else bar_cell(found, width, item.scene.palette)

    return {"cell": cell, "value": read, "scale": PERCENT}


def _figure(read: Callable[[NumaRow], float | None], shown: Callable[[float | None], str]) -> dict[str, Any]:
    def cell(item: NumaRow, _: int) -> Cell:
        said = shown(read(item))
        return text((said, FAINT)) if said in {"0", "-"} else said

    return {"cell": cell, "value": read, "right": True}


def _listed(
    names: Callable[[NumaRow], Iterator[str]], brief: Callable[[NumaRow], str]
) -> Callable[[NumaRow, int], Cell]:
    """Return a cell function that shows names, or their number if they do not fit."""

    def cell(item: NumaRow, width: int) -> Cell:
        said = " ".join(item.scene.palette.word(name, 40) for name in names(item))
        if not said:
            return text(("-", FAINT))
        return said if len(said) <= width else brief(item)

    return cell


def _hbas(item: NumaRow) -> Iterator[str]:
    for hba in item.hbas:
        count = item.disks[hba.hba]
        yield f"{hba.hba.removeprefix('0000:')}{f'({count})' if count else ''}"


def _few_hbas(item: NumaRow) -> str:
    return f"{counted(len(item.hbas), 'HBA')}, {counted(sum(item.disks[hba.hba] for hba in item.hbas), 'disk')}"


def _drives(item: NumaRow) -> Iterator[str]:
    yield from (path.device for path in item.drives)


def _cards(item: NumaRow) -> Iterator[str]:
    for card in item.cards:
        row = item.scene.rows(Interface)[0].get(card.interface)
        speed = f"({number(row.speed * 8 / 1e9)}G)" if row is not None and row.speed and row.carrier else ""
        yield f"{card.interface}{speed}"


def _cpus(item: NumaRow, _: int) -> Cell:
    said = item.node.cpus if item.node is not None else None
    return text((item.scene.palette.word(said or "-", 60), FAINT))


COLUMNS = (
    TableColumn("node", "NODE", 9, _name, lambda i: natural(i.name), rising=True),
    TableColumn("busy", "%CPU", 5, keep=9, widest=11, **_share(lambda i: i.busy)),
    TableColumn("memory", "MEM", 5, keep=6, **_figure(lambda i: i.node.memory if i.node else None, bytes_)),
    TableColumn("used", "%USED", 5, keep=7, widest=11, **_share(lambda i: i.used)),
    TableColumn("remote", "%REMOTE", 7, keep=5, scale=PERCENT,
                **_figure(lambda i: i.activity.remote if i.activity else None, percent)),
    TableColumn("missed", "MISS/s", 6, keep=1,
                **_figure(lambda i: i.activity.missed_per_second if i.activity else None, number)),
    TableColumn("hbas", "HBAs (DISKS)", 18, _listed(_hbas, _few_hbas), widest=60),
    TableColumn("cards", "NETWORK", 14, _listed(_cards, lambda i: counted(len(i.cards), "card")), widest=40),
    TableColumn("drives", "NVMe", 9, _listed(_drives, lambda i: counted(len(i.drives), "drive")), widest=60),
    TableColumn("cpus", "CPUS", 9, _cpus, keep=2, widest=24),
)  # fmt: skip


def node_rows(scene: Scene) -> Sequence[Row]:
    """Return a row for each node."""
    found = numa_rows(scene)
    if found and any(item.node is not None for item in found):
        return [Row(item.name, item, None, f"{item.name} {' '.join((*_hbas(item), *_cards(item)))}") for item in found]
    if scene.now.runs.get("numa") is None:
        return [note_row("waiting for NUMA nodes", scene)]
    why = scene.unseen(("numa",)) or "not reported by this node"
    return [note_row(f"NUMA nodes unknown: {why}", scene)]
