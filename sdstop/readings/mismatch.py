"""Copies or parity that were found to differ: by a check of md or LVM, by an online verify of DRBD."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Naming, Stated
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source


class Mismatch(Reading, frozen=True, kw_only=True):
    """Difference between the copies (or data and parity) of an array or replica, as counted by what compared them.

    `found_by` is the action of the count: check, repair, verify; anything else (resync, recover) counts other things,
    and None is unknown. `running`: it is not finished.
    """

    family: ClassVar[str] = "mismatch"
    title: ClassVar[str] = "Data mismatches"
    joined: ClassVar[bool] = True
    exported: ClassVar[bool] = False  # the numbers are exported with arrays and DRBD connections
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "thing": Identity(None, Stated("kind", {"md": Naming.DEV, "lvm": Naming.LINK}, Naming.SESSION)),
    }

    thing: Annotated[str, Label("Array", "md array, LVM volume, or RESOURCE/PEER of DRBD", names=Name.VOLUME)]
    kind: Annotated[str, Fact("Kind", "md, lvm or drbd", plain=True)]
    found_by: Annotated[str | None, Fact("Found by", "check, repair, verify, resync ...", plain=True)]
    running: Annotated[bool, Fact("Running", "Whether the comparison is running")]
    differ: Annotated[int | None, Metric("Differs", "Mismatched bytes", "bytes")]
    size: Annotated[int | None, Metric("Size", "Size of the array", "bytes")] = None
    mirror: Annotated[bool, Fact("Mirror", "Whether copies were compared, not data and parity")] = True
    peer: Annotated[str | None, Fact("Peer", "Peer of the DRBD resource", names=Name.HOST)] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""
