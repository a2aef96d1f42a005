"""Palette: the styles and glyphs of the screen.

Color is used only for severity, always together with a word or mark, and only from the terminal's own 16 colors.
All painted text is either a literal of sdstop or external text that has passed through `word`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, chop_cells, get_character_cell_size
from rich.segment import Segment
from rich.style import Style

from sdstop.core.finding import Severity
from sdstop.core.format import safe

Line = tuple[Segment, ...]

PLAIN = Style()
FAINT = Style(dim=True)
STRONG = Style(bold=True)
CURSOR = Style(reverse=True)
BANNER = Style(bold=True, reverse=True)

_COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: None}
WORDS = {Severity.CRITICAL: "!CRIT", Severity.WARNING: "*WARN", Severity.INFO: " INFO"}
MARKS = {Severity.CRITICAL: "!", Severity.WARNING: "*"}
"""Marks at the start of a row, so that color is not the only sign of severity."""
UNKNOWN_WORD = "?UNKN"


class Palette(Struct, frozen=True):
    """Terminal capabilities: `ascii` restricts glyphs to ASCII, `colour` False disables colors."""

    ascii: bool = False
    colour: bool = True

    def severity(self, severity: Severity | None, *, bold: bool = True) -> Style:
        """Return the style of a severity; None means unknown."""
        return _style(severity, self.colour, bold and severity is Severity.CRITICAL)

    def word(self, text: object, limit: int = 200) -> str:
        """Return external text in a form that is safe on this terminal."""
        shown = safe(text, limit)
        if not shown.isascii() and (self.ascii or not _countable(shown)):
            shown = shown.encode("ascii", "backslashreplace").decode("ascii")
        return shown

    def fit(self, text: str, width: int, *, right: bool = False) -> str:
        """Return safe text in exactly `width` cells; longer text is cut and ends with an ellipsis."""
        size = len(text) if text.isascii() else cell_len(text)
        if size > width:
            if width <= 0:
                return ""
            text = (chop_cells(text, width - 1)[0] if width > 1 else "") + self.ellipsis
            size = cell_len(text)
        blank = " " * (width - size)
        return blank + text if right else text + blank

    @property
    def ellipsis(self) -> str:
        """Mark at the end of cut text."""
        return "~" if self.ascii else "…"

    @property
    def at_most(self) -> str:
        """Prefix of a number that is an upper bound."""
        return "<" if self.ascii else "≤"

    @property
    def pointer(self) -> str:
        """Mark of the cursor's row, for terminals without reverse video."""
        return ">" if self.ascii else "▸"

    @property
    def back(self) -> str:
        """Arrow that points at the item before it."""
        return "<" if self.ascii else "◂"

    @property
    def tick(self) -> str:
        """Mark of a position on a bar."""
        return "|" if self.ascii else "┃"

    @property
    def times(self) -> str:
        """Multiplication sign before a count."""
        return "x" if self.ascii else "\u00d7"

    @property
    def dash(self) -> str:
        """Glyph of a horizontal rule."""
        return "-" if self.ascii else "─"

    @property
    def branches(self) -> tuple[str, str]:
        """Tree connectors of a row with further siblings and of the last sibling."""
        return ("|- ", "`- ") if self.ascii else ("├ ", "└ ")

    def arrow(self, *, down: bool) -> str:
        """Return the mark for the heading of the sorted column."""
        return ("v" if down else "^") if self.ascii else ("▾" if down else "▴")

    @property
    def dot(self) -> str:
        """Separator between items of a list."""
        return "|" if self.ascii else "·"

    def rule(self, title: str, note: str, width: int, *, lit: bool = False) -> Line:
        """Return a pane's first line: a rule with its title, and a note at the right."""
        dash = self.dash
        title = self.fit(title, min(cell_len(title), max(width - 6, 0)))
        room = width - cell_len(title) - 5
        note = self.fit(note, min(cell_len(note), room - 4)) if note and room > 12 else ""
        tail = f" {note} {dash}" if note else dash
        fill = room - cell_len(tail) + 1
        return (
            Segment(f"{dash}{dash} ", FAINT),
            Segment(title, STRONG if lit else PLAIN),
            Segment(" " + dash * max(fill, 0) + tail, FAINT),
        )


@lru_cache(maxsize=512)
def clickable(style: Style, action: str) -> Style:
    """Return a style whose text runs an action of its widget, or `app.` one, when it is clicked."""
    return style + Style.from_meta({"@click": action})


@lru_cache(maxsize=32)
def _style(severity: Severity | None, coloured: bool, bold: bool) -> Style:  # noqa: FBT001  # a cache's key
    colour = "cyan" if severity is None else _COLOURS[severity]
    return PLAIN if colour is None else Style(color=colour if coloured else None, bold=bold)


def _countable(shown: str) -> bool:
    """Return whether every character takes one or two cells of its own; terminals join others differently."""
    sizes = [get_character_cell_size(c) for c in shown]
    return min(sizes) > 0 and sum(sizes) == cell_len(shown)


def text(*parts: str | tuple[str, Style]) -> Line:
    """Return a line made of plain strings and (text, style) pairs."""
    return tuple(Segment(p, PLAIN) if isinstance(p, str) else Segment(*p) for p in parts)


def pairs(line: Iterable[Segment]) -> Iterator[tuple[str, Style]]:
    """Yield a line's (text, style) pairs for use in another line."""
    return ((s.text, s.style or PLAIN) for s in line)


def width_of(line: Iterable[Segment]) -> int:
    """Return the width of a line in cells."""
    return sum(len(s.text) if s.text.isascii() else cell_len(s.text) for s in line)


def plain(line: Iterable[Segment]) -> str:
    """Return a line's text."""
    return "".join(s.text for s in line)
