"""Block devices, joined across families, with the worst finding about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import cast

from msgspec import Struct

from sdstop.analysis.disks.presence import gone
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.dmtable import volume
from sdstop.collectors.md.readings import Member
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.columns import value_of, values_at
from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Severity, worst_by_subject, worst_of
from sdstop.core.history import Window
from sdstop.core.model import Rows
from sdstop.readings.disk import DiskActivity

STACKED = frozenset(
    {"partition", "md", "dm", "loop", "ram", "zram", "nvme_path", "bcache", "zvol", "drbd", "floppy", "rom", "virtual"}
)
"""Kinds whose I/O is counted again in another device, or is not disk I/O; excluded from totals."""
_KINDS = (
    ("md", expression(r"md(\d+|_.*)$")),
    ("dm", expression(r"dm-\d+$")),
    ("loop", expression(r"loop\d+$")),
    ("ram", expression(r"z?ram\d+$")),
    ("rom", expression(r"sr\d+$")),
    ("floppy", expression(r"fd\d+$")),
    ("partition", expression(r"(?:(?:nvme\d+n\d+|mmcblk\d+|md\d+|nbd\d+|loop\d+)p\d+|(?:[shv]|xv)d[a-z]+\d+)$")),
)
_FLAGS = {
    "hot-stripe-member": "hot!",
    "slow-stripe-member": "slow!",
    "stripe-convoy": "convoy!",
    "device-hung": "hung!",
    "array-degraded": "degraded!",
    "zfs-pool-degraded": "errors!",
    "slow-device": "slow!",
    "volume-suspended": "suspended!",
    "data-mismatch": "mismatch!",
    "no-spare-left": "no spare",
    "rebuild-stalled": "stalled!",
    "rebuild-throttled": "throttled",
    "rebuild-slow": "slow!",
    "cache-errors": "errors!",
    "cache-full-of-dirty": "dirty!",
    "cache-ineffective": "few hits",
    "cache-bypassed": "bypassed!",
    "cache-sub-block-io": "bypassed!",
    "tasks-stuck": "tasks wait",
    "device-saturated": "at limit",
    "disk-offline": "offline!",
    "disk-failing": "failing!",
    "disk-worn": "worn!",
    "disk-hot": "too hot",
    "disk-link-errors": "link!",
    "kernel-io-errors": "I/O errors",
    "filesystem-errors": "fs errors",
    "filesystem-readonly": "read-only!",
    "path-failed": "path lost",
    "volume-degraded": "degraded!",
    "volume-unhealthy": "unhealthy",
    "thin-pool-filling": "filling",
    "snapshot-filling": "filling",
    "path-used-directly": "not by map",
    "paths-unbalanced": "one path",
    "discard-unaligned": "discards",
    "flush-slow": "slow flush",
    "session-down": "no session",
}
"""Words for the fault of a device; other rules have their own name."""
_ARRAY_FLAGS = {
    "RESHAPE INTERRUPTED": "halted!",
    "REBUILDS AND CHECKS FROZEN": "frozen",
    "ARRAY READ-ONLY": "read-only!",
    "ARRAY INACTIVE": "inactive!",
    "ARRAY BROKEN": "broken!",
    "WRITES WAIT": "writes wait",
    "JOURNAL FAILED": "no journal",
    "BITMAP REMOVED": "no bitmap",
    "MEMBERS SHARE A DISK": "one disk",
}
"""Words for the faults of an array that leave no member out, by the beginning of the finding's title."""
GONE = "gone!"
"""Word for a member of an array that the node no longer has."""
_SUSPECT = "errors!"
"""Word for a member that the rule on arrays names."""


USABLE = frozenset({"ONLINE", "AVAIL", "INUSE"})
"""Healthy states of pool devices."""


class DriveState(Struct, frozen=True):
    """A block device: its activity, properties, arrays that it is a member of, and worst severity.

    `rates` is the activity of all devices, whose rows are made when they are asked for: of a thousand devices a screen
    shows forty, and of the others a figure each.
    """

    name: str
    kind: str
    rates: Rows
    device: BlockDevice | None = None
    members: tuple[Member, ...] = ()
    severity: Severity | None = None
    flag: str = ""
    stale: bool = False
    pools: tuple[str, ...] = ()

    @property
    def urgency(self) -> tuple[int, float, float]:
        """Sort key for urgency: severity of findings, then queue, then busy time."""
        rank = -1 if self.severity is None else self.severity.rank
        return (rank, self.figure("queue") or 0.0, self.figure("busy") or 0.0)

    @property
    def activity(self) -> DiskActivity | None:
        """Its activity, None if that is unknown."""
        return cast("DiskActivity | None", self.rates.get(self.name))

    @property
    def is_counted(self) -> bool:
        """Whether its activity is known."""
        return self.name in self.rates

    def figure(self, field: str) -> float | None:
        """Return a field of its activity, None if it is unknown."""
        found: float | None = value_of(self.rates, self.name, field)
        return found

    @property
    def volume(self) -> str:
        """Name of a device mapper device as shown to operators, "" for other devices."""
        d = self.device
        return volume(d.dm_name, d.dm_uuid) if d is not None and d.dm_name else ""

    @property
    def whole(self) -> bool:
        """Whether totals include its I/O: the device is not a partition, and not stacked on another device."""
        return self.kind not in STACKED


