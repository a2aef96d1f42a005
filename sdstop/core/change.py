"""Changes between two samples that rules must judge at once: a thing appeared or is gone, a state or a source changed.

Live nodes are judged every few seconds (`Session.pace`). What only moves can wait that long; what changes cannot: an
array that udev stops after its third loss must have been judged before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import attrgetter

from sdstop.core.columns import Columns
from sdstop.core.model import Reading, Rows, State, schema
from sdstop.core.snapshot import Run, Snapshot, is_derived

_JITTER = 0.5
"""Seconds that a sample may be early."""


def is_due(before: Snapshot, judged: float, now: Snapshot, pace: float) -> bool:
    """Return whether rules judge a sample at a pace: they judged last a sample taken at `judged` (monotonic seconds).

    `before` is the sample before it; `pace` is the number of seconds between two judgements, 0: every sample.
    """
    return not 0 <= now.monotonic - judged < pace - _JITTER or is_change(before, now)


def is_change(before: Snapshot, now: Snapshot) -> bool:
    """Return whether more than numbers differ.

    That is the outcome of a source, its reason, its first rates, the things that it names, or a state. Sources with
    thousands of rows count by their things alone. Words between which load alone changes (`State.alike`) are one.
    """
    if before.runs.keys() != now.runs.keys():
        return True
    return any(run is not before.runs[name] and _changed(before.runs[name], run) for name, run in now.runs.items())


def _changed(before: Run, now: Run) -> bool:
    if (before.outcome, before.reason, before.recorded) != (now.outcome, now.reason, now.recorded):
        return True
    if before.defects != now.defects or before.tables.keys() != now.tables.keys():
        return True
    return any(
        rows is not before.tables[family] and not is_derived(rows) and _differ(family, before.tables[family], rows)
        for family, rows in now.tables.items()
    )


def _differ(family: type[Reading], before: Rows, now: Rows) -> bool:
    """Return whether a family's things or states differ; other rows, as the tasks that wait, change often."""
    if family.things and not _shares(before, now) and before.keys() != now.keys():
        return True
    states = () if family.numerous else _states(family)
    if not states:
        return False
    asked = [(attrgetter(name), alike) for name, alike in states]
    for key, row in now.items():
        old = before.get(key)
        if old is None or old is row:
            continue
        for ask, alike in asked:
            was, found = ask(old), ask(row)
            if was != found and not (was in alike and found in alike):
                return True
    return False


def _shares(before: Rows, now: Rows) -> bool:
    return isinstance(before, Columns) and isinstance(now, Columns) and before.index is now.index


@cache
def _states(family: type[Reading]) -> Sequence[tuple[str, frozenset[str]]]:
    """Return the fields of a family that are states, each with its words that are alike."""
    return [(each.name, each.mark.alike) for each in schema(family).columns if isinstance(each.mark, State)]
