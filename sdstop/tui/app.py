"""The dashboard of a node: screens, keys and the feed of frames."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from textual.timer import Timer

from sdstop.analysis.load_course import LoadCourse, LoadMetric
from sdstop.core.format import clock
from sdstop.core.forward import ForwardPass
from sdstop.core.judging import Judging
from sdstop.core.lookback import Lookback
from sdstop.core.session import Look, Session
from sdstop.tui import LiveFrames
from sdstop.tui.bytecode import read_ahead
from sdstop.tui.commands import HINTS, Commands
from sdstop.tui.device.page import DevicePage
from sdstop.tui.difference import ChangesSheet
from sdstop.tui.facts import AllFields, FactSubject
from sdstop.tui.lookup import Lookup
from sdstop.tui.main import Main
from sdstop.tui.playback import Playback
from sdstop.tui.playhead import Playhead
from sdstop.tui.scene import FindingEntry, Mode, Scene, prepared
from sdstop.tui.sheet import ColumnChoice, ColumnSheet, FactSheet, RawSheet, Sheet
from sdstop.tui.terminal import Options
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.views.view import ViewPlace
from sdstop.tui.why import Quote
from sdstop.tui.why_sheet import WhySheet
from sdstop.tui.widgets.pane import Pane
from sdstop.tui.widgets.tree import TreeTable

if TYPE_CHECKING:
    from sdstop.analysis.comparison.comparison import Comparison

_TICK = 0.2
"""Seconds between two steps of a playing capture."""
_SOON = 1.0
"""Seconds after which files are read ahead: the first frame is shown by then."""
_PATIENCE = 0.05
"""Seconds for which the moment before stays as it is: painting twice would delay a glance that takes less."""


class Dashboard(Commands):
    """Dashboard of one session."""

    TITLE = "sdstop"
    CSS_PATH = "dashboard.tcss"

    def __init__(
        self, session: Session, frames: LiveFrames | None, options: Options, course: LoadCourse | None = None,
        at: float | None = None,
    ) -> None:  # fmt: skip
        """Create the dashboard; `frames` feeds the session, or is None if the session already has all its frames.

        `course` is the load over the frames so far. `at` is the Unix time to show first, None for the newest frame.
        """
        super().__init__(options)
        self.session = session
        self.feed = frames
        self.judging: Judging[Look] | None = None
        self.lookback = Lookback(session)
        self.lookup = Lookup(self.lookback, prepared)
        self.playhead = Playhead(self.lookback, self.lookup, following=frames is not None)
        self.playback = Playback(self.playhead)
        self.forward = None if session.is_judged else ForwardPass(session, lambda: self.lookup.is_urgent)
        self._first = at
        self.zoom: float | None = None
        self.awaited = 0
        self.course = course or LoadCourse(session)
        self.interval: float = getattr(frames, "interval", 1.0)
        self.guard = session.guard
        self.main = Main(HINTS, options.columns)
        self.marked: Look | None = None
        self.compared: Comparison | None = None
        """Comparison to show first."""
        self._heard = time.monotonic()
        self._played = time.monotonic()
        self._reader = -1
        self._naming: Timer | None = None
        """Names the frame that is awaited, if it is still awaited then."""

    # -- life -------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Main:
        """Return the screen of views."""
        return self.main

    def on_mount(self) -> None:
        """Start listening for frames and signals, and start checking the terminal."""
        self.heed_signals()
        if self.feed is not None:
            self.judging = Judging(self.session.feed, self.session.guard, self.interval)
            asyncio.get_running_loop().add_reader(self.judging.fileno(), self._judged)
            self.pace(self.interval)
            self._listen()
        asyncio.get_running_loop().add_reader(self.lookup.fileno(), self.looked_up)
        if self._first is not None:
            self.playhead.go(self._first)
        elif self.forward is not None:
            self.playhead.seek(float("inf"))
        if self.forward is not None:
            asyncio.get_running_loop().add_reader(self.forward.fileno(), self._judged_more)
            self.forward.start()
        self.set_interval(1.0, self._watch)
        self.ticking = self.set_interval(_TICK, self._play)
        self.set_timer(_SOON, read_ahead)
        self.paint()
        if self.compared is not None:
            self.call_later(self.lay, ChangesSheet(self.compared))

    def _listen(self) -> None:
        """Watch the feed's file descriptor, which changes when the feed's process is restarted."""
        if self.feed is None or self.feed.fileno() == self._reader:
            return
        loop = asyncio.get_running_loop()
        if self._reader >= 0:
            loop.remove_reader(self._reader)
        self._reader = self.feed.fileno()
        if self._reader >= 0:
            loop.add_reader(self._reader, self._receive)

    def _receive(self) -> None:
        """Hand all available frames to the thread that judges them."""
        if self.feed is None or self.judging is None:
            return
        received = self.feed.receive()
        self._listen()
        if received:
            self._heard = time.monotonic()
            self.judging.put(received, getattr(self.feed, "began", -math.inf))

    def _judged(self) -> None:
        """Take over the judged frames, then paint once."""
        looks = self.judging.take() if self.judging is not None else []
        for look in looks:
            self.playhead.newest(look)
        if looks:
            self.paint()

    def _judged_more(self) -> None:
        """Show the progress of the judgement of a capture, and its results."""
        if self.forward is not None:
            self.forward.take()
            self.playhead.refresh()
            self.retry_event()
            self.paint()

    def looked_up(self) -> None:
        """Show the frame that was stepped to."""
        self.playhead.arrive()
        self._arrived()

    def _arrived(self) -> None:
        self._name_in_time(awaits=False)
        look = self.playhead.look
        if self.forward is not None and look is not None and look.provisional:
            self.forward.near(look.index)
        before = self.main.scene
        self.paint()
        self.call_after_refresh(self._painted, before)

    def _painted(self, before: Scene | None) -> None:
        """Go on after a frame is on the screen; only now the one `before` is freed, which takes 5 ms."""
        del before
        self.lookup.painted()

    def moved(self) -> None:
        """Show the frame that was stepped to if it is made already, or else soon which one is being judged."""
        if self.playhead.arrived:
            self._arrived()
        elif self.scene is not None and not isinstance(self.screen, Sheet):
            self._name_in_time(awaits=True)
        else:
            self.paint()

    def _name_in_time(self, *, awaits: bool) -> None:
        """Name the frame that is awaited a little after it was asked for, unless it is shown by then."""
        if awaits and self._naming is None:
            self._naming = self.set_timer(_PATIENCE, self._name_awaited)
        elif not awaits and self._naming is not None:
            self._naming.stop()
            self._naming = None

    def _name_awaited(self) -> None:
        self._naming = None
        scene = self.scene
        if scene is not None and not self.playhead.arrived:
            self.main.await_frame(scene)

    def pace(self, interval: float) -> None:
        """Sample at this interval in seconds, and judge each frame within it."""
        self.interval = self.session.budget = interval
        if self.judging is not None:
            self.judging.interval = interval

    def _watch(self) -> None:
        """Check the terminal and the sampler; runs once per second."""
        if self.abandoned():
            return
        self._receive()
        if self._silent() is not None or self._behind() is not None:
            self.paint()

    def _play(self) -> None:
        """Advance a playing capture by the time that passed."""
        now = time.monotonic()
        if not self.playback.playing:
            self._played = now
        elif self.playhead.sought is None:  # otherwise no frame would ever be judged before the next one
            passed, self._played = now - self._played, now
            self.playback.advance(min(passed, 1.0))
            self.paint()

    def on_time_bar_sought(self, event: TimeBar.Sought) -> None:
        """Move the playhead to a time of the bar; at its end, follow a live session."""
        event.stop()
        frames = self.session.timeline.frames
        if self.feed is not None and frames and event.at >= frames[-1].monotonic:
            self.action_newest()
        else:
            self.playback.stop()
            self.awaited = 0
            self.playhead.seek(event.at)
            self.moved()

    def on_time_bar_pointed(self, event: TimeBar.Pointed) -> None:
        """Look up the moment that a click would show."""
        event.stop()
        self.playhead.expect_at(event.at)

    def _silent(self) -> float | None:
        quiet = time.monotonic() - self._heard
        return quiet if self.feed is not None and quiet > max(3 * self.interval, 5.0) else None

    def _behind(self) -> float | None:
        """Return the seconds that the current frame has been judged for, None unless that is too long."""
        seconds = self.judging.seconds if self.judging is not None else 0.0
        return seconds if seconds > max(3 * self.interval, 5.0) else None

    def _trouble(self) -> str:
        """Return why nothing new is shown, if that is known."""
        behind = self._behind()
        if behind is not None:
            return f"judging the last frame for {behind:.0f} s"
        return str(getattr(self.feed, "trouble", ""))

    def on_unmount(self) -> None:
        """Stop watching the feed's file descriptor, and the thread that judges."""
        loop = asyncio.get_running_loop()
        if self._reader >= 0:
            loop.remove_reader(self._reader)
        loop.remove_reader(self.lookup.fileno())
        self.lookup.close()
        if self.forward is not None:
            loop.remove_reader(self.forward.fileno())
            self.forward.close()
        if self.judging is not None:
            loop.remove_reader(self.judging.fileno())
            self.judging.close()

    # -- painting ---------------------------------------------------------------------------------------------

    @property
    def scene(self) -> Scene | None:
        """Scene to paint, None before the first frame."""
        look = self.playhead.look
        if look is None:
            return None
        live = self.feed is not None
        sought = self.playhead.sought
        mode = Mode.REPLAY if not live else Mode.LIVE if self.playhead.following else Mode.PAUSED
        return Scene(
            look, self.session, self.palette, mode, self.playhead.behind, self.interval,
            self._silent() or self._behind() if mode is Mode.LIVE else None, self._trouble(),
            self.judging.late if self.judging is not None else 0,
            sought.taken if sought is not None else None,
            self.course, self.playback.speed if self.playback.playing else 0.0,
            self.playback.at if self.playback.at is not None else sought.monotonic if sought is not None else None,
            self.zoom, LoadMetric(self.options.graph),
        )  # fmt: skip

    def paint(self) -> None:
        """Paint the current scene on the main screen and on the open sheet."""
        scene = self.scene
        screen = self.screen
        if not self.is_running:
            return
        if scene is None:
            self.main.wait(self.session.origin.name, self._trouble(), self.palette, opens=self.feed is None)
            return
        self.main.show(scene)
        if isinstance(screen, Sheet):
            screen.show(scene)

    async def action_choose(self) -> None:
        """Open the target of the row under the cursor."""
        pane = self.screen.focused
        row = pane.chosen if isinstance(pane, Pane) else None
        if row is None or row.key is None:
            return
        match item := getattr(row.item, "opens", row.item):
            case None if isinstance(pane, TreeTable):
                pane.action_unfold()
            case ViewPlace():
                await self.main.go(item)
            case FindingEntry():
                await self.lay(WhySheet(item))
            case FactSubject():
                await self.lay(DevicePage(item, self.main.entry))
            case AllFields():
                await self.lay(FactSheet(item.subject))
            case Quote():
                await self.lay(RawSheet(item))
            case ColumnChoice():
                if isinstance(self.screen, ColumnSheet):
                    self.screen.toggle(item)

    async def action_difference(self) -> None:
        """Show what changed from the marked moment to the one shown; without a mark, mark it."""
        scene = self.scene
        if scene is None:
            self.foot.say("no sample yet")
        elif scene.look.is_glance or self.marked is None or self.marked.now is scene.look.now:
            self.action_mark()
        elif not isinstance(self.screen, ChangesSheet):
            from sdstop.analysis.comparison.comparison import comparison  # noqa: PLC0415  # rarely needed
            from sdstop.analysis.comparison.sides import moment_side  # noqa: PLC0415

            first = moment_side(self.session, self.marked, "")
            then = moment_side(self.session, scene.look, "")
            await self.lay(ChangesSheet(await asyncio.to_thread(comparison, first, then)))

    def action_mark(self) -> None:
        """Mark the moment that is shown, to compare others with it."""
        scene = self.scene
        if scene is not None and scene.look.is_glance:
            self.foot.say("this frame is being judged")
        elif scene is not None:
            self.marked = scene.look
            self.foot.say(f"marked {clock(scene.look.now.taken)}: go to another moment, then d shows the changes")

    async def lay(self, sheet: Sheet) -> None:
        """Open a sheet on top of the current screen."""
        scene = self.scene
        if scene is not None:
            sheet.scene = scene
            await self.push_screen(sheet)
