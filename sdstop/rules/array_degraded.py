"""md arrays that lack members or are not running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.collectors.md.readings import Array, Member
from sdstop.collectors.md.redundancy import Layout, sole_holders
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

_RUNNING = frozenset({
    "clean", "active", "active-idle", "write-pending", "readonly", "read-auto", "read-only", "auto-read-only",
})  # fmt: skip
"""Words of md's array_state, and of mdstat, for arrays that serve their data."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for member in window.rows(Member).values():
        if member.errors and member.state != "faulty":
            yield _corrected(window, member, member.errors, limits)
        elif (said := _marked(member)) and member.state != "faulty":
            yield _suspect(window, member, said)
    for array in sorted(window.rows(Array).values(), key=lambda array: array.array):
        yield _idle(window, array) or _judged(window, array)


def _idle(window: Window, array: Array) -> Verdict | None:
    """Return the verdict of an array that does not run, or of which too little is known; None for others."""
    if array.level == "container":
        return Unchecked("container: holds the metadata of other arrays and never runs", array.array, calm=True)
    if array.state == "inactive":
        return _inactive(window, array)
    if array.state == "broken":
        return _broken(window, array)
    if array.state not in _RUNNING:
        return Unchecked(f'state "{human.safe(array.state, 40)}" is not known', array.array, gap=Gap.FAULTY)
    if array.level is None:
        return Unchecked("level unknown", array.array)
    return None


def _judged(window: Window, array: Array) -> Verdict:
    said = _contradiction(window, array)
    if said:
        return Unchecked(said, array.array, gap=Gap.FAULTY)
    if array.redundant and array.degraded is None:
        return Unchecked("neither mdstat nor sysfs says how many members are missing", array.array)
    if array.redundant and array.degraded:
        return _degraded(window, array, array.degraded)
    if array.state in _REFUSES:
        return _refuses(window, array)
    if not array.redundant:
        return RuledOut(array.array, f"{array.level}, {array.state}: no redundancy to lose")
    count = f"all {array.raid_disks}" if array.raid_disks is not None else "all"
    return RuledOut(array.array, f"{count} members in sync")


_REFUSES = frozenset({"readonly", "read-only"})
"""States of arrays that refuse writes; those with `auto` end with the first write."""
_FILLS = frozenset({"recover", "resync", "reshape"})
_MARKS = {
    "write_error": "a write to it failed",
    "want_replacement": "it is to be replaced",
}
"""Flags of a member that still serves, and their meaning."""


def _contradiction(window: Window, array: Array) -> str:
    """Return the contradiction between a whole array and its members, "" for none."""
    if array.degraded:
        return ""
    for member in window.where(Member, "array", array.array):
        if member.state == "faulty" and not array.failed:
            return f"{member.device} is faulty in sysfs, not in mdstat"
        if array.redundant and member.state == "rebuilding" and array.action not in _FILLS:
            return f"{member.device} is not in sync, and the array counts none as missing"
        if "blocked" in (member.flags or "").split(","):
            return f"{member.device} is blocked: writes wait until its failure is acknowledged"
    return ""


def _refuses(window: Window, array: Array) -> Finding:
    name = quoted(array.array)
    return Finding(
        severity=Severity.WARNING,
        subject=array.array,
        cause="the array is read-only: writes to it fail",
        values=(Value("state", "state", array.state),),
        evidence=cites(window.cite(array), window.cite(array, "state")),
        advice=(f"mdadm --readwrite /dev/{name}   # unless an administrator made it read-only",),
        refuted_by="the state clean or active",
    )


def _marked(member: Member) -> str:
    """Return the marks on a member by its flags and bad blocks, "" for none."""
    flags = (member.flags or "").split(",")
    said = [words for flag, words in _MARKS.items() if flag in flags]
    if member.bad_blocks:
        said.append(f"its list of bad blocks has {human.plural(member.bad_blocks, 'range')}, which lack a copy")
    return ", ".join(said)


def _suspect(window: Window, member: Member, said: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=f"{member.array}/{member.device}",
        cause=f"{member.device} still serves, but {said}",
        values=(
            Value("bad_blocks", "ranges in its bad block list", member.bad_blocks, "", above=0),
            Value("flags", "state", member.flags),
        ),
        evidence=cites(window.cite(member, "state"), window.cite(member, "bad_blocks")),
        advice=(
            f"smartctl -x /dev/{quoted(member.device)}   # pending and reallocated sectors; CRC errors mean the cable",
            f"mdadm /dev/{quoted(member.array)} --replace /dev/{quoted(member.device)}   # needs a spare",
        ),
        refuted_by="the state in_sync alone, and an empty list of bad blocks",
    )


