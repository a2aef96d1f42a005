"""Traffic: reads and writes of arrays, disks, interfaces or pools side by side, reads up and writes down on one scale."""

from __future__ import annotations

from msgspec import Struct

from sdstop.analysis.likeness import DeviceFold, device_folds
from sdstop.collectors.network.interfaces import Interface, InterfaceActivity
from sdstop.core.finding import Finding
from sdstop.core.format import duration, wait
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import dots, nice
from sdstop.tui.pictures.series import Flow, cluster_flow, disk_flow, fold_flow, interface_flow
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import Line, Palette, text, width_of
from sdstop.tui.widgets.roles import role

MIB = float(1 << 20)
_AXIS = 9
_NARROWEST = 44
"""Minimum cells of a graph beside another."""


class Graph(Struct, frozen=True):
    """One graph: name, facts and a flow; values are divided by `unit`, whose name is `said`, and at least `floor`."""

    name: str
    facts: str
    flow: Flow
    unit: float = MIB
    floor: float = MIB
    said: str = "MiB/s"
    ways: tuple[str, str] = ("r", "w")
    capacity: float | None = None


def graph_lines(graph: Graph, palette: Palette, width: int, height: int) -> list[Line]:
    """Return the lines of a graph: its name, then reads up and writes down from one baseline."""
    head = text((f"{palette.word(graph.name, 40)}  ", role("strong", bold=True)), (palette.word(graph.facts, 80), role("dim")))
    height = max(height - 1, 2)
    room = width - _AXIS - 1
    reads = max((v for v in graph.flow.reads if v is not None), default=0.0)
    writes = max((v for v in graph.flow.writes if v is not None), default=0.0)
    # Each direction gets quarters of the lines by its maximum; both have the same scale a line.
    quarters = round(4 * reads / (reads + writes)) if reads + writes else 2
    up = min(max(round(height * quarters / 4), 1), height - 1)
    scale = nice(max(reads / up, writes / (height - up), graph.floor / height), graph.floor / 100)
    top, low = scale * up, scale * (height - up)
    above = dots(graph.flow.reads, top, room, up, palette)
    below = dots(graph.flow.writes, low, room, height - up, palette, down=True)
    labels = [""] * height
    if up > 1:
        labels[0] = _figure(top, graph)
    if height - up > 1:
        labels[-1] = _figure(low, graph)
    lines = [head]
    for at, drawn in enumerate((*above, *below)):
        color = "read" if at < up else "write"
        label: Line
        if at in {up - 1, up}:
            value = graph.flow.read if at < up else graph.flow.write
            way = graph.ways[at >= up]
            label = text((f"{way} {_figure(value, graph)}"[: _AXIS - 1].ljust(_AXIS), role(color, bold=True)))
        else:
            label = text((f"{labels[at]:>{_AXIS - 1}} ", role("dim")))
        lines.append((*label, *text((drawn, role(color)))))
    return lines


def _figure(value: float | None, graph: Graph) -> str:
    if value is None:
        return "-"
    shown = value / graph.unit
    return f"{shown:.0f}" if shown >= 99.95 else f"{shown:.1f}"