def figures_by_drive(drives: Sequence[DriveState], *fields: str) -> list[list[float | None]]:
    """Return fields of the activity of devices, field by field, None where unknown; without making their rows."""
    rates = drives[0].rates if drives else {}
    if not all(map(is_, map(attrgetter("rates"), drives), repeat(rates))):
        return [[drive.figure(field) for drive in drives] for field in fields]
    return values_at(rates, [drive.name for drive in drives], *fields)


def kind_of(name: str, device: BlockDevice | None) -> str:
    """Return the kind of a device, derived from its name if sysfs has no data."""
    if device is not None:
        return device.kind
    return next((kind for kind, pattern in _KINDS if pattern.match(name)), "disk")


def drives(window: Window, findings: Sequence[Finding]) -> dict[str, DriveState]:
    """Return every block device by name; `findings` are those active at the window's end."""
    return window.once("drives", lambda: _drives(window, findings))


def _drives(window: Window, findings: Sequence[Finding]) -> dict[str, DriveState]:
    activities, stale = latest_rows(window, DiskActivity)
    rates = cast("Rows", activities)
    devices, _ = latest_rows(window, BlockDevice)
    members: dict[str, list[Member]] = {}
    for member in latest_rows(window, Member)[0].values():
        members.setdefault(member.device, []).append(member)
    pools: dict[str, dict[str, str]] = {}
    without = {
        member.device: member.state for known in members.values() for member in known if member.state == "faulty"
    }
    without.update(dict.fromkeys(_without_device(window, members), GONE))
    for vdev in latest_rows(window, Vdev)[0].values():
        if vdev.device and vdev.group != "spares":
            part = devices.get(vdev.device)
            disk = (part.parent if part is not None else None) or vdev.device
            pools.setdefault(disk, {})[vdev.pool] = vdev.vdev
            if vdev.leaf and vdev.state not in USABLE:
                without[disk] = vdev.state.lower()
    worst = worst_by_subject(findings)
    flags: dict[str, str] = {}
    for finding in reversed(findings):
        word = _FLAGS.get(finding.rule, finding.rule)
        if finding.rule == "array-degraded":
            whole = next((said for title, said in _ARRAY_FLAGS.items() if finding.title.startswith(title)), word)
            word = _SUSPECT if "/" in finding.subject else whole
        for name in {finding.subject, finding.subject.rpartition("/")[2]}:
            flags[name] = "" if finding.rule == "rebuild-running" else word
    found = {}
    pulled = _pulled(window)
    for name in dict.fromkeys(map(str, (*activities, *devices, *members))):
        if name in pulled and name not in members:
            continue
        device = devices.get(name)
        severity, flag = worst.get(name), flags.get(name)
        if device is not None and device.dm_name and worst:
            names = _names(name, device)
            severity = worst_of(worst[each] for each in names if each in worst)
            flag = next((flags[each] for each in names if each in flags), None)
        if name in without:
            severity, flag = severity or Severity.WARNING, without[name] or flag
        found[name] = DriveState(
            name, kind_of(name, device), rates, device, tuple(members.get(name, ())), severity, flag or "", stale,
            tuple(pools.get(name, ())),
        )  # fmt: skip
    return found


def _names(name: str, device: BlockDevice | None) -> tuple[str, ...]:
    """Return the names by which findings accuse a device: the kernel's, and those of its mapping."""
    if device is None or not device.dm_name:
        return (name,)
    return (name, device.dm_name, volume(device.dm_name, device.dm_uuid))


def _without_device(window: Window, members: Mapping[str, Sequence[Member]]) -> list[str]:
    """Return the members that their arrays count as working, and that the node no longer has."""
    working: dict[str, list[str]] = {}
    for each in (member for known in members.values() for member in known if member.state != "faulty"):
        working.setdefault(each.array, []).append(each.device)
    return [name for names in working.values() for name in gone(window, names, names)]


def _pulled(window: Window) -> set[str]:
    """Return the devices that are gone since the newest activity was read, or have lost their file or medium.

    An unplug is noticed at once; without this, the last rates of the device would stay until the next round.
    """
    runs = window.moments(BlockDevice)
    if len(runs) < 2:
        return set()
    active, now = window.now.run_of(DiskActivity), runs[-1]
    if active is None or active.started >= now.started:
        return set()
    empty = {name for name, row in now.rows.items() if row.size == 0 and row.kind == "loop"}
    return {str(name) for name in runs[-2].rows if name not in now.rows or name in empty}


def shown(drive: DriveState) -> bool:
    """Return whether lists show the device by default: no partitions, and loop and similar devices only if in use."""
    if drive.severity is not None:
        return True
    if drive.kind in {"partition", "nvme_path", "floppy"}:
        return False
    if drive.kind in {"loop", "ram", "zram", "rom", "nbd"}:
        used = drive.device is not None and bool(drive.device.backing_file)
        return used or (drive.figure("completed_per_second") or 0.0) > 0
    return True
