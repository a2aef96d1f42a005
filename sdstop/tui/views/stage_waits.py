"""Graphs of a data path: the wait of a request at each stage over time, all on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.path.sentences import accusation
from sdstop.analysis.path.stage import Stage
from sdstop.analysis.path.waits import StageWaits, stage_waits
from sdstop.core.finding import Severity
from sdstop.core.format import duration, wait
from sdstop.tui.scene import Mode, Scene
from sdstop.tui.widgets.graph import area, samples, step
from sdstop.tui.widgets.palette import MARKS, OTHER, PLAIN, Line, text
from sdstop.tui.widgets.strip import spread

LEAST, HIGHEST = 2, 12
"""Minimum lines of all graphs together, and maximum lines of each."""
_NAME, _NARROW = 26, 20
"""Cells of the labels: of a wide and of a narrow screen."""
_SHORTEST = 1e-4
"""Least end of the scale in seconds, so that an idle device looks idle."""


class WaitGraphs(Struct, frozen=True):
    """Waits of the stages of a path that are measured over time."""

    scene: Scene
    stages: list[StageWaits]

    @property
    def top(self) -> float:
        """End of the scale in seconds, which all stages share."""
        return step(max([_SHORTEST, *(known.longest for known in self.stages)]))

    @property
    def note(self) -> str:
        """The scale and the time shown."""
        held = max(known.samples[-1][0] - known.samples[0][0] + known.samples[0][1] for known in self.stages)
        return f"0 to {wait(self.top)} ms {self.scene.palette.dot} {duration(held)}"

    def lines(self, width: int, height: int) -> list[Line]:
        """Return at most `height` lines: the graph of each stage, client first, with its name and its last wait."""
        palette = self.scene.palette
        worst = self.scene.worst()
        shown = self.stages[:height]
        each = min(max(height // max(len(shown), 1), 1), HIGHEST)
        gutter = _NAME if width >= 4 * _NAME else _NARROW
        room = max(width - gutter - 5, 1)
        stretch = self.scene.mode is Mode.REPLAY
        lines: list[Line] = []
        for known in shown:
            values = spread(known.samples, samples(room, palette), stretch=stretch)
            severity = accusation(known.stage, worst)
            style = PLAIN if severity is None else palette.severity(severity)
            drawn = area(values, room, each, self.top, palette)
            last = wait(known.samples[-1][2])
            for at, cells in enumerate(drawn):
                figure = last if at == each - 1 else ""
                name = f"{_mark(severity)} {palette.fit(palette.word(known.stage.name, 60), gutter - 9)}"
                label = name.ljust(gutter - 7) if not at else " " * (gutter - 7)
                color = OTHER if severity is None else style
                lines.append(text((label, style), (f"{figure:>7} ", style), (cells, color)))
        return lines


def _mark(severity: Severity | None) -> str:
    return " " if severity is None else MARKS.get(severity, " ")


def wait_graphs(scene: Scene, stages: Sequence[Stage]) -> WaitGraphs | None:
    """Return the graphs of a path's stages, None if no stage has waits over time."""
    known = stage_waits(scene.window, stages)
    return WaitGraphs(scene, known) if known else None
