"""Many tasks wait for I/O for a minute, and no finding accounts for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.disks.saturation import FEWEST, SaturatedDevice, saturated, suffice
from sdstop.analysis.members.peer_samples import SECONDS, recent
from sdstop.analysis.network.line import full_so_far
from sdstop.analysis.tasks.stalled import EXPLAINED_BY, HELD, LOAD_RULE, LOADS, accounts, unaccounted
from sdstop.collectors.system.readings import LOADAVG, STAT, BlockedTasks, Node, Pressure
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.text import added

SUBJECT = "load"
_SETTLED = 15.0
"""Seconds of samples after which the rules that could account for it have judged."""
_TURN = 5.0
"""Seconds within which load as such lets a task run."""
_NAMED = 3
"""Devices and programs named."""
_MANY = 4
"""Waiting tasks that are many on a node with two processors, the fewest that a storage node has."""
_HALF = 0.5
"""Share of the load of a minute that tasks in D state must make up."""


class _Load(Struct, frozen=True):
    """Load of the node: tasks that wait for I/O and tasks in D state in each sample (the fewest), and averages."""

    cpus: int
    waiting: int | None
    in_d_state: int | None
    full: float | None
    load1: float | None


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    load = _load(window, limits["seconds"])
    if load is None and (blocked := _blocked(window)) > _MANY:
        yield Unchecked(f"{blocked} tasks wait for I/O; number of processors unknown", SUBJECT, gap=Gap.FAULTY)
        return
    if load is None:
        yield Unchecked("number of processors unknown", SUBJECT, calm=True, gap=Gap.UNRECORDED)
        return
    least = limits["tasks"] * load.cpus
    if load.full is None and load.in_d_state is None:
        yield Unchecked("I/O pressure and tasks in D state unknown", SUBJECT, calm=True, gap=Gap.UNRECORDED)
        return
    pressed = (
        load.full is not None and load.full >= limits["full"] and load.waiting is not None and load.waiting > least
    )
    if not pressed and not _is_in_d_state(load, least):
        yield RuledOut(SUBJECT, _said(load))
        return
    yield _excuse(window, load, least, findings) or _finding(window, load, least, limits)


def _excuse(window: Window, load: _Load, least: float, findings: Sequence[Finding]) -> Verdict | None:
    """Return the known cause of the waiting tasks, or why it may soon be known; None without either."""
    because = [finding for finding in findings if accounts(finding, LOADS)]
    if unaccounted(window, _TURN, findings) > least:
        because = [finding for finding in because if finding.severity is not Severity.INFO]
    if because:
        named = ", ".join(dict.fromkeys(finding.id for finding in because[:4]))
        return RuledOut(SUBJECT, f"{_said(load)}{EXPLAINED_BY}{named}")
    most = max(load.waiting or 0, load.in_d_state or 0)
    full = _full_so_far(window)
    if full and added(each.queue for each in full) >= HELD * most:
        names = human.listed([each.device for each in full], _NAMED)
        return Unchecked(f"{_said(load)}; collecting data: so far {names} full of requests", SUBJECT, gap=Gap.EARLY)
    if lines := full_so_far(window):
        names = human.listed(lines, _NAMED)
        return Unchecked(f"{_said(load)}; collecting data: so far {names} at the line rate", SUBJECT, gap=Gap.EARLY)
    return None


def _finding(window: Window, load: _Load, least: float, limits: Limits) -> Finding:
    most = max(load.waiting or 0, load.in_d_state or 0)
    early = window.seconds < _SETTLED
    return Finding(
        severity=Severity.WARNING,
        subject=SUBJECT,
        title=f"LOAD UNEXPLAINED: {most} tasks wait",
        cause=(
            f"{most} tasks {'wait for I/O' if most == load.waiting else 'are in D state'} in each sample; "
            f"{'too few samples to explain it' if early else 'no finding explains it'}."
        ),
        impact=_impact(load),
        values=(
            Value("waiting", "tasks waiting for I/O", load.waiting, "", above=_exceeded(load.waiting, least)),
            Value("in_d_state", "tasks in D state", load.in_d_state, "", above=_exceeded(load.in_d_state, least)),
            Value("full", "I/O pressure (full, 60 s)", load.full, "ratio", above=_exceeded(load.full, limits["full"])),
            Value("load1", "load, 1 min", load.load1),
            Value("cpus", "processors", load.cpus),
        ),
        evidence=cites(
            window.quote(STAT, "procs_blocked") if load.waiting is not None else None,
            window.quote(LOADAVG),
            *(window.cite(row, "full_avg60") for row in window.rows(Pressure).values() if row.resource == "io"),
            *(window.cite(row) for row in window.rows(BlockedTasks).values()),
        ),
        advice=(
            "List the blocked tasks by kernel function; look for a slow device.",
            run("ps", "axHo", "pid,tid,stat,wchan:30,comm")
            .pipe("awk", "$3 ~ /^D/")
            .pipe("sort", "-k4")
            .pipe("uniq", "-c", "-f3"),
            run("iostat", "-x", "5"),
        ),
        refuted_by="fewer than two tasks per processor in D state in ps axHo stat",
        totals=early,
    )


def _blocked(window: Window) -> int:
    """Return the tasks that wait for I/O in each sample, whatever the number of processors; 0 if unknown."""
    rows = [row for moment in window.moments(Node) for row in moment.rows.values()]
    return min((row.tasks_blocked for row in rows if row.tasks_blocked is not None), default=0)


def _full_so_far(window: Window) -> list[SaturatedDevice]:
    """Return the devices that device-saturated would name if the samples so far were enough, [] if they are."""
    moments = recent(window, SECONDS, FEWEST)
    return [] if suffice(moments) else saturated(window, moments)


def _exceeded(value: float | None, threshold: float) -> float | None:
    return threshold if value is not None and value >= threshold else None


def _impact(load: _Load) -> str:
    parts = [f"all tasks stalled on I/O for {human.percent(load.full)}% of a minute"] if load.full is not None else []
    if load.load1 is not None:
        parts.append(f"load {load.load1:.0f} on {human.plural(load.cpus, 'CPU')}")
    said = "; ".join(parts) or "programs wait"
    return f"{said[0].upper()}{said[1:]}."


def _is_in_d_state(load: _Load, least: float) -> bool:
    """Return whether tasks in D state make up most of a minute's load, whether the kernel counts them as I/O or not.

    The pressure is low although hundreds of tasks wait, as soon as another task runs.
    """
    most = max(load.waiting or 0, load.in_d_state or 0)
    return load.load1 is not None and most > least and load.load1 > least and most >= _HALF * load.load1


def _load(window: Window, seconds: float) -> _Load | None:
    """Return the load; None without the number of processors.

    Averages of the kernel cover a minute even if the samples do not.
    """
    recent = window.last(seconds)
    node = next(iter(recent.rows(Node).values()), None)
    if node is None or not node.cpus:
        return None
    nodes = [row for shot in recent.snapshots for row in shot.rows(Node).values()]
    waiting = [row.tasks_blocked for row in nodes if row.tasks_blocked is not None]
    blocked = [row.blocked for shot in recent.snapshots for row in shot.rows(BlockedTasks).values()]
    full = next((row.full_avg60 for row in recent.rows(Pressure).values() if row.resource == "io"), None)
    return _Load(node.cpus, min(waiting, default=None), min(blocked, default=None), full, node.load1)


def _said(load: _Load) -> str:
    parts = []
    if load.full is not None:
        parts.append(f"all tasks stalled on I/O {human.percent(load.full)}% of a minute")
    if load.waiting is not None:
        parts.append(f"{load.waiting} waiting for it in each sample" if parts else
                     f"{human.plural(load.waiting, 'task')} waiting for I/O in each sample")  # fmt: skip
    if load.in_d_state is not None:
        parts.append(f"{load.in_d_state} in D state")
    if load.load1 is not None:
        parts.append(f"load {load.load1:g} on {human.plural(load.cpus, 'processor')}")
    return ", ".join(parts)


LOAD_UNEXPLAINED = Rule(
    LOAD_RULE,
    "many tasks waiting for I/O for a minute, unexplained by any finding",
    Severity.WARNING,
    _check,
    (Node,),
    (
        Threshold("full", 0.6, "share of a minute with all tasks stalled on I/O (PSI full, avg60)", "ratio"),
        Threshold("tasks", 2.0, "waiting tasks per processor in each sample"),
        Threshold("seconds", 60.0, "time over which the waiting tasks are counted", "seconds"),
    ),
    covers=(),
    view="host",
    after=LOADS,
    advice="List the blocked tasks by kernel function; look for a slow device.",
)
