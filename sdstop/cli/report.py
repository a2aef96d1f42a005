"""`sdstop report`: watch, then tell everything."""

from __future__ import annotations

import argparse

from sdstop.cli import output
from sdstop.cli.watch import Watch, begin, watched
from sdstop.session import Session

SECONDS = 10.0
"""How long to watch where nothing else is said."""


def run(options: argparse.Namespace) -> int:
    """Write the report. Raises Problem."""
    target = output.Target(options.output)
    with begin(options) as watch:
        session = seen(watch, options.duration)
    if options.format == "json":
        from sdstop.exporters.report import document, to_json

        target.write(to_json(document(session)))
    else:
        coloured = options.output in {None, "-"} and output.colours(options)
        target.write(text(session, coloured=coloured))
    return 0


def seen(watch: Watch, seconds: float) -> Session:
    """Return a session that watched for so long, or that saw all of a capture."""
    session = watch.session(None if watch.sampler is None else 0.0)
    try:
        watched(watch, session, seconds, output.progress(seconds) if watch.sampler is not None else lambda _: None)
    finally:
        if watch.sampler is not None:
            output.clear_progress()
    return session


def text(session: Session, *, coloured: bool) -> str:
    """Return the text report, as wide as the terminal is."""
    from sdstop.exporters import text as exporter

    paint = exporter.coloured if coloured else exporter.plain
    return exporter.text_report(session, output.width(exporter.WIDTH), paint)
