"""Graphs: bars, charts and stacks of glyphs. Pure functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

BAR = (("━", "╸", "─"), ("#", "", "."))
"""Full, half and empty cells of a bar, as Unicode and as ASCII."""
_STACK = ("█▒░", "#=.")
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def bar(ratio: float | None, width: int, *, ascii: bool = False) -> tuple[str, str]:  # noqa: A002
    """Return a bar's full and empty parts, `width` cells in total; ratios above 1 are full, None is blank."""
    if ratio is None or width <= 0:
        return "", " " * width
    full, half, rest = BAR[ascii]
    halves = round(min(max(ratio, 0.0), 1.0) * width * 2)
    if ratio > 0 and not halves:
        halves = 1
    whole = halves // 2 if half else (halves + 1) // 2
    shown = full * whole + (half if halves % 2 else "")
    return shown, rest * (width - len(shown))


def chart(values: Sequence[float | None], top: float, height: int, *, ascii: bool = False) -> list[str]:  # noqa: A002
    """Return the `height` lines of a column chart from 0 to `top`, the highest first."""
    glyphs = " .:#" if ascii else _EIGHTHS
    steps = len(glyphs) - 1
    full = [0 if v is None or top <= 0 else max(1, round(min(v / top, 1.0) * height * steps)) for v in values]
    return ["".join(glyphs[min(max(f - row * steps, 0), steps)] for f in full) for row in range(height - 1, -1, -1)]


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


def scale(value: float) -> float:
    """Return the top of the scale for `value`: the next power of two, so that the scale rarely changes."""
    end = 1.0
    while end < value:
        end *= 2
    return end
