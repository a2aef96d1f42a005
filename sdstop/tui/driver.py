"""Textual driver that paints on standard output.

Textual paints on standard error. Standard error is reserved for error messages, so that it can be redirected to a file
(`sdstop 2>trouble`) while the dashboard stays on the terminal.
"""

from __future__ import annotations

import contextlib
import io
import re
import select
import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from sdstop.tui.terminal import Depth


class TerminalDriver(LinuxDriver):
    """Driver that reads keys from standard input and paints on standard output."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Create the driver and redirect its painting to standard output."""
        super().__init__(*arguments, **keywords)
        self._file = terminal_file()

    def write(self, data: str) -> None:
        """Send text and escape sequences; without colors, also before the styles of a widget are read."""
        palette = getattr(self._app, "palette", None)
        plain = palette is not None and palette.depth is Depth.NONE
        super().write(uncolored(data) if plain else data)

    def report_mouse(self, *, on: bool) -> None:
        """Report clicks to the dashboard, or leave the mouse to the terminal, which selects text with it."""
        if on:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_MOUSE_ON)
            self.flush()

    def _disable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_MOUSE_OFF)
            self.flush()


_MOUSE_ON, _MOUSE_OFF = ("".join(f"\x1b[?{mode}{switch}" for mode in (1000, 1002, 1006)) for switch in "hl")
"""Presses and the wheel, drags, in decimal form (xterm, Mouse Tracking). Not each movement (1003), as Textual asks for:
nothing depends on it, and every cell that the mouse crosses would be sent over ssh."""


_ATTRIBUTES = re.compile(r"\x1b\[([\d;]*)m")
_COLORS = re.compile(r"(?:(?<=;)|^)(?:[34]8;(?:5;\d+|2;\d+;\d+;\d+)|[34][0-7]|9[0-7]|10[0-7])(?:;|$)")


def uncolored(text: str) -> str:
    """Return text and escape sequences without those that set a color."""
    return _ATTRIBUTES.sub(_without_colors, text)


def _without_colors(found: re.Match[str]) -> str:
    """Return SGR attributes (ECMA-48, 8.3.117) without colors: `1;31` -> `1`, and nothing for colors alone."""
    kept = _COLORS.sub("", found[1]).rstrip(";")
    return f"\x1b[{kept}m" if kept or not found[1] else ""


class TerminalOutput(io.FileIO):
    """Descriptor of a terminal: writing waits while it is full; output to a terminal that is gone is lost.

    Textual writes in a thread that an error would end. Its queue would then fill, and the dashboard would wait forever
    for room in it. A terminal that is full is an error, too, if another program has left it non-blocking.
    """

    def write(self, data: Any, /) -> int:
        """Write bytes and return the number of those written, or of all if they are lost."""
        with contextlib.suppress(OSError):
            while (written := super().write(data)) is None:
                select.select([], [self], [])
            return written
        return len(data)


def terminal_file(descriptor: int = 1) -> io.TextIOWrapper:
    """Return a separate file object for standard output; glyphs missing from its encoding become escape sequences."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    raw = TerminalOutput(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", "")
