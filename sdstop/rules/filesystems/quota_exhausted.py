"""Quotas whose owners cannot write any more."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.filesystems.quotas import NEAR
from sdstop.collectors.filesystems.readings import Quotas
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    rows: dict[str, list[Quotas]] = {}
    for row in window.rows(Quotas).values():
        rows.setdefault(row.subject, []).append(row)
    for subject, kinds in rows.items():
        yield _judged(window, subject, kinds)


def _judged(window: Window, subject: str, kinds: list[Quotas]) -> Verdict:
    full = next((row for row in kinds if row.exhausted), None)
    near = next((row for row in kinds if row.near), None)
    if full is not None:
        return _finding(window, full, Severity.WARNING)
    if near is not None:
        return _finding(window, near, Severity.INFO)
    cut = next((row for row in kinds if row.cut), None)
    if cut is not None:
        return Unchecked(f"more {cut.kind} quotas than are queried", subject, calm=True)
    counted = ", ".join(f"{human.plural(row.limited or 0, f'{row.kind} quota')}" for row in kinds)
    return RuledOut(subject, f"{counted} below {human.percent(NEAR)}%")


def _finding(window: Window, row: Quotas, severity: Severity) -> Finding:
    exhausted = severity is Severity.WARNING
    number = row.exhausted if exhausted else row.near
    owner, share = human.safe(row.fullest or "?", 24), human.percent(row.share or 0.0)
    others = f" and {number - 1} more" if number > 1 else ""
    cause = f"{row.kind.capitalize()} {owner}{others}: {share}% of the limit used."
    return Finding(
        severity=severity,
        subject=row.subject,
        title=f"QUOTA {'EXHAUSTED' if exhausted else 'NEARLY EXHAUSTED'}",
        cause=fitting(cause, f"{human.plural(number, f'{row.kind} quota')} used up to the limit."),
        impact=(
            "Their writes fail with EDQUOT, whatever space is free."
            if exhausted
            else "At the limit, writes fail with EDQUOT, whatever space is free."
        ),
        values=(
            Value("exhausted", "exhausted quotas", row.exhausted, "", above=0 if row.exhausted else None),
            Value("near", "quotas near their limit", row.near),
            Value("filled", "share of the fullest", row.share, "ratio", above=NEAR),
            Value("limited", "quotas with a limit", row.limited),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Free space of the owner, or raise the limit.",
            run("repquota", "-s", *operands(row.point or row.device), note="xfs_quota -x -c report for XFS"),
        ),
        refuted_by="less than the limit in repquota",
        standing=not exhausted,
    )


QUOTA_EXHAUSTED = Rule(
    "quota-exhausted",
    "user, group or project quota at its limit",
    Severity.WARNING,
    _check,
    (Quotas,),
    covers=(Covers(Quotas),),
    damage=Damage.CAPACITY,
    view="volumes",
    advice="Free space of the owner, or raise the limit.",
)
