"""Devices configured by a kernel name (/dev/sdX), which can refer to another device after a reboot."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from sdstop.collectors.block.devices import BlockDevice
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.device_names import DevicePath, unstable

_SHOWN = 4
_LETTERS = re.compile("sd|hd|xvd|vd|nvme")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    holders: dict[str, list[DevicePath]] = defaultdict(list)
    for row in window.rows(DevicePath).values():
        holders[row.holder].append(row)
    for holder, rows in sorted(holders.items()):
        named = [row for row in rows if unstable(row.path)]
        if named and rows[0].kind == "file" and _alone(window, named):
            yield RuledOut(holder, f"{named[0].path} is named as it may change, and is of the node's only such disk")
        elif named:
            yield _found(window, holder, named, len(rows))
        else:
            yield RuledOut(holder, f"all {len(rows)} devices are known by names that stay")


def _alone(window: Window, named: Sequence[DevicePath]) -> bool:
    """Return whether each name is of a kind with only one disk on this node, so that it cannot change."""
    disks = [row.device for row in window.rows(BlockDevice).values() if row.kind == "disk"]
    kinds = {_LETTERS.match(row.device or "") for row in named}
    found = {match[0] for match in kinds if match is not None}
    return bool(disks) and all(sum(disk.startswith(kind) for disk in disks) == 1 for kind in found)


def _found(window: Window, holder: str, named: Sequence[DevicePath], count: int) -> Finding:
    moved = [row for row in named if row.moved]
    places = ((row.path, "" if row.path.endswith(f"/{row.place}") else f" ({row.place})") for row in named[:_SHOWN])
    listed = ", ".join(f"{path}{place}" for path, place in places)
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    now = f"; {len(moved)} moved: {moved[0].path} ({moved[0].place}) is {moved[0].now} now" if moved else ""
    return Finding(
        severity=_severity(named, moved),
        subject=holder,
        cause=(
            f"{len(named)} of {count} devices are found by a name that may move at the next start: {listed}{more}{now}"
        ),
        values=(
            Value("unstable", "devices by a name that may change", len(named), "", above=0),
            Value("devices", "devices", count),
            Value("moved", "of these under another name now", len(moved), "", above=0),
        ),
        evidence=cites(*(window.cite(row) for row in [*moved, *named][:_SHOWN])),
        advice=tuple(_advice(window, holder, named)),
        refuted_by="udev rules that keep the names, or a node with one disk",
    )


def _severity(named: Sequence[DevicePath], moved: Sequence[DevicePath]) -> Severity:
    """Return the severity.

    ZFS finds its disks by their labels: a changed name only costs time at the import and is misleading.
    """
    if named[0].kind == "zfs":
        return Severity.INFO
    return Severity.CRITICAL if any(row.healthy == 0 for row in moved) else Severity.WARNING


def _advice(window: Window, holder: str, named: Sequence[DevicePath]) -> Iterator[str]:
    mine = [(row, name) for row in named if (name := _stable(window, row.device)) is not None]
    for row, name in mine[:_SHOWN]:
        yield f"{_first(row.now or row.path)} is {quoted(name)}"
    if named[0].kind == "powerflex":
        yield (
            "one by one, while all data has its copies: scli --remove_sds_device, wait for the rebuild, then "
            "scli --add_sds_device --device_path /dev/disk/by-path/NAME   # ls -l /dev/disk/by-path on that node"
        )
        yield "by-path, not by-id, where a RAID controller makes a RAID-0 of each disk: made anew it has another WWN"
    elif named[0].kind == "zfs":
        yield (
            f"zpool export {operand(holder)}; zpool import -d /dev/disk/by-path {operand(holder)}"
            "   # or by-id, while nobody uses it"
        )
    elif "fstab" in holder:
        yield f"blkid -o export {operand(named[0].path)}   # put UUID= of its file system into {quoted(holder)}"
    else:
        yield "mdadm --detail --scan   # ARRAY lines with UUID=, and DEVICE partitions in place of names"


def _first(path: str) -> str:
    """Return a path to begin a line with; a path outside /dev could be a program's and is prefixed with a word."""
    word = quoted(path)
    return word if word.startswith("/dev/") and ".." not in word else f"device {word}"


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
    "devices are known by names that another one may bear after the next start",
    Severity.CRITICAL,
    _check,
    (DevicePath,),
    covers=(Covers(DevicePath, "{holder}"),),
)
