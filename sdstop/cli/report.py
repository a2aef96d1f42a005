"""`sdstop report`: watch, then tell everything."""

from __future__ import annotations

import argparse

from sdstop.cli import output
from sdstop.cli.watch import Watch, begin, watched
from sdstop.session import Session


def run(options: argparse.Namespace) -> int:
    """Write the report. Raises Problem."""
    with begin(options) as watch, output.Target(options.output) as target:
        session = seen(watch, watch.session(whole(watch)), options.duration)
        watch.close()
        if options.format == "json":
            from sdstop.exporters.report import document, to_json

            target.write(to_json(document(session)))
        else:
            coloured = options.output in {None, "-"} and output.colours(options)
            target.write(text(session, coloured=coloured))
    return 0


def whole(watch: Watch) -> float | None:
    """Return how much a session has to remember that is only looked at once: what is in memory anyway."""
    return None if watch.sampler is None else 0.0


def seen(watch: Watch, session: Session, seconds: float) -> Session:
    """Return the session after it watched for so long, or saw all of a capture."""
    live = watch.sampler is not None
    try:
        watched(watch, session, seconds, output.progress(seconds) if live else lambda _: None)
    finally:
        if live:
            output.clear_progress()
    return session


def text(session: Session, *, coloured: bool) -> str:
    """Return the text report, as wide as the terminal is."""
    from sdstop.exporters import text as exporter

    paint = exporter.coloured if coloured else exporter.plain
    return exporter.text_report(session, output.width(exporter.WIDTH), paint)
