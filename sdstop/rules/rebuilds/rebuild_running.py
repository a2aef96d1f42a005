"""Running rebuilds: progress, rate, ETA and its confidence."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.rebuilds.pace import Trend
from sdstop.analysis.rebuilds.rebuilding import REPAIRS, RebuildAnalysis, eta_words, rebuild_analyses
from sdstop.core import format as human
from sdstop.core.advice import Advice
from sdstop.core.finding import Damage, Finding, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.readings.rebuild import Rebuild


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for known in rebuild_analyses(window):
        row = known.rebuild
        if row.state in known.advice.waits:
            yield _waiting(window, known)
        elif row.state == "running" and not known.stands:
            yield _running(window, known)
        else:
            yield Unchecked(f"{known.what} {'makes no progress' if known.stands else row.state}", known.name, calm=True)


def _waiting(window: Window, known: RebuildAnalysis) -> Finding:
    row = known.rebuild
    return Finding(
        severity=Severity.INFO,
        subject=known.name,
        title=f"{known.what} {row.state}".upper(),
        cause=known.advice.waits[row.state],
        impact=_impact(known),
        values=(Value("state", "state", row.state), Value("progress", "done", row.progress, "progress")),
        evidence=cites(window.cite(row), window.cite(row, "operation")),
        advice=known.lines(*known.advice.waiting.get(row.state, ())),
        refuted_by=f"a line of progress in {known.lines(known.advice.shown)[0]}",
        damage=known.damage,
        view=known.view,
    )


def _running(window: Window, known: RebuildAnalysis) -> Finding:
    row, pace = known.rebuild, known.pace
    rate = pace.rate if pace is not None else None
    trend = pace.trend if pace is not None else None
    if known.at_end:
        when = "All blocks are issued, not all are written; remaining time unknown."
    elif pace is None or pace.rate is None:
        when = "Remaining time needs a few more samples."
        if row.kind != "md" and row.remaining is not None:
            by = " (mean since the start)" if row.kind == "zfs" else ""
            when = f"Estimating; {known.advice.teller} reports {human.duration(row.remaining)} left{by}."
    else:
        turns = {Trend.SLOWING: ", slowing", Trend.RISING: ", rising"}
        trend_ = turns.get(pace.trend or Trend.STEADY, "")
        when = f"{human.quantity(pace.rate, 'bytes_per_second')}{trend_}: {eta_words(pace)}."
    return Finding(
        severity=Severity.INFO,
        subject=known.name,
        title=f"{known.what} running".upper() + ("" if row.progress is None else f": {known.done}%"),
        cause=when,
        impact=_impact(known),
        values=(
            Value("progress", "done", row.progress, "progress"),
            Value("rate", "speed measured", rate, "bytes_per_second", of=row.speed_max),
            Value("eta", "remaining at this speed", pace.eta if pace else None, "seconds"),
            Value("soonest", "earliest", pace.soonest if pace else None, "seconds"),
            Value("latest", "latest", pace.latest if pace else None, "seconds"),
            Value("trend", "trend", str(trend) if trend else None),
            Value("kernel_rate", f"speed by {_teller(known)}", row.speed, "bytes_per_second"),
            Value("kernel_eta", f"remaining by {_teller(known)}", row.remaining, "seconds"),
            Value("seen", "observed for", pace.seconds if pace else None, "seconds"),
        ),
        evidence=cites(window.cite(row), window.cite(row, "operation")),
        advice=() if row.operation in REPAIRS or not known.advice.end else _end(known),
        refuted_by="progress that stops advancing (then see rebuild-stalled)",
        confidence=pace.confidence if pace is not None else None,
        damage=known.damage,
        view=known.view,
    )


def _teller(known: RebuildAnalysis) -> str:
    return "the kernel" if known.rebuild.kind == "md" else known.advice.teller


def _end(known: RebuildAnalysis) -> tuple[Advice, ...]:
    return known.lines(f"End the {known.rebuild.operation} if its load is too much now.", *known.advice.end)


def _impact(known: RebuildAnalysis) -> str:
    if known.damage is Damage.REDUNDANCY:
        return f"Full redundancy returns when the {known.what} ends."
    return "Other I/O on the same disks can be slower until then."


REBUILD_RUNNING = Rule(
    "rebuild-running",
    "rebuild or data check in progress: progress, speed, estimated end",
    Severity.INFO,
    _check,
    (Rebuild,),
    view="disks",
    advice="Let it finish; defer other load and maintenance.",
)
