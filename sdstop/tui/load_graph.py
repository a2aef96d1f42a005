"""Load graph: reads up and writes down from one baseline, over the time axis."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from sdstop.tui.spans import TimeAxis
from sdstop.tui.widgets.graph import Axis, joined, samples, traffic
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, Palette

MIB = float(1 << 20)
"""Bytes of a MiB, and the least end of the scale, so that an idle node looks idle."""
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
    now = next((value for value in reversed(values[2 * at : 2 * at + 2]) if value is not None), None)
    scale = Axis(
        _mebibytes, ("reads MiB/s", "writes MiB/s"), gutter=before - 1,
        now=tuple(value / MIB for value in now) if now is not None else (None, None),
    )  # fmt: skip
    each = 2 * axis.width // samples(axis.width, palette)
    up, down = (_thinned([value and value[side] / MIB for value in values], each) for side in (0, 1))
    lines = traffic(up, down, before + axis.width, rows, palette, scale)
    gaps = _gaps(values, axis, usual)
    return [_hatched(line, gaps, palette) for line in lines]


def _mebibytes(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}"


def _thinned(values: Sequence[float | None], each: int) -> list[float | None]:
    """Return the largest of every `each` values."""
    found: list[float | None] = []
    for at in range(0, len(values), each):
        known = [value for value in values[at : at + each] if value is not None]
        found.append(max(known) if known else None)
    return found


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


def _hatched(line: Line, gaps: Sequence[bool], palette: Palette) -> Line:
    """Return a line of a graph, whose label is followed by a blank, with the cells of gaps hatched."""
    if True not in gaps:
        return line
    hatch = (_NO_DATA[palette.ascii], FAINT)
    drawn = [(glyph, segment.style or PLAIN) for segment in line[2:] for glyph in segment.text]
    cells = [hatch if gap else cell for cell, gap in zip(drawn, gaps, strict=True)]
    return (*line[:2], *joined(cells)) if len(line) > 1 else (*line, Segment(""))
