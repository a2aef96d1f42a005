"""Rebuilds that are reported as running but make no progress."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sdstop.analysis.rebuilds.pace import PAUSE, PAUSES, READINGS, STALLED, Pace
from sdstop.analysis.rebuilds.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.rebuild import Rebuild, folder


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in rebuild_analyses(window):
        pace = known.motion
        if known.rebuild.state != "running" or known.rebuild.operation not in REPAIRS:
            yield Unchecked(known.not_judged, known.name, calm=True)
        elif pace is None:
            yield Unchecked(f"no progress counter in {known.advice.teller}", known.name)
        elif known.stood(limits["pause"], limits["pauses"], limits["readings"], limits["stalled"]):
            yield _stalled(window, known, pace, limits)
        elif pace.moved > 0:
            yield RuledOut(
                known.name,
                f"{known.what} advanced {human.quantity(pace.moved, 'bytes')} in {human.duration(pace.seconds)}; "
                f"longest pause {human.duration(max(pace.longest_pause, pace.unchanged))}",
            )
        elif known.patience == math.inf:
            yield Unchecked(
                f"{known.advice.teller} reports steps of {human.quantity(known.rebuild.step, 'bytes')} and no speed",
                known.name,
            )
        else:
            yield Unchecked(
                f"no progress for {human.duration(pace.seconds)}; stalled after "
                f"{human.duration(max(limits['pause'], known.patience))}",
                known.name,
            )


def _stalled(window: Window, known: RebuildAnalysis, pace: Pace, limits: Limits) -> Finding:
    row = known.rebuild
    at_stop = row.stop is not None and row.done is not None and row.done >= row.stop
    silent = bool(known.loads) and all(not load.completed and not load.in_flight for load in known.loads)
    cause, certain, advice = _cause(known, at_stop=at_stop, silent=silent)
    certain = certain or pace.unchanged >= limits["stalled"]
    atleast = "" if pace.moved else "at least "
    return Finding(
        severity=Severity.CRITICAL if certain else Severity.WARNING,
        subject=known.name,
        title=f"REBUILD STALLED at {known.done}%",
        cause=f"No progress for {atleast}{human.duration(pace.unchanged)}: {cause}.",
        impact=(
            f"Redundancy stays reduced until the {known.what} resumes."
            if known.damage is Damage.REDUNDANCY
            else f"The {known.what} does not end until it resumes."
        ),
        values=(
            Value("unchanged", "time without progress", pace.unchanged, "seconds", above=limits["pause"]),
            Value("longest_pause", "longest pause before", pace.longest_pause, "seconds"),
            Value("progress", "done", row.progress, "progress"),
            *((Value("stop", "sync_max", row.stop, "bytes"),) if row.kind == "md" else ()),
            Value(
                "kernel_rate",
                f"speed by {'the kernel' if row.kind == 'md' else known.advice.teller}",
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
        damage=known.damage,
        view=known.view,
    )


def _refuted(known: RebuildAnalysis) -> str:
    if known.rebuild.kind != "md":
        return f"advancing amounts of {known.name} in {known.lines(known.advice.shown)[0]}; its speed is a mean"
    return f"advancing (DONE/TOTAL) of {known.name} in /proc/mdstat; the speed beside it is an average that decays"


def _cause(known: RebuildAnalysis, *, at_stop: bool, silent: bool) -> tuple[str, bool, tuple[Advice, ...]]:
    """Return the cause, whether it is certain, and the advice."""
    name = known.name
    base = folder(name)
    hung = [load.device for load in known.loads if load.in_flight and not load.completed]
    look = known.lines(*known.advice.stalled)
    md = known.rebuild.kind == "md"
    settings = (run("grep", "-r", ".", base, "--include=sync_*", "--include=suspend_*", note="limits"),) if md else ()
    if at_stop:
        if known.rebuild.operation == "reshape":
            return "stopped at sync_max", True, (
                "Check that mdadm runs: it advances sync_max during a reshape.",
                run("systemctl", "status", f"mdadm-grow-continue@{name}"),
                run("mdadm", "--grow", "--continue", f"/dev/{name}"),
            )  # fmt: skip
        return "stopped at sync_max", True, ("Remove the stop mark.", run("echo", "max", into=f"{base}/sync_max"))
    if hung:
        disk = (
            "Check the disk that does not respond.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(hung[0])),
            run("smartctl", "-x", f"/dev/{hung[0]}"),
        )
        one = len(hung) == 1
        return f"{human.listed(hung, 3, 12)} do{'es' if one else ''} not respond", False, (*disk, *look[1:])
    if silent:
        return f"no I/O issued to its members{' by md' if md else ''}", True, (*look, *settings)
    busiest = known.busiest
    if busiest is not None and (busiest.busy or 0.0) > 0.9:
        return (
            f"{human.safe(busiest.device, 12)} is {human.percent(busiest.busy)}% busy with other I/O",
            False,
            known.lines("Find the other users of the disk: partitions, programs.", *known.advice.yields),
        )
    if not known.loads:
        return "member activity unknown", False, look
    return "members respond, none is full", False, (*look, *settings)


REBUILD_STALLED = Rule(
    "rebuild-stalled",
    "rebuild reported as running that makes no progress",
    Severity.CRITICAL,
    _check,
    (Rebuild,),
    (
        Threshold("pause", PAUSE, "time without progress, if unusual", "seconds"),
        Threshold("pauses", PAUSES, "time without progress, as a multiple of the longest pause before"),
        Threshold("readings", READINGS, "samples with the same progress"),
        Threshold("stalled", STALLED, "time without progress in any case, critical", "seconds"),
    ),
    view="disks",
    advice="Look for errors of {subject}, and where its threads wait.",
)
