"""Processors at their limit: one that interrupts fill while others are idle, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sdstop.collectors.system.node import spent
from sdstop.collectors.system.readings import Cpu, CpuActivity, PrintedCpu
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import SIGN, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.text import added

SUBJECT = "processors"
_ALL = "all"
_GRACE = 0.5
"""Seconds that a span of samples may lack."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(Cpu)
    if not moments:
        yield _printed(window, limits)
        return
    old = [each for each in moments if moments[-1].started - each.started + _GRACE >= limits["seconds"]]
    now, before = moments[-1], (old or moments)[-1 if old else 0]
    seconds = now.started - before.started
    if not old and seconds < SIGN:
        yield Unchecked(f"collecting data: needs {limits['seconds']:g} s", SUBJECT, calm=True, gap=Gap.EARLY)
        return
    pairs = {key: (before.rows.get(key), row) for key, row in now.rows.items()}
    shares = {
        row.cpu: share
        for first, row in pairs.values()
        if first is not None and (share := spent(first, row, seconds)) is not None
    }
    whole = shares.pop(_ALL, None)
    if whole is None:
        yield Unchecked("processor time was reset or is incomplete", SUBJECT, calm=True)
        return
    full = _filled(shares, limits)
    if not old:
        span = f"collecting data: {seconds:.0f} of {limits['seconds']:g} s"
        if full is None:
            yield Unchecked(span, SUBJECT, calm=True, gap=Gap.EARLY)
        else:
            yield Unchecked(f"interrupts fill processor {full}; {span}", SUBJECT, gap=Gap.SIGNS)
    elif full is not None:
        yield _interrupts(window, full, shares, seconds, limits)
    elif whole.busy >= limits["busy"]:
        yield _busy(window, whole, len(shares), seconds, limits)
    else:
        most = max((each.irq for each in shares.values()), default=whole.irq)
        yield RuledOut(
            SUBJECT,
            f"{human.percent(whole.busy)}% busy in {human.number(seconds)} s; interrupts take at most "
            f"{human.percent(most)}% of one",
        )


def _printed(window: Window, limits: Limits) -> Verdict:
    """Judge the processors of a recorded mpstat, whose interval is over."""
    shares = {row.cpu: row for row in window.rows(PrintedCpu).values() if row.cpu != _ALL}
    full = _filled(shares, limits)
    if full is not None:
        return _interrupts(window, full, shares, None, limits)
    if len(shares) < 2:
        return Unchecked("mpstat without -P ALL: interrupts of one processor unknown", SUBJECT, calm=True)
    most = max(each.irq for each in shares.values())
    return RuledOut(SUBJECT, f"interrupts take at most {human.percent(most)}% of one of {len(shares)}")


def _filled(shares: Mapping[str, CpuActivity | PrintedCpu], limits: Limits) -> str | None:
    """Return the processor that interrupts fill while the others have time, None if there is none."""
    if len(shares) < 2:
        return None
    worst = max(shares.values(), key=lambda each: each.irq)
    return worst.cpu if worst.irq >= limits["interrupts"] and _others(shares, worst.cpu) <= limits["others"] else None


def _others(shares: Mapping[str, CpuActivity | PrintedCpu], cpu: str) -> float:
    """Return the mean busy time of the other processors."""
    return added(each.busy for name, each in shares.items() if name != cpu) / (len(shares) - 1)


def _interrupts(
    window: Window, cpu: str, shares: Mapping[str, CpuActivity | PrintedCpu], seconds: float | None, limits: Limits
) -> Finding:
    own, others = shares[cpu], _others(shares, cpu)
    row = own if isinstance(own, PrintedCpu) else window.get(Cpu, cpu)
    field = "" if isinstance(own, PrintedCpu) else "softirq"
    is_short = isinstance(own, PrintedCpu) and not own.is_mean
    return Finding(
        severity=Severity.INFO if is_short else Severity.WARNING,
        subject=f"cpu{cpu}",
        title=f"INTERRUPTS FILL CPU {cpu}",
        cause=f"Interrupts take {human.percent(own.irq)}% of CPU {cpu}; the others are {human.percent(others)}% busy.",
        impact="Packets and completed requests wait for this processor.",
        values=(
            Value("irq", "time in interrupts", own.irq, "ratio", above=limits["interrupts"]),
            Value("others", "busy time of the others", others, "ratio", below=limits["others"]),
            Value("cpus", "processors", len(shares)),
            Value("seconds", "measured for", seconds, "seconds"),
        ),
        evidence=cites(window.cite(row, field) if row is not None else None),
        advice=(
            "Spread the queues of the card over the processors.",
            run("cat", "/proc/interrupts", note="the interrupts of this processor"),
            run("systemctl", "status", "irqbalance"),
            run("ethtool", "-l", "INTERFACE", note="queues of a network card"),
        ),
        refuted_by="%irq and %soft of the processor far below 90 in mpstat -P ALL 5",
    )


def _busy(window: Window, whole: CpuActivity, cpus: int, seconds: float, limits: Limits) -> Finding:
    row = window.get(Cpu, _ALL)
    return Finding(
        severity=Severity.INFO,
        subject=SUBJECT,
        title=f"ALL PROCESSORS BUSY: {human.percent(whole.busy)}%",
        cause=f"{human.percent(whole.busy)}% busy for {human.number(seconds)} s: {human.percent(whole.user)}% in "
        f"programs, {human.percent(whole.system)}% in the kernel.",
        impact="Services of storage wait for a processor like all others.",
        values=(
            Value("busy", "busy", whole.busy, "ratio", above=limits["busy"]),
            Value("user", "in programs", whole.user, "ratio"),
            Value("system", "in the kernel", whole.system, "ratio"),
            Value("cpus", "processors", cpus or None),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=(
            "Find the programs, and move or limit those that are not storage.",
            run("top", "-b", "-n", "1", "-o", "%CPU").pipe("head", "-20"),
        ),
        refuted_by="idle above 5 in vmstat 1",
    )


CPU_SATURATED = Rule(
    "cpu-saturated",
    "processor that interrupts fill while others are idle; all processors busy",
    Severity.WARNING,
    _check,
    (Cpu,),
    (
        Threshold("interrupts", 0.9, "share of a processor's time in interrupts", "ratio"),
        Threshold("others", 0.5, "busy time of the other processors above which the load is even", "ratio"),
        Threshold("busy", 0.95, "share of time in which all processors are busy", "ratio"),
        Threshold("seconds", 20.0, "time over which it is measured", "seconds"),
    ),
    instead=(PrintedCpu,),
    covers=(),
    view="host",
    explains=("frames-dropped",),
    advice="Spread the queues of the card over the processors.",
)
