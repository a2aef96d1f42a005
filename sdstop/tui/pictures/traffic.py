"""Traffic: reads up and writes down, of arrays, disks, interfaces or pools side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.analysis.disks.likeness import DeviceFold, device_folds
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.finding import Finding
from sdstop.core.format import NONE, duration, natural, share_of_time, wait
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import stretched
from sdstop.tui.pictures.series import Flow, cluster_flow, disk_flow, fold_flow, interface_flow
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import Axis, bar, traffic
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, Palette, text, width_of
from sdstop.tui.widgets.roles import role

MIB = float(1 << 20)
_WAIT_FLOOR = 5.0
"""Least end of a scale of milliseconds, so that a steady wait of 1 ms looks short."""
_NARROWEST = 44
"""Minimum cells of a graph beside another."""


class Graph(Struct, frozen=True):
    """One graph: name, facts and a flow, drawn in units of `unit` on a scale of at least `floor` of these."""

    name: str
    facts: str
    flow: Flow
    unit: float = MIB
    floor: float = 1.0
    ways: tuple[str, str] = ("r", "w")


def graph_lines(graph: Graph, palette: Palette, width: int, height: int) -> list[Line]:
    """Return the lines of a graph: its name, then reads up and writes down from one baseline."""
    head = text((f"{palette.word(graph.name, 40)}  ", STRONG), (palette.word(graph.facts, 80), FAINT))
    axis = Axis(_figure, graph.ways, floor=graph.floor)
    up, down = (
        stretched([None if value is None else value / graph.unit for value in side], axis.room(width), palette)
        for side in (graph.flow.reads, graph.flow.writes)
    )
    return [head, *traffic(up, down, width, max(height - 1, 2), palette, axis)]


def _figure(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def side_by_side(graphs: Iterable[Graph], palette: Palette, width: int, height: int) -> list[Line]:
    """Return graphs beside each other; those without room are not taken."""
    chosen = list(islice(graphs, max((width - 1) // _NARROWEST, 1)))
    size = (width - 1) // max(len(chosen), 1)
    drawn = [graph_lines(graph, palette, size - 2, height) for graph in chosen]
    lines: list[Line] = []
    for row in zip(*drawn, strict=True):
        line: list[Line] = [text(" ")]
        for part in row:
            line += [part, text(" " * max(size - width_of(part), 0))]
        lines.append(tuple(segment for part in line for segment in part))
    return lines


def _picture(title: str, graphs: Callable[[], Iterable[Graph]], scene: Scene, note: str) -> Picture | None:
    """Return the picture of graphs, None without any."""
    rest = iter(graphs())
    first = next(rest, None)
    if first is None:
        return None
    taken = [first]

    def all_graphs() -> Iterator[Graph]:
        """Yield the graphs; those that were drawn before are not computed again."""
        for at in count():
            if at == len(taken):
                taken.extend(islice(rest, 1))
            if at == len(taken):
                return
            yield taken[at]

    def draw(width: int, height: int) -> list[Line]:
        return side_by_side(all_graphs(), scene.palette, width, height)

    return Picture(f"{title}, {duration(first.flow.seconds)}", draw, tuple(range(4, 13)), note, _WHOLE)


_WHOLE = 5
"""Lines with which a graph shows enough."""


def load_picture(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the reads and writes of the arrays and disks of a node, or of its cluster; None if nothing is measured.

    Without a finding the busiest interface is among them, first if it carries far more than the disks.
    """
    devices = (lambda: device_graphs(scene, finding)) if finding is not None else (lambda: node_graphs(scene))
    return _picture("Load", devices, scene, "MiB/s") or _picture(
        "Load", lambda: cluster_graphs(scene), scene, "MiB/s"
    ) or network_picture(finding, scene)  # fmt: skip


def cluster_graphs(scene: Scene) -> Iterator[Graph]:
    """Yield the graph of the pool with most traffic."""
    for name, flow in cluster_flow(scene):
        yield Graph(f"pool {name}", "as reported by the cluster", flow)


