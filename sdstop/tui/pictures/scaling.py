"""Scaling: requests of one client, of all together and of perfect scaling, on one axis, and over time."""

from __future__ import annotations

from sdstop.core.finding import Finding
from sdstop.core.format import number, percent, wait
from sdstop.readings.cluster import ClusterClient
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import stretched
from sdstop.tui.pictures.series import flow_of
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import Axis, bar, plot
from sdstop.tui.widgets.palette import Line, text
from sdstop.tui.widgets.roles import role

_LABEL = 14
"""Cells."""


def scaling_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the picture of a cluster's clients; None without the figures of one alone and of all together."""
    values = {value.name: value.value for value in finding.values}
    single, together, clients = (values.get(name) for name in ("single", "together", "clients"))
    if not isinstance(single, float | int) or not isinstance(together, float | int) or not isinstance(clients, int):
        return None
    alone, joint = values.get("single_queue"), values.get("queue")
    color = ROLES.get(finding.severity, "text")
    palette = scene.palette
    wanted = single * clients

    def waited(queue: object, rate: float) -> str:
        """Return the wait that outstanding requests and a rate imply (Little's law)."""
        return f"   wait ~{wait(queue / rate)} ms" if isinstance(queue, float | int) and rate else ""

    def draw(width: int, height: int) -> list[Line]:
        room = width - _LABEL - 2
        share = f"{percent(together / wanted)}% of {clients}x"
        all_ = f"{number(together)} IOPS{waited(_times(joint, clients), together)}   {share}"
        rows = (
            ("1 client", single, "other", f"{number(single)} IOPS{waited(alone, single)}"),
            (f"{clients} clients", together, color, all_),
            (f"{clients} x 1 client", wanted, "frame", f"{number(wanted)} IOPS"),
        )  # fmt: skip
        lines: list[Line] = []
        tail = max(len(said) for *_, said in rows) + 2
        size = max(room - tail, 10)
        for label, value, name, said in rows:
            bright = name == color
            drawn = bar(value / wanted, size, palette, role(name))
            lines.append(
                (*text((f" {label:<{_LABEL}}", role("strong" if bright else "dim", bold=bright))), *drawn,
                 *text((f" {said}", role(color if bright else "text", bold=bright))))
            )  # fmt: skip
        left = height - len(lines)
        if left >= 3:
            lines += _course(finding.subject, scene, width, left)
        return lines[:height]

    return Picture(f"Scaling: one client against {clients}", draw, (3, *range(7, 17)))


def _times(queue: object, clients: int) -> float | None:
    return queue * clients if isinstance(queue, float | int) else None


def _course(cluster: str, scene: Scene, width: int, height: int) -> list[Line]:
    """Return the requests of all clients over time."""
    samples = []
    for moment in scene.window.moments(ClusterClient):
        rows = [row for row in moment.rows.values() if row.cluster == cluster]
        done = sum((row.reads or 0.0) + (row.writes or 0.0) for row in rows)
        samples.append((moment.started, moment.seconds or 0.0, done, None))
    flow = flow_of(samples)
    if flow is None:
        return []
    axis = Axis(number, ("IOPS", ""), gutter=_LABEL)
    return [(), *plot(stretched(flow.reads, axis.room(width), scene.palette), width, height - 1, scene.palette, axis)]
