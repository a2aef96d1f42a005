"""The floor: several tasks wait for I/O without running, and no other finding accounts for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.tasks.stalled import GRACE, STOPS, StalledGroup, causes, stalled_groups, watched
from sdstop.collectors.system.readings import STAT, BlockedTask, BlockedTasks, Node
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import SIGN, Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

SUBJECT = "tasks"
_STUCK = "tasks-stuck"


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    seconds, span = limits["seconds"], watched(window)
    counted = next(iter(window.rows(BlockedTasks).values()))
    blocked = counted.blocked
    if counted.listed is not None:
        yield Unchecked("a list of tasks without context switches", SUBJECT, calm=True)
        return
    groups = stalled_groups(window, seconds)
    left, accounted = [], []
    for group in groups:
        because = [f.id for f in _named(group, findings)] + [f.id for f in causes(window, group, findings)]
        accounted += because
        if not because:
            left.append(group)
    stalled = [task for group in left for task in group.tasks]
    if len(stalled) >= limits["tasks"]:
        yield _finding(window, left, limits, findings)
    elif groups:
        total = sum(len(group.tasks) for group in groups)
        why = f"explained by {', '.join(dict.fromkeys(accounted))}" if accounted else "too few for this rule"
        yield RuledOut(SUBJECT, f"{human.plural(total, 'task')} not run for {seconds:g} s: {why}")
    elif blocked >= limits["tasks"] and span + GRACE < seconds:
        still = sum(len(group.tasks) for group in stalled_groups(window, span)) if span >= SIGN else 0
        gap = Gap.SIGNS if still >= limits["tasks"] else Gap.EARLY
        yield Unchecked(
            f"{blocked} in D state; collecting data: {max(span, 0.0):.0f} of {seconds:g} s", SUBJECT, gap=gap
        )
    else:  # those of now are too few, or ran in between
        yield RuledOut(SUBJECT, f"{blocked} in D state, none for {seconds:g} s without running")


def _named(group: StalledGroup, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the finding of tasks-stuck on the group's place."""
    return (f for f in findings if f.rule == _STUCK and group.place and f.subject == group.place)


def _finding(window: Window, left: Sequence[StalledGroup], limits: Limits, findings: Sequence[Finding]) -> Finding:
    stalled = [task for group in left for task in group.tasks]
    task = stalled[0].task
    programs = list(dict.fromkeys(name for group in left for name in group.programs))
    waits = list(dict.fromkeys(wait for group in left for wait in group.waits))
    seconds = max(group.seconds for group in left)
    node = next(iter(window.rows(Node).values()), None)
    return Finding(
        severity=Severity.CRITICAL,
        subject=SUBJECT,
        title=f"I/O STALLED: {len(stalled)} in D state",
        cause=f"{len(stalled)} tasks have not run in {limits['seconds']:g} s; no finding explains it.",
        impact=f"Blocked for {human.duration(seconds)} so far: {human.listed(programs, limit=16)}.",
        values=(
            Value("tasks", "tasks that have not run", len(stalled), "", above=limits["tasks"]),
            Value("seconds", "time without running", seconds, "seconds", above=limits["seconds"]),
            Value("waits", "kernel functions they wait in", ", ".join(waits[:4]) or None),
            Value("programs", "programs", ", ".join(programs[:4])),
            Value("blocked", "tasks blocked on I/O now", node.tasks_blocked if node is not None else None),
            Value("load1", "load, 1 min", node.load1 if node is not None else None),
        ),
        evidence=cites(
            *(window.cite(each.task) for each in stalled[:3]),
            window.quote(STAT, "procs_blocked") if node is not None and node.tasks_blocked is not None else None,
        ),
        advice=(
            "Read the kernel stack of a blocked task to see where it waits.",
            run("cat", f"/proc/{task.process}/task/{task.task}/stack", note="as root"),
            run("journalctl", "-k", note="stacks of hung tasks").pipe("grep", "-A", "20", "blocked for more than"),
            run("dmsetup", "info", "-c", note="suspended devices"),
            run("multipath", "-ll"),
            run("nvme", "list-subsys"),
            run("iscsiadm", "-m", "session", "-P", "3"),
        ),
        refuted_by="growing context switches of these tasks in /proc/PID/status",
        explains=tuple(f.id for f in findings if f.rule == _STUCK and f.subject == SUBJECT),
        lasting=seconds,
    )


IO_STALLED = Rule(
    "io-stalled",
    "tasks in D state that do not run, unexplained by any other finding",
    Severity.CRITICAL,
    _check,
    (BlockedTasks, BlockedTask, Node),
    (
        Threshold("seconds", 15.0, "time in D state without a context switch; in a live check at most 6", "seconds"),
        Threshold("tasks", 2.0, "tasks that do not run"),
    ),
    covers=(),
    damage=Damage.AVAILABILITY,
    view="host",
    after=STOPS | {_STUCK},
    advice="Read the kernel stack of a blocked task to see where it waits.",
)
