"""Devices that the node no longer has, although something above still names them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from collections.abc import Set as AbstractSet

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.history import Window
from sdstop.readings.disk import Disk

_ALL = "diskstats"
"""Source of /proc/diskstats."""
_SAMPLES = 2
"""Samples that must agree: sources are not read at the same instant."""


def gone(window: Window, names: Collection[str], beside: Collection[str]) -> list[str]:
    """Return the names that are in neither the last two samples of counters nor in sysfs.

    All of these must have some of the devices `beside`; otherwise they may have been recorded in part, and nothing is
    returned.
    """
    present = window.once("present", lambda: _present(window))
    if all(map(present.__contains__, names)):
        return []
    samples = [moment.rows for moment in window.moments(Disk)[-_SAMPLES:]]
    tables: list[Mapping[Hashable, object]] = [*samples, window.rows(BlockDevice)]
    if len(samples) < _SAMPLES or not all(any(name in table for name in beside) for table in tables):
        return []
    return [name for name in names if not any(name in table for table in tables)]


def is_every_device(window: Window) -> bool:
    """Return whether the counters are those of all devices; iostat and sar show those that they were asked for."""
    run = window.now.by_family.get(Disk)
    return run is not None and run.collector == _ALL


def _present(window: Window) -> AbstractSet[Hashable]:
    """Return the names of the devices that the newest sample of counters has."""
    return window.rows(Disk).keys()
