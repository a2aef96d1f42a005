"""Stripe members that are far slower than their peers at an equal share of I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from sdstop.analysis.column import SLOW, thresholds
from sdstop.analysis.judged_group import JudgedGroup, Laggard, is_striped
from sdstop.analysis.laggard import FEWEST, Wait
from sdstop.analysis.peer_groups import striped_groups
from sdstop.analysis.replacement import advice, waits_for
from sdstop.analysis.standstill import CRITICAL, Standstill
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Covers, Finding, Gap, Limits, Rule, Severity, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    return verdicts(window, striped_groups(window, limits), limits)


def verdicts(window: Window, groups: Sequence[JudgedGroup], limits: Limits) -> Iterator[Verdict]:
    """Yield a finding for each slow member of the groups, otherwise why there is none."""
    for judged in groups:
        upper = judged.group.upper if judged.group is not None else None
        subjects = (judged.name,) if upper is not None else judged.layout.names
        members = len(judged.layout.names)
        gap = Gap.EARLY if judged.slow_unchecked.startswith("needs ") else Gap.OPEN
        if judged.slow:
            for laggard in judged.slow:
                yield _slow(window, judged, laggard, limits)
        elif judged.slow_unchecked:
            yield from unchecked(subjects, judged.slow_unchecked, calm=not judged.striped, gap=gap)
        elif members < FEWEST and not judged.mirrored:
            yield from unchecked(subjects, f"{members} members are too few to tell which of them is slow", calm=True)
        else:
            yield from passed(subjects, _good(judged, limits))


def _good(judged: JudgedGroup, limits: Limits) -> str:
    waits: dict[str, float] = {}
    for column in judged.seconds[-1].columns:
        for member in column.members:
            if member.write_wait is not None or member.read_wait is not None:
                waits[member.name] = max(member.write_wait or 0.0, member.read_wait or 0.0)
    if not waits:
        return "no member was asked for anything in the last reading"
    slowest = max(waits, key=waits.__getitem__)
    peers = median([wait for disk, wait in waits.items() if disk != slowest] or [0.0])
    times = limits["slow_of_two" if len(waits) < FEWEST else "slow_of_three" if len(waits) == FEWEST else "slow_wait"]
    if waits[slowest] >= times * peers > 0:
        return (
            f"{slowest} waited {human.wait(waits[slowest])} ms at the last reading, its peers {human.wait(peers)} ms; "
            "but not in most readings, not at an equal share of I/O, or with no more work on each request than a seek "
            "takes"
        )
    return (
        f"no member waits {human.number(times)} times as long as its peers at an equal share; the "
        f"longest wait of the last reading is {human.wait(waits[slowest])} ms ({slowest})"
    )


def _slow(window: Window, judged: JudgedGroup, laggard: Laggard, limits: Limits) -> Finding:
    member, near = laggard.member, laggard.neighbour
    known = f"{member} on {laggard.base}" if laggard.base else member
    row = window.get(DiskActivity, member)
    values: list[Value] = []
    if laggard.still is not None:
        summary = _standing(judged, known, laggard.still)
        values += _standing_values(laggard.still)
    elif laggard.wait is not None:
        summary = _waiting(judged, known, laggard.wait)
        values += _wait_values(laggard.wait, limits)
    else:
        raise ValueError("a slow member has a wait, or stands still")
    values.append(Value("busy", "busy", row.busy if row is not None else None, "ratio"))
    if near is not None:
        used = f" ({human.safe(near.used, 60)})" if near.used else ""
        summary += (
            f"; its disk {near.disk} also serves {near.device}{used}, "
            f"{human.number(near.requests)} of {human.number(near.requests + near.own)} requests/s"
        )
        values.append(Value("neighbour", f"requests of {near.device} on the same disk", near.requests, "per_second"))
        values.append(Value("own", f"requests of {member}", near.own, "per_second"))
    return Finding(
        severity=Severity.CRITICAL if laggard.critical else Severity.WARNING,
        subject=judged.subject(member),
        cause=summary,
        values=tuple(values),
        evidence=cites(*_evidence(window, judged, laggard)),
        advice=advice(judged, laggard),
        refuted_by=(
            f"a larger share of I/O than its peers' (then {member} is hot, not slow), or another load on the same "
            "disk (other partitions, a SMART self test)"
        ),
        confidence=0.7 if judged.group is None else None,
    )


def _waiting(judged: JudgedGroup, member: str, wait: Wait) -> str:
    share = ", at an equal share of I/O" if judged.seconds and judged.seconds[-1].rated else ""
    return (
        f"{member} answers {wait.requests} in {human.wait(wait.seconds)} ms, its peers in "
        f"{human.wait(wait.peers)} ms{share}: {waits_for(judged)}"
    )


def _wait_values(wait: Wait, limits: Limits) -> tuple[Value, ...]:
    return (
        Value("wait", f"wait of {wait.requests}", wait.seconds, "seconds"),
        Value("peers", "the peers' median", wait.peers, "seconds"),
        Value("times", "times as long", wait.times, "", above=limits["slow_wait"]),
    )


def _standing(judged: JudgedGroup, member: str, still: Standstill) -> str:
    return (
        f"{member} completed nothing for {human.duration(still.seconds)} of the last {human.duration(still.of)}, "
        f"{len(still.spans)} times, while its peers had nothing to do: {waits_for(judged)}"
    )


def _standing_values(still: Standstill) -> tuple[Value, ...]:
    return (
        Value(
            "standstill",
            "share of the time in which it completed nothing",
            still.seconds / still.of,
            "ratio",
            above=CRITICAL,
        ),
        Value("episodes", "standstills", len(still.spans)),
        Value("wait", "longest mean wait after one", still.wait, "seconds"),
    )


def _evidence(window: Window, judged: JudgedGroup, laggard: Laggard) -> Iterator[Cite | None]:
    """Yield the rows of the slow member, of a peer and of the group."""
    peers = [name for name in judged.layout.names if name != laggard.member]
    near = [laggard.neighbour.device] if laggard.neighbour is not None else []
    for name in (laggard.member, *near, *peers[:1]):
        row = window.get(DiskActivity, name)
        if row is not None:
            yield window.cite(row)
    if window.get(DiskActivity, laggard.member) is None:
        names = {laggard.member, *peers[:1]}
        if laggard.thing is not None:
            names |= {name for _, name in laggard.thing.names}
        for service in window.rows(Service).values():
            if service.name in names or service.device in names:
                yield window.cite(service)
    for group in judged.rows:
        yield window.cite(group)


SLOW_STRIPE_MEMBER = Rule(
    "slow-stripe-member",
    "one stripe member answers far slower than its peers at an equal share of I/O",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    thresholds(*SLOW),
    explains=(
        "rebuild-slow",
        "stripe-convoy",
        "device-saturated",
        "volume-below-promise",
    ),
    covers=(Covers(Array, where=is_striped),),
    many="answer far slower than the other members of their arrays",
)
