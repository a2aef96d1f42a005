"""Load graph: reads (received) up and writes (sent) down from one baseline, over the time axis."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from rich.segment import Segment

from sdstop.analysis.load_course import LoadMetric, LoadOf, LoadSample
from sdstop.core.format import NONE
from sdstop.tui.spans import Load, TimeAxis
from sdstop.tui.widgets.graph import Axis, joined, samples, traffic
from sdstop.tui.widgets.palette import FAINT, PLAIN, Line, Palette

_NO_DATA = ("░", "/")


class LoadScale(Struct, frozen=True):
    """Scale of a metric: `size` in base units is drawn as 1, `least` is the least end, so that an idle node looks idle.

    `names` are the labels of the current values. The scale has room for `held`, in base units.
    """

    metric: LoadMetric
    size: float
    least: float
    names: tuple[str, str]
    held: tuple[float, float] = (0.0, 0.0)


def scale_of(metric: LoadMetric, of: LoadOf) -> LoadScale:
    """Return the scale of a metric of a load; of throughput where the source has no latency."""
    network = of is LoadOf.NETWORK
    if metric is LoadMetric.LATENCY and of is LoadOf.DISKS:
        size, unit, least = 0.001, "ms", 1.0
    elif metric is LoadMetric.REQUESTS:
        size, unit, least = 1.0, "frames/s" if network else "io/s", 10.0
    else:
        metric, size, unit, least = LoadMetric.THROUGHPUT, float(1 << 20), "MiB/s", 1.0
    up, down = ("rx", "tx") if network else ("reads", "writes")
    return LoadScale(metric, size, least, (f"{up} {unit}", f"{down} {unit}"))


HELD = 60.0
"""Seconds for which the scale has room for the highest sample."""


def highest(samples: Sequence[LoadSample], scale: LoadScale, since: float) -> tuple[float, float]:
    """Return the highest values of reads and writes in the samples that end after a time (monotonic seconds).

    A cell has a mean, which falls when cells become longer; the scale of the last minute stays.
    """
    first = bisect_right(samples, since, key=lambda sample: sample.ends)
    most = [0.0, 0.0]
    for sample in samples[first:]:
        for at, (_, value) in enumerate(scale.metric.read(sample.total)):
            most[at] = max(most[at], value or 0.0)
    return most[0], most[1]


def load_lines(
    values: Sequence[Load], scale: LoadScale, axis: TimeAxis, at: int, rows: int, before: int, usual: float,
    palette: Palette,
) -> list[Line]:  # fmt: skip
    """Return `rows` lines of a graph of two values a cell, after `before` cells of labels.

    `at` is the cell of the playhead, whose values are named, or those before it until the next sample arrives; `usual`
    is the length of a sample in seconds. Cells between the first and the last frame without any sample are hatched.
    """
    gaps = _gaps(values, axis, usual)
    begin = 2 * at if gaps[at] else 0  # the newest sample holds until the next one arrives
    now = next((value for value in reversed(values[begin : 2 * at + 2]) if value is not None), None)
    graph = Axis(
        partial(_number, unknown="?" if now is None else NONE), scale.names, gutter=before - 1, floor=scale.least,
        now=tuple(None if value is None else value / scale.size for value in now or (None, None)),
        held=(scale.held[0] / scale.size, scale.held[1] / scale.size),
    )  # fmt: skip
    each = 2 * axis.width // samples(axis.width, palette)
    sides = zip(*(value or (None, None) for value in values), strict=True)
    up, down = (_thinned([None if value is None else value / scale.size for value in side], each) for side in sides)
    lines = traffic(up, down, before + axis.width, rows, palette, graph)
    return [_hatched(line, gaps, palette) for line in lines]


def _number(value: float | None, unknown: str) -> str:
    return unknown if value is None else f"{value:.1f}"


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
