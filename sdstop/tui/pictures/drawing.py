"""Parts of pictures: meters, graphs of reads over writes, and heat. Functions of numbers, painted in roles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from sdstop.tui.widgets import roles
from sdstop.tui.widgets.palette import Line, Palette, text

role = lru_cache(maxsize=1024)(roles.role)
"""Styles of roles, kept because pictures have many cells."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_HEAT = " .:-=*%#"
_DOTS = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)
"""Dots of a braille cell from the bottom, of its left and its right column."""


def _cell(left: int, right: int, step: int) -> str:
    bits = sum(_DOTS[0][::step][:left]) + sum(_DOTS[1][::step][:right])
    return chr(0x2800 + bits) if bits else " "


_BRAILLE = tuple([[_cell(left, right, step) for right in range(5)] for left in range(5)] for step in (1, -1))
"""Glyphs by direction (up, down) and by the dots filled on the left and on the right."""


def meter(share: float | None, width: int, name: str, palette: Palette, mark: float | None = None) -> Line:
    """Return a bar of `width` cells for a share of its scale; `mark` is the place of a threshold on it, 0 to 1.

    An unknown share is dotted, because an empty bar means 0.
    """
    if width <= 0:
        return ()
    if share is None:
        dots = ". " if palette.ascii else "· "
        return text(((dots * width)[:width], role("frame")))
    filled = min(max(share, 0.0), 1.0) * width
    whole = int(filled)
    rest = filled - whole
    if palette.ascii:
        whole = max(round(filled), 1 if share > 0 else 0)
        cells = "#" * whole + "." * (width - whole)
        parts = [(c, role(name) if c == "#" else role("frame")) for c in cells]
    else:
        part = _EIGHTHS[max(int(rest * 8), 1 if share > 0 and not whole else 0)] if whole < width else ""
        parts = [(_FULL, role(name))] * whole
        ground = "track" if palette.grounds else None
        parts += [(part, role(name, ground))] if part else []
        parts += [(" " if palette.grounds else "░", role("track", ground))] * (width - len(parts))
    if mark is not None and 0 <= mark <= 1:
        at = min(int(mark * width), width - 1)
        under = ("track" if at >= whole else name) if palette.grounds else None
        parts[at] = ("|" if palette.ascii else "│", role("limit", under, bold=True))
    return joined(parts)


def joined(parts: Sequence[tuple[str, Style]]) -> Line:
    """Return cells as a line, neighbors of one style together."""
    line: list[Segment] = []
    run, style = "", None
    for cell, own in parts:
        if own is not style and own != style and run:
            line.append(Segment(run, style))
            run = ""
        run, style = run + cell, own
    if run:
        line.append(Segment(run, style))
    return tuple(line)


def block(cells: int, name: str, ground: str, label: str, palette: Palette) -> tuple[str, Style]:
    """Return a block of cells with a label on it, cut to the block; `ground` is "track" for something empty.

    A terminal without backgrounds shows its outline: `[ label ]`, or `( label )` for something empty.
    """
    bold = ground != "track" or name in {"crit", "warn"}
    if palette.grounds and not palette.ascii:
        return f"{label[:cells]:<{cells}}", role(name, ground, bold=bold)
    ends = "()" if ground == "track" else "[]"
    style = role({"critfg": "crit", "warnfg": "warn"}.get(name, "text" if name == "playfg" else name), bold=bold)
    if cells < 3:
        return f"{label.strip()[:cells]:<{cells}}", style
    return f"{ends[0]}{label.strip()[: cells - 2]:<{cells - 2}}{ends[1]}", style


def stretched(values: Sequence[float | None], count: int) -> list[float | None]:
    """Return exactly `count` values: the last ones, or each one repeated if there are fewer."""
    known = list(values)
    while known and known[0] is None:
        known.pop(0)
    if not known:
        return [None] * count
    if len(known) >= count:
        return known[-count:]
    return [known[at * len(known) // count] for at in range(count)]


def dots(values: Sequence[float | None], top: float, width: int, height: int, palette: Palette, *,
         down: bool = False) -> list[str]:  # fmt: skip
    """Return the `height` lines of a filled graph from 0 to `top`, the highest line first; `down`: hanging from it.

    Two values a cell and four steps a line; a missing value is a gap. In ASCII one value a cell and three steps.
    """
    if palette.ascii:
        shown = stretched(values, width)
        steps = " .:#"
        full = [_steps(value, top, height * 3) for value in shown]
        lines = ["".join(steps[min(max(f - 3 * row, 0), 3)] for f in full) for row in range(height)]
        return lines if down else lines[::-1]
    scale = height * 4 / top if top > 0 else 0.0
    full = [0 if not v or v < 0 or not scale else max(int(min(v * scale, height * 4) + 0.5), 1)
            for v in stretched(values, 2 * width)]  # fmt: skip
    glyphs = _BRAILLE[down]
    lines = []
    for row in range(height):
        low = 4 * row
        count = [0 if f <= low else 4 if f >= low + 4 else f - low for f in full]
        lines.append("".join([glyphs[left][right] for left, right in zip(count[::2], count[1::2], strict=True)]))
    return lines if down else lines[::-1]


def _steps(value: float | None, top: float, most: int) -> int:
    if value is None or top <= 0 or value <= 0:
        return 0
    return min(max(round(value / top * most), 1), most)


def nice(value: float, floor: float = 1.0) -> float:
    """Return the end of a scale: the next of _STEPS times a power of ten of `floor`, which is the least."""
    end = floor
    while end * 10 < value:
        end *= 10
    return next((end * step for step in _STEPS if end * step >= value), end * 10)


_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


def spark(values: Sequence[float | None], top: float, width: int, name: str, palette: Palette) -> Line:
    """Return a graph of one line."""
    return text((dots(values, top, width, 1, palette)[0], role(name)))


def heat_step(value: float | None, top: float, least: float = 0.25) -> int:
    """Return the step of the heat ramp, 1 to 7, of a value on a scale to `top`; 0 below `least` and if unknown.

    The scale is a square root, so that a short queue beside a long one is still visible.
    """
    if value is None or value < least or top <= 0:
        return 0
    return 1 + min(int(6.999 * min(value / top, 1.0) ** 0.5), 6)


def heat_pair(upper: int, lower: int, palette: Palette) -> tuple[str, Style]:
    """Return one cell for two steps, one above the other."""
    if palette.ascii or not palette.grounds:
        step = max(upper, lower)
        return (_HEAT[step] if palette.ascii else " ░░▒▒▓▓█"[step]), role(f"h{step}" if step else None)
    if not upper and not lower:
        return " ", role()
    if not lower:
        return "▀", role(f"h{upper}")
    if not upper:
        return "▄", role(f"h{lower}")
    return "▀", role(f"h{upper}", f"h{lower}")


def heat_cell(step: int, palette: Palette) -> tuple[str, Style]:
    """Return one cell of a step."""
    if palette.ascii or not palette.grounds:
        return heat_pair(step, step, palette)
    return " ", role(None, f"h{step}") if step else role()
