"""How disks record: conventionally, or shingled (SMR), where random writes are slow once a cache on the disk is full.

Zoned disks report their zones. Drive-managed ones hide them; they report their kind in the VPD page of block device
characteristics (SBC-4, page B1h), or not at all: those are known by their model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sdstop.collectors.health.readings import BLOCK, DiskMedium
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, TimedOut, Unreadable
from sdstop.core.model import Reading

PACE = 1800.0
"""Seconds between runs."""
_ZONED: Mapping[str, str] = {"host-managed": "SMR, host-managed", "host-aware": "SMR, host-aware"}
_VPD: Mapping[int, str] = {1: "SMR, host-aware", 2: "SMR, drive-managed"}
_MODELS = expression(
    r"WD(?:20|30|40|60)EFAX|WD(?:10|20)SPZX|WD(?:20|40|60)EZAZ|"  # WDC: "drive-managed SMR" in its list of 2020
    r"ST8000AS\d{4}|ST(?:2000DM008|3000DM007|4000DM00[45]|5000DM000|6000DM003|8000DM004)|ST\dT?000LM\d{3}|"  # Seagate
    r"HDWD(?:240|260)|HDWL1[12]\d|DT02ABA(?:400|600)"  # Toshiba
)
"""Models that their vendors list as drive-managed SMR, and that do not report it."""


def read(host: Host) -> Iterable[Reading]:
    """Return the recording of the disks that report any. Raises Absent without one."""
    rows = []
    names = host.names(BLOCK)
    for entry in names:
        if not re.fullmatch(r"sd[a-z]+|nvme\d+n\d+", entry):
            continue
        zoned = host.maybe(f"{BLOCK}/{entry}/queue/zoned")
        if zoned is not None and zoned in _ZONED:
            rows.append(DiskMedium(entry, _ZONED[zoned], "zoned"))
        elif (kind := _VPD.get(_page(host, entry))) is not None:
            rows.append(DiskMedium(entry, kind, "VPD page"))
        elif _MODELS.search(host.maybe(f"{BLOCK}/{entry}/device/model") or ""):
            rows.append(DiskMedium(entry, "SMR, drive-managed", "model"))
        elif zoned == "none":
            rows.append(DiskMedium(entry, "not zoned", "zoned"))
    if not rows:
        raise Absent(f"{BLOCK}/*/queue/zoned", "no disk that reports its recording", recorded=bool(names))
    return rows


def _page(host: Host, entry: str) -> int:
    """Return the field ZONED of a disk's VPD page B1h, 0 if unknown."""
    if not entry.startswith("sd"):
        return 0
    try:
        page = host.read(f"{BLOCK}/{entry}/device/vpd_pgb1")
    except TimedOut:
        raise
    except Unreadable:
        return 0
    return page[8] >> 4 & 3 if len(page) > 8 and page[1] == 0xB1 else 0


MEDIA = Collector(
    "media",
    "Recording of disks (SMR)",
    read,
    (DiskMedium,),
    (
        Need(f"list:{BLOCK}", "which disks there are"),
        Need(f"{BLOCK}/*/queue/zoned", "whether a disk is zoned", filled=True),
        Need(f"{BLOCK}/*/device/vpd_pgb1", "whether a disk reports drive-managed zones"),
        Need(f"{BLOCK}/*/device/model", "models known to be drive-managed SMR"),
    ),
    PACE,
    deadline=15.0,
)
