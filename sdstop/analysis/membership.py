"""Membership of a disk in arrays, ZFS pools and cluster pools, through partitions, paths and mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.latest import latest_rows
from sdstop.collectors.block.devices import BlockLink
from sdstop.collectors.md.readings import Member
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.history import Window
from sdstop.readings.cluster import ClusterDevice


class Membership(Struct, frozen=True):
    """Array, ZFS pool or cluster pool that uses a disk, and which part of it."""

    whole: str
    part: str = ""
    clustered: bool = False


def memberships(window: Window, disk: str) -> list[Membership]:
    """Return the memberships of a disk, through partitions, paths and mappings."""
    members = window.once("members by device", lambda: _members(window))
    given = window.once("devices of pools", lambda: _given(window))
    found: list[Membership] = []
    for name in _upwards(window, disk, members):
        found += [
            Membership(m.array, f"slot {m.slot}" if m.slot is not None else m.state) for m in members.get(name, ())
        ]
        found += given.get(name, ())
    return found


def _given(window: Window) -> dict[str, list[Membership]]:
    """Return the ZFS and cluster pool memberships of this node's devices, by kernel name."""
    found: dict[str, list[Membership]] = {}
    for vdev in latest_rows(window, Vdev)[0].values():
        if vdev.leaf and vdev.device is not None:
            found.setdefault(vdev.device, []).append(Membership(vdev.pool, vdev.parent or vdev.group))
    for row in latest_rows(window, ClusterDevice)[0].values():
        if row.local is not None:
            whole = f"{row.cluster}/{row.pool}" if row.pool else row.cluster
            name = row.device.rpartition("/")[2]
            found.setdefault(row.local, []).append(Membership(whole, "" if name == row.local else name, clustered=True))
    return found


def _upwards(window: Window, disk: str, members: Mapping[str, Sequence[Member]]) -> Iterator[str]:
    """Yield a disk and everything that is built on it, stopping at arrays."""
    above = window.of_run(BlockLink, "above", lambda: _above(window))
    todo, seen = [disk], {disk}
    while todo and len(seen) < _MOST:
        name = todo.pop(0)
        yield name
        if name in members:
            continue
        for holder in above.get(name, ()):
            if holder not in seen:
                seen.add(holder)
                todo.append(holder)


_MOST = 256
"""Maximum number of devices on top of a disk that are followed."""


def _above(window: Window) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for link in latest_rows(window, BlockLink)[0].values():
        found.setdefault(link.below, []).append(link.device)
    return found


def _members(window: Window) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = {}
    for member in latest_rows(window, Member)[0].values():
        found.setdefault(member.device, []).append(member)
    return found
