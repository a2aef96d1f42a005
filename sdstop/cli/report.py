"""`sdstop report`: sample for a while, then write a complete report."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.opening import begin
from sdstop.cli.watch import Watch, watched
from sdstop.core.format import times_in
from sdstop.core.zone import zone_for

if TYPE_CHECKING:
    from sdstop.core.session import Look, Session


def run(options: argparse.Namespace) -> int:
    """Write the report. Raises Problem."""
    if options.follow:
        return _follow(options)
    from sdstop.cli.config import appearance

    if len(options.sources) > 1:
        with output.Target(options.output) as target, times_in(zone_for(appearance(options).time, {})):
            target.write(_several(options))  # nodes may be in several zones: UTC unless the user chose another
        return 0
    choice = appearance(options).time
    each = options.format != "json1"
    with begin(options, each=each) as watch, output.Target(options.output) as target:
        if watch.nodes and each:
            with times_in(zone_for(choice, {})):
                target.write(_several(options, watch.nodes))
            return 0
        write = _WRITERS[options.format]
        with times_in(zone_for(choice, watch.origin.facts)):
            target.write(write(watch, options))
    return 0


def _follow(options: argparse.Namespace) -> int:
    """Write changes as JSON lines until the end of the capture, of --duration or of the reader. Raises Problem."""
    from sdstop.exporters.report.follow import Follower, line

    with begin(options) as watch:
        session = watch.session(0.0)
        session.budget = None if watch.sampler is None else watch.interval
        follower = Follower(session)
        for frame in watch.frames(options.duration or math.inf):
            output.write("".join(map(line, follower.events(session.feed(frame)))))
    return 0


def _text(watch: Watch, options: argparse.Namespace) -> str:
    session = seen(watch, watch.session(whole(watch)), options.duration)
    watch.close()
    return text(session, colored=options.output in {None, "-"} and output.colors(options))


def _json(watch: Watch, options: argparse.Namespace) -> str:
    from sdstop.exporters.report.document import document, to_json

    session = seen(watch, watch.session(whole(watch)), options.duration)
    watch.close()
    return to_json(document(session))


def _json1(watch: Watch, options: argparse.Namespace) -> str:
    from sdstop.exporters.report.document import document, first_version, to_json

    session = seen(watch, watch.session(whole(watch)), options.duration)
    watch.close()
    return to_json(first_version(document(session)))


def _html(watch: Watch, options: argparse.Namespace) -> str:
    from sdstop.exporters.report.html import page
    from sdstop.exporters.report.series import ReportSeries

    series = ReportSeries()
    session = seen(watch, watch.session(watch.frames_kept), options.duration, lambda look: series.add(look.now))
    watch.close()
    return page(session, series)


def _markdown(watch: Watch, options: argparse.Namespace) -> str:
    from sdstop.exporters.report.postmortem import postmortem

    session = seen(watch, watch.session(watch.frames_kept), options.duration)
    watch.close()
    return postmortem(session)


def _several(options: argparse.Namespace, watches: Sequence[Watch] = ()) -> str:
    """Return the report of several nodes, or of several captures of one. Raises Problem."""
    from sdstop.cli.several import together
    from sdstop.exporters.report import site
    from sdstop.exporters.report import text as exporter
    from sdstop.exporters.report.document import to_json

    found = together(options, watches)
    match options.format:
        case "json":
            return to_json(site.to_data(found))
        case "html":
            return site.page(found)
        case "markdown":
            return site.markdown(found)
    colored = options.output in {None, "-"} and output.colors(options)
    return site.text(found, output.width(100), exporter.colored if colored else exporter.plain)


_WRITERS = {"text": _text, "json": _json, "json1": _json1, "html": _html, "markdown": _markdown}


def whole(watch: Watch) -> float | None:
    """Return the seconds of frames kept by a one-shot session: all of a capture (already in memory), none live."""
    return None if watch.sampler is None else 0.0


def seen(watch: Watch, session: Session, seconds: float, noted: Callable[[Look], None] = lambda _: None) -> Session:
    """Feed a session for `seconds`, or with all frames of a capture, and return it; `noted` gets each sample."""
    live = watch.sampler is not None
    try:
        watched(watch, session, seconds, output.progress(seconds) if live else lambda _: None, noted)
    finally:
        if live:
            output.clear_progress()
    return session


def text(session: Session, *, colored: bool) -> str:
    """Return the text report at the width of the terminal."""
    from sdstop.exporters.report import text as exporter

    paint = exporter.colored if colored else exporter.plain
    return exporter.text_report(session, output.width(exporter.WIDTH), paint)
