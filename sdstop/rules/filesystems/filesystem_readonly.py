"""File systems that the kernel stopped writing after an error: remounted read-only, or shut down."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.filesystem_state import AFTER_ERROR, FilesystemState, filesystem_states
from sdstop.analysis.tasks.kernel_log import gap_in, numbers, quoted, silence
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.filesystems.readings import Ext4Errors
from sdstop.collectors.kernel.readings import KernelLog
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

_SHOWN = frozenset({"ext2", "ext3", "ext4", "btrfs", "vfat", "f2fs"})
"""File systems that become read-only after an error, which the mount table shows; XFS stays rw and fails."""
_NEVER_WRITTEN = frozenset({"squashfs", "iso9660", "erofs", "udf", "cramfs", "romfs"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    log = next(iter(window.rows(KernelLog).values()), None)
    errors = {row.device: row for row in window.rows(Ext4Errors).values()}
    for state in filesystem_states(window).values():
        if state.mounts or state.stopped:
            yield _judged(window, state, errors.get(state.device), log)


def _judged(window: Window, state: FilesystemState, counted: Ext4Errors | None, log: KernelLog | None) -> Verdict:
    words, subject = state.words, state.device
    if words & AFTER_ERROR or state.forced or (state.stopped and not _is_written(window, state)):
        return _finding(window, state)
    if state.filesystem in _NEVER_WRITTEN:
        return RuledOut(subject, f"all {state.filesystem} are read-only", others=_points(state))
    if not words:
        reason = "mount options not recorded"
        return Unchecked(reason, subject, calm=True, gap=Gap.UNRECORDED, others=_points(state))
    if "rw" not in words and counted is not None and counted.errors and _since_boot(window, counted):
        return _finding(window, state, counted)
    if "rw" not in words and state.by_option:
        return RuledOut(subject, "all mount options are read-only, as set by a command", others=_points(state))
    if "rw" in words and state.filesystem in _SHOWN:
        summary = f"{human.plural(len(state.mounts), 'mount point')} read-write"
        return RuledOut(subject, summary, others=_points(state))
    return _by_log(state, "read-write" if "rw" in words else "read-only", log)


def _points(state: FilesystemState) -> tuple[str, ...]:
    return tuple(row.point for row in state.mounts)


def _is_written(window: Window, state: FilesystemState) -> bool:
    """Return whether the mount table, read after the kernel's message, shows that the file system can be written."""
    table, log = window.now.run_of(MountPoint), window.now.run_of(KernelLog)
    if table is None or log is None or "rw" not in state.words or state.filesystem not in _SHOWN:
        return False
    return all(row.ago is not None and table.started > log.started - row.ago + 1 for row in state.stopped)


def _by_log(state: FilesystemState, access: str, log: KernelLog | None) -> Verdict:
    """Return the verdict on a file system whose access does not show whether it was stopped after an error."""
    others = _points(state)
    if log is None:
        reason = f"mounted {access}; no kernel log shows whether after an error"
        return Unchecked(reason, state.device, calm=True, others=others)
    gap = gap_in(log)
    if gap is not None:
        return Unchecked(gap.reason, state.device, gap=gap.gap, others=others)
    return RuledOut(state.device, f"{access}, 0 errors logged {silence(log)}", others=others)


def _since_boot(window: Window, counted: Ext4Errors) -> bool:
    """Return whether the last counted error is from this boot, True if the time of the boot is unknown."""
    log = next(iter(window.rows(KernelLog).values()), None)
    return log is None or log.since is None or not log.whole or counted.last is None or counted.last >= log.since


def _finding(window: Window, state: FilesystemState, counted: Ext4Errors | None = None) -> Finding:
    down = "shutdown" in state.words or (state.flags is not None and state.flags.state == "shut down")
    is_shutdown = down or any(row.kind == "fs-shutdown" for row in state.stopped)
    title = "FILE SYSTEM SHUT DOWN after an error" if is_shutdown else "READ-ONLY after an error"
    place = human.safe(state.place, 30)
    last = [row.ago for row in state.stopped if row.ago is not None]
    ago = f" {human.duration(min(last))} ago" if last and _is_current(window) else ""
    cause = f"The kernel made {place} read-only after an error{ago}."
    if is_shutdown:
        cause = f"The kernel shut down the file system at {place}{ago}."
    quotes: list[Cite | None] = quoted(window, state.stopped or state.messages)
    quotes += [window.cite(row, "access") for row in state.mounts[:1]]
    if state.flags is not None and state.forced:
        quotes.append(window.cite(state.flags, "state"))
    if counted is not None:
        quotes.append(window.cite(counted, "errors"))
    return Finding(
        severity=Severity.CRITICAL,
        subject=state.device,
        title=title,
        cause=cause,
        impact="Every request to its files fails." if is_shutdown else "Every write to its files fails.",
        values=(
            Value("mount", "mount point", state.mounts[0].point if state.mounts else None),
            Value("filesystem", "type", state.filesystem or None),
            *numbers(state.messages),
        ),
        evidence=cites(*quotes),
        advice=(
            "Find the failed device below it; then unmount, check and mount it.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(state.device)).pipe("tail", "-40"),
            run("findmnt", "--source", f"/dev/{state.device}"),
        ),
        refuted_by="a successful write to the file system",
        harmless_if="it was remounted read-only on purpose",
        damage=Damage.AVAILABILITY,
        others=_points(state),
    )


def _is_current(window: Window) -> bool:
    return any(log.current for log in window.rows(KernelLog).values())


FILESYSTEM_READONLY = Rule(
    "filesystem-readonly",
    "file systems that the kernel remounted read-only or shut down after an error",
    Severity.CRITICAL,
    _check,
    (MountPoint,),
    instead=(KernelLog,),
    covers=(Covers(MountPoint, where=lambda row: row.device is not None),),
    many="were stopped after an error",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Find the failed device below it; then unmount, check and mount it.",
)
