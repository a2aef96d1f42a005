"""Pane: a widget that paints its own lines.

Rows are painted when they become visible and sent to the terminal only if their text or style changed, so the cost of a
table depends on its visible rows only. It has no scroll bars; the title shows which rows are visible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from sdstop.core.guard import Guard, Part
from sdstop.tui.terminal import Depth
from sdstop.tui.widgets.keys import Section, bind, explained
from sdstop.tui.widgets.palette import CURSOR, FAINT, Line, Palette, plain, text, width_of
from sdstop.tui.widgets.strip import drawn

V = TypeVar("V")

SETTLE = 3
"""Number of updates for which rows keep their order after a cursor movement, so that they do not move under it."""

_MARKED = 40
"""Minimum width for an ellipsis at the end of a cut line; narrower lines need every cell for text."""


class Row(Struct, frozen=True):
    """A line of a pane.

    `key` identifies the row (None: it cannot be selected), `item` is the object that it shows, `line` paints it for a
    width; `search` is the text for filters, or a function that returns it.
    """

    key: Hashable | None = None
    item: Any = None
    line: Callable[[int], Line] | None = None
    search: str | Callable[[], str] = ""

    @property
    def searchable(self) -> str:
        """Text to search."""
        return self.search if isinstance(self.search, str) else self.search()

    def holds(self, needle: str) -> bool:
        """Return whether the row matches the filter `needle`, which is in lower case."""
        return needle in self.searchable.lower()


def under_cursor(style: Style | None) -> Style:
    """Return a style on the background of the selected row.

    Colors with a meaning are kept; labels become text, because they are too faint for this background.
    """
    if style is None:
        return CURSOR
    if style.color is None or style.color.name in {"dim", "frame", "strong"}:
        return style + CURSOR
    return style + Style(bgcolor=CURSOR.bgcolor)


class PaintedLine(Strip):
    """A line of a pane, freed when another replaces it: Textual would keep an undivided one in a cache of its own."""

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the parts of the line that end at these cells."""
        ends = list(cuts)
        return [self] if ends == [self.cell_length] else super().divide(ends)


@lru_cache(maxsize=256)
def _blank(width: int, style: Style) -> Strip:
    """Return an empty line: one object for all panes of a width, many of which have more lines than rows."""
    return PaintedLine([Segment(" " * width, style)], width)


def guard_of(widget: Widget) -> Guard:
    """Return the guard of a widget's app."""
    guard = getattr(widget.app, "guard", None)
    return guard if isinstance(guard, Guard) else Guard()


def words(line: Line, key: Hashable | None = None, item: Any = None, search: str = "") -> Row:
    """Return a row with the same line at every width."""
    return Row(key, item, lambda _: line, search)


