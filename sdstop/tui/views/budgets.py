"""HBA budgets: possible and current throughput of the disks compared with the capacity of the links."""

from __future__ import annotations

from rich.style import Style

from sdstop.analysis.fabric.hba_throughput import HbaLoad
from sdstop.analysis.fabric.state import FabricState
from sdstop.analysis.fabric.tree import FabricNode
from sdstop.core.format import percent, rate
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, PLAIN, Line, Palette, text
from sdstop.tui.widgets.pane import Row, words

_FIXED = 75
"""Cells of a line, excluding its two bars."""


def budget_rows(shown: FabricState, scene: Scene, width: int) -> list[Row]:
    """Return a row for each HBA of a kind that can have many disks, sorted by address."""
    nodes = {node.hba.hba: node for node in shown.tree.roots if node.hba is not None}
    listed = sorted(shown.loads.values(), key=lambda load: load.hba.hba)
    top = max([1.0, *(load.share for load in listed if load.share is not None)])
    return [
        words(_line(load, nodes.get(load.hba.hba), shown, scene, top, max((width - _FIXED) // 2, 6))) for load in listed
    ]


def _line(load: HbaLoad, node: FabricNode | None, shown: FabricState, scene: Scene, top: float, room: int) -> Line:
    palette = scene.palette
    severity = shown.own.get(f"hba:{load.hba.hba}")
    near = "-" if load.hba.node is None else f"node{load.hba.node}"
    disks = f"{load.disks:g} disk{'s' * (load.disks != 1)}"
    now = shown.share(node) if node is not None else None
    style = PLAIN if severity is None else palette.severity(severity)
    return (
        *text((f" {load.hba.hba:<13}", style), (f"{near:<6}", FAINT), f"{disks:>9}"),
        *text(("  up to ", FAINT), f"{rate(load.wants):>6}", (" of ", FAINT), f"{rate(load.carries):<6}"),
        *text(f"{percent(load.share):>5}% "),
        *_bar(load.share, top, room, style, palette),
        *text(("  now ", FAINT), f"{percent(now):>5}% "),
        *_bar(now, 1.0, room, style, palette),
    )


def _bar(share: float | None, top: float, room: int, style: Style, palette: Palette) -> Line:
    """Return a bar from 0 to `top`; if `top` exceeds 1, a tick marks the capacity of the links."""
    past = style if share is not None and share > 1 and style is not PLAIN else OTHER
    return bar(None if share is None else share / top, room, palette, past, mark=1 / top if top > 1 else None)
