"""Stripe members that permanently get far more than their share of the requests."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.members import stripe
from sdstop.analysis.members.column import thresholds
from sdstop.analysis.members.judged_group import JudgedGroup, is_striped
from sdstop.analysis.members.peer_groups import is_deep, spread_groups
from sdstop.analysis.members.stripe import StripePattern
from sdstop.analysis.members.stripe import Verdict as Spread
from sdstop.analysis.tasks import programs
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.readings.disk import DiskActivity
from sdstop.rules.arrays.stripe_convoy import values

_SILENT = {
    StripePattern.TOO_FEW: "too few stripe columns to distinguish a hot member from chance",
    StripePattern.UNEQUAL: "members differ in size; larger ones get more requests by design",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for judged in spread_groups(window, limits):
        name = judged.name
        spread = judged.verdict
        if spread is None:
            yield Unchecked(judged.unchecked, name, calm=not judged.striped)
        elif spread.kind is StripePattern.HOT:
            yield _hot(window, judged, spread, limits)
        elif spread.kind in _SILENT:
            yield Unchecked(_SILENT[spread.kind], name, calm=True)
        elif spread.ios_ratio is None:
            yield RuledOut(name, "queues too short for a hot member")
        else:
            top = "+".join(spread.top)
            yield RuledOut(
                name,
                f"{top} has the longest queue in {human.percent(spread.persistence)}% of crowded samples, with "
                f"{human.number(spread.ios_ratio)} times the others' requests",
            )


def _hot(window: Window, judged: JudgedGroup, spread: Spread, limits: Limits) -> Finding:
    name, members = judged.name, "+".join(spread.top)
    writer = programs.advice(window)
    advice = [
        "Spread the load: move or restripe the hot file or volume.",
        run("blktrace", "-d", f"/dev/{spread.top[0]}", note="hot sectors"),
        *((writer,) if writer else ()),
    ]
    waits = stripe.waits(judged.seconds, spread.top)
    rows = [row for row in (window.get(DiskActivity, m) for m in spread.top) if row is not None]
    ratio = spread.ios_ratio or 0.0
    rest = (
        f" gets {human.number(ratio)} times its peers' requests; "
        f"queue there {human.percent(spread.persistence)}% of the time."
    )
    return Finding(
        severity=Severity.CRITICAL if is_deep(window, judged, limits) else Severity.WARNING,
        subject=f"{name}/{spread.top[0]}" if len(spread.top) == 1 else f"{name}/{members}",
        title=f"HOT MEMBER: {human.number(ratio)}x its peers' requests",
        cause=fitting(f"{human.safe(members)}{rest}", f"This member{rest}"),
        impact=(
            f"Requests take {human.wait(waits[0])} ms there, {human.wait(waits[1])} ms on the other members."
            if waits is not None
            else "I/O that needs this member waits in its queue."
        ),
        values=(
            Value("ios_ratio", "requests, times the peers' median", spread.ios_ratio, "", above=limits["hot_ios"]),
            *values(judged, spread, above=limits["fixed"]),
        ),
        evidence=cites(*(window.cite(row) for row in rows), *(window.cite(row) for row in judged.rows)),
        advice=tuple(advice),
        refuted_by="the same load on several members within minutes, or a long wait at equal requests (slow, not hot)",
        confidence=spread.persistence,
        view_subject=spread.top[0],
        cost=spread.queue or 0.0,
    )


HOT_STRIPE_MEMBER = Rule(
    "hot-stripe-member",
    "stripe member with far more than its share of requests",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    thresholds("columns", "queue", "ios", "deficit", "deficit_flash", "top_share", "crowded", "fixed", "hot_ios"),
    covers=(Covers(Array, where=is_striped),),
    many="are hot",
    view="disks",
    explains=(
        "device-saturated",
        "rebuild-slow",
        "volume-below-promise",
        "nfs-server-busy",
    ),
    advice="Spread the load: move or restripe the hot file or volume.",
)
