"""Limits that apply to some users of a volume but not to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.limits.limiting import LimitAnalysis, mappings
from sdstop.core import format as human
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.limit import CGROUP, RBD, Limit

_NAMED = 3
"""Volumes named."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for every in mappings(window):
        volume = every[0].limit.volume
        rows = [known.limit for known in every]
        subject = f"vol:{volume}"
        free = [row for row in rows if row.limited == "none" or row.unheld]
        held = [row for row in rows if row.limited not in {"none", None} and not row.unheld]
        if not any(map(_is_set, rows)):
            continue
        if len(rows) - len(free) - len(held):
            yield Unchecked("limit unknown for some mappings", subject)
        elif len(free) >= limits["mappings"]:
            yield _finding(window, subject, rows, free, _load(every))
        elif len(rows) > 1 or rows[0].kind == RBD:
            yield RuledOut(subject, f"all {len(rows)} mappings have an enforced limit")
        else:
            yield Unchecked("not applicable: 1 mapping", subject, calm=True)


def _is_set(row: Limit) -> bool:
    """Return whether a limit is set; a control group's limit implies nothing for other groups."""
    return row.kind != CGROUP and row.limited not in {"none", None}


def _load(every: Sequence[LimitAnalysis]) -> float | None:
    """Return the request rate of the busiest mapping, as far as known."""
    return max((known.requests for known in every if known.requests is not None), default=None)


def _finding(window: Window, subject: str, rows: Sequence[Limit], free: Sequence[Limit], load: float | None) -> Finding:
    unheld = next((row.unheld for row in free if row.unheld), None)
    names = ", ".join(human.safe(row.owner or row.volume, 60) for row in free[:_NAMED])
    if len(free) > _NAMED:
        names += f" and {len(free) - _NAMED} more"
    limited = f"{len(rows) - len(free)} of {len(rows)} mappings are limited"
    if unheld:
        title = "LIMIT NOT ENFORCED"
        cause = f"{human.safe(unheld, 70)[:1].upper()}{human.safe(unheld, 70)[1:]}."
        impact = fitting(f"{names} can use everything.", "Clients without an enforced limit can use everything.")
    else:
        title = f"LIMIT MISSING: {len(free)} of {len(rows)} mappings"
        cause = fitting(f"{limited}; {names} {'is' if len(free) == 1 else 'are'} not.", f"{limited}.")
        now = f"; {human.number(load)} IOPS now" if load is not None else ""
        impact = f"An unlimited client can starve the others{now}."
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("free", "mappings without enforced limit", len(free), "", of=len(rows)),
            Value("mappings", "mappings", len(rows)),
            Value("names", "unlimited clients", names),
            Value("load", "request rate of the busiest mapping", load, "per_second"),
        ),
        evidence=cites(*(window.cite(row) for row in (*free[:2], *(row for row in rows if row not in free))[:3])),
        advice=(
            "Set the limit on every mapping, and again for each new mapping."
            if not unheld
            else "Limit the cgroup of the client instead (io.max on the block device).",
        ),
        refuted_by="an enforced limit on every mapping",
        harmless_if="these clients are meant to be unlimited",
    )


QOS_PARTIAL = Rule(
    "qos-partial",
    "I/O limit enforced for some mappings of a volume only",
    Severity.WARNING,
    _check,
    (Limit,),
    (Threshold("mappings", 1.0, "minimum number of mappings without a limit"),),
    covers=(Covers(Limit, "vol:{volume}", _is_set),),
    standing=True,
    view="volumes",
    advice="Set the limit on every mapping, and again for each new mapping.",
)
