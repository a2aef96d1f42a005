"""Actions of keys and typed commands, except movement within a screen and in time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from sdstop.core.suggestion import unknown_name
from sdstop.tui.device.page import DevicePage
from sdstop.tui.driver import TerminalDriver
from sdstop.tui.dump import capture_name, save_text, write_capture
from sdstop.tui.facts import FactSubject
from sdstop.tui.help import sections
from sdstop.tui.main import Main
from sdstop.tui.scene import FindingEntry
from sdstop.tui.settings import remember_columns
from sdstop.tui.sheet import ColumnSheet, FactSheet, HelpSheet, Sheet
from sdstop.tui.time_travel import TimeTravel
from sdstop.tui.views import VIEWS, view_named
from sdstop.tui.why_sheet import WhySheet
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Section, bind, explained, hints_of, key_of, keys_of
from sdstop.tui.widgets.palette import plain
from sdstop.tui.widgets.pane import Pane
from sdstop.tui.widgets.table import LineTable
from sdstop.tui.widgets.tree import TreeTable


class Commands(TimeTravel):
    """The dashboard's actions; no key changes anything on the node."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(bind(key_of(entry.key), f"view('{entry.key}')") for entry in VIEWS),
        *explained(
            Section.VIEWS,
            "open: why of a finding, raw evidence of a value",
            bind("enter", "choose"),
            hint="why",
            rank=4,
        ),
        *explained(Section.VIEWS, "back", bind("escape,backspace", "away")),
        *explained(Section.VIEWS, "next pane", bind("tab", "app.focus_next"), hint="next pane", rank=14),
        *explained(
            Section.ROWS,
            "search all views: sd[a-c], await > 20ms, array = md0; Esc ends it",
            bind("slash,f3,f4", "filter", "search", "filter"),
            hint="find",
            rank=2,
        ),
        *explained(Section.ROWS, "next/previous hit, in any view", bind("n", "match(1)"), bind("N", "match(-1)")),
        *explained(Section.ROWS, "go to the view of the finding", bind("v", "lead", "view"), hint="its view", rank=5),
        *explained(Section.ROWS, "pin/unpin the row above all views", bind("p", "pin", "pin"), hint="pin", rank=6),
        *explained(
            Section.ROWS,
            "next/previous member or path",
            bind("right_square_bracket", "sibling(1)"),
            bind("left_square_bracket", "sibling(-1)"),
        ),
        *explained(Section.ROWS, "choose columns", bind("o", "columns")),
        *explained(Section.ROWS, "copy the row to the terminal's clipboard", bind("y", "copy", "copy")),
        *explained(
            Section.OTHER, "save the history buffer as a capture", bind("w", "write", "write"), hint="capture", rank=10
        ),
        *explained(
            Section.OTHER,
            "toggle ASCII, color, mouse",
            bind("a", "ascii", "ascii"),
            bind("c", "colour", "colour"),
            bind("m", "mouse", "mouse"),
        ),
        *explained(
            Section.OTHER,
            "type a command: disks, sort queue, save FILE, quit",
            bind("colon", "command"),
            hint="command",
            rank=15,
        ),
        *explained(Section.OTHER, "show this help", bind("question_mark,f1", "keys", "help"), hint="help", rank=1),
        *explained(Section.OTHER, "quit", bind("q,f10,ctrl+c", "leave", "quit"), hint="quit", rank=11),
    ]

    main: Main

    @property
    def foot(self) -> FooterBar:
        """Bottom line of the visible screen."""
        screen = self.screen
        return screen.foot if isinstance(screen, Main | Sheet) else self.main.foot

    # -- screens ----------------------------------------------------------------------------------------------

    async def action_keys(self) -> None:
        """Show the help screen."""
        if not isinstance(self.screen, HelpSheet):
            await self.lay(HelpSheet(KEYS, self.options.version))

    async def lay(self, sheet: Sheet) -> None:
        """Open a sheet on top of the current screen."""
        raise NotImplementedError

    async def action_view(self, key: str) -> None:
        """Show a view and close all sheets; if the view is already visible, turn its page."""
        if not isinstance(self.screen, Sheet) and self.main.entry.key == key:
            self.main.shown.turn()
            return
        while isinstance(self.screen, Sheet):
            await self.pop_screen()
        await self.main.show_view(key)

    async def action_away(self) -> None:
        """Clear the sheet's search or close the sheet; without a sheet, clear the filter or return to the overview."""
        if isinstance(self.screen, Sheet):
            if not self.screen.clear():
                await self.pop_screen()
        else:
            await self.main.back()

    def action_filter(self) -> None:
        """Prompt for the row filter, or for the search text in evidence."""
        screen = self.screen
        if isinstance(screen, Main | Sheet):
            screen.ask_filter()

    async def action_match(self, step: int) -> None:
        """Move to the next (1) or previous (-1) hit of the search."""
        screen = self.screen
        found = (
            await screen.match(step) if isinstance(screen, Main) else isinstance(screen, Sheet) and screen.match(step)
        )
        if not found:
            self.foot.say("no hit; / searches")

    async def action_lead(self) -> None:
        """Show the view of the finding under the cursor, or of the one that is open, with its thing selected."""
        screen = self.screen
        row = screen.focused.chosen if isinstance(screen.focused, Pane) else None
        entry = screen.entry if isinstance(screen, WhySheet) else getattr(row.item, "opens", row.item) if row else None
        if isinstance(entry, FindingEntry) and entry.finding is not None:
            while isinstance(self.screen, Sheet):
                await self.pop_screen()
            wrong = await self.main.lead(entry)
            if wrong:
                self.foot.say(wrong)
        else:
            self.foot.say("no finding selected; v goes to the view of a finding")

    def action_pin(self) -> None:
        """Pin or unpin the thing under the cursor."""
        if isinstance(self.screen, Main):
            self.foot.say(self.main.pin())
        elif isinstance(self.screen, DevicePage):
            self.foot.say(self.main.pin_subject(self.screen.names, self.screen.entry))

    def action_unpin(self) -> None:
        """Unpin everything."""
        self.main.unpin()

    def action_sibling(self, step: int) -> None:
        """Move to the next (1) or previous (-1) member or path, also while its sheet is open."""
        screen = self.screen
        if isinstance(screen, Main):
            screen.shown.sibling(step)
        elif isinstance(screen, DevicePage):
            screen.sibling(step)
        elif isinstance(screen, FactSheet):
            self.main.shown.sibling(step)
            row = self.main.shown.main.chosen
            item = getattr(row.item, "opens", row.item) if row is not None else None
            if isinstance(item, FactSubject) and screen.scene is not None:
                screen.thing = item
                screen.show(screen.scene)

    async def action_columns(self) -> None:
        """Show the columns of the table that receives keys, to choose from."""
        if isinstance(self.screen, Main):
            await self.lay(ColumnSheet(self.main.table(), self.choose_columns))

    def choose_columns(self, table: LineTable, names: Sequence[str] | None) -> None:
        """Show the columns with these field names in a table and remember them; None: the usual ones."""
        table.choose(names)
        chosen = self.main.columns
        if names is None:
            chosen.pop(table.id or "", None)
        else:
            chosen[table.id or ""] = list(names)
        wrong = remember_columns(chosen)
        if wrong:
            self.foot.say(f"columns not saved: {wrong}", bad=True)

    # -- saving -----------------------------------------------------------------------------------------------

    def action_write(self) -> None:
        """Prompt for a path and write all retained frames to it as a capture."""
        count = len(self.session.timeline.frames)
        if not count:
            self.foot.say("no sample yet")
            return

        def done(answer: str | None) -> None:
            if answer:
                self.run_worker(self._write(answer), exclusive=True)

        self.foot.ask(Prompt(f"save {count} frames to", capture_name(self.session), done))

    async def _write(self, path: str) -> None:
        self.foot.say(f"saving {path} ...")
        wrong = await asyncio.to_thread(write_capture, path, self.session.still())
        self.foot.say(f"not saved: {wrong}" if wrong else f"saved: {path}", bad=bool(wrong))

    def action_copy(self) -> None:
        """Copy the selected row, or the whole text of a sheet, to the terminal's clipboard."""
        pane = self._pane()
        row = pane.chosen if not isinstance(self.screen, Sheet) else None
        shown = self._text() if row is None else plain(pane.row_line(row, pane.size.width)).strip()
        self.copy_to_clipboard(shown)
        self.foot.say(f"sent {len(shown)} characters to the terminal's clipboard; `:save FILE` saves the screen")

    def _pane(self) -> Pane:
        focused = self.screen.focused
        return focused if isinstance(focused, Pane) else self.screen.query(Pane).last()

    def _text(self) -> str:
        return self.screen.text() if isinstance(self.screen, Sheet) else self._pane().text()

    def save(self, path: str) -> None:
        """Write the text of the sheet or the pane to a new file."""
        wrong = save_text(path, self._text())
        self.foot.say(f"not saved: {wrong}" if wrong else f"saved: {path}", bad=bool(wrong))

    # -- appearance -------------------------------------------------------------------------------------------

    def action_mouse(self) -> None:
        """Toggle mouse reporting; when it is off, the mouse selects text in the terminal."""
        self.mouse = not self.mouse
        if isinstance(self._driver, TerminalDriver):
            self._driver.report_mouse(on=self.mouse)
        self.foot.say("mouse on; Shift selects text" if self.mouse else "mouse off: select text as usual")

    # -- by name ----------------------------------------------------------------------------------------------

    def action_command(self) -> None:
        """Prompt for a command."""

        def done(answer: str | None) -> None:
            if answer and answer.strip():
                self.command(answer.strip())

        self.foot.ask(Prompt(":", "", done, choices=sorted(self._named())))

    def _named(self) -> dict[str, Callable[[], object]]:
        views = {entry.name: partial(self.call_later, self.action_view, entry.key) for entry in VIEWS}
        bound = {name: self._action(key.action) for key in keys_of(BOUND) for name in key.commands}
        return {
            **views,
            **bound,
            "rescan": self.action_rescan,
            "unpin": self.action_unpin,
            "columns": partial(self.call_later, self.action_columns),
            "sort": lambda: self.foot.say(f"sort by: {' '.join(self.main.table().sortable)}"),
            "save": lambda: self.foot.say("save FILE"),
        }

    def _action(self, name: str) -> Callable[[], object]:
        action: Callable[[], object] = getattr(self, f"action_{name}")
        return partial(self.call_later, action) if inspect.iscoroutinefunction(action) else action

    def action_rescan(self) -> None:
        """Run every collector immediately."""
        if self.feed is not None:
            self.feed.rescan()
            fixed = getattr(self.feed, "fixed", False)
            self.foot.say("sources are read by the exporter" if fixed else "refreshing all sources")

    def command(self, line: str) -> None:
        """Run a typed command."""
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        named = self._named()
        try:
            if name == "sort" and rest:
                self.main.table().sort_by(None if rest == "none" else rest)
            elif name == "columns" and rest:
                table = self.main.table()
                self.choose_columns(table, chosen_columns(table, rest.split()))
            elif name == "save" and rest:
                self.save(rest)
            elif name in {"filter", "search"} and rest:
                self.main.search_for(rest)
            elif name in named:
                named[name]()
            elif view_named(name.lower()) is not None:
                self.call_later(self.action_view, view_named(name.lower()).key)  # type: ignore[union-attr]
            else:
                self.foot.say(unknown_name("command", name, named, "Tab completes commands"), bad=True)
        except ValueError as error:
            self.foot.say(str(error), bad=True)


def chosen_columns(table: LineTable, words: Sequence[str]) -> list[str] | None:
    """Return the field names of columns for `:columns`: `await %util`, `+areq -w/s`, or `usual` (None).

    Raises ValueError, in one line, for an unknown column.
    """
    if list(words) == ["usual"]:
        return None
    changes = all(word[0] in "+-" and len(word) > 1 for word in words)
    names = [column.name for column in table.shown_columns] if changes else []
    for word in words:
        name = table.column_named(word[1:] if changes else word).name
        if changes and word[0] == "-":
            names = [each for each in names if each != name]
        elif name not in names:
            names.append(name)
    return names


BOUND = (*Commands.BINDINGS, *TimeTravel.BINDINGS)
"""Keys of every action of the dashboard."""
_TABLES = (Pane.BINDINGS, LineTable.BINDINGS, TreeTable.BINDINGS, BOUND)
KEYS = sections(*_TABLES)
"""The help screen's sections of keys."""
HINTS = hints_of(*_TABLES)
"""Key hints of the bottom line, the most important first."""
