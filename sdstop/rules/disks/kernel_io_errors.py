"""Devices with errors, timeouts or resets in the kernel's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from sdstop.analysis.tasks.kernel_log import (
    RECENT,
    amounts,
    by_thing,
    gap_in,
    in_force,
    is_recent,
    last_time,
    numbers,
    quoted,
    silence,
    since_last,
    worst,
)
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.collectors.kernel.kinds import LogEffect, Subject
from sdstop.collectors.kernel.message import LogPlace
from sdstop.collectors.kernel.readings import DiskLog, KernelComplaint, KernelLog
from sdstop.collectors.md.readings import Array
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Verdict, cites, passed
from sdstop.core.finding_text import TITLE, fitting
from sdstop.core.format import width_of
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_DISKS = frozenset({"disk", "nvme", "mmc", "nbd", "rbd", "aoe", "scini", "pmem"})
_TITLES: Mapping[str, str] = {
    "write-lost": "WRITES LOST", "device-gone": "DISK DISABLED after errors", "controller-fault": "CONTROLLER FAULT",
    "member-failed": "MEMBER FAILED", "array-failed": "ARRAY FAILED", "pool-suspended": "POOL SUSPENDED",
    "thin-full": "THIN POOL FULL", "thin-readonly": "THIN POOL READ-ONLY", "thin-failed": "THIN POOL FAILED",
    "snapshot-invalid": "SNAPSHOT INVALID", "cache-failed": "CACHE FAILED", "server-silent": "SERVER DOES NOT ANSWER",
    "split-brain": "SPLIT BRAIN", "journal-missing": "JOURNAL MISSING", "volume-readonly": "VOLUME READ-ONLY",
    "bitmap-lost": "BITMAP DISABLED after errors",
    "beyond-end": "REQUESTS BEYOND THE END", "duplicate-id": "DUPLICATE IDENTIFIER",
    "controller-alarm": "CONTROLLER ALARM", "controller-fatal": "FATAL CONTROLLER EVENT",
    "failure-predicted": "DISK PREDICTS ITS FAILURE", "pending-sectors": "UNREADABLE SECTORS",
    "degraded-array": "ARRAY DEGRADED", "capacity-error": "CAPACITY NOT READABLE",
    "controller-hot": "CONTROLLER TOO HOT", "paths-gone": "ALL PATHS LOST", "session-lost": "SESSION LOST",
    "read-only-write": "WRITES TO A READ-ONLY DEVICE",
}  # fmt: skip
"""Titles of kinds that are more than a number."""
_IMPACTS: Mapping[str, str] = {
    "write-lost": "Data that programs had written did not reach the device.",
    "controller-alarm": "A disk, a volume or the cache of the controller has a fault.",
    "controller-fatal": "A disk, a volume or the cache of the controller has failed.",
    "failure-predicted": "The disk reports that it fails soon.",
    "pending-sectors": "Reads of these sectors fail unless an array repairs them.",
    "critical-warning": "The disk reports a fault of its own.",
    "selftest-failed": "The disk found a fault in a test of itself.",
    "member-failed": "The array has lost a member and, with it, redundancy.",
    "controller-hot": "The controller throttles, or shuts down to protect itself.",
    "paths-gone": "No request reaches the disk until one of its paths works again.",
    "session-lost": "Requests to the disks of this session fail, or take another path.",
    "read-only-write": "The kernel passes these writes on; a start after an error can fail.",
    "thin-low": "Writes to the volumes of the pool wait or fail once it is full.",
    "degraded-array": "Another failed disk can lose the data of the array.",
}
"""Impacts of kinds that differ from those of their effect."""
_LINKS = frozenset(
    {"link-error", "link-reset", "link-slow", "link-down", "timeout", "abort", "reset", "transport-error"}
)
_MEDIUM = frozenset(
    {"medium-error", "sense-medium", "sense-hardware", "read-unrepaired", "read-repaired", "pending-sectors"}
)


def _check(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Judge each run of the log once: nothing changes between runs, and disks are many."""
    devices = window.now.run_of(BlockDevice)
    key = ("kernel-io-errors", None if devices is None else devices.started, *limits.values())
    return window.of_run(KernelLog, key, lambda: list(_said(window, limits)))


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    log = next(iter(window.rows(KernelLog).values()), None)
    if log is None:
        return
    found = by_thing(window, Subject.DEVICE)
    disks = window.of_run(
        BlockDevice, "whole disks",
        lambda: {row.device for row in window.rows(BlockDevice).values() if row.kind in _DISKS and row.parent is None},
    )  # fmt: skip
    said = set()
    for name, rows in found.items():
        finding = _judged(window, name, rows, limits, is_present=name in disks)
        if finding is not None:
            said.add(name)
            yield finding
    silent = sorted(disks - said)
    gap = gap_in(log, requests=True)
    if gap is None:
        yield from passed(silent or (() if said else ("kernel log",)), f"0 errors and delays logged {silence(log)}")
    elif silent:
        yield replace(gap, subject=silent[0], others=tuple(silent[1:]))
    elif not said:
        yield gap
    yield from _quiet(found, said, disks, silence(log))


