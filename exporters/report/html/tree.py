"""Topology drawing: columns from HBAs to exports, identical disks in one box, boxes with findings outlined."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.core.finding import Finding
from sdstop.core.session import Look
from sdstop.core.text import added
from sdstop.exporters.report.diagram import DiagramBox, StorageDiagram, storage_diagram
from sdstop.exporters.report.html.drawing import svg, word
from sdstop.exporters.report.html.markup import Markup, el, join

_BOX, _HIGH, _ROW = 196.0, 32.0, 40.0
"""Pixels: width and height of a box, and the distance of the rows."""
_TITLES = ("HBAs", "disks")
_SHAPE = {"critical": "\u25b2 ", "warning": "\u25c6 ", "info": "\u25cf "}


def drawn_topology(look: Look, findings: Iterable[Finding]) -> Markup | None:
    """Return the drawing, None if the topology is unknown."""
    known = storage_diagram(look.window, findings)
    if not known.things:
        return None
    columns = _ordered(known)
    used = [column for column in columns if column]
    gap = max(24.0, (1072.0 - _BOX * len(used)) / max(len(used) - 1, 1)) if len(used) > 1 else 0.0
    gap = min(gap, 120.0)
    height = 22 + _ROW * max(map(len, used)) + (14 if known.hidden else 0)
    places: dict[str, tuple[float, float]] = {}
    parts: list[Markup] = []
    for at, column in enumerate(used):
        x = at * (_BOX + gap)
        start = 22 + (_ROW * max(map(len, used)) - _ROW * len(column)) / 2
        number = column[0].column
        title = _TITLES[number] if number < 2 else "built on them" if number == 2 else ""
        parts.append(word(x, 12, title, dim=True))
        for row, thing in enumerate(column):
            places[thing.id] = (x, start + row * _ROW)
        if known.hidden.get(number):
            parts.append(word(x, height - 3, f"and {known.hidden[number]} more", dim=True))
    links = [_link(places[low], places[high]) for low, high in known.joins]
    boxes = [_box(thing, *places[thing.id]) for column in used for thing in column]
    width = len(used) * (_BOX + gap) - gap + 2
    title = "Topology: " + ", ".join(f"{len(column)} in column {at + 1}" for at, column in enumerate(used))
    return el("div", svg(width, height, *parts, *links, *boxes, title=title), class_="scroll")


def _ordered(known: StorageDiagram) -> list[list[DiagramBox]]:
    """Return the columns, each sorted by the position of the boxes below, so that few lines cross."""
    columns = known.columns
    place: dict[str, float] = {}
    below: dict[str, list[str]] = {}
    for low, high in known.joins:
        below.setdefault(high, []).append(low)
    for column in columns:
        column.sort(key=lambda thing: _middle([place[low] for low in below.get(thing.id, ()) if low in place]))
        for row, thing in enumerate(column):
            place[thing.id] = row - len(column) / 2
    return columns


def _middle(values: list[float]) -> float:
    return added(values) / len(values) if values else 1e9


def _link(low: tuple[float, float], high: tuple[float, float]) -> Markup:
    (x0, y0), (x1, y1) = (low[0] + _BOX, low[1] + _HIGH / 2), (high[0], high[1] + _HIGH / 2)
    bend = (x1 - x0) / 2
    return el(
        "path",
        d=f"M{x0:.0f} {y0:.0f}C{x0 + bend:.0f} {y0:.0f} {x1 - bend:.0f} {y1:.0f} {x1:.0f} {y1:.0f}",
        class_="link",
    )


def _box(thing: DiagramBox, x: float, y: float) -> Markup:
    severity = thing.severity.value if thing.severity is not None else ""
    name = f"{_SHAPE.get(severity, '')}{thing.name}"
    return join(
        el("rect", x=x, y=y, width=_BOX, height=_HIGH, rx=3, class_=f"box {severity}".strip()),
        el("title", f"{thing.name} {thing.what}"),
        word(x + 6, y + 13, _cut(name)),
        word(x + 6, y + 26, _cut(thing.what), dim=True),
    )


def _cut(shown: str) -> str:
    return shown if len(shown) <= 27 else f"{shown[:26]}\u2026"
