"""A storage service at the limits of its control group: processor time, memory or number of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.limits.readings import ServiceGroup
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import SIGN, Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_GRACE = 0.5
"""Seconds that a span of samples may lack."""
_HOUR = 3600.0
_STEP = "Raise the limit of the unit, or move work to another node."


class _Growth(Struct, frozen=True):
    """New values of a group's counters over `seconds`, and of rare events over `hour`; None if unknown."""

    seconds: float
    hour: float
    periods: float | None
    throttled: float | None
    stalled: float | None
    killed: float | None
    refused: float | None

    @property
    def share(self) -> float:
        """Share of the periods in which the quota was used up."""
        return (self.throttled or 0.0) / self.periods if self.periods else 0.0

    @property
    def waits(self) -> float:
        """Share of the time in which some task waited for memory."""
        return (self.stalled or 0.0) / self.seconds if self.seconds else 0.0


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(ServiceGroup).values():
        yield _judged(window, row, limits)


def _judged(window: Window, row: ServiceGroup, limits: Limits) -> Verdict:
    grown = _growth(window, row, limits["span"])
    if grown is None:
        return Unchecked("limits of services need two samples", row.name, calm=True, gap=Gap.EARLY)
    if grown.killed:
        return _killed(window, row, grown)
    if grown.refused:
        return _refused(window, row, grown)
    rate = (grown.throttled or 0.0) / grown.seconds
    slow = grown.share >= limits["throttled"] and rate >= limits["periods"]
    short = grown.waits >= limits["stalled"]
    if not slow and not short:
        return RuledOut(row.name, _said(row, grown))
    if grown.seconds + _GRACE < limits["seconds"]:
        span = f"collecting data: {grown.seconds:.0f} of {limits['seconds']:g} s"
        gap = Gap.SIGNS if grown.seconds >= SIGN and not (slow and row.machine) else Gap.EARLY
        return Unchecked(f"{_said(row, grown)}; {span}", row.name, gap=gap)
    return _slow(window, row, grown, limits) if slow else _short(window, row, grown, limits)


def _growth(window: Window, row: ServiceGroup, span: float) -> _Growth | None:
    """Return the growth within `span` seconds, and that of rare events within an hour; None with one sample."""

    def new(name: str, seconds: float) -> tuple[float | None, float]:
        grown = counter_growth(window, ServiceGroup, row.group, (name,), seconds)
        return (None, 0.0) if grown is None else (grown.new, grown.seconds)

    rates = [new(name, span) for name in ("periods", "throttled", "memory_stalled")]
    events = [new(name, _HOUR) for name in ("killed", "refused")]
    known = [(rates, max(seconds for _, seconds in rates)), (events, max(seconds for _, seconds in events))]
    seconds = next((seconds for _, seconds in known if seconds), None)
    if seconds is None:
        return None
    return _Growth(seconds, known[1][1], *(value for value, _ in (*rates, *events)))


def _said(row: ServiceGroup, grown: _Growth) -> str:
    parts = []
    if row.quota is not None:
        parts.append(f"quota used up in {human.percent(grown.share)}% of periods")
    if row.memory_max is not None:
        parts.append(f"waits for memory {human.percent(grown.waits)}% of the time")
    if row.refused is not None:
        parts.append(f"{row.refused} tasks refused, 0 of them now")
    return "; ".join(parts) or "limits not reached, 0 refusals"


def _slow(window: Window, row: ServiceGroup, grown: _Growth, limits: Limits) -> Finding:
    quota = human.number(row.quota) if row.quota is not None else "?"
    return Finding(
        severity=Severity.INFO if row.machine else Severity.WARNING,
        subject=row.name,
        title=f"CPU QUOTA USED UP: {human.percent(grown.share)}% of periods",
        cause=fitting(
            f"{row.programs} may use {quota} processors, and used them up in {human.percent(grown.share)}% of periods.",
            f"The quota of {quota} processors was used up in {human.percent(grown.share)}% of periods.",
        ),
        impact="The service stops for the rest of such a period; its clients wait.",
        values=(
            Value("share", "periods with the quota used up", grown.share, "ratio", above=limits["throttled"]),
            Value("throttled", "such periods", grown.throttled, of=grown.periods),
            Value("quota", "processors allowed", row.quota),
            Value("seconds", "measured for", grown.seconds, "seconds"),
            Value("programs", "programs", row.programs),
        ),
        evidence=cites(window.cite(row, "throttled")),
        advice=(_STEP, *_unit(row, "CPUQuotaPerSecUSec")),
        refuted_by="nr_throttled that stays the same under load",
        harmless_if="the quota is intended, as for a guest",
    )


