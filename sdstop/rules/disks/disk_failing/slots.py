"""Slots of enclosures that report a fault of their disk: the part of disk-failing that needs no answer of the disk."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.health.readings import EnclosureSlot
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window

_BAD = frozenset({"critical", "unrecoverable", "non-critical"})
"""Status words of a slot whose element is at fault (kernel drivers/misc/enclosure.c: enclosure_status)."""


def slot_findings(window: Window) -> Iterator[Finding]:
    """Yield a finding for each slot whose status is a fault; a fault LED alone can mark a slot for a person."""
    for row in window.rows(EnclosureSlot).values():
        if row.status in _BAD:
            yield _found(window, row)


def _found(window: Window, row: EnclosureSlot) -> Finding:
    disk = f" with {human.safe(row.device, 12)}" if row.device else ""
    return Finding(
        severity=Severity.WARNING,
        subject=f"{row.address}/{row.slot}",
        title=f"SLOT STATUS {row.status}",
        cause=f"The enclosure reports status {row.status} for {human.safe(row.slot, 16)}{disk}.",
        impact="The enclosure takes the disk or the slot for faulty.",
        values=(
            Value("status", "status", row.status),
            Value("fault", "fault LED", None if row.fault is None else int(row.fault)),
            Value("device", "disk in the slot", row.device),
        ),
        evidence=cites(window.cite(row), window.cite(row, "fault")),
        advice=(
            "Check the disk in the slot, then the slot with another disk.",
            *((run("smartctl", "-x", f"/dev/{row.device}"),) if row.device else ()),
            run("sg_ses", "--page=es", "--join", "/dev/SG", note="reason by element"),
        ),
        refuted_by="the status OK",
        damage=Damage.REDUNDANCY,
        view_subject=row.device or "",
    )