def _quiet(found: Mapping[str, object], said: set[str], disks: set[str], when: str) -> Iterator[Verdict]:
    """Yield a verdict on things that the log mentions without an error, such as a link reset at hot-plug."""
    yield from passed(sorted(found.keys() - said - disks), f"0 errors and delays logged {when}")


def _judged(
    window: Window, name: str, every: Sequence[KernelComplaint], limits: Limits, *, is_present: bool
) -> Finding | None:
    """Return a finding about a device, None if its messages are normal."""
    rows = in_force(every)
    over = [row for row in every if row.effect not in {LogEffect.CLEARED, LogEffect.NOTICE} and row not in rows]
    recent = [row for row in rows if is_recent(row, limits["recent"])]
    severity = _severity(recent, limits)
    lasting = [row for row in rows if row.effect is LogEffect.GONE and _lasts(row, limits, is_present=is_present)]
    if severity is None and lasting:
        return _finding(window, name, lasting, Severity.WARNING)
    if severity is not None:
        if severity is Severity.CRITICAL and (_has_other_path(window, name) or _is_lost_member(window, recent)):
            return replace(_finding(window, name, recent, Severity.WARNING), damage=Damage.REDUNDANCY)
        return _finding(window, name, recent, severity)
    old = [row for row in (*rows, *over) if row.effect is not LogEffect.NOTICE]
    return _finding(window, name, old, Severity.INFO, is_old=not any(row in recent for row in old)) if old else None


def _has_other_path(window: Window, name: str) -> bool:
    """Return whether a disk is a path of a multipath map that has active ones: its requests take another path."""
    maps = {row.mapping for row in window.where(MultipathPath, "path", name)}
    return any(row.mapping in maps and row.active for row in window.rows(MultipathState).values())


def _is_lost_member(window: Window, recent: Sequence[KernelComplaint]) -> bool:
    """Return whether the worst is that arrays went on without a disk: where they are known, their rules judge it."""
    gone = {row.kind for row in recent if row.effect is LogEffect.GONE}
    return gone == {"member-failed"} and bool(window.rows(Array))


def _lasts(row: KernelComplaint, limits: Limits, *, is_present: bool) -> bool:
    """Return whether harm that is no longer recent is still to be repaired."""
    lost = row.kind in {"write-lost", "failure-predicted", "controller-fatal"} or (
        row.kind in {"device-gone", "controller-fault"} and not is_present
    )
    return lost and (row.ago is None or row.ago <= limits["lasting"])


def _severity(recent: Sequence[KernelComplaint], limits: Limits) -> Severity | None:
    if any(row.effect is LogEffect.GONE for row in recent):
        return Severity.CRITICAL
    failed = [row for row in recent if row.effect is LogEffect.FAILED]
    if sum(row.minute or 0 for row in failed) >= limits["storm"]:
        return Severity.CRITICAL
    delays = [row for row in recent if row.effect is LogEffect.DELAYED]
    timeouts = any(row.kind in {"timeout", "server-silent", "pcie-fatal", "controller-hot"} for row in delays)
    if failed or timeouts or sum(row.count for row in delays) >= limits["delays"]:
        return Severity.WARNING
    if sum(row.minute or 0 for row in recent) >= limits["notices"]:
        return Severity.WARNING
    return None


