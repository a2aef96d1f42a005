"""md arrays with all members in sync that have no journal, do not continue a reshape, or start no rebuild."""

from __future__ import annotations

from sdstop.collectors.md.readings import Array, Member
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import (
    SIGN,
    Damage,
    Finding,
    Gap,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.rules.arrays.array_degraded.member import smart, sync_action


def failed_journal(window: Window, array: Array) -> Member | None:
    """Return the failed journal of an array that has no working one, None otherwise."""
    members = window.where(Member, "array", array.array)
    if any(member.state == "journal" for member in members):
        return None
    failed = [member for member in members if member.state == "faulty"]
    known = [member for member in failed if "journal" in (member.flags or "").split(",")]
    if not known and array.policy == "journal" and not array.degraded:
        known = failed
    return known[0] if known else None


def without_journal(window: Window, array: Array, journal: Member) -> Finding:
    """Return the finding of an array whose journal failed (kernel drivers/md/raid5.c: log_io_failed, md.c)."""
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        title="JOURNAL FAILED",
        cause=f"The write journal {human.safe(journal.device, 24)} failed, and the array has no other one.",
        impact="The array refuses writes, or will when it is assembled again.",
        values=(
            Value("journal", "journal", journal.device),
            Value("state", "state", array.state),
            Value("policy", "consistency policy", array.policy),
        ),
        evidence=cites(window.cite(array), window.cite(journal, "state")),
        advice=(
            "Save the data that was written last; then give the array a new journal.",
            smart(journal.device),
            run("mdadm", f"/dev/{array.array}", "--remove", f"/dev/{journal.device}"),
            run("mdadm", f"/dev/{array.array}", "--add-journal", "/dev/NEW", note="in read-only state"),
        ),
        refuted_by=f"no (F) behind the journal in the line of {array.array} in /proc/mdstat",
        damage=Damage.AVAILABILITY,
    )


_FROZEN = 8.0
"""Seconds for which an array is frozen without a reason to worry: mdadm freezes it while it changes members."""


def frozen(window: Window, array: Array) -> Verdict:
    """Judge a whole array that starts neither rebuilds nor checks."""
    lasting = window.lasting(Array, array.array, lambda row: row.action == "frozen")
    if lasting < _FROZEN:
        return Unchecked(f"sync_action frozen for {human.duration(lasting)}: needs {_FROZEN:g} s", array.array)
    return Finding(
        severity=Severity.WARNING,
        subject=array.array,
        title="REBUILDS AND CHECKS FROZEN",
        cause=f"The array has been frozen for at least {human.duration(lasting)}; its members are in sync.",
        impact="No spare replaces a failed member, and no check runs.",
        values=(Value("lasting", "frozen for, minimum", lasting, "seconds", above=_FROZEN),),
        evidence=cites(window.cite(array, "action")),
        advice=(
            "Allow rebuilds again, unless mdadm is changing the array.",
            run("ps", "axo", "pid,etime,args", note="mdadm --grow, --add").pipe("grep", "mdadm"),
            run("echo", "idle", into=sync_action(array.array)),
        ),
        refuted_by=f"another word in {sync_action(array.array)}",
        harmless_if="mdadm reshapes the array, or an administrator froze it",
        lasting=lasting,
    )


def bitmap_before(window: Window, array: Array) -> str:
    """Return the bitmap that a redundant array had earlier in the window and has no more, "" for none."""
    if array.bitmap is not None or not array.redundant:
        return ""
    return next((row.bitmap for _, row in window.series(Array, array.array) if row is not None and row.bitmap), "")


