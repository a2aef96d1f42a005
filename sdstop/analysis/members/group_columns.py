"""Columns of a peer group: the devices whose requests are counted, in slot order, and whether they are rotational."""

from __future__ import annotations

import math

from sdstop.analysis.members.peer_samples import Columns, GroupColumns
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.history import Window
from sdstop.core.joins import GroupKind, Traits
from sdstop.core.peer_group import PeerGroup
from sdstop.core.thing import Thing


def layout_of(window: Window, group: PeerGroup) -> GroupColumns:
    """Return a group's columns, which stay the same as long as the topology does."""

    def make() -> GroupColumns:
        columns = columns_of(group)
        own = group.upper.device if group.upper is not None else None
        return GroupColumns((group.kind.value, group.name), columns, _capacities(group, columns), own)

    return window.topology.once(("layout", group.kind, group.name), make)


def device_of(member: Thing) -> str:
    """Return the name under which the kernel counts a member's requests, or the member's name."""
    return member.device or member.name


def columns_of(group: PeerGroup) -> Columns:
    """Return the devices of each stripe column, in slot order.

    Copies that neighboring members carry form one column, because these legs carry the same writes, if their number
    divides the number of members (RAID10 with near copies, mirrors). In every other layout each device is a column of
    its own. A missing leg leaves the others in its column.
    """
    traits: Traits = group.traits
    names = [device_of(member) for member in group.members]
    slots = group.slots or tuple(range(len(names)))
    disks = traits.slots or len(names)
    near = traits.copies or 1
    if group.kind not in {GroupKind.COLUMNS, GroupKind.LEGS} or (traits.far or 1) > 1 or near < 2 or disks % near:
        near = 1
    columns: dict[int, list[str]] = {}
    for slot, name in sorted(zip(slots, names, strict=True)):
        columns.setdefault(slot // near, []).append(name)
    return tuple(tuple(columns[number]) for number in sorted(columns))


def _capacities(group: PeerGroup, columns: Columns) -> tuple[float, ...]:
    """Return each column's share of the group's space; only levels without redundancy fully use unequal members."""
    weights = dict(zip(map(device_of, group.members), group.weights, strict=False))
    found = [weights.get(column[0]) for column in columns]
    if group.traits.layout != "raid0" or not all(found):
        return (1.0,) * len(columns)
    known = [weight for weight in found if weight]
    mean = math.fsum(known) / len(known)
    return tuple(weight / mean for weight in known)


def counted_device(window: Window, name: str) -> BlockDevice | None:
    """Return the device whose queue and statistics a name has: for a partition its disk."""
    device = window.get(BlockDevice, name)
    return window.get(BlockDevice, device.parent) or device if device is not None and device.parent else device


def is_rotational(window: Window, layout: GroupColumns) -> bool | None:
    """Return whether a member is rotational, None if that is unknown of all."""
    devices = [device for name in layout.names if (device := counted_device(window, name)) is not None]
    said = [bool(device.rotational) for device in devices if device.rotational is not None]
    return any(said) if said else None
