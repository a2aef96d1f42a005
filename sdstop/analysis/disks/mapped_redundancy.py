"""Redundancy of a raid volume of device mapper: how many more members can fail, by md's layouts."""

from __future__ import annotations

from sdstop.collectors.devicemapper.raid_volumes import ALIVE, STALE
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.collectors.md.redundancy import Layout, tolerated

_LEVELS = (("raid10", "raid10"), ("raid1", "raid1"), ("mirror", "raid1"), ("raid4", "raid4"), ("raid5", "raid5"),
           ("raid6", "raid6"))  # fmt: skip
"""Levels of md by the beginnings of the names that device mapper gives them (raid5_ls, raid6_zr), longest first."""


def redundancy(row: MappedRaidState) -> int | None:
    """Return how many more members can fail without data loss; -1: data is lost already. None: unknown.

    Until the first synchronization ends no member is called in sync; all that work have the data then.
    """
    health = row.health
    if health is None or row.level is None or row.members is None:
        return None
    if row.level == "raid0":
        return -1 if row.failed else 0
    level = next((ours for theirs, ours in _LEVELS if row.level.startswith(theirs)), "")
    serving = ALIVE if ALIVE in health else STALE
    working = health.count(serving)
    copies = row.copies
    if level == "raid10" and copies is None:
        return None
    near, far = (1, copies or 1) if row.far else (copies or 1, 1)
    slots = "".join("U" if letter == serving else "_" for letter in health)
    return tolerated(Layout(level, row.members, near, far), working, slots)
