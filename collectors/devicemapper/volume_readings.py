"""Readings of LVM: volumes, groups, RAID, thin pools, snapshots."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

LVS = (
    "lvs", "-a", "--readonly", "--reportformat", "json", "--units", "b", "--nosuffix",
    "-o", "vg_name,lv_name,segtype,lv_size,stripes,stripe_size,chunk_size,pool_lv,origin,devices",
)  # fmt: skip
_OF_MEMBERS = dict.fromkeys(
    ("striped", "mirror", "raid0", "raid1", "raid4", "raid10", "raid5", "raid5_ls", "raid5_la", "raid5_rs", "raid5_ra",
     "raid5_n", "raid6", "raid6_zr", "raid6_nr", "raid6_nc", "raid6_n_6"), Relation.MEMBER,
)  # fmt: skip
"""Segment types with several equivalent devices."""
_HIDDEN = expression(r"_(?:[rm]image_\d+|rmeta_\d+|mlog|[tcv]data|[tc]meta|corig|cvol|wcorig|vorigin|imeta|iorig)$")
"""Name suffixes of sub-volumes; LVM reserves them for this purpose (lib/misc/lvm-string.c)."""


LAYERS = {"thin-pool": "-tpool", "vdo-pool": "-vpool"}
"""Suffixes of the mappings that LVM makes of pools, by segment type; one with the pool's own name may lie above it."""


def mapped(group: str, logical: str) -> str:
    """Return the LVM mapping name of a volume; the inverse of `volume`."""
    return f"{group.replace('-', '--')}-{logical.replace('-', '--')}"


class LogicalVolume(Reading, frozen=True, kw_only=True):
    """A logical volume, from the LVM metadata on disk."""

    family: ClassVar[str] = "logical_volume"
    title: ClassVar[str] = "Logical volumes"
    things: ClassVar = {
        "volume": Identity(ThingKind.VOLUME, Naming.LINK, "{path}", aliases=(("mapper/{mapping}", Naming.LINK),)),
        "pool": Identity(None, Naming.LINK, "{group}/{pool}"),
        "origin": Identity(None, Naming.LINK, "{group}/{origin}"),
        "parts": Identity(None, Naming.LINK, many=True),
    }
    joins = (
        Join(
            "volume", "pool", Stated("type", {"cache": Relation.CACHED, "writecache": Relation.CACHED}, Relation.STORED)
        ),
        Join("volume", "origin", Relation.STORED),
        Join("volume", "parts", Stated("type", _OF_MEMBERS, Relation.STORED)),
    )
    peers = (
        Peers(
            kind=Stated("type", dict.fromkeys(_OF_MEMBERS, GroupKind.COLUMNS)),
            upper="volume",
            member="parts",
        ),
    )
    traits: ClassVar = {
        "layout": "type",
        "slots": "stripes",
        "copies": "copies",
        "parity": "parity",
        "balanced": "balanced",
    }

    volume: Annotated[str, Label("Volume", "GROUP/VOLUME; brackets mark a part of another volume", names=Name.VOLUME)]
    type: Annotated[
        str | None,
        Fact("Type", "Type of its segments: linear, striped, raid10, cache, writecache, thin ...", plain=True),
    ]
    devices: Annotated[
        str | None,
        Fact("Devices", "Underlying devices or volumes, separated by commas", names=Name.VOLUME),
    ]
    pool: Annotated[str | None, Fact("Pool", "Pool; for a cached volume the cache", names=Name.VOLUME)]
    origin: Annotated[str | None, Fact("Origin", "Cached volume, or origin of a snapshot", names=Name.VOLUME)]
    segments: Annotated[int | None, Metric("Segments", "Number of segments", detail=True)]
    size: Annotated[int | None, Metric("Size", "Size of the volume", "bytes", setting=True)]
    stripes: Annotated[
        int | None, Metric("Stripes", "Number of stripes of the first segment", setting=True, detail=True)
    ]
    stripe_size: Annotated[int | None, Metric("Stripe", "Stripe size", "bytes", setting=True, detail=True)]
    chunk_size: Annotated[
        int | None, Metric("Chunk", "Chunk size of a cache or thin pool", "bytes", setting=True, detail=True)
    ]
    filled: Annotated[
        float | None,
        Metric(
            "Filled", "Share of the space of a pool, thin volume, snapshot or cache in use; from text only", "ratio"
        ),
    ] = None
    metadata_filled: Annotated[
        float | None, Metric("Metadata filled", "Share of the metadata of a pool in use; from text only", "ratio")
    ] = None
    synced: Annotated[
        float | None, Metric("In sync", "Share of a mirror or raid that is synchronized; from text only", "ratio")
    ] = None
    health: Annotated[
        str | None,
        State("Health", "Health of the volume: ok, partial, refresh needed, mismatches, failed, out of data or other"),
    ] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not JSON", export=False, names=Name.EVIDENCE)] = None

    @property
    def group(self) -> str:
        """The volume group."""
        return self.volume.partition("/")[0]

    @property
    def path(self) -> str:
        """The name below /dev without brackets; a sub-volume has no such node, but would be named so."""
        return self.volume.replace("[", "").replace("]", "")

    @property
    def copies(self) -> int | None:
        """Neighboring parts that carry the same writes; None if unknown."""
        if self.type in {"raid1", "mirror"}:
            return self.stripes
        return None if self.type == "raid10" else 1

    @property
    def parity(self) -> int:
        """Further parts that each write uses."""
        kind = self.type or ""
        return 2 if kind.startswith("raid6") else 1 if kind.startswith(("raid4", "raid5")) else 0

    @property
    def balanced(self) -> bool | None:
        """False for mirrors: md below it reads a stream from one leg."""
        return False if self.type in {"raid1", "raid10", "mirror"} else None

    @property
    def mapping(self) -> str:
        """The name below /dev/mapper: for a pool that of the layer on which its volumes lie."""
        return mapped(self.group, self.path.partition("/")[2]) + LAYERS.get(self.type or "", "")

    @property
    def parts(self) -> str:
        """The devices; sub-volumes are prefixed with the group."""
        if "_" not in (self.devices or ""):  # a node has a thousand volumes on plain devices
            return self.devices or ""
        names = (self.devices or "").split(",")
        return ",".join(f"{self.group}/{name}" if _HIDDEN.search(name) else name for name in names)

    def source(self, field: str = "") -> Source | None:
        """Return the lvs command and the volume's entry in its output."""
        del field
        if self.told is not None:
            return Source(self.told, self.volume.partition("/")[2])
        return Source(command_key(LVS), f'"lv_name":"{self.volume.partition("/")[2]}"')


