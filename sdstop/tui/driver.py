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


def terminal_file() -> TextIOWrapper:
    """Return a separate file object for standard output; glyphs missing from its encoding become escape sequences."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    return open(1, "w", encoding=encoding, errors="backslashreplace", newline="", closefd=False)
