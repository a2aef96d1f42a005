"""File systems with errors: counted by ext4 and btrfs, or in the kernel's log.

The counters of btrfs are kept on the medium (fs/btrfs/volumes.c) until `btrfs device stats -z`, and say nothing of a
repair, unlike those of ZFS: a failed write leaves an old copy, a wrong checksum of an only copy a lost block. A few
errors are information only where a finished scrub left none unrepaired; at `many` the device itself is in doubt, as in
zfs-pool-degraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from sdstop.analysis.space.filesystem_state import FilesystemState, filesystem_states
from sdstop.analysis.tasks.kernel_log import RECENT, amounts, gap_in, is_recent, numbers, quoted, silence, since_last
from sdstop.collectors.filesystems.readings import BtrfsErrors, BtrfsScrub, Ext4Errors, FilesystemCheck
from sdstop.collectors.kernel.readings import KernelComplaint, KernelLog
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import dated
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_LOGGED = frozenset({"fs-error", "fs-corruption", "fs-write-lost"})
_COUNTS = frozenset({"ext4", "ext3", "ext2", "btrfs"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    states = filesystem_states(window)
    ext4 = {row.device: row for row in window.rows(Ext4Errors).values()}
    btrfs: dict[str, list[BtrfsErrors]] = {}
    for row in window.rows(BtrfsErrors).values():
        btrfs.setdefault(_holder(row, states), []).append(row)
    log = next(iter(window.rows(KernelLog).values()), None)
    clean = {row.filesystem for row in window.rows(BtrfsScrub).values() if row.state == "finished" and _is_clean(row)}
    for name in dict.fromkeys((*states, *ext4, *btrfs)):
        logged = [row for row in states[name].messages if row.kind in _LOGGED] if name in states else []
        state = states.get(name) or FilesystemState(name, (), ())
        few = _are_few(btrfs.get(name, ()), clean, limits)
        finding = _found(window, name, ext4.get(name), btrfs.get(name, ()), logged, limits, few=few)
        if finding is not None:
            yield replace(finding, others=tuple(row.point for row in state.mounts))
        elif name in ext4:
            yield RuledOut(name, "0 errors since the last check")
        elif name in btrfs:
            yield RuledOut(name, "0 errors of its devices")
        else:
            yield _by_log(state, log)
    yield from _numbers_of_several(states, btrfs)
    for scrub in window.rows(BtrfsScrub).values():
        yield _of_scrub(window, scrub)
    for check in window.rows(FilesystemCheck).values():
        yield _of_check(window, check)


def _is_clean(row: BtrfsScrub) -> bool:
    return row.uncorrectable == 0


def _are_few(rows: Sequence[BtrfsErrors], clean: AbstractSet[str], limits: Limits) -> bool:
    """Return whether the errors of a btrfs are few, and its last scrub left all data whole."""
    return all(row.total < limits["many"] and (not row.total or row.filesystem in clean) for row in rows)


def _of_scrub(window: Window, row: BtrfsScrub) -> Verdict:
    """Judge the errors that the last scrub of a btrfs found: those not repaired stay."""
    lost, repaired = row.uncorrectable, row.corrected
    if lost is None:
        return Unchecked(f"errors of its last scrub unknown: {row.state}", row.filesystem, calm=True)
    if not lost and not repaired:
        return RuledOut(row.filesystem, "0 errors in its last scrub")
    return Finding(
        severity=Severity.CRITICAL if lost else Severity.INFO,
        subject=row.filesystem,
        title=f"SCRUB FOUND DAMAGE: {human.number(lost, 0)}" if lost else "SCRUB REPAIRED ERRORS",
        cause=f"The last scrub could not repair {human.plural(lost, 'error')}." if lost
        else f"The last scrub repaired {human.plural(repaired or 0, 'error')}.",
        impact="Files, or the file system, cannot be read in these places." if lost
        else "A device returned wrong data; the copies are whole.",
        values=(
            Value("uncorrectable", "errors not repaired", lost, above=0),
            Value("corrected", "errors repaired", repaired),
        ),
        evidence=cites(window.cite(row, "uncorrectable") or window.cite(row)),
        advice=(
            "Restore the damaged files from a backup; the log names them.",
            run("journalctl", "-k").pipe("grep", "-E", "BTRFS.*(unable to fixup|checksum error)"),
            run("btrfs", "device", "stats", "/MOUNT", note="which device"),
        ) if lost else ("Find the device with errors.", run("btrfs", "device", "stats", "/MOUNT")),
        refuted_by="no errors found in a later btrfs scrub status",
        damage=Damage.DATA,
        standing=True,
    )  # fmt: skip


_UNSURE = {
    "flag": "marked clean, not checked: e2fsck -f -n",
    "mounted": "checked while mounted: errors can be writes in flight",
    "dirty log": "checked without its log: errors can be those of the log",
    "not opened": "the file system could not be opened",
    "repaired": "errors were repaired; another check shows whether any are left",
}


def _of_check(window: Window, row: FilesystemCheck) -> Verdict:
    """Judge a check that changed nothing; only one of an unmounted file system counts."""
    if row.state == "clean":
        return RuledOut(row.device, f"0 errors in a check by {row.tool}")
    if row.state != "errors":
        said = _UNSURE.get(row.state, f"output of {row.tool} not understood, or cut off")
        return Unchecked(said, row.device, gap=Gap.FAULTY)
    return Finding(
        severity=Severity.CRITICAL,
        subject=row.device,
        title="FILE SYSTEM DAMAGED",
        cause=f"A check by {row.tool} found errors and left them.",
        impact="Files can be lost, and the kernel can shut the file system down.",
        values=(Value("problems", "problems printed", row.problems, "", above=0 if row.problems else None),),
        evidence=cites(window.cite(row)),
        advice=(
            "Copy the data, look for a failing disk; then repair it unmounted.",
            run("e2fsck", "-f", *operands(row.device))
            if row.tool == "e2fsck"
            else run("xfs_repair", *operands(row.device)),
        ),
        refuted_by="a check of the unmounted file system without errors",
        damage=Damage.DATA,
        standing=True,
    )


def _numbers_of_several(states: object, btrfs: dict[str, list[BtrfsErrors]]) -> Iterator[Verdict]:
    """Yield nothing for rows judged with their file system; coverage asks for each by its own subject."""
    del states
    for name, rows in btrfs.items():
        others = [row.subject for row in rows if row.subject != name]
        if others and not any(row.total or row.missing for row in rows):
            yield RuledOut(others[0], "0 errors of its devices", others=tuple(others[1:]))


def _holder(row: BtrfsErrors, states: dict[str, FilesystemState]) -> str:
    """Return the device by which the file system of a btrfs device is mounted, else its first device.

    Outputs of btrfs name each device, and no mount.
    """
    if row.told is not None:
        return row.subject
    names = row.devices.split(",")
    return next((name for name in names if name in states), names[0] or row.filesystem)


def _by_log(state: FilesystemState, log: KernelLog | None) -> Verdict:
    """Return the verdict on a file system that counts no errors, by the silence of the kernel's log."""
    kind = state.filesystem or "file system"
    if log is None:
        return Unchecked(f"{kind} without error counters; kernel log unavailable", state.device, calm=True)
    gap = gap_in(log)
    if gap is not None:
        return Unchecked(gap.reason, state.device, gap=gap.gap)
    return RuledOut(state.device, f"0 errors logged {silence(log)}")


