"""Pins: things that stay visible above every view, one line each."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct
from rich.segment import Segment

from sdstop.core.finding import Severity
from sdstop.tui.scene import Scene
from sdstop.tui.search import Hit
from sdstop.tui.views import ViewEntry
from sdstop.tui.views.view import names_in
from sdstop.tui.widgets.palette import FAINT, MARKS, PLAIN, STRONG, Line, Palette, plain, text, width_of
from sdstop.tui.widgets.table import TableColumn

MOST_PINS = 3
"""Pins at the same time."""
_CELL = 14
"""Maximum cells of a value; strips and bars are left out."""


class Pin(Struct, frozen=True):
    """A row of a view, by its key."""

    entry: ViewEntry
    key: Hashable


def pin_line(pin: Pin, hit: Hit | None, scene: Scene) -> Callable[[int], Line]:
    """Return the line of a pin for a width: the name of the thing, then its columns as `heading value`."""
    palette = scene.palette
    if hit is None:
        name = palette.word(" ".join(names_in(pin.key)), 60)
        return lambda _: text((f" {name}", STRONG), (f"  not in {pin.entry.title} now", FAINT))
    return lambda width: _line(hit, palette, width)


def _line(hit: Hit, palette: Palette, width: int) -> Line:
    item = hit.row.item
    severity: Severity | None = getattr(item, "severity", None)
    mark = Segment(" ", PLAIN)
    if severity in MARKS:
        mark = Segment(MARKS[severity], palette.severity(severity))
    if hit.row.line is not None:  # a heading has no columns
        return (mark, *hit.row.line(width - 1))
    name = next((column for column in hit.columns if column.rising), hit.columns[0])
    others = [column for column in hit.columns if column is not name]
    parts: list[Segment] = [mark, *_cell(name, item, palette, 24)]
    for column in sorted(others, key=lambda c: -c.keep if c.keep else -99):
        cell = _cell(column, item, palette, _CELL)
        said = plain(cell).strip()
        if column.value is None or not column.heading or said in {"", "-"}:
            continue
        more = text((f"  {column.heading} ", FAINT)) + cell
        if width_of(parts) + width_of(more) < width:
            parts.extend(more)
    return tuple(parts)


def _cell(column: TableColumn, item: object, palette: Palette, most: int) -> Line:
    cell = column.cell(item, min(max(column.width, 1), most))
    if isinstance(cell, str):
        return text(palette.fit(cell, min(len(cell), most)))
    return tuple(cell) if width_of(cell) <= most else text(palette.fit(plain(cell), most))
