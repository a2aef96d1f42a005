"""Neighbors of a member: other things on the same disk, whose load makes it wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.core.averages import fmean, median
from sdstop.core.history import Moment, Window
from sdstop.core.joins import Relation
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import DiskActivity

LEAST = 0.5
"""Requests of a neighbor, as a share of the member's own, below which it does not matter."""
MORE = 1.5
"""Requests of the whole disk, as a multiple of the median of the peers' disks, that make the neighbor the cause."""


class Neighbor(Struct, frozen=True):
    """The busiest other thing on a member's disk.

    `requests` are those of all other things on the disk, `own` the member's, per second. `used` is the name of
    the array, volume or mount point on the neighbor.
    """

    disk: str
    device: str
    requests: float
    own: float
    used: str = ""


def neighbor(
    window: Window, member: Thing, peers: Sequence[Thing], upper: Thing | None, moments: Sequence[Moment[DiskActivity]]
) -> Neighbor | None:
    """Return the neighbor that explains why a member waits longer than its peers, None if there is none.

    `moments` are the samples to average over. A disk that serves no fewer requests than the peers' disks waits for
    reasons of its own, whatever the shares of its users.
    """
    topology = window.topology
    disk = _disk(topology, member)
    total = _rate(moments, disk.device)
    others = {other: rate for other in _others(topology, member, disk, upper) if (rate := _rate(moments, other.device))}
    if total is None or not others:
        return None
    own = _rate(moments, member.device) if disk is not member else total - sum(others.values())
    if own is None:
        return None
    load = total - own if disk is not member else sum(others.values())
    loads = [rate for peer in peers if (rate := _rate(moments, _disk(topology, peer).device)) is not None]
    if load < LEAST * max(own, 1.0) or not loads or total < MORE * median(loads):
        return None
    busiest = max(others, key=lambda other: others[other])
    users = topology.affected(busiest) or topology.part_of(busiest)
    used = next((thing.label for thing in users if thing is not busiest), "")
    return Neighbor(disk.device or disk.name, busiest.device or busiest.name, load, max(own, 0.0), used)


def _disk(topology: Topology, member: Thing) -> Thing:
    """Return the disk that a member is a partition of, or the member."""
    return next((other for other, how in topology.lower(member).items() if how is Relation.PART), member)


def _others(topology: Topology, member: Thing, disk: Thing, upper: Thing | None) -> Iterator[Thing]:
    for other in topology.upper(disk):
        if other is member or other is upper:
            continue
        if other.device is not None and (upper is None or other not in topology.below(upper)):
            yield other


def _rate(moments: Sequence[Moment[DiskActivity]], device: str | None) -> float | None:
    rows = [row for moment in moments if (row := moment.rows.get(device)) is not None]
    return fmean(row.completed_per_second for row in rows) if rows else None
