"""Limits that apply to each mapping of a volume separately, so that the volume can exceed them several times over."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sdstop.analysis.limits.limiting import LimitAnalysis, mappings
from sdstop.core import format as human
from sdstop.core.finding import Finding, RuledOut, Severity, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.limit import CGROUP, Limit


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for every in mappings(window):
        volume = every[0].limit.volume
        held = [known for known in every if _is_held(known.limit)]
        if not held:
            continue
        if len(held) < limits["mappings"]:
            yield RuledOut(f"vol:{volume}", f"{len(held)} of {len(every)} mappings limited")
        else:
            yield _finding(window, volume, held, limits)


def _is_held(limit: Limit) -> bool:
    """Return whether a limit of a volume is set and enforced; those of control groups do not count."""
    return limit.kind != CGROUP and limit.limited not in {"none", None} and not limit.unheld


def _finding(window: Window, volume: str, held: Sequence[LimitAnalysis], limits: Limits) -> Finding:
    rows = [known.limit for known in held]
    iops, moved = _sum(row.iops for row in rows), _sum(row.bandwidth for row in rows)
    used, used_bytes = _used(held)
    over = max(
        used / max(row.iops or 0 for row in rows) if used is not None and iops else 0.0,
        used_bytes / max(row.bandwidth or 0 for row in rows) if used_bytes is not None and moved else 0.0,
    )
    beyond = over > 1 + limits["over"]
    together = " and ".join(
        filter(
            None,
            (f"{human.number(iops)} IOPS" if iops else "", human.quantity(moved, "bytes_per_second") if moved else ""),
        )
    )
    return Finding(
        severity=Severity.WARNING if beyond else Severity.INFO,
        subject=f"vol:{volume}",
        title=f"LIMIT PER CLIENT: {len(rows)} clients",
        cause=f"Each of {len(rows)} mappings has the limit: together {together or 'unlimited'}.",
        impact=(
            f"The volume does {human.number(over)} times a single limit."
            if beyond
            else "All clients together can exceed a single limit."
        ),
        values=(
            Value("mappings", "mappings with a limit", len(rows)),
            Value("iops", "IOPS allowed together", iops, "per_second"),
            Value("bandwidth", "bandwidth allowed together", moved, "bytes_per_second"),
            Value("over", "use by all, times a single limit", over, "", above=1 + limits["over"]),
        ),
        evidence=cites(*(window.cite(row) for row in rows[:3])),
        advice=(
            "Divide the limit by the number of concurrent clients.",
            "Or map the volume to one client.",
        ),
        refuted_by="one limit for all mappings of the volume",
        harmless_if="the limit is meant per client",
    )


def _sum(values: Iterator[float | None] | Sequence[float | None]) -> float | None:
    """Return the sum; None if a value is missing, because the total is then unlimited."""
    known = list(values)
    return math.fsum(v for v in known if v) if all(known) else None


def _used(held: Sequence[LimitAnalysis]) -> tuple[float | None, float | None]:
    """Return the combined use: reported for all mappings together, or summed up."""
    for known in held:
        if known.samples and not known.certain:
            return known.requests, known.bytes
    requests, moved = [k.requests for k in held], [k.bytes for k in held]
    return (
        math.fsum(r for r in requests if r is not None) if any(r is not None for r in requests) else None,
        math.fsum(b for b in moved if b is not None) if any(b is not None for b in moved) else None,
    )


QOS_MULTIPLIED = Rule(
    "qos-multiplied",
    "I/O limit that applies per mapping, so several clients together exceed it",
    Severity.WARNING,
    _check,
    (Limit,),
    (
        Threshold("mappings", 2.0, "minimum number of mappings with a limit"),
        Threshold("over", 0.05, "excess over one limit that warrants a warning", "ratio"),
    ),
    covers=(Covers(Limit, "vol:{volume}", _is_held),),
    standing=True,
    view="volumes",
    advice="Divide the limit by the number of concurrent clients.",
)
