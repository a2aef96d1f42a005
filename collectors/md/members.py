"""Members of md arrays from /proc/mdstat and /sys/block/mdX/md/dev-*/ (Documentation/admin-guide/md.rst)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from sdstop.collectors.md import details, mdadm, mdstat
from sdstop.collectors.md.readings import Member
from sdstop.core.collector import QUIET, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.text import whole
from sdstop.readings.rebuild import MDSTAT, folder

_SECTOR = 512


def read(host: Host) -> Iterable[Reading]:
    """Yield a Member for each device in mdstat, and of arrays that recorded `mdadm -D` alone has."""
    found = details.listed(host)
    for each in found.unlisted:
        yield from each.members
    for md in found.arrays:
        for device in md.devices:
            yield _member(host, md, device)


def members_part(data: bytes) -> Hashable:
    """Return what members follow from: devices and slots, not the position of a resync. Raises Malformed."""
    arrays = mdstat.parse(data.decode("utf-8", "surrogateescape"))
    return tuple((md.name, md.devices, md.slots) for md in arrays)


def _member(host: Host, md: mdstat.MdArray, device: mdstat.MdstatDevice) -> Member:
    base = f"{folder(md.name)}/dev-{device.name.replace('/', '!')}"
    flags = host.maybe(f"{base}/state")
    place = host.maybe(f"{base}/slot")
    slot = whole(place, 9)
    if place is None:
        slot = _slot(md, device)
    size, offset = host.number(f"{base}/size"), host.number(f"{base}/offset")
    recovered = host.number(f"{base}/recovery_start")
    bad = host.maybe(f"{base}/bad_blocks")
    return Member(
        array=md.name,
        device=device.name,
        slot=slot,
        state=_state(flags, device, slot, md),
        flags=flags or ("faulty,journal" if {"F", "J"} <= device.flags else None),
        errors=host.number(f"{base}/errors"),
        bad_blocks=None if bad is None else len(bad.splitlines()),
        size=None if size is None else size * 1024,
        offset=None if offset is None else offset * _SECTOR,
        recovery_start=None if recovered is None else recovered * _SECTOR,
    )


def _slot(md: mdstat.MdArray, device: mdstat.MdstatDevice) -> int | None:
    """Return the slot without sysfs: the device number, if all slots are in sync and the numbers match the slots."""
    if md.slots is None or "_" in md.slots or device.flags & {"F", "S", "J", "R"}:
        return None
    holders = [d.number for d in md.devices if not d.flags & {"F", "S", "J", "R"}]
    return device.number if sorted(holders) == list(range(len(md.slots))) else None


def _state(flags: str | None, device: mdstat.MdstatDevice, slot: int | None, md: mdstat.MdArray) -> str:
    words = set((flags or "").split(","))
    for word, letter in (("faulty", "F"), ("journal", "J"), ("replacement", "R")):
        if word in words or letter in device.flags:
            return word
    if flags is None:
        if "S" in device.flags:
            return "spare"
        return "in_sync" if md.slots is not None and "_" not in md.slots else "unknown"
    if "in_sync" in words:
        return "in_sync"
    if "spare" in words:
        # The kernel flags a member that is being rebuilt as a spare with a slot.
        return "spare" if slot is None else "rebuilding"
    return "unknown"


_SELDOM = 30.0
"""Seconds between runs for members: a thousand members have seven thousand files, and urgent changes alter the
fingerprint."""
_DEVICES = expression(r"^\S+ : .*$|\[[U_]+\]$", re.MULTILINE)


def fingerprint(host: Host) -> Hashable:
    """Return mdstat's device and slot lists, which change if a member is added, removed, fails or is in sync."""
    return tuple(_DEVICES.findall(host.maybe(MDSTAT) or ""))


MDMEMBERS = Collector(
    "mdmembers",
    "Members of md arrays",
    read,
    (Member,),
    (
        Need(MDSTAT, "which devices the arrays have", filled=True, everyone=True, part=members_part),
        Need("cmd:mdadm *", "members, as others recorded them; never run", redact=mdadm.without_hosts),
        Need(
            "/sys/block/*/md/dev-*/*",
            "slot, state, corrected errors, bad blocks, size, offset",
            filled=("slot", "state", "errors", "size", "offset"),
        ),
    ),
    _SELDOM,
    deadline=5.0,
    fingerprint=fingerprint,
    quiet=QUIET / 2,
)
