"""The floor: several tasks wait for I/O without running, and no other finding accounts for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.stalled import GRACE, STOPS, StalledGroup, causes, stalled_groups, watched
from sdstop.collectors.system.node import STAT, Node
from sdstop.collectors.system.tasks import BlockedTask, BlockedTasks
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

SUBJECT = "tasks"
_STUCK = "tasks-stuck"


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    seconds, span = limits["seconds"], watched(window)
    blocked = next(iter(window.rows(BlockedTasks).values())).blocked
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
        why = f"accounted for by {', '.join(dict.fromkeys(accounted))}" if accounted else "too few for this rule"
        yield RuledOut(SUBJECT, f"{total} task{'' if total == 1 else 's'} did not run for {seconds:g} s: {why}")
    elif blocked and span + GRACE < seconds:
        yield Unchecked(
            f"{blocked} in D state: needs {seconds:g} s of samples, has {max(span, 0.0):.0f} s", SUBJECT, gap=Gap.EARLY
        )
    else:
        yield RuledOut(SUBJECT, f"{blocked} in D state, none of them for {seconds:g} s without running")


def _named(group: StalledGroup, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the finding of tasks-stuck on the group's place."""
    return (f for f in findings if f.rule == _STUCK and group.place and f.subject == group.place)


def _finding(window: Window, left: Sequence[StalledGroup], limits: Limits, findings: Sequence[Finding]) -> Finding:
    stalled = [task for group in left for task in group.tasks]
    programs = list(dict.fromkeys(name for group in left for name in group.programs))
    waits = list(dict.fromkeys(wait for group in left for wait in group.waits))
    seconds = max(group.seconds for group in left)
    node = next(iter(window.rows(Node).values()), None)
    return Finding(
        severity=Severity.CRITICAL,
        subject=SUBJECT,
        cause=(
            f"{len(stalled)} tasks wait in D state and have not run in any sample of {limits['seconds']:g} s "
            f"({human.duration(seconds)} so far); no finding accounts for it: {human.safe(', '.join(programs[:4]))}"
        ),
        values=(
            Value("tasks", "tasks that have not run", len(stalled), "", above=limits["tasks"]),
            Value("seconds", "for", seconds, "seconds", above=limits["seconds"]),
            Value("waits", "kernel functions they sleep in", ", ".join(waits[:4]) or None),
            Value("programs", "programs", ", ".join(programs[:4])),
            Value("blocked", "tasks that wait for I/O now", node.tasks_blocked if node is not None else None),
            Value("load1", "load, 1 min", node.load1 if node is not None else None),
        ),
        evidence=cites(
            *(window.cite(each.task) for each in stalled[:3]),
            window.quote(STAT, "procs_blocked") if node is not None and node.tasks_blocked is not None else None,
        ),
        advice=(
            f"cat /proc/{stalled[0].task.process}/task/{stalled[0].task.task}/stack   # as root: where it waits",
            "journalctl -k | grep -A 20 'blocked for more than'   # stacks of hung tasks",
            "dmsetup info -c; multipath -ll; nvme list-subsys; iscsiadm -m session -P 3   # what holds requests back?",
        ),
        refuted_by="context switches of these tasks that grow in /proc/PID/status",
        explains=tuple(f.id for f in findings if f.rule == _STUCK and f.subject == SUBJECT),
        lasting=seconds,
    )


IO_STALLED = Rule(
    "io-stalled",
    "several tasks wait in D state without running, and no other finding accounts for it",
    Severity.CRITICAL,
    _check,
    (BlockedTasks, BlockedTask, Node),
    (
        Threshold("seconds", 15.0, "time in D state without a context switch; in a live check at most 10", "seconds"),
        Threshold("tasks", 2.0, "tasks"),
    ),
    covers=(),
    after=STOPS | {_STUCK},
)
