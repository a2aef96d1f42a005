"""File systems that /etc/fstab mounts at boot, and that are not mounted: programs write to the directory below."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from sdstop.analysis.space.filesystem_state import name_of
from sdstop.collectors.block.mount_readings import FilesystemSpace, FstabEntry, MountPoint
from sdstop.collectors.system.readings import Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.device_names import FSTAB

_AUTOMATIC = frozenset({"x-systemd.automount", "comment=systemd.automount"})
_TEXT = "cmd:mount"
_UNIT = expression(r"[a-zA-Z0-9_./]{1,80}")
"""Paths that systemd's escaping changes only by their slashes."""


def _words(row: FstabEntry) -> frozenset[str]:
    return frozenset((row.options or "").split(","))


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    mounts = {row.point: row for row in window.rows(MountPoint).values()}
    entries = {row.point: row for row in window.rows(FstabEntry).values()}
    good: list[str] = []
    for row in entries.values():
        verdict = _judged(window, row, entries, mounts, limits)
        if verdict is None:
            good.append(row.point)
        else:
            yield verdict
    yield from passed(good, f"{human.plural(len(good), 'mount point')} of /etc/fstab mounted")


def _judged(
    window: Window,
    row: FstabEntry,
    entries: Mapping[str, FstabEntry],
    mounts: Mapping[str, MountPoint],
    limits: Limits,
) -> Verdict | None:
    """Return the verdict, None if the file system is mounted."""
    words = _words(row)
    if row.mounted == 1 or (row.mounted is None and row.point in mounts):
        return None
    if "noauto" in words and not words & _AUTOMATIC:
        return RuledOut(row.point, "not mounted, and all options include noauto")
    if row.mounted is None:
        return Unchecked(_unknown(mounts), row.point, calm="/" not in mounts, gap=Gap.UNRECORDED)
    if row.options is None:
        return Unchecked("not mounted; options not recorded (noauto?)", row.point, gap=Gap.UNRECORDED)
    run_of = window.now.run_of(FstabEntry)
    if run_of is not None and run_of.defects:
        return Unchecked("the table of mounts may be cut off", row.point, gap=Gap.FAULTY)
    other, certain = _elsewhere(window, row, entries, mounts)
    if other is not None and certain:
        return RuledOut(row.point, f"1 device, mounted on {human.safe(other, 40)}")
    node = next(iter(window.rows(Node).values()), None)
    up = node.uptime if node is not None else None
    if up is not None and up < limits["booting"]:
        return Unchecked(f"not mounted {human.duration(up)} after boot", row.point, gap=Gap.SIGNS)
    calm = "nofail" in words or other is not None
    return _finding(window, row, mounts, Severity.INFO if calm else Severity.WARNING)


def _unknown(mounts: Mapping[str, MountPoint]) -> str:
    if any(row.origin == _TEXT for row in mounts.values()) and "/" in mounts:
        return "not in the recorded output of mount"
    return "table of mounts not recorded, or that of a container"


def _elsewhere(
    window: Window, row: FstabEntry, entries: Mapping[str, FstabEntry], mounts: Mapping[str, MountPoint]
) -> tuple[str | None, bool]:
    """Return where the file system is mounted that /etc/fstab does not have, and whether that is certain.

    The directory is a link to it then. Without the path of its device, one of the same type may be it.
    """
    device = name_of(window, row.path) if row.path is not None else None
    others = [mount for mount in mounts.values() if mount.point not in entries and mount.filesystem == row.filesystem]
    for mount in others:
        if device is not None and mount.device is not None and name_of(window, mount.device) == device:
            return mount.point, True
    return (others[0].point, False) if device is None and others else (None, False)


def _finding(window: Window, row: FstabEntry, mounts: Mapping[str, MountPoint], severity: Severity) -> Finding:
    point, below = human.safe(row.point, 36), _below(row.point, mounts)
    space = window.get(FilesystemSpace, below.point) if below is not None else None
    return Finding(
        severity=severity,
        subject=row.point,
        title="NOT MOUNTED, though in /etc/fstab",
        cause=fitting(f"/etc/fstab has {point}, and the table of mounts does not.", "The table of mounts lacks it."),
        impact=fitting(
            f"Programs write to the directory {point}, on the file system of {below.point}."
            if below is not None
            else f"Programs write to the directory {point} instead.",
            f"Programs write to the directory {point} instead.",
            "Programs write to the directory below it instead.",
        ),
        values=(
            Value("device", "device in /etc/fstab", row.path),
            Value("filesystem", "type", row.filesystem),
            Value("options", "options", row.options or None),
            Value("below", "file system that is written", below.point if below is not None else None),
            Value("available", "available there", space.available if space is not None else None, "bytes"),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row)),
        refuted_by="a line of findmnt for the mount point",
        harmless_if="it was unmounted on purpose, or the directory is a link to another mount point",
        damage=Damage.AVAILABILITY,
    )


def _below(point: str, mounts: Mapping[str, MountPoint]) -> MountPoint | None:
    """Return the mount point that the directory is on; None if that is not stored on a device of this node."""
    while point != "/":
        point = posixpath.dirname(point)
        if point in mounts:
            return mounts[point]
    return None


def _advice(row: FstabEntry) -> Iterator[Advice]:
    yield "Stop the programs that use the directory; find out why; then mount it."
    if _UNIT.fullmatch(row.point) and row.point != "/":
        yield run("systemctl", "status", f"{row.point.strip('/').replace('/', '-')}.mount")
    yield run("ls", "-la", *operands(row.point), note="files written since, which the mount will hide")
    yield run("mount", *operands(row.point))
    yield run("findmnt", "--verify", note="errors in /etc/fstab")


MOUNT_MISSING = Rule(
    "mount-missing",
    f"file system of {FSTAB} that is not mounted",
    Severity.WARNING,
    _check,
    (FstabEntry,),
    (Threshold("booting", 300.0, "time since boot within which file systems may still be mounted", "seconds"),),
    covers=(Covers(FstabEntry),),
    many="are not mounted",
    damage=Damage.AVAILABILITY,
    view="volumes",
    advice="Stop the programs that use the directory; find out why; then mount it.",
)
