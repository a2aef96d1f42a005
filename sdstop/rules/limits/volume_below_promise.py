"""Volumes that stay below their limit despite queued requests, because the disks are slow."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.limits.limiting import LimitAnalysis, promised_analyses
from sdstop.core import format as human
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.limit import CGROUP, Limit


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in promised_analyses(window):
        limit = known.limit
        if not _promises(limit):
            continue
        if not known.samples:
            yield Unchecked("use unknown", limit.subject, calm=True)
        elif len(known.samples) < limits["readings"]:
            yield Unchecked(
                f"collecting data: {len(known.samples)} of {limits['readings']:g} samples", limit.subject, gap=Gap.EARLY
            )
        elif not known.certain:
            yield Unchecked(f"use is reported for {limit.sharers} mappings as one sum", limit.subject)
        else:
            yield _judge(window, known, limits)


def _promises(limit: Limit) -> bool:
    """Return whether a limit is a promise; that of a control group is an upper limit, not a guaranteed rate."""
    return limit.kind != CGROUP and limit.limited not in {"none", None} and not limit.unheld


def _judge(window: Window, known: LimitAnalysis, limits: Limits) -> Verdict:
    subject = known.limit.subject
    promise = known.promise(limits["iops"])
    requests, outstanding = known.requests or 0.0, _outstanding(known)
    if promise is None or not requests:
        return RuledOut(subject, f"no requests in {len(known.samples)} samples")
    share = requests / promise
    if share >= limits["share"] or (known.at_limit or 0.0) > 0.0:
        return RuledOut(subject, f"{human.number(requests)} IOPS, {human.percent(share)}% of the promised rate")
    if outstanding is None:
        return Unchecked("no latency data; demand unknown", subject)
    if outstanding < limits["queue"]:
        return RuledOut(
            subject,
            f"{human.number(requests)} IOPS ({human.percent(share)}% of the promised rate), "
            f"{human.number(outstanding)} outstanding: no unmet demand",
        )
    return _finding(window, known, promise, share, outstanding, limits)


def _outstanding(known: LimitAnalysis) -> float | None:
    """Return the minimum of outstanding requests over the samples, or below the limit if only that is known."""
    found = []
    for sample in known.samples:
        wait = sample.wait if sample.wait is not None else sample.disk_wait
        if wait is None and sample.requests:
            return None
        found.append((wait or 0.0) * (sample.requests or 0.0))
    return min(found)


def _finding(
    window: Window, known: LimitAnalysis, promise: float, share: float, outstanding: float, limits: Limits
) -> Finding:
    limit = known.limit
    wait = known.wait if known.wait is not None else known.disk_wait
    return Finding(
        severity=Severity.WARNING,
        subject=limit.subject,
        title="IOPS BELOW PROMISE",
        cause=(
            f"{human.number(known.requests)} of {human.number(promise)} IOPS with {human.number(outstanding)} "
            "or more outstanding."
        ),
        impact=(
            f"A request takes {human.quantity(wait, 'seconds')}; "
            f"{human.quantity(outstanding / promise, 'seconds')} would meet the promise."
        ),
        values=(
            Value("share", "use of the promised rate", share, "ratio", below=limits["share"]),
            Value("requests", "request rate", known.requests, "per_second", of=promise),
            Value("promise", "promised rate at this size", promise, "per_second"),
            Value("outstanding", "outstanding requests, minimum", outstanding, "", above=limits["queue"]),
            Value("wait", "mean time of a request", wait, "seconds"),
            Value("size", "mean request size", known.size, "bytes"),
        ),
        evidence=cites(window.cite(limit), window.cite(limit, "used_requests"), *known.cited(window)),
        advice=("Check the storage below: slow members, rebuilds, saturated links.",),
        refuted_by="pauses between the client's requests",
        cost=outstanding * (1 - share),
    )


VOLUME_BELOW_PROMISE = Rule(
    "volume-below-promise",
    "volume below the rate its limit promises, although it asks for more",
    Severity.WARNING,
    _check,
    (Limit,),
    (
        Threshold("share", 0.8, "use of the promised rate below which the promise is broken", "ratio"),
        Threshold("queue", 4.0, "minimum requests outstanding that prove demand"),
        Threshold("readings", 3.0, "minimum number of samples"),
        Threshold("iops", 0.0, "promised IOPS (0: the limit)", "per_second"),
    ),
    covers=(Covers(Limit, "{subject}", _promises),),
    view="volumes",
    advice="Check the storage below: slow members, rebuilds, saturated links.",
)
