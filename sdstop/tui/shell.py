"""Shell: keys, signals, appearance and termination shared by the dashboards of a node and of a fleet."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence

from textual import events
from textual.app import App

from sdstop.core.ending import end_soon
from sdstop.core.guard import Guard
from sdstop.tui.driver import TerminalDriver
from sdstop.tui.terminal import Options, is_terminal_gone, needs_ascii, wants_no_colour
from sdstop.tui.widgets.foot import FooterBar
from sdstop.tui.widgets.palette import Palette

HANGUP = 129
INTERRUPTED = 130
TERMINATED = 143


def stepped(choices: Sequence[float], now: float, by: int) -> float:
    """Return the choice `by` steps away from the one nearest to `now`, clamped to the ends."""
    at = min(range(len(choices)), key=lambda i: abs(choices[i] - now))
    return choices[max(0, min(at + by, len(choices) - 1))]


class Shell(App[None]):
    """Full-screen program that ends when its terminal is gone and prints nothing on the user's screen."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False

    def __init__(self, options: Options) -> None:
        """Set the appearance from the options, the environment and the terminal's encoding."""
        # Without a user-selected theme the terminal's own colors are used; Textual must know that at creation.
        super().__init__(TerminalDriver, ansi_color=None if options.theme else True)
        self.options = options
        self.mouse = options.mouse
        self.palette = Palette(
            ascii=needs_ascii() if options.ascii is None else options.ascii, colour=not wants_no_colour(options)
        )
        self.theme = options.theme if options.theme in self.available_themes else "ansi-dark"
        self.animation_level = "none"
        self.failure: Exception | None = None
        self.guard = Guard()
        """Guard of whatever is painted."""

    @property
    def foot(self) -> FooterBar:
        """Bottom line of the visible screen."""
        raise NotImplementedError

    def paint(self) -> None:
        """Paint the visible screen."""
        raise NotImplementedError

    # -- life -------------------------------------------------------------------------------------------------

    def heed_signals(self) -> None:
        """End cleanly on SIGTERM, SIGHUP and SIGINT, with the exit code that shells expect.

        A loop that is busy ends uncleanly: Python calls the second handler between any two steps of the loop's work.
        """
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGTERM, TERMINATED), (signal.SIGHUP, HANGUP), (signal.SIGINT, INTERRUPTED)):
            loop.add_signal_handler(number, self._end, code)
            signal.signal(number, lambda *_, code=code: end_soon(code, self._restore))
            signal.siginterrupt(number, False)  # noqa: FBT003  # takes no keyword

    def _restore(self) -> None:
        """Leave the terminal as it was found."""
        driver = self._driver
        if isinstance(driver, TerminalDriver):
            driver._disable_mouse_support()  # noqa: SLF001  # its caller in Textual works in the main thread only
            driver.stop_application_mode()
            driver.close()

    def abandoned(self) -> bool:
        """Return whether the terminal is gone; if so, end the program."""
        gone = not self.is_headless and is_terminal_gone(sys.__stdin__.fileno() if sys.__stdin__ else 0)
        if gone:
            self._end(HANGUP)
        return gone

    def _end(self, code: int) -> None:
        self.exit(return_code=code)

    def _handle_exception(self, error: Exception) -> None:
        """Store the exception for the caller of the dashboard and print nothing on the user's screen."""
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    # -- keys -------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Process keys one by one, in the order in which they were typed.

        Textual sends each key to the widget that has the focus when the key arrives. Keys typed ahead of one that opens
        a prompt or a sheet would be lost.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            foot = self.foot
            foot.hush()
            if event.key == "ctrl+c":
                self.action_leave()
            elif foot.question is not None:
                foot.edit(event.key, event.character)
            else:
                await self._check_bindings(event.key)
        elif isinstance(event, events.Paste) and not event.is_forwarded:
            self.foot.paste(event.text)
        else:
            await super().on_event(event)

    def action_leave(self) -> None:
        """Quit."""
        self.exit(return_code=0)

    def action_ascii(self) -> None:
        """Toggle between ASCII and Unicode glyphs."""
        self.palette = Palette(not self.palette.ascii, self.palette.colour)
        self.paint()

    def action_colour(self) -> None:
        """Toggle colors."""
        self.palette = Palette(self.palette.ascii, not self.palette.colour)
        self.paint()
