"""Strips: numbers over time as one cell each. Pure functions of numbers.

A sample covers the time since the previous one, `(ends, seconds, value)` in monotonic seconds. All cells have the same
length; a cell shows the sample that covers its middle, so an interval of 5 s fills five cells of a second and nothing
is interpolated. A short sample between two middles shows if it is larger, so that no peak is lost. `None` means not
measured and is drawn as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from sdstop.core.averages import median
from sdstop.core.format import NONE
from sdstop.tui.widgets.graph import LEFT, UP, area, joined
from sdstop.tui.widgets.palette import FAINT, HEAT, HEAT_GROUND, OTHER, Line, Palette, text
from sdstop.tui.widgets.roles import HEAT_STEPS

Sample = tuple[float, float, float | None]

_HEAT = (" ·░░▒▒▓█", " .:-=*%#")
"""Heat steps as glyphs: Unicode and ASCII."""
_GAP = ("╎", "|")

_DRAWN = frozenset("".join((UP, LEFT, ".:#'·▀", *_HEAT, *_GAP)))


def drawn(text: str) -> bool:
    """Return whether a text is a strip or a bar, which would show the opposite in reverse video."""
    glyphs = text.strip()
    return glyphs not in {"", NONE} and all(c in _DRAWN or "\u2800" <= c <= "\u28ff" for c in glyphs)


def cells(samples: Iterable[Sample], now: float, width: int, seconds: float = 1.0) -> list[float | None]:
    """Return one value per cell, the newest last; None where no sample covers it.

    `now` is the end of the last cell. A sample longer than three times the median spans a gap; only its last part, of
    median length, is shown.
    """
    kept = [s for s in samples if s[1] > 0]
    usual = median(s[1] for s in kept) if kept else 0.0
    row: list[float | None] = [None] * width
    between: list[tuple[int, float]] = []
    for ends, lasted, value in kept:
        covers = lasted if lasted <= 3 * usual else usual
        # The middle of cell i lies at now - (i + 0.5) * seconds; it is covered if ends - covers < middle <= ends.
        first = max(0, _ceil((now - ends) / seconds - 0.5))
        after = _ceil((now - ends + covers) / seconds - 0.5)
        for i in range(first, min(after, width)):
            row[width - 1 - i] = value
        if after <= first and value is not None and ends <= now:
            between.append((int((now - ends + covers / 2) / seconds), value))
    for i, value in between:
        if i < width:
            other = row[width - 1 - i]
            row[width - 1 - i] = value if other is None else max(value, other)
    return row


def spread(samples: Sequence[Sample], fit: int, *, stretch: bool) -> list[float | None]:
    """Return `fit` values that end with the newest sample: one per second, or all samples if they are fewer.

    `stretch` spreads a short recording over the whole width; a live graph grows from the right instead, so that nothing
    moves but time.
    """
    if not samples or fit <= 0:
        return [None] * fit
    ends = samples[-1][0]
    held = ends - samples[0][0] + samples[0][1]
    return cells(samples, ends, fit, min(1.0, held / fit) if stretch and held > 0 else 1.0)


def _ceil(value: float) -> int:
    return -int(-(value - 1e-9) // 1)


def spark(values: Sequence[float | None], width: int, top: float, palette: Palette, style: Style = OTHER) -> Line:
    """Return a graph of one line from 0 to `top`, the newest at the right; `graph.samples` values fit into it.

    Graphs that are compared, such as those of a table, need one `top`.
    """
    return text((area(values, width, 1, top, palette)[0], style))


def heat(values: Sequence[float | None], top: float, palette: Palette) -> Line:
    """Return one cell of heat per value, from blank to the hottest at `top` and above.

    The position of a cell is never a matter of its value, and its color never one of severity. Leading gaps are blank,
    others are drawn.
    """
    cells_: list[tuple[str, Style]] = []
    begun = False
    glyphs = _HEAT[palette.ascii]
    styles = HEAT_GROUND if palette.grounds and not palette.ascii else HEAT
    for value in values:
        if value is None:
            cells_.append((_GAP[palette.ascii] if begun else " ", FAINT))
            continue
        begun = True
        at = level(value, top)
        cells_.append((glyphs[at], styles[at] if at else FAINT))
    return joined(cells_)


def heat_pair(upper: Sequence[float | None], lower: Sequence[float | None], top: float, palette: Palette) -> Line:
    """Return two rows of heat in one line: as half cells, or as the maximum of both where those are not possible."""
    if palette.ascii or not palette.grounds:
        known = [[v for v in pair if v is not None] for pair in zip(upper, lower, strict=True)]
        return heat([max(pair) if pair else None for pair in known], top, palette)
    cells_: list[tuple[str, Style]] = []
    for above, below in zip(upper, lower, strict=True):
        high, low = level(above, top), level(below, top)
        if high:
            style = HEAT[high] + Style(bgcolor=HEAT[low].color) if low else HEAT[high]
            cells_.append(("▀", style))
        else:
            cells_.append(("▄", HEAT[low]) if low else (" ", FAINT))
    return joined(cells_)


def level(value: float | None, top: float) -> int:
    """Return 0 for None or a negligible value, or else a level from 1 to HEAT_STEPS - 1, which `top` has."""
    levels = HEAT_STEPS - 1
    if value is None or top <= 0 or value <= top / (4 * levels):
        return 0
    return min(levels, 1 + int(min(value / top, 1.0) * levels * 0.9999))


def heat_scale_max(most: float, mean: float) -> float:
    """Return the value drawn solid in all rows of an array, whose shared scale makes members comparable.

    It is half the maximum, so that one outlier does not dim the rest, but at least four times the mean, so that an even
    load looks even, and at least one request, so that idle devices stay blank.
    """
    return max(most / 2, 4 * mean, 1.0)
