"""Limits that apply to some users of a volume but not to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.limiting import LimitAnalysis, mappings
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.readings.limit import CGROUP, RBD, Limit

_NAMED = 3


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
            yield Unchecked("of some of its mappings it is not told whether they have a limit", subject)
        elif len(free) >= limits["mappings"]:
            yield _finding(window, subject, rows, free, _load(every), limits)
        elif len(rows) > 1 or rows[0].kind == RBD:
            yield RuledOut(subject, f"all of its {len(rows)} mappings have a limit that holds")
        else:
            yield Unchecked("not applicable: 1 mapping", subject, calm=True)


def _is_set(row: Limit) -> bool:
    """Return whether a limit is set; a control group's limit implies nothing for other groups."""
    return row.kind != CGROUP and row.limited not in {"none", None}


def _load(every: Sequence[LimitAnalysis]) -> str:
    told = [known.requests for known in every if known.requests is not None]
    return f"; {human.number(max(told))} IOPS pass now" if told else ""


def _finding(
    window: Window, subject: str, rows: Sequence[Limit], free: Sequence[Limit], load: str, limits: Limits
) -> Finding:
    unheld = next((row.unheld for row in free if row.unheld), None)
    names = ", ".join(human.safe(row.owner or row.volume, 60) for row in free[:_NAMED])
    if len(free) > _NAMED:
        names += f" and {len(free) - _NAMED} more"
    if unheld:
        summary = f"its limit is not enforced for {names}: {unheld}"
    else:
        summary = (
            f"{len(rows) - len(free)} of {len(rows)} mappings have a limit, {names} has none and may take all{load}"
        )
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        cause=summary,
        values=(
            Value("free", "mappings without a limit that holds", len(free), "", above=limits["mappings"]),
            Value("mappings", "mappings", len(rows)),
        ),
        evidence=cites(*(window.cite(row) for row in (*free[:2], *(row for row in rows if row not in free))[:3])),
        advice=(
            "set the limit for every client, and again whenever the volume is mapped to another: a new mapping has none"
            if not unheld
            else "limit the client's control group (io.max) on the block device instead",
        ),
        refuted_by="clients that are meant to have no limit",
    )


QOS_PARTIAL = Rule(
    "qos-partial",
    "a volume's limit holds for some of its mappings and not for others",
    Severity.WARNING,
    _check,
    (Limit,),
    (Threshold("mappings", 1.0, "mappings without a limit, beside others that have one"),),
    covers=(Covers(Limit, "vol:{volume}", _is_set),),
)
