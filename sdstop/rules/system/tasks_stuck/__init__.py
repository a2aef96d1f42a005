"""Tasks in D state that have not run for a while, by the mount or device that they wait for; tasks of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.tasks.stalled import FROZEN_PLACE, GRACE, STOPS, StalledGroup, causes, stalled_groups, watched
from sdstop.collectors.system.readings import BlockedTask, BlockedTasks, Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import SIGN, Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.disk import Disk, DiskActivity
from sdstop.rules.system.tasks_stuck.listed import judged_list

SUBJECT = "tasks"
_AT_LIMIT = 0.9
"""Busy share from which a disk that completes requests is at its limit: then tasks wait their turn."""


def _check(window: Window, limits: Limits, findings: Sequence[Finding]) -> Iterator[Verdict]:
    counted = next(iter(window.rows(BlockedTasks).values()))
    if counted.listed is not None:
        yield judged_list(window, limits["listed"], findings, threads=counted.threads)
        return
    blocked = counted.blocked
    listed = len(window.rows(BlockedTask)) >= blocked
    groups = stalled_groups(window, limits["seconds"])
    yield from (_finding(window, group, limits, findings, complete=listed) for group in groups)
    if groups:
        return
    span = watched(window)
    now = f"{human.plural(blocked, 'task')} in D state"
    if blocked and span + GRACE < limits["seconds"]:
        yield Unchecked(
            f"{now}; collecting data: {max(span, 0.0):.0f} of {limits['seconds']:g} s",
            SUBJECT,
            gap=Gap.SIGNS if span >= SIGN and stalled_groups(window, span) else Gap.EARLY,
        )
    else:
        yield RuledOut(SUBJECT, f"{now}, none for {limits['seconds']:g} s without running")


def _finding(
    window: Window, group: StalledGroup, limits: Limits, findings: Sequence[Finding], *, complete: bool
) -> Finding:
    count = len(group.tasks)
    because = causes(window, group, findings) if group.place else ()
    done, busy = _work(window, group, group.seconds)
    atleast, have = "" if complete else "At least ", "has" if count == 1 else "have"
    cause = f"{atleast}{human.plural(count, 'task')} {have} not run for {human.duration(group.seconds)}"
    impact = f"Blocked: {human.listed(group.programs, limit=16)}"
    if because:
        impact += f"; see {because[0].rule}."
    elif done:
        impact += f"; the device completed {human.number(done)} requests."
    elif done is not None:
        impact += "; the device completed nothing in that time."
    else:
        impact += "."
    return Finding(
        severity=_severity(group, limits, done, busy, because),
        subject=group.place or SUBJECT,
        title="FILE SYSTEM FROZEN" if group.frozen else f"TASKS STUCK: {count} in D state",
        cause=fitting(f"{cause}, waiting for {_where(group)}.", f"{cause}."),
        impact=impact,
        values=(
            Value("tasks", "tasks that have not run", count, "", above=limits["tasks"]),
            Value("seconds", "time without running", group.seconds, "seconds", above=limits["seconds"]),
            Value("programs", "programs", ", ".join(group.programs[:4])),
            Value("waits", "kernel functions they wait in", ", ".join(group.waits[:4]) or None),
            Value("device", "device", group.device),
            Value("filesystem", "file system", group.filesystem),
            Value("completed", "requests completed in that time", done),
        ),
        evidence=cites(*(window.cite(each.task) for each in group.tasks[:3])),
        advice=tuple(_advice(group)),
        refuted_by="growing context switches of these tasks in /proc/PID/status",
        explained_by=tuple(finding.id for finding in because),
        lasting=group.seconds,
    )


def _severity(
    group: StalledGroup, limits: Limits, done: int | None, busy: float | None, because: Sequence[Finding]
) -> Severity:
    """Return the severity: info if a finding at least as severe accounts for it, or if the place is unknown."""
    if not group.place:
        return Severity.INFO
    several = len(group.tasks) >= limits["tasks"]
    if done:
        own = Severity.WARNING if several and (busy is None or busy < _AT_LIMIT) else Severity.INFO
    else:
        own = Severity.CRITICAL if several else Severity.WARNING
    return Severity.INFO if any(finding.severity.rank >= own.rank for finding in because) else own


def _where(group: StalledGroup) -> str:
    """Return the place in words."""
    if group.place == FROZEN_PLACE:
        return "a frozen file system"
    if group.mount is not None and group.frozen:
        return f"the frozen {human.safe(group.mount)}"
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


def _advice(group: StalledGroup) -> Iterator[Advice]:
    task = group.tasks[0].task
    kind = group.filesystem or ""
    if group.frozen:
        yield "Thaw it, unless a backup or a snapshot still runs."
        if group.mount is not None:
            yield run("fsfreeze", "--unfreeze", *operands(group.mount))
        else:
            yield run("findmnt", "-t", "ext4,xfs,btrfs,f2fs", note="mounted file systems that can be frozen")
            yield run("fsfreeze", "--unfreeze", "MOUNTPOINT", note="ends with an error if it is not frozen")
        yield run("journalctl", "-u", "qemu-guest-agent", note="freezes for backups of this guest")
    elif group.device is not None:
        yield "Look for timeouts, resets and errors of the device."
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(group.device))
        yield run("dmsetup", "info", "-c", note="suspended devices")
        yield run("dmsetup", "status", note="out of space, or multipath without a path")
    elif kind.startswith("fuse"):
        yield "Check that the program behind the mount runs; abort its requests if not."
        yield run("ps", "aux").pipe("grep", "-E", "sshfs|s3fs|mount.fuse|rclone")
        yield run("echo", "1", into="/sys/fs/fuse/connections/N/abort", note="ends its requests with an error")
    elif kind.startswith("nfs"):
        yield "Check that the server answers."
        yield run("nfsstat", "-m")
        yield run("ss", "-tn", "dport", "=", ":2049")
    elif kind.startswith(("cifs", "smb")):
        yield "Check that the server answers."
        yield run("cat", "/proc/fs/cifs/DebugData")
        yield run("ss", "-tn", "dport", "=", ":445")
    else:
        yield "Read the kernel stack of a blocked task to see where it waits."
        yield run("journalctl", "-k", note="stacks of hung tasks").pipe("grep", "-A", "20", "blocked for more than")
    yield run("cat", f"/proc/{task.process}/task/{task.task}/stack", note="as root: where it waits in the kernel")
    if group.mount is not None and group.device is None:
        yield run("umount", "-f", "-l", *operands(group.mount), note="for a lost server only, loses unwritten data")


TASKS_STUCK = Rule(
    "tasks-stuck",
    "tasks in D state that do not run, by the mount or device they wait for",
    Severity.CRITICAL,
    _check,
    (BlockedTasks, BlockedTask, Node),
    (
        Threshold("seconds", 15.0, "time in D state without a context switch", "seconds"),
        Threshold("tasks", 2.0, "tasks stuck in one place, critical"),
        Threshold("listed", 4.0, "tasks in D state in a list of ps or top, which has no context switches"),
    ),
    covers=(),
    damage=Damage.AVAILABILITY,
    view="host",
    after=STOPS,
    advice="Check that the server or device they wait for answers.",
)
