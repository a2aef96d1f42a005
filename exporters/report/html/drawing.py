"""Inline SVG drawings. Titles repeat shades as numbers, so that color is never the only information.

Each row shows its samples side by side; None (not measured) is left empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.core.text import added
from sdstop.exporters.report.html.markup import Markup, el, join

LABEL = 210
"""Width of the row names in pixels, left of the drawing."""
WIDTH = 850
"""Width of the drawing in pixels."""
_HEIGHT = 13
"""Pixels of a row of bars."""

Row = tuple[str, Sequence[float | None]]


class DiagramAxis(Struct, frozen=True):
    """Time axis: position of each sample as a share of the width, and evenly spaced labels.

    The value of a sample covers the time since the previous sample.
    """

    at: Sequence[float]
    labels: Sequence[str]

    @classmethod
    def of(cls, times: Sequence[float], labels: Sequence[str]) -> DiagramAxis:
        """Return an axis of Unix seconds; evenly spaced if the clock was set back."""
        if len(times) > 1 and all(a < b for a, b in pairwise(times)):
            return cls([(taken - times[0]) / (times[-1] - times[0]) for taken in times], labels)
        return cls([at / max(len(times) - 1, 1) for at in range(len(times))], labels)

    def cell(self, start: int, end: int) -> tuple[float, float]:
        """Return the left edge and the width, in pixels, of samples start..end-1."""
        left, right = self.at[start - 1] if start else 0.0, self.at[end - 1]
        return LABEL + WIDTH * left, WIDTH * (right - left)


def svg(width: float, height: float, *parts: Markup | Iterable[Markup], title: str) -> Markup:
    """Return a drawing with an accessible title."""
    return el(
        "svg",
        el("title", title),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def word(x: float, y: float, shown: str, *, right: bool = False, dim: bool = False, middle: bool = False) -> Markup:
    """Return a text at a position."""
    anchor = "end" if right else "middle" if middle else None
    return el("text", shown, x=x, y=y, text_anchor=anchor, class_="d" if dim else None)


def heat(
    rows: Sequence[Row],
    top: float,
    axis: DiagramAxis,
    *,
    title: str,
    shown: Callable[[float], str],
    notes: Sequence[str] = (),
) -> Markup:
    """Return a heat map with one strip per row; all rows share one scale, which ends at `top`.

    `notes` are lines below the times.
    """
    height = _HEIGHT * len(rows) + 20
    parts = [_strip(at, row, top, axis, shown) for at, row in enumerate(rows)]
    said = [word(LABEL, height + 15 * at + 10, note) for at, note in enumerate(notes)]
    return svg(LABEL + WIDTH, height + 15 * len(notes), *parts, _times(axis.labels, height), *said, title=title)


def _strip(at: int, row: Row, top: float, axis: DiagramAxis, shown: Callable[[float], str]) -> Markup:
    name, values = row
    y = at * _HEIGHT
    parts = [word(LABEL - 6, y + 10, name, right=True)]
    for start, end, value in runs(values, top):
        x, width = axis.cell(start, end)
        if value is None or not width:
            continue
        shade = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
        fill = "var(--data)" if shade > 0.02 else "var(--gap)"
        parts.append(
            el(
                "rect",
                x=x,
                y=y + 1,
                width=width + 0.3,
                height=_HEIGHT - 2,
                fill=fill,
                fill_opacity=0.15 + 0.85 * shade if shade > 0.02 else None,
            )
        )
    known = [value for value in values if value is not None]
    if known:
        parts.insert(0, el("title", f"{name}: mean {shown(added(known) / len(known))}, most {shown(max(known))}"))
    return el("g", *parts)


def runs(values: Sequence[float | None], top: float) -> Iterable[tuple[int, int, float | None]]:
    """Yield (start, end, value) of runs with the same of 16 shades, to draw fewer elements; `end` is exclusive."""
    start = 0
    for at in range(1, len(values) + 1):
        if at == len(values) or _shade(values[at], top) != _shade(values[start], top):
            yield start, at, values[start]
            start = at


def _shade(value: float | None, top: float) -> int | None:
    return None if value is None else round(min(max(value / top, 0.0), 1.0) * 16) if top > 0 else 0


def _times(times: Sequence[str], height: float) -> Markup:
    """Return the time labels below a drawing, evenly spaced."""
    last = max(len(times) - 1, 1)
    marks = []
    for at, shown in enumerate(times):
        anchor = "start" if at == 0 else "end" if at == last else "middle"
        marks.append(el("text", shown, x=LABEL + WIDTH * at / last, y=height - 4, text_anchor=anchor, class_="d"))
    return join(*marks)


def lines(rows: Sequence[Row], top: float, axis: DiagramAxis, *, title: str, shown: Callable[[float], str]) -> Markup:
    """Return a line chart between 0 and `top`; each line's name is at the height of its last value."""
    height, bottom = 150.0, 126.0
    parts = [
        el("line", x1=LABEL, y1=bottom, x2=LABEL + WIDTH, y2=bottom, class_="axis"),
        el("line", x1=LABEL, y1=6, x2=LABEL + WIDTH, y2=6, class_="axis"),
        word(LABEL - 6, 12, shown(top), right=True, dim=True),
        word(LABEL - 6, bottom, shown(0.0), right=True, dim=True),
    ]
    for place, (name, values) in enumerate(rows):
        path = " ".join(_path(values, top, bottom, axis))
        dash = ("", "7 4", "2 3", "10 3 2 3")[place % 4] or None
        parts.append(el("path", d=path, fill="none", stroke="var(--data)", stroke_width="1.6", stroke_dasharray=dash))
        known = [value for value in values if value is not None]
        if known:
            y = bottom - 120 * min(max(known[-1] / top, 0.0), 1.0) if top > 0 else bottom
            parts.append(word(LABEL - 6, min(max(y + 4, 26), bottom - 14), f"{name} {shown(known[-1])}", right=True))
    return svg(LABEL + WIDTH, height, *parts, _times(axis.labels, height), title=title)


