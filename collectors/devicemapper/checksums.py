"""Device mapper devices that check their data: dm-integrity and dm-verity."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State

TARGETS = ("integrity", "verity")
UNREAD = "not understood"
_INTEGRITY = expression(r"(\d{1,20})(?: (\d{1,20}) (\d{1,20}|-))?", re.ASCII)
_VERITY = {"V": "ok", "C": "corrupted"}


class ChecksummedDevice(Reading, frozen=True, kw_only=True):
    """A device whose data has checksums (dm-integrity) or a hash tree (dm-verity), from `dmsetup status`.

    `state`: ok, corrupted (dm-verity found a wrong block since it was activated), or not understood. dm-integrity
    counts mismatches since its activation; reads of these sectors fail.
    """

    family: ClassVar[str] = "checksummed_device"
    title: ClassVar[str] = "Checksummed devices"
    rows_of = Source("{where}", "{needle}")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
    }

    volume: Annotated[str, Label("Volume", "GROUP/VOLUME of LVM, otherwise the mapping's name", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    kind: Annotated[str, Fact("Kind", "integrity or verity", plain=True)]
    state: Annotated[str, State("State", "State of the data: ok, corrupted")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    mismatches: Annotated[
        int | None, Metric("Mismatches", "Sectors with wrong checksums since activation", kind=Kind.COUNTER)
    ] = None
    size: Annotated[int | None, Metric("Size", "Size of the data", "bytes")] = None
    recalculated: Annotated[
        int | None, Metric("Recalculated", "Position of the running calculation of checksums", "bytes")
    ] = None
    where: Annotated[str, Fact("Where", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


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
