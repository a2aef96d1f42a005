"""Copies or parity that differ: mismatches of a check of md, blocks that an online verify of DRBD found out of sync.

md(4), "Scrubbing and mismatches": on a clean RAID5 or RAID6 any mismatch indicates a hardware problem at some level. On
RAID1 and RAID10 software can cause mismatches: memory that changes while it is written to both legs, typically swap;
the data need not be corrupt. So few mismatches of a mirror are info, and more than `mirror_share` of it a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.connections import DrbdConnection
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.rebuild import folder

_SECTOR = 512
_MIRRORS = frozenset({"raid1", "raid10"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for array in window.rows(Array).values():
        if array.redundant and array.mismatch is not None:
            yield _array(window, array, array.mismatch, limits)
    for row in window.rows(DrbdConnection).values():
        if row.connection != "Connected" or row.replication is None:
            continue
        if row.replication not in {"Established", "VerifyS", "VerifyT"}:
            continue  # a resync counts what is left to do
        if {row.disk, row.peer_disk} != {"UpToDate"}:
            continue
        if row.out_of_sync is None:
            yield Unchecked("blocks out of sync unknown", row.name)
        elif row.out_of_sync:
            yield _replica(window, row, row.out_of_sync)
        else:
            yield RuledOut(row.name, "0 B out of sync while both sides are UpToDate")


def _array(window: Window, array: Array, sectors: int, limits: Limits) -> Verdict:
    checking = array.action in {"check", "repair"}
    if not checking and array.action not in {"idle", None}:
        return Unchecked(f"{array.action} runs: its count of mismatches is not that of a check", array.array, calm=True)
    done = array.action if checking else array.last_action
    if done not in {"check", "repair"}:
        if sectors:
            return Unchecked(f"{sectors} sectors in mismatch_cnt, of {done or 'an unknown action'}", array.array)
        return Unchecked("no check has run since the array was assembled", array.array, calm=True)
    size = sectors * _SECTOR
    if not sectors:
        return RuledOut(array.array, f"the {'running' if checking else 'last'} {done} found 0 mismatches")
    mirror, repaired = array.level in _MIRRORS, done == "repair"
    share = size / array.size if array.size else None
    few = mirror and share is not None and share <= limits["mirror_share"]
    said = f"{'the running' if checking else 'the last'} {done} found {human.quantity(size, 'bytes')} that differ"
    if repaired:
        said += " and rewrote them"
    elif mirror:
        said += " between the copies; swap on a mirror causes this without damage"
    else:
        said += " from their parity: a disk, controller, cable or memory corrupts data"
    return Finding(
        severity=Severity.INFO if few or repaired else Severity.WARNING,
        subject=array.array,
        summary=said,
        values=(
            Value("mismatch", "mismatches", size, "bytes", 0),
            Value("share", "share of the array", share, "ratio", limits["mirror_share"] if mirror else None),
            Value("action", "found by", done),
        ),
        evidence=cites(window.cite(array, "mismatch"), window.cite(array, "last_action"), window.cite(array)),
        advice=tuple(_advice(array, mirror=mirror)),
        refuted_by="0 in mismatch_cnt after another check",
    )


def _advice(array: Array, *, mirror: bool) -> Iterator[str]:
    yield f"journalctl -k | grep -i -E 'I/O error|{operand(array.array)}'; smartctl -x of each member   # who corrupts?"
    yield f"echo check > {quoted(folder(array.array))}/sync_action   # once more: are they the same?"
    if mirror:
        yield "swapon --show; filefrag -v of swap files   # swap on this array explains them"
    else:
        yield "verify data against checksums or a backup first: repair makes parity fit whatever is on the disks"
    yield f"echo repair > {quoted(folder(array.array))}/sync_action   # rewrites parity, or copies one leg to the other"


def _replica(window: Window, row: DrbdConnection, size: int) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.name,
        summary=(
            f"{human.quantity(size, 'bytes')} differ between this node and {human.safe(row.peer)}, both UpToDate: an "
            "online verify found them, and nothing resyncs them"
        ),
        values=(
            Value("out_of_sync", "out of sync", size, "bytes", 0),
            Value("replication", "replication", row.replication),
        ),
        evidence=cites(window.cite(row, "out_of_sync")),
        advice=(
            "journalctl -k | grep 'Out of sync'   # which sectors, found when",
            "which side is right? compare with a backup: a resync copies the Primary's blocks to the Secondary",
            f"drbdadm disconnect {operand(row.argument)}; drbdadm connect {operand(row.argument)}   # resyncs them",
        ),
        refuted_by="0 out of sync after a resync and another verify",
        explains=(f"cluster-degraded:{row.resource}",),
    )


DATA_MISMATCH = Rule(
    "data-mismatch",
    "copies or parity differ: found by a check of md or an online verify of DRBD",
    Severity.WARNING,
    _check,
    (Array, DrbdConnection),
    (
        Threshold(
            "mirror_share", 0.001, "share of a RAID1 or RAID10 up to which mismatches are info (md(4): swap)", "ratio"
        ),
    ),
    either=2,
)