def _found(
    window: Window,
    name: str,
    ext4: Ext4Errors | None,
    btrfs: Sequence[BtrfsErrors],
    logged: Sequence[KernelComplaint],
    limits: Limits,
    *,
    few: bool,
) -> Finding | None:
    errors = ext4.errors if ext4 is not None else 0
    bad = [row for row in btrfs if row.total or row.missing]
    if not (errors or bad or logged):
        return None
    recent = [row for row in logged if is_recent(row, limits["recent"])]
    new = bool(recent) or _is_new(window, ext4, limits["recent"]) or _grew(window, bad)
    missing = [row for row in bad if row.missing]
    unknown_age = any(row.told is not None for row in bad)
    warned = ext4 is not None or bool(missing) or not few
    severity = Severity.CRITICAL if new else Severity.WARNING if warned else Severity.INFO
    if missing:
        title, cause = "BTRFS DEVICE MISSING", "A device of the file system is missing."
    elif errors:
        title, cause = f"FILE SYSTEM ERRORS: {human.number(errors, 0)}", _cause_of_ext4(window, ext4, errors)
    elif bad:
        total = sum(row.total for row in bad)
        title = f"BTRFS DEVICE ERRORS: {human.number(total, 0)}"
        cause = f"The file system counted {human.plural(total, 'error')} of its devices."
    else:
        title = "FILE SYSTEM ERRORS IN KERNEL LOG"
        total_logged = amounts(logged, minute=False)
        cause = fitting(
            f"The kernel logged {total_logged}{since_last(window, logged)}.",
            f"The kernel logged {total_logged}.",
        )
    return Finding(
        severity=severity,
        subject=name,
        title=title,
        cause=cause,
        impact=_impact(ext4, new=new, once=unknown_age, few=few),
        values=(
            *((Value("errors", "errors since the last check", errors, above=0),) if errors else ()),
            *(
                (Value("device_errors", "errors of btrfs devices", sum(row.total for row in bad), above=0),)
                if bad
                else ()
            ),
            *numbers(logged),
        ),
        evidence=cites(
            *([window.cite(ext4, "errors"), window.cite(ext4, "last")] if ext4 is not None and errors else []),
            *(window.cite(row) for row in bad[:3]),
            *quoted(window, logged),
        ),
        advice=_advice(name, ext4, bad),
        refuted_by="a check of the file system without errors",
        damage=Damage.DATA,
        standing=not new,
    )