def _path(values: Sequence[float | None], top: float, bottom: float, axis: DiagramAxis) -> Iterable[str]:
    pen = "M"
    for at, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        share = min(max(value / top, 0.0), 1.0) if top > 0 else 0.0
        yield f"{pen}{LABEL + WIDTH * axis.at[at]:.1f} {bottom - 120 * share:.1f}"
        pen = "L"


_PARTS = ("var(--data)", "var(--data2)", "var(--data3)")


def stack(rows: Sequence[Row], axis: DiagramAxis, *, title: str) -> Markup:
    """Return stacked shares over time, the first at the bottom; the stack ends at an unknown share."""
    height, bottom, high = 130.0, 106.0, 100.0
    count = max((len(values) for _, values in rows), default=0)
    parts = []
    for at in range(count):
        x, width = axis.cell(at, at + 1)
        shares = [values[at] for _, values in rows]
        y = bottom
        for fill, share in zip(_PARTS, shares, strict=False):
            if share is None or not width:
                break
            y -= high * share
            parts.append(el("rect", x=x, y=y, width=width + 0.3, height=high * share, fill=fill))
    for place, (name, values) in enumerate(rows):
        known = [value for value in values if value is not None]
        mean = f" {added(known) / len(known) * 100:.0f}%" if known else ""
        y = bottom - 8 - 18 * place
        parts.append(el("rect", x=4, y=y - 9, width=10, height=10, fill=_PARTS[place]))
        parts.append(word(18, y, f"{name}{mean}"))
    parts.append(el("line", x1=LABEL, y1=bottom, x2=LABEL + WIDTH, y2=bottom, class_="axis"))
    parts += [
        word(LABEL - 6, bottom - high + 8, "100 %", right=True, dim=True),
        word(LABEL - 6, bottom, "0 %", right=True, dim=True),
    ]
    return svg(LABEL + WIDTH, height, *parts, _times(axis.labels, height), title=title)


def bars(rows: Sequence[tuple[str, float, str, bool]], *, title: str) -> Markup:
    """Return a bar chart; a row is name, share of the width 0..1, text at the end, and whether it is emphasized."""
    room = WIDTH - 430
    height = 17 * len(rows) + 4
    parts = []
    for at, (name, share, shown, strong) in enumerate(rows):
        y = at * 17
        size = room * min(max(share, 0.0), 1.0)
        parts += [
            word(LABEL - 6, y + 12, name, right=True),
            el("rect", x=LABEL, y=y + 2, width=room, height=12, fill="var(--gap)"),
            el("rect", x=LABEL, y=y + 2, width=max(size, 1.0 if share > 0 else 0.0), height=12,
               fill="var(--data3)" if strong else "var(--data)"),
            word(LABEL + room + 6, y + 12, shown),
        ]  # fmt: skip
    return svg(LABEL + WIDTH, height, *parts, title=title)
