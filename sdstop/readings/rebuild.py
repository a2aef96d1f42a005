"""Rebuilds and their progress: one family for the collectors of md, ZFS, DRBD, Ceph and PowerFlex."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

MDSTAT = "/proc/mdstat"


def folder(array: str) -> str:
    """Return the sysfs directory of an md array."""
    return f"/sys/block/{array.replace('/', '!')}/md"


_NAMINGS = {"md": Naming.DEV, "zfs": Naming.VDEV, "lvm": Naming.LINK}
"""Namespaces of the things that rebuild, by kind; all others are clusters."""


class Rebuild(Reading, frozen=True):
    """Synchronization, check or data movement in progress; progress in bytes.

    `operation`: recovery (onto a new member), resync, check, repair, reshape, resilver, scrub, rebuild (sequential,
    dRAID), forward and backward rebuild (PowerFlex, after a loss and after a return), rebalance. `done` and `total` are
    the source's own measure of progress: for md per device (the device size for a recovery and, on raid10, the array
    size for a resync or check), for ZFS the whole pool, for PowerFlex all data of a pool, `done` being the data in its
    final place. `speed` and `remaining` are the source's own figures, for md over the last 3 to 30 s, for ZFS since
    the start; they are misleading right after a start and while stalled.
    """

    family: ClassVar[str] = "rebuild"
    title: ClassVar[str] = "Rebuilds"
    joined: ClassVar[bool] = True
    remembered: ClassVar[bool] = True
    things: ClassVar = {
        "array": Identity(None, Stated("kind", _NAMINGS, Naming.CLUSTER)),
        "carrier": Identity(ThingKind.DEVICE, Naming.DEV),
        "devices": Identity(ThingKind.DEVICE, Naming.DEV, many=True),
    }
    joins = (Join("carrier", "devices", Relation.STORED),)

    array: Annotated[
        str,
        Label(
            "Array",
            "Rebuilt array, pool (tank, tank/draid1-0), resource or cluster",
            names=Name.DEVICE,
        ),
    ]
    operation: Annotated[
        str,
        Label(
            "Operation",
            "recovery, resync, check, repair, reshape, resilver, scrub, rebuild (sequential), rebalance",
            plain=True,
        ),
    ]
    state: Annotated[
        str,
        State(
            "State",
            "State of the rebuild: running, delayed (for another array), pending, remote, frozen, paused",
        ),
    ]
    done: Annotated[int | None, Metric("Done", "Bytes processed by the rebuild", "bytes")] = None
    total: Annotated[int | None, Metric("Total", "Total bytes of the rebuild", "bytes")] = None
    speed: Annotated[int | None, Metric("Speed", "Rebuild speed reported by the source", "bytes_per_second")] = None
    remaining: Annotated[
        int | None, Metric("Remaining", "Remaining time of the rebuild, as reported by the source", "seconds")
    ] = None
    speed_min: Annotated[
        int | None,
        Metric("Least", "Guaranteed minimum rebuild speed (speed_min)", "bytes_per_second", setting=True, detail=True),
    ] = None
    speed_max: Annotated[
        int | None, Metric("Most", "Maximum rebuild speed (speed_max)", "bytes_per_second", setting=True)
    ] = None
    speed_min_set: Annotated[str | None, Fact("Least by", "system or local", export=False, plain=True)] = None
    speed_max_set: Annotated[str | None, Fact("Most by", "system or local", export=False, plain=True)] = None
    completed: Annotated[
        int | None,
        Metric("Recorded", "Bytes recorded as done by md (sync_completed), in coarse steps", "bytes", export=False),
    ] = None
    stop: Annotated[
        int | None,
        Metric("Stops at", "Position at which md stops (sync_max); absent without one", "bytes", export=False),
    ] = None
    kind: Annotated[str, Fact("Kind", "What rebuilds: md, zfs, lvm, drbd, ceph, powerflex", plain=True)] = "md"
    limited_by: Annotated[
        str | None,
        Fact("Limited by", "Policy that limits the speed, if the source reports one", export=False, plain=True),
    ] = None
    scanned: Annotated[
        int | None, Metric("Scanned", "Bytes scanned by the rebuild, if reported separately", "bytes", detail=True)
    ] = None
    repaired: Annotated[int | None, Metric("Repaired", "Bytes rewritten by the rebuild", "bytes", detail=True)] = None
    step: Annotated[
        int,
        Metric("Step", "Smallest visible progress, because the source rounds its numbers", "bytes", export=False),
    ] = 0
    errors: Annotated[int | None, Metric("Errors", "Unrepairable errors met by the rebuild")] = None
    devices: Annotated[
        str | None,
        Fact(
            "Devices",
            "Kernel names of the devices that take part, separated by commas",
            export=False,
            names=Name.DEVICE,
        ),
    ] = None
    carrier: Annotated[
        str | None,
        Fact(
            "Carrier",
            "Device with the foreground I/O, without that of the rebuild",
            export=False,
            names=Name.DEVICE,
        ),
    ] = None
    where: Annotated[str, Fact("Where", "Evidence, if not that of md", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def progress(self) -> float | None:
        """Completed share, 0..1."""
        return self.done / self.total if self.done is not None and self.total else None

    def source(self, field: str = "") -> Source | None:
        """Return the evidence of the progress or, for md, the attribute that contains the field."""
        if self.kind != "md" or self.where:
            return Source(self.where, self.needle) if self.where else None
        attribute = _MD_ATTRIBUTES.get(field)
        if attribute:
            return Source(f"{folder(self.array)}/{attribute}")
        if self.done is None or self.total is None:
            return Source(MDSTAT, f"{self.array} : ")
        return Source(MDSTAT, f"({self.done >> 10}/{self.total >> 10})")


_MD_ATTRIBUTES = {
    "operation": "sync_action", "completed": "sync_completed", "stop": "sync_max",
    "speed_min": "sync_speed_min", "speed_max": "sync_speed_max",
}  # fmt: skip
