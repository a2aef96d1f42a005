"""Cells shared by several tables."""

from __future__ import annotations

from rich.style import Style

from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, whole_percent
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, PLAIN, Line, Palette, text

IDLE = 1e-9
"""Queue length, or wait in seconds, below which a device counts as idle."""


def bar_cell(
    ratio: float | None, width: int, palette: Palette, style: Style = OTHER, *, mark: float | None = None
) -> Line:
    """Return a whole percentage, followed by a bar if there is room; `mark` is the position of a threshold."""
    number = f"{whole_percent(ratio):>{min(width, 5)}}"
    if width < 9:
        return text(number)
    return (*text(f"{number} "), *bar(ratio, width - 6, palette, style, mark=mark))


def fold(value: float | None, middle: float | None) -> str:
    """Return a value as a multiple of the median of its peers, such as `x2.4`; `-` if either is unknown."""
    if value is None or middle is None:
        return "-"
    if middle < IDLE:
        return "x1" if value < IDLE else "x>99"
    times = value / middle
    return "x>99" if times >= 99.5 else f"x{times:.0f}" if times >= 9.95 else f"x{times:.1f}"


def block_of(size: int) -> str:
    """Return `4K block`, `512-byte block`."""
    return f"{bytes_(size)} block" if size >= 1024 else f"{size}-byte block"


def counted(count: int, thing: str) -> str:
    """Return `1 disk`, `2 disks`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def severity_name(name: str, severity: Severity | None, palette: Palette, *, stale: bool = False) -> Line:
    """Return a name in the color of its severity; a stale name has a leading `~`."""
    style = FAINT if stale else PLAIN if severity is None else palette.severity(severity)
    return text((("~" if stale else "") + palette.word(name, 64), style))
