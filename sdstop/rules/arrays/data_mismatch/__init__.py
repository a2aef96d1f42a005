"""Data that differs from its copy, parity or checksum: found by md, LVM, DRBD, dm-integrity or dm-verity.

md(4), "Scrubbing and mismatches": on a clean RAID5 or RAID6 any mismatch indicates a hardware problem at some level. On
RAID1 and RAID10 software can cause mismatches: memory that changes while it is written to both legs, typically swap;
the data need not be corrupt. So few mismatches of a mirror are info, and more than `mirror_share` of it a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.devicemapper.readings import ChecksummedDevice
from sdstop.collectors.drbd.readings import resource_argument
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import folder
from sdstop.rules.arrays.data_mismatch.checksums import checksum_errors

_COMPARE = frozenset({"check", "repair", "verify"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(Mismatch).values():
        yield _judged(window, row, limits)
    yield from checksum_errors(window)


def _judged(window: Window, row: Mismatch, limits: Limits) -> Verdict:
    if row.found_by not in _COMPARE:
        if row.kind == "lvm":
            return Unchecked("0 mismatches; the kernel does not report whether a check ran", row.thing, calm=True)
        if row.running:
            return Unchecked(f"{row.found_by} running; its counter is not of mismatches", row.thing, calm=True)
        if row.differ:
            source = row.found_by or "an unknown action"
            return Unchecked(f"{human.quantity(row.differ, 'bytes')} counted by {source}", row.thing, calm=True)
        return Unchecked("no check since the array was assembled", row.thing, calm=True)
    if row.differ is None:
        return Unchecked("number of differing blocks unknown", row.thing)
    if not row.differ:
        which = "running" if row.running else "last"
        found = (
            "0 B out of sync while both sides are UpToDate" if row.kind == "drbd" else f"{which} {row.found_by}: 0 B"
        )
        return RuledOut(row.thing, found)
    return _replica(window, row, row.differ) if row.kind == "drbd" else _array(window, row, row.differ, limits)


def _array(window: Window, row: Mismatch, size: int, limits: Limits) -> Finding:
    repaired = row.found_by == "repair"
    share = size / row.size if row.size else None
    few = row.mirror and share is not None and share <= limits["mirror_share"]
    found = f"The {'running' if row.running else 'last'} {row.found_by} found {human.quantity(size, 'bytes')}"
    if repaired:
        fault, cause = "MISMATCHES REPAIRED", f"{found} that differ and rewrote them."
        impact = "Copies and parity agree again; data that was wrong stays wrong."
    elif row.mirror:
        fault, cause = "COPIES DIFFER", f"{found} that differ between the copies."
        impact = "One copy can be wrong; swap on a mirror differs without damage."
    else:
        fault, cause = "PARITY MISMATCH", f"{found} that differ from their parity."
        impact = "A disk, controller, cable or memory corrupts data."
    return Finding(
        severity=Severity.INFO if few or repaired else Severity.WARNING,
        subject=row.thing,
        title=f"{fault}: {human.quantity(size, 'bytes')}",
        cause=cause,
        impact=impact,
        values=(
            Value("mismatch", "mismatches", size, "bytes", above=0),
            Value(
                "share",
                "share of the array",
                share,
                "ratio",
                above=limits["mirror_share"] if row.mirror and not few else None,
            ),
            Value("action", "found by", row.found_by),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row)),
        refuted_by=f"0 in {'dmsetup status' if row.kind == 'lvm' else 'mismatch_cnt'} after another check",
        harmless_if="swap is on this mirror" if row.mirror else "",
    )


def _advice(row: Mismatch) -> Iterator[Advice]:
    action = f"{folder(row.thing)}/sync_action"
    if row.mirror:
        yield "Check whether swap is on this array: it explains mismatches."
        yield run("swapon", "--show")
    else:
        yield "Verify the data first: repair only makes parity fit the data."
    log = run("journalctl", "-k")
    if row.kind == "lvm":
        yield log.pipe("grep", "-i", "-e", "I/O error", "-e", "md/raid")
        yield run("lvchange", "--syncaction", "check", *operands(row.thing), note="repeat the check, and compare")
        yield run("lvs", "-o", "name,raid_mismatch_count,raid_sync_action", *operands(row.thing))
        yield run("lvchange", "--syncaction", "repair", *operands(row.thing), note="rewrites parity or copies")
        return
    yield log.pipe("grep", "-i", "-e", "I/O error", "-e", row.thing)
    yield run("echo", "check", into=action, note="repeat the check, and compare")
    yield run("echo", "repair", into=action, note="rewrites parity, or copies one leg to the other")


def _replica(window: Window, row: Mismatch, size: int) -> Finding:
    resource = row.thing.partition("/")[0]
    name = operands(resource_argument(resource))
    peer = human.safe(row.peer or "its peer", 20)
    return Finding(
        severity=Severity.WARNING,
        subject=row.thing,
        title=f"REPLICAS DIFFER: {human.quantity(size, 'bytes')}",
        cause=f"{human.quantity(size, 'bytes')} differ from {peer}; both sides are UpToDate.",
        impact="No resync corrects them: after a failover, other data can be read.",
        values=(Value("mismatch", "out of sync", size, "bytes", above=0), Value("action", "found by", row.found_by)),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the right side first: a resync copies Primary to Secondary.",
            run("journalctl", "-k", note="sectors out of sync").pipe("grep", "Out of sync"),
            run("drbdadm", "disconnect", *name),
            run("drbdadm", "connect", *name, note="resyncs them"),
        ),
        refuted_by="0 out of sync after a resync and another verify",
        explains=(f"cluster-degraded:{resource}",),
        view_subject=resource,
    )


DATA_MISMATCH = Rule(
    "data-mismatch",
    "copies, parity or checksums that differ: md, LVM, DRBD, dm-integrity",
    Severity.WARNING,
    _check,
    (Mismatch,),
    covers=(Covers(Mismatch), Covers(ChecksummedDevice, subject="{volume}")),
    instead=(ChecksummedDevice,),
    thresholds=(
        Threshold(
            "mirror_share", 0.001, "share of a RAID1 or RAID10 below which mismatches are info (md(4): swap)", "ratio"
        ),
    ),
    damage=Damage.DATA,
    view="disks",
    advice="Verify the data of {subject} first: repair only makes parity fit it.",
)
