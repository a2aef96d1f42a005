"""Stripe members that permanently get far more than their share of the requests."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.stripe import StripePattern
from sdstop.analysis.stripe import Verdict as Spread
from sdstop.analysis.striped import Striped, is_striped, striped_arrays, thresholds
from sdstop.collectors.md.readings import Array
from sdstop.collectors.system.processes import ProcessActivity
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
    for striped in striped_arrays(window, limits):
        name = striped.array.array
        spread = striped.verdict
        if spread is None:
            yield Unchecked(striped.unchecked, name)
        elif spread.kind is StripePattern.HOT:
            yield _hot(window, striped, spread, limits)
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


def _hot(window: Window, striped: Striped, spread: Spread, limits: Limits) -> Finding:
    name, members = striped.array.array, "+".join(spread.top)
    writer = _busiest_process(window)
    advice = [
        f"find what is asked for there: blktrace, or the counters of the volumes on {quoted(name)}",
        "spread it: a smaller chunk, or the hot file or volume moved or striped again over more members",
    ]
    if writer:
        advice.insert(0, writer)
    rows = [row for row in (window.get(DiskActivity, m) for m in spread.top) if row is not None]
    ratio = spread.ios_ratio or 0.0
    heavy = (spread.deficit or 0.0) >= 2 * (spread.deficit_limit or 0.0)
    return Finding(
        severity=Severity.CRITICAL if heavy else Severity.WARNING,
        subject=f"{name}/{spread.top[0]}" if len(spread.top) == 1 else f"{name}/{members}",
        summary=f"{members} carries {human.number(ratio)} times the requests of its peers and holds the queue "
        f"{human.percent(spread.persistence)} % of the time",
        values=(
            Value("ios_ratio", "requests, times the peers' median", spread.ios_ratio, "", limits["hot_ios"]),
            *values(striped, spread, limits["fixed"]),
        ),
        evidence=cites(*(window.cite(row) for row in rows), window.cite(striped.array)),
        advice=tuple(advice),
        refuted_by=(
            "the same requests spread over several members in the next minutes, or a wait that is long at equal "
            "requests "
            "(then the disk is slow, not hot)"
        ),
        confidence=spread.persistence,
    )


def _busiest_process(window: Window) -> str:
    busy = [
        (row.read_bytes_per_second or 0.0) + (row.write_bytes_per_second or 0.0)
        for row in window.rows(ProcessActivity).values()
    ]
    if not busy or not max(busy):
        return ""
    row = list(window.rows(ProcessActivity).values())[busy.index(max(busy))]
    return (
        f"the process that does most I/O on this node now is {quoted(human.safe(row.name, 40))} (pid {row.pid}), "
        f"{human.quantity(max(busy), 'bytes_per_second')}"
    )


HOT_STRIPE_MEMBER = Rule(
    "hot-stripe-member",
    "a fixed stripe member is asked for far more than its share and holds the queue",
    Severity.CRITICAL,
    _check,
    (Array, DiskActivity),
    thresholds("columns", "queue", "ios", "deficit", "deficit_flash", "top_share", "crowded", "fixed", "hot_ios"),
    covers=(Covers(Array, where=is_striped),),
)
