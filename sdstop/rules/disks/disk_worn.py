"""Flash disks at the end of their rated endurance or their spare blocks."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.alike_verdicts import alike
from sdstop.collectors.health.readings import ANSWERED, DiskHealth
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_EXACT = 1e-6
"""Tolerance of differences of whole percents."""
SPARE = 1
"""Bit of an NVMe disk's critical warning: available spare below its threshold."""


def _has_wear(row: DiskHealth) -> bool:
    """Return whether a disk that answered is flash, or reports wear."""
    return row.state == ANSWERED and (bool(row.flash) or row.used is not None or row.spare is not None)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each answer once: nothing changes between two rounds, and disks are many."""
    rows = window.rows(DiskHealth).values()
    key = ("disk-worn", *limits.values())
    yield from window.of_run(
        DiskHealth, key, lambda: alike(_judged(window, row, limits) for row in rows if _has_wear(row))
    )


def _judged(window: Window, row: DiskHealth, limits: Limits) -> Verdict:
    worst = _spare(row, limits) or _used(row, limits)
    if worst is None:
        if row.used is None and row.spare is None:
            return Unchecked("neither wear nor spare blocks reported", row.device, calm=True)
        parts = [f"{human.quantity(row.used, 'ratio')} of endurance used"] if row.used is not None else []
        parts += [f"{human.quantity(row.spare, 'ratio')} spare blocks left"] if row.spare is not None else []
        return RuledOut(row.device, ", ".join(parts))
    severity, title, cause, impact, field = worst
    return Finding(
        severity=severity,
        subject=row.device,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("used", "endurance used", row.used, "ratio", above=limits["used"]),
            Value("spare", "spare blocks left", row.spare, "ratio", below=row.spare_limit),
            Value("critical_warning", "critical warning bits", row.critical_warning),
            Value("power_on", "power-on time", row.power_on, "seconds"),
            Value("model", "model", row.model),
            Value("serial", "serial number", row.serial),
        ),
        evidence=cites(window.cite(row, field), window.cite(row, "critical_warning")),
        advice=(
            "Plan its replacement; disks of one batch wear out together.",
            run("smartctl", "-x", f"/dev/{row.device}", note="wear, spare blocks, written data"),
        ),
        refuted_by="wear and spare blocks within their limits in smartctl -x",
        harmless_if="the disk is not written to any more" if severity is Severity.WARNING else "",
    )


_Worn = tuple[Severity, str, str, str, str]


def _spare(row: DiskHealth, limits: Limits) -> _Worn | None:
    low = row.spare is not None and row.spare_limit is not None and row.spare < row.spare_limit
    at_least = f", the disk warns below {human.quantity(row.spare_limit, 'ratio')}" if row.spare_limit else ""
    if low or (row.critical_warning or 0) & SPARE:
        share = f"{human.quantity(row.spare, 'ratio')} left" if row.spare is not None else "critical warning set"
        return (
            Severity.CRITICAL, "SPARE BLOCKS BELOW THE LIMIT", f"Spare blocks: {share}{at_least}.",
            "The disk can turn read-only or lose data.", "spare",
        )  # fmt: skip
    left = None if row.spare is None or row.spare_limit is None else row.spare - row.spare_limit
    near = left is not None and left < limits["spare"] - _EXACT and (row.spare or 0.0) < 1  # some disks warn below 99 %
    if near:
        return (
            Severity.WARNING, "SPARE BLOCKS RUN OUT",
            f"Spare blocks: {human.quantity(row.spare, 'ratio')} left{at_least}.",
            "The disk can turn read-only once they are used up.", "spare",
        )  # fmt: skip
    return None


def _used(row: DiskHealth, limits: Limits) -> _Worn | None:
    if row.used is None or row.used < limits["used"]:
        return None
    over = row.used >= 1
    return (
        Severity.WARNING,
        "RATED ENDURANCE USED UP" if over else "FLASH WORN",
        f"{human.quantity(row.used, 'ratio')} of the rated endurance used.",
        "The vendor guarantees no more writes." if over else "The rated endurance will be used up.",
        "used",
    )


DISK_WORN = Rule(
    "disk-worn",
    "flash disk near the end of its rated endurance or of its spare blocks",
    Severity.CRITICAL,
    _check,
    (DiskHealth,),
    (
        Threshold("used", 0.9, "share of the rated endurance used", "ratio"),
        Threshold("spare", 0.05, "spare blocks above the disk's own limit that warrant a warning", "ratio"),
    ),
    covers=(Covers(DiskHealth, where=_has_wear),),
    explains=("slow-device", "slow-stripe-member", "osd-slow", "disk-offline"),
    inherent=True,
    many="are worn",
    damage=Damage.REDUNDANCY,
    standing=True,
    view="disks",
    advice="Plan its replacement; disks of one batch wear out together.",
)
