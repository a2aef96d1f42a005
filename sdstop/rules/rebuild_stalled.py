"""Rebuilds that are reported as running but make no progress."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sdstop.analysis.rebuild import PAUSE, PAUSES, READINGS, STALLED, Pace
from sdstop.analysis.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.rebuild import Rebuild, folder


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in rebuild_analyses(window):
        pace = known.motion
        if known.rebuild.state != "running" or known.rebuild.operation not in REPAIRS:
            yield Unchecked(known.not_judged, known.name, calm=True)
        elif pace is None:
            yield Unchecked(f"{_teller(known)} does not say how much is done", known.name)
        elif known.stood(limits["pause"], limits["pauses"], limits["readings"], limits["stalled"]):
            yield _stalled(window, known, pace, limits)
        elif pace.moved > 0:
            yield RuledOut(
                known.name,
                f"the {known.what} moved on by {human.quantity(pace.moved, 'bytes')} in "
                f"{human.duration(pace.seconds)}, at rest {human.duration(max(pace.longest_pause, pace.unchanged))} "
                "at most",
            )
        elif known.patience == math.inf:
            yield Unchecked(
                f"{_teller(known)} tells it in steps of {human.quantity(known.rebuild.step, 'bytes')} and no speed",
                known.name,
            )
        else:
            yield Unchecked(
                f"no progress yet in {human.duration(pace.seconds)} of frames; it takes "
                f"{human.duration(max(limits['pause'], known.patience))} to call that a stall",
                known.name,
            )


def _stalled(window: Window, known: RebuildAnalysis, pace: Pace, limits: Limits) -> Finding:
    row = known.rebuild
    teller = "the kernel" if row.kind == "md" else known.advice.teller
    at_stop = row.stop is not None and row.done is not None and row.done >= row.stop
    silent = bool(known.loads) and all(not load.completed and not load.in_flight for load in known.loads)
    cause, certain, advice = _cause(known, at_stop=at_stop, silent=silent)
    certain = certain or pace.unchanged >= limits["stalled"]
    atleast = "" if pace.moved else "at least "
    return Finding(
        severity=Severity.CRITICAL if certain else Severity.WARNING,
        subject=known.name,
        cause=f"{known.what} stands at {known.done} % for {atleast}{human.duration(pace.unchanged)}: {cause}",
        values=(
            Value("unchanged", "no progress for", pace.unchanged, "seconds", above=limits["pause"]),
            Value("longest_pause", "longest rest before", pace.longest_pause, "seconds"),
            Value("progress", "done", row.progress, "progress"),
            *((Value("stop", "md was told to stop at", row.stop, "bytes"),) if row.kind == "md" else ()),
            Value(
                "kernel_rate",
                f"speed that {teller} still reports",
                row.speed,
                "bytes_per_second",
            ),
        ),
        evidence=cites(
            window.cite(row),
            window.cite(row, "completed"),
            window.cite(row, "operation"),
            window.cite(row, "stop") if row.stop is not None else None,
        ),
        advice=advice,
        refuted_by=_refuted(known),
        lasting=pace.unchanged,
    )


def _refuted(known: RebuildAnalysis) -> str:
    if known.rebuild.kind != "md":
        return f"the amounts of {known.name} moving in {known.lines(known.advice.shown)[0]}; its speed is a mean"
    return (
        f"(DONE/TOTAL) of {known.name} in /proc/mdstat moving; the speed printed beside it proves nothing: it is an "
        "average that only decays"
    )


def _teller(known: RebuildAnalysis) -> str:
    return "mdstat" if known.rebuild.kind == "md" else known.advice.teller


def _cause(known: RebuildAnalysis, *, at_stop: bool, silent: bool) -> tuple[str, bool, tuple[str, ...]]:
    """Return the cause, whether it is certain, and the advice."""
    name = known.name
    base = quoted(folder(name))
    hung = [load.device for load in known.loads if load.in_flight and not load.completed]
    look = known.lines(*known.advice.stalled)
    md = known.rebuild.kind == "md"
    if at_stop:
        advice: tuple[str, ...] = (f"echo max > {base}/sync_max   # it was told to stop there",)
        if known.rebuild.operation == "reshape":
            advice = (
                (
                    f"mdadm moves sync_max as the reshape goes; is it alive? systemctl status "
                    f"mdadm-grow-continue@{quoted(name)}"
                ),
                f"mdadm --grow --continue /dev/{quoted(name)}",
            )
        return "it has reached sync_max, where it was told to stop", True, advice
    if hung:
        return (
            f"{', '.join(hung[:3])} does not answer",
            False,
            (f"journalctl -k | grep -w {operand(hung[0])}; smartctl -x /dev/{quoted(hung[0])}", *look),
        )
    if silent:
        more = (f"grep . {base}/sync_* {base}/suspend_*",) if md else ()
        return f"{'md' if md else 'it'} asks nothing of its members", True, (*look, *more)
    busiest = known.busiest
    if busiest is not None and (busiest.busy or 0.0) > 0.9:
        return (
            f"{busiest.device} is {human.percent(busiest.busy)} % busy with other I/O",
            False,
            known.lines("who uses it: see the processes of this node", *known.advice.yields),
        )
    if not known.loads:
        return "what its members do is not known here", False, look
    return "its members answer, and none is full", False, (*look, *((f"grep . {base}/sync_*",) if md else ()))


REBUILD_STALLED = Rule(
    "rebuild-stalled",
    "a rebuild that claims to run makes no progress",
    Severity.CRITICAL,
    _check,
    (Rebuild,),
    (
        Threshold("pause", PAUSE, "time without progress that is a stall when it is unusual, too", "seconds"),
        Threshold("pauses", PAUSES, "and so many times the longest rest seen before"),
        Threshold("readings", READINGS, "readings that must show the same progress"),
        Threshold("stalled", STALLED, "time without progress that is a stall in any case, and critical", "seconds"),
    ),
)
