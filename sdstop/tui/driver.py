"""Driver: Textual's own, painting on standard output.

Textual paints on standard error, which at three in the morning is a file (`sdstop 2>trouble`): what goes wrong belongs
there, and the screen does not.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Reads keys from standard input and paints on standard output."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Paint elsewhere than Textual would."""
        super().__init__(*arguments, **keywords)
        self._file = terminal_file()


def terminal_file() -> TextIOWrapper:
    """Return standard output as a file of its own; a glyph that its encoding lacks is shown as its number."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    return open(1, "w", encoding=encoding, errors="backslashreplace", newline="", closefd=False)
