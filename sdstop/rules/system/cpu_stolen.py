"""Processor time that the hypervisor gives to others while programs of this guest want it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.system.readings import Cpu, Node
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import SIGN, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings import cpu
from sdstop.readings.cpu import CpuReport

SUBJECT = "cpu"
_ALL = "all"
_TICK = 0.01
"""Seconds of a tick of /proc/stat."""
_GRACE = 0.5
"""Seconds that a span of samples may lack."""


class _Stolen(Struct, frozen=True):
    """Processors that programs wanted and that others got instead, on average over `seconds`."""

    seconds: float
    stolen: float
    wanted: float

    @property
    def share(self) -> float:
        return self.stolen / self.wanted if self.wanted else 0.0


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    rows = [(moment.started, row) for moment in window.moments(Cpu) if (row := moment.rows.get(_ALL)) is not None]
    if not rows:
        yield from _printed(window, limits)
        return
    if len(rows) < 2:
        yield Unchecked("collecting data: 1 sample of processor time", SUBJECT, calm=True, gap=Gap.EARLY)
        return
    old = [place for place, (at, _) in enumerate(rows) if rows[-1][0] - at + _GRACE >= limits["seconds"]]
    found = _stolen(*rows[old[-1] if old else 0], *rows[-1])
    if found.share < limits["share"] or found.stolen < limits["processors"]:
        yield RuledOut(SUBJECT, f"{_said(found)} stolen by the hypervisor in {human.number(found.seconds)} s")
    elif not old:
        so_far = f"collecting data: {found.seconds:.0f} of {limits['seconds']:g} s; {_said(found)} stolen so far"
        yield Unchecked(so_far, SUBJECT, gap=Gap.SIGNS if found.seconds >= SIGN else Gap.EARLY)
    else:
        yield _finding(window, found, rows[-1][1], limits)


def _printed(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the output of a tool: shares of all processors, whose number is unknown."""
    row = cpu.worst(iter(window.rows(CpuReport).values()))
    if row is None:
        return
    found = _Stolen(0.0, row.stolen, row.wanted)
    if found.share < limits["share"] or found.stolen < limits["printed"]:
        yield RuledOut(SUBJECT, f"{row.tool}: {_said(found)} stolen by the hypervisor")
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=SUBJECT,
        title=f"CPU STOLEN: {human.percent(found.share)}% by hypervisor",
        cause=f"Other guests got {human.percent(row.stolen)}% of all processor time, {_said(found)} here.",
        impact=_impact(found),
        values=(
            Value("share", "processor time wanted and not received", found.share, "ratio", above=limits["share"]),
            Value("stolen", "processor time stolen", row.stolen, "ratio", above=limits["printed"]),
        ),
        evidence=cites(window.cite(row)),
        advice=(_STEP, *_COMMANDS),
        refuted_by="st near 0 in vmstat 1 under the same load",
        harmless_if=_HARMLESS,
    )


_STEP = "Move guests to another host, or reserve processors for this one."
_COMMANDS = (
    run("vmstat", "-w", "1", "5", note="column st"),
    run("systemd-detect-virt", note="hypervisor"),
)
_HARMLESS = "the guest is paid to have a part of a processor only"


def _impact(found: _Stolen) -> str:
    if found.share >= 1:
        return "No program runs, storage included."
    return f"Work of a processor takes {1 / (1 - found.share):.1f} times as long, that of storage included."


def _stolen(before: float, old: Cpu, now: float, new: Cpu) -> _Stolen:
    """Return the stolen time between two samples; counters that decrease count as 0."""
    seconds = now - before
    names = ("user", "nice", "system", "irq", "softirq", "steal")
    spent = {name: max(0, getattr(new, name) - getattr(old, name)) for name in names}
    per = _TICK / seconds if seconds > 0 else 0.0
    return _Stolen(seconds, spent["steal"] * per, sum(spent.values()) * per)


def _said(found: _Stolen) -> str:
    return f"{human.percent(found.share)}% of the processor time wanted"


def _finding(window: Window, found: _Stolen, row: Cpu, limits: Limits) -> Finding:
    node = next(iter(window.rows(Node).values()), None)
    return Finding(
        severity=Severity.WARNING,
        subject=SUBJECT,
        title=f"CPU STOLEN: {human.percent(found.share)}% by hypervisor",
        cause=f"Other guests got {human.number(found.stolen)} of {human.number(found.wanted)} processors wanted here.",
        impact=_impact(found),
        values=(
            Value("share", "processor time wanted and not received", found.share, "ratio", above=limits["share"]),
            Value("stolen", "processors stolen", found.stolen, "", above=limits["processors"]),
            Value("wanted", "processors wanted", found.wanted, "", of=node.cpus if node is not None else None),
            Value("seconds", "measured for", found.seconds, "seconds"),
        ),
        evidence=cites(window.cite(row, "steal")),
        advice=(_STEP, *_COMMANDS),
        refuted_by="st near 0 in vmstat 1 under the same load",
        harmless_if=_HARMLESS,
    )


CPU_STOLEN = Rule(
    "cpu-stolen",
    "processor time that the hypervisor gives to others while programs want it",
    Severity.WARNING,
    _check,
    (Cpu,),
    (
        Threshold("share", 0.25, "share of the wanted processor time that was stolen", "ratio"),
        Threshold("processors", 0.2, "processors stolen, below which it does not matter"),
        Threshold("printed", 0.05, "share of all processor time stolen, where a tool prints it", "ratio"),
        Threshold("seconds", 20.0, "time over which it is measured", "seconds"),
    ),
    instead=(CpuReport,),
    covers=(),
    view="host",
    advice=_STEP,
)
