"""`sdstop`: the dashboard, or the text report without a usable terminal."""

from __future__ import annotations

import argparse

import sdstop
from sdstop.cli import output
from sdstop.cli.arguments import SECONDS
from sdstop.cli.watch import begin


def run(options: argparse.Namespace) -> int:
    """Show the dashboard until the user quits. Raises Problem."""
    from sdstop.tui.terminal import Options, usable_terminal

    reason = usable_terminal()
    with begin(options) as watch:
        if reason is not None:
            output.say(f"sdstop: {reason}, so this is the text report instead of the dashboard")
            from sdstop.cli import report

            session = report.seen(watch, watch.session(report.whole(watch)), SECONDS)
            output.write(report.text(session, coloured=output.colours(options)))
            return 0
        from sdstop import tui  # after forking the sampler, because it imports large modules
        from sdstop.analysis.load_course import LoadCourse
        from sdstop.core.session import RING_SECONDS

        session = watch.session(None if watch.sampler is None else RING_SECONDS)
        course = LoadCourse(session)
        if watch.sampler is None:
            session.feed_all(watch.frames(0.0))
        looks = Options(options.ascii, options.mouse, options.theme, options.no_color, sdstop.__version__)
        return tui.run(session, watch.sampler, looks, course)
