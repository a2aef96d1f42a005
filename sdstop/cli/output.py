"""Output of commands. Functions raise only Problem and BrokenPipeError."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

from sdstop.cli.problem import Problem
from sdstop.cli.stdout import write, write_bytes
from sdstop.core.format import duration, percent, safe
from sdstop.core.output_file import PRIVATE, OutputFile

__all__ = [
    "Target", "clear_progress", "colors", "is_terminal", "opening", "progress", "say", "width", "write", "write_bytes",
]  # fmt: skip


_QUICK = 0.5
"""Seconds of work for which no progress is shown."""
_REDRAWN = 0.1
"""Seconds before a file's progress is shown, and between two signs of it."""


def say(line: str) -> None:
    """Write one line to standard error, if it is open."""
    if sys.stderr is not None:
        _draw(f"{line}\n")


def width(fallback: int) -> int:
    """Return the width of the terminal, or `fallback` if standard output is not a terminal."""
    from shutil import get_terminal_size  # with the modules of archives, 2 ms

    return get_terminal_size((fallback, 24)).columns if is_terminal(sys.stdout) else fallback


def colors(options: argparse.Namespace) -> bool:
    """Return whether to use colors on standard output."""
    unwanted = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") in {None, "", "dumb"}
    return not unwanted and is_terminal(sys.stdout)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


class Target:
    """Standard output, or a file replaced atomically. Context manager: without `write` nothing changes."""

    def __init__(self, path: str | None, *, mode: int = PRIVATE, streams: bool = True) -> None:
        """Open the target; None and `-` are standard output. Raises Problem if the path cannot be written.

        `mode` is the file mode; `streams`: also accept files that are not regular files.
        """
        self._path = path
        self._file: OutputFile | None = None
        if path is None or path == "-":
            return
        try:
            self._file = OutputFile(path, mode=mode, streams=streams)
        except (OSError, ValueError) as error:
            raise self._problem(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.__exit__(*exception)

    def write(self, text: str) -> None:
        """Write everything, once. Raises Problem."""
        if self._file is None:
            write(text)
        else:
            self.write_bytes(text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """Write everything, once. Raises Problem."""
        if self._file is None:
            write_bytes(data)
            return
        try:
            self._file.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._problem(error) from error

    def _problem(self, error: OSError | ValueError) -> Problem:
        why = error.strerror if isinstance(error, OSError) else "invalid path"
        return Problem(f"cannot write {safe(self._path)}: {why}")


def progress(seconds: float) -> Callable[[float], None]:
    """Return a function that shows the remaining time on standard error, if that is a terminal."""
    if not is_terminal(sys.stderr):
        return lambda _: None

    def told(passed: float) -> None:
        left = duration(max(0.0, seconds - passed))
        _draw(f"\r\x1b[Ksdstop: collecting for {duration(seconds)}, {left} left")

    return told


def opening(path: str) -> Callable[[float], None]:
    """Return a function that shows how much of a file is read on standard error, if that is a terminal.

    Nothing is shown for files that are read quickly.
    """
    if not is_terminal(sys.stderr):
        return lambda _: None
    begun = shown = time.monotonic()

    def told(part: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun > _QUICK and now - shown > _REDRAWN:
            shown = now
            _draw(f"\r\x1b[Ksdstop: opening {safe(path, 60)}: {percent(part)}% read")

    return told


def clear_progress() -> None:
    """Clear the progress line."""
    if is_terminal(sys.stderr):
        _draw("\r\x1b[K")


def _draw(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # continue without a terminal
        pass
