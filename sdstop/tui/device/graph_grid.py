"""Grid of graphs: at most four courses of one thing, two in a row, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container, Horizontal

from sdstop.tui.device.graphs import LABELS, Course, graph_lines, shown_seconds
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.pane import Pane, words

MOST = 4
"""Graphs of a page."""
TALLEST, LOWEST = 13, 3
"""Lines of a graph with its title."""


class GraphPane(Pane):
    """Pane with a graph of the last `past` seconds. A click goes to its moment."""

    past = 0.0

    def time_at(self, x: int, y: int) -> float | None:
        """Return how many seconds before the shown moment a cell of the graph is; None beside it."""
        room = max(self.size.width - LABELS - 2, 1)
        at = x - LABELS - 1
        inside = 0 <= at < room and self.heads <= y < self.heads + len(self.rows)
        return (room - 1 - at) * self.past / room if inside else None

    def draw(self, course: Course, scene: Scene, width: int, height: int, owner: str) -> None:
        """Draw a course on `width` cells and `height` lines, title included; the title names the owner, if any."""
        past = self.past = shown_seconds(scene.window)
        lines = graph_lines(course, scene.now.monotonic, past, width - 1, max(height - 1, 2), scene.palette)
        self.title = f"{owner}: {course.pair.title}" if owner else course.pair.title
        self.put([words(line) for line in lines], scene.palette, f"last {past:.0f} s")


class GraphGrid(Container):
    """Graphs of one thing, hidden while it has none."""

    DEFAULT_CSS = "GraphGrid { width: 1fr; height: auto; layout: vertical; } GraphGrid Horizontal { width: 1fr; }"

    def __init__(self, id: str) -> None:  # noqa: A002
        """Create an empty grid."""
        super().__init__(id=id)
        self.panes = [GraphPane(cursor=False, id=f"{id}-{at}") for at in range(MOST)]
        self.upper, self.lower = Horizontal(), Horizontal()
        self.display = False

    def compose(self) -> ComposeResult:
        """Lay out the graphs."""
        with self.upper:
            yield from self.panes[:2]
        with self.lower:
            yield from self.panes[2:]

    def draw(self, shown: Sequence[Course], scene: Scene, width: int, height: int, owner: str = "") -> int:
        """Draw courses on at most `height` lines and return how many lines they take; the first names their owner."""
        rows = -(-len(shown) // 2)
        each = min(height // rows, TALLEST) if rows else 0
        self.display = bool(shown)
        self.lower.display = rows > 1
        self.upper.styles.height = self.lower.styles.height = each
        for at, pane in enumerate(self.panes):
            pane.display = at < len(shown)
            if at < len(shown):
                across = width if at == len(shown) - 1 and at % 2 == 0 else width // 2
                pane.draw(shown[at], scene, across, each, "" if at else owner)
        return rows * each