def without_bitmap(window: Window, array: Array, bitmap: str) -> Finding:
    """Return the finding of an array whose write-intent bitmap has just been removed."""
    return Finding(
        severity=Severity.INFO,
        subject=array.array,
        title="BITMAP REMOVED",
        cause=f"The write-intent bitmap ({human.safe(bitmap, 30)}) was there before, and is not now.",
        impact="After a crash, or the return of a member, all data is synchronized.",
        values=(Value("bitmap", "bitmap before", bitmap), Value("policy", "consistency policy", array.policy)),
        evidence=cites(window.cite(array), window.cite(array, "policy")),
        advice=(
            "Add the bitmap again, unless it was removed for a reshape.",
            run("mdadm", "--grow", "--bitmap=internal", f"/dev/{array.array}"),
        ),
        refuted_by=f"a line with bitmap below {array.array} in /proc/mdstat",
        harmless_if="an administrator removed it",
        damage=Damage.REDUNDANCY,
    )


_PENDING = 10.0
"""Seconds for which an array waits for its metadata to be written; that takes milliseconds."""


def pending(window: Window, array: Array) -> Verdict | None:
    """Judge an array that waits for its metadata, before which md starts no write; None if it does not, or not long."""
    lasting = (
        window.lasting(Array, array.array, lambda row: row.state == "write-pending")
        if array.state == "write-pending"
        else 0.0
    )
    if lasting < _PENDING:
        return None
    outside = (array.metadata or "").startswith("external:")
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        title="WRITES WAIT for the metadata",
        cause=f"The array state is write-pending in each sample of {human.duration(lasting)}.",
        impact="Every write to the array waits.",
        values=(
            Value("state", "state", array.state),
            Value("lasting", "write-pending for, minimum", lasting, "seconds", above=_PENDING),
            Value("metadata", "metadata", array.metadata),
        ),
        evidence=cites(window.cite(array), window.cite(array, "state")),
        advice=(
            "Start mdmon, which writes the metadata of this array."
            if outside
            else "Find the member that does not accept the superblock.",
            run("mdmon", "--takeover", "--all") if outside else run("mdadm", "--detail", f"/dev/{array.array}"),
            run("journalctl", "-k").pipe("tail", "-40"),
        ),
        refuted_by="array_state active or clean",
        lasting=lasting,
        damage=Damage.AVAILABILITY,
    )


_WAITS_FOR_WRITES = frozenset({"readonly", "read-auto", "read-only", "auto-read-only"})


def interrupted(window: Window, array: Array) -> Verdict:
    """Judge an array whose reshape has begun and is not running (kernel drivers/md/md.c: reshape_position)."""
    position = human.quantity(array.reshape_position, "bytes")
    lasting = window.lasting(Array, array.array, lambda row: row.reshape_position is not None)
    if lasting < _FROZEN:
        said = f"reshape not running for {human.duration(lasting)}: needs {_FROZEN:g} s"
        return Unchecked(said, array.array, gap=Gap.SIGNS if lasting >= SIGN else Gap.EARLY)
    before = "" if array.old_raid_disks is None else f", from {array.old_raid_disks} members"
    after = "" if array.raid_disks is None else f" to {array.raid_disks}"
    waits = array.state in _WAITS_FOR_WRITES
    return Finding(
        severity=Severity.INFO if waits else Severity.WARNING,
        subject=array.array,
        title="RESHAPE INTERRUPTED",
        cause=f"The reshape{before}{after if before else ''} stopped at {position} and is not running.",
        impact=(
            "The array is read-only: the reshape continues with the first write."
            if waits
            else "No failed member is rebuilt until the reshape is done."
        ),
        values=(
            Value("position", "reshaped up to", array.reshape_position, "bytes", of=array.size),
            Value("lasting", "not running for, minimum", lasting, "seconds", above=_FROZEN),
            Value("action", "md action", array.action),
        ),
        evidence=cites(window.cite(array, "reshape_position"), window.cite(array, "action")),
        advice=(
            "Continue the reshape, with the backup file that it began with, if any.",
            run("systemctl", "status", f"mdadm-grow-continue@{array.array}"),
            run("mdadm", "--grow", "--continue", f"/dev/{array.array}"),
        ),
        refuted_by="the word none in the file reshape_position of the array",
        lasting=lasting,
    )
