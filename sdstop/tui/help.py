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
    ("!CRIT *WARN", "severity; INFO raises no alert"),
    ("?UNKN", "unknown: could not be checked; not the same as OK"),
    ("-", "no data"),
    ("! *", "marks a row with a critical finding or a warning"),
    ("~", "stale: last good value; its source fails now"),
    ("%CACHBL", "hit rate of cacheable requests; %HIT: of all requests"),
    ("8G x4/16G x8", "link: current / maximum of both ends; NEW: errors since the previous sample"),
    ("%LIM", "volume: share of time at its limit; limit, disks: the two parts of await"),
    ("≤640", "upper bound: the counter covers several mappings together"),
    ("B | + - R r", "events of a recording: boot, pause, device added, removed, rebuild started, ended"),
    ("x2.4", "ratio to the median of its peers in the array"),
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
    rows.append(words(text((f"  sdstop {palette.word(version)}: read-only, changes nothing on the node.", FAINT))))
    return rows
