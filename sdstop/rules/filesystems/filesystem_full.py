"""Local file systems without space or inodes left, or nearly."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.filling import Filling, filling
from sdstop.collectors.block.mount_readings import FilesystemSpace, MountPoint
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_BOOT = frozenset({"/boot", "/boot/efi", "/efi"})
"""Where only updates write: once they are full, updates fail, and nothing that runs."""
_NEVER_WRITTEN = frozenset({"cramfs", "erofs", "iso9660", "romfs", "squashfs", "udf"})


_IN_MEMORY = {
    "/run": "Services, udev and LVM cannot write their state and locks.",
    "/run/lock": "LVM and other programs cannot take their locks.",
    "/dev/shm": "Programs that share memory end or fail; Corosync refuses clients.",  # noqa: S108
}
"""What fails once a file system in memory is full."""
_OF_ONE_USER = ("/run/user/", "/run/credentials/", "/run/containers/", "/var/lib/")


def _is_judged(row: FilesystemSpace) -> bool:
    """Return whether it is stored on a device or pool of this node, or in memory that services share."""
    return row.device is not None or row.dataset is not None or _is_in_memory(row)


def _is_in_memory(row: FilesystemSpace) -> bool:
    return "tmpfs" in {row.type, row.source_name} and not row.point.startswith(_OF_ONE_USER)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(FilesystemSpace).values():
        if _is_judged(row):
            yield _judged(window, row, limits)


def _judged(window: Window, row: FilesystemSpace, limits: Limits) -> Verdict:
    if row.hung is not None:
        return Unchecked(f"statvfs has not returned for {human.duration(row.hung)}", row.point, gap=Gap.FAULTY)
    if row.state == "read-only" or (row.state is None and _is_mounted_read_only(window, row)):
        return Unchecked("mounted read-only", row.point, calm=True)
    if row.type in _NEVER_WRITTEN or (row.type is None and row.source_name.startswith(("/dev/loop", "/dev/sr"))):
        return Unchecked(f"{row.type or 'an image'}: always full, never written", row.point, calm=True)
    inodes = _inodes(row, limits)
    if row.share is None:
        if inodes is not None:
            return _out_of_inodes(window, row, inodes, limits)
        why = f"not queried: {human.safe(row.unasked, 50)}" if row.unasked else "size not reported"
        return Unchecked(why, row.point, calm=row.unasked is not None)
    known = _trend(window, row)
    data = _space(row, known, limits)
    if data is None and inodes is None:
        return RuledOut(row.point, _good(row, known))
    if inodes is not None and (data is None or inodes.rank > data.rank):
        return _out_of_inodes(window, row, inodes, limits)
    severity = Severity.WARNING if data is None or row.point in _BOOT else data
    return _full(window, row, severity, known, limits)


def _is_mounted_read_only(window: Window, row: FilesystemSpace) -> bool:
    """Return whether the table of mounts has it as read-only; df has no such state."""
    mount = window.get(MountPoint, row.point)
    return mount is not None and mount.access == "ro"


def _good(row: FilesystemSpace, known: Filling | None) -> str:
    free = f", {human.quantity(row.available, 'bytes')} available" if row.available is not None else ""
    inodes = row.inodes_share
    return (
        f"{human.percent(row.share)}% used{free}{known.words if known else ''}"
        f"{f', inodes {human.percent(inodes)}%' if inodes is not None else ''}"
    )


def _trend(window: Window, row: FilesystemSpace) -> Filling | None:
    """Return the trend over the window; what users can have is the size."""
    samples = [
        (at, float(then.used))
        for at, then in window.series(FilesystemSpace, row.point)
        if then and then.used is not None
    ]
    return filling(samples, float((row.used or 0) + (row.available or 0)))


def _space(row: FilesystemSpace, known: Filling | None, limits: Limits) -> Severity | None:
    """Return how severe the lack of space is; much free space is enough at any share."""
    share, free = row.share or 0.0, row.available
    left = known.full_in if known is not None else None
    if _is_in_memory(row):
        return _memory(row, limits)
    if free == 0:
        return Severity.CRITICAL
    if share < limits["near_full"] or (free is not None and free >= limits["roomy"]):
        return None
    scarce = free is None or free < limits["scarce"]
    soon = left is not None and left < limits["soon"]
    return Severity.CRITICAL if soon or (share >= limits["full"] and scarce) else Severity.WARNING


def _memory(row: FilesystemSpace, limits: Limits) -> Severity | None:
    """Return how severe the lack of space in memory is: databases fill most of /dev/shm once, and keep it."""
    share, essential = row.share or 0.0, row.point in _IN_MEMORY
    if row.available == 0:
        return Severity.CRITICAL if essential else Severity.WARNING
    return Severity.WARNING if share >= limits["full"] else None


def _inodes(row: FilesystemSpace, limits: Limits) -> Severity | None:
    share = row.inodes_share
    if share is None or share < limits["near_full"]:
        return None
    return Severity.CRITICAL if share >= limits["full"] else Severity.WARNING


def _full(window: Window, row: FilesystemSpace, severity: Severity, known: Filling | None, limits: Limits) -> Finding:
    left, share = row.available, row.share or 0.0
    free = f", {human.quantity(left, 'bytes')} available" if left else "" if left is None else ", nothing is available"
    return Finding(
        severity=severity,
        subject=row.point,
        title=f"FILE SYSTEM {'NEARLY ' if left != 0 else ''}FULL: {human.percent(share)}%",
        cause=f"{human.percent(share)}% used{free}{known.words if known and left != 0 else ''}.",
        impact=_impact(row),
        values=(
            Value(
                "filled",
                "space in use",
                share,
                "ratio",
                above=limits["near_full"] if share > limits["near_full"] else None,
            ),
            Value("available", "available to users", left, "bytes"),
            Value("size", "size", row.size, "bytes"),
            Value("rate", "growth", known.rate if known else None, "bytes_per_second"),
            Value("full_in", "full at this rate in", (known.full_in or None) if known else None, "seconds"),
            Value("inodes", "inodes in use", row.inodes_share, "ratio"),
            Value("type", "type", row.type),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row)),
        refuted_by=f"less than {human.percent(limits['near_full'])}% in df",
        harmless_if="it holds preallocated images that do not grow",
    )


def _impact(row: FilesystemSpace) -> str:
    if row.point in _BOOT:
        return "Updates of the kernel or of the boot loader fail once it is full."
    if row.available == 0 and row.point in _IN_MEMORY:
        return _IN_MEMORY[row.point]
    return "Writes will fail once it is full." if row.available != 0 else "Writes of users fail with ENOSPC."


def _advice(row: FilesystemSpace) -> Iterator[Advice]:
    yield "Find the largest directories; deleted files that are open count too."
    yield run("df", "-h", *operands(row.point))
    if _is_in_memory(row):
        yield run("mount", "-o", "remount,size=75%", *operands(row.point), note="larger, until the next boot")
    yield run("du", "-xh", "--max-depth=2", *operands(row.point)).pipe("sort", "-h").pipe("tail", "-20")
    yield run("lsof", "+L1", note="deleted files that are still open")
    if row.dataset is not None:
        yield run("zfs", "get", "quota,refquota,reservation,available", *operands(row.dataset))
        yield run("zfs", "list", "-t", "snapshot", "-o", "name,used", "-s", "used", "-r", *operands(row.dataset))
    elif row.type == "btrfs":
        yield run("btrfs", "filesystem", "usage", *operands(row.point), note="data and metadata")


def _out_of_inodes(window: Window, row: FilesystemSpace, severity: Severity, limits: Limits) -> Finding:
    share, left = row.inodes_share or 0.0, (row.inodes or 0) - (row.inodes_used or 0)
    return Finding(
        severity=severity,
        subject=row.point,
        title=f"{'OUT OF' if not left else 'FEW'} INODES: {human.percent(share)}% used",
        cause=f"{human.number(left)} of {human.number(row.inodes)} inodes are free.",
        impact=(
            "New files cannot be made, whatever space is free."
            if not left
            else "Once none is free, new files cannot be made."
        ),
        values=(
            Value(
                "inodes",
                "inodes in use",
                share,
                "ratio",
                above=limits["near_full"] if share > limits["near_full"] else None,
            ),
            Value("inodes_free", "free inodes", left, "", of=row.inodes),
            Value("filled", "space in use", row.share, "ratio"),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the directories with the most files.",
            run("df", "-i", *operands(row.point)),
            run("du", "-x", "--inodes", "--max-depth=3", *operands(row.point)).pipe("sort", "-n").pipe("tail", "-20"),
        ),
        refuted_by=f"less than {human.percent(limits['near_full'])}% in df -i",
    )


FILESYSTEM_FULL = Rule(
    "filesystem-full",
    "local file system out of space or inodes, or nearly",
    Severity.CRITICAL,
    _check,
    (FilesystemSpace,),
    covers=(Covers(FilesystemSpace, where=_is_judged),),
    thresholds=(
        Threshold("near_full", 0.9, "share of the space or inodes in use, warning", "ratio"),
        Threshold("full", 0.97, "share of the space or inodes in use, critical", "ratio"),
        Threshold("roomy", float(1 << 40), "available space that is enough at any share", "bytes"),
        Threshold("scarce", float(50 << 30), "available space below which a full share is critical", "bytes"),
        Threshold("soon", 600.0, "time until a nearly full one is full at its present rate, critical", "seconds"),
    ),
    damage=Damage.CAPACITY,
    view="volumes",
    advice="Find the largest directories; deleted files that are open count too.",
)
