"""Graphs: bars, areas over time and stacks of glyphs. Pure functions of numbers that return lines in roles.

Values over time are one sample each, the newest last; None is a missing sample and stays a gap, while a measured zero
is drawn as the lowest dot. Braille shows two samples a cell and four steps a row; `samples` is the number that fits.
Scales have steps and cover all values that are given, also those that do not fit: with the values of a minute a scale
grows at once and shrinks a minute after its load.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from math import isnan

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from sdstop.tui.widgets.palette import FAINT, FRAME, LIMIT, OTHER, READ, WRITE, Line, Palette, text
from sdstop.tui.widgets.roles import role

_STACK = ("█▒░", "#=.")
LEFT = " ▏▎▍▌▋▊▉█"
"""Cells of a horizontal bar, filled by eighths."""
UP = " ▁▂▃▄▅▆▇█"
"""Cells of a column, filled by eighths."""
_HUNG = " ▀▀▀▀████"
"""Cells of a column that hangs, filled by eighths: no block hangs by eighths."""
_TRACK = role(None, "track")
_BRAILLE = 0x2800
"""First character of Unicode's braille patterns; its dots are the bits of the number added."""
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Bits of the left and the right column of a braille cell, from below."""


def joined(cells: Iterable[tuple[str, Style]]) -> Line:
    """Return cells as a line, with neighbors of one style in one segment."""
    line: list[Segment] = []
    run: list[str] = []
    style: Style | None = None
    for glyph, painted in cells:
        if painted is not style and painted != style and run:
            line.append(Segment("".join(run), style))
            run = []
        run.append(glyph)
        style = painted
    if run:
        line.append(Segment("".join(run), style))
    return tuple(line)


def bar(ratio: float | None, width: int, palette: Palette, style: Style = OTHER, *, mark: float | None = None) -> Line:
    """Return a bar of `width` cells; ratios above 1 are full, a visible use has at least an eighth of a cell.

    `mark` is the position of a threshold from 0 to 1. None is unknown: a dotted line, because an empty bar means 0.
    """
    if width <= 0:
        return ()
    if ratio is None or isnan(ratio):
        return text((palette.glyphs(("· " * width)[:width]), FAINT))
    eighths = min(max(ratio, 0.0), 1.0) * width * 8
    full = max(round(eighths), 1) if ratio > 0 else 0
    if palette.ascii:
        whole = max((full + 4) // 8, 1 if full else 0)
        cells = [("#", style)] * whole + [(".", FRAME)] * (width - whole)
    else:
        rest = (" ", _TRACK) if palette.grounds else ("·", FRAME)
        cells = [("█", style)] * (full // 8)
        if full % 8:
            cells.append((LEFT[full % 8], style + _TRACK if palette.grounds else style))
        cells += [rest] * (width - len(cells))
    if mark is not None and 0 <= mark <= 1:
        at = min(int(mark * width), width - 1)
        ground = Style(bgcolor=style.color) if cells[at][0] in "█#" else Style(bgcolor=cells[at][1].bgcolor)
        cells[at] = (palette.glyphs("│"), LIMIT + ground if palette.grounds else LIMIT)
    return joined(cells)


def samples(width: int, palette: Palette) -> int:
    """Return how many samples an area of `width` cells shows."""
    return width if palette.ascii or palette.blocks else 2 * width


def area(
    values: Sequence[float | None], width: int, height: int, top: float, palette: Palette, *, down: bool = False
) -> list[str]:
    """Return the lines of a filled graph from 0 to `top`, the highest first; `down` hangs it from its first line.

    The newest sample is at the right; missing ones at the left are blank.
    """
    fit = samples(width, palette)
    kept: list[float | None] = [*([None] * (fit - len(values))), *values[max(len(values) - fit, 0) :]]
    steps = 4 if fit == 2 * width else 3 if palette.ascii else 8
    heights = _heights(kept, top, height * steps)
    if steps == 4:
        columns = [_dots(a, b, height, down) for a, b in zip(heights[::2], heights[1::2], strict=True)]
    else:
        columns = [_column(h, height, down, palette.ascii) for h in heights]
    return ["".join(row) for row in zip(*columns, strict=True)] if columns else [""] * height


def _heights(values: Sequence[float | None], top: float, most: int) -> list[int]:
    """Return the heights of samples in steps, at most `most`: 0 if one is missing, at least 1 if it was measured.

    It runs for some thousand samples of each painted frame.
    """
    if top <= 0:
        return [int(value is not None and not math.isnan(value)) for value in values]
    scale, lowest = most / top, top / most
    return [
        0 if v is None or v != v else most if v >= top else 1 if v <= lowest else int(v * scale + 0.5)  # noqa: PLR0124
        for v in values
    ]


@functools.lru_cache(maxsize=8192)
def _dots(left: int, right: int, height: int, down: bool) -> str:  # noqa: FBT001
    """Return the braille cells of two samples of these heights in dots, from above."""
    bases = range(0, 4 * height, 4) if down else range(4 * height - 4, -1, -4)
    return "".join([_CELLS[down][min(max(left - at, 0), 4)][min(max(right - at, 0), 4)] for at in bases])


@functools.lru_cache(maxsize=2048)
def _column(filled: int, height: int, down: bool, ascii: bool) -> str:  # noqa: A002, FBT001
    """Return the cells of one sample of this height in steps, from above: thirds in ASCII, or else eighths."""
    glyphs = (" ':#" if down else " .:#") if ascii else _HUNG if down else UP
    steps = len(glyphs) - 1
    bases = range(0, steps * height, steps) if down else range(steps * (height - 1), -1, -steps)
    return "".join([glyphs[min(max(filled - at, 0), steps)] for at in bases])


def _braille(left: int, right: int, *, down: bool) -> str:
    bits = 0
    for level, column in ((left, _DOTS[0]), (right, _DOTS[1])):
        for bit in (column[::-1] if down else column)[:level]:
            bits |= bit
    return chr(_BRAILLE + bits) if bits else " "


_CELLS = tuple(
    [[_braille(left, right, down=down) for right in range(5)] for left in range(5)] for down in (False, True)
)
"""Braille cells by direction and by the dots filled on the left and on the right."""


class Axis(Struct, frozen=True):
    """Scale and labels of a graph, in the unit of its values.

    The scale ends at `top`, or else at a `step` that is at least `floor`. `limit` is drawn as a line, named
    by `limit_label` or its number. `number` formats numbers; labels take `gutter` cells at the left, of which the
    current value has its name (of reads and writes, or the first one only). It is that of the newest sample, or of
    `now` if the graph goes on after the displayed moment. The scale has room for `held`, the highest values of late.
    """

    number: Callable[[float | None], str]
    names: tuple[str, str] = ("r", "w")
    styles: tuple[Style, Style] = (READ, WRITE)
    floor: float = 1.0
    top: float | None = None
    limit: float | None = None
    limit_label: str = ""
    gutter: int = 8
    now: tuple[float | None, ...] | None = None
    held: tuple[float, float] = (0.0, 0.0)

    def current(self, values: Sequence[float | None], at: int) -> Line:
        """Return the label of the current value."""
        now = self.now[at] if self.now is not None else values[-1] if values else None
        said = f"{self.names[at]} {self.number(now)}".strip()
        return self.label(said, self.styles[at] + _BOLD)

    def label(self, said: str, style: Style = FAINT) -> Line:
        """Return a label at the right of the gutter, followed by a blank."""
        return text((said[: self.gutter].rjust(self.gutter), style), " ") if self.gutter else ()

    def room(self, width: int) -> int:
        """Return the width of the graph itself."""
        return max(width - self.gutter - bool(self.gutter), 1)


_BOLD = Style(bold=True)


def traffic(
    up: Sequence[float | None], down: Sequence[float | None], width: int, height: int, palette: Palette, axis: Axis
) -> list[Line]:
    """Return a graph of two directions from one baseline on one scale: `up` (reads) above, `down` (writes) below.

    Both ends have their maximum, and the current values are beside the baseline.
    """
    room = axis.room(width)
    most = [max([held, *(v for v in side if v is not None)]) for side, held in zip((up, down), axis.held, strict=True)]
    above, per_row = _split(most, height, axis)
    below = height - above
    over = area(up, room, above, per_row * above, palette)
    under = area(down, room, below, per_row * below, palette, down=True)
    far = -1 if axis.limit is None else int(axis.limit / per_row - 1e-9)
    lines: list[Line] = []
    for at, drawn in enumerate((*over, *under)):
        crossed = axis.limit is not None and at in {above - 1 - far, above + far}
        if at in {above - 1, above}:
            label = axis.current((up, down)[at - above + 1], at - above + 1)
        elif at in {0, height - 1}:
            label = axis.label(axis.number(per_row * (above if at == 0 else below)))
        else:
            label = axis.label((axis.limit_label or axis.number(axis.limit)) if crossed else "")
        lines.append((*label, *_crossed(drawn, axis.styles[at >= above], palette, crossed=crossed)))
    return lines


def _split(most: Sequence[float], height: int, axis: Axis) -> tuple[int, float]:
    """Return the number of rows above the baseline and the value of a row."""
    if axis.top:
        above = max(height // 2, 1)
        return above, max(axis.top, *most) / max(min(above, height - above), 1)
    ends = [max(value, axis.floor) for value in most]
    per_row = step(max(ends) / height)
    while sum(_rows(end, per_row) for end in ends) > height >= len(ends):
        per_row = step(per_row * 1.01)
    rows = [_rows(end, per_row) for end in ends]
    above = rows[0] + round((height - sum(rows)) * rows[0] / sum(rows))
    return min(max(above, 1), max(height - 1, 1)), per_row


def _rows(end: float, per_row: float) -> int:
    return max(math.ceil(end / per_row - 1e-9), 1)


def _crossed(drawn: str, style: Style, palette: Palette, *, crossed: bool) -> Line:
    """Return a painted line of a graph, with the line of a limit where the graph leaves it free."""
    if not crossed:
        return text((drawn, style))
    dash = palette.glyphs("╌")
    return joined((dash, FRAME) if glyph == " " else (glyph, style) for glyph in drawn)


def plot(values: Sequence[float | None], width: int, height: int, palette: Palette, axis: Axis) -> list[Line]:
    """Return a graph of one series: the end of the scale at its top, the current value at its bottom."""
    room = axis.room(width)
    most = max((v for v in values if v is not None), default=0.0)
    end = max(axis.top, most) if axis.top else step(max(most, axis.floor, axis.limit or 0.0))
    at_limit = -1 if axis.limit is None else height - 1 - int(axis.limit / end * height - 1e-9)
    lines: list[Line] = []
    for at, drawn in enumerate(area(values, room, height, end, palette)):
        crossed = at == max(at_limit, 0) and axis.limit is not None
        if at == height - 1:
            label = axis.current(values, 0)
        elif at == 0:
            label = axis.label(axis.number(end))
        else:
            label = axis.label((axis.limit_label or axis.number(axis.limit)) if crossed else "")
        lines.append((*label, *_crossed(drawn, axis.styles[0], palette, crossed=crossed)))
    return lines


def step(value: float) -> float:
    """Return the end of the scale for `value`: the next 1, 1.5, 2, 3, 4, 5 or 7 times a power of ten.

    So it rarely changes, and the highest value takes two thirds of the scale or more.
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * times for times in _STEPS if power * times >= value * (1 - 1e-9))


_STEPS = (1, 1.5, 2, 3, 4, 5, 7, 10)
"""Tops of axes are a power of ten times one of these."""


def layers(*, ascii: bool = False) -> str:  # noqa: A002
    """Return the glyphs of stacked parts, the lowest first."""
    return _STACK[ascii]


def stacked(parts: Sequence[float | None], height: int) -> list[int]:
    """Return how many of `height` cells each part of a whole takes; parts are shares that sum to at most 1.

    Every visible part takes at least one cell, if there are enough cells.
    """
    known = [min(max(part or 0.0, 0.0), 1.0) for part in parts]
    total = min(round(sum(known) * height), height)
    taken = [max(int(part * height + 1e-9), 1 if part >= _SEEN else 0) for part in known]
    while sum(taken) > max(total, sum(1 for part in known if part >= _SEEN)):
        taken[max(range(len(taken)), key=lambda at: (taken[at], taken[at] - known[at] * height))] -= 1
    while sum(taken) < total:
        taken[max(range(len(taken)), key=lambda at: known[at] * height - taken[at])] += 1
    return taken


_SEEN = 0.005
"""Minimum share of a whole for a part to be visible."""