def _short(window: Window, row: ServiceGroup, grown: _Growth, limits: Limits) -> Finding:
    size = human.quantity(row.memory_max, "bytes")
    waits = human.percent(grown.waits)
    return Finding(
        severity=Severity.WARNING,
        subject=row.name,
        title=f"MEMORY LIMIT: tasks wait {waits}%",
        cause=fitting(
            f"{row.programs} waited for memory in {waits}% of the time; the limit is {size}.",
            f"Tasks waited for memory in {waits}% of the time; the limit is {size}.",
        ),
        impact="It reads its own memory back again and again, while its clients wait.",
        values=(
            Value("waits", "time with a task waiting for memory", grown.waits, "ratio", above=limits["stalled"]),
            Value("memory", "memory in use", row.memory_used, "bytes", of=row.memory_max),
            Value("seconds", "measured for", grown.seconds, "seconds"),
            Value("programs", "programs", row.programs),
        ),
        evidence=cites(window.cite(row, "memory_stalled")),
        advice=(_STEP, *_unit(row, "MemoryMax")),
        refuted_by="memory.pressure of the group near 0",
    )


def _killed(window: Window, row: ServiceGroup, grown: _Growth) -> Finding:
    count = f"{grown.killed:g} process{'' if grown.killed == 1 else 'es'}"
    return Finding(
        severity=Severity.WARNING,
        subject=row.name,
        title=f"MEMORY LIMIT: {count} killed",
        cause=f"{count} killed in {human.duration(grown.hour)} at {human.quantity(row.memory_max, 'bytes')}.",
        impact=fitting(f"{row.programs} lost a process; its clients wait or fail.", "The service lost a process."),
        values=(
            Value("killed", "processes killed", grown.killed, "", above=0),
            Value("total", "killed since the group was created", row.killed),
            Value("memory", "memory in use", row.memory_used, "bytes", of=row.memory_max),
            Value("programs", "programs", row.programs),
        ),
        evidence=cites(window.cite(row, "killed")),
        advice=(
            _STEP,
            *_unit(row, "MemoryMax"),
            run("journalctl", "-k").pipe("grep", "-i", "oom"),
        ),
        refuted_by="oom_kill of memory.events that stays the same",
    )


def _refused(window: Window, row: ServiceGroup, grown: _Growth) -> Finding:
    count = human.number(grown.refused or 0.0, 0)
    return Finding(
        severity=Severity.WARNING,
        subject=row.name,
        title=f"TASKS LIMIT: {count} refused",
        cause=f"{count} new tasks refused in {human.duration(grown.hour)}; the limit is {row.tasks_max or '?'}.",
        impact=fitting(f"{row.programs} cannot start threads and can end.", "The service cannot start threads."),
        values=(
            Value("refused", "new tasks refused", grown.refused, "", above=0),
            Value("limit", "maximum number of tasks", row.tasks_max),
            Value("programs", "programs", row.programs),
        ),
        evidence=cites(window.cite(row, "refused")),
        advice=(_STEP, *_unit(row, "TasksMax")),
        refuted_by="max of pids.events that stays the same",
    )


def _unit(row: ServiceGroup, setting: str) -> tuple[Advice, ...]:
    unit = row.group.rpartition("/")[2]
    if not unit.endswith((".service", ".scope", ".slice")):
        return ()
    return (run("systemctl", "show", "-p", setting, *operands(unit), note="the limit now"),)


SERVICE_LIMITED = Rule(
    "service-limited",
    "storage service at the limits of its control group",
    Severity.WARNING,
    _check,
    (ServiceGroup,),
    (
        Threshold("throttled", 0.25, "share of periods in which the CPU quota was used up", "ratio"),
        Threshold("periods", 1.0, "minimum of such periods: a program seldom active waits little", "per_second"),
        Threshold("stalled", 0.4, "share of time with a task waiting for memory", "ratio"),
        Threshold("seconds", 15.0, "minimum time measured", "seconds"),
        Threshold("span", 60.0, "maximum time measured", "seconds"),
    ),
    covers=(),
    damage=Damage.SPEED,
    explains=("slow-device", "osd-slow", "osd-down", "ceph-daemon-down"),
    view="host",
    advice=_STEP,
)
