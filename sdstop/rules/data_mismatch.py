"""Copies or parity that differ: mismatches of a check of md, blocks that an online verify of DRBD found out of sync.

md(4), "Scrubbing and mismatches": on a clean RAID5 or RAID6 any mismatch indicates a hardware problem at some level. On
RAID1 and RAID10 software can cause mismatches: memory that changes while it is written to both legs, typically swap;
the data need not be corrupt. So few mismatches of a mirror are info, and more than `mirror_share` of it a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.connections import resource_argument
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import folder

_COMPARE = frozenset({"check", "repair", "verify"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(Mismatch).values():
        yield _judged(window, row, limits)


def _judged(window: Window, row: Mismatch, limits: Limits) -> Verdict:
    if row.found_by not in _COMPARE:
        if row.running:
            return Unchecked(f"{row.found_by} runs and counts other things", row.thing, calm=True)
        if row.differ:
            source = row.found_by or "an unknown action"
            return Unchecked(f"{human.quantity(row.differ, 'bytes')} counted by {source}", row.thing, calm=True)
        return Unchecked("no check has run since the array was assembled", row.thing, calm=True)
    if row.differ is None:
        return Unchecked("blocks that differ unknown", row.thing)
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
    said = (
        f"the {'running' if row.running else 'last'} {row.found_by} found {human.quantity(size, 'bytes')} that differ"
    )
    if repaired:
        said += " and rewrote them"
    elif row.mirror:
        said += " between the copies; swap on a mirror causes this without damage"
    else:
        said += " from their parity: a disk, controller, cable or memory corrupts data"
    return Finding(
        severity=Severity.INFO if few or repaired else Severity.WARNING,
        subject=row.thing,
        cause=said,
        values=(
            Value("mismatch", "mismatches", size, "bytes", above=0),
            Value("share", "share of the array", share, "ratio", above=limits["mirror_share"] if row.mirror else None),
            Value("action", "found by", row.found_by),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row)),
        refuted_by="0 in mismatch_cnt after another check",
    )


def _advice(row: Mismatch) -> Iterator[str]:
    name, action = operand(row.thing), f"{quoted(folder(row.thing))}/sync_action"
    yield f"journalctl -k | grep -i -e 'I/O error' -e {name}; smartctl -x of each member   # which one corrupts?"
    yield f"echo check > {action}   # once more: are they the same?"
    if row.mirror:
        yield "swapon --show   # swap on this array explains them"
    else:
        yield "verify data against checksums or a backup first: repair makes parity fit whatever is on the disks"
    yield f"echo repair > {action}   # rewrites parity, or copies one leg to the other"


def _replica(window: Window, row: Mismatch, size: int) -> Finding:
    resource = row.thing.partition("/")[0]
    name = operand(resource_argument(resource))
    return Finding(
        severity=Severity.WARNING,
        subject=row.thing,
        cause=(
            f"{human.quantity(size, 'bytes')} differ between this node and {human.safe(row.peer or 'its peer')}, both "
            "UpToDate: an online verify found them, and nothing resyncs them"
        ),
        values=(Value("mismatch", "out of sync", size, "bytes", above=0), Value("action", "found by", row.found_by)),
        evidence=cites(window.cite(row)),
        advice=(
            "journalctl -k | grep 'Out of sync'   # which sectors, found when",
            "which side is right? compare with a backup: a resync copies the Primary's blocks to the Secondary",
            f"drbdadm disconnect {name}; drbdadm connect {name}   # resyncs them",
        ),
        refuted_by="0 out of sync after a resync and another verify",
        explains=(f"cluster-degraded:{resource}",),
    )


DATA_MISMATCH = Rule(
    "data-mismatch",
    "copies or parity differ: found by a check of md or an online verify of DRBD",
    Severity.WARNING,
    _check,
    (Mismatch,),
    (
        Threshold(
            "mirror_share", 0.001, "share of a RAID1 or RAID10 up to which mismatches are info (md(4): swap)", "ratio"
        ),
    ),
)
