"""Advice on a slow member: what to check, and how its kind of group lets go of it without losing redundancy."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.members.judged_group import JudgedGroup, Laggard
from sdstop.analysis.members.neighbor import Neighbor
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.joins import GroupKind, ThingKind
from sdstop.core.shell import phrase

_WITHOUT_COPY = frozenset({"raid0", "linear", "striped", "stripe", "raid0_meta"})
"""Layouts that lose data with any member."""
_RAID = "raid"


def advice(judged: JudgedGroup, laggard: Laggard) -> tuple[Advice, ...]:
    """Return the advice on a slow member, first the commands that only read."""
    if laggard.neighbor is not None:
        return tuple(_about_neighbor(laggard.neighbor))
    return (*_checks(judged, laggard), *_removal(judged, laggard))


def _about_neighbor(near: Neighbor) -> Iterator[Advice]:
    yield "Move or limit the other load on the disk."
    yield run("iostat", "-xp", near.disk, "1", note="load of each partition")


def _checks(judged: JudgedGroup, laggard: Laggard) -> Iterator[Advice]:
    disk = laggard.device
    if judged.kind is GroupKind.PATHS:
        yield "Check the path for link loss and resets; compare the errors of the ports."
        if disk.startswith("nvme"):
            yield run("nvme", "list-subsys", note="state and address of the paths")
        else:
            yield run("multipath", "-ll", note="state and policy of the paths")
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(disk))
    elif judged.kind is GroupKind.DEVICES and _is_osd(laggard):
        yield "Check the disk behind the OSD."
        yield run("ceph", "osd", "perf", note="latency of each OSD")
        yield run("ceph", "device", "ls", note="disk of each OSD")
    else:
        yield "Check the disk and its link; replace the disk if it stays slow."
        if "/" not in disk:
            yield run("smartctl", "-x", f"/dev/{disk}", note="pending or reallocated sectors, CRC errors")
        yield run("journalctl", "-k", note="resets, slow link, timeouts").pipe("grep", "-w", *operands(disk))


def _is_osd(laggard: Laggard) -> bool:
    return laggard.thing is not None and ThingKind.OSD in laggard.thing.kinds


def _removal(judged: JudgedGroup, laggard: Laggard) -> Iterator[Advice]:
    """Yield how to replace the member, by what created the group."""
    group, disk = judged.group, laggard.member
    if group is None:
        yield "Compare with the array or pool that the disks belong to."
        yield run("lsblk")
        return
    layout, name = group.traits.layout or "", judged.name
    kinds = group.upper.kinds if group.upper is not None else frozenset[ThingKind]()
    if group.kind is GroupKind.LEAVES and layout == "stripe":
        yield run("zpool", "attach", *operands(name, disk, "NEW"), note="if it stays; then detach the old disk")
    elif group.kind is GroupKind.LEAVES:
        yield run("zpool", "replace", *operands(name, disk, "NEW"), note="if it stays; keeps redundancy")
    elif ThingKind.ARRAY in kinds and layout in _WITHOUT_COPY:
        yield f"{phrase(layout)} has no copy of its data: copy it elsewhere, then recreate it without the disk."
    elif ThingKind.ARRAY in kinds:
        needs = "if it stays; needs a spare, keeps redundancy"
        yield run("mdadm", f"/dev/{name}", "--replace", f"/dev/{disk}", note=needs)
    elif group.kind in {GroupKind.COLUMNS, GroupKind.LEGS, GroupKind.IMAGES} and "/" in name:
        yield _of_lvm(name, laggard.device, layout)
    elif _is_osd(laggard):
        osd = laggard.thing.name.rpartition("/")[2] if laggard.thing is not None else disk
        yield run("ceph", "osd", "out", *operands(osd), note="if it stays; moves its data, then replace the disk")
    elif group.kind is GroupKind.DEVICES:
        yield "If it stays: remove the device (scli --remove_sds_device), rebuild, then replace it."
    elif group.kind is GroupKind.PATHS:
        yield run("multipathd", "fail", "path", disk, note="if it stays; the others serve alone")
    elif group.kind is GroupKind.MODEL:
        yield "If it stays: move its data to another disk, then replace it."
    else:
        yield "If it stays: copy the data to other disks."


def _of_lvm(name: str, disk: str, layout: str) -> Advice:
    if layout.startswith(_RAID) and layout not in _WITHOUT_COPY:
        return run(
            "lvconvert", "--replace", f"/dev/{disk}", *operands(name), note="if it stays; needs space on another disk"
        )
    return run("pvmove", "-n", name, f"/dev/{disk}", note="if it stays; moves this volume's part to another disk")


def waits_for(judged: JudgedGroup) -> str:
    """Return the impact of a slow member."""
    upper = judged.group.upper if judged.group is not None else None
    if judged.group is None:
        return "I/O on the disk waits; group inferred from equal load."
    if upper is None:
        return "I/O on the disk waits; its peers are disks of one model in one role."
    name = "The array" if ThingKind.ARRAY in upper.kinds else human.safe(judged.name, 40)
    return f"{name} waits for this member."
