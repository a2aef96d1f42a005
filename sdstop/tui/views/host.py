"""Host: processors, memory modules, NUMA nodes, top I/O processes, status of all sources, kernel log."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from sdstop.collectors.fabric.readings import InterfaceNode, NumaActivity, NumaNode
from sdstop.collectors.memory.readings import Dimm, MemorySocket
from sdstop.collectors.system.readings import CpuActivity, Node, Pressure
from sdstop.core.finding import Finding, Severity
from sdstop.tui.device.graph_grid import GraphGrid
from sdstop.tui.scene import Scene
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.gauges import gauge_lines
from sdstop.tui.views.kernel_log import log_note, log_rows
from sdstop.tui.views.modules import module_rows
from sdstop.tui.views.node_courses import node_courses
from sdstop.tui.views.nodes import COLUMNS, node_rows
from sdstop.tui.views.processes import PROCESSES, process_rows
from sdstop.tui.views.sources import SOURCES, source_rows
from sdstop.tui.views.view import Listing, View
from sdstop.tui.widgets.palette import BANNER, FAINT, MARKS, PLAIN, UNKNOWN_WORD, Line, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import LineTable

PAGES = ("Load", "Hardware", "Sources", "Kernel log")
"""Pages of a screen that is too small to show all panes."""
_FEWEST = 8
"""Minimum useful number of lines for a table."""
_GRAPHED = 5
"""Minimum lines of a graph with its title."""
_LOGGED = 4
"""Minimum lines of the kernel log beside other panes."""


class HostView(View):
    """Two columns on a wide screen, or else one of four pages, turned by the view's key."""

    families = (CpuActivity, Dimm, InterfaceNode, MemorySocket, Node, NumaActivity, NumaNode, Pressure)
    tables = (COLUMNS, PROCESSES, SOURCES)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(COLUMNS, node_rows(scene))
        yield Listing(PROCESSES, process_rows(scene)[0])
        yield Listing(SOURCES, source_rows(scene)[0])

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.page = 0
        self.scene: Scene | None = None
        self.pages = Pane(id="host-pages", cursor=False)
        self.gauges = Pane("Processors and memory", id="gauges", cursor=False)
        self.modules = Pane("Memory modules", id="modules")
        self.nodes = LineTable("NUMA nodes", COLUMNS, id="nodes")
        self.processes = LineTable("Top I/O processes", PROCESSES, id="host-processes", steady=True)
        self.sources = self.main = LineTable("Data sources", SOURCES, id="sources", sort="outcome")
        self.logged = Pane("Kernel log", id="host-log")
        self.graphs = GraphGrid("host-graphs")
        self.left = Vertical(id="host-left")
        self.right = Vertical(id="host-right")
        yield self.pages
        with Horizontal(id="host-halves"):
            with self.left:
                yield self.gauges
                yield self.modules
                yield self.nodes
                yield self.graphs
            with self.right:
                yield self.processes
                yield self.sources
                yield self.logged

    def turn(self) -> None:
        """Show the next page, or focus the next pane if all panes are visible."""
        self.page = (self.page + 1) % len(PAGES)
        if self.scene is not None:
            self.show(self.scene)
        self.screen.set_focus(self.main)

    def point(self, key: Hashable) -> None:
        """Put the cursor on a row, on the page that has it."""
        for page, table in enumerate((self.processes, self.nodes, self.sources)):
            if any(row.key == key for row in table.rows):
                if not table.display:
                    self.page = page
                    if self.scene is not None:
                        self.show(self.scene)
                break
        super().point(key)

    def lead(self, finding: Finding) -> None:
        """Turn to the page of the object of a finding."""
        scene = self.scene
        if scene is None:
            return
        hardware = _is_hardware(finding.view_subject or finding.subject, scene)
        logged = finding.rule.startswith("kernel-")
        self.page = PAGES.index("Kernel log" if logged else "Hardware" if hardware else "Load")
        self.show(scene)
        self.screen.set_focus(self.main)

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        width, height = self.app.size.width, self.room
        wide = width >= 160
        half = width // 2 - 1 if wide else width
        lines = gauge_lines(scene, half)
        modules, note = module_rows(scene, half)
        nodes = node_rows(scene)
        processes, hidden = process_rows(scene)
        sources, fare = source_rows(scene)
        logged = log_rows(scene, half)
        wanted = len(lines) + 1, len(modules) + 1, len(nodes) + 2, len(processes) + 2, len(logged) + 1
        self.main = self._arrange(scene, wanted, height, wide=wide)
        self.gauges.put([words(line) for line in lines], scene.palette)
        self.modules.put(modules, scene.palette, note)
        self.nodes.put(nodes, scene.palette)
        self.processes.put(processes, scene.palette, hidden)
        self.sources.put(sources, scene.palette, fare)
        none = [note_row(" No messages about storage are kept.", scene)]
        self.logged.put(logged or none, scene.palette, log_note(scene))
        self.pages.put([Row(line=lambda _: self._tabs(scene))], scene.palette)

    def _arrange(self, scene: Scene, wanted: Sequence[int], height: int, *, wide: bool) -> Pane:
        """Distribute the lines among the panes; return the pane to focus."""
        gauges, modules, nodes, processes, logged = wanted
        known = any(scene.rows(family)[0] for family in (Dimm, NumaNode))
        graphed = 0
        left = gauges + modules + nodes
        whole = height >= gauges + nodes + _FEWEST if wide else height >= left + 2 * _FEWEST
        shown: dict[Pane, int | None]
        if whole:
            room = height if wide else height - 2 * _FEWEST
            spare = room - 2 * _FEWEST if wide else 0
            log = min(logged, spare // 2) if logged > 1 and spare >= 2 * _LOGGED else 0
            shown = {
                self.gauges: gauges, self.nodes: nodes, self.modules: min(modules, room - gauges - nodes),
                self.processes: min(processes, max((height - log) // 2, _FEWEST)) if wide else None,
                self.sources: None, self.logged: log,
            }  # fmt: skip
            graphed = wide and room - gauges - nodes - min(modules, room - gauges - nodes)
            keyed: Pane = (self.sources, self.modules, self.processes, self.logged if log else self.sources)[self.page]
        elif PAGES[self.page] == "Load":
            gauges = min(gauges, max(height - 1 - _FEWEST, 0))
            spare = height - 1 - gauges - processes >= _FEWEST
            shown = {self.gauges: gauges, self.processes: processes if spare else None}
            shown |= {self.sources: None} if spare else {}
            keyed = self.processes
        elif PAGES[self.page] == "Hardware":
            table = min(nodes, max((height - 1) // 2, 3))
            shown = {self.modules: height - 1 - table if known else 2, self.nodes: table}
            keyed = self.modules
        elif PAGES[self.page] == "Sources":
            shown, keyed = {self.sources: None}, self.sources
        else:
            shown, keyed = {self.logged: None}, self.logged
        for pane in (self.gauges, self.modules, self.nodes, self.processes, self.sources, self.logged):
            lines = shown.get(pane, 0)
            pane.display = lines is None or lines > 1
            pane.styles.height = "1fr" if lines is None else lines
        self._show_graphs(scene, graphed)
        self.pages.display = not whole
        self.left.display = any(pane.display for pane in (self.gauges, self.modules, self.nodes))
        self.right.display = any(pane.display for pane in (self.processes, self.sources, self.logged))
        taken = sum(lines for lines in shown.values() if lines)
        self.left.styles.height = "1fr" if wide and whole else taken
        self.right.styles.height = "1fr"
        return keyed

    def _show_graphs(self, scene: Scene, room: int) -> None:
        """Draw the courses of the node in the lines that the left column leaves."""
        shown = node_courses(scene) if room >= _GRAPHED else []
        shown = shown if room >= 2 * _GRAPHED else shown[:2]
        self.graphs.draw(shown, scene, self.app.size.width // 2 - 1, room)

    def _tabs(self, scene: Scene) -> Line:
        worst = scene.worst()
        said = [worst[name] for name in worst if _is_hardware(name, scene)]
        severity = max(said, key=lambda s: s.rank, default=None)
        logged = max((each.severity for each in scene.in_force if each.rule == "kernel-faults"), default=None,
                     key=lambda each: each.rank)  # fmt: skip
        marks = {
            "Hardware": _mark(severity, scene), "Sources": _unknown(scene), "Kernel log": _mark(logged, scene),
        }  # fmt: skip
        parts = list(text(" "))
        for at, title in enumerate(PAGES):
            parts += text((f" {title} ", BANNER if at == self.page else PLAIN))
            parts += marks.get(title, ())
            parts += text("  ")
        return (*parts, *text(("6: next page", FAINT)))


def _is_hardware(name: str, scene: Scene) -> bool:
    return name == "memory" or name.startswith("node") or scene.rows(Dimm)[0].get(name) is not None


def _mark(severity: Severity | None, scene: Scene) -> Line:
    if severity not in MARKS:
        return ()
    return text((MARKS[severity], scene.palette.severity(severity)))


def _unknown(scene: Scene) -> Line:
    count = len(scene.troubled)
    return text((f"{count} {UNKNOWN_WORD}", scene.palette.severity(None))) if count else ()
