"""Membership of a disk in arrays, ZFS pools and cluster pools, through partitions, paths and mappings."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.latest import latest_rows
from sdstop.collectors.md.readings import Member
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.history import Window
from sdstop.core.joins import Naming, Relation, ThingKind
from sdstop.core.thing import Thing
from sdstop.readings.cluster import ClusterDevice


class Membership(Struct, frozen=True):
    """Array, ZFS pool or cluster pool that uses a disk, and which part of it."""

    whole: str
    part: str = ""
    clustered: bool = False


_SAME_DATA = (Relation.PART, Relation.STORED, Relation.PATH, Relation.CACHED)
"""Relations that lead from a disk to the member in its place."""


def memberships(window: Window, disk: str) -> list[Membership]:
    """Return the memberships of a disk, through partitions, paths and mappings."""
    thing = window.topology.named(Naming.DEV, disk)
    if thing is None:
        return []
    return [found for each in (thing, *window.topology.above(thing, _SAME_DATA)) for found in _of(window, each)]


def _of(window: Window, thing: Thing) -> Iterator[Membership]:
    """Yield the memberships of a thing itself."""
    for upper, relation in window.topology.upper(thing).items():
        member = latest_rows(window, Member)[0].get((upper.device, thing.device))
        if relation is Relation.MEMBER and member is not None:
            yield Membership(member.array, f"slot {member.slot}" if member.slot is not None else member.state)
    vdev = latest_rows(window, Vdev)[0].get(tuple((thing.named(Naming.VDEV) or "").split("/", 1)))
    if vdev is not None and vdev.leaf:
        yield Membership(vdev.pool, vdev.parent or vdev.group)
    rows = latest_rows(window, ClusterDevice)[0]
    keys = (tuple(name.split("/", 2)) for naming, name in thing.names if naming is Naming.OSD)
    device = next((rows[key] for key in keys if key in rows), None)
    if device is not None and ThingKind.OSD in thing.kinds:
        whole = f"{device.cluster}/{device.pool}" if device.pool else device.cluster
        name = device.device.rpartition("/")[2]
        yield Membership(whole, "" if name == device.local else name, clustered=True)
