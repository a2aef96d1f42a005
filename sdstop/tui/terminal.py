"""Terminal checks: whether it can show the dashboard and is still connected. Does not import Textual."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from msgspec import Struct, field


class Options(Struct, frozen=True):
    """Appearance options; `ascii` None depends on the terminal, `theme` "" means the terminal's own colors.

    `columns` are the names of the chosen columns, by the id of their table.
    """

    ascii: bool | None = None
    mouse: bool = True
    theme: str = ""
    no_color: bool = False
    version: str = ""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)


def usable_terminal() -> str | None:
    """Return None if the dashboard can be shown here, or else the reason in one line."""
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if not _is_terminal(stream):
            return f"standard {name} is not a terminal"
    kind = os.environ.get("TERM", "")
    if kind in {"", "dumb", "unknown"}:
        return f"TERM={kind or '(not set)'} cannot move its cursor"
    return None


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def needs_ascii() -> bool:
    """Return whether the terminal's encoding is not Unicode, so that only ASCII glyphs can be used."""
    encoding = (getattr(sys.__stdout__, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return encoding not in {"utf8", "utf16", "utf32"}


def wants_no_colour(options: Options) -> bool:
    """Return whether colors are disabled by the option or by a non-empty NO_COLOR."""
    return options.no_color or bool(os.environ.get("NO_COLOR"))


def is_terminal_gone(descriptor: int) -> bool:
    """Return whether the terminal of a file descriptor is gone.

    A program that outlives its terminal (nohup, a lost ssh connection) would otherwise spin on an input that is always
    ready.
    """
    poll = select.poll()
    try:
        poll.register(descriptor, 0)
        return any(events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))
    except OSError:
        return True
