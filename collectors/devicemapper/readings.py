"""Readings of device mapper: mapped devices, their targets and state, multipath maps."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State

TABLE = ("dmsetup", "table")
INFO = ("dmsetup", "info", "-c", "--noheadings", "--separator", ":")
BLOCK = "/sys/block"


class MappedDevice(Reading, frozen=True):
    """A device mapper device, from `dmsetup table` and `dmsetup info`."""

    family: ClassVar[str] = "mapped_device"
    title: ClassVar[str] = "Device mapper devices"
    rows_of = Source(command_key(TABLE), "{mapping}:")
    fields_of = dict.fromkeys(("volume", "device"), Source(command_key(INFO), "{mapping}:"))
    things: ClassVar = {
        "device": Identity(
            Stated(
                "purpose",
                {
                    **dict.fromkeys(("linear", "striped", "raid", "thin", "snapshot", "crypt"), ThingKind.VOLUME),
                    **dict.fromkeys(("cache", "writecache", "flashcache"), ThingKind.CACHE),
                    "thin-pool": ThingKind.POOL,
                    "multipath": ThingKind.MULTIPATH_MAP,
                },
                ThingKind.DEVICE,
            ),
            Naming.DEV,
            aliases=(("mapper/{mapping}", Naming.LINK), ("{own_volume}", Naming.LINK)),
        ),
    }
    peers = (
        Peers(
            kind=Stated("targets", {"striped": GroupKind.COLUMNS, "multipath": GroupKind.PATHS}),
            upper="device",
        ),
    )
    traits: ClassVar = {"layout": "targets"}

    mapping: Annotated[str, Label("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    volume: Annotated[str, Fact("Volume", "GROUP/VOLUME of LVM, otherwise the name of the mapping", names=Name.VOLUME)]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)]
    targets: Annotated[
        str, Fact("Targets", "Targets of its segments, separated by commas: linear, raid, crypt, cache", plain=True)
    ]
    segments: Annotated[int, Metric("Segments", "Number of segments", setting=True)]
    size: Annotated[int, Metric("Size", "Size of the mapping", "bytes", setting=True)]
    delay: Annotated[
        float | None,
        Metric("Delay", "Longest time for which a delay target holds back requests", "seconds", setting=True),
    ] = None
    placeholder: Annotated[
        bool, Metric("Placeholder", "Whether LVM made it only to keep a thin pool's name in use", export=False)
    ] = False

    @property
    def purpose(self) -> str:
        """`placeholder`, otherwise the targets."""
        return "placeholder" if self.placeholder else self.targets

    @property
    def own_volume(self) -> str | None:
        """The volume; None for a placeholder, whose name is that of the pool below it."""
        return None if self.placeholder else self.volume


class MappedState(Reading, frozen=True):
    """Whether a device mapper device is suspended (drivers/md/dm-sysfs.c: dm_attr_suspended_show).

    Suspension takes milliseconds while LVM changes a table; requests that arrive in this time wait, and are in flight
    nowhere.
    """

    family: ClassVar[str] = "mapped_state"
    title: ClassVar[str] = "States of device mapper devices"
    rows_of = (Source("{told}", "{mapping}"), Source(f"{BLOCK}/{{device}}/dm/suspended"))
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
    }

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    suspended: Annotated[int, Metric("Suspended", "Whether the device is suspended and holds back all requests")]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None
    mapping: Annotated[
        str | None, Fact("Mapping", "Name in /dev/mapper, if not from sysfs", export=False, names=Name.MAPPING)
    ] = None


class MappedRaid(Reading, frozen=True):
    """A raid or mirror volume of LVM, with the device mapper devices that hold its images.

    From dm/name and dm/uuid in sysfs (drivers/md/dm-sysfs.c), such as `vg0-home` and `vg0-home_rimage_0`. By these
    names, its `sort` is mirror (type mirror, or two images with metadata), stripe (raid0, images without metadata)
    or unknown.
    """

    family: ClassVar[str] = "mapped_raid"
    title: ClassVar[str] = "LVM RAID volumes"
    rows_of = Source(f"{BLOCK}/{{device}}/dm/name")
    things: ClassVar = {
        "device": Identity(ThingKind.VOLUME, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
        "images": Identity(ThingKind.DEVICE, Naming.DEV, many=True),
    }
    joins = (Join("device", "images", Relation.MEMBER),)
    peers = (
        Peers(
            kind=Stated("sort", {"mirror": GroupKind.LEGS, "stripe": GroupKind.COLUMNS}, GroupKind.IMAGES),
            upper="device",
            member="images",
        ),
    )
    traits: ClassVar = {"slots": "members", "copies": "copies", "balanced": "balanced"}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    mapping: Annotated[str, Fact("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    images: Annotated[str, Fact("Images", "Devices of its images in order, separated by commas", names=Name.DEVICE)]
    members: Annotated[int, Metric("Images", "Number of images")]
    metadata: Annotated[int, Metric("Metadata", "Number of images with metadata")]
    mirrored: Annotated[bool, Metric("Mirror", "Whether the volume has the type mirror, without metadata")]

    @property
    def sort(self) -> str:
        """`mirror`, `stripe` or `unknown`."""
        if self.mirrored or self.members == self.metadata == 2:
            return "mirror"
        return "unknown" if self.metadata else "stripe"

    @property
    def copies(self) -> int | None:
        """Images that carry the same writes; None if unknown."""
        return {"mirror": self.members, "stripe": 1}.get(self.sort)

    @property
    def balanced(self) -> bool | None:
        """False for mirrors: md below it reads a stream from one leg."""
        return False if self.sort == "mirror" else None


class MappedTarget(Reading, frozen=True, kw_only=True):
    """Segment with a state that no other family has, from `dmsetup status`: of era, clone, and unknown targets.

    `state`: working, read-only (its metadata cannot be changed), failed (no I/O passes), or unknown.
    """

    family: ClassVar[str] = "mapped_target"
    title: ClassVar[str] = "Other mapped targets"
    rows_of = Source("{where}", "{needle}")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("mapper/{mapping}", Naming.LINK),)),
    }

    mapping: Annotated[str, Label("Mapping", "Name in /dev/mapper", names=Name.MAPPING)]
    start: Annotated[int, Label("Start", "First sector of the segment")]
    target: Annotated[str, Fact("Target", "Name of the target", plain=True)]
    state: Annotated[str, State("State", "State of the target: working, read-only, failed, unknown")]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)] = None
    where: Annotated[str, Fact("Where", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


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


class MultipathState(Reading, frozen=True):
    """A multipath map: how many of its paths work, one row each."""

    family: ClassVar[str] = "multipath_state"
    title: ClassVar[str] = "Multipath maps"
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(
            ThingKind.MULTIPATH_MAP,
            Naming.DEV,
            aliases=(("mapper/{mapping}", Naming.LINK), ("{mapping}", Naming.LINK)),
        ),
    }

    mapping: Annotated[str, Label("Map", "Name in /dev/mapper", names=Name.MAPPING)]
    device: Annotated[str | None, Fact("Device", "Kernel name", names=Name.DEVICE)]
    paths: Annotated[int | None, Metric("Paths", "Number of paths; absent if the status is not understood")]
    active: Annotated[int | None, Metric("Active paths", "Paths that the kernel uses or can use")]
    queues: Annotated[
        int | None, Metric("Queues", "Whether requests wait while no path works (queue_if_no_path); 0: they fail")
    ]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""
    read_only: Annotated[
        int | None, Metric("Read-only", "Whether multipath shows it as read-only (wp=ro)", export=False)
    ] = None


class MultipathPath(Reading, frozen=True):
    """A path of a multipath map, one row each."""

    family: ClassVar[str] = "multipath_path"
    title: ClassVar[str] = "Multipath paths"
    rows_of = Source("{origin}", " {number} ")
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
        "path": Identity(ThingKind.PATH, Naming.DEV),
    }
    joins = (Join("device", "path", Relation.PATH),)

    mapping: Annotated[str, Label("Map", "Name in /dev/mapper", names=Name.MAPPING)]
    number: Annotated[str, Label("Number", "Major and minor number of the path's device", plain=True)]
    path: Annotated[str | None, Fact("Path", "Kernel name of the path's device", names=Name.DEVICE)]
    device: Annotated[str | None, Fact("Device", "Kernel name of the map", names=Name.DEVICE)]
    state: Annotated[str, State("State", "State of the path in the kernel: active, failed")]
    group: Annotated[int, Metric("Group", "Its priority group, counted from 1", export=False)]
    group_state: Annotated[
        str | None, State("Group state", "State of its priority group: active, enabled, disabled", detail=True)
    ]
    fails: Annotated[int | None, Metric("Failures", "How often the path has failed since the table was loaded")]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    access: Annotated[
        str | None,
        Fact(
            "Access",
            "Access by the array (ALUA): active/optimized, active/non-optimized, standby ...",
            export=False,
            plain=True,
            detail=True,
        ),
    ] = None
    priority: Annotated[
        int | None, Metric("Priority", "Priority of its group as multipathd prints it", export=False, detail=True)
    ] = None
