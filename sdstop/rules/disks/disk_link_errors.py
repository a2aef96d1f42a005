"""SATA links with growing CRC errors: the cable, slot or backplane, not the disk."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.alike_verdicts import alike
from sdstop.analysis.disks.disk_growth import growth
from sdstop.collectors.health.readings import ANSWERED, DiskHealth
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_HOUR = 3600.0
"""Seconds."""


def _is_ata(row: DiskHealth) -> bool:
    return row.state == ANSWERED and row.protocol == "ATA"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each answer once: nothing changes between two rounds, and disks are many."""
    rows = window.rows(DiskHealth).values()
    key = ("disk-link-errors", *limits.values())
    yield from window.of_run(
        DiskHealth, key, lambda: alike(_judged(window, row, limits) for row in rows if _is_ata(row))
    )


def _judged(window: Window, row: DiskHealth, limits: Limits) -> Verdict:
    count = row.crc_errors
    if count is None:
        return Unchecked("CRC errors not reported", row.device, calm=True)
    if not count:
        return RuledOut(row.device, "0 CRC errors")
    grown = growth(window, row, "crc_errors")
    if grown is None:
        said = f"{human.plural(count, 'CRC error')} in the disk's life; growth needs two answers"
        return Unchecked(said, row.device, calm=True, gap=Gap.EARLY)
    if grown.new < limits["new"]:
        return RuledOut(row.device, f"{count} CRC errors, {grown.new or 'none'} new in {human.duration(grown.seconds)}")
    hourly = grown.new / grown.seconds * _HOUR
    return Finding(
        severity=Severity.WARNING,
        subject=row.device,
        title="CRC ERRORS GROW: cable or backplane",
        cause=f"{grown.new} frames damaged on the SATA link in {human.duration(grown.seconds)}.",
        impact="Commands are repeated, and the link can drop the disk.",
        values=(
            Value("new", "new CRC errors", grown.new, "", above=limits["new"] - 1),
            Value("per_hour", "new CRC errors per hour", hourly),
            Value("total", "CRC errors in total", count),
            Value("since", "compared with", human.utc(grown.since)),
            Value("model", "model", row.model),
        ),
        evidence=cites(window.cite(row, "crc_errors")),
        advice=(
            "Reseat or replace the cable, then try another slot; keep the disk.",
            run("smartctl", "-l", "sataphy", f"/dev/{row.device}", note="events of the link since its reset"),
            run("journalctl", "-k").pipe("grep", "-E", "ICRC|BadCRC|hard resetting link"),
        ),
        refuted_by="a count that stays the same under load",
        harmless_if="the disk was plugged or its cable moved in this time",
    )


DISK_LINK_ERRORS = Rule(
    "disk-link-errors",
    "SATA link with growing CRC errors, which point to cable, slot or backplane",
    Severity.WARNING,
    _check,
    (DiskHealth,),
    (Threshold("new", 2.0, "new CRC errors of a disk within a day"),),
    covers=(Covers(DiskHealth, where=_is_ata),),
    explains=("slow-device", "slow-stripe-member", "device-hung", "osd-slow"),
    many="have link errors",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Reseat or replace the cable, then try another slot; keep the disk.",
)
