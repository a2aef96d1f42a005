"""md arrays that lack members or are not running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.disks.presence import gone, is_every_device
from sdstop.analysis.rebuilds.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.md.redundancy import Layout, sole_holders
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.shell import phrase
from sdstop.rules.arrays.array_degraded.halted import (
    bitmap_before,
    failed_journal,
    frozen,
    interrupted,
    pending,
    without_bitmap,
    without_journal,
)
from sdstop.rules.arrays.array_degraded.member import corrected, marks, smart, suspect, sync_action
from sdstop.rules.arrays.array_degraded.shared import on_one_disk, shared, twice
from sdstop.rules.arrays.array_degraded.unlisted import unlisted

_RUNNING = frozenset({
    "clean", "active", "active-idle", "write-pending", "readonly", "read-auto", "read-only", "auto-read-only",
})  # fmt: skip
"""Words of md's array_state, and of mdstat, for arrays that serve their data."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for member, said in window.of_run(Member, "members in doubt", lambda: _in_doubt(window)):
        yield corrected(window, member, member.errors, limits) if member.errors else suspect(window, member, said)
    for array in sorted(window.rows(Array).values(), key=lambda array: array.array):
        yield _idle(window, array) or _judged(window, array)
    yield from unchecked(unlisted(window), "counted in /proc/diskstats, and not listed in /proc/mdstat", gap=Gap.FAULTY)


def _in_doubt(window: Window) -> list[tuple[Member, str]]:
    """Return the members that serve although they have errors or marks, with their marks."""
    rows = [member for member in window.rows(Member).values() if member.state != "faulty"]
    return [(member, said) for member in rows if (said := marks(member)) or member.errors]


def _idle(window: Window, array: Array) -> Verdict | None:
    """Return the verdict of an array that does not run, or of which too little is known; None for others."""
    if array.level == "container":
        return Unchecked("container with the metadata of other arrays; never runs", array.array, calm=True)
    if array.state == "inactive":
        return _inactive(window, array)
    if array.state == "broken":
        return _broken(window, array)
    if array.state not in _RUNNING:
        return Unchecked(f'unknown state "{human.safe(array.state, 40)}"', array.array, gap=Gap.FAULTY)
    if array.level is None:
        return Unchecked("level unknown", array.array)
    return None


def _judged(window: Window, array: Array) -> Verdict:
    said = _contradiction(window, array)
    if said:
        return Unchecked(said, array.array, gap=Gap.FAULTY)
    if lost := _without_device(window, array):
        return _gone(window, array, lost)
    if (waits := pending(window, array)) is not None:
        return waits
    if array.redundant and array.degraded is None:
        return Unchecked("number of missing members unavailable (mdstat, sysfs)", array.array)
    if array.redundant and array.degraded:
        return _degraded(window, array, array.degraded)
    return _whole(window, array)


def _whole(window: Window, array: Array) -> Verdict:
    """Judge an array that lacks no member."""
    if journal := failed_journal(window, array):
        return without_journal(window, array, journal)
    if array.state in _REFUSES:
        return _refuses(window, array)
    if array.reshape_position is not None:
        return interrupted(window, array)
    if array.redundant and array.action == "frozen":
        return frozen(window, array)
    if disks := shared(window, array):
        return on_one_disk(window, array, disks)
    if bitmap := bitmap_before(window, array):
        return without_bitmap(window, array, bitmap)
    if not array.redundant:
        return RuledOut(array.array, f"{array.level}, {array.state}: no redundancy to lose")
    count = f"all {array.raid_disks}" if array.raid_disks is not None else "all"
    return RuledOut(array.array, f"{count} members in sync")


_REFUSES = frozenset({"readonly", "read-only"})
"""States of arrays that refuse writes; those with `auto` end with the first write."""
_WORKING = frozenset({"in_sync", "rebuilding"})
_FILLS = frozenset({"recover", "resync", "reshape"})


