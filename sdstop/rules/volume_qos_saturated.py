"""Volumes that wait for their own limit rather than for the disks."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.limit_samples import BANDWIDTH, IOPS
from sdstop.analysis.limiting import LimitAnalysis, limit_analyses
from sdstop.core import format as human
from sdstop.core.evidence import Cite
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
from sdstop.core.shell import operand, quoted
from sdstop.readings.limit import CGROUP, POWERFLEX, QEMU, READ, TOTAL, WRITE, Limit


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for subject, ways in _subjects(window).items():
        yield _judge(window, subject, ways, limits)


def _subjects(window: Window) -> dict[str, list[LimitAnalysis]]:
    """Return the enforced limits by subject; reads and writes of a subject may have separate limits."""
    found: dict[str, list[LimitAnalysis]] = {}
    for known in limit_analyses(window):
        if _is_held(known.limit):
            found.setdefault(known.limit.subject, []).append(known)
    return found


def _is_held(limit: Limit) -> bool:
    return limit.limited not in {"none", None} and not limit.unheld


def _judge(window: Window, subject: str, ways: list[LimitAnalysis], limits: Limits) -> Verdict:
    seen = [known for known in ways if len(known.samples) >= limits["readings"]]
    if not seen:
        if not any(known.measured for known in ways):
            return Unchecked("nothing that sdstop reads counts what passes there", subject)
        most = max(len(known.samples) for known in ways)
        return Unchecked(f"needs {limits['readings']:g} readings of its use, has {most}", subject)
    worst = max(seen, key=lambda known: (known.at_limit or 0.0, known.share or 0.0))
    if _full(worst.at_limit, worst.full, limits):
        return _finding(window, subject, worst, limits)
    maybe = [k.share or 0.0 for k in seen if not k.certain and (k.maybe_at_limit or 0.0) >= limits["time"]]
    if maybe and max(maybe) >= limits["share"]:
        return _perhaps(window, subject, max(seen, key=lambda known: known.share or 0.0), limits)
    return RuledOut(subject, "; ".join(map(_used, seen)))


def _full(time: float | None, full: float | None, limits: Limits) -> bool:
    return time is not None and time >= limits["time"] and full is not None and full >= limits["share"]


def _used(known: LimitAnalysis) -> str:
    way = "" if known.limit.direction == TOTAL else f"{known.limit.direction}s use "
    low, high = human.percent(known.low), human.percent(known.share)
    share = high if known.certain else f"{low} to {high}"
    return f"{way}{share} % of {_amount(known.limit, known.binding)} over {len(known.samples)} readings"


def _amount(limit: Limit, binding: str | None) -> str:
    if binding == BANDWIDTH:
        return human.quantity(limit.bandwidth, "bytes_per_second")
    return f"{human.number(limit.iops)} IOPS"


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
    way = "" if known.limit.direction == TOTAL else f"{known.limit.direction}s: "
    time = "," if known.at_limit == 1 else f" {human.percent(known.at_limit)} % of the time, then"
    binding = known.binding or IOPS
    parts = [
        f"{way}at its {binding} limit{time} {human.percent(known.full)} % of {_amount(known.limit, binding)}",
        *_size(known, binding),
        *_wait(known),
        *_burst(known),
    ]
    if not waits and not known.shaped:
        parts.append("nothing shows that requests wait for it")
    return Finding(
        severity=Severity.WARNING if waits or known.shaped else Severity.INFO,
        subject=subject,
        cause="; ".join(parts),
        values=_values(known, limits),
        evidence=_evidence(window, known),
        advice=tuple(_advice(known, binding)),
        refuted_by="requests that take as long, and no more of them, when the limit is raised",
        confidence=None if waits else 0.8 if known.shaped else 0.5,
    )


def _size(known: LimitAnalysis, binding: str) -> Iterator[str]:
    even, size = known.limit.break_even, known.size
    if size is None:
        return
    if even is None:
        yield f"requests of {human.quantity(size, 'bytes')}"
    elif binding == IOPS:
        yield (
            f"requests of {human.quantity(size, 'bytes')}, from {human.quantity(even, 'bytes')} on the bandwidth "
            "would bind"
        )
    else:
        yield f"requests of {human.quantity(size, 'bytes')}, below {human.quantity(even, 'bytes')} the IOPS would bind"


def _wait(known: LimitAnalysis) -> Iterator[str]:
    wait, own, disks, queue = known.wait, known.limit_wait, known.disk_wait, known.queue
    if own is not None:
        yield (
            f"a request takes {human.quantity(wait, 'seconds')}, of which {human.quantity(own, 'seconds')} are the "
            f"limit's and {human.quantity(disks, 'seconds')} the disks'"
        )
    elif wait is not None:
        yield (
            f"{human.number(queue)} outstanding at that rate take {human.quantity(wait, 'seconds')} each, however fast "
            "the disks are"
        )
    elif known.least_wait:
        beside = f", the disks take {human.quantity(disks, 'seconds')}" if disks is not None else ""
        yield f"a request takes {human.quantity(known.least_wait, 'seconds')} or more{beside}"
    elif disks is not None:
        yield f"the disks take {human.quantity(disks, 'seconds')}"


def _burst(known: LimitAnalysis) -> Iterator[str]:
    if known.burst_left is not None:
        yield f"a burst, which may last {human.duration(known.burst_left)} more at most"
    elif known.limit.iops_burst or known.limit.bandwidth_burst:
        yield "its burst is used up"


def _perhaps(window: Window, subject: str, known: LimitAnalysis, limits: Limits) -> Finding:
    sharers = known.limit.sharers or 1
    return Finding(
        severity=Severity.INFO,
        subject=subject,
        cause=f"between {human.percent(known.low)} and {human.percent(known.share)} % of "
        f"{_amount(known.limit, known.binding)}: what is used is told for {sharers} mappings together, and each has "
        "this limit",
        values=_values(known, limits),
        evidence=_evidence(window, known),
        advice=("sdstop on the node of that client: the client's own device tells how much it used",),
        refuted_by="a client's own device that uses less than its limit",
        confidence=0.5,
    )


def _values(known: LimitAnalysis, limits: Limits) -> tuple[Value, ...]:
    limit = known.limit
    return (
        Value("low", "used of the limit, at least", known.low, "ratio", above=limits["share"]),
        Value("share", "used of the limit, at most", known.share, "ratio", above=limits["share"]),
        Value("at_limit", "time at the limit", known.at_limit, "ratio", above=limits["time"]),
        Value("full", "used of the limit meanwhile", known.full, "ratio"),
        Value("requests", "requests that passed", known.requests, "per_second", above=limit.iops),
        Value("bytes", "bytes that passed", known.bytes, "bytes_per_second", above=limit.bandwidth),
        Value("size", "mean size of a request", known.size, "bytes"),
        Value("break_even", "size from which the bandwidth binds", limit.break_even, "bytes"),
        Value("allowed", "requests that the limits allow at this size", known.allowed, "per_second"),
        Value("wait", "mean time of a request", known.wait, "seconds"),
        Value("limit_wait", "of it the limit's own", known.limit_wait, "seconds"),
        Value("least_wait", "mean time of a request at least, by tasks that stalled", known.least_wait, "seconds"),
        Value("disk_wait", "mean time of a request below the limit", known.disk_wait, "seconds"),
        Value("queue", "requests outstanding", known.queue, "", above=limits["queue"]),
        Value(
            "stalled",
            "time in which a task of it waited for I/O, at least",
            known.stalled,
            "ratio",
            above=limits["stalled"],
        ),
        Value("burst_left", "the burst may last, at most", known.burst_left, "seconds"),
    )


def _evidence(window: Window, known: LimitAnalysis) -> tuple[Cite, ...]:
    limit = known.limit
    return cites(window.cite(limit), window.cite(limit, "used_requests"), *known.cited(window))


def _advice(known: LimitAnalysis, binding: str) -> Iterator[str]:
    limit = known.limit
    even, size = limit.break_even, known.size
    if binding == IOPS and even is not None and size is not None and size < even / 2:
        yield f"larger requests carry more at the same IOPS, up to {human.quantity(even, 'bytes')} each"
    if limit.kind == CGROUP:
        key = {(READ, IOPS): "riops", (WRITE, IOPS): "wiops", (READ, BANDWIDTH): "rbps", (WRITE, BANDWIDTH): "wbps"}
        if limit.origin.endswith("/io.max"):
            word = f"{quoted(limit.needle.strip())} {key[limit.direction, binding]}=max"
            yield f"echo '{word}' > {quoted(limit.origin)}   # or a higher number"
        if limit.owner.endswith((".service", ".scope", ".slice")):
            way = limit.direction.capitalize()
            setting = f"IO{way}{'IOPS' if binding == IOPS else 'Bandwidth'}Max"
            unit = limit.owner.rpartition("/")[2]
            yield (
                f"systemctl show -p {setting} {operand(unit)}   # where systemd sets it, it does so again at the "
                "next start"
            )
    elif limit.kind == QEMU:
        yield (
            f"virsh blkdeviotune {operand(limit.owner)} DISK   # libvirt: shows the limits, and with options sets them"
        )
    elif limit.kind == POWERFLEX:
        yield "raise the limit of this mapping: IOPS 11 or more, bandwidth in whole MiB/s, 0 for no limit"
    else:
        yield f"rbd config image list {operand(limit.volume)}   # rbd_qos_*: what the limits are and who set them"


VOLUME_QOS_SATURATED = Rule(
    "volume-qos-saturated",
    "a volume uses all that its limit allows, so that its requests wait for the limit and not for the disks",
    Severity.WARNING,
    _check,
    (Limit,),
    (
        Threshold("share", 0.95, "share of the limit that is used at readings at the limit", "ratio"),
        Threshold("time", 0.6, "share of the readings that are at the limit", "ratio"),
        Threshold("readings", 3.0, "readings of the use that are needed"),
        Threshold("stalled", 0.1, "share of the time a task waits for I/O that shows waiting", "ratio"),
        Threshold("queue", 2.0, "requests outstanding that show waiting"),
    ),
    covers=(Covers(Limit, "{subject}", _is_held),),
    many="use all that their limits allow",
)
