"""Logs that promise durability, on a RAM disk or in a file: SLOG, md journal, external log of a file system."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Member
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.model import Reading
from sdstop.core.rule import Limits, Rule

_RAM = frozenset({"ram", "zram"})
_FILES_IN_RAM = ("/dev/shm/", "/run/")  # noqa: S108  # where files are looked for, none is made


class _Log(Struct, frozen=True):
    """A log: its owner, its device as the owner names it, that device's kind, and the row that names it."""

    owner: str
    what: str
    device: str
    kind: str | None
    row: Reading
    advice: Advice


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    good: dict[str, list[str]] = {}
    for log in _logs(window):
        if log.kind is None:
            yield Unchecked(f"kind of the log device {human.safe(log.device, 30)} unknown", log.owner)
        elif log.kind in _RAM or log.kind in {"loop", "file"}:
            yield _finding(window, log)
        else:
            good.setdefault(f"all logs on block devices: {log.kind}", []).append(log.owner)
    for said, owners in good.items():
        yield from passed(owners, said)


def _logs(window: Window) -> Iterator[_Log]:
    for vdev in window.rows(Vdev).values():
        if vdev.group == "logs" and vdev.leaf:
            path = vdev.vdev.rpartition("/")[2] if vdev.device is None else vdev.device
            kind = "file" if vdev.kind == "file" else _kind(window, vdev.device)
            remove = run("zpool", "remove", *operands(vdev.pool, vdev.vdev), note="removes the log device")
            yield _Log(vdev.pool, "The intent log of the pool", path, kind, vdev, remove)
    for member in window.rows(Member).values():
        if member.state == "journal":
            show = run("mdadm", "--detail", f"/dev/{member.array}", note="members and journal")
            kind = _kind(window, member.device)
            yield _Log(member.array, "The write journal of the array", member.device, kind, member, show)
    for mount in window.rows(MountPoint).values():
        if mount.log is not None:
            thing = window.topology.named(Naming.LINK, mount.log.removeprefix("/dev/"))
            device = thing.device if thing is not None and thing.device else mount.log.removeprefix("/dev/")
            show = run("findmnt", "-no", "OPTIONS", *operands(mount.point), note="logdev")
            yield _Log(mount.point, "The log of the file system", device, _kind(window, device), mount, show)


def _kind(window: Window, device: str | None) -> str | None:
    """Return the kind of a device, or of the lowest device that it is stored on if that is a RAM disk or a file."""
    row = window.get(BlockDevice, device) if device is not None else None
    if row is None:
        return None
    below = [window.get(BlockDevice, name) for name in window.topology.devices(row.device)]
    odd = next((each.kind for each in below if each is not None and (each.kind in _RAM or each.kind == "loop")), None)
    return odd or row.kind


def _finding(window: Window, log: _Log) -> Finding:
    ram = log.kind in _RAM
    device = window.get(BlockDevice, log.device)
    file = device.backing_file if device is not None else None
    in_ram = ram or (file or "").startswith(_FILES_IN_RAM)
    where = "a RAM disk" if ram else "a file in memory" if in_ram else "a file"
    return Finding(
        severity=Severity.CRITICAL if in_ram else Severity.WARNING,
        subject=log.owner,
        title="LOG DEVICE ON A RAM DISK" if ram else "LOG DEVICE IN A FILE",
        cause=f"{log.what} is on {human.safe(log.device, 16)}, {where}.",
        impact=(
            "A crash loses synchronous writes that were reported as stored."
            if in_ram
            else "Each synchronous write goes through another file system."
        ),
        values=(
            Value("device", "log device", log.device),
            Value("kind", "kind of device", log.kind),
            Value("file", "file behind it", file),
        ),
        evidence=cites(window.cite(log.row), window.cite(device) if device is not None else None),
        advice=("Put the log on a disk with power-loss protection, mirrored if possible.", log.advice),
        refuted_by="a disk below the log device in lsblk -s",
        harmless_if="the data need not survive a crash",
        damage=Damage.DATA if in_ram else Damage.SPEED,
    )


LOG_DEVICE_VOLATILE = Rule(
    "log-device-volatile",
    "intent log, journal or file system log on a RAM disk or in a file",
    Severity.CRITICAL,
    _check,
    (BlockDevice,),
    covers=(),
    damage=Damage.DATA,
    standing=True,
    view="disks",
    advice="Put the log on a disk with power-loss protection, mirrored if possible.",
)
