"""`sdstop`: the dashboard, or the text report without a usable terminal."""

from __future__ import annotations

import argparse
import time
from threading import Thread
from typing import TYPE_CHECKING

import sdstop
from sdstop.cli import output
from sdstop.cli.config import appearance
from sdstop.cli.opening import attached, begin
from sdstop.cli.problem import Problem
from sdstop.cli.usage import SECONDS
from sdstop.core.format import safe, times_in
from sdstop.core.zone import zone_for
from sdstop.tui.settings import UiSettings, remembered_columns

_SHORT = 300
"""Number of frames up to which judging begins before the screen is shown."""
_AT_ONCE = 0.3
"""Seconds that this may take."""
JUDGED = 2.0
"""Seconds between two judgements of a live node, as long as only numbers change; every sample is shown."""

if TYPE_CHECKING:
    from datetime import tzinfo

    from sdstop.core.session import Session
    from sdstop.tui.terminal import Options


def run(options: argparse.Namespace) -> int:
    """Show the dashboard until the user quits. Raises Problem."""
    from sdstop.tui.terminal import usable_terminal

    reason = usable_terminal()
    ui = appearance(options)
    options.interval = ui.interval
    options.whole = reason is None  # a report without a terminal is of the period, as any report
    if options.whole and getattr(options, "source", None) is not None:
        _import_asyncio()
        Thread(target=_import_views, name="imports", daemon=True).start()
    with attached(options) if options.attach else begin(options) as watch:
        if reason is not None:
            output.say(f"sdstop: {reason}; printing the text report")
            from sdstop.cli import report

            session = report.seen(watch, watch.session(report.whole(watch)), SECONDS)
            with times_in(zone_for(ui.time, watch.origin.facts)):
                output.write(report.text(session, colored=output.colors(options)))
            return 0
        _import_asyncio()
        from sdstop import tui  # after forking the sampler, because it imports large modules
        from sdstop.analysis.load_course import LoadCourse
        from sdstop.core.timeline import RING_SECONDS

        session = watch.session(None if watch.sampler is None else RING_SECONDS)
        if watch.sampler is not None:
            session.judge_every(JUDGED)
        course = LoadCourse(session)
        zone = zone_for(ui.time, watch.origin.facts)
        at = _moment(options, session, zone) if watch.sampler is None else None
        if watch.sampler is None:
            _judge_some(session)
        with times_in(zone):
            return tui.run(session, watch.sampler, looks(options, ui), course, at=at)


def _import_asyncio() -> None:
    """Import what Textual runs on without TLS, which a screen does not need: 5 ms and 1.4 MB."""
    from sdstop.cli.spared import import_without

    import_without("asyncio", "ssl")


def _import_views() -> None:
    """Import the screen while a capture is being read; it is not forked."""
    from sdstop.rules import RULES
    from sdstop.tui.app import Dashboard

    del RULES, Dashboard


def _moment(options: argparse.Namespace, session: Session, zone: tzinfo | None) -> float | None:
    """Return the Unix time of `--at`, None if it is not given. Raises Problem."""
    from sdstop.core.period import Period

    if options.at is None:
        return None
    try:
        return Period(at=options.at).times(session.timeline.frames[-1].taken, zone)[1]
    except ValueError as error:
        raise Problem(f"{safe(options.source)} cannot be opened so: {error}") from error


def _judge_some(session: Session) -> None:
    """Judge all frames of a short capture: nothing of it is ever provisional."""
    count = len(session.timeline.frames)
    end = time.monotonic() + _AT_ONCE
    while count <= _SHORT and session.frames_seen < count and time.monotonic() < end:
        session.feed(session.timeline.frame(session.frames_seen))


def looks(options: argparse.Namespace, ui: UiSettings) -> Options:
    """Return the appearance: options of the command line, then settings."""
    from sdstop.tui.terminal import Options

    return Options(
        ascii=ui.ascii if options.ascii is None else options.ascii,
        mouse=ui.mouse if options.mouse is None else options.mouse,
        theme=options.theme or ui.theme,
        no_color=options.no_color,
        version=sdstop.__version__,
        columns={**ui.columns, **remembered_columns()},
        graph=ui.graph,
    )