def _finding(
    window: Window, name: str, rows: Sequence[KernelComplaint], severity: Severity, *, is_old: bool = False
) -> Finding:
    first = worst(rows)
    in_minute = amounts(rows, minute=True)
    total = amounts(rows, minute=False)
    worst_kind, worst_total = in_minute.partition(" and ")[0], total.partition(" and ")[0]
    if in_minute:
        cause = fitting(*(f"The kernel logged {each} in the last minute." for each in (in_minute, worst_kind)))
    else:
        cause = fitting(*(f"The kernel logged {each}{since_last(window, rows)}." for each in (total, worst_total)))
    return Finding(
        severity=severity,
        subject=name,
        title=_title(first, rows),
        cause=fitting(cause, "The kernel logged errors of this device."),
        impact=_impact(first, last_time(window, rows) if is_old else ""),
        values=numbers(rows),
        evidence=cites(*quoted(window, rows)),
        advice=_advice(name, rows),
        refuted_by="a kernel log without these messages",
        harmless_if="the device was removed or reset on purpose",
        damage=_damage(first),
        standing=severity is Severity.INFO,
    )


def _title(first: KernelComplaint, rows: Sequence[KernelComplaint]) -> str:
    known = _TITLES.get(first.kind)
    if known is not None:
        return known
    titles = [f"KERNEL LOG: {amounts(rows, minute=minute).partition(' and ')[0].upper()}" for minute in (True, False)]
    fit = (title for title in titles if not title.endswith(": ") and width_of(title) <= TITLE)
    return next(fit, "ERRORS IN KERNEL LOG")


def _impact(first: KernelComplaint, last: str) -> str:
    if last:
        return f"No further message: the last was {last}."
    if first.kind in _IMPACTS:
        return _IMPACTS[first.kind]
    match first.effect:
        case LogEffect.GONE:
            return "Requests to the device fail until it is repaired."
        case LogEffect.FAILED:
            return "Programs get I/O errors unless an array or a file system repairs them."
        case LogEffect.DELAYED:
            return "Requests can wait for seconds while the kernel recovers the device."
        case _:
            return "Each of these events can delay requests."


def _damage(first: KernelComplaint) -> Damage:
    if first.kind == "write-lost":
        return Damage.DATA
    return Damage.SPEED if first.effect in {LogEffect.DELAYED, LogEffect.NOTICE} else Damage.AVAILABILITY


def _advice(name: str, rows: Sequence[KernelComplaint]) -> tuple[Advice, ...]:
    kinds, places = {row.kind for row in rows}, {row.place for row in rows}
    first = "Find the cause in the messages around these."
    if kinds & {"controller-alarm", "controller-fatal"}:
        first = "Ask the program of the controller: storcli, perccli or ssacli."
    elif LogPlace.SERVER in places:
        first = "Check the server and the network to it."
    elif "failure-predicted" in kinds:
        first = "Replace the disk."
    elif kinds & _MEDIUM:
        first = "Replace the disk if the errors recur; arrays rewrite single blocks."
    elif kinds & _LINKS:
        first = "Check the disk, its cable, its slot and the HBA."
    look = run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40")
    smart = (
        [run("smartctl", "-x", f"/dev/{name}")] if LogPlace.DISK in places and name[:2] in {"sd", "nv", "hd"} else []
    )
    return (first, look, *smart)


KERNEL_IO_ERRORS = Rule(
    "kernel-io-errors",
    "disks, controllers and sessions with errors, timeouts or resets in the kernel's log",
    Severity.CRITICAL,
    _check,
    (KernelLog,),
    (
        RECENT,
        Threshold("lasting", 86400.0, "age in seconds up to which lost writes and disabled disks count", "seconds"),
        Threshold("storm", 10.0, "failed requests of a device in one minute that are critical"),
        Threshold("delays", 2.0, "minimum aborts, resets and repaired errors"),
        Threshold("notices", 20.0, "messages about harmless events in one minute that are too many"),
    ),
    covers=(
        Covers(BlockDevice, where=lambda row: row.kind in _DISKS and row.parent is None),
        Covers(DiskLog),
    ),
    explains=("filesystem-errors", "filesystem-readonly", "disk-unused"),
    many="have errors in the kernel log",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Read the messages about {subject} in the kernel log, the first one first.",
)
