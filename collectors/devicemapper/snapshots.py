"""Snapshots of device mapper that copy on write: the space that is left, and whether they are still valid."""

from __future__ import annotations

import re

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.collectors.devicemapper.volume_readings import VolumeSnapshot
from sdstop.core.expression import expression

TARGETS = ("snapshot", "snapshot-merge")
UNREAD = "not understood"
_STATES = {"Invalid": "invalid", "Overflow": "overflow", "Merge failed": "merge failed", "Unknown": "unknown"}
_USED = expression(r"(\d{1,20})/(\d{1,20})(?: (\d{1,20}))?\n", re.ASCII)


def parse(text: str) -> tuple[str, int | None, int | None]:
    """Parse the status of a snapshot (drivers/md/dm-snap.c: snapshot_status): state, sectors used, and all sectors.

    2056/16384 16
    Invalid
    """
    found = _USED.fullmatch(f"{text.strip()}\n" if text.endswith("\n") else text)
    if found is None:
        return (_STATES.get(text.strip(), UNREAD) if text.endswith("\n") else UNREAD), None, None
    used, size = int(found[1]), int(found[2])
    return ("ok", used, size) if used <= size else (UNREAD, None, None)


def snapshot(
    segment: Segment, name: str, device: str | None, below: tuple[str | None, str | None], where: str
) -> VolumeSnapshot:
    """Return the row of a snapshot; `below` are the kernel names of its origin and of the device with its space."""
    state, used, size = parse(segment.text)
    return VolumeSnapshot(
        snapshot=name,
        mapping=segment.name,
        state=state,
        merging=segment.target == "snapshot-merge",
        device=device,
        origin=below[0],
        store=below[1],
        size=None if size is None else size * SECTOR,
        used=None if used is None else used * SECTOR,
        origin_size=segment.length,
        where=where,
        needle=f"{segment.name}:" if segment.name else "",
    )
