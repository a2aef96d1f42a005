"""Status lines of the fleet dashboard: server, time, counts of findings, and caveats."""

from __future__ import annotations

import time

from msgspec import Struct
from rich.segment import Segment

from sdstop.core.finding import Severity
from sdstop.core.format import clock, duration
from sdstop.fleet.state import FleetState
from sdstop.fleet.text import remarks
from sdstop.tui.fleet.tables import TABLES
from sdstop.tui.widgets.palette import BANNER, FAINT, PLAIN, STRONG, Line, Palette, clickable, text, width_of


class Condition(Struct, frozen=True):
    """State of polling: server URL, interval in seconds, and why the server does not respond ("" if it does)."""

    url: str
    interval: float
    paused: bool = False
    busy: bool = False
    trouble: str = ""


def status_line(picture: FleetState | None, condition: Condition, palette: Palette, width: int) -> Line:
    """Return the status line; on a narrow screen the URL is shortened first."""
    right = counts_line(picture, palette)
    brief = width < 100
    if picture is None:
        moment = text(("loading ...", FAINT))
    elif condition.trouble:
        old = f"no answer for {duration(time.time() - picture.asked)}" if not picture.failed else "no answer"
        moment = text((old, palette.severity(None)))
    elif condition.paused:
        moment = text((f" PAUSED {clock(picture.asked)}Z ", BANNER))
    else:
        moment = text(("LIVE", STRONG), f" {clock(picture.asked)}Z")
        if not brief:
            moment = (*moment, *text((f" every {condition.interval:g} s", FAINT)))
    left: list[Segment] = [Segment(" "), *text(("fleet " if brief else "sdstop fleet ", FAINT))]
    room = max(width - width_of(left) - width_of(moment) - width_of(right) - 5, 8)
    url = palette.word(condition.url, 120)
    left += [*text((palette.fit(url, min(len(url), room)), STRONG), "  "), *moment]
    if picture is not None and picture.server:
        server = f"  {palette.word(picture.server, 40)}, {picture.took:.1f} s"
        if width_of(left) + len(server) + width_of(right) + 2 < width:
            left.append(Segment(server, FAINT))
    gap = max(width - width_of(left) - width_of(right) - 1, 1)
    return (*left, Segment(" " * gap), *right)


def tabs_line(current: str) -> Line:
    """Return the tabs of the tables; the visible table is in reverse video."""
    parts: list[Segment] = []
    for table in TABLES:
        style = clickable(BANNER if table.key == current else PLAIN, f"app.view({table.key!r})")
        parts += [Segment(" "), Segment(f"{table.key} {table.title}", style), Segment(" ")]
    return tuple(parts)


def counts_line(picture: FleetState | None, palette: Palette) -> Line:
    """Return the number of nodes in total and per severity; silent nodes count as unknown."""
    if picture is None or picture.failed:
        return ()
    parts: list[Segment] = [Segment(f"{'?' if picture.total is None else picture.total} nodes", FAINT)]
    told = (
        (Severity.CRITICAL, picture.counts.get(Severity.CRITICAL, 0), "CRIT"),
        (Severity.WARNING, picture.counts.get(Severity.WARNING, 0), "WARN"),
        (None, len(picture.silent), "?UNKN"),
    )
    for severity, count, word in told:
        if count:
            style = palette.severity(severity)
            badge = severity is Severity.CRITICAL
            parts += [
                Segment("  "),
                Segment(f" {count} {word} " if badge else f"{count} {word}", style + BANNER if badge else style),
            ]
    return tuple(parts)


def remark_lines(picture: FleetState | None, condition: Condition, palette: Palette) -> list[Line]:
    """Return one line for each caveat about the picture."""
    said = [condition.trouble] if condition.trouble else []
    said += remarks(picture) if picture is not None and not picture.failed else []
    return [text((f" {palette.word(line, 300)}", palette.severity(None))) for line in said]
