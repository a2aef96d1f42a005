"""NFS mounts as nfsiostat shows them: the part of nfs-timeouts and nfs-slow that has means instead of counters."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.filesystems.readings import NfsReport
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

_LONG = 1.0
"""Mean seconds of a request of an interval that are slow for any server."""
_FEWEST = 1.0
"""Requests per second of which the mean is a measure."""
_WORDS = {"read": "Reads", "write": "Writes"}


def _by_mount(window: Window) -> dict[str, list[NfsReport]]:
    found: dict[str, list[NfsReport]] = {}
    for row in window.rows(NfsReport).values():
        found.setdefault(row.point, []).append(row)
    return found


def timeouts(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Yield a verdict for each mount: requests that were sent again in the last interval."""
    for point, rows in _by_mount(window).items():
        last = [row for row in rows if row.since == "interval"]
        worst = max(last, key=lambda row: row.share, default=None)
        again = sum(row.again for row in last)
        if worst is None:
            yield Unchecked("nfsiostat without an interval", point)
        elif again < limits["again"] or worst.share < limits["share"]:
            yield RuledOut(point, f"{again} requests sent again in an interval")
        else:
            yield Finding(
                severity=Severity.WARNING,
                subject=point,
                title=f"NFS TIMEOUTS: {worst.share:.1%} sent again",
                cause=f"{human.plural(again, 'request')} of an interval had no answer in time.",
                impact="Programs wait until a repetition is answered.",
                values=(
                    Value("again", "requests sent again", again, above=limits["again"]),
                    Value("share", "share of requests sent again", worst.share, "ratio", above=limits["share"]),
                    Value("answer", "until the answer", worst.answer, "seconds"),
                ),
                evidence=cites(window.cite(worst)),
                advice=(
                    "Check the server, then the network for loss and lost connections.",
                    run("journalctl", "-k").pipe("grep", "-i", "nfs"),
                ),
                refuted_by="retrans of nfsiostat that stays the same",
                harmless_if="the server was restarted in this time",
            )


def slow(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Yield a verdict for each mount: requests of the last interval that took a second, and far more than before."""
    for point, rows in _by_mount(window).items():
        before = {row.kind: row for row in rows if row.since == "mount"}
        last = [row for row in rows if row.since == "interval" and row.rate >= _FEWEST]
        long = [row for row in last if _time(row) >= _LONG and _is_slower(row, before.get(row.kind), limits)]
        took = ", ".join(f"{_WORDS[row.kind].lower()} {human.quantity(_time(row), 'seconds')}" for row in last)
        if long:
            worst = max(long, key=_time)
            yield _slow(window, worst, before.get(worst.kind))
        elif last and all(_time(row) < limits["wait"] for row in last):
            yield RuledOut(point, took)
        else:
            yield Unchecked(f"no past to compare with: {took}" if last else "nfsiostat without a busy interval", point)


def _time(row: NfsReport) -> float:
    """Return the time that a program waits for a request. The kernel sends writes later: their queue does not count."""
    return row.answer if row.kind == "write" else row.execution


def _is_slower(row: NfsReport, before: NfsReport | None, limits: Limits) -> bool:
    return before is None or not before.rate or _time(row) >= limits["times"] * _time(before)


def _slow(window: Window, row: NfsReport, before: NfsReport | None) -> Finding:
    past = "" if before is None else f", since the mount {human.quantity(_time(before), 'seconds')}"
    return Finding(
        severity=Severity.WARNING,
        subject=row.point,
        title=f"NFS SLOW: {human.wait(_time(row))} ms",
        cause=f"{_WORDS[row.kind]} take {human.quantity(_time(row), 'seconds')}{past}.",
        impact=f"{_WORDS[row.kind]} wait {human.wait(_time(row))} ms each.",
        values=(
            Value("time", "time of a request", _time(row), "seconds", above=_LONG),
            Value("time_before", "time before", None if before is None else _time(before), "seconds"),
            Value("answer", "until the answer", row.answer, "seconds"),
            Value("requests", "requests completed", row.rate, "per_second"),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Check disks and load of the server, then the network for loss.",
            run("nfsiostat", "5", "4", row.point, note="avg RTT: server and network; avg exe: with the queue here"),
        ),
        refuted_by="programs that now ask for data that the server has to read from its disks",
        harmless_if="the server's disks are busy for another client for a while",
        cost=row.rate * _time(row),
    )
