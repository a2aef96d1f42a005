"""Terminal checks: whether it can show the dashboard and is still connected. Does not import Textual."""

from __future__ import annotations

import enum
import os
import select
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from msgspec import Struct, field


class Depth(enum.IntEnum):
    """Number of colors that a terminal shows, as bits of a color."""

    NONE = 0
    ANSI = 4
    INDEXED = 8
    TRUE = 24


class Options(Struct, frozen=True):
    """Appearance options; None and "auto" depend on the terminal.

    `theme` is "auto", "dark", "light", or "terminal" for the terminal's own 16 colors and background. `columns` are the
    names of the chosen columns, by the id of their table. `graph` is the metric of the load: "throughput", "requests"
    or "latency".
    """

    ascii: bool | None = None
    mouse: bool = True
    theme: str = "auto"
    no_color: bool = False
    version: str = ""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    depth: Depth | None = None
    graph: str = "throughput"


def usable_terminal() -> str | None:
    """Return None if the dashboard can be shown here, or else the reason in one line."""
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if not _is_terminal(stream):
            return f"standard {name} is not a terminal"
    kind = os.environ.get("TERM", "")
    if kind in {"", "dumb", "unknown"}:
        return f"TERM={kind or '(not set)'} does not support cursor movement"
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


def lacks_braille() -> bool:
    """Return whether the terminal's font has no braille glyphs: the Linux console has 512 glyphs at most."""
    return os.environ.get("TERM") == "linux"


def color_depth(options: Options, environ: Mapping[str, str] = os.environ) -> Depth:
    """Return the color depth: none by the option or a non-empty NO_COLOR, else of COLORTERM and TERM."""
    if options.no_color or environ.get("NO_COLOR"):
        return Depth.NONE
    if options.theme == "terminal":
        return Depth.ANSI
    if options.depth is not None:
        return options.depth
    term = environ.get("TERM", "").lower()
    if environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"} or term.startswith(_TRUE_COLOR):
        return Depth.TRUE
    return Depth.TRUE if term.endswith("-direct") else Depth.INDEXED if "256color" in term else Depth.ANSI


_TRUE_COLOR = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
"""Terminals that always have 24 bits; ssh forwards TERM but not COLORTERM."""


def is_light(options: Options, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether to paint for a light background: by the option, or else by COLORFGBG; dark if unknown.

    The terminal is not asked for its background: on a slow line the answer would arrive later as keys. With 256 colors
    and more, sdstop paints the background of the theme, so that a wrong guess stays readable.
    """
    if options.theme in {"dark", "light"}:
        return options.theme == "light"
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    return ground.isdecimal() and (int(ground) == 7 or 9 <= int(ground) <= 15)


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
