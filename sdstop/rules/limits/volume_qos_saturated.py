"""Volumes that wait for their own limit rather than for the disks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from sdstop.analysis.limits.limit_courses import LimitCourse, enforced_limits, is_held
from sdstop.analysis.limits.limit_samples import BANDWIDTH, IOPS
from sdstop.analysis.limits.limiting import LimitAnalysis, limit_analysis
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.limit import CGROUP, POWERFLEX, QEMU, READ, TOTAL, WRITE, Limit


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for subject, ways in enforced_limits(window).items():
        for course, place in ways:
            if place in course.close or course.count < limits["readings"]:
                yield _looked_at(window, subject, ways, limits)
                break
        else:
            yield _passed(subject, ways)


def _looked_at(window: Window, subject: str, ways: Sequence[tuple[LimitCourse, int]], limits: Limits) -> Verdict:
    """Return the verdict on limits of which one was reached in a sample, or whose use is unknown in one."""
    if any(course.share[place] is None or course.count < limits["readings"] for course, place in ways):
        return _judge(window, subject, [limit_analysis(window, *way) for way in ways], limits)
    full = [way for way in ways if _full(*way[0].at_limit(way[1]), limits)]
    if full:
        return _finding(window, subject, _worst([limit_analysis(window, *way) for way in full]), limits)
    return _passed(subject, ways)


def _passed(subject: str, ways: Sequence[tuple[LimitCourse, int]]) -> RuledOut:
    said = []
    for course, place in ways:
        way, iops, bandwidth = course.bounds[place]
        amount = _amount(course.binding(place), iops, bandwidth)
        said.append(_said(way, human.percent(course.share[place]), amount, course.count))
    return RuledOut(subject, "; ".join(said))


def _worst(ways: Sequence[LimitAnalysis]) -> LimitAnalysis:
    return max(ways, key=lambda known: (known.at_limit or 0.0, known.share or 0.0))


def _is_held(limit: Limit) -> bool:
    return is_held(limit.limited, limit.unheld)


def _judge(window: Window, subject: str, ways: list[LimitAnalysis], limits: Limits) -> Verdict:
    seen = [known for known in ways if len(known.samples) >= limits["readings"]]
    if not seen:
        if not any(known.measured for known in ways):
            return Unchecked("no counter for this limit", subject)
        most = max(len(known.samples) for known in ways)
        return Unchecked(f"collecting data: {most} of {limits['readings']:g} samples", subject, gap=Gap.EARLY)
    full = [known for known in seen if _full(known.at_limit, known.full, limits)]
    if full:
        return _finding(window, subject, _worst(full), limits)
    maybe = [k.share or 0.0 for k in seen if not k.certain and (k.maybe_at_limit or 0.0) >= limits["time"]]
    if maybe and max(maybe) >= limits["share"]:
        return _perhaps(window, subject, max(seen, key=lambda known: known.share or 0.0), limits)
    return RuledOut(subject, "; ".join(map(_used, seen)))


def _full(time: float | None, full: float | None, limits: Limits) -> bool:
    return time is not None and time >= limits["time"] and full is not None and full >= limits["share"]


def _used(known: LimitAnalysis) -> str:
    low, high = human.percent(known.low), human.percent(known.share)
    share = high if known.certain else f"{low} to {high}"
    return _said(known.limit.direction, share, _amount_of(known.limit, known.binding), len(known.samples))


def _said(direction: str, share: str, amount: str, samples: int) -> str:
    way = "" if direction == TOTAL else f"{direction}s: "
    return f"{way}{share}% of {amount} in {samples} samples"


def _amount_of(limit: Limit, binding: str | None) -> str:
    return _amount(binding, limit.iops, limit.bandwidth)


@lru_cache(maxsize=256)
def _amount(binding: str | None, iops: float | None, bandwidth: float | None) -> str:
    """Return a limit; cached, because many are alike."""
    return human.quantity(bandwidth, "bytes_per_second") if binding == BANDWIDTH else f"{human.number(iops)} IOPS"


def _waits(known: LimitAnalysis, limits: Limits) -> bool:
    """Return whether anything but the rate shows that requests wait for the limit."""
    wait, disks, queue = known.wait, known.disk_wait, known.queue
    return (
        (known.stalled or 0.0) >= limits["stalled"]
        or (queue is not None and queue >= limits["queue"])
        or (wait is not None and disks is not None and wait >= 2 * disks)
    )


def _finding(window: Window, subject: str, known: LimitAnalysis, limits: Limits) -> Finding:
    waits = _waits(known, limits)
    way = "" if known.limit.direction == TOTAL else f": {known.limit.direction}s"
    binding = known.binding or IOPS
    amount = f"{human.percent(known.full)}% of {_amount_of(known.limit, binding)}"
    size = f"{human.quantity(known.size, 'bytes')} per request" if known.size is not None else ""
    time = "" if known.at_limit == 1 else f"{human.percent(known.at_limit)}% of the time"
    own = known.limit_wait
    return Finding(
        severity=Severity.WARNING if waits or known.shaped else Severity.INFO,
        subject=subject,
        title=f"AT {binding.upper()} LIMIT{way}",
        cause=f"{', '.join(filter(None, (amount, size, time)))}.",
        impact=_impact(known) if waits or known.shaped else "No sign that requests wait for the limit.",
        values=_values(known, limits),
        evidence=_evidence(window, known),
        advice=tuple(_advice(known, binding)),
        refuted_by="unchanged latency and throughput after raising the limit",
        cost=own * known.requests if own is not None and known.requests is not None else 0.0,
        confidence=None if waits else 0.8 if known.shaped else 0.5,
    )


def _impact(known: LimitAnalysis) -> str:
    wait, own, disks, queue = known.wait, known.limit_wait, known.disk_wait, known.queue
    if own is not None:
        whole = f"A request takes {human.quantity(wait, 'seconds')}: {human.quantity(own, 'seconds')} for the limit"
        return fitting(f"{whole}, {human.quantity(disks, 'seconds')} for the disks.", f"{whole}.")
    if wait is not None:
        each = human.quantity(wait, "seconds")
        return f"{human.number(queue)} outstanding requests take {each} each, with any disks."
    if known.least_wait:
        beside = f"; disks take {human.quantity(disks, 'seconds')}" if disks is not None else ""
        return f"A request takes at least {human.quantity(known.least_wait, 'seconds')}{beside}."
    if disks is not None:
        return f"The limit, not the disks ({human.quantity(disks, 'seconds')}), sets the rate."
    return "The limit, not the disks, sets the rate of this volume."


def _burst(known: LimitAnalysis) -> str | None:
    """Return the state of the burst; None if the limit allows none."""
    if known.burst_left is not None:
        return "bursting"
    return "used up" if known.limit.iops_burst or known.limit.bandwidth_burst else None


def _perhaps(window: Window, subject: str, known: LimitAnalysis, limits: Limits) -> Finding:
    sharers = known.limit.sharers or 1
    return Finding(
        severity=Severity.INFO,
        subject=subject,
        title="LIMIT USE UNCLEAR",
        cause=f"{human.percent(known.low)}-{human.percent(known.share)}% of {_amount_of(known.limit, known.binding)}.",
        impact=f"The gateway reports {sharers} mappings as one sum; each has this limit.",
        values=_values(known, limits),
        evidence=_evidence(window, known),
        advice=("Run sdstop on the client: its device shows the actual use.",),
        refuted_by="use below the limit on the client's own device",
        confidence=0.5,
    )


def _values(known: LimitAnalysis, limits: Limits) -> tuple[Value, ...]:
    limit = known.limit
    return (
        Value("low", "use of the limit, minimum", known.low, "ratio", above=limits["share"]),
        Value("share", "use of the limit, maximum", known.share, "ratio", above=limits["share"]),
        Value("at_limit", "time at the limit", known.at_limit, "ratio", above=limits["time"]),
        Value("full", "use of the limit at these times", known.full, "ratio"),
        Value("requests", "request rate", known.requests, "per_second", of=limit.iops),
        Value("bytes", "data rate", known.bytes, "bytes_per_second", of=limit.bandwidth),
        Value("size", "mean request size", known.size, "bytes"),
        Value("break_even", "size where the bandwidth limit binds", limit.break_even, "bytes"),
        Value("allowed", "request rate within the limits", known.allowed, "per_second"),
        Value("wait", "mean time of a request", known.wait, "seconds"),
        Value("limit_wait", "part of it for the limit", known.limit_wait, "seconds"),
        Value("least_wait", "mean time of a request by stalled tasks, minimum", known.least_wait, "seconds"),
        Value("disk_wait", "mean time of a request below the limit", known.disk_wait, "seconds"),
        Value("queue", "outstanding requests", known.queue, "", above=limits["queue"]),
        Value("stalled", "time a task waited for I/O, minimum", known.stalled, "ratio", above=limits["stalled"]),
        Value("burst", "burst", _burst(known)),
        Value("burst_left", "burst can last, maximum", known.burst_left, "seconds"),
    )


def _evidence(window: Window, known: LimitAnalysis) -> tuple[Cite, ...]:
    limit = known.limit
    return cites(window.cite(limit), window.cite(limit, "used_requests"), *known.cited(window))


def _advice(known: LimitAnalysis, binding: str) -> Iterator[Advice]:
    limit = known.limit
    even, size = limit.break_even, known.size
    if binding == IOPS and even is not None and size is not None and size < even / 2:
        yield f"Use larger requests: up to {human.quantity(even, 'bytes')} each at the same IOPS."
    if limit.kind == CGROUP:
        key = {(READ, IOPS): "riops", (WRITE, IOPS): "wiops", (READ, BANDWIDTH): "rbps", (WRITE, BANDWIDTH): "wbps"}
        yield "Raise or remove the limit of this control group."
        if limit.origin.endswith("/io.max"):
            word = f"{limit.needle.strip()} {key[limit.direction, binding]}=max"
            yield run("echo", word, into=limit.origin, note="or a higher value")
        if limit.owner.endswith((".service", ".scope", ".slice")):
            way = limit.direction.capitalize()
            setting = f"IO{way}{'IOPS' if binding == IOPS else 'Bandwidth'}Max"
            unit = limit.owner.rpartition("/")[2]
            note = "systemd reapplies its own setting at the next start"
            yield run("systemctl", "show", "-p", setting, *operands(unit), note=note)
    elif limit.kind == QEMU:
        yield "Raise the limit of this disk with virsh blkdeviotune and its options."
        yield run("virsh", "blkdeviotune", *operands(limit.owner), "DISK", note="the current limits")
    elif limit.kind == POWERFLEX:
        yield "Raise the limit of this mapping, or set 0 for unlimited."
        yield "IOPS limits are 11 or more, bandwidth limits whole MiB/s."
    else:
        yield "Raise rbd_qos_* of this image or its pool."
        yield run("rbd", "config", "image", "list", *operands(limit.volume), note="rbd_qos_* and their sources")


VOLUME_QOS_SATURATED = Rule(
    "volume-qos-saturated",
    "volume that uses its whole I/O limit, so requests wait for the limit",
    Severity.WARNING,
    _check,
    (Limit,),
    (
        Threshold("share", 0.95, "use of the limit in samples at the limit", "ratio"),
        Threshold("time", 0.6, "share of samples at the limit", "ratio"),
        Threshold("readings", 3.0, "minimum number of samples"),
        Threshold("stalled", 0.1, "share of time in which a task waits for I/O that proves waiting", "ratio"),
        Threshold("queue", 2.0, "outstanding requests that prove waiting"),
    ),
    covers=(Covers(Limit, "{subject}", _is_held),),
    many="are at their I/O limits",
    view="volumes",
    advice="Raise the limit, or reduce the load: the disks are not the cause.",
)
