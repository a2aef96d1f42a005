"""Raid volumes of LVM, known from the names of their parts; no privilege and no `lvs` is needed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source
from sdstop.readings.disk import device_name

BLOCK = "/sys/block"
_PART = expression(r"(?P<whole>.+)_(?P<what>rimage|rmeta|mimage)_(?P<number>\d+)")
"""Names that LVM reserves for the parts of a raid volume (lib/misc/lvm-string.c)."""
_GROUP = len("LVM-") + 32
"""Characters of a UUID that belong to the volume group."""


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


def read(host: Host) -> Iterable[MappedRaid]:
    """Return the raid volumes of which the whole and at least two images are there."""
    names: dict[str, tuple[str, str]] = {}
    for entry in host.names(BLOCK):
        if entry.startswith("dm-"):
            name, uuid = host.maybe(f"{BLOCK}/{entry}/dm/name"), host.maybe(f"{BLOCK}/{entry}/dm/uuid")
            if name and uuid and uuid.startswith("LVM-"):
                names[name] = (device_name(entry), uuid[:_GROUP])
    return list(_raids(names))


def _raids(names: dict[str, tuple[str, str]]) -> Iterable[MappedRaid]:
    """Yield the raid volumes among devices and volume groups by mapping."""
    images: dict[str, dict[int, str]] = {}
    metadata: dict[str, int] = {}
    mirrors: set[str] = set()
    for name, (device, group) in names.items():
        part = _PART.fullmatch(name)
        if part is None or names.get(part["whole"], ("", ""))[1] != group:
            continue
        if part["what"] == "rmeta":
            metadata[part["whole"]] = metadata.get(part["whole"], 0) + 1
            continue
        images.setdefault(part["whole"], {})[int(part["number"])] = device
        if part["what"] == "mimage":
            mirrors.add(part["whole"])
    for whole, found in images.items():
        if len(found) > 1:
            listed = ",".join(found[number] for number in sorted(found))
            yield MappedRaid(
                names[whole][0], whole, listed, len(found), metadata.get(whole, 0), whole in mirrors
            )  # fmt: skip


def fingerprint(host: Host) -> Hashable:
    """Return the kernel names of all device mapper devices."""
    return tuple(name for name in host.names(BLOCK) if name.startswith("dm-"))


MAPPED_RAIDS = Collector(
    "mapped-raids",
    "LVM RAID volumes, without lvs",
    read,
    (MappedRaid,),
    (
        Need(f"list:{BLOCK}", "which device mapper devices there are"),
        Need(f"{BLOCK}/dm-*/dm/name", "the volumes whose parts they are"),
        Need(f"{BLOCK}/dm-*/dm/uuid", "whether devices belong to LVM, and their volume group"),
    ),
    SLOW,
    fingerprint=fingerprint,
)
