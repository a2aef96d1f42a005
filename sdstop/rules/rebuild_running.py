"""A rebuild that is under way: how far, how fast, when done, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop import format as human
from sdstop.finding import Finding, Limits, Rule, Severity, Value, Verdict, cites
from sdstop.history import Window
from sdstop.mdarray import Rebuild
from sdstop.rebuild import Trend
from sdstop.rebuilding import REPAIRS, Rebuilding, eta_words, rebuildings

_ID = "rebuild-running"

_WAITS = {
    "delayed": "waits: another array that shares a disk with it goes first",
    "pending": "is due and begins with the first write: the array is read-only until then",
    "remote": "runs on another node of the cluster",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for known in rebuildings(window):
        row = known.rebuild
        if row.state in _WAITS:
            yield _waiting(window, known)
        elif row.state == "running" and not known.stands:
            yield _running(window, known)


def _waiting(window: Window, known: Rebuilding) -> Finding:
    row = known.rebuild
    advice = {
        "delayed": "nothing to do: md takes arrays on the same disks one after the other; cat /proc/mdstat",
        "pending": f"mdadm --readwrite /dev/{known.name}   # begins at once",
    }
    return Finding(
        _ID,
        Severity.INFO,
        known.name,
        f"the {known.what} {_WAITS[row.state]}",
        (Value("state", "state", row.state),),
        cites(window.cite(row), window.cite(row, "operation")),
        (advice[row.state],) if row.state in advice else (),
        "a line of progress in /proc/mdstat",
    )


def _running(window: Window, known: Rebuilding) -> Finding:
    row, pace = known.rebuild, known.pace
    rate = pace.rate if pace is not None else None
    trend = pace.trend if pace is not None else None
    if pace is None or pace.rate is None:
        when = "when it will be done takes a few more readings to tell"
    else:
        turns = {Trend.SLOWING: ", slowing", Trend.RISING: ", getting faster"}
        when = f"{human.quantity(pace.rate, 'bytes_per_second')}{turns.get(pace.trend or Trend.STEADY, '')}, "
        when += f"done {eta_words(pace)}"
    return Finding(
        _ID,
        Severity.INFO,
        known.name,
        f"{known.what} {known.done} % done, {when}",
        (
            Value("progress", "done", row.progress, "ratio"),
            Value("rate", "speed seen", rate, "bytes_per_second", row.speed_max),
            Value("eta", "remaining, at the speed seen", pace.eta if pace else None, "seconds"),
            Value("soonest", "at the soonest", pace.soonest if pace else None, "seconds"),
            Value("latest", "at the latest", pace.latest if pace else None, "seconds"),
            Value("trend", "speed is", str(trend) if trend else None),
            Value("kernel_rate", "speed that the kernel reports", row.speed, "bytes_per_second"),
            Value("kernel_eta", "remaining, as the kernel reports", row.remaining, "seconds"),
            Value("seen", "watched for", pace.seconds if pace else None, "seconds"),
        ),
        cites(window.cite(row), window.cite(row, "operation")),
        _advice(row, known.name),
        "progress that does not move any more (rebuild-stalled says so)",
        pace.confidence if pace is not None else None,
    )


def _advice(row: Rebuild, name: str) -> tuple[str, ...]:
    if row.operation in REPAIRS:
        return ()
    return (f"to end the {row.operation}: echo idle > /sys/block/{name.replace('/', '!')}/md/sync_action",)


REBUILD_RUNNING = Rule(
    _ID,
    "a rebuild or a data check is under way: progress, speed, own estimate of its end",
    Severity.INFO,
    _check,
    (Rebuild,),
)
