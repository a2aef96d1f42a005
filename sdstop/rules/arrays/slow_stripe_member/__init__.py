"""Stripe members that are slower than their peers at an equal share of I/O: far slower, or somewhat all the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

from sdstop.analysis.disks.standstill import CRITICAL, Standstill
from sdstop.analysis.members.column import SLOW, StripeLimits, thresholds
from sdstop.analysis.members.judged_group import JudgedGroup, Laggard, is_striped
from sdstop.analysis.members.laggard import FEWEST, Wait
from sdstop.analysis.members.peer_groups import striped_groups
from sdstop.analysis.members.relapse import Relapse
from sdstop.analysis.members.replacement import advice, waits_for
from sdstop.analysis.members.unjudged import NO_ROW
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.averages import median
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Gap, Severity, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service
from sdstop.rules.arrays.slow_stripe_member.behind import lagging

_EQUAL = StripeLimits().equal_ios


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    return verdicts(window, striped_groups(window, limits), limits)


def verdicts(window: Window, groups: Sequence[JudgedGroup], limits: Limits) -> Iterator[Verdict]:
    """Yield a finding for each slow member of the groups, otherwise why there is none."""
    for judged in groups:
        upper = judged.group.upper if judged.group is not None else None
        subjects = (judged.name,) if upper is not None else judged.layout.names
        members = len(judged.layout.names)
        gap = Gap.EARLY if judged.slow_unchecked.startswith("collecting data") else Gap.OPEN
        gap = Gap.FAULTY if judged.slow_unchecked.endswith(NO_ROW) else Gap.SIGNS if judged.sign else gap
        if judged.slow:
            for laggard in judged.slow:
                yield _slow(window, judged, laggard, limits)
        elif judged.slow_unchecked:
            why = f"{judged.sign} waits far longer; " if judged.sign not in judged.slow_unchecked else ""
            calm = not judged.striped and not judged.sign
            yield from unchecked(subjects, f"{why}{judged.slow_unchecked}", calm=calm, gap=gap)
        elif members < FEWEST and not judged.mirrored:
            yield from unchecked(subjects, f"too few members ({members}) to identify a slow one", calm=True)
        elif judged.lag is not None:
            yield lagging(window, judged, judged.lag)
        else:
            yield from passed(subjects, _good(judged, limits))


def _good(judged: JudgedGroup, limits: Limits) -> str:
    members = judged.seconds[-1].members
    any_waits = repeat(None) if members.any_waits is None else members.any_waits
    waits: dict[str, float] = {}
    for name, *three in zip(members.names, members.read_waits, members.write_waits, any_waits, strict=False):
        known = [wait for wait in three if wait is not None]
        if known:
            waits[name] = max(known)
    if not waits:
        return "no I/O in the last sample"
    slowest = max(waits, key=waits.__getitem__)
    peers = median([wait for disk, wait in waits.items() if disk != slowest] or [0.0])
    times = limits["slow_of_two" if len(waits) < FEWEST else "slow_of_three" if len(waits) == FEWEST else "slow_wait"]
    if waits[slowest] >= times * peers > 0:
        return (
            f"{slowest} {human.wait(waits[slowest])} ms, its peers {human.wait(peers)} ms in the last sample: "
            "not sustained, not at an equal share, or explained by seeks"
        )
    return (
        f"no member waits {human.number(times)} times as long as its peers at an equal share; "
        f"longest wait {human.wait(waits[slowest])} ms ({slowest})"
    )


def _slow(window: Window, judged: JudgedGroup, laggard: Laggard, limits: Limits) -> Finding:
    member, near = laggard.member, laggard.neighbor
    row = window.get(DiskActivity, member)
    values: list[Value] = []
    kind = "MEMBER" if judged.striped else "DEVICE"
    if laggard.still is not None:
        still = laggard.still
        title = f"{kind} STALLS: {human.plural(len(still.spans), 'standstill')}"
        cause = _standing(laggard, still)
        values += _standing_values(still)
    elif laggard.wait is not None:
        title = f"SLOW {kind}: {human.number(laggard.wait.times)}x its peers' wait"
        cause = _waiting(judged, laggard, laggard.wait)
        values += _wait_values(laggard.wait, limits)
    elif laggard.relapse is not None:
        title = f"{kind} SLOW AT TIMES: {human.plural(laggard.relapse.spells, 'spell')}"
        cause = _relapsing(laggard.relapse)
        values += _relapse_values(laggard.relapse, limits)
    else:
        raise ValueError("a slow member has a wait, a standstill or a relapse")
    impact = waits_for(judged)
    values.append(Value("busy", "busy", row.busy if row is not None else None, "ratio"))
    if laggard.base:
        values.append(Value("base", "device below", laggard.base))
    if near is not None:
        title = f"SLOW {kind}: its disk serves others too"
        impact = (
            f"{near.disk} also serves {human.safe(near.device, 16)}: {human.number(near.requests)} of "
            f"{human.number(near.requests + near.own)} requests/s."
        )
        values.append(Value("neighbour", f"requests of {near.device} on the same disk", near.requests, "per_second"))
        values.append(Value("own", f"requests of {member}", near.own, "per_second"))
        values.append(Value("neighbour_use", f"use of {near.device}", near.used or None))
    return Finding(
        severity=Severity.CRITICAL if laggard.critical else Severity.WARNING,
        subject=judged.subject(member),
        title=title,
        cause=cause,
        impact=impact,
        values=tuple(values),
        evidence=cites(*_evidence(window, judged, laggard)),
        advice=advice(judged, laggard),
        refuted_by=(
            f"a larger share of I/O than its peers (hot, not slow), or other load on {member} (another partition, a "
            "SMART self-test)"
        ),
        confidence=0.7 if judged.group is None else None,
        view_subject=member,
        cost=row.queue or 0.0 if row is not None else 0.0,
    )


def _waiting(judged: JudgedGroup, laggard: Laggard, wait: Wait) -> str:
    share = _share(wait.share) if judged.seconds and judged.seconds[-1].rated else ""
    where = f" on {human.safe(laggard.base, 12)}" if laggard.base else ""
    requests = f"{wait.requests[0].upper()}{wait.requests[1:]}"
    return f"{requests} take {human.wait(wait.seconds)} ms{where}, {human.wait(wait.peers)} ms on its peers{share}."


def _share(share: float) -> str:
    """Return the rate of a member's requests in words, as a multiple of its peers'."""
    if 1 / _EQUAL <= share <= _EQUAL:
        return ", at an equal share"
    return f", at {human.percent(share)}% of their rate"


def _wait_values(wait: Wait, limits: Limits) -> tuple[Value, ...]:
    return (
        Value("wait", f"wait of {wait.requests}", wait.seconds, "seconds"),
        Value("peers", "peers' median", wait.peers, "seconds"),
        Value("times", "times its peers' wait", wait.times, "", above=limits["slow_wait"]),
    )


def _standing(laggard: Laggard, still: Standstill) -> str:
    where = f" on {human.safe(laggard.base, 12)}" if laggard.base else ""
    return (
        f"No completion{where} in {human.duration(still.seconds)} of {human.duration(still.of)}, while its peers idled."
    )


def _standing_values(still: Standstill) -> tuple[Value, ...]:
    share = still.seconds / still.of
    return (
        Value("standstill", "time without a completion", share, "ratio", above=CRITICAL if share >= CRITICAL else None),
        Value("episodes", "standstills", len(still.spans)),
        Value("wait", "longest mean wait after a standstill", still.wait, "seconds"),
    )


def _relapsing(found: Relapse) -> str:
    return (
        f"Requests took {human.wait(found.wait)} ms for {human.duration(found.seconds)} of {human.duration(found.of)}, "
        f"on its peers {human.wait(found.peers)} ms."
    )


def _relapse_values(found: Relapse, limits: Limits) -> tuple[Value, ...]:
    times = found.wait / found.peers if found.peers else None
    return (
        Value("wait", "wait of requests in slow seconds", found.wait, "seconds"),
        Value("peers", "peers' median", found.peers, "seconds"),
        Value("times", "times its peers' wait", times, "", above=limits["slow_far"]),
        Value("spells", "spells of slow seconds", found.spells),
        Value("slow", "slow part of the time", found.seconds / found.of, "ratio"),
    )


def _evidence(window: Window, judged: JudgedGroup, laggard: Laggard) -> Iterator[Cite | None]:
    """Yield the rows of the slow member, of a peer and of the group."""
    peers = [name for name in judged.layout.names if name != laggard.member]
    near = [laggard.neighbor.device] if laggard.neighbor is not None else []
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
    "stripe member slower than its peers under an equal share of I/O: far, or a little for a minute",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    thresholds(*SLOW),
    instead=(Service,),
    explains=(
        "rebuild-slow",
        "stripe-convoy",
        "device-saturated",
        "volume-below-promise",
        "nfs-server-busy",
    ),
    covers=(Covers(Array, where=is_striped),),
    many="are slow",
    view="disks",
    advice="Check the disk and its link; replace the disk if it stays slow.",
)