class VolumeGroup(Reading, frozen=True, kw_only=True):
    """A volume group of LVM, from recorded output of vgs, or of pvs alone."""

    family: ClassVar[str] = "volume_group"
    title: ClassVar[str] = "Volume groups"
    rows_of = Source("{told}", "{group}")
    things: ClassVar = {
        "group": Identity(ThingKind.POOL, Naming.LINK),
    }

    group: Annotated[str, Label("Group", "Name of the volume group", names=Name.VOLUME)]
    partial: Annotated[int | None, Metric("Partial", "Whether physical volumes of the volume group are missing")]
    exported_group: Annotated[int | None, Metric("Exported", "Whether vgexport was run for the group", export=False)]
    pvs: Annotated[int | None, Metric("PVs", "Number of physical volumes", setting=True)]
    lvs: Annotated[int | None, Metric("LVs", "Number of logical volumes", setting=True)]
    size: Annotated[int | None, Metric("Size", "Size of the volume group", "bytes", setting=True)]
    free: Annotated[int | None, Metric("Free", "Unallocated space of the volume group", "bytes")]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]


class PhysicalVolume(Reading, frozen=True, kw_only=True):
    """A physical volume of LVM, from recorded output of pvs."""

    family: ClassVar[str] = "physical_volume"
    title: ClassVar[str] = "Physical volumes"
    rows_of = Source("{told}", "{device}")
    things: ClassVar = {
        "link": Identity(None, Naming.LINK),
        "group": Identity(ThingKind.POOL, Naming.LINK),
    }
    joins = (Join("group", "link", Relation.STORED),)

    device: Annotated[str, Label("Device", "Path of the device, or how LVM names a missing one", names=Name.DEVICE)]
    group: Annotated[str | None, Fact("Group", "Volume group; absent if the device is in none", names=Name.VOLUME)]
    missing: Annotated[int | None, Metric("Missing", "Whether LVM does not find the device")]
    size: Annotated[int | None, Metric("Size", "Size of the physical volume", "bytes", setting=True)]
    free: Annotated[int | None, Metric("Free", "Unallocated space of the physical volume", "bytes")]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]

    @property
    def link(self) -> str | None:
        """The name below /dev."""
        return None if self.missing else self.device.removeprefix("/dev/")


