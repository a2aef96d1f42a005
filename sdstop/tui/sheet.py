"""Sheets: full-screen panes on top of the views, for findings, facts, evidence and help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.app import ComposeResult
from textual.screen import Screen

from sdstop.tui.facts import FactSubject, fact_rows
from sdstop.tui.help import Lines, help_rows
from sdstop.tui.raw import head_lines, raw_rows, stored_evidence
from sdstop.tui.scene import Scene
from sdstop.tui.status import status_line
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.why import Quote
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Hint
from sdstop.tui.widgets.palette import FAINT, PLAIN, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import LineTable, TableColumn

BACK: tuple[Hint, ...] = (("Esc", "back"), ("j k", "move"), ("Space", "pause"), ("t T", "step"), ("q", "quit"))
"""Keys of a sheet, as shown in its footer."""


class Sheet(Screen[None]):
    """Screen with one pane below the status line."""

    hints: Sequence[Hint] = BACK

    def __init__(self, title: str) -> None:
        """Start empty."""
        super().__init__()
        self.status = Pane(cursor=False, id="status")
        self.head = Pane(cursor=False, id="head")
        self.pane = Pane(title)
        self.bar = TimeBar()
        self.foot = FooterBar(self.hints)
        self.scene: Scene | None = None
        self.needle = ""

    def compose(self) -> ComposeResult:
        """Lay out the parts; most sheets leave the head empty."""
        yield self.status
        yield self.head
        yield self.pane
        yield self.bar
        yield self.foot

    def on_mount(self) -> None:
        """Focus the pane."""
        self.pane.focus()

    def on_screen_resume(self) -> None:
        """Repaint with the latest scene."""
        if self.scene is not None:
            self.show(self.scene)

    def on_resize(self) -> None:
        """Rewrap the lines for the new width."""
        if self.scene is not None:
            self.call_after_refresh(self.show, self.scene)

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        self.status.put([Row(line=lambda width: status_line(scene, width))], scene.palette)
        self.foot.show(scene.palette)
        self.bar.show(scene, self.size.width, self.size.height)
        self.pane.guarded(lambda: self.fill(scene, self.size.width), lambda said: self._failed(said, scene))

    def _failed(self, said: str, scene: Scene) -> None:
        self.head.fail("", scene.palette)
        self.pane.fail(said, scene.palette)

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the pane with rows."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the whole text of the sheet, for the clipboard or a file."""
        return "\n\n".join(pane.text() for pane in (self.head, self.pane) if pane.rows)

    def ask_filter(self) -> None:
        """Prompt for the search text."""

        def done(answer: str | None) -> None:
            self.needle = answer or ""
            self.match(1)

        self.foot.ask(Prompt("find", self.needle, done))

    def match(self, step: int) -> bool:
        """Move to the next (1) or previous (-1) line that matches the search."""
        return self.pane.match(self.needle, step)

    def clear(self) -> bool:
        """Clear the search; return False if there was none."""
        had, self.needle = bool(self.needle), ""
        return had


class HelpSheet(Sheet):
    """Key help."""

    def __init__(self, keys: Sequence[tuple[str, Lines]], version: str) -> None:
        """Create the sheet for these sections of keys and this version."""
        super().__init__("Help")
        self.keys = keys
        self.version = version

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the pane with rows."""
        self.pane.put(help_rows(self.keys, scene.palette, self.version, width), scene.palette)


class FactSheet(Sheet):
    """All facts about an object at the displayed moment."""

    hints = (("Enter", "evidence"), *BACK)

    def __init__(self, thing: FactSubject) -> None:
        """Create the sheet for an object."""
        super().__init__("Facts")
        self.thing = thing

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the pane with rows."""
        self.pane.title = scene.palette.word(self.thing.name, 60)
        self.pane.put(fact_rows(self.thing, scene, width), scene.palette)


class ColumnChoice(Struct, frozen=True):
    """A column in the list of columns to choose from."""

    column: TableColumn
    chosen: bool


class ColumnSheet(Sheet):
    """Columns of a table; Enter shows or hides one."""

    hints = (("Enter", "show or hide"), *BACK)

    def __init__(self, table: LineTable, choose: Callable[[LineTable, Sequence[str]], None]) -> None:
        """Create the sheet for a table; `choose` receives the field names of the chosen columns."""
        super().__init__("Columns")
        self.table = table
        self.choose = choose

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the pane with rows."""
        del width
        self.pane.title = f"Columns of {scene.palette.word(self.table.title, 60)}"
        visible = {column.name for column in self.table.shown_columns}
        known = [column for column in self.table.columns if column.heading]
        rows = [self._row(column, column.name in visible) for column in known]
        self.pane.put(rows, scene.palette, f"{sum(row.item.chosen for row in rows)} of {len(rows)}")

    @staticmethod
    def _row(column: TableColumn, chosen: bool) -> Row:  # noqa: FBT001  # private
        mark, style = ("[x]", PLAIN) if chosen else ("[ ]", FAINT)
        sortable = "" if column.value is not None else "   not sortable"
        line = text((f" {mark} {column.heading:<20}", style), (f" {column.name}{sortable}", FAINT))
        return words(line, column.name, ColumnChoice(column, chosen), column.heading)

    def toggle(self, choice: ColumnChoice) -> None:
        """Show a hidden column at its usual place, or hide a shown one; the last one stays."""
        shown = {column.name for column in self.table.shown_columns} ^ {choice.column.name}
        names = [column.name for column in self.table.columns if column.name in shown]
        if names:
            self.choose(self.table, names)
        if self.scene is not None:
            self.show(self.scene)


class RawSheet(Sheet):
    """A piece of raw evidence, below a fixed header with its kind and when and how it was read."""

    def __init__(self, quote: Quote) -> None:
        """Create the sheet for quoted evidence."""
        super().__init__("Raw evidence")
        self.head.title = "Evidence"
        self.quote = quote
        self._shown: tuple[object, ...] = ()

    def fill(self, scene: Scene, width: int) -> None:
        """Fill the panes once per size and palette, because evidence does not change."""
        if self._shown == (self.size, scene.palette) or not width:
            return
        begun, self._shown = bool(self._shown), (self.size, scene.palette)
        item = stored_evidence(scene.session, self.quote)
        told = head_lines(self.quote, item, scene.palette)
        most = max(self.size.height // 3, 1)  # the first header lines matter most
        rows, first = raw_rows(self.quote, item, scene.palette, width)
        self.head.styles.height = min(len(told), most) + 1
        self.head.put([words(line) for line in told[:most]], scene.palette)
        self.pane.put(rows, scene.palette)
        if first is not None and not begun:
            self.pane.move_to(first)
            # Before the first layout the pane has no size; use the height of the screen.
            self.pane.top = max(0, first - (self.pane.room or self.size.height) // 3)
            self.pane.repaint()
