"""Readings of md arrays and their members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, Sources, State, files
from sdstop.readings.rebuild import MDSTAT

_RECORDED = Source("{where}", "{needle}")
"""Place of rows read from recorded output of mdadm."""
_WHERE = Fact("Where", "Evidence, if not that of the kernel", export=False, names=Name.EVIDENCE)
_NEEDLE = Fact("Needle", "Text that marks it in this evidence", export=False, names=Name.EVIDENCE)


def otherwise(places: Mapping[str, Sources]) -> dict[str, Sources]:
    """Return the places of fields, each only where the row is not of recorded output."""
    return {field: (_RECORDED, place) for field, place in places.items() if isinstance(place, Source)}


class Array(Reading, frozen=True):
    """An md array: its composition, redundancy and current action.

    From /proc/mdstat and /sys/block/mdX/md (kernel drivers/md/md.c). Level and layout are None while an array is
    inactive; redundancy fields are None for levels without redundancy (raid0, linear, container).
    """

    family: ClassVar[str] = "array"
    title: ClassVar[str] = "md arrays"
    rows_of = (_RECORDED, Source(MDSTAT, "{array} : "))
    fields_of = otherwise(
        files(
            "/sys/block/{array:sysfs}/md",
            "degraded",
            state="array_state",
            action="sync_action",
            mismatch="mismatch_cnt",
            policy="consistency_policy",
            last_action="last_sync_action",
            suspended_to="suspend_hi",
            reshape_position="reshape_position",
        )
    )
    things: ClassVar = {
        "array": Identity(ThingKind.ARRAY, Naming.DEV),
    }
    traits: ClassVar = {
        "layout": "level",
        "slots": "raid_disks",
        "copies": "copies",
        "far": "far_copies",
        "parity": "parity",
        "balanced": "balanced",
        "comparable": "comparable",
    }

    array: Annotated[str, Label("Array", "Kernel name of the array", names=Name.DEVICE)]
    state: Annotated[
        str,
        State(
            "State",
            "State of the array: clean, active, inactive, broken ... (array_state, otherwise mdstat)",
            alike=frozenset({"active", "active-idle", "clean", "write-pending"}),
        ),
    ]
    level: Annotated[
        str | None, Fact("Level", "raid0, raid1, raid4, raid5, raid6, raid10, linear, container", plain=True)
    ]
    layout: Annotated[str | None, Fact("Layout", "How data is laid out: near=2, left-symmetric ...", plain=True)]
    metadata: Annotated[str | None, Fact("Metadata", "Superblock: 0.90, 1.2, external:imsm, none", plain=True)]
    size: Annotated[int | None, Metric("Size", "Usable size of the array", "bytes", setting=True, detail=True)]
    chunk: Annotated[int | None, Metric("Chunk", "Chunk size of the array", "bytes", setting=True, detail=True)]
    near_copies: Annotated[
        int | None, Metric("Near", "raid10: copies of a chunk on neighboring members", export=False, setting=True)
    ]
    far_copies: Annotated[
        int | None,
        Metric("Far", "raid10: copies of a chunk in far sections or as an offset", export=False, setting=True),
    ]
    raid_disks: Annotated[
        int | None, Metric("Disks", "Configured number of members (raid_disks)", setting=True, detail=True)
    ]
    old_raid_disks: Annotated[
        int | None, Metric("Disks before", "Number of members before the running reshape", export=False)
    ]
    working: Annotated[int | None, Metric("Working", "Number of members in sync", detail=True)]
    degraded: Annotated[int | None, Metric("Missing", "Number of members that are missing or not in sync")]
    tolerates: Annotated[
        int | None,
        Metric("Tolerates", "Number of further member failures tolerated in the worst case"),
    ]
    spares: Annotated[int | None, Metric("Spares", "Number of spares; absent while the array is inactive")]
    failed: Annotated[int, Metric("Failed", "Number of faulty members that are still listed")]
    slots: Annotated[str | None, Fact("Slots", "One letter a slot: U in sync, _ not", export=False, plain=True)]
    action: Annotated[
        str | None,
        State("Action", "Current action of the array: idle, recover, resync, check, repair, reshape, frozen"),
    ]
    last_action: Annotated[str | None, Fact("Last action", "Last action", export=False, plain=True)]
    mismatch: Annotated[
        int | None,
        Metric("Mismatch", "Mismatched bytes found by the last check (upper bound)", "bytes", scale=512),
    ]
    policy: Annotated[str | None, Fact("Policy", "Consistency policy: resync, bitmap, journal, ppl", plain=True)]
    bitmap: Annotated[
        str | None, Fact("Bitmap", "Location of its write-intent bitmap; absent without one", names=Name.PATH)
    ]
    bitmap_chunk: Annotated[
        int | None,
        Metric("Bitmap chunk", "Bytes of the device per bit of the bitmap", "bytes", export=False, setting=True),
    ]
    stripe_cache: Annotated[
        int | None,
        Metric(
            "Stripe cache", "Size of the stripe cache (raid4, raid5, raid6), in stripes", export=False, setting=True
        ),
    ]
    stripe_cache_active: Annotated[
        int | None, Metric("Stripes active", "Stripes of the stripe cache in use", export=False)
    ]
    suspended_from: Annotated[
        int | None, Metric("Suspended from", "Start of the range whose writes wait (suspend_lo)", "bytes", export=False)
    ] = None
    suspended_to: Annotated[
        int | None, Metric("Suspended to", "End of the range whose writes wait (suspend_hi)", "bytes", export=False)
    ] = None
    reshape_position: Annotated[
        int | None,
        Metric("Reshaped to", "Place that an unfinished reshape reached; absent for none", "bytes", export=False),
    ] = None
    where: Annotated[str, _WHERE] = ""
    needle: Annotated[str, _NEEDLE] = ""

    @property
    def redundant(self) -> bool:
        """Whether the level preserves data if a member fails."""
        return self.level is not None and self.level not in {"raid0", "linear", "container", "faulty"}

    @property
    def copies(self) -> int | None:
        """Neighboring members that carry the same writes; None if unknown."""
        return self.raid_disks if self.level == "raid1" else self.near_copies if self.level == "raid10" else 1

    @property
    def parity(self) -> int:
        """Further members that each write uses."""
        return {"raid4": 1, "raid5": 1, "raid6": 2}.get(self.level or "", 0)

    @property
    def balanced(self) -> bool | None:
        """False for mirrors: md reads a stream from one leg (drivers/md/raid1.c: read_balance)."""
        return False if self.level in {"raid1", "raid10"} else None

    @property
    def comparable(self) -> bool | None:
        """Whether its members do the same work; None if the level is unknown."""
        return None if self.level is None else self.level.startswith("raid")


class Member(Reading, frozen=True):
    """A device of an md array, including spares, journals and failed members that are still listed.

    From the device list of mdstat and /sys/block/mdX/md/dev-NAME/. `device` is the kernel name and may be a partition
    or a dm device.
    """

    family: ClassVar[str] = "array_member"
    title: ClassVar[str] = "Array members"
    rows_of = (_RECORDED, Source(MDSTAT, "{array} : "))
    fields_of = otherwise(
        files("/sys/block/{array:sysfs}/md/dev-{device:sysfs}", "slot", "state", "errors", "bad_blocks",
              "recovery_start")
    )  # fmt: skip
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
        "array": Identity(ThingKind.ARRAY, Naming.DEV),
    }
    joins = (Join("array", "device", Relation.MEMBER),)
    peers = (
        Peers(
            kind=GroupKind.COLUMNS,
            upper="array",
            member="device",
            only=Stated("state", dict.fromkeys(("in_sync", "rebuilding", "unknown"), True)),
            order="slot",
            weight="size",
        ),
    )

    array: Annotated[str, Label("Array", "Kernel name of the array", names=Name.DEVICE)]
    device: Annotated[str, Label("Device", "Kernel name of the member", names=Name.DEVICE)]
    slot: Annotated[
        int | None,
        Metric(
            "Slot",
            "Slot of the member in the array; absent for spares, journals and faulty members",
            detail=True,
        ),
    ]
    state: Annotated[
        str, State("State", "State of the member: in_sync, rebuilding, spare, faulty, journal, replacement, unknown")
    ]
    flags: Annotated[str | None, Fact("Flags", "All words of the kernel's state", export=False, plain=True)]
    errors: Annotated[int | None, Metric("Errors", "Read errors corrected by the array", kind=Kind.COUNTER)]
    bad_blocks: Annotated[
        int | None, Metric("Bad ranges", "Number of ranges in the member's bad block list", detail=True)
    ]
    size: Annotated[int | None, Metric("Size", "Bytes of the member that the array uses", "bytes", detail=True)]
    offset: Annotated[int | None, Metric("Offset", "Offset of the array's data on the member", "bytes", export=False)]
    recovery_start: Annotated[
        int | None,
        Metric("Recovered", "Bytes from the start that are in sync; absent if all are", "bytes", export=False),
    ]
    where: Annotated[str, _WHERE] = ""
    needle: Annotated[str, _NEEDLE] = ""
