"""Packets: the MTU of interfaces that should agree, or of paths and their interface, as bars on one scale."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len

from sdstop.collectors.network.path_readings import PathMtu
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, Line, text
from sdstop.tui.widgets.roles import role

_PREFIX = "MTU of "
_MOST = 8
"""Lines."""
_NAME = 30
"""Cells."""


class _Size(Struct, frozen=True):
    """The largest packet of an interface or of the path to a destination, in bytes."""

    name: str
    bytes: int
    accused: bool
    note: str = ""


def mtu_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the MTUs that a finding compared, the smaller ones accused; None if it names less than two."""
    rows = [
        _Size(value.title.removeprefix(_PREFIX), value.value, value.below is not None, "loses larger frames")
        for value in finding.values
        if value.title.startswith(_PREFIX) and isinstance(value.value, int)
    ]
    if len(rows) == 1:
        rows = [_Size(rows[0].name, rows[0].bytes, accused=False, note="interface"), *_paths(finding, scene)]
    if len(rows) < 2:
        return None
    most = min(len(rows), _MOST)
    return Picture(
        "Largest packets, in bytes",
        lambda width, height: _lines(rows, finding, scene, width, height),
        tuple(range(2, most + 1)), whole=most,
    )  # fmt: skip


def _paths(finding: Finding, scene: Scene) -> list[_Size]:
    known = scene.rows(PathMtu)[0].values()
    rows = [row for row in known if row.interface in finding.subjects and row.mtu < (row.interface_mtu or 0)]
    rows.sort(key=lambda row: (row.mtu, row.destination))
    return [_Size(f"to {row.destination}", row.mtu, accused=True, note=f"via {row.gateway}" if row.gateway else "")
            for row in rows]  # fmt: skip


def _lines(rows: list[_Size], finding: Finding, scene: Scene, width: int, height: int) -> list[Line]:
    palette = scene.palette
    color = ROLES.get(finding.severity, "text")
    top = max(row.bytes for row in rows)
    name = min(max(cell_len(palette.word(row.name, 60)) for row in rows), _NAME)
    note = max((len(row.note) for row in rows if row.accused), default=0)
    size = max(width - name - note - 12, 8)
    return [
        (
            *text((f" {palette.fit(palette.word(row.name, 60), name)} ", role(color if row.accused else "text"))),
            *bar(row.bytes / top, size, palette, role(color) if row.accused else OTHER),
            *text((f" {row.bytes:>6}", role(color if row.accused else "text"))),
            *text((f"  {palette.word(row.note, 40)}" if row.accused and row.note else "", FAINT)),
        )
        for row in rows[:height]
    ]
