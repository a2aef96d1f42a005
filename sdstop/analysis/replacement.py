"""Advice on a slow member: what to check, and how its kind of group lets go of it without losing redundancy."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.judged_group import JudgedGroup, Laggard
from sdstop.core import format as human
from sdstop.core.joins import GroupKind, ThingKind
from sdstop.core.shell import operand, quoted

_WITHOUT_COPY = frozenset({"raid0", "linear", "striped", "stripe", "raid0_meta"})
"""Layouts that lose data with any member."""
_RAID = "raid"


def advice(judged: JudgedGroup, laggard: Laggard) -> tuple[str, ...]:
    """Return lines of advice on a slow member, those that only look first."""
    if laggard.neighbour is not None:
        return tuple(_about_neighbour(laggard))
    return (*_checks(judged, laggard), *_removal(judged, laggard))


def _about_neighbour(laggard: Laggard) -> Iterator[str]:
    near = laggard.neighbour
    if near is not None:
        yield f"move or limit the load of {quoted(near.device)}; the disk itself serves what it is asked for"
        yield f"iostat -xp {quoted(near.disk)} 1   # which partition is asked for what"


def _checks(judged: JudgedGroup, laggard: Laggard) -> Iterator[str]:
    disk = laggard.device
    if judged.kind is GroupKind.PATHS:
        yield "multipath -ll   # state and policy of the paths"
        yield f"journalctl -k | grep -w {operand(disk)}   # link down, resets; compare the ports' error counters"
    elif judged.kind is GroupKind.DEVICES and _is_osd(laggard):
        yield "ceph osd perf; ceph device ls   # its latency, and the disk behind it"
    else:
        if "/" not in disk:
            yield f"smartctl -x /dev/{quoted(disk)}   # pending or reallocated sectors, CRC errors, recovery time"
        yield f"journalctl -k | grep -w {operand(disk)}   # resets, slow link, timeouts"


def _is_osd(laggard: Laggard) -> bool:
    return laggard.thing is not None and ThingKind.OSD in laggard.thing.kinds


def _removal(judged: JudgedGroup, laggard: Laggard) -> Iterator[str]:
    """Yield how to replace the member, by what created the group."""
    group, disk = judged.group, laggard.member
    if group is None:
        yield "compare with the array or pool that the disks belong to: cat /proc/mdstat; zpool status; lsblk"
        return
    layout, name = group.traits.layout or "", judged.name
    kinds = group.upper.kinds if group.upper is not None else frozenset[ThingKind]()
    if group.kind is GroupKind.LEAVES and layout == "stripe":
        yield f"if it stays: zpool attach {quoted(name)} {quoted(disk)} NEW   # then zpool detach the old one"
    elif group.kind is GroupKind.LEAVES:
        yield f"if it stays: zpool replace {quoted(name)} {quoted(disk)} NEW   # keeps redundancy meanwhile"
    elif ThingKind.ARRAY in kinds and layout in _WITHOUT_COPY:
        yield f"{layout} has no copy of its data: copy {quoted(name)} elsewhere, then make it again without the disk"
    elif ThingKind.ARRAY in kinds:
        command = f"mdadm /dev/{quoted(name)} --replace /dev/{quoted(disk)}"
        yield f"if it stays: {command}   # needs a spare, keeps redundancy"
    elif group.kind in {GroupKind.COLUMNS, GroupKind.LEGS, GroupKind.IMAGES} and "/" in name:
        yield from _of_lvm(name, laggard.device, layout)
    elif _is_osd(laggard):
        osd = laggard.thing.name.rpartition("/")[2] if laggard.thing is not None else disk
        yield f"if it stays: ceph osd out {quoted(osd)}   # its data moves to others; then replace the disk"
    elif group.kind is GroupKind.DEVICES:
        yield "if it stays: scli --remove_sds_device, wait for the rebuild, then replace it"
    elif group.kind is GroupKind.PATHS:
        yield f"if it stays: multipathd fail path {quoted(disk)}   # the others serve alone; check cable and port"
    elif group.kind is GroupKind.MODEL:
        yield "if it stays: move its data to another disk, then replace it"
    else:
        yield f"if it stays: copy {quoted(name)} to other disks"


def _of_lvm(name: str, disk: str, layout: str) -> Iterator[str]:
    if layout.startswith(_RAID) and layout not in _WITHOUT_COPY:
        yield f"if it stays: lvconvert --replace /dev/{quoted(disk)} {quoted(name)}   # needs space on another disk"
    else:
        yield f"if it stays: pvmove -n {quoted(name)} /dev/{quoted(disk)}   # moves this volume's part to another disk"


def waits_for(judged: JudgedGroup) -> str:
    """Return what waits for a slow member, as the end of a sentence."""
    upper = judged.group.upper if judged.group is not None else None
    if upper is None:
        return "group inferred from equal load" if judged.group is None else "disks of one model in one role"
    what = "the array" if ThingKind.ARRAY in upper.kinds else human.safe(judged.name, 60)
    return f"{what} waits for it"
