"""`sdstop backfill`: a capture as OpenMetrics with timestamps, to load into Prometheus afterwards."""

from __future__ import annotations

import argparse

from sdstop.cli import output
from sdstop.cli.choices import exported
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.collectors import BUILTIN
from sdstop.core.format import plural
from sdstop.core.output_file import READABLE
from sdstop.exporters.prometheus.backfill import Backfill
from sdstop.exporters.prometheus.metrics import Exposition


def run(options: argparse.Namespace) -> int:
    """Write the metrics of all frames. Raises Problem if none has a date."""
    with begin(options) as watch, output.Target(options.output, mode=READABLE) as target:
        exposition = Exposition(watch.session(0.0), BUILTIN, exported(watch.config), watch.interval)
        labels = {"instance": options.instance or watch.origin.name, "job": options.job}
        with Backfill(exposition, labels) as made:
            for frame in watch.frames(0.0):
                made.feed(frame)
            if not made.samples:
                raise Problem("the capture has no dates; its metrics have no place in a time series")
            target.write_bytes(b"".join(made.pieces()))
            if made.skipped:
                output.say(f"sdstop: {plural(made.skipped, 'frame')} left out: undated, or the clock was set back")
    return 0
