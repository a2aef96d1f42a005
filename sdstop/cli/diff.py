"""`sdstop diff`: what changed from one capture or moment to another."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sdstop.cli import output
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.core.format import first_of, times_in
from sdstop.core.history import KEEP
from sdstop.core.zone import zone_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdstop.analysis.comparison.comparison import Comparison
    from sdstop.analysis.comparison.sides import ComparedSide
    from sdstop.core.evidence import Frame

CHANGED, WORSE = 3, 4
"""Exit codes with --exit-code: something changed; a finding is new, first seen, or worse."""
_BEFORE = 2 * KEEP
"""Seconds of frames before a moment that are judged."""


def run(options: argparse.Namespace) -> int:
    """Compare, and return the exit code. Raises Problem."""
    from sdstop.analysis.comparison.comparison import comparison

    (a, at), (b, until) = split(options.before), split(options.after)
    if a == "-" and b == "-":
        raise Problem('only one of A and B can be "-"', 2)
    alone = _same(a, b) and (at is None) != (until is None)  # a moment and the end of the same file
    with output.Target(options.output) as target:
        found = comparison(
            _side(options, a, at, moment=at is not None or alone),
            _side(options, b, until, moment=until is not None or alone),
        )
        if options.screen:
            _show(found, options)
            return _code(found, options)
        with times_in(zone_for("node", found.b.session.origin.facts)):
            target.write(written(found, options))
    return _code(found, options)


def _code(found: Comparison, options: argparse.Namespace) -> int:
    if not options.exit_code:
        return 0
    return WORSE if found.worse else CHANGED if found.changed else 0


def _show(found: Comparison, options: argparse.Namespace) -> None:
    """Show the comparison above the dashboard of B. Raises Problem without a usable terminal."""
    from sdstop import tui
    from sdstop.cli.config import appearance
    from sdstop.cli.dashboard import looks

    reason = tui.usable_terminal()
    if reason is not None:
        raise Problem(f"cannot use --screen: {reason}")
    ui = appearance(options)
    session = found.b.session
    with times_in(zone_for(ui.time, session.origin.facts)):
        tui.run(session, None, looks(options, ui), found=found)


def split(text: str) -> tuple[str, str | None]:
    """Return the path and the time of `FILE` or `FILE@TIME`; the path may contain `@`."""
    if text == "-" or os.path.lexists(text):
        return text, None
    places = [at for at, letter in enumerate(text) if letter == "@" and at]
    known = [at for at in places if os.path.lexists(text[:at])]
    at = (known or places or [len(text)])[-1]
    return (text[:at], text[at + 1 :]) if at < len(text) else (text, None)


def _same(a: str, b: str) -> bool:
    try:
        return Path(a).samefile(b)
    except (OSError, ValueError):
        return False


def _side(options: argparse.Namespace, path: str, at: str | None, *, moment: bool) -> ComparedSide:
    """Open and judge one side. Raises Problem."""
    from sdstop.analysis.comparison.load_totals import LoadTotals
    from sdstop.analysis.comparison.sides import ComparedSide, moment_side

    chosen = {"source": path, "sources": [path], "at": at, "collectors": None}
    with begin(argparse.Namespace(**{**vars(options), **chosen})) as watch:
        frames: Iterable[Frame] = watch.frames(0.0)
        timeline = watch.recorded
        if moment and timeline is not None:
            newest = len(timeline.frames) - 1
            frames = timeline.recall(timeline.at(timeline.frames[newest].monotonic - _BEFORE), newest + 1)
        session, loads = watch.session(None if options.screen else 0.0), LoadTotals()
        for frame in frames:
            shot = session.feed(frame).now
            if not moment:
                loads.add(shot)
        if timeline is not None and timeline.faults:
            doubt = timeline.doubt(session.head().now.number)
            session.origin = replace(
                session.origin, complete=False, note=first_of(timeline.faults), late=doubt or session.origin.late
            )
    source = path if at is None else f"{path}@{at}"
    return moment_side(session, session.head(), source) if moment else ComparedSide(session, loads, source)


def written(found: Comparison, options: argparse.Namespace) -> str:
    """Return the comparison in the format that the options name."""
    from sdstop.exporters.report import text as exporter
    from sdstop.exporters.report.changes import data, page, text

    match options.format:
        case "json":
            return data.text(found)
        case "html":
            return page.page(found)
    colored = options.output in {None, "-"} and output.colors(options)
    return text.text(found, output.width(exporter.WIDTH), exporter.colored if colored else exporter.plain)
