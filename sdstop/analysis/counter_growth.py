"""Growth of the counters of one thing over the samples that are kept of a slow source."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from sdstop.analysis.disks.disk_growth import Growth
from sdstop.core.history import Window
from sdstop.core.model import Reading

_SLACK = 0.5
"""Seconds: samples arrive slightly early or late."""


def counter_growth(
    window: Window, family: type[Reading], key: Hashable, fields: Iterable[str], seconds: float
) -> Growth | None:
    """Return how much the sum of counters grew in at most `seconds`, or since the sample before if that is longer ago.

    Fields without a value do not count.

    None with a single sample, after a reset, and where no field has a value in both samples.
    """
    known = [
        (moment.started, moment.taken, row)
        for course in window.courses(family, seconds)
        for moment in course
        if (row := moment.rows.get(key)) is not None
    ]
    if len(known) < 2:
        return None
    ended, _, last = known[-1]
    began, since, first = next((each for each in known[:-2] if ended - each[0] <= seconds + _SLACK), known[-2])
    pairs = [(getattr(first, name), getattr(last, name)) for name in fields]
    steps = [after - before for before, after in pairs if before is not None and after is not None]
    if not steps or min(steps) < 0 or ended <= began:
        return None
    return Growth(sum(steps), ended - began, since)
