"""Palette: the styles and glyphs of the screen.

Views paint in the styles below, whose colors are roles (`roles.py`); a pane resolves them for the terminal. Severity
has its own colors, always together with a word or mark. Glyphs are written in Unicode and pass through `glyphs`.
All painted text is either a literal of sdstop or external text that has passed through `word`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, chop_cells, get_character_cell_size
from rich.segment import Segment
from rich.style import Style

from sdstop.core.finding import Severity
from sdstop.core.format import safe
from sdstop.tui.terminal import Depth
from sdstop.tui.widgets.roles import HEAT_STEPS, resolved, role

Line = tuple[Segment, ...]

PLAIN = Style()
"""Numbers and names."""
FAINT = role("dim")
"""Labels, units, notes; and whatever is unknown."""
STRONG = role("strong", bold=True)
"""Titles and key numbers."""
FRAME = role("frame")
"""Rules and arrows; not for text."""
READ = role("read")
"""Reads, received."""
WRITE = role("write")
"""Writes, sent."""
OTHER = role("other")
"""Neutral use: utilization, queue, progress."""
LIMIT = role("limit", bold=True)
"""Marks of limits and thresholds."""
CRIT, WARN = role("crit"), role("warn")
"""Parts that a finding accuses."""
CRIT_CHIP, WARN_CHIP = role("critfg", "critbg", bold=True), role("warnfg", "warnbg", bold=True)
"""Chips and blocks that a finding accuses."""
CHIP = role("playfg", "playbg", bold=True)
"""Neutral chip: LIVE, REPLAY, spare capacity."""
CURSOR = role("selfg", "selbg")
"""Selected row."""
BANNER = role("tabfg", "tabbg", bold=True)
"""Selected tab."""
HEAT = tuple(role(f"h{step}") for step in range(HEAT_STEPS))
HEAT_GROUND = tuple(role(f"h{step}", f"h{step}") for step in range(HEAT_STEPS))
"""Heat steps from cold to hot, as text and as cells."""

_SEVERITIES = {Severity.CRITICAL: CRIT, Severity.WARNING: WARN, Severity.INFO: PLAIN, None: FAINT}
_CHIPS = {Severity.CRITICAL: CRIT_CHIP, Severity.WARNING: WARN_CHIP, Severity.INFO: CHIP, None: CHIP}
_BOLD = Style(bold=True)
_ASCII = str.maketrans({
    "─": "-", "━": "=", "╌": "-", "│": "|", "┃": "|", "╎": "|", "┊": ":", "├": "|", "└": "`", "╺": "-", "╸": "=",
    "┌": "+", "┐": "+", "┘": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+",
    "▲": "^", "▼": "v", "▶": ">", "◀": "<", "▸": ">", "◂": "<", "▾": "v", "▴": "^", "→": ">", "←": "<", "↑": "^",
    "↓": "v", "·": ".", "\u00d7": "x", "…": "~", "≤": "<", "≥": ">", "≈": "~",
    "█": "#", "▓": "#", "▒": "=", "░": ".", "■": "#", "□": ".", "●": "o", "○": "o", "▀": '"', "▄": "_",
    "▏": "|", "▕": "|", "✓": "+", "↳": "`",
})  # fmt: skip
WORDS = {Severity.CRITICAL: "!CRIT", Severity.WARNING: "*WARN", Severity.INFO: " INFO"}
MARKS = {Severity.CRITICAL: "!", Severity.WARNING: "*"}
"""Marks at the start of a row, so that color is not the only sign of severity."""
UNKNOWN_WORD = "?UNKN"


class Palette(Struct, frozen=True):
    """Terminal capabilities: glyphs (ASCII only, or `blocks` without braille), color depth, light background."""

    ascii: bool = False
    depth: Depth = Depth.TRUE
    light: bool = False
    blocks: bool = False

    @property
    def grounds(self) -> bool:
        """Whether a cell can have a background of any role, such as the track of a bar or heat."""
        return self.depth >= Depth.INDEXED

    def style(self, style: Style | None) -> Style:
        """Return the style that the terminal gets for a style of roles; None is plain text."""
        return resolved(style, self.depth, self.light)

    def severity(self, severity: Severity | None, *, bold: bool = True) -> Style:
        """Return the style of a part that a finding of this severity accuses; None means unknown."""
        style = _SEVERITIES[severity]
        return style + _BOLD if bold and severity is Severity.CRITICAL else style

    def chip(self, severity: Severity | None) -> Style:
        """Return the style of a chip or block of a severity; always beside a word or mark."""
        return _CHIPS[severity]

    def glyphs(self, drawn: str) -> str:
        """Return drawn glyphs (not external text) in the form that this terminal has."""
        return drawn.translate(_ASCII) if self.ascii else drawn

    def word(self, text: object, limit: int = 200) -> str:
        """Return external text in a form that is safe on this terminal."""
        shown = safe(text, limit)
        if not shown.isascii() and (self.ascii or not _countable(shown)):
            shown = shown.encode("ascii", "backslashreplace").decode("ascii")
        return shown

    def fit(self, text: str, width: int, *, right: bool = False) -> str:
        """Return safe text in exactly `width` cells; longer text is cut and ends with an ellipsis."""
        size = cells_of(text)
        if size > width:
            if width <= 0:
                return ""
            text = (chop_cells(text, width - 1)[0] if width > 1 else "") + self.ellipsis
            size = cells_of(text)
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
        title = self.fit(title, min(cells_of(title), max(width - 4, 0)))
        room = width - cells_of(title) - 3
        note = self.fit(note, min(cells_of(note), room - 4)) if note and room > 12 else ""
        fill = room - (cells_of(note) + 3 if note else 0)
        return (
            Segment(f"{dash} ", STRONG if lit else FRAME),
            Segment(title, STRONG),
            Segment(" " + dash * max(fill, 0), FRAME),
            *((Segment(f" {note} ", FAINT), Segment(dash, FRAME)) if note else ()),
        )


@lru_cache(maxsize=512)
def clickable(style: Style, action: str) -> Style:
    """Return a style whose text runs an action of its widget, or `app.` one, when it is clicked."""
    return style + Style.from_meta({"@click": action})


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
    return sum([cells_of(s.text) for s in line])


def cells_of(text: str) -> int:
    """Return the width of a text in cells. Rich would keep the text, such as each graph of the last second."""
    return len(text) if text.isascii() or _drawn(text) else cell_len(text)


_drawn = re.compile("[\x20-\x7e\xb7\xd7\u2026\u2190-\u2193\u2264\u2500-\u25fc\u2800-\u28ff]*").fullmatch
"""Glyphs of graphs, bars and rules, each of one cell."""


def plain(line: Iterable[Segment]) -> str:
    """Return a line's text."""
    return "".join(s.text for s in line)