def _corrected(window: Window, member: Member, errors: int, limits: Limits) -> Finding:
    """Return the finding of a member whose unreadable sectors the array restored from the other members."""
    known = [row for _, row in window.series(Member, (member.array, member.device)) if row and row.errors is not None]
    moments = window.moments(Member)
    seconds = moments[-1].started - moments[0].started
    grown = max(errors - (known[0].errors or 0), 0) if len(known) > 1 else None
    bad = bool(grown) or errors >= limits["corrected"]
    summary = f"{errors} read errors of {member.device} were corrected from the other members"
    if grown:
        summary += f", {grown} of them in {human.duration(seconds)}: the disk is losing sectors"
    elif grown == 0:
        summary += f", none in {human.duration(seconds)}"
    return Finding(
        severity=Severity.WARNING if bad else Severity.INFO,
        subject=f"{member.array}/{member.device}",
        cause=summary,
        values=(
            Value("errors", "read errors corrected", errors, "", above=limits["corrected"]),
            Value("grown", "of them while watched", grown, "", above=0),
            Value("bad_blocks", "ranges in its bad block list", member.bad_blocks),
        ),
        evidence=cites(window.cite(member, "errors")),
        advice=(
            f"smartctl -x /dev/{quoted(member.device)}   # pending and reallocated sectors; CRC errors mean the cable",
            f"mdadm /dev/{quoted(member.array)} --replace /dev/{quoted(member.device)}   # if they grow; needs a spare",
            f"echo check > /sys/block/{quoted(member.array.replace('/', '!'))}/md/sync_action   # reads all sectors",
        ),
        refuted_by="a count that does not grow during a complete check",
        totals=not grown,
    )


def _degraded(window: Window, array: Array, missing: int) -> Finding:
    name, left = array.array, array.tolerates
    members = window.where(Member, "array", name)
    known = next(
        (known for known in rebuild_analyses(window) if known.name == name and known.rebuild.kind == "md"), None
    )
    doing, running = _doing(array, known)
    slots = [slot for slot, letter in enumerate(array.slots or "") if letter != "U"]
    where = f" (slot {', '.join(map(str, slots[:6]))})" if slots else ""
    summary = f"{missing} of {human.number(array.raid_disks)} members missing{where}; {_risk(array, members)}; {doing}"
    return Finding(
        severity=Severity.WARNING if left is None or left > 0 else Severity.CRITICAL,
        subject=name,
        cause=summary,
        values=(
            Value("degraded", "members missing or not in sync", missing, "", above=0),
            Value("tolerates", "further failures that lose no data", left, "", above=1),
            Value("spares", "spares", array.spares),
            Value("failed", "failed members still listed", array.failed),
            Value("action", "what md does", array.action),
        ),
        evidence=cites(
            window.cite(array),
            window.cite(array, "degraded"),
            window.cite(array, "action"),
            *(window.cite(m, "state") for m in members if m.state == "faulty"),
        ),
        advice=tuple(_advice(array, members, running=running)),
        refuted_by=f"`degraded` of {name} at 0 and every slot U in /proc/mdstat",
    )


def _doing(array: Array, known: RebuildAnalysis | None) -> tuple[str, bool]:
    """Return the recovery status, and whether a recovery is under way."""
    if array.action == "frozen":
        return "nothing is rebuilding: it is frozen", False
    if known is not None and known.rebuild.operation in REPAIRS:
        if known.stands:
            return f"{known.what} stands still at {known.done} %", False
        if known.rebuild.state == "running":
            return f"{known.what} is running, {known.done} % done", True
        return f"{known.what} is {known.rebuild.state}", True
    if array.action in {"recover", "resync", "reshape"}:
        return f"{array.action} is due and has not begun", True
    return "nothing is rebuilding" + ("" if array.spares else ": there is no spare"), False


def _risk(array: Array, members: Sequence[Member]) -> str:
    left = array.tolerates
    if left is None:
        return "how many more may fail is not known"
    if left > 0:
        return f"{left} more may fail without loss"
    if left < 0:
        return "some of its data is on no member that is in sync"
    holders = _holders(array, members)
    if holders and array.level == "raid10":
        return f"the data of {', '.join(holders[:4])} is on no other member"
    return "no redundancy is left: the next failure loses data"


