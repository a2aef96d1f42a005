"""Snapshots that copy on write and run out of space: then their content is lost."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.filling import Filling, filling_of
from sdstop.collectors.devicemapper.volume_readings import VolumeSnapshot
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_LOST = {
    "invalid": "The kernel reports Invalid: the space for changes overflowed or failed.",
    "overflow": "The kernel reports Overflow: its space is exhausted.",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(VolumeSnapshot).values():
        yield _judged(window, row, limits)


def _judged(window: Window, row: VolumeSnapshot, limits: Limits) -> Verdict:
    if row.state in _LOST:
        return _lost(window, row)
    if row.state == "merge failed":
        return _merge_failed(window, row)
    share = row.filled
    if row.state != "ok" or share is None:
        return Unchecked(f"state {row.state}", row.snapshot, gap=Gap.FAULTY)
    if row.merging:
        return RuledOut(row.snapshot, f"merging into its origin, {human.percent(share)}% of its space used")
    if row.size is not None and row.origin_size is not None and row.size > row.origin_size:
        return RuledOut(row.snapshot, f"{human.percent(share)}% used; its space holds a change of each block")
    known = filling_of(window, VolumeSnapshot, row.snapshot, lambda then: then.used, row.size or 0)
    left = known.full_in if known is not None else None
    if share < limits["near_full"]:
        return RuledOut(row.snapshot, f"{human.percent(share)}% of its space used{known.words if known else ''}")
    soon = left is not None and left < limits["soon"]
    return _filling(window, row, share, known, soon=soon, limits=limits)


def _filling(
    window: Window, row: VolumeSnapshot, share: float, known: Filling | None, *, soon: bool, limits: Limits
) -> Finding:
    full = share >= limits["full"]
    return Finding(
        severity=Severity.CRITICAL if full or soon else Severity.WARNING,
        subject=row.snapshot,
        title=f"SNAPSHOT NEARLY FULL: {human.percent(share)}%",
        cause=(
            f"{human.percent(share)}% of its {human.quantity(row.size, 'bytes')} is used{known.words if known else ''}."
        ),
        impact="Once it is full, the snapshot is lost; its origin is not affected.",
        values=(
            Value("filled", "space in use", share, "ratio", above=limits["full" if full else "near_full"]),
            Value("rate", "growth", known.rate if known else None, "bytes_per_second"),
            Value("full_in", "full at this rate in", (known.full_in or None) if known else None, "seconds"),
            Value("size", "space", row.size, "bytes"),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_grow(row)),
        refuted_by=f"less than {human.percent(limits['near_full'])}% in dmsetup status",
    )


def _grow(row: VolumeSnapshot) -> Iterator[Advice]:
    yield "Extend the snapshot, or remove it if it is not needed any more."
    if row.snapshot != row.mapping:
        yield run("lvextend", "-L", "+10G", *operands(row.snapshot))
        yield run("lvremove", *operands(row.snapshot), note="ends its cost for writes to the origin")


def _lost(window: Window, row: VolumeSnapshot) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.snapshot,
        title="SNAPSHOT LOST: out of space" if row.state == "overflow" else "SNAPSHOT LOST: invalid",
        cause=_LOST[row.state],
        impact="Backups from the snapshot fail; the origin is intact.",
        values=(Value("state", "state", row.state), Value("origin", "origin", row.origin)),
        evidence=cites(window.cite(row)),
        advice=(
            "Remove the snapshot, and take a larger one if a backup needs it.",
            *((run("lvremove", *operands(row.snapshot)),) if row.snapshot != row.mapping else ()),
            run("journalctl", "-k").pipe("grep", "-i", "snapshots").pipe("tail", "-20"),
        ),
        refuted_by="sectors used and total in dmsetup status",
        damage=Damage.DATA,
    )


def _merge_failed(window: Window, row: VolumeSnapshot) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.snapshot,
        title="SNAPSHOT MERGE FAILED",
        cause="The kernel reports Merge failed: the snapshot cannot be merged.",
        impact="The origin is between two states, and serves them mixed.",
        values=(Value("state", "state", row.state), Value("origin", "origin", row.origin)),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the I/O error in the kernel log before anything else.",
            run("journalctl", "-k").pipe("grep", "-i", "-e", "snapshots", "-e", "I/O error").pipe("tail", "-40"),
        ),
        refuted_by="sectors used and total in dmsetup status",
        damage=Damage.DATA,
    )


SNAPSHOT_FILLING = Rule(
    "snapshot-filling",
    "copy-on-write snapshot nearly full, or lost because its space is exhausted",
    Severity.CRITICAL,
    _check,
    (VolumeSnapshot,),
    (
        Threshold("near_full", 0.8, "share of its space in use, warning (dmeventd warns from it)", "ratio"),
        Threshold("full", 0.95, "share of its space in use, critical", "ratio"),
        Threshold("soon", 3600.0, "time until a nearly full snapshot is full at its present rate", "seconds"),
    ),
    covers=(Covers(VolumeSnapshot, subject="{snapshot}"),),
    explains=("kernel-io-errors",),
    damage=Damage.CAPACITY,
    view="volumes",
    advice="Extend the snapshot, or remove it if it is not needed any more.",
)