def _folds(
    scene: Scene, finding: Finding | None, read: str, write: str, *, mean: bool
) -> Iterator[tuple[DeviceFold, Flow]]:
    """Yield the devices to draw: those of the finding, arrays and groups of disks, then single disks, if in use."""
    named = set(finding.subjects) if finding is not None else set()
    folds = [fold for fold in device_folds(scene.window, scene.in_force) if not fold.inner]
    folds.sort(key=lambda fold: (fold.devices[0].name not in named, len(fold.devices) == 1 and fold.devices[0].whole))
    resting, busy = [], False
    for fold in folds:
        flow = fold_flow(scene, fold, read, write, mean=mean)
        if flow is None or not any(value for value in (*flow.reads, *flow.writes)):
            continue
        used = sum(bool(reads or writes) for reads, writes in zip(flow.reads, flow.writes, strict=True))
        if mean and fold.devices[0].name not in named and used < _USED * len(flow.reads):
            resting.append((fold, flow))
        else:
            busy = True
            yield fold, flow
    if not busy:
        yield from resting


_USED = 0.2
"""Share of the time with requests below which a latency is not drawn beside that of devices in use."""


def _is_alone(fold: DeviceFold, scene: Scene) -> bool:
    """Return whether a fold is one device of several that is neither an array nor in a group."""
    if len(fold.devices) > 1 or fold.devices[0].kind == "md" or fold.group:
        return False
    return sum(drive.whole and drive.is_counted for drive in scene.drives().values()) > 1


def _sum(fold: DeviceFold) -> str:
    """Return the name of the sum of a fold's devices, whose label may speak of their median."""
    named = len(fold.devices) == 1 or fold.devices[0].name in fold.label
    return fold.label if named else f"{len(fold.devices)} disks together"


def device_graphs(scene: Scene, finding: Finding | None = None) -> Iterator[Graph]:
    """Yield a graph for each array, each group of disks and each disk in none, those of a finding first."""
    none = True
    for fold, flow in _folds(scene, finding, "read_bytes_per_second", "write_bytes_per_second", mean=False):
        if none and finding is None and _is_alone(fold, scene) and (whole := disk_flow(scene)) is not None:
            yield Graph("all disks", "together", whole)
        none = False
        median = "median " if len(fold.devices) > 1 else ""
        yield Graph(
            _sum(fold),
            f"{median}{share_of_time(fold.figures.busy)} busy" if fold.figures.busy is not None else "",
            flow,
        )
    whole = disk_flow(scene) if none else None
    if whole is not None:
        yield Graph("all disks", "no I/O", whole)


def node_graphs(scene: Scene) -> Iterator[Graph]:
    """Yield the graphs of devices and one of the busiest interface; none without devices."""
    devices = list(islice(device_graphs(scene), _ACROSS))
    busiest = next(interface_graphs(scene, ""), None) if devices else None
    if busiest is None or not any((*busiest.flow.reads, *busiest.flow.writes)):
        yield from devices
        return
    carried, disks = _newest(busiest.flow), disk_flow(scene)
    leads = carried > _FAR * max(_newest(disks) if disks is not None else 0.0, MIB)
    yield from ([busiest, *devices] if leads else [*devices[: _ACROSS - 1], busiest, *devices[_ACROSS - 1 :]])


_ACROSS = 3
"""Graphs side by side on a wide screen."""
_FAR = 10.0
"""Multiple of the bytes of all disks from which the traffic of an interface is drawn first."""


def _newest(flow: Flow) -> float:
    return (flow.read or 0.0) + (flow.write or 0.0)