def _contradiction(window: Window, array: Array) -> str:
    """Return the contradiction between a whole array and its members, "" for none."""
    if array.degraded:
        return ""
    for member in window.where(Member, "array", array.array):
        if member.state == "faulty" and not array.failed:
            return f"{member.device} faulty in sysfs, not in mdstat"
        if array.redundant and member.state == "rebuilding" and array.action not in _FILLS:
            return f"{member.device} not in sync, but the array counts no missing member"
        if "blocked" in (member.flags or "").split(","):
            return f"{member.device} blocked: writes wait for the acknowledgement of its failure"
    return twice(window, array)


def _without_device(window: Window, array: Array) -> list[Member]:
    """Return the working members whose devices the node no longer has; md notices with the next write only.

    They may be all of them: other disks show then that the node's devices were recorded.
    """
    working = [member for member in window.where(Member, "array", array.array) if member.state in _WORKING]
    names = [member.device for member in working]
    others: Sequence[str] = ()
    if is_every_device(window):
        others = window.of_run(BlockDevice, "disks beside arrays", lambda: _whole_disks(window))
    lost = gone(window, names, [*names, *others])
    return [member for member in working if member.device in lost]


def _whole_disks(window: Window) -> list[str]:
    return [row.device for row in window.rows(BlockDevice).values() if row.kind in {"disk", "nvme"}]


def _gone(window: Window, array: Array, lost: Sequence[Member]) -> Finding:
    left = array.tolerates if array.redundant else 0
    after = None if left is None else left - len(lost)
    names = [member.device for member in lost]
    are = "are" if len(lost) > 1 else "is"
    return Finding(
        severity=Severity.WARNING if after is None or after > 0 else Severity.CRITICAL,
        subject=array.array,
        title=f"{len(lost)} MEMBER{'S' if len(lost) > 1 else ''} GONE: md has not noticed",
        cause=f"{human.listed(names, limit=16)} {are} listed as working, but no such device exists.",
        impact=(
            "Data of the array is inaccessible."
            if after is not None and after < 0
            else "The next request degrades the array."
        ),
        values=(
            Value("gone", "members without a device", len(lost), "", of=array.raid_disks),
            Value("tolerates", "further failures tolerated then", after, "", below=None if after else 1),
        ),
        evidence=cites(*(window.cite(member, "state") for member in lost[:4]), window.cite(array)),
        advice=(
            "Find out why the disk disappeared: slot, cable, HBA or enclosure.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(names[0])),
            run("mdadm", f"/dev/{array.array}", "--fail", "detached", "--remove", "detached", note="if it is gone"),
        ),
        disks=tuple(names),
        refuted_by=f"a line of {human.safe(names[0], 20)} in /proc/diskstats",
        damage=Damage.DATA if after is not None and after < 0 else None,
    )


def _refuses(window: Window, array: Array) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=array.array,
        title="ARRAY READ-ONLY: writes fail",
        cause=f"The array state is {array.state}.",
        impact="Every write to the array fails.",
        values=(Value("state", "state", array.state),),
        evidence=cites(window.cite(array), window.cite(array, "state")),
        advice=("Allow writes again.", run("mdadm", "--readwrite", f"/dev/{array.array}")),
        refuted_by="array_state clean or active",
        harmless_if="an administrator made it read-only on purpose",
        damage=Damage.AVAILABILITY,
    )


def _degraded(window: Window, array: Array, missing: int) -> Finding:
    name, left = array.array, array.tolerates
    members = window.where(Member, "array", name)
    known = next(
        (known for known in rebuild_analyses(window) if known.name == name and known.rebuild.kind == "md"), None
    )
    doing, running = _doing(array, known)
    slots = [str(slot) for slot, letter in enumerate(array.slots or "") if letter != "U"]
    where = (
        f" (slot{'s' if len(slots) > 1 else ''} {', '.join(slots[:3])}{', ...' if len(slots) > 3 else ''})"
        if slots
        else ""
    )
    fault = "DEGRADED" if left is None or left > 0 else "NO REDUNDANCY" if not left else "DATA INCOMPLETE"
    return Finding(
        severity=Severity.WARNING if left is None or left > 0 else Severity.CRITICAL,
        subject=name,
        title=f"{fault}: {human.plural(missing, 'member')} missing",
        cause=f"{missing} of {human.number(array.raid_disks)} members missing{where}; {doing}.",
        impact=_risk(array, members),
        values=(
            Value("degraded", "missing or out-of-sync members", missing, "", of=array.raid_disks),
            Value("tolerates", "further failures tolerated", left, "", below=None if left else 1),
            Value("spares", "spares", array.spares),
            Value("failed", "failed members still listed", array.failed),
            Value("action", "md action", array.action),
            Value("lost", "lost while watched", _lost(window, name, members)),
        ),
        evidence=cites(
            window.cite(array),
            window.cite(array, "degraded"),
            window.cite(array, "action"),
            *(window.cite(m, "state") for m in members if m.state == "faulty"),
        ),
        advice=tuple(_advice(array, members, running=running)),
        disks=tuple(m.device for m in members if m.state == "faulty"),
        refuted_by=f"degraded = 0 for {name}, and every slot U in /proc/mdstat",
        damage=Damage.DATA if left is not None and left < 0 else None,
    )


