"""md arrays from recorded `mdadm -D`, or from the superblocks that `mdadm -E` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.md import mdadm, mdstat
from sdstop.collectors.md.mdadm import Detail, Superblock
from sdstop.collectors.md.mdstat import MdArray
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.md.redundancy import Layout, tolerated
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Host
from sdstop.core.text import whole
from sdstop.readings.rebuild import MDSTAT, Rebuild

_PERCENT = 100
_FROM_SUPERBLOCKS = "superblocks do not show whether the array runs"


class RecordedArray(Struct, frozen=True):
    """An array of recorded output: its row, rows of its members, and its rebuild if one runs."""

    array: Array
    members: tuple[Member, ...]
    rebuild: Rebuild | None = None


class ListedArrays(Struct, frozen=True):
    """The arrays of mdstat, and those of recorded outputs by kernel name."""

    text: str | None
    """Text of mdstat; None if it was not recorded, and arrays are known otherwise."""
    arrays: tuple[MdArray, ...]
    recorded: dict[str, RecordedArray]

    @property
    def unlisted(self) -> Iterator[RecordedArray]:
        """Recorded arrays that mdstat does not have; its name of an array called md/data is unknown."""
        known = {md.name for md in self.arrays}
        for name, each in self.recorded.items():
            if name not in known and (self.text is None or not name.startswith("md/")):
                yield each


def listed(host: Host) -> ListedArrays:
    """Return all known arrays. Raises Absent if neither mdstat nor output of mdadm was recorded."""
    found = recorded(host)
    try:
        text = host.text(MDSTAT)
    except Absent:
        if not found:
            raise
        return ListedArrays(None, (), found)
    return ListedArrays(text, tuple(mdstat.parse(text)), found)


def recorded(host: Host) -> dict[str, RecordedArray]:
    """Return the arrays of recorded outputs by kernel name: the last that shows an array, superblocks last of all."""
    found: dict[str, RecordedArray] = {}
    for output in outputs(host, mdadm.DETAIL):
        for detail in mdadm.parse_detail(output.text):
            name = _kernel_name(detail.path)
            found[name] = _of_detail(host, detail, name, output.key)
    for output in outputs(host, mdadm.SCAN):
        for line in mdadm.parse_scan(output.text):
            scanned = _of_scan(line, output.key)
            if scanned is not None:
                found.setdefault(scanned.array, RecordedArray(scanned, ()))
    blocks: dict[str, list[Superblock]] = {}
    keys: dict[str, str] = {}
    for output in outputs(host, mdadm.EXAMINE):
        for block in mdadm.parse_examine(output.text):
            blocks.setdefault(block.array, []).append(block)
            keys[block.array] = output.key
    for array, members in blocks.items():
        name = mdadm.minor_of(members[0].name) if members[0].name else f"md/{array.partition(':')[0]}"
        if name not in found:
            found[name] = _of_superblocks(host, members, name, keys[array])
    return found


def _kernel_name(path: str) -> str:
    return path.removeprefix("/dev/")


def _of_detail(host: Host, detail: Detail, name: str, key: str) -> RecordedArray:
    if detail.defect:
        host.defect(key, detail.defect, name)
    runs = detail.state != "inactive"
    redundant = detail.level in _REDUNDANT
    degraded = None
    if redundant and runs and detail.raid_disks is not None and detail.active is not None:
        degraded = detail.raid_disks - detail.active
    action = {"recovery": "recover"}.get(detail.operation or "", detail.operation) if runs else None
    copies = _copies(detail.layout)
    array = Array(
        array=name,
        state=detail.state,
        level=detail.level,
        layout=detail.layout,
        metadata=detail.metadata,
        size=detail.size if runs else None,
        chunk=detail.chunk,
        raid_disks=detail.raid_disks,
        working=detail.active if detail.raid_disks else None,
        degraded=degraded,
        slots=detail.slots if redundant and runs else None,
        spares=sum(member.state == "spare" for member in detail.members) if runs else None,
        failed=detail.failed or sum(member.state == "faulty" for member in detail.members),
        action=action or ("idle" if redundant and runs else None),
        policy=detail.policy,
        bitmap=detail.bitmap.lower() if detail.bitmap else None,
        near_copies=copies[0] if detail.level == "raid10" else None,
        far_copies=copies[1] if detail.level == "raid10" else None,
        tolerates=_tolerates(detail.level, detail.raid_disks, copies, detail.active, detail.slots) if runs else None,
        old_raid_disks=None,
        last_action=None,
        mismatch=None,
        bitmap_chunk=None,
        stripe_cache=None,
        stripe_cache_active=None,
        where=key,
        needle=detail.needle,
    )
    members = (
        _member(name, member.path, member.slot, member.state, key)
        for member in detail.members
        if member.path is not None
    )
    return RecordedArray(array, tuple(members), _rebuild(detail, name, key) if detail.operation is not None else None)


def _of_scan(line: mdadm.ScanLine, key: str) -> Array | None:
    """Return an array that a line of `mdadm --detail --scan` shows to be inactive, or to lack members.

    None for others: without -v no members are listed, and with -v failed ones are.
    """
    missing = (line.raid_disks or 0) - line.members if line.members is not None and line.level in _REDUNDANT else 0
    if line.is_active and missing <= 0:
        return None
    degraded = missing if line.is_active else None
    working = line.members if line.is_active else None
    return Array(
        array=_kernel_name(line.path),
        state="active" if line.is_active else "inactive",
        level=line.level,
        layout=None,
        metadata=None,
        size=None,
        chunk=None,
        raid_disks=line.raid_disks,
        working=working,
        degraded=degraded,
        slots=None,
        spares=line.spares if line.is_active else None,
        failed=0,
        action=None,
        policy=None,
        bitmap=None,
        near_copies=None,
        far_copies=None,
        tolerates=_tolerates(line.level, line.raid_disks, (1, 1), working, None) if line.level != "raid10" else None,
        old_raid_disks=None,
        last_action=None,
        mismatch=None,
        bitmap_chunk=None,
        stripe_cache=None,
        stripe_cache_active=None,
        where=key,
        needle=line.needle,
    )


def _rebuild(detail: Detail, name: str, key: str) -> Rebuild:
    total = detail.used or detail.size
    return Rebuild(
        array=name,
        operation=detail.operation or "resync",
        state=detail.waits or "running",
        done=None if detail.percent is None or total is None else total * detail.percent // _PERCENT,
        total=total if detail.percent is not None else None,
        speed=None,
        remaining=None,
        step=0 if total is None else total // _PERCENT,
        where=key,
        needle=detail.needle,
    )


_REDUNDANT = frozenset({"raid1", "raid4", "raid5", "raid6", "raid10"})


def _of_superblocks(host: Host, members: Sequence[Superblock], name: str, key: str) -> RecordedArray:
    """Return the array as its newest superblock has it; others may have been written before a failure."""
    newest = max(members, key=lambda block: block.events or 0)
    host.defect(key, next((block.defect for block in members if block.defect), _FROM_SUPERBLOCKS), name)
    letters = newest.present
    if letters is not None and newest.raid_disks is not None and len(letters) != newest.raid_disks:
        letters = None
    slots = letters.replace("A", "U").replace("R", "U").replace(".", "_") if letters is not None else None
    redundant = newest.level in _REDUNDANT
    copies = _copies(newest.layout)
    working = slots.count("U") if slots is not None else None
    array = Array(
        array=name,
        state="clean" if newest.clean else "active",
        level=newest.level,
        layout=newest.layout,
        metadata=newest.version,
        size=newest.size,
        chunk=newest.chunk,
        raid_disks=newest.raid_disks,
        working=working,
        degraded=slots.count("_") if slots is not None and redundant else None,
        slots=slots if redundant else None,
        spares=None,
        failed=0,
        action=None,
        policy=None,
        bitmap=None,
        near_copies=copies[0] if newest.level == "raid10" else None,
        far_copies=copies[1] if newest.level == "raid10" else None,
        tolerates=_tolerates(newest.level, newest.raid_disks, copies, working, slots),
        old_raid_disks=None,
        last_action=None,
        mismatch=None,
        bitmap_chunk=None,
        stripe_cache=None,
        stripe_cache_active=None,
        where=key,
        needle=f"Array State : {newest.present}" if newest.present else newest.path,
    )
    known = (_member(name, block.path, block.slot, _state(block, newest, slots), key) for block in members)
    return RecordedArray(array, tuple(known))


def _state(block: Superblock, newest: Superblock, slots: str | None) -> str:
    """Return the state of a member; one whose superblock is older than that of others was dropped."""
    if block.slot is None:
        return "spare" if block.role.startswith("spare") else "journal" if block.role == "Journal" else "unknown"
    behind = 0 if block.events is None or newest.events is None else newest.events - block.events
    serves = slots is not None and slots[block.slot : block.slot + 1] == "U"
    return "in_sync" if serves and behind <= 1 else "unknown"


def _member(array: str, path: str, slot: int | None, state: str, key: str) -> Member:
    return Member(
        array=array, device=_kernel_name(path), slot=slot, state=state, flags=None, errors=None, bad_blocks=None,
        size=None, offset=None, recovery_start=None, where=key, needle=path,
    )  # fmt: skip


def _copies(layout: str | None) -> tuple[int, int]:
    """Return the near and far copies of a raid10 by its layout: `near=2`, `far=2`, `offset=2`."""
    said = dict(part.split("=", 1) for part in (layout or "").replace(",", " ").split() if "=" in part)
    near, far = (whole(said.get(name), 3) for name in ("near", "far"))
    return near or 1, far or whole(said.get("offset"), 3) or 1


def _tolerates(
    level: str | None, disks: int | None, copies: tuple[int, int], working: int | None, slots: str | None
) -> int | None:
    if level is None or disks is None or working is None:
        return None
    return tolerated(Layout(level, disks, *copies), working, slots)
