"""Queues of folded devices over the last seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import cast

from sdstop.analysis.disks.likeness import DeviceFold
from sdstop.analysis.disks.recent_activity import moments
from sdstop.core.columns import values_at
from sdstop.core.history import Window
from sdstop.core.model import Rows

_SEEN = 12
"""Maximum number of devices of a fold whose queues are drawn as one."""


def queue_courses(folds: Sequence[DeviceFold], window: Window) -> list[list[float | None]]:
    """Return the mean queue of each fold in each run of the window, of many devices that of some of them.

    Each run keeps its means. Those that it lacks are made from one column: of an old run, that takes less time than
    hundreds of rows.
    """
    seen = [_names(fold) for fold in folds]
    keys = [(fold.group, names[0], len(names)) for fold, names in zip(folds, seen, strict=True)]
    courses: list[list[float | None]] = [[] for _ in folds]
    for moment in moments(window):
        known: dict[tuple[str, str, int], tuple[list[str], float | None]]
        known = moment.memo.setdefault("queues of folds", {})
        lacking = {
            key: names for key, names in zip(keys, seen, strict=True) if key not in known or known[key][0] != names
        }
        if lacking:
            (queues,) = values_at(cast("Rows", moment.rows), list(chain(*lacking.values())), "queue")
            left = iter(queues)
            for key, names in lacking.items():
                values = [queue for queue in islice(left, len(names)) if queue is not None]
                known[key] = names, sum(values) / len(values) if values else None
        for course, key in zip(courses, keys, strict=True):
            course.append(known[key][1])
    return courses


def _names(fold: DeviceFold) -> list[str]:
    every = max(len(fold.devices) // _SEEN, 1)
    return [drive.name for drive in fold.devices[::every][:_SEEN]]
