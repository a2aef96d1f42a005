"""Tasks in D state in a recorded list of ps or top: how many and which; not for how long."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.analysis.tasks.stalled import NOT_IO, StalledGroup, StalledTask, causes
from sdstop.collectors.system.readings import BlockedTask
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window

_SUBJECT = "tasks"
_FEWEST_USERS = 2
"""Tasks of programs: some drivers have kernel threads that are always in D state."""


def judged_list(window: Window, least: float, findings: Sequence[Finding], *, threads: bool) -> Verdict:
    """Return the verdict on the tasks of the newest list: a finding for `least` of them, at least 2 of programs.

    Fewer are in the list of every node that works; whether they run in between is unknown. A list without `threads`
    has the state of the first thread of each process only.
    """
    tasks = [row for row in window.rows(BlockedTask).values() if row.wait not in NOT_IO]
    group = StalledGroup(None, None, None, tuple(StalledTask(task, 0.0) for task in tasks))
    users = sum(1 for task in tasks if not task.kernel)
    if not tasks and not threads:
        return Unchecked("no process of the list in D state; its other threads are not listed", _SUBJECT, calm=True)
    if not tasks:
        return RuledOut(_SUBJECT, "no task of the list in D state")
    if len(tasks) < least or users < _FEWEST_USERS:
        names = human.listed(group.programs, limit=12)
        said = f"{human.plural(len(tasks), 'task')} in D state ({names}); the list does not show for how long"
        return Unchecked(said, _SUBJECT, gap=Gap.OPEN if users else Gap.EARLY)
    because = causes(window, group, findings)
    again = _again(window, tasks)
    task = tasks[0].task
    named = (human.listed(group.programs, most, 16) for most in (4, 3, 2, 1))
    return Finding(
        severity=Severity.INFO if because else Severity.WARNING,
        subject=_SUBJECT,
        title=f"{len(tasks)} TASKS IN D STATE",
        cause=fitting(*(f"The list has {len(tasks)} tasks in D state: {each}." for each in named)),
        impact="They can be stuck; the list does not show for how long they wait.",
        values=(
            Value("listed", "tasks in D state in the list", len(tasks), "", above=least),
            Value("again", "of these also in the list before", again),
            Value("programs", "programs", ", ".join(group.programs[:4])),
            Value("waits", "kernel functions they wait in", ", ".join(group.waits[:4]) or None),
        ),
        evidence=cites(*(window.cite(each) for each in tasks[:3])),
        advice=(
            "List them again after 15 s: those still there are stuck.",
            run("ps", "axHo", "pid,tid,stat,wchan:32,comm").pipe("awk", "$3 ~ /^D/"),
            run("cat", f"/proc/{tasks[0].process}/task/{task}/stack", note="as root: where it waits in the kernel"),
            run("journalctl", "-k", note="stacks of hung tasks").pipe("grep", "-A", "20", "blocked for more than"),
        ),
        refuted_by="other tasks, or none, in D state in the next list",
        harmless_if="they run in between, as those of a busy node do",
        explained_by=tuple(finding.id for finding in because),
    )


def _again(window: Window, tasks: Sequence[BlockedTask]) -> int | None:
    """Return the number of these tasks in the list before, None without one."""
    moments = window.moments(BlockedTask)
    if len(moments) < 2:
        return None
    before = {(row.task, row.name) for row in moments[-2].rows.values()}
    return sum(1 for task in tasks if (task.task, task.name) in before)
