"""Tasks in D state that have not run for a while, by the mount or device that they wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.stalled import GRACE, STOPS, StalledGroup, causes, stalled_groups, watched
from sdstop.collectors.system.node import Node
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
from sdstop.core.shell import operand, quoted
from sdstop.readings.disk import Disk, DiskActivity

SUBJECT = "tasks"
_AT_LIMIT = 0.9
"""Busy share from which a disk that completes requests is at its limit: then tasks wait their turn."""


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    blocked = next(iter(window.rows(BlockedTasks).values())).blocked
    listed = len(window.rows(BlockedTask)) >= blocked
    groups = stalled_groups(window, limits["seconds"])
    yield from (_finding(window, group, limits, findings, complete=listed) for group in groups)
    if groups:
        return
    span = watched(window)
    now = f"{blocked} task{'' if blocked == 1 else 's'} in D state"
    if blocked and span + GRACE < limits["seconds"]:
        yield Unchecked(
            f"{now}: needs {limits['seconds']:g} s of samples, has {max(span, 0.0):.0f} s", SUBJECT, gap=Gap.EARLY
        )
    else:
        yield RuledOut(SUBJECT, f"{now}, none of them for {limits['seconds']:g} s without running")


def _finding(
    window: Window, group: StalledGroup, limits: Limits, findings: Sequence[Finding], *, complete: bool
) -> Finding:
    count = len(group.tasks)
    because = causes(window, group, findings) if group.place else ()
    done, busy = _work(window, group, group.seconds)
    tasks = f"{'' if complete else 'at least '}{count} task{'' if count == 1 else 's'}"
    have = "has" if count == 1 else "have"
    summary = f"{tasks} {have} not run for {human.duration(group.seconds)}, waiting for {_where(group)}"
    if because:
        summary += f"; see {because[0].rule} {because[0].subject}"
    elif done:
        summary += f"; {human.safe(group.device or '')} completed {human.number(done)} requests in that time"
    elif done is not None:
        summary += f"; {human.safe(group.device or '')} completed nothing in that time"
    return Finding(
        severity=_severity(group, limits, done, busy, explained=bool(because)),
        subject=group.place or SUBJECT,
        cause=summary,
        values=(
            Value("tasks", "tasks that have not run", count, "", above=limits["tasks"]),
            Value("seconds", "for", group.seconds, "seconds", above=limits["seconds"]),
            Value("programs", "programs", ", ".join(group.programs[:4])),
            Value("waits", "kernel functions they sleep in", ", ".join(group.waits[:4]) or None),
            Value("device", "device", group.device),
            Value("filesystem", "file system", group.filesystem),
            Value("completed", "requests completed in that time", done),
        ),
        evidence=cites(*(window.cite(each.task) for each in group.tasks[:3])),
        advice=tuple(_advice(group)),
        refuted_by="context switches of these tasks that grow in /proc/PID/status",
        explained_by=tuple(finding.id for finding in because),
        lasting=group.seconds,
    )


def _severity(
    group: StalledGroup, limits: Limits, done: int | None, busy: float | None, *, explained: bool
) -> Severity:
    """Return the severity: info if another finding accounts for the wait, or if the place is unknown (io-stalled)."""
    if explained or not group.place:
        return Severity.INFO
    several = len(group.tasks) >= limits["tasks"]
    if done:
        return Severity.WARNING if several and (busy is None or busy < _AT_LIMIT) else Severity.INFO
    return Severity.CRITICAL if several else Severity.WARNING


def _where(group: StalledGroup) -> str:
    """Return the place in words."""
    if group.mount is not None:
        return f"{human.safe(group.mount)} ({human.safe(group.device or group.filesystem or 'type unknown')})"
    if group.device is not None:
        return human.safe(group.device)
    if group.filesystem is not None:
        return f"a {human.safe(group.filesystem)} mount"
    return "an unknown device or mount"


def _work(window: Window, group: StalledGroup, seconds: float) -> tuple[int | None, float | None]:
    """Return the requests that the group's device completed in the last `seconds`, and its mean busy share."""
    if group.device is None:
        return None, None
    recent = window.last(seconds)
    rows = [row for _, row in recent.series(Disk, group.device) if row is not None]
    if len(rows) < 2:
        return None, None
    first, last = rows[0], rows[-1]
    done = last.reads + last.writes - first.reads - first.writes
    busy = [
        row.busy for _, row in recent.series(DiskActivity, group.device) if row is not None and row.busy is not None
    ]
    return max(done, 0), sum(busy) / len(busy) if busy else None


def _advice(group: StalledGroup) -> Iterator[str]:
    task = group.tasks[0].task
    yield f"cat /proc/{task.process}/task/{task.task}/stack   # as root: where it waits in the kernel"
    kind = group.filesystem or ""
    if group.device is not None:
        yield f"journalctl -k | grep -w {operand(group.device)}   # timeouts, resets, errors"
        yield "dmsetup info -c; dmsetup status   # suspended, out of space, or a multipath without a path"
    elif kind.startswith("fuse"):
        yield "ps aux | grep -E 'sshfs|s3fs|mount.fuse|rclone'   # does the program behind the mount still run?"
        yield "echo 1 > /sys/fs/fuse/connections/N/abort   # ends all its requests with an error"
    elif kind.startswith("nfs"):
        yield "nfsstat -m; ss -tn dport = :2049   # does the server answer?"
    elif kind.startswith(("cifs", "smb")):
        yield "cat /proc/fs/cifs/DebugData; ss -tn dport = :445   # does the server answer?"
    else:
        yield "journalctl -k | grep -A 20 'blocked for more than'   # stacks of hung tasks"
    if group.mount is not None and group.device is None:
        yield f"umount -f -l {quoted(group.mount)}   # only if its server will not return: unwritten data is lost"


TASKS_STUCK = Rule(
    "tasks-stuck",
    "tasks in D state have not run for a while, by the mount or device that they wait for",
    Severity.CRITICAL,
    _check,
    (BlockedTasks, BlockedTask, Node),
    (
        Threshold("seconds", 15.0, "time in D state without a context switch", "seconds"),
        Threshold("tasks", 2.0, "tasks from which one place is critical"),
    ),
    covers=(),
    after=STOPS,
)
