"""Load graph: reads up and writes down from one baseline, over the time axis."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from sdstop.tui.spans import TimeAxis
from sdstop.tui.widgets.mirror import hanging, nice, risen, split
from sdstop.tui.widgets.palette import FAINT, READ, WRITE, Line, Palette, text

MIB = float(1 << 20)
"""Bytes of a MiB, and the least top of the scale, so that an idle node looks idle."""
_NO_DATA = ("░", "/")

Load = tuple[float, float] | None
"""Bytes read and written per second, None where nothing was sampled."""


def load_lines(
    values: Sequence[Load], axis: TimeAxis, at: int, rows: int, before: int, usual: float, palette: Palette
) -> list[Line]:
    """Return `rows` lines of a graph of two values a cell, after `before` cells of labels.

    `at` is the cell of the playhead, whose values are named; `usual` is the length of a sample in seconds. Cells
    between the first and the last frame without any sample are hatched.
    """
    known = [value for value in values if value is not None]
    most = [max((value[side] for value in known), default=0.0) / MIB for side in (0, 1)]
    above, below = split(nice(most[0], 0.1), nice(most[1], 0.1), rows)
    each = nice(max(most[0] / above, most[1] / max(below, 1), 1 / rows)) * MIB
    drawn = [
        *risen([value and value[0] for value in values], each * above, above, palette),
        *hanging([value and value[1] for value in values], each * below, below, palette),
    ]
    gaps = _gaps(values, axis, usual)
    now = _now(values, at)
    lines = []
    for row, cells in enumerate(drawn):
        up = row < above
        label, style = _label(row, above, now, each * above)
        lines.append(text((palette.fit(label, before), style), *_hatched(cells, gaps, _STYLES[not up], palette)))
    return lines


_STYLES: tuple[Style, Style] = (READ, WRITE)


def _now(values: Sequence[Load], at: int) -> Load:
    """Return the last value of a cell."""
    return next((value for value in reversed(values[2 * at : 2 * at + 2]) if value is not None), None)


def _label(row: int, above: int, now: Load, top: float) -> tuple[str, Style]:
    if row in {above - 1, above}:
        side = row - above + 1
        shown = "?" if now is None else f"{now[side] / MIB:.1f}"
        return f" {('reads', 'writes')[side]} MiB/s {shown:>9}", _STYLES[side]
    return (f"{top / MIB:>22.4g}", FAINT) if row == 0 else ("", FAINT)


def _gaps(values: Sequence[Load], axis: TimeAxis, usual: float) -> list[bool]:
    """Return for each cell whether it is between the first and the last frame and without any sample."""
    first, last = axis.cell(axis.first), axis.cell(axis.last)
    gaps = [first <= cell <= last and not any(values[2 * cell : 2 * cell + 2]) for cell in range(axis.width)]
    tail = last
    while tail >= first and gaps[tail]:
        tail -= 1
    if (last - tail) * axis.step < 2 * usual:  # the next sample is not due yet
        gaps[tail + 1 :] = [False] * (axis.width - tail - 1)
    return gaps


def _hatched(cells: str, gaps: Sequence[bool], style: Style, palette: Palette) -> list[tuple[str, Style]]:
    parts: list[tuple[str, Style]] = []
    hatch = _NO_DATA[palette.ascii]
    for cell, gap in zip(cells, gaps, strict=True):
        glyph, of = (hatch, FAINT) if gap else (cell, style)
        if parts and parts[-1][1] is of:
            parts[-1] = (parts[-1][0] + glyph, of)
        else:
            parts.append((glyph, of))
    return parts
