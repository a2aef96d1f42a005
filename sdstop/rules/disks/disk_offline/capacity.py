"""Disks in use that lost their capacity, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Member
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.joins import ThingKind

_ROUNDED = 0.02
"""Share of a disk's size by which recorded sizes can differ from the real ones."""


def users(window: Window, row: BlockDevice) -> list[str]:
    """Return the names of everything that is built on a disk, or mounted from it."""
    thing = window.topology.find(row.device, (ThingKind.DEVICE,))
    if thing is None:
        return []
    parts = {part.device for part in window.where(BlockDevice, "parent", row.device)}
    every = dict.fromkeys((*window.topology.part_of(thing), *window.topology.affected(thing)))
    return [each.label for each in every if each.device not in parts]


def empty(window: Window, row: BlockDevice, users: Sequence[str]) -> Finding:
    """Return the finding of a disk in use whose driver set its capacity to 0, as that of NVMe does after a failure."""
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.device,
        title=f"{'VOLUME' if row.kind == 'dm' else 'DISK'} WITHOUT CAPACITY, still in use",
        cause=f"The kernel reports 0 bytes; {human.listed(users, limit=30)} {'use' if len(users) > 1 else 'uses'} it.",
        impact="Every request to the device fails.",
        values=(
            Value("size", "capacity", 0, "bytes"),
            Value("users", "built on it", human.listed(users, limit=120)),
            Value("model", "model", row.model),
        ),
        evidence=cites(window.cite(row, "size")),
        advice=(
            "Find out why the mapping has no table."
            if row.kind == "dm"
            else "Find out why the disk lost its capacity: firmware, link or enclosure.",
            run("journalctl", "-k", note="capacity change")
            .pipe("grep", "-w", *operands(row.device))
            .pipe("tail", "-40"),
            run("dmsetup", "table", row.dm_name or row.device)
            if row.kind == "dm"
            else run("smartctl", "-x", f"/dev/{row.device}"),
        ),
        refuted_by="a size above 0 in the file size of the disk",
    )


def member_beyond(window: Window, row: BlockDevice) -> tuple[Member, int] | None:
    """Return the member of an array whose data reaches behind the end of its device, and by how many bytes."""
    if not row.size:
        return None
    for member in window.where(Member, "device", row.device):
        if member.size is None or member.offset is None:
            continue
        more = member.offset + member.size - row.size
        if more > (0 if row.told is None else _ROUNDED * row.size):
            return member, more
    return None


def shrunk(window: Window, row: BlockDevice) -> int:
    """Return by how many bytes a device in use became smaller in the window, 0 for none."""
    if not row.size or row.parent is not None or row.told is not None:
        return 0
    before = max((old.size or 0 for _, old in window.series(BlockDevice, row.device) if old is not None), default=0)
    return before - row.size if before > row.size and users(window, row) else 0


def shrunk_finding(window: Window, row: BlockDevice, less: int) -> Finding:
    """Return the finding of a device that became smaller below what uses it."""
    used = users(window, row)
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.device,
        title="SMALLER THAN BEFORE, still in use",
        cause=f"The device lost {human.quantity(less, 'bytes')}; {human.listed(used, limit=30)} on it.",
        impact="Data behind the new end is inaccessible.",
        values=(
            Value("size", "capacity", row.size, "bytes", of=(row.size or 0) + less),
            Value("users", "built on it", human.listed(used, limit=120)),
        ),
        evidence=cites(window.cite(row, "size")),
        advice=(
            "Give the device its former size before anything is written.",
            run("journalctl", "-k", note="capacity change").pipe("grep", "-w", *operands(row.device)),
            run("lsblk", f"/dev/{row.device}"),
        ),
        refuted_by="the former size in the file size of the device",
        harmless_if="the file system on it was made smaller first",
        damage=Damage.DATA,
    )


def cut_member(window: Window, row: BlockDevice, member: Member, more: int) -> Finding:
    """Return the finding of a device that is smaller than the part of it that an array uses."""
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title="MEMBER BEYOND THE END OF ITS DISK",
        cause=f"{human.safe(member.array, 16)} uses {human.quantity(more, 'bytes')} behind the end of the device.",
        impact="Requests to this part fail, and the array can drop the member.",
        values=(
            Value("beyond", "behind the end of the device", more, "bytes"),
            Value("size", "capacity", row.size, "bytes"),
            Value("array", "array", member.array),
        ),
        evidence=cites(window.cite(row, "size"), window.cite(member)),
        advice=(
            "Find out why the device became smaller; give it its former size.",
            run("mdadm", "--examine", f"/dev/{row.device}"),
            run("journalctl", "-k", note="capacity change").pipe("grep", "-w", *operands(row.device)),
        ),
        refuted_by="data of the member that ends before the device does",
        damage=Damage.REDUNDANCY,
    )


def beyond(window: Window, row: BlockDevice) -> int:
    """Return the bytes of a partition behind the end of its disk, 0 for none; some tools round sizes."""
    disk = window.get(BlockDevice, row.parent) if row.parent is not None else None
    if disk is None or not disk.size or row.size is None or row.start is None:
        return 0
    more = row.start + row.size - disk.size
    return more if more > _ROUNDED * disk.size else 0


def cut(window: Window, row: BlockDevice, more: int) -> Finding:
    """Return the finding of a partition on a disk that became smaller, as a volume of a storage system can."""
    disk = human.safe(row.parent or "", 16)
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title="PARTITION BEYOND THE END OF ITS DISK",
        cause=f"{human.quantity(more, 'bytes')} of the partition are behind the end of {disk}.",
        impact="Requests to this part fail.",
        values=(Value("beyond", "behind the end of the disk", more, "bytes"), Value("disk", "disk", row.parent)),
        evidence=cites(window.cite(row, "size"), window.cite(row, "start")),
        advice=(
            "Find out why the disk became smaller; give it its former size.",
            run("lsblk", "-b", "-o", "NAME,START,SIZE", f"/dev/{row.parent}"),
            run("journalctl", "-k", note="capacity change").pipe("grep", "-w", *operands(row.parent or "")),
        ),
        refuted_by="a start and a size of the partition within the size of the disk",
    )
