"""Snapshots of device mapper that copy on write: the space that is left, and whether they are still valid."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

TARGETS = ("snapshot", "snapshot-merge")
UNREAD = "not understood"
_STATES = {"Invalid": "invalid", "Overflow": "overflow", "Merge failed": "merge failed", "Unknown": "unknown"}
_USED = expression(r"(\d{1,20})/(\d{1,20})(?: (\d{1,20}))?\n", re.ASCII)


class VolumeSnapshot(Reading, frozen=True, kw_only=True):
    """A snapshot of device mapper, not one of a thin pool, from `dmsetup status`.

    Its space holds the old content of each chunk of the origin that was written since. `state`: ok, invalid (its
    content is lost), overflow (it ran out of space; invalid after the next activation), merge failed, unknown, or not
    understood.
    """

    family: ClassVar[str] = "volume_snapshot"
    title: ClassVar[str] = "Snapshots"
    remembered: ClassVar[bool] = True
    rows_of = Source("{where}", "{needle}")
    things: ClassVar = {
        "device": Identity(
            ThingKind.VOLUME, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK), ("{snapshot}", Naming.LINK))
        ),
        "origin": Identity(None, Naming.DEV),
        "store": Identity(None, Naming.DEV),
    }
    joins = (Join("device", "origin", Relation.STORED), Join("device", "store", Relation.STORED))

    snapshot: Annotated[str, Label("Snapshot", "GROUP/VOLUME of LVM, otherwise the mapping's name", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    state: Annotated[str, State("State", "State: ok, invalid, overflow, merge failed, unknown")]
    merging: Annotated[bool, Fact("Merging", "Whether it is merged into its origin")] = False
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    origin: Annotated[str | None, Fact("Origin", "Kernel name of its origin", names=Name.DEVICE)] = None
    store: Annotated[str | None, Fact("Store", "Kernel name of the device with its space", names=Name.DEVICE)] = None
    size: Annotated[int | None, Metric("Size", "Space for changed chunks", "bytes")] = None
    used: Annotated[int | None, Metric("Used", "Space in use, with metadata", "bytes")] = None
    origin_size: Annotated[int | None, Metric("Origin size", "Size of the origin", "bytes", export=False)] = None
    where: Annotated[str, Fact("Where", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def filled(self) -> float | None:
        """Share of the space in use, 0..1."""
        return self.used / self.size if self.used is not None and self.size else None


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
