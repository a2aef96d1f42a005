"""Programs wait for memory: pages that they need again were swapped out or dropped."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.system.node import MEMINFO, Node, Pressure
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window

SUBJECT = "memory"
_MICRO = 1e-6
_GRACE = 0.5


class _Stalls(Struct, frozen=True):
    """Share of the time in which tasks waited for memory: some of them, and all at once; over `seconds`."""

    some: float
    full: float
    seconds: float


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    row = window.get(Pressure, SUBJECT)
    if row is None:
        yield Unchecked("no memory pressure data (PSI is off, or not recorded)", SUBJECT, calm=True, gap=Gap.UNRECORDED)
        return
    stalls = _stalls(window, limits["seconds"])
    if stalls is None or stalls.seconds + _GRACE < limits["seconds"]:
        known = stalls.seconds if stalls is not None else 0.0
        yield Unchecked(f"needs {limits['seconds']:g} s of samples, has {known:.0f} s", SUBJECT, gap=Gap.EARLY)
    elif stalls.some >= limits["some"]:
        yield _finding(window, row, stalls, limits)
    else:
        yield RuledOut(SUBJECT, f"tasks waited for memory in {human.percent(stalls.some)} % of {stalls.seconds:.0f} s")


def _stalls(window: Window, seconds: float) -> _Stalls | None:
    """Return the shares over the last seconds, from the counters of the kernel; None without two samples."""
    known = [
        (at, row.some_total, row.full_total or 0)
        for at, row in window.series(Pressure, SUBJECT)
        if row is not None and row.some_total is not None
    ]
    if len(known) < 2:
        return None
    end, some, full = known[-1]
    start, some_then, full_then = next(each for each in known if each[0] >= end - seconds - _GRACE)
    span = end - start
    if span <= 0:
        return None
    return _Stalls((some - some_then) * _MICRO / span, (full - full_then) * _MICRO / span, span)


def _finding(window: Window, row: Pressure, stalls: _Stalls, limits: Limits) -> Finding:
    node = next(iter(window.rows(Node).values()), None)
    total = node.swap_total if node is not None else None
    used = total - (node.swap_free or 0) if node is not None and total else None
    summary = (
        f"programs waited for memory in {human.percent(stalls.some)} % of the last {human.duration(stalls.seconds)}, "
        f"all of them at once in {human.percent(stalls.full)} %"
    )
    if used:
        summary += f"; {human.quantity(used, 'bytes')} in swap"
    return Finding(
        severity=Severity.CRITICAL if stalls.full >= limits["full"] else Severity.WARNING,
        subject=SUBJECT,
        summary=summary,
        values=(
            Value("some", "time in which a task waited for memory", stalls.some, "ratio", limits["some"]),
            Value("full", "time in which all tasks waited for memory", stalls.full, "ratio", limits["full"]),
            Value("swap", "swap in use", used, "bytes"),
            Value("available", "memory available", node.memory_available if node is not None else None, "bytes"),
            Value("blocked", "tasks that wait for I/O now", node.tasks_blocked if node is not None else None),
        ),
        evidence=cites(window.cite(row), window.quote(MEMINFO, "SwapFree:") if total else None),
        advice=(
            "grep VmSwap /proc/[0-9]*/status | sort -k2 -n | tail   # processes that are swapped out",
            "ps -eo pid,rss,comm --sort=-rss | head   # processes with most memory",
            "cat /sys/fs/cgroup/*/memory.pressure   # is it one control group at its memory.max?",
            "limit or stop what needs the memory, or add memory: faster swap only shortens each wait",
        ),
        refuted_by="some avg60 below 10 in /proc/pressure/memory",
    )


MEMORY_SHORT = Rule(
    "memory-short",
    "programs wait for memory most of the time: swapping, or cached pages that are read again and again",
    Severity.CRITICAL,
    _check,
    (Node,),
    (
        Threshold("some", 0.4, "share of the time in which at least one task waits for memory (PSI some)", "ratio"),
        Threshold("full", 0.6, "share of the time in which all tasks do, that makes it critical (PSI full)", "ratio"),
        Threshold("seconds", 20.0, "time over which both are counted", "seconds"),
    ),
    covers=(),
)
