"""The keys, for the help screen and for the README."""

from __future__ import annotations

import textwrap

from sdstop.tui.widgets.palette import FAINT, STRONG, Palette, text
from sdstop.tui.widgets.pane import Row, words

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Views",
        (
            ("1 2 3 4 5 6 7 8", "Overview, Disks, Caches, Network, Fabric, Host, Cluster, Volumes"),
            ("6 again", "the next page of Host: load, hardware, sources"),
            ("!", "all findings: in force, unknown, ended, ruled out"),
            ("Enter", "a finding: why; a number's row: the raw evidence"),
            ("Esc Backspace", "back"),
            ("Tab", "next pane"),
        ),
    ),
    (
        "Rows",
        (
            ("j k arrows", "up and down; g G first and last; PgUp PgDn"),
            ("/", "filter; Esc clears it; n N next and previous match"),
            ("s", "sort by the next column; S or I the other way round"),
            ("h l left right", "of a tree: fold, unfold; z all of it; + folded, but for what is wrong"),
            ("y", "copy the row (terminal's clipboard)"),
        ),
    ),
    (
        "Time (UTC)",
        (
            ("Space", "pause and go on; a capture: play"),
            ("t T  ] [", "next and previous frame"),
            ("e E", "next and previous event: a finding begins or ends"),
            ("b", "go to a time: 13:58, -5m (before now), +30s (from here)"),
            ("L", "back to the newest frame"),
            ("+ -", "longer and shorter interval"),
        ),
    ),
    (
        "Else",
        (
            ("w", "write what is remembered as a capture"),
            ("a c m", "ASCII, colour, mouse: on and off"),
            (":", "the same by name: disks, sort queue, save FILE, quit"),
            ("q Ctrl-C", "quit"),
        ),
    ),
)

MARKS = (
    ("!CRIT *WARN", "severity; INFO is allowed to be quiet"),
    ("?UNKN", "could not be seen, and why; never the same as good"),
    ("-", "the node does not say"),
    ("! *", "before a row: a critical finding or a warning is about it"),
    ("~", "stale: the last good answer of a source that fails now"),
    ("%CACHBL", "hits of the requests that could be cached; %HIT is of all that came"),
    ("8G x4/16G x8", "a link: as it is, and as both ends can; NEW: errors since the reading before"),
    ("%TIME", "of a volume: time at its limit; limit and disks: which part of await is whose"),
    ("≤640", "of several mappings together: what one of them has of it at most"),
    ("x2.4", "as many times the median of its peers in the array"),
)

_MARGIN = 20
"""Cells before what a key does."""


def help_rows(palette: Palette, version: str, width: int) -> list[Row]:
    """Return the help screen's lines; what is too long for the width goes on in the next one."""
    rows = [words(())]
    for title, explained in (*KEYS, ("Marks", MARKS)):
        rows.append(words(text((f"  {title}", STRONG))))
        for name, what in explained:
            lines = textwrap.wrap(what, max(width - _MARGIN - 1, 10))
            shown = name.replace("≤", palette.at_most)
            rows.append(words(text(f"    {shown:<16}", (lines[0], FAINT))))
            rows.extend(words(text((" " * _MARGIN + line, FAINT))) for line in lines[1:])
        rows.append(words(()))
    rows.append(words(text((f"  sdstop {palette.word(version)}: it changes nothing on the node.", FAINT))))
    return rows
