"""Readings of bcache."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Label, Name, Reading, Source, State

BLOCK = "/sys/block"


class BcacheWaiting(Reading, frozen=True):
    """A backing device that is registered and has no bcache device: its cache set is missing.

    From bcache/running (0) and bcache/state in the folder of the disk or partition.
    """

    family: ClassVar[str] = "bcache_waiting"
    title: ClassVar[str] = "Backing devices of bcache without a cache"
    rows_of = Source(f"{BLOCK}/{{folder}}/bcache/running")
    fields_of: ClassVar = {"state": Source(f"{BLOCK}/{{folder}}/bcache/state")}
    things: ClassVar = {"device": Identity(ThingKind.DEVICE, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name of the backing device", names=Name.DEVICE)]
    disk: Annotated[str, Label("Disk", "Whole disk that it is, or is part of", names=Name.DEVICE)]
    state: Annotated[
        str | None, State("State", "State of its data: clean, dirty, no cache, inconsistent", export=False)
    ] = None

    @property
    def folder(self) -> str:
        """Folder below /sys/block."""
        own = self.device.replace("/", "!")
        return own if self.device == self.disk else f"{self.disk.replace('/', '!')}/{own}"


class BcacheSuperblock(Reading, frozen=True):
    """A superblock of bcache: of a cache device, or of a backing device with the state of its data.

    `damage` is the line that shows why the superblock is invalid; `state` is None for a cache device.
    """

    family: ClassVar[str] = "bcache_superblock"
    title: ClassVar[str] = "Superblocks of bcache"
    rows_of = Source("{told}", "{needle}")
    things: ClassVar = {"device": Identity(ThingKind.DEVICE, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name, or `superblock` if the command line is unknown",
                                 names=Name.DEVICE)]  # fmt: skip
    kind: Annotated[str | None, Fact("Kind", "backing device, cache device", plain=True)]
    mode: Annotated[str | None, Fact("Mode", "writethrough, writeback, writearound, no caching", plain=True)]
    state: Annotated[
        str | None, State("State", "State of its data: detached, clean, dirty, inconsistent", export=False)
    ]
    damage: Annotated[str | None, Fact("Damage", "Name of the invalid field: sb.csum", plain=True)]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Needle", "Text that marks it", export=False, names=Name.EVIDENCE)]
