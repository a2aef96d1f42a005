"""`sdstop`: the dashboard, or the text report without a usable terminal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import sdstop
from sdstop.cli import output
from sdstop.cli.arguments import SECONDS
from sdstop.cli.config import appearance
from sdstop.cli.watch import attached, begin
from sdstop.core.format import times_in
from sdstop.core.zone import zone_for
from sdstop.tui.settings import UiSettings, remembered_columns

if TYPE_CHECKING:
    from sdstop.tui.terminal import Options


def run(options: argparse.Namespace) -> int:
    """Show the dashboard until the user quits. Raises Problem."""
    from sdstop.tui.terminal import usable_terminal

    reason = usable_terminal()
    ui = appearance(options)
    options.interval = ui.interval
    with attached(options) if options.attach else begin(options) as watch:
        if reason is not None:
            output.say(f"sdstop: {reason}; printing the text report")
            from sdstop.cli import report

            session = report.seen(watch, watch.session(report.whole(watch)), SECONDS)
            with times_in(zone_for(ui.time, watch.origin.facts)):
                output.write(report.text(session, coloured=output.colours(options)))
            return 0
        from sdstop import tui  # after forking the sampler, because it imports large modules
        from sdstop.analysis.load_course import LoadCourse
        from sdstop.core.session import RING_SECONDS

        session = watch.session(None if watch.sampler is None else RING_SECONDS)
        course = LoadCourse(session)
        if watch.sampler is None:
            session.feed_all(watch.frames(0.0))
        with times_in(zone_for(ui.time, watch.origin.facts)):
            return tui.run(session, watch.sampler, looks(options, ui), course)


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
