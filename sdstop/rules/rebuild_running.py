"""Running rebuilds: progress, rate, ETA and its confidence."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.rebuild import Trend
from sdstop.analysis.rebuilding import REPAIRS, RebuildAnalysis, eta_words, rebuild_analyses
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
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
        cause=f"the {known.what} {known.advice.waits[row.state]}",
        values=(Value("state", "state", row.state), Value("progress", "done", row.progress, "progress")),
        evidence=cites(window.cite(row), window.cite(row, "operation")),
        advice=known.lines(known.advice.waiting.get(row.state, "")),
        refuted_by=f"a line of progress in {known.lines(known.advice.shown)[0]}",
    )


def _running(window: Window, known: RebuildAnalysis) -> Finding:
    row, pace = known.rebuild, known.pace
    rate = pace.rate if pace is not None else None
    trend = pace.trend if pace is not None else None
    if known.at_end:
        when = "all of it is started and is not yet on the disks: when that will be, nothing tells"
    elif pace is None or pace.rate is None:
        when = "when it will be done takes a few more readings to tell"
        if row.kind != "md" and row.remaining is not None:
            by = ", by the mean since its start" if row.kind == "zfs" else ""
            when += f" ({known.advice.teller} says {human.duration(row.remaining)}{by})"
    else:
        turns = {Trend.SLOWING: ", slowing", Trend.RISING: ", getting faster"}
        when = f"{human.quantity(pace.rate, 'bytes_per_second')}{turns.get(pace.trend or Trend.STEADY, '')}, "
        when += f"done {eta_words(pace)}"
    return Finding(
        severity=Severity.INFO,
        subject=known.name,
        cause=f"{known.what} {known.done} % done, {when}",
        values=(
            Value("progress", "done", row.progress, "progress"),
            Value("rate", "speed seen", rate, "bytes_per_second", above=row.speed_max),
            Value("eta", "remaining, at the speed seen", pace.eta if pace else None, "seconds"),
            Value("soonest", "at the soonest", pace.soonest if pace else None, "seconds"),
            Value("latest", "at the latest", pace.latest if pace else None, "seconds"),
            Value("trend", "speed is", str(trend) if trend else None),
            Value("kernel_rate", f"speed that {_teller(known)} reports", row.speed, "bytes_per_second"),
            Value("kernel_eta", f"remaining, as {_teller(known)} reports", row.remaining, "seconds"),
            Value("seen", "watched for", pace.seconds if pace else None, "seconds"),
        ),
        evidence=cites(window.cite(row), window.cite(row, "operation")),
        advice=() if row.operation in REPAIRS or not known.advice.end else _end(known),
        refuted_by="progress that does not move any more (rebuild-stalled says so)",
        confidence=pace.confidence if pace is not None else None,
    )


def _teller(known: RebuildAnalysis) -> str:
    return "the kernel" if known.rebuild.kind == "md" else known.advice.teller


def _end(known: RebuildAnalysis) -> tuple[str, ...]:
    return known.lines(f"to end the {known.rebuild.operation}: {known.advice.end}")


REBUILD_RUNNING = Rule(
    "rebuild-running",
    "a rebuild or a data check is under way: progress, speed, own estimate of its end",
    Severity.INFO,
    _check,
    (Rebuild,),
)
