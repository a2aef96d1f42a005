"""Waits of a data path over time: the mean time of a request at each stage, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.analysis.limits.limit_samples import weighted
from sdstop.analysis.path.stage import Stage
from sdstop.core.history import Moment, Window
from sdstop.readings.disk import DiskActivity

WaitSample = tuple[float, float, float | None]
"""When a sample ends (monotonic), its length, and the mean wait of a request in it, all in seconds."""


class StageWaits(Struct, frozen=True):
    """The wait of a request at a stage, oldest sample first: None in a sample that completed no requests."""

    stage: Stage
    samples: tuple[WaitSample, ...]

    @property
    def longest(self) -> float:
        """Longest wait of a sample in seconds, 0 if none has requests."""
        return max((wait for *_, wait in self.samples if wait is not None), default=0.0)


def stage_waits(window: Window, stages: Sequence[Stage]) -> list[StageWaits]:
    """Return the waits of the stages that consist of block devices and completed requests, in their order."""
    moments = window.moments(DiskActivity)
    found = []
    for stage in stages:
        names = [thing.device for thing in stage.things if thing.device is not None]
        if not names or len(names) < len(stage.things):
            continue
        samples = tuple((moment.started, moment.seconds or 0.0, _wait(moment, tuple(names))) for moment in moments)
        if any(wait is not None for *_, wait in samples):
            found.append(StageWaits(stage, samples))
    return found


def _wait(moment: Moment[DiskActivity], names: tuple[str, ...]) -> float | None:
    """Return the mean wait of the requests that devices completed in a sample; kept with the sample."""
    known: dict[tuple[str, ...], float | None] = moment.memo.setdefault("path.waits", {})
    if names not in known:
        rows = [row for name in names if (row := moment.rows.get(name)) is not None]
        known[names] = weighted([(row.wait, row.completed_per_second) for row in rows])
    return known[names]