def _holders(array: Array, members: Sequence[Member]) -> list[str]:
    """Return the devices without a redundant copy, in slot order; empty if the slots are unknown."""
    if array.slots is None or array.level is None or array.far_copies != 1:
        return []
    layout = Layout(array.level, array.raid_disks or 0, array.near_copies or 1, array.far_copies or 1)
    device = {m.slot: m.device for m in members if m.slot is not None}
    return [device[slot] for slot in sole_holders(layout, array.slots) if slot in device]


def _advice(array: Array, members: Sequence[Member], *, running: bool) -> Iterator[str]:
    name = array.array
    failed = [m.device for m in members if m.state == "faulty"]
    if running:
        yield f"let it finish: cat /proc/mdstat; put no other load on {quoted(name)} that can wait"
    elif array.action in {"recover", "resync", "reshape"}:
        yield f"cat /proc/mdstat: does it move? rebuild-stalled of {quoted(name)} says what to do"
    elif array.action == "frozen":
        yield (
            f"mdadm or an administrator froze it; let it go on: "
            f"echo idle > /sys/block/{quoted(name.replace('/', '!'))}/md/sync_action"
        )
    elif array.state in {"readonly", "read-auto", "read-only", "auto-read-only"}:
        yield f"it is read-only, so nothing is rebuilt: mdadm --readwrite /dev/{quoted(name)}"
    elif array.spares:
        yield (
            f"it has a spare and does not use it; ask for it: "
            f"echo recover > /sys/block/{quoted(name.replace('/', '!'))}/md/sync_action"
        )
    else:
        yield f"mdadm /dev/{quoted(name)} --add /dev/NEW   # a disk or partition at least as large as the others"
    if failed:
        yield f"find out why: journalctl -k | grep -w {operand(failed[0])}; smartctl -x /dev/{quoted(failed[0])}"
        yield f"mdadm /dev/{quoted(name)} --remove /dev/{quoted(failed[0])}   # it failed and is still listed"
    elif not running and array.action != "frozen":
        yield f"mdadm --detail /dev/{quoted(name)}   # which member is gone; journalctl -k says when"
    if array.tolerates is not None and array.tolerates <= 0:
        yield "see that the backup is current before touching a disk: pulling the wrong one now loses the array"


def _inactive(window: Window, array: Array) -> Finding:
    members = window.where(Member, "array", array.array)
    listed = f"{len(members)} device{'' if len(members) == 1 else 's'}" if members else "its devices"
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        cause=f"the array does not run: inactive with {listed}, its data is out of reach",
        values=(
            Value("state", "state", array.state),
            Value("devices", "devices listed", len(members) or None),
            Value("raid_disks", "members of a whole array", array.raid_disks),
        ),
        evidence=cites(window.cite(array), window.cite(array, "state")),
        advice=(
            (
                f"mdadm --detail /dev/{quoted(array.array)}; mdadm --examine of each device: compare Events and "
                "Array State"
            ),
            f"when all are there: mdadm --run /dev/{quoted(array.array)}",
            (
                f"if it is the remains of an old array: mdadm --stop /dev/{quoted(array.array)}, then wipe "
                "those superblocks"
            ),
        ),
        refuted_by="an old superblock on a disk that belongs to something else now: then no data is missing",
    )


def _broken(window: Window, array: Array) -> Finding:
    members = [m for m in window.where(Member, "array", array.array) if m.state == "faulty"]
    return Finding(
        severity=Severity.CRITICAL,
        subject=array.array,
        cause=f"the array is broken: {array.level or 'it'} lost more members than it can spare, writes fail",
        values=(Value("state", "state", array.state), Value("failed", "failed members still listed", array.failed)),
        evidence=cites(
            window.cite(array), window.cite(array, "state"), *(window.cite(member, "state") for member in members)
        ),
        advice=(
            "journalctl -k: did the disks fail, or their cable, HBA or enclosure? The latter brings them all back",
            f"mdadm --detail /dev/{quoted(array.array)}; mdadm --examine of each device before any attempt to assemble",
        ),
        refuted_by="every member back and the state clean or active",
    )


ARRAY_DEGRADED = Rule(
    "array-degraded",
    "an md array lacks members, and whether anything is done about it; read errors that it corrected",
    Severity.CRITICAL,
    _check,
    (Array,),
    (
        Threshold(
            "corrected", 20.0, "read errors corrected on a member, even if none is new (md drops it at 20 an hour)"
        ),
    ),
    remembers=True,
    explains=(
        "slow-device",
        "slow-stripe-member",
    ),
)
