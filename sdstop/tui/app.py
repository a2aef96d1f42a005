"""The dashboard of a node: screens, keys and the feed of frames."""

from __future__ import annotations

import asyncio
import time

from sdstop.core.session import Session
from sdstop.tui import LiveFrames
from sdstop.tui.commands import HINTS, Commands
from sdstop.tui.facts import FactSubject
from sdstop.tui.main import Main
from sdstop.tui.playhead import Playhead
from sdstop.tui.scene import FindingEntry, Mode, Scene
from sdstop.tui.sheet import FactSheet, RawSheet, Sheet, WhySheet
from sdstop.tui.terminal import Options
from sdstop.tui.views.view import ViewPlace
from sdstop.tui.why import Quote
from sdstop.tui.widgets.pane import Pane


class Dashboard(Commands):
    """Dashboard of one session."""

    TITLE = "sdstop"
    CSS_PATH = "dashboard.tcss"

    def __init__(self, session: Session, frames: LiveFrames | None, options: Options) -> None:
        """Create the dashboard; `frames` feeds the session, or is None if the session already has all its frames."""
        super().__init__(options)
        self.session = session
        self.feed = frames
        self.playhead = Playhead(session, following=frames is not None)
        self.interval: float = getattr(frames, "interval", 1.0)
        self.playing = False
        self.main = Main(HINTS)
        self._heard = time.monotonic()
        self._reader = -1

    # -- life -------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Main:
        """Return the screen of views."""
        return self.main

    def on_mount(self) -> None:
        """Start listening for frames and signals, and start checking the terminal."""
        self.heed_signals()
        if self.feed is not None:
            self._listen()
        self.set_interval(1.0, self._watch)
        self.paint()
        if self.options.theme and self.theme != self.options.theme:
            self.main.foot.say(f"no theme {self.options.theme}; there are {' '.join(sorted(self.available_themes))}")

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
        """Process all available frames, then paint once."""
        if self.feed is None:
            return
        received = self.feed.receive()
        for frame in received:
            self.playhead.newest(self.session.feed(frame))
        self._listen()
        if received:
            self._heard = time.monotonic()
            self.paint()

    def _watch(self) -> None:
        """Check the terminal and the sampler, and advance a playing capture; runs once per second."""
        if self.abandoned():
            return
        self._receive()
        if self.playing:
            self.playing = self.playhead.step(1)
            self.paint()
        elif self._silent() is not None:
            self.paint()

    def _silent(self) -> float | None:
        quiet = time.monotonic() - self._heard
        return quiet if self.feed is not None and quiet > max(3 * self.interval, 5.0) else None

    def _trouble(self) -> str:
        """Return why no frames arrive, if the feed reports a reason."""
        return str(getattr(self.feed, "trouble", ""))

    def on_unmount(self) -> None:
        """Stop watching the feed's file descriptor."""
        if self._reader >= 0:
            asyncio.get_running_loop().remove_reader(self._reader)

    # -- painting ---------------------------------------------------------------------------------------------

    @property
    def scene(self) -> Scene | None:
        """Scene to paint, None before the first frame."""
        look = self.playhead.look
        if look is None:
            return None
        live = self.feed is not None
        mode = Mode.REPLAY if not live else Mode.LIVE if self.playhead.following else Mode.PAUSED
        return Scene(
            look, self.session, self.palette, mode, self.playhead.behind, self.interval,
            self._silent() if mode is Mode.LIVE else None, self._trouble(),
        )  # fmt: skip

    def paint(self) -> None:
        """Paint the current scene on the main screen and on the open sheet."""
        scene = self.scene
        screen = self.screen
        if not self.is_running:
            return
        if scene is None:
            self.main.wait(self.session.origin.name, self._trouble(), self.palette)
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
            case ViewPlace():
                await self.main.go(item)
            case FindingEntry():
                await self.lay(WhySheet(item))
            case FactSubject():
                await self.lay(FactSheet(item))
            case Quote():
                await self.lay(RawSheet(item))

    async def lay(self, sheet: Sheet) -> None:
        """Open a sheet on top of the current screen."""
        scene = self.scene
        if scene is not None:
            sheet.scene = scene
            await self.push_screen(sheet)
