"""Health: load, waits and traffic of a node in one line, or those of its cluster if the node has no disks in use."""

from __future__ import annotations

from rich.segment import Segment

from sdstop.collectors.system.readings import CpuActivity, Node
from sdstop.core.format import done, number
from sdstop.readings.cluster import Cluster, ClusterPool
from sdstop.readings.rebuild import Rebuild
from sdstop.tui.pictures.drawing import stretched
from sdstop.tui.pictures.series import Flow, cluster_flow, disk_flow
from sdstop.tui.scene import Scene
from sdstop.tui.views.vitals import cpu, mark, node, stalled
from sdstop.tui.widgets.graph import step
from sdstop.tui.widgets.palette import Line, text, width_of
from sdstop.tui.widgets.roles import role
from sdstop.tui.widgets.strip import spark

MIB = float(1 << 20)


def health_line(scene: Scene, width: int) -> Line:
    """Return the line; figures that do not fit are left out, the graphs first."""
    flow = disk_flow(scene)
    lead = _node(scene) if flow is not None or node(scene) is not None else []
    if flow is None or (not any(flow.reads) and not any(flow.writes)):
        for _, cluster in cluster_flow(scene):
            flow, lead = cluster, _cluster(scene) or lead
    line: list[Segment] = [Segment(" ")]
    for parts in (*lead, *_rebuilds(scene)):
        if width_of(line) + width_of(parts) <= width:
            line += parts
    return (*line, *_traffic(flow, scene, width - width_of(line))) if flow is not None else tuple(line)


def _node(scene: Scene) -> list[Line]:
    n, c = node(scene), cpu(scene)
    found = []
    if n is not None and n.load1 is not None:
        of = f"/{n.cpus}" if n.cpus else ""
        found.append(
            text((f"load{mark(scene, Node)}", role("dim")), (f"{n.load1:.1f}", role("strong")), (of, role("dim")), "  ")
        )
    if c is not None:
        said = f"{c.iowait:.0%}"
        found.append(text((f"iowait{mark(scene, CpuActivity)}", role("dim")), (said, role("strong")), "  "))
    stall = stalled(scene, "io")
    if stall is not None:
        found.append(text(("stall ", role("dim")), (f"{stall:.0%}", role("strong")), "  "))
    return found


def _rebuilds(scene: Scene) -> list[Line]:
    """Return the running rebuild that is done least, by its share."""
    known = [row for row in scene.rows(Rebuild)[0].values() if row.progress is not None]
    row = min(known, key=lambda row: row.progress or 0.0, default=None)
    if row is None:
        return []
    said = f"{scene.palette.word(row.operation, 12)} "
    return [text((said, role("dim")), (f"{done(row.progress)}%", role("strong")), "  ")]


def _cluster(scene: Scene) -> list[Line]:
    found = []
    word = scene.palette.word
    pools = list(scene.rows(ClusterPool)[0].values())
    busiest = max(pools, key=lambda pool: (pool.reads or 0.0) + (pool.writes or 0.0), default=None)
    if busiest is not None and (busiest.reads is not None or busiest.writes is not None):
        rate = number((busiest.reads or 0.0) + (busiest.writes or 0.0))
        found.append(text((f"{word(busiest.pool, 20)} ", role("dim")), (f"{rate} IOPS", role("strong")), "  "))
    for cluster in list(scene.rows(Cluster)[0].values())[:1]:
        for up, every, what in ((cluster.nodes_up, cluster.nodes, "nodes"),
                                (cluster.managers_up, cluster.managers, "managers")):  # fmt: skip
            if up is not None and every:
                found.append(text((f"{up}/{every}", role("strong")), (f" {what}  ", role("dim"))))
    return found


def _traffic(flow: Flow, scene: Scene, room: int) -> Line:
    """Return reads and writes in MiB/s with a graph each, as wide as there is room."""
    read, write = (f"{(value or 0.0) / MIB:.1f} " for value in (flow.read, flow.write))
    fixed = len(f"r {read}w {write}MiB/s") + 4
    graph = min(max((room - fixed) // 2, 0), 40)
    if room < fixed - 2:
        return ()
    top = step(max([MIB, *(v for v in (*flow.reads, *flow.writes) if v is not None)]) / MIB) * MIB
    palette = scene.palette

    def one(name: str, said: str, values: list[float | None], color: str) -> Line:
        drawn = spark(stretched(values, graph, palette), graph, top, palette, role(color)) if graph >= 4 else ()
        gap = "  " if graph >= 4 else " "
        return (*text((f"{name} ", role(color, bold=True)), said), *drawn, Segment(gap))

    return (
        *one("r", read, flow.reads, "read"), *one("w", write, flow.writes, "write"), *text(("MiB/s", role("dim"))),
    )  # fmt: skip
