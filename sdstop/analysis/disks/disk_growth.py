"""Growth of a disk's error counts: the difference between two of its answers, hours apart."""

from __future__ import annotations

from msgspec import Struct

from sdstop.collectors.health.readings import DiskErrorCount, DiskHealth
from sdstop.core.history import Window

DAY = 86_400.0
"""Seconds for which counts are compared."""


class Growth(Struct, frozen=True):
    """Increase of a count by `new` in `seconds`, since `since` (Unix seconds)."""

    new: int
    seconds: float
    since: float


def growth(window: Window, row: DiskHealth, field: str) -> Growth | None:
    """Return how much a count grew; None with a single answer, after a reset, and for another disk of this name."""
    known: list[tuple[float, float, int]] = []
    for course in window.courses(DiskErrorCount, DAY):
        for moment in course:
            before = moment.rows.get(row.device)
            count: int | None = getattr(before, field) if before is not None else None
            if before is not None and before.serial == row.serial and count is not None:
                known.append((moment.started, moment.taken, count))
    if len(known) < 2:
        return None
    (began, since, first), (ended, _, last) = known[0], known[-1]
    if last < first or ended <= began:
        return None
    return Growth(last - first, ended - began, since)
