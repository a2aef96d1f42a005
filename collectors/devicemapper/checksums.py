"""Device mapper devices that check their data: dm-integrity and dm-verity."""

from __future__ import annotations

import re

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.collectors.devicemapper.readings import ChecksummedDevice
from sdstop.core.expression import expression

TARGETS = ("integrity", "verity")
UNREAD = "not understood"
_INTEGRITY = expression(r"(\d{1,20})(?: (\d{1,20}) (\d{1,20}|-))?", re.ASCII)
_VERITY = {"V": "ok", "C": "corrupted"}


def parse(target: str, text: str) -> tuple[str, int | None, int | None, int | None]:
    """Parse a status line: state, mismatches, sectors, and the position of a running recalculation in sectors.

    0 516096 -          integrity (drivers/md/dm-integrity.c: dm_integrity_status)
    V                   verity (drivers/md/dm-verity-target.c: verity_status); C: a wrong block was found
    """
    unread = UNREAD, None, None, None
    if not text.endswith("\n"):
        return unread
    if target == "verity":
        return _VERITY.get((text.split() or [""])[0], UNREAD), None, None, None
    found = _INTEGRITY.fullmatch(text.strip())
    if found is None:
        return unread
    size = None if found[2] is None else int(found[2])
    place = None if found[3] in {None, "-"} else int(found[3])
    return "ok", int(found[1]), size, place


def checksummed(segment: Segment, name: str, device: str | None, where: str) -> ChecksummedDevice:
    """Return the row of a device that checks its data."""
    state, mismatches, size, place = parse(segment.target, segment.text)
    return ChecksummedDevice(
        volume=name,
        mapping=segment.name,
        kind=segment.target,
        state=state,
        device=device,
        mismatches=mismatches,
        size=segment.length if size is None else size * SECTOR,
        recalculated=None if place is None else place * SECTOR,
        where=where,
        needle=f"{segment.name}:" if segment.name else "",
    )
