"""Redundant md arrays of which several members are on one disk, or in one slot."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window

_WORKING = frozenset({"in_sync", "rebuilding"})


def twice(window: Window, array: Array) -> str:
    """Return the contradiction that two members are in one slot, "" for none; a replacement has that of another."""
    seen: dict[object, str] = {}
    for member in window.where(Member, "array", array.array):
        if member.state != "in_sync" or member.slot is None or "replacement" in (member.flags or ""):
            continue
        other = seen.setdefault(member.slot, member.device)
        if other != member.device:
            return f"{other} and {member.device} are both in slot {member.slot}"
    return ""


def shared(window: Window, array: Array) -> Mapping[str, Sequence[str]]:
    """Return the disks that hold several members of a redundant array as partitions, with these."""
    found: dict[str, list[str]] = {}
    disks = window.of_run(BlockDevice, "disks of partitions", lambda: _disks(window))
    for member in window.where(Member, "array", array.array) if array.redundant and disks else ():
        disk = disks.get(member.device)
        if disk is not None and member.state in _WORKING:
            found.setdefault(disk, []).append(member.device)
    return {disk: names for disk, names in found.items() if len(names) > 1}


def _disks(window: Window) -> Mapping[Hashable, str]:
    """Return the disk of each partition."""
    return {name: row.parent for name, row in window.rows(BlockDevice).items() if row.parent is not None}


def on_one_disk(window: Window, array: Array, disks: Mapping[str, Sequence[str]]) -> Finding:
    """Return the finding of an array that loses several members with one disk."""
    disk, members = next(iter(disks.items()))
    row = window.get(BlockDevice, members[0])
    return Finding(
        severity=Severity.WARNING,
        subject=array.array,
        title="MEMBERS SHARE A DISK",
        cause=f"{human.listed(list(members), limit=24)} are partitions of {human.safe(disk, 16)}.",
        impact=f"The failure of {human.safe(disk, 16)} takes {len(members)} members at once.",
        values=(
            Value("members", "members on one disk", len(members), "", of=array.raid_disks),
            Value("disk", "disk", disk),
        ),
        evidence=cites(window.cite(array), window.cite(row) if row is not None else None),
        advice=(
            "Move all but one of these members to other disks.",
            run("lsblk", f"/dev/{disk}"),
            run("mdadm", f"/dev/{array.array}", "--replace", f"/dev/{members[-1]}", "--with", "/dev/OTHER"),
        ),
        refuted_by="members on different disks in lsblk",
        harmless_if="the array is a test, or the disk is itself redundant",
        damage=Damage.REDUNDANCY,
        standing=True,
    )
