"""Facts of the node that several views show: processors, memory and pressure."""

from __future__ import annotations

from sdstop.collectors.system.readings import CpuActivity, Node, Pressure
from sdstop.core.model import Reading
from sdstop.tui.scene import Scene


def cpu(scene: Scene) -> CpuActivity | None:
    """Return the activity of all processors together."""
    return scene.rows(CpuActivity)[0].get("all")


def node(scene: Scene) -> Node | None:
    """Return the node's only row."""
    return next(iter(scene.rows(Node)[0].values()), None)


def mark(scene: Scene, family: type[Reading]) -> str:
    """Return the prefix of a family's numbers: `~` if they are stale."""
    return "~" if scene.rows(family)[1] else " "


def memory_used(n: Node | None) -> float | None:
    """Return the share of memory that is not available without swapping."""
    if n is None or not n.memory_total or n.memory_available is None:
        return None
    return 1 - n.memory_available / n.memory_total


def stalled(scene: Scene, resource: str) -> float | None:
    """Return the share of the last 10 s in which tasks waited for a resource."""
    row = scene.rows(Pressure)[0].get(resource)
    return row.some_avg10 if row is not None else None
