"""TCP segments that had to be sent again to storage: each one delays the requests behind it."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.network.peer_readings import StoragePeer
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SPANS = (60.0, 300.0)
"""Seconds over which segments are compared: a new loss shows in the short one, a rare one in the long one."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(StoragePeer).values():
        subject = f"{row.peer}/{row.service}"
        grown = [each for span in _SPANS if (each := _segments(window, row, span)) is not None]
        if row.segments is None:
            yield Unchecked("segments not counted by this kernel", subject, calm=True)
            continue
        if not grown:
            yield Unchecked("retransmissions need two samples of the same connections", subject, gap=Gap.EARLY)
            continue
        again, sent, seconds = max(grown, key=lambda each: (each[1] >= limits["segments"], each[0] / max(each[1], 1)))
        if sent < limits["segments"]:
            yield RuledOut(subject, f"{sent} segments in {human.duration(seconds)}, {again} sent again")
        elif again / sent < limits["share"]:
            yield RuledOut(subject, f"{human.percent(again / sent)}% of segments sent again")
        else:
            yield _finding(window, row, subject, again, sent, seconds, limits)


def _segments(window: Window, row: StoragePeer, seconds: float) -> tuple[int, int, float] | None:
    """Return the segments sent again and all that were sent in at most `seconds`, and the seconds between them."""
    key = (row.peer, row.service)
    again = counter_growth(window, StoragePeer, key, ("retransmitted",), seconds)
    sent = counter_growth(window, StoragePeer, key, ("segments",), seconds)
    return None if again is None or sent is None else (again.new, sent.new, sent.seconds)


def _finding(
    window: Window, row: StoragePeer, subject: str, again: int, sent: int, seconds: float, limits: Limits
) -> Finding:
    share = again / sent
    within = human.duration(seconds)
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title=f"RETRANSMITS: {human.percent(share)}% of segments",
        cause=fitting(
            f"{again} of {sent} TCP segments to this {row.service} peer sent again in {within}.",
            f"{human.percent(share)}% of TCP segments to this peer sent again in {within}.",
        ),
        impact="Requests behind a lost segment wait, 200 ms or more after a timeout.",
        values=(
            Value("share", "segments sent again", share, "ratio", above=limits["share"]),
            Value("again", "segments sent again, number", again),
            Value("per_second", "segments sent again", again / seconds, "per_second"),
            Value("round_trip", "round-trip time", row.round_trip, "seconds"),
            Value("connections", "connections", row.connections),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Look for drops along the path: interface, bond, switch, peer.",
            run("ss", "-tinO", "dst", row.peer, note="retrans, rtt and cwnd of each connection"),
            run("nstat", "-az", "TcpRetransSegs", "TcpExtTCPTimeouts", note="of all connections of the node"),
        ),
        refuted_by="a count of retransmissions that stays the same under load",
        harmless_if="the peer restarted in this time",
    )


STORAGE_RETRANSMITS = Rule(
    "storage-retransmits",
    "TCP segments to storage that are sent again",
    Severity.WARNING,
    _check,
    (StoragePeer,),
    (
        Threshold("share", 0.005, "share of segments sent again", "ratio"),
        Threshold("segments", 1000.0, "segments needed to judge"),
    ),
    covers=(Covers(StoragePeer, "{peer}/{service}"),),
    explains=("slow-device", "slow-stripe-member", "osd-slow", "nfs-slow", "nfs-timeouts"),
    many="lose segments",
    view="network",
    advice="Look for drops along the path: interface, bond, switch, peer.",
)
