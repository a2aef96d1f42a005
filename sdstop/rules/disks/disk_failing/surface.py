"""Disks with bad blocks, as a test of the whole disk found them: the part of disk-failing for badblocks."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.health.readings import DiskHealth, SurfaceTest
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

_WORDS = {"read": "read-only test", "write": "read-write test", "non-destructive": "non-destructive test"}


def surface_verdicts(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Yield a verdict for each test; a disk's own assessment is not repeated by a test that found nothing."""
    for row in window.rows(SurfaceTest).values():
        errors = (row.read_errors or 0) + (row.write_errors or 0) + (row.compare_errors or 0)
        if row.bad or errors:
            yield _found(window, row, row.bad or errors, limits)
        elif not row.finished:
            yield Unchecked("surface test not finished; no bad block so far", row.device)
        elif row.device not in window.rows(DiskHealth):
            span = "" if row.blocks is None else f" in {row.blocks} blocks"
            yield RuledOut(row.device, f"{_WORDS[row.mode or 'read']} of the surface: 0 bad blocks{span}")


def _found(window: Window, row: SurfaceTest, bad: int, limits: Limits) -> Finding:
    severe = bool(row.compare_errors) or bad >= limits["pending_critical"]
    other = bool(row.compare_errors)
    return Finding(
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        subject=row.device,
        title="DISK RETURNS OTHER DATA" if other else "BAD BLOCKS",
        cause=(
            f"{human.plural(row.compare_errors or 0, 'block')} returned other data than was written."
            if other
            else f"A test of the surface found {human.plural(bad, 'bad block')}."
        ),
        impact="Data on these blocks is lost unless another copy exists.",
        values=(
            Value("bad", "bad blocks", row.bad, "", above=0),
            Value("read_errors", "read errors", row.read_errors, "", above=0),
            Value("write_errors", "write errors", row.write_errors, "", above=0),
            Value("compare_errors", "compare errors", row.compare_errors, "", above=0),
            Value("blocks", "blocks in the tested range", row.blocks),
            Value("mode", "test", row.mode),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Replace the disk; check first that its data has another copy.",
            run("smartctl", "-x", f"/dev/{row.device}", note="all counts and logs"),
        ),
        refuted_by="a test of the same blocks without a bad one",
    )
