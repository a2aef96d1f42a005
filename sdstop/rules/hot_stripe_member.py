"""Stripe members that permanently get far more than their share of the requests."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis import programs
from sdstop.analysis.column import thresholds
from sdstop.analysis.judged_group import JudgedGroup, is_striped
from sdstop.analysis.peer_groups import is_deep, spread_groups
from sdstop.analysis.stripe import StripePattern
from sdstop.analysis.stripe import Verdict as Spread
from sdstop.collectors.md.readings import Array
from sdstop.core import format as human
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.readings.disk import DiskActivity
from sdstop.rules.stripe_convoy import values

_SILENT = {
    StripePattern.TOO_FEW: "too few stripe columns to tell a hot member from chance",
    StripePattern.UNEQUAL: "its members are of unequal size, so the larger ones rightly carry more",
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
            yield RuledOut(name, "too little outstanding for any member to be crowded")
        else:
            top = "+".join(spread.top)
            yield RuledOut(
                name,
                f"the fullest column, {top}, carries {human.number(spread.ios_ratio)} times the others' requests and "
                f"is the fullest in {human.percent(spread.persistence)} % of the crowded readings",
            )


def _hot(window: Window, judged: JudgedGroup, spread: Spread, limits: Limits) -> Finding:
    name, members = judged.name, "+".join(spread.top)
    writer = programs.advice(window)
    advice = [
        f"find what is asked for there: blktrace, or the counters of the volumes on {quoted(name)}",
        "spread it: a smaller chunk, or the hot file or volume moved or striped again over more members",
    ]
    if writer:
        advice.insert(0, writer)
    rows = [row for row in (window.get(DiskActivity, m) for m in spread.top) if row is not None]
    ratio = spread.ios_ratio or 0.0
    return Finding(
        severity=Severity.CRITICAL if is_deep(window, judged, limits) else Severity.WARNING,
        subject=f"{name}/{spread.top[0]}" if len(spread.top) == 1 else f"{name}/{members}",
        cause=f"{members} carries {human.number(ratio)} times the requests of its peers and holds the queue "
        f"{human.percent(spread.persistence)} % of the time",
        values=(
            Value("ios_ratio", "requests, times the peers' median", spread.ios_ratio, "", above=limits["hot_ios"]),
            *values(judged, spread, limits["fixed"]),
        ),
        evidence=cites(*(window.cite(row) for row in rows), *(window.cite(row) for row in judged.rows)),
        advice=tuple(advice),
        refuted_by=(
            "the same requests spread over several members in the next minutes, or a wait that is long at equal "
            "requests "
            "(then the disk is slow, not hot)"
        ),
        confidence=spread.persistence,
    )


HOT_STRIPE_MEMBER = Rule(
    "hot-stripe-member",
    "a fixed stripe member is asked for far more than its share and holds the queue",
    Severity.CRITICAL,
    _check,
    (DiskActivity,),
    thresholds("columns", "queue", "ios", "deficit", "deficit_flash", "top_share", "crowded", "fixed", "hot_ios"),
    covers=(Covers(Array, where=is_striped),),
    many="are asked for far more than their share",
    explains=(
        "device-saturated",
        "rebuild-slow",
        "volume-below-promise",
    ),
)
