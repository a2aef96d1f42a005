"""The dashboard of a fleet: tables, sheets and keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from sdstop.core.finding import Finding
from sdstop.core.format import plural
from sdstop.fleet.state import FleetState
from sdstop.fleet.watcher import FleetWatcher, NodePicture
from sdstop.tui.fleet.poller import FleetAnswer, FleetPoller
from sdstop.tui.fleet.sheets import DifferenceSheet, FleetSheet, KeySheet, NodeSheet, help_lines
from sdstop.tui.fleet.status import Condition, remark_lines, status_line, tabs_line
from sdstop.tui.fleet.tables import TABLES, FleetRow, rows_of
from sdstop.tui.shell import Shell, stepped
from sdstop.tui.terminal import Options
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Hint, Section, bind, explained, hints_of, key_of
from sdstop.tui.widgets.palette import FAINT, Palette, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.query import QueryError
from sdstop.tui.widgets.table import LineTable

INTERVALS = (5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0)
"""Seconds between two queries of the server."""
_BESIDE = ("2", "3", "4", "5", "6")
"""Tables shown beside the nodes on a wide screen."""


class FleetMain(Screen[None]):
    """Main screen: one table at a time; on a wide screen, the nodes with the other tables beside them."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        """Start with the nodes; `hints` are the key hints of the bottom line."""
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (160, "-wide")]
        self.status, self.tabs = Pane(cursor=False, id="status"), Pane(cursor=False, id="tabs")
        self.remarks = Pane(cursor=False, id="remarks")
        self.tables = {t.key: LineTable(t.title, t.columns, id=f"table-{t.title.lower()}") for t in TABLES}
        self.foot = FooterBar(hints)
        self.shown = "1"

    def compose(self) -> ComposeResult:
        """Lay out the widgets."""
        yield self.status
        yield self.tabs
        yield self.remarks
        with Container(id="fleet"):
            with Container(id="nodes"):
                yield self.tables["1"]
            with Container(id="others"):
                yield from (table for key, table in self.tables.items() if key != "1")
        yield self.foot

    def on_mount(self) -> None:
        """Show the nodes."""
        self.show("1")

    def show(self, key: str) -> None:
        """Show a table."""
        self.shown = key
        self.set_class(key == "1", "-overview")
        self.set_class(key != "1", "-single")
        for each, table in self.tables.items():
            table.set_class(each == key, "-shown")
        self.set_focus(self.tables[key])

    def table(self) -> LineTable:
        """Return the table that receives keys: the focused one, or else the selected one."""
        focused = self.focused
        return focused if isinstance(focused, LineTable) else self.tables[self.shown]

    def paint(self, picture: FleetState | None, condition: Condition, palette: Palette) -> None:
        """Paint the status lines and, if there is a picture, the tables."""
        self.foot.show(palette)
        self.status.put([Row(line=lambda width: status_line(picture, condition, palette, width))], palette)
        self.tabs.put([Row(line=lambda _: tabs_line(self.shown))], palette)
        lines = remark_lines(picture, condition, palette)
        self.remarks.styles.height = min(len(lines), 3)
        self.remarks.put([Row(line=lambda _, line=line: line) for line in lines], palette)  # type: ignore[misc]
        if picture is None:
            return
        for table in TABLES:
            rows = rows_of(table.key, picture, palette)
            known = "no data" if picture.failed else table.empty
            note = (
                f"worst {len(rows)} of {picture.total}" if table.key == "1" and len(rows) < (picture.total or 0) else ""
            )
            self.tables[table.key].put(rows or [words(text((f" {known}", FAINT)))], palette, note)


class FleetDashboard(Shell):
    """Dashboard of the nodes known to one server."""

    TITLE = "sdstop fleet"
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #status, #tabs { height: 1; }
    #remarks { height: 0; }
    #fleet { height: 1fr; layout: vertical; }
    #nodes, #others { height: 1fr; display: none; }
    #others LineTable { display: none; }
    #others LineTable.-shown { display: block; }
    .-overview #nodes { display: block; }
    .-single #others { display: block; }
    .-wide.-overview #fleet { layout: horizontal; }
    .-wide.-overview #nodes { width: 3fr; margin-right: 1; }
    .-wide.-overview #others { width: 2fr; display: block; }
    .-wide.-overview #others LineTable { display: block; }
    .-wide.-overview #others #table-findings { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(bind(key_of(table.key), f"view('{table.key}')") for table in TABLES),
        *explained(
            Section.VIEWS, "a node: its findings and their last six hours", bind("enter", "choose"),
            hint="node", rank=2,
        ),
        *explained(Section.VIEWS, "back", bind("escape,backspace", "away")),
        *explained(Section.VIEWS, "next pane", bind("tab", "app.focus_next"), hint="next pane", rank=9),
        *explained(
            Section.ROWS, "search: web-0[1-3], crit > 0; Esc ends it", bind("slash,f3,f4", "filter"),
            hint="find", rank=3,
        ),
        *explained(Section.ROWS, "next/previous match", bind("n", "match(1)"), bind("N", "match(-1)")),
        *explained(Section.TIME, "refresh now", bind("r", "again"), hint="refresh now", rank=5),
        *explained(Section.TIME, "pause/resume", bind("space", "pause"), hint="pause", rank=6),
        *explained(
            Section.TIME, "longer/shorter refresh interval",
            bind("plus,equals_sign", "pace(1)"), bind("minus", "pace(-1)"), hint="pace", rank=7,
        ),
        *explained(Section.OTHER, "toggle ASCII, color", bind("a", "ascii"), bind("c", "colour")),
        *explained(Section.OTHER, "show this help", bind("question_mark,f1", "keys"), hint="help", rank=1),
        *explained(Section.OTHER, "quit", bind("q,f10,ctrl+c", "leave"), hint="quit", rank=8),
    ]  # fmt: skip

    def __init__(self, watcher: FleetWatcher, url: str, interval: float, options: Options) -> None:
        """Create the dashboard; `interval` is the refresh interval in seconds."""
        super().__init__(options)
        self.url = url
        self.poller = FleetPoller(watcher, interval, self._deliver)
        self.picture: FleetState | None = None
        self.trouble = ""
        self.main = FleetMain(hints_of(self.BINDINGS, LineTable.BINDINGS))
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- life -------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> FleetMain:
        """Return the screen of tables."""
        return self.main

    def on_mount(self) -> None:
        """Start polling and listening for signals, and start checking the terminal."""
        self._loop = asyncio.get_running_loop()
        self.heed_signals()
        self.poller.start()
        self.set_interval(1.0, self._watch)
        self.paint()

    def on_unmount(self) -> None:
        """Stop the poller without waiting for its thread."""
        self.poller.end()

    def _watch(self) -> None:
        """Check the terminal and repaint the age of the data; runs once per second."""
        if not self.abandoned():
            self.paint()

    def _deliver(self, told: FleetAnswer) -> None:
        """Pass a response from the poller's thread to the event loop."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.receive, told)

    def receive(self, told: FleetAnswer) -> None:
        """Process a response; the last good picture stays on the screen while the server does not respond."""
        match told:
            case Exception():
                self.failure = told
                self.exit(return_code=1)
            case NodePicture():
                sheet = self.screen
                if isinstance(sheet, NodeSheet) and sheet.key == told.key:
                    sheet.told = told
                    sheet.fleet = self.picture or FleetState()
            case FleetState():
                self.trouble = told.troubles[0] if told.failed else ""
                if not told.failed or self.picture is None or self.picture.failed:
                    self.picture = told
        self.paint()

    def paint(self) -> None:
        """Paint the visible screen."""
        if not self.is_running:
            return
        screen = self.screen
        if isinstance(screen, FleetSheet):
            screen.paint(self.palette)
        elif screen is self.main and self.main.is_mounted:
            condition = Condition(self.url, self.poller.interval, self.poller.paused, self.poller.busy, self.trouble)
            self.main.paint(self.picture, condition, self.palette)

    @property
    def foot(self) -> FooterBar:
        """Bottom line of the visible screen."""
        screen = self.screen
        return screen.foot if isinstance(screen, FleetMain | FleetSheet) else self.main.foot

    # -- keys -------------------------------------------------------------------------------------------------

    async def action_keys(self) -> None:
        """Show the help screen."""
        if not isinstance(self.screen, KeySheet):
            await self._lay(KeySheet(help_lines(self.BINDINGS), self.options.version))

    async def _lay(self, sheet: FleetSheet) -> None:
        sheet.palette = self.palette
        await self.push_screen(sheet)
        self.call_after_refresh(self.paint)

    async def action_view(self, key: str) -> None:
        """Show a table and close all sheets."""
        while isinstance(self.screen, FleetSheet):
            await self.pop_screen()
        self.main.show(key)
        self.call_after_refresh(self.paint)

    async def action_choose(self) -> None:
        """Open the row under the cursor: a node, or a difference between nodes."""
        row = self.main.table().chosen if self.screen is self.main else None
        painted = row.item if row is not None else None
        if not isinstance(painted, FleetRow):
            return
        if painted.key is not None:
            self.poller.node(painted.key)
            await self._lay(NodeSheet(painted.key, painted.name))
        elif isinstance(painted.item, Finding):
            await self._lay(DifferenceSheet(painted.item))

    async def action_away(self) -> None:
        """Close the sheet, clear the filter or return to the nodes, whichever applies first."""
        table = self.main.table()
        if isinstance(self.screen, FleetSheet):
            await self.pop_screen()
            self.call_after_refresh(self.paint)
        elif table.needle:
            table.search("")
        elif self.main.shown != "1":
            await self.action_view("1")

    def action_filter(self) -> None:
        """Prompt for the row filter."""
        if self.screen is self.main:
            table = self.main.table()

            def typed(text: str) -> str:
                try:
                    table.search(text)
                except QueryError as error:
                    table.search(None)
                    return str(error)
                return plural(table.hits, "hit") if table.needle else ""

            def done(answer: str | None) -> None:
                said = typed(answer or "")
                if answer:
                    self.foot.say(said)

            self.foot.ask(Prompt("/", table.needle, done, typed))

    def action_match(self, step: int) -> None:
        """Move to the next (1) or previous (-1) row that matches the search."""
        table = self.main.table()
        if self.screen is self.main and not table.match(table.needle, step):
            self.foot.say("no match; / searches")

    def action_again(self) -> None:
        """Refresh immediately, including the open node."""
        if isinstance(self.screen, NodeSheet):
            self.poller.node(self.screen.key)
        self.poller.now()
        self.foot.say("refreshed")

    def action_pause(self) -> None:
        """Pause or resume polling."""
        self.poller.set(paused=not self.poller.paused)
        self.paint()

    def action_pace(self, direction: int) -> None:
        """Select the next longer (1) or shorter (-1) refresh interval."""
        self.poller.set(interval=stepped(INTERVALS, self.poller.interval, direction))
        self.foot.say(f"every {self.poller.interval:g} s")
        self.paint()