def _cause_of_ext4(window: Window, row: Ext4Errors | None, errors: int) -> str:
    said = f"ext4 counted {human.plural(errors, 'error')} since its last check"
    if row is None or row.last is None:
        return f"{said}."
    age = window.now.taken - row.last
    ago = f"{human.duration(age)} ago" if errors == 1 else f"the last {human.duration(age)} ago"
    when = f", {ago}" if dated(window.now.taken) and age >= 0 else ""
    where = f" in {human.safe(row.function, 24)}" if row.function else ""
    return fitting(f"{said}{when}{where}.", f"{said}{when}.", f"{said}.")


def _is_new(window: Window, row: Ext4Errors | None, recent: float) -> bool:
    """Return whether ext4 counted an error recently."""
    if row is None or not row.errors:
        return False
    if row.last is not None and dated(window.now.taken) and 0 <= window.now.taken - row.last <= recent:
        return True
    before = [moment.rows.get(row.device) for moment in window.moments(Ext4Errors)]
    return any(isinstance(other, Ext4Errors) and other.errors < row.errors for other in before)


def _grew(window: Window, rows: Sequence[BtrfsErrors]) -> bool:
    """Return whether a counter of btrfs grew within the window."""
    for row in rows:
        for moment in window.moments(BtrfsErrors):
            other = moment.rows.get((row.filesystem, row.number))
            if isinstance(other, BtrfsErrors) and other.total < row.total:
                return True
    return False


def _impact(ext4: Ext4Errors | None, *, new: bool, once: bool, few: bool) -> str:
    if new:
        return "Files can be damaged, and new writes can damage more."
    if once:
        return "Another sample shows whether the errors are new."
    if ext4 is not None:
        return "Files can be damaged until the file system is checked."
    return "No further error was seen." if few else "A copy can be old or damaged until a scrub repairs it."


def _advice(name: str, ext4: Ext4Errors | None, btrfs: Sequence[BtrfsErrors]) -> tuple[Advice, ...]:
    look = run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40")
    if btrfs:
        return (
            "Find the device with errors, then scrub the file system.",
            run("btrfs", "device", "stats", f"/dev/{name}"),
            look,
            run("btrfs", "device", "stats", "-z", f"/dev/{name}", note="after a clean scrub: what returns is new"),
        )
    if ext4 is not None:
        return (
            "Repair the device below it; then unmount and check the file system.",
            run("e2fsck", "-f", f"/dev/{name}", note="unmounted only"),
            look,
        )
    return ("Repair the device below it; then unmount and check the file system.", look)


FILESYSTEM_ERRORS = Rule(
    "filesystem-errors",
    "file systems with errors in counters of ext4 or btrfs, a scrub, a check, or the kernel's log",
    Severity.CRITICAL,
    _check,
    (Ext4Errors,),
    (
        RECENT,
        Threshold("many", 10.0, "errors of a btrfs device that matter without new ones, although a scrub left none"),
    ),
    instead=(BtrfsErrors, BtrfsScrub, FilesystemCheck, KernelLog),
    covers=(
        Covers(Ext4Errors),
        Covers(BtrfsErrors, subject="{subject}"),
        Covers(BtrfsScrub, subject="{filesystem}", where=lambda row: row.uncorrectable is not None),
    ),
    many="have file system errors",
    damage=Damage.DATA,
    view="disks",
    advice="Repair the device below it; then unmount and check the file system.",
)
