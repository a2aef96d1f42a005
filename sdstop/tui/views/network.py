"""Network: hierarchy of interfaces with utilization and errors; shares, TCP statistics and path MTUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from textual.app import ComposeResult

from sdstop.collectors.network.path_readings import PathMtu, Softnet, Tcp, TcpActivity
from sdstop.collectors.network.readings import Bond, Interface, InterfaceActivity, InterfaceLink, Traffic
from sdstop.core.finding import Severity
from sdstop.core.format import duration, mebibytes, natural, number, percent, whole
from sdstop.core.joins import Naming
from sdstop.core.topology import Topology
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import BAD, Scene
from sdstop.tui.views.cells import bar_cell, severity_name
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.link_graph import LEAST, WARN_AT, busiest, link_history, link_lines, nothing_line
from sdstop.tui.views.shares import FAMILIES, share_rows
from sdstop.tui.views.view import Listing, View
from sdstop.tui.why import Quote
from sdstop.tui.widgets.palette import FAINT, MARKS, OTHER, PLAIN, READ, WRITE, Line, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import MIB, PERCENT, Cell, LineTable, TableColumn


class InterfaceRow(Struct, frozen=True):
    """An interface at a moment; `lead` draws its position in the tree."""

    name: str
    lead: str
    interface: Interface | None
    activity: InterfaceActivity | None
    scene: Scene
    note: str = ""
    severity: Severity | None = None
    stale: bool = False

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        return FactSubject(self.name, tuple((f, self.name) for f in (InterfaceActivity, Interface, Bond, Traffic)))


def _name(item: InterfaceRow, _: int) -> Line:
    return (
        *text((item.lead, FAINT)),
        *severity_name(item.name, item.severity, item.scene.palette, stale=item.stale),
    )


def _fact(field: str) -> Callable[[InterfaceRow, int], Cell]:
    def cell(item: InterfaceRow, _: int) -> Cell:
        value = getattr(item.interface, field) if item.interface is not None else None
        return item.scene.palette.word(value, 24) if value is not None else text(("-", FAINT))

    return cell


def _state(item: InterfaceRow, _: int) -> Cell:
    i = item.interface
    if i is None:
        return "-"
    shown = "no link" if i.carrier is False and i.up else i.operstate or "-"
    return text((item.scene.palette.word(shown, 16), PLAIN if i.active else FAINT))


def _speed(item: InterfaceRow, _: int) -> Cell:
    if item.interface is None or item.interface.speed is None:
        return text(("-", FAINT))
    return number(item.interface.speed * 8 / 1e9)


def _share(item: InterfaceRow) -> float | None:
    if item.interface is None or not item.interface.speed or item.activity is None:
        return None
    return max(item.activity.rx_bytes_per_second, item.activity.tx_bytes_per_second) / item.interface.speed


def _use(item: InterfaceRow, width: int) -> Line:
    """Draw the use of the link by its busier direction, with a mark at the share that counts as saturated."""
    share = _share(item)
    accused = item.severity in MARKS and share is not None and share >= WARN_AT
    style = item.scene.palette.severity(item.severity) if accused else OTHER
    return bar_cell(share, width, item.scene.palette, style, mark=WARN_AT)


def _activity(field: str, shown: Callable[[float | None], str]) -> dict[str, Any]:
    def value(item: InterfaceRow) -> float | None:
        found: float | None = getattr(item.activity, field) if item.activity is not None else None
        return found

    def cell(item: InterfaceRow, _: int) -> Cell:
        said = shown(value(item))
        return text((said, FAINT)) if item.stale or said in {"0", "0.0", "-"} else said

    return {"cell": cell, "value": value, "right": True}


def _per_second(*fields: str) -> dict[str, Any]:
    """Return column arguments for a rate of errors or drops, colored by severity if nonzero."""

    def value(item: InterfaceRow) -> float | None:
        return sum(getattr(item.activity, field) for field in fields) if item.activity is not None else None

    def cell(item: InterfaceRow, _: int) -> Cell:
        found = value(item)
        said = number(found)
        return (
            text((said, item.scene.palette.severity(item.severity) if found and item.severity else FAINT))
            if (not found or item.severity)
            else said
        )

    return {"cell": cell, "value": value, "right": True}


def _counted(*fields: str) -> dict[str, Any]:
    """Return column arguments for a count since boot."""

    def value(item: InterfaceRow) -> int | None:
        known = [getattr(item.interface, f) for f in fields] if item.interface is not None else []
        told = [v for v in known if v is not None]
        return sum(told) if told else None

    def cell(item: InterfaceRow, _: int) -> Cell:
        found = value(item)
        return number(found) if found else text((number(found), FAINT))

    return {"cell": cell, "value": value, "right": True}


def _note(item: InterfaceRow, _: int) -> Cell:
    return text((item.note, FAINT))


_COLUMNS = (
    TableColumn("interface", "INTERFACE", 14, _name, lambda i: natural(i.name), widest=26, rising=True),
    TableColumn("kind", "KIND", 8, _fact("kind"), keep=3),
    TableColumn("state", "STATE", 7, _state, keep=8),
    TableColumn("mtu", "MTU", 5, _fact("mtu"), lambda i: i.interface.mtu if i.interface else None, right=True),
    TableColumn("speed", "Gb/s", 5, _speed, lambda i: i.interface.speed if i.interface else None, right=True, keep=6,
                scale=1e9 / 8),
    TableColumn("duplex", "DUPLEX", 6, _fact("duplex"), keep=2),
    TableColumn("rx", "rxMiB/s", 7, style=READ, scale=MIB, **_activity("rx_bytes_per_second", mebibytes)),
    TableColumn("tx", "txMiB/s", 7, style=WRITE, scale=MIB, **_activity("tx_bytes_per_second", mebibytes)),
    TableColumn("share", "%LINE", 5, _use, _share, keep=7, widest=40, scale=PERCENT),
    TableColumn("rxp", "rx/s", 7, keep=4, style=READ, **_activity("rx_packets_per_second", whole)),
    TableColumn("txp", "tx/s", 7, keep=4, style=WRITE, **_activity("tx_packets_per_second", whole)),
    TableColumn("drops", "DROP/s", 6, keep=9, **_per_second("rx_dropped_per_second", "tx_dropped_per_second")),
    TableColumn("failing", "ERR/s", 6, keep=9, **_per_second("rx_errors_per_second", "tx_errors_per_second")),
    TableColumn("dropped", "DROPPED", 7, keep=5, **_counted("rx_dropped", "rx_missed", "tx_dropped")),
    TableColumn("errors", "ERRORS", 7, keep=5, **_counted("rx_errors", "tx_errors")),
    TableColumn("flaps", "FLAPS", 5, keep=1, **_counted("carrier_changes")),
    TableColumn("note", "", 12, _note, keep=1, widest=60),
)  # fmt: skip


class Network(View):
    """Interfaces above, the traffic of the chosen one against its capacity, shares and the IP stack below."""

    families = (Bond, Interface, InterfaceActivity, InterfaceLink, PathMtu, Tcp, TcpActivity, Traffic, *FAMILIES)
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _ports(scene))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.left = 0
        self.main = LineTable("Interfaces", _COLUMNS, id="interfaces")
        self.graph = Pane("Traffic", id="link-graph", cursor=False)
        self.stack = Pane("TCP and path MTU", id="stack")
        yield self.main
        yield self.graph
        yield self.stack

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        listed = _ports(scene)
        shares = share_rows(scene)
        stack = [*shares, *_stack(scene)]
        self._share_lines(len(listed), len(stack), len(shares))
        if listed:
            self.main.put(listed, scene.palette, "totals since boot")
        else:
            room = self.room - 2 - (len(stack) + 2 if self.stack.display else 0)
            self.main.put(
                self.absent(_nothing(scene, "interfaces", "interfaces"), scene, _SOURCES, room), scene.palette
            )
        self.stack.title = "Shares, TCP and path MTU" if shares else "TCP and path MTU"
        self.stack.put(stack or [note_row(_nothing(scene, "tcp", "TCP and path MTU"), scene)], scene.palette)
        self._show_graph()

    def _share_lines(self, interfaces: int, stack: int, shares: int) -> None:
        """Size the table by its rows, up to half, then the stack; the graph gets the remaining lines.

        On a low screen only shares are left of the stack.
        """
        height = self.room
        table = min(max(interfaces, 1) + 2, max(height // 2, 6))
        below = min(max(stack, 1), 8) + 1 if height >= 20 or not interfaces else min(shares, 3) + 1 if shares else 0
        room = height - table - below
        self.graph.display = interfaces > 0 and room > LEAST
        self.left = room - 1  # not the pane's size, which is that before a resize
        self.stack.display = below > 0
        self.stack.styles.height = below
        self.main.styles.height = table if self.graph.display else "1fr"

    def moved(self, pane: Pane) -> None:
        """Show the graph of the interface under the cursor."""
        if pane is self.main:
            self._show_graph()

    def _show_graph(self) -> None:
        if not self.graph.display:
            return
        scene, chosen = self.scene, self.main.chosen
        item = chosen.item if chosen is not None and self.main.held else None
        names = [row.item.name for row in self.main.rows if isinstance(row.item, InterfaceRow)]
        name = item.name if isinstance(item, InterfaceRow) else busiest(names, scene) or (names[0] if names else "")
        link = link_history(name, scene)
        self.graph.title = link.title(scene)
        lines = link_lines(link, scene, self.app.size.width, self.left)
        self.graph.put([words(line) for line in lines or [nothing_line(link, scene)]], scene.palette, link.note(scene))


_SOURCES = ("interfaces", "network", "links", "tcp", "paths")
"""Names of the collectors for interfaces, TCP and paths."""


def _nothing(scene: Scene, collector: str, what: str) -> str:
    """Return why nothing is shown."""
    run = scene.now.runs.get(collector)
    if run is None:
        return f"{what}: no data yet"
    if run.outcome in BAD:
        return f"{what}: {run.outcome.value}, {run.reason}"
    if not run.recorded and not scene.session.origin.live:
        return f"{what}: not recorded"
    return f"{what}: none"


def _ports(scene: Scene) -> list[Row]:
    interfaces, stale = scene.rows(Interface)
    activities, stale_activity = scene.rows(InterfaceActivity)
    worst = scene.worst()
    return [
        Row(
            name,
            InterfaceRow(
                name, lead, interfaces.get(name), activities.get(name), scene, _about(name, scene), worst.get(name),
                stale or stale_activity,
            ),
            None,
            f"{name} {interfaces[name].kind if name in interfaces else ''}",
        )
        for name, lead in tree(scene)
    ]  # fmt: skip


def _lowers(topology: Topology, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the interfaces that each interface is built on."""
    things = {name: topology.named(Naming.NET, name) for name in names}
    lowers = {name: topology.lower(thing) if thing is not None else {} for name, thing in things.items()}
    return {
        name: [part for other in parts if (part := other.named(Naming.NET)) is not None]
        for name, parts in lowers.items()
    }