def side_by_side(graphs: list[Graph], palette: Palette, width: int, height: int) -> list[Line]:
    """Return graphs beside each other if they are wide enough, the first ones only."""
    across = max(min(len(graphs), (width - 1) // _NARROWEST), 1)
    size = (width - 1) // across
    drawn = [graph_lines(graph, palette, size - 2, height) for graph in graphs[:across]]
    lines: list[Line] = []
    for row in zip(*drawn, strict=True):
        line: list[Line] = [text(" ")]
        for part in row:
            line += [part, text(" " * max(size - width_of(part), 0))]
        lines.append(tuple(segment for part in line for segment in part))
    return lines


def load_picture(finding: Finding | None, scene: Scene) -> Picture | None:
    """Return the reads and writes of the arrays and disks of a node, or of its cluster; None if nothing is measured."""
    graphs = device_graphs(scene, finding)
    if not graphs:
        flow = cluster_flow(scene)
        graphs = [Graph("pool", "as the cluster reports it", flow)] if flow is not None else []
    if not graphs:
        graphs = interface_graphs(scene, "")
    if not graphs:
        return None
    return Picture(
        f"Load, {duration(graphs[0].flow.seconds)}", lambda width, height: side_by_side(graphs, scene.palette, width, height),
        tuple(range(4, 15)), graphs[0].said,
    )  # fmt: skip


def _folds(scene: Scene, finding: Finding | None, read: str, write: str, *, mean: bool) -> list[tuple[DeviceFold, Flow]]:
    """Return the devices to draw: those of the finding, arrays and groups of disks, then single disks, if in use."""
    named = set(finding.subjects) if finding is not None else set()
    folds = [fold for fold in device_folds(scene.window, scene.in_force) if not fold.inner]
    folds.sort(key=lambda fold: (fold.devices[0].name not in named, len(fold.devices) == 1 and fold.devices[0].whole))
    found = []
    for fold in folds[:_MOST]:
        flow = fold_flow(scene, fold, read, write, mean=mean)
        if flow is not None and any(value for value in (*flow.reads, *flow.writes)):
            found.append((fold, flow))
    return found


_MOST = 8


def device_graphs(scene: Scene, finding: Finding | None = None) -> list[Graph]:
    """Return a graph for each array, each group of disks and each disk in none, those of a finding first."""
    found = []
    for fold, flow in _folds(scene, finding, "read_bytes_per_second", "write_bytes_per_second", mean=False):
        facts = f"{fold.figures.busy:.0%} busy" if fold.figures.busy is not None else ""
        found.append(Graph(fold.label, facts, flow))
    if not found:
        whole = disk_flow(scene)
        return [Graph("all disks", "no I/O", whole)] if whole is not None else []
    return found


def wait_picture(scene: Scene, finding: Finding | None = None) -> Picture | None:
    """Return the mean latency of reads and writes of the same devices, None if nothing is measured."""
    graphs = []
    for fold, flow in _folds(scene, finding, "read_wait", "write_wait", mean=True):
        facts = f"r {wait(fold.figures.read_wait)}  w {wait(fold.figures.write_wait)} ms now"
        graphs.append(Graph(fold.label, facts, flow, 0.001, 0.001, "ms"))
    if not graphs:
        return None
    return Picture(
        f"Latency, {duration(graphs[0].flow.seconds)}",
        lambda width, height: side_by_side(graphs, scene.palette, width, height), tuple(range(4, 13)), "ms a request",
    )  # fmt: skip


def interface_graphs(scene: Scene, subject: str) -> list[Graph]:
    """Return the traffic of an interface; without one of that name, of the busiest two."""
    rows = [row for row in scene.rows(InterfaceActivity)[0].values() if row.interface != "lo"]
    rows.sort(key=lambda row: (row.interface != subject, -(row.rx_bytes_per_second + row.tx_bytes_per_second)))
    found = []
    for row in rows[:2]:
        flow = interface_flow(scene, row.interface)
        interface = scene.rows(Interface)[0].get(row.interface)
        facts = []
        if interface is not None and interface.speed:
            share = max(row.rx_bytes_per_second, row.tx_bytes_per_second) / interface.speed
            facts.append(f"{share:.0%} of {interface.speed * 8 / 1e9:g} Gbit/s")
        if interface is not None and interface.mtu:
            facts.append(f"MTU {interface.mtu}")
        if flow is not None:
            found.append(Graph(row.interface, "  ".join(facts), flow, ways=("rx", "tx")))
    return found


def network_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the traffic of the interface that a finding is about."""
    graphs = interface_graphs(scene, finding.view_subject or finding.subject)
    if not graphs:
        return None
    return Picture(
        "Traffic", lambda width, height: side_by_side(graphs, scene.palette, width, height), tuple(range(4, 15)),
        "MiB/s, rx up, tx down",
    )  # fmt: skip