class Pane(Widget, can_focus=True):
    """Widget that shows rows with a cursor, below a title."""

    DEFAULT_CSS = "Pane { width: 1fr; height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *explained(Section.ROWS, "down/up", bind("j,down", "move(1)"), bind("k,up", "move(-1)")),
        *explained(Section.ROWS, "first/last", bind("g,home", "edge(-1)"), bind("G,end", "edge(1)")),
        *explained(Section.ROWS, "page down", bind("pagedown,ctrl+f", "page(1)")),
        *explained(Section.ROWS, "page up", bind("pageup,ctrl+b", "page(-1)")),
    ]

    class Moved(Message):
        """Message that the cursor moved to another row."""

        def __init__(self, pane: Pane) -> None:
            """Create the message for a pane."""
            super().__init__()
            self.pane = pane

    class TimeChosen(Message):
        """Message that a moment was clicked, `ago` seconds before the one that is shown (negative: after it)."""

        def __init__(self, ago: float) -> None:
            """Create the message."""
            super().__init__()
            self.ago = ago

    def __init__(self, title: str = "", *, id: str | None = None, cursor: bool = True) -> None:  # noqa: A002
        """Create an empty pane; without a title, rows start at the first line."""
        super().__init__(id=id)
        self.title = title
        self.palette = Palette()
        self.rows: Sequence[Row] = ()
        self.cursor: Hashable | None = None
        self.top = 0
        self.settling = 0
        self.held = False
        self.begun = False
        self.can_focus = cursor
        self._at = 0
        self._note = ""
        self._painted: dict[int, Strip] = {}

    # -- visible part -----------------------------------------------------------------------------------------

    def put(self, rows: Sequence[Row], palette: Palette, note: str = "") -> None:
        """Show these rows; the cursor stays on its key, or at its place if the key is gone.

        Until the user moves it, the cursor stays on the first row.
        """
        self.begun = True
        self.rows = rows
        self.palette = palette
        self._note = note
        self.settling = max(0, self.settling - 1)
        was_seen = self.top <= self._at < self.top + self.room
        self._find_cursor()
        if self.held and was_seen:
            self.top = max(min(self.top, self._at), self._at - self.room + 1)
        self.repaint()

    def _find_cursor(self) -> None:
        if not self.can_focus:
            return
        if self.cursor is not None and self.held:
            for index, row in enumerate(self.rows):
                if row.key == self.cursor:
                    self._at = index
                    return
        self._at = self._nearest(self._at if self.held else 0, 1)
        self.cursor = self.rows[self._at].key if self.rows else None

    def _nearest(self, wanted: int, step: int) -> int:
        """Return the selectable index nearest to `wanted`, searching in the direction of `step` first."""
        if not self.rows:
            return 0
        last = len(self.rows) - 1
        index = max(0, min(wanted, last))
        up, down = range(index, -1, -1), range(index, last + 1)
        order: list[int] = [*down, *up] if step > 0 else [*up, *down]
        for at in order:
            if self.rows[at].key is not None:
                return at
        return index

    @property
    def at(self) -> int:
        """Index of the row under the cursor."""
        return self._at

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self._at] if 0 <= self._at < len(self.rows) else None

    @property
    def heads(self) -> int:
        """Number of lines above the rows."""
        return 1 if self.title else 0

    @property
    def room(self) -> int:
        """Number of rows that fit."""
        height: int = self.size.height
        return max(height - self.heads, 0)

    def head(self, y: int, width: int) -> Line:
        """Paint a line above the rows."""
        del y
        return self.palette.rule(self.title, self.note(), width, lit=self.has_focus)

    def note(self) -> str:
        """Return the note at the right of the title, with the range of visible rows if not all fit."""
        count = len(self.rows)
        if count <= self.room:
            return self._note
        seen = f"{self.top + 1}-{min(self.top + self.room, count)} of {count}"
        return f"{self._note} {self.palette.dot} {seen}" if self._note else seen

    def text(self) -> str:
        """Return all rows as text, for the clipboard or a file."""
        return "\n".join(plain(self.row_line(row, self.size.width)).rstrip() for row in self.rows)

    # -- painting ---------------------------------------------------------------------------------------------

    def repaint(self) -> None:
        """Paint the visible lines and refresh those that changed."""
        width, height = self.size
        if not width or not height:
            self._painted.clear()
            return
        self.top = max(0, min(self.top, len(self.rows) - self.room))
        changed = []
        for y in range(height):
            strip = self._strip(y, width)
            if self._painted.get(y) != strip:
                self._painted[y] = strip
                changed.append(Region(0, y, width, 1))
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the painted lines of a part as they are: a pane has no border and no padding to add."""
        lines = [self.render_line(y) for y in crop.line_range]
        return lines if crop.column_span == (0, self.size.width) else [line.crop(*crop.column_span) for line in lines]

    def render_line(self, y: int) -> Strip:
        """Return a painted line."""
        strip = self._painted.get(y)
        if strip is None or strip.cell_length != self.size.width:
            strip = self._painted[y] = self._strip(y, self.size.width)
        return strip

    def _strip(self, y: int, width: int) -> Strip:
        # Before there is data, not even the glyph set of the terminal is known.
        line = self.guarded(lambda: self._line(y, width), self.failed_line) if self.begun else ()
        style = self.palette.style
        if not line:
            return _blank(width, style(None))
        segments = [Segment(s.text, style(s.style)) for s in line if s.text]
        blank = width - width_of(segments)
        if blank < 0:
            segments = self._cut_off(segments, width)
        elif blank:
            segments.append(Segment(" " * blank, style(None)))
        return PaintedLine(Segment.simplify(segments), width)

    def _cut_off(self, segments: Sequence[Segment], width: int) -> list[Segment]:
        """Return the first `width` cells of a line, with an ellipsis if that hides text."""
        strip = Strip(segments)
        if width >= _MARKED and strip.crop(width).text.strip():
            return [*strip.crop(0, width - 1), Segment(self.palette.ellipsis, self.palette.style(FAINT))]
        return [*strip.adjust_cell_length(width)]

    def _line(self, y: int, width: int) -> Line:
        if y < self.heads:
            return self.head(y, width)
        index = self.top + y - self.heads
        line = self.row_line(self.rows[index], width) if index < len(self.rows) else ()
        if index == self._at and self.can_focus and line and self.rows[index].key is not None:
            return self._pointed(line)
        return line

    def guarded(self, make: Callable[[], V], instead: Callable[[str], V]) -> V:
        """Return the result of `make`, or of `instead`, which gets the text of the exception raised."""
        return guard_of(self).call(Part.VIEW, self.title or self.id or "pane", make, instead)

    def fail(self, said: str, palette: Palette) -> None:
        """Show why the rows cannot be shown, or nothing for ""."""
        self.put([words(self.failed_line(said))] if said else (), palette)

    def failed_line(self, said: str) -> Line:
        """Return the line shown instead of something that raised an exception."""
        return text((f" cannot be shown, internal error: {said}", self.palette.severity(None)))

    def row_line(self, row: Row, width: int) -> Line:
        """Paint one row."""
        return row.line(width) if row.line is not None else ()

    def _pointed(self, line: Line) -> Line:
        first = line[0]
        if first.text[:1] == " ":  # keep a severity mark: reverse video already shows the cursor
            line = (Segment(self.palette.pointer + first.text[1:], first.style), *line[1:])
        if not self.has_focus:
            return line
        blank = Segment(" " * max(self.size.width - width_of(line), 0))
        return tuple(s if self._keeps(s) else Segment(s.text, under_cursor(s.style)) for s in (*line, blank))

    def _keeps(self, segment: Segment) -> bool:
        """Return whether a segment keeps its style under the cursor: chips, heat, and strips in reverse video."""
        has_ground = segment.style is not None and segment.style.bgcolor is not None
        return has_ground or (self.palette.depth is Depth.NONE and drawn(segment.text))

    # -- moving -----------------------------------------------------------------------------------------------

    def move_to(self, index: int, step: int = 1) -> None:
        """Move the cursor to a row, or to the nearest selectable one, and scroll it into view."""
        if not self.rows:
            return
        before = self.cursor
        self.held = True
        self._at = self._nearest(index, step)
        self.cursor = self.rows[self._at].key
        self.settling = SETTLE
        self.top = max(min(self.top, self._at), self._at - max(self.room, 1) + 1)  # no room before the first layout
        if step < 0 and all(row.key is None for row in self.rows[: self._at]):
            self.top = max(0, self._at - self.room + 1)
        self.repaint()
        if before != self.cursor:
            self.post_message(self.Moved(self))

    def point(self, key: Hashable) -> bool:
        """Move the cursor to the row with a key; return False if there is none."""
        for index, row in enumerate(self.rows):
            if row.key == key:
                self.move_to(index)
                return True
        return False

    def match(self, needle: str, step: int) -> bool:
        """Move to the next (1) or previous (-1) row that contains `needle`; return False if there is none."""
        needle, count = needle.lower(), len(self.rows)
        for index in ((self._at + step * i) % count for i in range(1, count + 1)):
            row = self.rows[index]
            if needle and row.key is not None and self._holds(row, needle):
                self.move_to(index)
                return True
        return False

    def _holds(self, row: Row, needle: str) -> bool:
        return row.holds(needle) if row.search else needle in plain(self.row_line(row, self.size.width)).lower()

    def action_move(self, step: int) -> None:
        """Move the cursor by `step`; beyond the last selectable row, scroll instead."""
        at = self._at + step
        while 0 <= at < len(self.rows) and self.rows[at].key is None:
            at += step
        if 0 <= at < len(self.rows):
            self.move_to(at, step)
        else:
            self.top += step
            self.repaint()

    def action_page(self, step: int) -> None:
        """Move the cursor by one page."""
        self.top += step * max(self.room - 1, 1)
        self.move_to(self._at + step * max(self.room - 1, 1), step)

    def action_edge(self, step: int) -> None:
        """Move to the first (-1) or last (1) row."""
        self.top = 0 if step < 0 else len(self.rows)
        self.move_to(0 if step < 0 else len(self.rows) - 1, -step)
        self.held = step > 0
        if step > 0:
            self.top = len(self.rows)
            self.repaint()

    def time_at(self, x: int, y: int) -> float | None:
        """Return how many seconds before the shown moment a cell of a graph is; None if it is not part of one."""
        del x, y
        return None

    def on_focus(self) -> None:
        """Highlight the title."""
        self.repaint()

    def on_blur(self) -> None:
        """Dim the title."""
        self.repaint()

    def on_resize(self) -> None:
        """Paint for the new size."""
        self._painted.clear()
        self.repaint()

    def on_hide(self) -> None:
        """Forget the lines; the pane is painted again when it is shown."""
        self._painted.clear()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll."""
        event.stop()
        self.action_move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll."""
        event.stop()
        self.action_move(-3)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a double click opens it. A click on a graph goes to its moment."""
        ago = self.time_at(event.x, event.y)
        if ago is not None:
            self.post_message(self.TimeChosen(ago))
        index = self.top + event.y - self.heads
        if 0 <= index < len(self.rows) and self.rows[index].key is not None:
            self.move_to(index)
            if event.chain == 2:
                self._request("app.choose")
        action = event.style.meta.get("@click")
        if action is not None:
            event.stop()
            event.prevent_default()  # Textual would run it here
            self._request(action)

    def _request(self, action: str) -> None:
        """Run an action of this pane, or an `app.` one, as the dashboard's next message.

        The action may close this pane's screen. That waits until the pane has handled its messages, so a handler of the
        pane that waited for the action would never end.
        """
        self.app.call_later(self.run_action, action)