class MappedRaidState(Reading, frozen=True, kw_only=True):
    """A raid volume of LVM or device mapper, from `dmsetup status`; md's code works below it, but not in mdstat.

    `health` has a letter for each member. Target raid: A in sync, a not in sync, D failed, - missing. Target mirror: A
    alive, D a write failed, F a flush failed, S a synchronization failed, R a read failed, U unknown. Target striped,
    which has no redundancy: D had an I/O error since the volume was activated. None: the line is not understood. `done`
    and `total` are the progress of `action`, for a mirror in regions. `copies` and `far` are those of a raid10.
    """

    family: ClassVar[str] = "mapped_raid_state"
    title: ClassVar[str] = "State of LVM RAID volumes"
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(
            ThingKind.VOLUME, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK), ("{volume}", Naming.LINK))
        ),
    }

    mapping: Annotated[str, Label("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    volume: Annotated[str, Fact("Volume", "GROUP/VOLUME of LVM, otherwise the name of the mapping", names=Name.VOLUME)]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    level: Annotated[str | None, Fact("Level", "raid1, raid5_ls, raid6_zr, raid10, mirror ...", plain=True)] = None
    health: Annotated[
        str | None, Fact("Health", "A letter for each member: A in sync, a not in sync, D failed", plain=True)
    ] = None
    members: Annotated[int | None, Metric("Members", "Number of members", setting=True)] = None
    failed: Annotated[int | None, Metric("Failed", "Members that failed or are missing")] = None
    stale: Annotated[int | None, Metric("Not in sync", "Members that work and are not in sync")] = None
    action: Annotated[str | None, State("Action", "Action: idle, frozen, resync, recover, check, repair, reshape")] = (
        None
    )
    done: Annotated[int | None, Metric("Done", "Synchronized part", export=False)] = None
    total: Annotated[int | None, Metric("Total", "Whole to be synchronized", export=False)] = None
    mismatches: Annotated[
        int | None, Metric("Mismatches", "Bytes that differed in the last check; 0 as well without a check", "bytes")
    ] = None
    journal: Annotated[str | None, Fact("Journal", "A write-through, a write-back, D failed", plain=True)] = None
    copies: Annotated[int | None, Metric("Copies", "Copies that a raid10 keeps", export=False, setting=True)] = None
    far: Annotated[bool, Metric("Far", "Whether these copies are far or offset", export=False)] = False
    images: Annotated[
        str | None, Fact("Images", "Devices of its members in order, separated by commas", names=Name.DEVICE)
    ] = None
    size: Annotated[int | None, Metric("Size", "Size of the volume", "bytes", export=False, setting=True)] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def in_sync(self) -> bool:
        """Whether every part is synchronized, as far as the progress shows."""
        return self.done is not None and self.done == self.total


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


class ThinPool(Reading, frozen=True, kw_only=True):
    """A pool that gives space to its volumes when they are written, from `dmsetup status`.

    `state`: ok, read-only, out of data space, failed (no I/O at all), error (the kernel could not read its state),
    recovering (VDO), not understood, or not shown (lvdisplay). A pool that needs a check has metadata that must be
    repaired offline. The blocks are exact, the bytes are too if the table is known. Recorded output of lvs has only
    shares, no blocks.
    """

    family: ClassVar[str] = "thin_pool"
    title: ClassVar[str] = "Thin pools"
    remembered: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(
            ThingKind.POOL, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK), ("{pool}", Naming.LINK))
        ),
    }

    pool: Annotated[str, Label("Pool", "GROUP/POOL of LVM, otherwise the name of the mapping", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    kind: Annotated[str, Fact("Kind", "thin-pool or vdo", plain=True)]
    state: Annotated[str, State("State", "State of the pool: ok, read-only, out of data space, failed, error")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    blocks: Annotated[int | None, Metric("Blocks", "Data blocks of the pool", export=False)] = None
    used_blocks: Annotated[int | None, Metric("Used blocks", "Allocated data blocks", export=False)] = None
    size: Annotated[int | None, Metric("Size", "Data size of the pool", "bytes", setting=True)] = None
    used: Annotated[int | None, Metric("Used", "Allocated data", "bytes")] = None
    data_share: Annotated[
        float | None, Metric("Data%", "Allocated share of the data, as lvs rounds it", "ratio", export=False)
    ] = None
    metadata_share: Annotated[
        float | None, Metric("Meta%", "Used share of the metadata, as lvs rounds it", "ratio", export=False)
    ] = None
    metadata_size: Annotated[int | None, Metric("Metadata", "Size of the metadata", "bytes", setting=True)] = None
    metadata_used: Annotated[int | None, Metric("Metadata used", "Used metadata", "bytes")] = None
    needs_check: Annotated[int | None, Metric("Needs check", "Whether the metadata must be checked and repaired")] = (
        None
    )
    no_space: Annotated[
        str | None, Fact("Without space", "Fate of writes without space: wait (60 s by default) or fail", plain=True)
    ] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def filled(self) -> float | None:
        """Share of the data space in use, 0..1."""
        return self.used_blocks / self.blocks if self.used_blocks is not None and self.blocks else self.data_share

    @property
    def metadata_filled(self) -> float | None:
        """Share of the metadata in use, 0..1."""
        used, size = self.metadata_used, self.metadata_size
        return used / size if used is not None and size else self.metadata_share


class ThinVolume(Reading, frozen=True, kw_only=True):
    """An active thin volume, from `dmsetup status`; its pool from `dmsetup table`."""

    family: ClassVar[str] = "thin_volume"
    title: ClassVar[str] = "Thin volumes"
    crowded: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(ThingKind.VOLUME, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
        "pool_device": Identity(ThingKind.POOL, Naming.DEV),
    }
    joins = (Join("device", "pool_device", Relation.STORED),)

    volume: Annotated[str, Label("Volume", "GROUP/VOLUME of LVM, otherwise the mapping's name", names=Name.VOLUME)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    state: Annotated[str, State("State", "State of the volume: ok, failed, error")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    pool_device: Annotated[str | None, Fact("Pool", "Kernel name of its pool", names=Name.DEVICE)] = None
    size: Annotated[int | None, Metric("Size", "Size that users see", "bytes", setting=True)] = None
    mapped: Annotated[int | None, Metric("Mapped", "Space that it uses in the pool, shared or not", "bytes")] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""
