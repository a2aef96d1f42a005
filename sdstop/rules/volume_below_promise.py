"""Volumes that stay below their limit despite queued requests, because the disks are slow."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.limiting import LimitAnalysis, limit_analyses
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
from sdstop.readings.limit import CGROUP, Limit


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in limit_analyses(window):
        limit = known.limit
        if not _promises(limit):
            continue
        if not known.samples:
            yield Unchecked("use unknown", limit.subject, calm=True)
        elif len(known.samples) < limits["readings"]:
            yield Unchecked(f"needs {limits['readings']:g} readings, has {len(known.samples)}", limit.subject)
        elif not known.certain:
            yield Unchecked(f"its use is told for {limit.sharers} mappings together", limit.subject)
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
        return RuledOut(subject, f"nothing was asked in {len(known.samples)} readings")
    share = requests / promise
    if share >= limits["share"] or (known.at_limit or 0.0) > 0.0:
        return RuledOut(subject, f"{human.number(requests)} IOPS, {human.percent(share)} % of what is promised")
    if outstanding is None:
        return Unchecked("how long its requests take is not told, so nobody knows whether it asks for more", subject)
    if outstanding < limits["queue"]:
        return RuledOut(
            subject,
            f"{human.number(requests)} IOPS, {human.percent(share)} % of what is promised, and no more than "
            f"{human.number(outstanding)} outstanding: it asks for no more",
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
        cause=f"{human.number(known.requests)} IOPS of {human.number(promise)} promised for requests of "
        f"{human.quantity(known.size, 'bytes')}, with {human.number(outstanding)} or more outstanding: each takes "
        f"{human.quantity(wait, 'seconds')}, {human.quantity(outstanding / promise, 'seconds')} would keep it, "
        "and the limit is not what holds it",
        values=(
            Value("share", "used of what is promised", share, "ratio", above=limits["share"]),
            Value("requests", "requests that passed", known.requests, "per_second"),
            Value("promise", "requests that are promised at this size", promise, "per_second"),
            Value("outstanding", "requests outstanding, at least", outstanding, "", above=limits["queue"]),
            Value("wait", "mean time of a request", wait, "seconds"),
            Value("size", "mean size of a request", known.size, "bytes"),
        ),
        evidence=cites(window.cite(limit), window.cite(limit, "used_requests"), *known.cited(window)),
        advice=("look at the disks and the network below it: slow members, rebuilds, full links",),
        refuted_by="a client that rests between its requests: then fewer are outstanding",
    )


VOLUME_BELOW_PROMISE = Rule(
    "volume-below-promise",
    "a volume gets less than its limit promises, although it asks for more",
    Severity.WARNING,
    _check,
    (Limit,),
    (
        Threshold("share", 0.8, "share of what is promised below which the promise is broken", "ratio"),
        Threshold("queue", 4.0, "requests outstanding at every reading that show it asks for more"),
        Threshold("readings", 3.0, "readings that are needed"),
        Threshold("iops", 0.0, "requests a second that are promised; 0: as many as the limit allows", "per_second"),
    ),
    covers=(Covers(Limit, "{subject}", _promises),),
)
