"""Help screen: views from their registry, keys from the bindings, and the marks used in tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from textual.binding import BindingType

from sdstop.tui.views import VIEWS
from sdstop.tui.widgets.keys import Section, lines_of
from sdstop.tui.widgets.palette import FAINT, STRONG, Palette, text
from sdstop.tui.widgets.pane import Row, words

Lines = tuple[tuple[str, str], ...]
"""Pairs of keys or marks and their descriptions."""

MARKS = (
    ("!CRIT *WARN", "severity; INFO is allowed to be quiet"),
    ("?UNKN", "could not be seen, and why; never the same as good"),
    ("-", "the node does not say"),
    ("! *", "before a row: a critical finding or a warning is about it"),
    ("~", "stale: the last good data of a source that fails now"),
    ("%CACHBL", "hits of the cacheable requests; %HIT is of all requests"),
    ("8G x4/16G x8", "a link: as it is, and as both ends can; NEW: errors since the reading before"),
    ("%TIME", "of a volume: time at its limit; limit and disks: which part of await is whose"),
    ("≤640", "of several mappings together: what one of them has of it at most"),
    ("x2.4", "multiple of the median of its peers in the array"),
)

_MARGIN = 20
"""Cells before the description of a key."""


def sections(*tables: Iterable[BindingType]) -> tuple[tuple[str, Lines], ...]:
    """Return (title, lines) for each section: the views, then the keys in these binding tables."""
    views = [(entry.key, f"{entry.title}: {entry.shows}") for entry in VIEWS]
    lines: dict[Section, list[tuple[str, str]]] = {section: [] for section in Section}
    lines[Section.VIEWS] = views
    for line, names in lines_of(*tables).items():
        lines[line.section].append((" ".join(names), line.description))
    return tuple((section.value, tuple(listed)) for section, listed in lines.items())


def help_rows(keys: Iterable[tuple[str, Lines]], palette: Palette, version: str, width: int) -> list[Row]:
    """Return the rows of the help screen, wrapped to the width."""
    rows = [words(())]
    for title, explained in (*keys, ("Marks", MARKS)):
        rows.append(words(text((f"  {title}", STRONG))))
        for name, what in explained:
            lines = textwrap.wrap(what, max(width - _MARGIN - 1, 10))
            shown = name.replace("≤", palette.at_most)
            rows.append(words(text(f"    {shown:<15} ", (lines[0], FAINT))))
            rows.extend(words(text((" " * _MARGIN + line, FAINT))) for line in lines[1:])
        rows.append(words(()))
    rows.append(words(text((f"  sdstop {palette.word(version)}: it changes nothing on the node.", FAINT))))
    return rows