def wait_picture(scene: Scene, finding: Finding | None = None) -> Picture | None:
    """Return the mean latency of reads and writes of the same devices, None if nothing is measured."""

    def graphs() -> Iterator[Graph]:
        for fold, flow in _folds(scene, finding, "read_wait", "write_wait", mean=True):
            facts = f"r {wait(flow.read)}  w {wait(flow.write)} ms now"
            yield Graph(fold.label.replace(", median", ", mean"), facts, flow, 0.001, floor=_WAIT_FLOOR)

    return _picture("Latency", graphs, scene, "ms a request")


def interface_graphs(scene: Scene, subject: str) -> Iterator[Graph]:
    """Yield the traffic of interfaces: the one of that name first, then the busiest."""
    rows = [row for row in scene.rows(InterfaceActivity)[0].values() if row.interface != "lo"]
    rows.sort(key=lambda row: (row.interface != subject, -(row.rx_bytes_per_second + row.tx_bytes_per_second)))
    for row in rows:
        flow = interface_flow(scene, row.interface)
        interface = scene.rows(Interface)[0].get(row.interface)
        facts = []
        if interface is not None and interface.speed:
            share = max(row.rx_bytes_per_second, row.tx_bytes_per_second) / interface.speed
            facts.append(f"{share:.0%} of {interface.speed * 8 / 1e9:g} Gbit/s")
        if interface is not None and interface.mtu:
            facts.append(f"MTU {interface.mtu}")
        if flow is not None:
            yield Graph(row.interface, "  ".join(facts), flow, ways=("rx", "tx"))


def network_picture(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the traffic of the interface that a finding is about, and of others; None if nothing is measured."""
    subject = (finding.view_subject or finding.subject) if finding is not None else ""
    found = _picture("Traffic", lambda: interface_graphs(scene, subject), scene, "MiB/s, received up, sent down")
    slaves = [row for row in scene.rows(Interface)[0].values() if row.master == subject] if subject else []
    if found is None or len(slaves) < 2:
        return found
    graph, steps = found.draw, tuple(range(len(slaves), len(slaves) + 1 + found.steps[-1]))

    def draw(width: int, height: int) -> list[Line]:
        lines = slave_lines(slaves, finding, scene, width)[:height]
        left = height - len(lines)
        return lines + graph(width, left) if left >= found.steps[0] else lines

    return replace(found, draw=draw, steps=(steps[0], *steps[found.steps[0] :]), whole=len(slaves) + found.whole)


def slave_lines(slaves: Sequence[Interface], finding: Finding | None, scene: Scene, width: int) -> list[Line]:
    """Return a line for each slave of a bond: receive and send rate against its speed."""
    palette = scene.palette
    accused = set(finding.subjects) if finding is not None else set()
    accused |= {each.subject for each in scene.in_force if finding is not None and each.id in finding.explains}
    color = ROLES.get(finding.severity, "text") if finding is not None else "text"
    name = min(max(cell_len(row.interface) for row in slaves), 15)
    size = max((width - name - 29) // 2, 4)
    lines = []
    for row in sorted(slaves, key=lambda row: natural(row.interface)):
        did = scene.rows(InterfaceActivity)[0].get(row.interface)
        bad = row.interface in accused
        parts = list(text((f" {palette.fit(palette.word(row.interface, 15), name)} ", role(color if bad else "dim"))))
        rates: tuple[float | None, float | None] = (
            (None, None) if did is None else (did.rx_bytes_per_second, did.tx_bytes_per_second)
        )
        for way, rate, usual in zip(("rx", "tx"), rates, ("read", "write"), strict=True):
            share = rate / row.speed if rate is not None and row.speed else None
            full = bad and (share or 0.0) >= _FULL
            said = "   ?" if share is None else f"{share:>4.0%}"
            parts += text((f" {way} ", FAINT))
            parts += bar(share, size, palette, role(color if full else usual))
            parts += text((f" {said} ", role(color if full else "text")))
        lines.append((*parts, *text((f"{row.speed * 8 / 1e9:g} Gb/s" if row.speed else "", FAINT))))
    return lines


_FULL = 0.8
"""Share of its line at which an accused slave is drawn in the color of the finding."""