def _lost(window: Window, name: str, members: Sequence[Member]) -> str | None:
    """Return which members were in sync in an earlier sample and are not, and whether the node still has the disks.

    A disk that was pulled or died is gone; one that was taken out by a command, or that md failed, is there.
    """
    before = {
        row.device
        for moment in window.moments(Member)
        for row in moment.rows.values()
        if row.array == name and row.state == "in_sync"
    }
    lost = sorted(before - {row.device for row in members if row.state == "in_sync"})
    if not lost:
        return None
    devices = window.rows(BlockDevice)
    away = gone(window, lost, [*map(str, devices)])
    listed = {row.device for row in members}
    words = [f"{device}: {_fate(device in away, device in listed, device in devices)}" for device in lost]
    return human.listed(words, 3, 160)


def _fate(away: bool, listed: bool, there: bool) -> str:  # noqa: FBT001
    if away:
        return "its disk is gone"
    if listed:
        return "failed"
    return "taken out, its disk is there" if there else "taken out"


def _doing(array: Array, known: RebuildAnalysis | None) -> tuple[str, bool]:
    """Return the recovery status, and whether a recovery is under way."""
    if array.action == "frozen":
        return "no rebuild: it is frozen", False
    if known is not None and known.rebuild.operation in REPAIRS:
        if known.stands:
            return f"{known.what} stalled at {known.done}%", False
        if known.rebuild.state == "running":
            return f"{known.what} running, {known.done}%", True
        return f"{known.what} {known.rebuild.state}", True
    if array.action in _FILLS:
        return f"{array.action} pending", True
    if array.reshape_position is not None:
        return "no rebuild: reshape interrupted", False
    return "no rebuild" + ("" if array.spares else ": no spare"), False


def _risk(array: Array, members: Sequence[Member]) -> str:
    """Return the impact: the failures that the array still tolerates."""
    left = array.tolerates
    if left is None:
        return "The number of further failures without data loss is unknown."
    if left > 0:
        return f"{human.plural(left, 'more member')} can fail without data loss."
    if left < 0:
        return "Some data has no in-sync copy."
    holders = _holders(array, members)
    if len(holders) == 1 and array.level == "raid10":
        only = human.safe(holders[0], 20)
        return f"{only} has the only copy of its data; losing {only} loses data."
    if holders and array.level == "raid10":
        return f"{len(holders)} members have the only copy of data; losing one loses data."
    return "The next member failure loses data."


def _holders(array: Array, members: Sequence[Member]) -> list[str]:
    """Return the devices without a redundant copy, in slot order; empty if the slots are unknown."""
    if array.slots is None or array.level is None or array.far_copies != 1:
        return []
    layout = Layout(array.level, array.raid_disks or 0, array.near_copies or 1, array.far_copies or 1)
    device = {m.slot: m.device for m in members if m.slot is not None}
    return [device[slot] for slot in sole_holders(layout, array.slots) if slot in device]