def tree(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield every interface once, below the one built on it: a bridge, its bond, the bond's slaves."""
    names = sorted({*map(str, scene.rows(Interface)[0]), *map(str, scene.rows(InterfaceActivity)[0])}, key=natural)
    lowers = _lowers(scene.window.topology, names)
    carried = {part for parts in lowers.values() for part in parts}
    seen: set[str] = set()
    between, last = scene.palette.branches

    def below(name: str, lead: str, hang: str) -> Iterator[tuple[str, str]]:
        if name in seen or len(lead) > 30:
            return
        seen.add(name)
        yield name, lead + hang
        deeper = lead + ("" if not hang else "   " if hang == last and len(last) == 3 else " " * len(hang))
        parts = sorted(lowers.get(name, ()), key=natural)
        for at, part in enumerate(parts):
            yield from below(part, deeper, last if at == len(parts) - 1 else between)

    for name in [*(n for n in names if n not in carried and n != "lo"), *names]:
        yield from below(name, "", "")


def _about(name: str, scene: Scene) -> str:
    word = scene.palette.word
    bond = scene.rows(Bond)[0].get(name)
    facts: list[str] = []
    if bond is not None:
        facts.extend(word(f, 40) for f in (bond.mode, bond.hash_policy, bond.active_slave) if f)
    facts.extend(
        f"veth peer {word(link.upper if link.interface == name else link.interface, 20)}"
        for link in scene.rows(InterfaceLink)[0].values()
        if link.relation == "veth" and name in {link.interface, link.upper}
    )
    interface = scene.rows(Interface)[0].get(name)
    if interface is not None and interface.driver:
        facts.append(word(interface.driver, 20))
    return "  ".join(facts)


def _stack(scene: Scene) -> Iterator[Row]:
    activity = next(iter(scene.rows(TcpActivity)[0].values()), None)
    tcp = next(iter(scene.rows(Tcp)[0].values()), None)
    if activity is not None or tcp is not None:
        sent = number(activity.out_per_second) if activity else "-"
        again = number(activity.retransmitted_per_second) if activity else "-"
        share = percent(activity.retransmitted_ratio) if activity else "-"
        line = text((" tcp        ", FAINT), f"{sent} segments/s, {again}/s retransmitted ({share}%)")
        yield words(line, "tcp", Quote("/proc/net/snmp", scene.now.number, "Tcp:"))
    if tcp is not None:
        more = f"{number(tcp.established)} connections, {number(tcp.timeouts)} retransmission timeouts since boot"
        yield words(text(" " * 12, more), "tcp totals", Quote("/proc/net/netstat", scene.now.number, "TcpExt:"))
    dropped = sum(s.dropped for s in scene.rows(Softnet)[0].values())
    squeezed = sum(s.squeezed for s in scene.rows(Softnet)[0].values())
    if scene.rows(Softnet)[0]:
        said = f"{number(dropped)} packets dropped, {number(squeezed)} budget overruns (time_squeeze) since boot"
        line = text((" backlog    ", FAINT), said)
        yield words(line, "softnet", Quote("/proc/net/softnet_stat", scene.now.number))
    run = scene.now.run_of(PathMtu)
    for path in scene.rows(PathMtu)[0].values():
        source = path.source()
        facts = f"path MTU {number(path.mtu)}, {path.interface or '-'} {number(path.interface_mtu)}"
        line = text(
            (" path mtu   ", FAINT), f"{scene.palette.word(path.destination, 60)}: {scene.palette.word(facts, 80)}"
        )
        line = (*line, *text((f"   expires in {duration(path.expires)}", FAINT)))
        quote = Quote(source.key, scene.now.number, source.needle) if source is not None else None
        yield words(line, ("path", path.destination), quote)
    if run is not None and not scene.rows(PathMtu)[0]:
        yield words(text((" path mtu   ", FAINT), "no path MTU below its interface"))
