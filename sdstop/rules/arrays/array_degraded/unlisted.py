"""md arrays that the node has and that its list of arrays does not name."""

from __future__ import annotations

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array
from sdstop.core.history import Window
from sdstop.readings.disk import Disk

_SAMPLES = 2
"""Samples that must agree: sources are not read at the same instant."""


def unlisted(window: Window) -> list[str]:
    """Return the arrays of sysfs that are counted among the disks and are not in mdstat; a stopped one has no size."""
    disks, lists = (window.moments(family)[-_SAMPLES:] for family in (Disk, Array))
    if len(disks) < _SAMPLES or len(lists) < _SAMPLES:
        return []
    return [
        row.device
        for row in window.rows(BlockDevice).values()
        if row.kind == "md"
        and row.size
        and all(row.device in moment.rows for moment in disks)
        and not any(row.device in moment.rows for moment in lists)
    ]
