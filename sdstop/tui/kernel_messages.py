"""Messages of the kernel's log on the axis of the time bar."""

from __future__ import annotations

from rich.segment import Segment

from sdstop.collectors.kernel.kinds import KINDS, LogEffect
from sdstop.collectors.kernel.readings import KernelEvent
from sdstop.tui.scene import Scene
from sdstop.tui.spans import TimeAxis
from sdstop.tui.widgets.graph import joined
from sdstop.tui.widgets.palette import FAINT, OTHER, STRONG, Line

_NONE = 9
"""Cell without a message; levels of messages are 0 (emergency) to 7 (debug)."""
_STATES = {effect: rank for rank, effect in enumerate(LogEffect)}
_GLYPHS = (("┃", "│", "╎", "·"), ("#", "|", "!", "."))
"""Cells of a message by its effect: a thing has stopped, a request failed, it was delayed, normal events."""


def message_line(scene: Scene, axis: TimeAxis, before: int) -> Line | None:
    """Return a line with a mark where the kernel logged messages, the worst of each cell; None without any."""
    run = scene.window.now.run_of(KernelEvent)
    if run is None:
        return None
    cells = [_NONE] * axis.width
    for row in scene.window.rows(KernelEvent).values():
        at = None if row.ago is None else run.started - row.ago
        if at is not None and axis.first - axis.step <= at <= axis.end:
            cell = axis.cell(at)
            cells[cell] = min(cells[cell], _STATES[KINDS[row.kind].effect])
    if all(cell == _NONE for cell in cells):
        return None
    palette = scene.palette
    glyphs = _GLYPHS[palette.ascii]
    styles = (STRONG, STRONG, OTHER, FAINT, FAINT)
    shown = ((" ", FAINT) if rank == _NONE else (glyphs[min(rank, 3)], styles[rank]) for rank in cells)
    return (Segment(palette.fit("  kernel log", before), FAINT), *joined(shown))
