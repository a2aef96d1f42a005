"""Shell: keys, signals, appearance and termination shared by the dashboards of a node and of a fleet."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from collections.abc import Sequence

from msgspec import structs
from rich.color import ColorSystem
from textual import events
from textual.app import App

from sdstop.core.ending import end_soon
from sdstop.core.guard import Guard
from sdstop.tui.driver import TerminalDriver
from sdstop.tui.terminal import Depth, Options, color_depth, is_light, is_terminal_gone, lacks_braille, needs_ascii
from sdstop.tui.widgets.foot import FooterBar
from sdstop.tui.widgets.palette import Palette

_SYSTEMS = {Depth.INDEXED: ColorSystem.EIGHT_BIT, Depth.TRUE: ColorSystem.TRUECOLOR}

HANGUP = 129
INTERRUPTED = 130
TERMINATED = 143
"""Exit codes of a program that a signal ended (128 + its number)."""


def stepped(choices: Sequence[float], now: float, by: int) -> float:
    """Return the choice `by` steps away from the one nearest to `now`, clamped to the ends."""
    at = min(range(len(choices)), key=lambda i: abs(choices[i] - now))
    return choices[max(0, min(at + by, len(choices) - 1))]


class Shell(App[None]):
    """Full-screen program that ends when its terminal is gone and prints nothing on the user's screen."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: $background; }"
    ALLOW_SELECT = False

    def __init__(self, options: Options) -> None:
        """Set the appearance from the options, the environment and the terminal's encoding."""
        self.depth = color_depth(options)
        os.environ.pop("NO_COLOR", None)  # Textual would filter colors even after the user has turned them on
        super().__init__(TerminalDriver, ansi_color=True)  # colors reach the terminal unchanged
        self.options = options
        self.mouse = options.mouse
        self.palette = Palette(
            ascii=needs_ascii() if options.ascii is None else options.ascii,
            depth=self.depth,
            light=is_light(options),
            blocks=lacks_braille(),
        )
        # Rich detects fewer terminals, and would map colors once more.
        self.console._color_system = _SYSTEMS.get(self.depth, ColorSystem.STANDARD)  # noqa: SLF001
        self._tint()
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
        self.palette = structs.replace(self.palette, ascii=not self.palette.ascii)
        self.paint()

    def action_colour(self) -> None:
        """Toggle colors."""
        without = self.palette.depth is not Depth.NONE
        self.palette = structs.replace(self.palette, depth=Depth.NONE if without else self.depth or Depth.ANSI)
        self._tint()
        self.paint()

    def _tint(self) -> None:
        """Give the gaps between panes the background of the palette."""
        palette = self.palette
        ground = palette.style(None).bgcolor
        name = f"sdstop-{palette.depth.name.lower()}-{'light' if palette.light else 'dark'}"
        if ground is not None and name not in self.available_themes:
            base = self.available_themes["ansi-dark"]
            self.register_theme(dataclasses.replace(base, name=name, background=ground.get_truecolor().hex))
        self.theme = name if ground is not None else "ansi-dark"
