"""Mirror graph: one series up and one down from a common baseline, on one scale. Pure functions of numbers.

A cell holds two values in braille, one in blocks and ASCII. None is a gap, which is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.tui.widgets.palette import Palette

Values = Sequence[float | None]

_LEFT, _RIGHT = (0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80)
"""Bits of a braille cell's dots, from top to bottom."""
_BRAILLE = 0x2800
_UP, _DOWN = (" ▁▂▃▄▅▆▇█", " .:#"), (" ▔▀█", " ':#")
"""Glyphs of a cell that is filled from its bottom, and from its top: blocks and ASCII."""
_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def nice(value: float, floor: float = 0.0) -> float:
    """Return the top of a scale for `value`: at least `floor`, and a round number."""
    value = max(value, floor)
    if value <= 0:
        return 1.0
    base = 1.0
    while base > value:
        base /= 10
    while base * 10 <= value:
        base *= 10
    return next(base * step for step in _STEPS if base * step >= value * (1 - 1e-9))


def split(up: float, down: float, rows: int) -> tuple[int, int]:
    """Return how many of `rows` lines go up and how many down, for the largest values of both; at least one each."""
    if rows < 2:
        return rows, 0
    whole = up + down
    above = round(rows * up / whole) if whole else rows // 2
    above = max(1, min(above, rows - 1))
    return above, rows - above


def risen(values: Values, top: float, rows: int, palette: Palette) -> list[str]:
    """Return the lines of a series of two values a cell that rises from the last line; `top` is the first line's."""
    return _drawn(values, top, rows, palette, down=False)


def hanging(values: Values, top: float, rows: int, palette: Palette) -> list[str]:
    """Return the lines of a series of two values a cell that hangs from the first line; `top` is the last line's."""
    return _drawn(values, top, rows, palette, down=True)


def _drawn(values: Values, top: float, rows: int, palette: Palette, *, down: bool) -> list[str]:
    if palette.ascii or palette.blocks:
        glyphs = (_DOWN if down else _UP)[palette.ascii]
        pairs = [[value for value in values[at : at + 2] if value is not None] for at in range(0, len(values), 2)]
        levels = [_level(max(pair) if pair else None, top, rows * (len(glyphs) - 1)) for pair in pairs]
        lines = [_glyphs(levels, row, glyphs) for row in range(rows)]
    else:
        levels = [_level(value, top, rows * 4) for value in values]
        lines = [_dots(levels, row, down=down) for row in range(rows)]
    return lines if down else lines[::-1]


def _level(value: float | None, top: float, steps: int) -> int:
    """Return how many of `steps` a value fills: at least one unless it is 0 or unknown."""
    if not value or value < 0 or top <= 0:
        return 0
    return max(1, min(round(value / top * steps), steps))


def _glyphs(levels: Sequence[int], row: int, glyphs: str) -> str:
    steps = len(glyphs) - 1
    return "".join(glyphs[max(0, min(level - row * steps, steps))] for level in levels)


def _dots(levels: Sequence[int], row: int, *, down: bool) -> str:
    """Return a line; `row` 0 is at the baseline."""
    cells = []
    for at in range(0, len(levels), 2):
        bits = 0
        for level, dots in zip(levels[at : at + 2], (_LEFT, _RIGHT), strict=False):
            filled = max(0, min(level - row * 4, 4))
            bits |= sum(dots[:filled] if down else dots[4 - filled :])
        cells.append(chr(_BRAILLE + bits) if bits else " ")
    return "".join(cells)
