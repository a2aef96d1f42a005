"""Raid volumes of LVM, known from the names of their parts; no privilege and no `lvs` is needed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from sdstop.collectors.devicemapper.readings import BLOCK, MappedRaid
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.readings.disk import device_name

_PART = expression(r"(?P<whole>.+)_(?P<what>rimage|rmeta|mimage)_(?P<number>\d+)")
"""Names that LVM reserves for the parts of a raid volume (lib/misc/lvm-string.c)."""
_GROUP = len("LVM-") + 32
"""Characters of a UUID that belong to the volume group."""


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
