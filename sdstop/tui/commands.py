"""Actions of keys and typed commands, except movement within a screen."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from sdstop.core.session import Session
from sdstop.tui import LiveFrames
from sdstop.tui.device.page import DevicePage
from sdstop.tui.dump import capture_name, save_text, write_capture
from sdstop.tui.help import sections
from sdstop.tui.main import Main
from sdstop.tui.playback import SPEEDS, Playback
from sdstop.tui.playhead import Playhead
from sdstop.tui.sheet import HelpSheet, Sheet
from sdstop.tui.shell import Shell, stepped
from sdstop.tui.views import VIEWS
from sdstop.tui.widgets.foot import FooterBar, Prompt
from sdstop.tui.widgets.keys import Section, bind, explained, hints_of, key_of, keys_of
from sdstop.tui.widgets.palette import plain
from sdstop.tui.widgets.pane import Pane
from sdstop.tui.widgets.table import LineTable
from sdstop.tui.widgets.tree import TreeTable

INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Sampling intervals in seconds that + and - step through."""


class Commands(Shell):
    """The dashboard's actions; no key changes anything on the node."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(bind(key_of(entry.key), f"view('{entry.key}')") for entry in VIEWS),
        *explained(
            Section.VIEWS,
            "a finding: why; a number's row: the raw evidence",
            bind("enter", "choose"),
            hint="why",
            rank=4,
        ),
        *explained(Section.VIEWS, "back", bind("escape,backspace", "away")),
        *explained(Section.VIEWS, "next pane", bind("tab", "app.focus_next"), hint="next pane", rank=11),
        *explained(
            Section.ROWS, "filter; Esc clears it", bind("slash,f3,f4", "filter", "filter"), hint="filter", rank=2
        ),
        *explained(Section.ROWS, "next and previous match", bind("n", "match(1)"), bind("N", "match(-1)")),
        *explained(Section.ROWS, "copy the row (terminal's clipboard)", bind("y", "copy", "copy")),
        *explained(
            Section.TIME, "pause and go on; a capture: play", bind("space", "pause", "pause"), hint="pause", rank=5
        ),
        *explained(
            Section.TIME,
            "next and previous frame",
            bind("t", "step(1)"),
            bind("T", "step(-1)"),
            hint="step",
            rank=6,
        ),
        *explained(
            Section.TIME,
            "next and previous event: a finding begins or ends",
            bind("e", "event(1)"),
            bind("E", "event(-1)"),
            hint="event",
            rank=7,
        ),
        *explained(
            Section.TIME,
            "go to a time: 13:58, -5m (before now), +30s (from here)",
            bind("b", "branch", "time"),
            hint="go to time",
            rank=10,
        ),
        *explained(Section.TIME, "back to the newest frame", bind("L", "newest", "newest", "live")),
        *explained(
            Section.TIME,
            "longer and shorter interval; a capture: play at 1x, 10x, 60x",
            bind("plus,equals_sign", "pace(1)"),
            bind("minus", "pace(-1)"),
        ),
        *explained(
            Section.OTHER, "save the history buffer as a capture", bind("w", "write", "write"), hint="write", rank=8
        ),
        *explained(
            Section.OTHER,
            "ASCII, colour, mouse: on and off",
            bind("a", "ascii", "ascii"),
            bind("c", "colour", "colour"),
            bind("m", "mouse", "mouse"),
        ),
        *explained(
            Section.OTHER,
            "the same by name: disks, sort queue, save FILE, quit",
            bind("colon", "command"),
            hint="command",
            rank=12,
        ),
        *explained(Section.OTHER, "this page", bind("question_mark,f1", "keys", "help"), hint="help", rank=1),
        *explained(Section.OTHER, "quit", bind("q,f10,ctrl+c", "leave", "quit"), hint="quit", rank=9),
    ]

    session: Session
    feed: LiveFrames | None
    playhead: Playhead
    playback: Playback
    interval: float
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

    def pace(self, interval: float) -> None:
        """Sample at this interval in seconds."""
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

    def action_match(self, step: int) -> None:
        """Move to the next (1) or previous (-1) row that matches the search."""
        screen = self.screen
        if isinstance(screen, Main | Sheet) and not screen.match(step):
            self.foot.say("no match; / searches")

    # -- time -------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause or resume a live session; play or stop a capture, restarting from its beginning if it is at its end."""
        if self.feed is not None:
            if self.playhead.following:
                self.playhead.hold()
            else:
                self.playhead.follow()
        elif self.playback.playing:
            self.playback.stop()
        else:
            self.playback.start()
        self.paint()

    def action_step(self, by: int) -> None:
        """Move by `by` frames."""
        self.playback.stop()
        if not self.playhead.step(by):
            self.foot.say("newest frame" if by > 0 else "oldest frame")
        self.paint()

    def action_event(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) start or end of a finding, and name it."""
        self.playback.stop()
        reached = self.playhead.event(direction)
        if reached:
            more = f", and {len(reached) - 1} more" if len(reached) > 1 else ""
            self.foot.say(f"{reached[0].said}{more}")
        else:
            self.foot.say(f"no finding begins or ends {'later' if direction > 0 else 'earlier'}")
        self.paint()

    def action_newest(self) -> None:
        """Move to the newest frame; follow new frames in a live session."""
        self.playback.stop()
        if self.feed is not None:
            self.playhead.follow()
        else:
            self.playhead.seek(float("inf"))
        self.paint()

    def action_branch(self) -> None:
        """Prompt for a time and move to it."""

        def done(answer: str | None) -> None:
            if answer:
                try:
                    said = self.playhead.go(self.playhead.parse(answer))
                except ValueError as error:
                    self.foot.say(str(error), bad=True)
                else:
                    if said:
                        self.foot.say(said)
                self.paint()

        if self.session.timeline.frames:
            self.playback.stop()
            self.foot.ask(Prompt("time, UTC (13:58  -5m  +30s)", "", done))

    def action_pace(self, direction: int) -> None:
        """Select the next longer (1) or shorter (-1) sampling interval; in a capture, the speed of playback."""
        if self.feed is None:
            self.playback.speed = stepped(SPEEDS, self.playback.speed, direction)
            self.foot.say(f"playback at {self.playback.speed:g}x{'' if self.playback.playing else '; Space plays'}")
            self.paint()
            return
        self.pace(stepped(INTERVALS, self.interval, direction))
        self.feed.set_interval(self.interval)
        self.foot.say(f"every {self.interval:g} s")
        self.paint()

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

        self.foot.ask(Prompt(f"write {count} frames to", capture_name(self.session), done))

    async def _write(self, path: str) -> None:
        self.foot.say(f"writing {path} ...")
        wrong = await asyncio.to_thread(write_capture, path, self.session.still())
        self.foot.say(f"not written: {wrong}" if wrong else f"written: {path}", bad=bool(wrong))

    def action_copy(self) -> None:
        """Copy the selected row, or the whole text of a sheet, to the terminal's clipboard."""
        pane = self._pane()
        row = pane.chosen if not isinstance(self.screen, Sheet) else None
        shown = self._text() if row is None else plain(pane.row_line(row, pane.size.width)).strip()
        self.copy_to_clipboard(shown)
        self.foot.say(f"{len(shown)} characters handed to the terminal's clipboard; `:save FILE` writes the screen")

    def _pane(self) -> Pane:
        focused = self.screen.focused
        return focused if isinstance(focused, Pane) else self.screen.query(Pane).last()

    def _text(self) -> str:
        return self.screen.text() if isinstance(self.screen, Sheet) else self._pane().text()

    def save(self, path: str) -> None:
        """Write the text of the sheet or the pane to a new file."""
        wrong = save_text(path, self._text())
        self.foot.say(f"not written: {wrong}" if wrong else f"written: {path}", bad=bool(wrong))

    # -- appearance -------------------------------------------------------------------------------------------

    def action_mouse(self) -> None:
        """Toggle mouse reporting; when it is off, the mouse selects text in the terminal."""
        self.mouse = not self.mouse
        driver = self._driver
        switch: Callable[[], None] | None = getattr(
            driver, "_enable_mouse_support" if self.mouse else "_disable_mouse_support", None
        )
        if driver is not None and switch is not None:
            driver._mouse = True  # noqa: SLF001  # the driver ignores the switch if it was created without a mouse
            switch()
            driver._mouse = self.mouse  # noqa: SLF001
        self.foot.say("mouse on" if self.mouse else "mouse off: the terminal selects text")

    mouse = False

    # -- by name ----------------------------------------------------------------------------------------------

    def action_command(self) -> None:
        """Prompt for a command."""

        def done(answer: str | None) -> None:
            if answer and answer.strip():
                self.command(answer.strip())

        self.foot.ask(Prompt(":", "", done, choices=sorted(self._named())))

    def _named(self) -> dict[str, Callable[[], object]]:
        views = {entry.name: partial(self.call_later, self.action_view, entry.key) for entry in VIEWS}
        bound = {name: self._action(key.action) for key in keys_of(self.BINDINGS) for name in key.commands}
        return {
            **views,
            **bound,
            "rescan": self.action_rescan,
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
            self.foot.say("every source is asked again")

    def command(self, line: str) -> None:
        """Run a typed command."""
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name == "sort" and rest:
            try:
                self.main.table().sort_by(None if rest == "none" else rest)
            except ValueError as error:
                self.foot.say(str(error), bad=True)
        elif name == "save" and rest:
            self.save(rest)
        elif name == "filter" and rest:
            self.main.table().search(rest)
        elif name in self._named():
            self._named()[name]()
        else:
            self.foot.say(f"no command {name}; there are {' '.join(sorted(self._named()))}", bad=True)


_TABLES = (Pane.BINDINGS, LineTable.BINDINGS, TreeTable.BINDINGS, DevicePage.BINDINGS, Commands.BINDINGS)
KEYS = sections(*_TABLES)
"""The help screen's sections of keys."""
HINTS = hints_of(*_TABLES)
"""Key hints of the bottom line, the most important first."""
