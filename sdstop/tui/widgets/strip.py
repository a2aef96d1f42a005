"""Strips: numbers over time as one cell each. Pure functions of numbers.

A sample covers the time since the previous one, `(ends, seconds, value)` in monotonic seconds. All cells have the same
length; a cell shows the sample that covers its middle, so an interval of 5 s fills five cells of a second and nothing
is interpolated. `None` means not measured and is drawn as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from sdstop.core.format import NONE
from sdstop.tui.widgets.graph import BAR

Sample = tuple[float, float, float | None]

_SPARK = ("▁▂▃▄▅▆▇█", "_.:-=+*#")
_HEAT = (" ·░▒▓█", " .:=*#")
_GAP = ("╎", "|")

_DRAWN = frozenset("".join((*_SPARK, *_HEAT, *_GAP, *map("".join, BAR))))

HOT = 3
"""Lowest heat level at which a cell is highlighted."""


def drawn(text: str) -> bool:
    """Return whether a text is a strip or a bar, which would show the opposite in reverse video."""
    return text.strip() not in {"", NONE} and _DRAWN.issuperset(text)


def cells(samples: Iterable[Sample], now: float, width: int, seconds: float = 1.0) -> list[float | None]:
    """Return one value per cell, the newest last; None where no sample covers it.

    `now` is the end of the last cell. A sample longer than three times the median spans a gap; only its last part, of
    median length, is shown.
    """
    kept = [s for s in samples if s[1] > 0]
    usual = median(s[1] for s in kept) if kept else 0.0
    row: list[float | None] = [None] * width
    for ends, lasted, value in kept:
        covers = lasted if lasted <= 3 * usual else usual
        # The middle of cell i lies at now - (i + 0.5) * seconds; it is covered if ends - covers < middle <= ends.
        first = max(0, _ceil((now - ends) / seconds - 0.5))
        after = _ceil((now - ends + covers) / seconds - 0.5)
        for i in range(first, min(after, width)):
            row[width - 1 - i] = value
    return row


def _ceil(value: float) -> int:
    return -int(-(value - 1e-9) // 1)


def sparkline(values: Sequence[float | None], top: float, *, ascii: bool = False) -> str:  # noqa: A002
    """Return one glyph per value, on a scale from 0 to `top`; leading gaps are blank, others are drawn."""
    glyphs = _SPARK[ascii]
    return _drawn(values, top, glyphs, _GAP[ascii], zero=glyphs[0])


def heat(values: Sequence[float | None], top: float, *, ascii: bool = False) -> str:  # noqa: A002
    """Return one shade per value, from blank to solid at `top` and above."""
    return _drawn(values, top, _HEAT[ascii][1:], _GAP[ascii], zero=" ")


def level(value: float | None, top: float, levels: int = 5) -> int:
    """Return 0 for None or a negligible value, or else a level from 1 to `levels`."""
    if value is None or top <= 0 or value <= top / (4 * levels):
        return 0
    return min(levels, 1 + int(min(value / top, 1.0) * levels * 0.9999))


def _drawn(values: Sequence[float | None], top: float, glyphs: str, gap: str, zero: str) -> str:
    shown: list[str] = []
    begun = False
    for value in values:
        if value is None:
            shown.append(gap if begun else " ")
            continue
        begun = True
        at = level(value, top, len(glyphs))
        shown.append(glyphs[at - 1] if at else zero)
    return "".join(shown)


def heat_scale_max(most: float, mean: float) -> float:
    """Return the value drawn solid in all rows of an array, whose shared scale makes members comparable.

    It is half the maximum, so that one outlier does not dim the rest, but at least four times the mean, so that an even
    load looks even, and at least one request, so that idle devices stay blank.
    """
    return max(most / 2, 4 * mean, 1.0)
