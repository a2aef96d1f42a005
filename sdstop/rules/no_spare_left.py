"""md arrays whose spare took over for a failed member that is still listed: the next failure has no spare."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.md.readings import Array, Member
from sdstop.core import format as human
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for array in window.rows(Array).values():
        if not array.redundant:
            continue
        if array.degraded is None or array.spares is None:
            yield Unchecked("number of missing members or spares unknown", array.array, calm=True)
        elif array.failed and not array.degraded:
            yield _finding(window, array)
        else:
            missing = f", missing members: {array.degraded} (see array-degraded)" if array.degraded else ""
            yield RuledOut(array.array, f"failed members listed: {array.failed}, spares: {array.spares}{missing}")


def _finding(window: Window, array: Array) -> Finding:
    failed = [m for m in window.rows(Member).values() if m.array == array.array and m.state == "faulty"]
    names = ", ".join(m.device for m in failed[:4]) or human.number(array.failed)
    left = array.spares or 0
    spare = "no spare is left" if not left else f"{left} spare{'' if left == 1 else 's'} left"
    return Finding(
        severity=Severity.WARNING if not left else Severity.INFO,
        subject=array.array,
        cause=f"{spare}: all {human.number(array.raid_disks)} slots are in sync; failed and still listed: {names}",
        values=(
            Value("failed", "failed members still listed", array.failed, "", above=0),
            Value("spares", "spares left", left, "", above=1),
            Value("tolerates", "further failures that lose no data", array.tolerates),
        ),
        evidence=cites(window.cite(array), *(window.cite(m, "state") for m in failed[:3])),
        advice=tuple(_advice(array, failed)),
        refuted_by=f"no (F) in the line of {array.array} in /proc/mdstat",
    )


def _advice(array: Array, failed: list[Member]) -> Iterator[str]:
    name = quoted(array.array)
    for member in failed[:2]:
        yield f"journalctl -k | grep -w {operand(member.device)}; smartctl -x /dev/{quoted(member.device)}   # why?"
        yield f"mdadm /dev/{name} --remove /dev/{quoted(member.device)}   # then replace the disk"
    yield f"mdadm /dev/{name} --add /dev/NEW   # the new disk becomes the spare"


NO_SPARE_LEFT = Rule(
    "no-spare-left",
    "a spare took over in an md array, its failed member is still listed, and no spare is left",
    Severity.WARNING,
    _check,
    (Array,),
    covers=(Covers(Array, where=lambda row: row.redundant),),
)
