"""Textual driver that paints on standard output.

Textual paints on standard error. Standard error is reserved for error messages, so that it can be redirected to a file
(`sdstop 2>trouble`) while the dashboard stays on the terminal.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Driver that reads keys from standard input and paints on standard output."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Create the driver and redirect its painting to standard output."""
        super().__init__(*arguments, **keywords)
        self._file = terminal_file()

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


def terminal_file() -> TextIOWrapper:
    """Return a separate file object for standard output; glyphs missing from its encoding become escape sequences."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    return open(1, "w", encoding=encoding, errors="backslashreplace", newline="", closefd=False)