def _advice(array: Array, members: Sequence[Member], *, running: bool) -> Iterator[Advice]:
    name = array.array
    failed = [m.device for m in members if m.state == "faulty"]
    yield from _first(array, running=running)
    if failed:
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(failed[0]))
        yield smart(failed[0])
        yield run("mdadm", f"/dev/{name}", "--remove", f"/dev/{failed[0]}", note="failed and still listed")
    elif not running and array.action != "frozen":
        yield run("mdadm", "--detail", f"/dev/{name}", note="missing member; journalctl -k has the time")
    if array.tolerates is not None and array.tolerates <= 0:
        yield "Verify the backup before touching a disk: pulling the wrong one now destroys the array."


def _first(array: Array, *, running: bool) -> Iterator[Advice]:
    """Yield what brings the redundancy back."""
    name = array.array
    if running:
        yield "Let the rebuild finish; defer other load on the array."
        yield run("cat", "/proc/mdstat")
    elif array.action in _FILLS:
        yield "Check whether the rebuild advances; if not, see rebuild-stalled."
        yield run("cat", "/proc/mdstat")
    elif array.action == "frozen":
        yield "Resume the frozen rebuild."
        yield run("echo", "idle", into=sync_action(name))
    elif array.state in {"readonly", "read-auto", "read-only", "auto-read-only"}:
        yield "Make the array writable: a read-only array does not rebuild."
        yield run("mdadm", "--readwrite", f"/dev/{name}")
    elif array.spares:
        yield "Start the rebuild: a spare is present but unused."
        yield run("echo", "recover", into=sync_action(name))
    else:
        yield "Add a disk or partition at least as large as the others."
        yield run("mdadm", f"/dev/{name}", "--add", "/dev/NEW")


def _inactive(window: Window, array: Array) -> Finding:
    members = window.where(Member, "array", array.array)
    listed = f"{human.plural(len(members), 'device')} listed" if members else "its devices are not listed"
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        title="ARRAY INACTIVE: data inaccessible",
        cause=f"The array does not run: {listed}.",
        impact="Its data is inaccessible.",
        values=(
            Value("state", "state", array.state),
            Value("devices", "devices listed", len(members) or None, of=array.raid_disks),
            Value("raid_disks", "members of a whole array", array.raid_disks),
        ),
        evidence=cites(window.cite(array), window.cite(array, "state")),
        advice=(
            "Compare Events and Array State of all its devices.",
            run("mdadm", "--detail", f"/dev/{array.array}"),
            *(run("mdadm", "--examine", f"/dev/{member.device}") for member in members[:4]),
            run("mdadm", "--run", f"/dev/{array.array}", note="once all devices are there"),
            "Remains of an old array: stop it, then wipe its superblocks.",
            run("mdadm", "--stop", f"/dev/{array.array}"),
        ),
        refuted_by="a stale superblock on a disk that has been reused",
        damage=Damage.AVAILABILITY,
    )


def _broken(window: Window, array: Array) -> Finding:
    members = [m for m in window.where(Member, "array", array.array) if m.state == "faulty"]
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        title="ARRAY BROKEN: writes fail",
        cause=f"{phrase(array.level or 'The array')} has lost more members than it tolerates.",
        impact="Every write to the array fails.",
        values=(Value("state", "state", array.state), Value("failed", "failed members still listed", array.failed)),
        evidence=cites(
            window.cite(array), window.cite(array, "state"), *(window.cite(member, "state") for member in members)
        ),
        advice=(
            "Find the common cause: disks, cable, HBA or enclosure.",
            run("journalctl", "-k"),
            run("mdadm", "--detail", f"/dev/{array.array}"),
            *(
                run("mdadm", "--examine", f"/dev/{member.device}", note="before any attempt to assemble")
                for member in members[:4]
            ),
        ),
        disks=tuple(member.device for member in members),
        refuted_by="all members back and array_state clean or active",
        damage=Damage.AVAILABILITY,
    )


ARRAY_DEGRADED = Rule(
    "array-degraded",
    "md array degraded, inactive or broken, and its recovery; corrected read errors",
    Severity.CRITICAL,
    _check,
    (Array,),
    (Threshold("corrected", 20.0, "corrected read errors of a member, even without new ones (md drops it at 20/h)"),),
    instead=(BlockDevice,),
    remembers=True,
    explains=(
        "slow-device",
        "slow-stripe-member",
    ),
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Check the backup of {subject} first; then replace the failed member.",
)
