"""Devices configured by a kernel name (/dev/sdX), which can refer to another device after a reboot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.finding_text import TITLE, fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.shell import quoted
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.device_names import DevicePath, unstable

_SHOWN = 4
"""Devices named."""
_LETTERS = expression("sd|hd|xvd|vd|nvme")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    holders: dict[str, list[DevicePath]] = defaultdict(list)
    for row in window.rows(DevicePath).values():
        holders[row.holder].append(row)
    for holder, rows in sorted(holders.items()):
        named = [row for row in rows if unstable(row.path)]
        if named and rows[0].kind == "file" and _alone(window, named):
            yield RuledOut(holder, f"{named[0].path}: kernel name, and all its kind is 1 disk")
        elif named:
            yield _found(window, holder, named, len(rows))
        else:
            yield RuledOut(holder, f"all {len(rows)} devices use stable names")


def _alone(window: Window, named: Sequence[DevicePath]) -> bool:
    """Return whether each name is of a kind with only one disk on this node, so that it cannot change."""
    kinds = {_LETTERS.match(row.device or "") for row in named}
    found = {match[0] for match in kinds if match is not None}
    if not window.where(BlockDevice, "kind", "disk"):
        return False
    return all(_disks_called(window, kind) == 1 for kind in found)


def _disks_called(window: Window, kind: str) -> int:
    """Return how many disks have a name that begins so."""

    def counted() -> int:
        return sum(row.device.startswith(kind) for row in window.where(BlockDevice, "kind", "disk"))

    return window.once(("disks called", kind), counted)


def _found(window: Window, holder: str, named: Sequence[DevicePath], count: int) -> Finding:
    moved = [row for row in named if row.moved]
    places = ((row.path, "" if row.path.endswith(f"/{row.place}") else f" ({row.place})") for row in named[:_SHOWN])
    listed = ", ".join(f"{path}{place}" for path, place in places)
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    kind = named[0].kind
    title, standing = "UNSTABLE DEVICE NAMES", True
    cause = f"{len(named)} of {human.plural(count, 'device')} configured by kernel name (/dev/sdX)."
    impact = "After a restart a name can refer to another disk."
    damage = Damage.AVAILABILITY
    if kind == "zfs":
        impact = "ZFS finds disks by label: a changed name only confuses people."
        damage = Damage.HYGIENE
    if moved:
        old, new = moved[0].path, moved[0].now or ""
        title, standing, damage = _moved(old, new, len(moved)), False, Damage.DATA if kind != "zfs" else damage
        rest = f"{len(named)} of {count} names can change."
        cause = fitting(f"{old} of {moved[0].place} is {new} now; {rest}", f"{old} is {new} now; {rest}", rest)
        impact = fitting(
            f"A restart can lose the device; commands to {old} can hit another.",
            "A restart can lose the device; commands can hit another disk.",
        )
    return Finding(
        severity=_severity(named, moved),
        subject=holder,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("unstable", "devices by kernel name", len(named), "", of=count),
            Value("devices", "devices", count),
            Value("moved", "devices with another name now", len(moved), "", above=0),
            Value("named", "their names", f"{listed}{more}"),
        ),
        evidence=cites(*(window.cite(row) for row in [*moved, *named][:_SHOWN])),
        advice=tuple(_advice(window, holder, named)),
        refuted_by="stable names in the configuration of these devices",
        harmless_if="udev rules pin the names, or the node has one disk",
        damage=damage,
        standing=standing,
        view="cluster" if kind == "powerflex" else "disks",
        view_subject=_viewed(window, (moved or named)[0]),
    )


def _viewed(window: Window, row: DevicePath) -> str:
    """Return the device as views name it: in a cluster its node and its own name, on this node its kernel name."""
    if row.kind != "powerflex":
        return row.device or ""
    devices = window.where(ClusterDevice, "node", row.place)
    known = next((each for each in devices if each.path in {row.path, row.now}), None)
    return f"{row.holder}/{row.place}" + (f"/{known.device}" if known is not None else "")


def _moved(old: str, new: str, count: int) -> str:
    if count > 1:
        return f"{count} DEVICE NAMES MOVED"
    named = f"DEVICE NAME MOVED: {_base(old)} is now {_base(new)}"
    return named if human.width_of(named) <= TITLE else "DEVICE NAME MOVED"


def _base(path: str) -> str:
    return human.safe(path.rpartition("/")[2])


def _severity(named: Sequence[DevicePath], moved: Sequence[DevicePath]) -> Severity:
    """Return the severity.

    ZFS finds its disks by their labels: a changed name only costs time at the import and is misleading.
    """
    if named[0].kind == "zfs":
        return Severity.INFO
    return Severity.CRITICAL if any(row.healthy == 0 for row in moved) else Severity.WARNING


def _advice(window: Window, holder: str, named: Sequence[DevicePath]) -> Iterator[Advice]:
    mine = [(row, name) for row in named if (name := _stable(window, row.device)) is not None]
    if named[0].kind == "powerflex":
        yield "Re-add devices by /dev/disk/by-path, one at a time, all copies healthy."
        yield run("scli", "--remove_sds_device", note="then wait for the rebuild")
        yield run("scli", "--add_sds_device", "--device_path", "/dev/disk/by-path/NAME")
        yield run("ls", "-l", "/dev/disk/by-path", note="the stable names, on that node")
        yield "Prefer by-path to by-id behind a RAID controller: a recreated RAID-0 has another WWN."
    elif named[0].kind == "zfs":
        yield run("zpool", "export", *operands(holder), note="the pool must not be in use")
        yield run("zpool", "import", "-d", "/dev/disk/by-path", *operands(holder), note="or by-id")
    elif "fstab" in holder:
        yield f"Put UUID= of the file system into {quoted(holder)}."
        yield run("blkid", "-o", "export", *operands(named[0].path))
    else:
        yield "Use ARRAY lines with UUID=, and DEVICE partitions."
        yield run("mdadm", "--detail", "--scan")
    for row, name in mine[:_SHOWN]:
        yield f"Stable name of {quoted(row.now or row.path)}: {quoted(name)}"


def _stable(window: Window, device: str | None) -> str | None:
    """Return a stable name of a local device: that of its slot, or else that of the disk."""
    row = window.get(BlockDevice, device) if device is not None else None
    if row is None:
        return None
    if row.by_path:
        return f"/dev/disk/by-path/{row.by_path}"
    return f"/dev/disk/by-id/{row.by_id}" if row.by_id else None


UNSTABLE_DEVICE_PATH = Rule(
    "unstable-device-path",
    "devices configured by kernel names (/dev/sdX) that can change at boot",
    Severity.CRITICAL,
    _check,
    (DevicePath,),
    covers=(Covers(DevicePath, "{holder}"),),
    damage=Damage.AVAILABILITY,
    standing=True,
    view="disks",
    advice="Re-add devices by /dev/disk/by-path, one at a time, all copies healthy.",
)
