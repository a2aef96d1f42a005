"""md arrays whose spare took over for a failed member that is still listed: the next failure has no spare."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.md.readings import Array, Member
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for array in window.rows(Array).values():
        if not array.redundant:
            continue
        if array.degraded is None or array.spares is None:
            yield Unchecked("number of missing members or spares unknown", array.array, calm=True)
        elif array.failed and not array.degraded and not _is_journal(window, array):
            yield _finding(window, array)
        else:
            missing = f", missing members: {array.degraded} (see array-degraded)" if array.degraded else ""
            yield RuledOut(array.array, f"failed members listed: {array.failed}, spares: {array.spares}{missing}")


def _is_journal(window: Window, array: Array) -> bool:
    """Return whether what failed is the write journal, which array-degraded judges: no spare takes its place."""
    members = window.where(Member, "array", array.array)
    failed = [member for member in members if member.state == "faulty"]
    own = any(member.state == "journal" for member in members)
    lost = [m for m in failed if "journal" in (m.flags or "").split(",") or (array.policy == "journal" and not own)]
    return bool(failed) and len(lost) == len(failed)


def _finding(window: Window, array: Array) -> Finding:
    failed = [m for m in window.where(Member, "array", array.array) if m.state == "faulty"]
    names = ", ".join(m.device for m in failed) or human.number(array.failed)
    left = array.spares or 0
    return Finding(
        severity=Severity.WARNING if not left else Severity.INFO,
        subject=array.array,
        title="NO SPARE LEFT" if not left else f"SPARE USED: {left} left",
        cause=f"All {human.number(array.raid_disks)} slots in sync; failed and still listed: {human.safe(names, 30)}.",
        impact=(
            "The next failed member cannot be rebuilt until a disk is added."
            if not left
            else f"{human.plural(left, 'spare')} left for the next failures."
        ),
        values=(
            Value("failed", "failed members still listed", array.failed, "", above=0),
            Value("spares", "spares left", left, "", below=None if left else 1),
            Value("tolerates", "further failures tolerated", array.tolerates),
        ),
        evidence=cites(window.cite(array), *(window.cite(m, "state") for m in failed[:3])),
        advice=tuple(_advice(array, failed)),
        refuted_by=f"no (F) in the line of {array.array} in /proc/mdstat",
    )


def _advice(array: Array, failed: list[Member]) -> Iterator[Advice]:
    array_file = f"/dev/{array.array}"
    yield "Replace the failed disk; the new one becomes the spare."
    for member in failed[:2]:
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(member.device))
        yield run("smartctl", "-x", f"/dev/{member.device}")
        yield run("mdadm", array_file, "--remove", f"/dev/{member.device}")
    yield run("mdadm", array_file, "--add", "/dev/NEW")


NO_SPARE_LEFT = Rule(
    "no-spare-left",
    "md array whose spare replaced a failed member, with no spare left",
    Severity.WARNING,
    _check,
    (Array,),
    damage=Damage.REDUNDANCY,
    view="disks",
    covers=(Covers(Array, where=lambda row: row.redundant),),
    advice="Replace the failed disk; the new one becomes the spare.",
)
