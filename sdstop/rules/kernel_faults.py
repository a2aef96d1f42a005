"""Hung tasks, lockups, out-of-memory kills and hardware errors in the kernel's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sdstop.analysis.kernel_log import RECENT, by_thing, gap_in, is_recent, last_time, numbers, quoted, silence
from sdstop.collectors.kernel.kinds import KINDS, LogEffect, Subject
from sdstop.collectors.kernel.readings import KernelComplaint, KernelLog
from sdstop.core.advice import Advice, run
from sdstop.core.finding import (
    Damage,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Verdict,
    cites,
)
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window

_CRITICAL = frozenset({"lockup", "kernel-bug", "machine-check", "memory-uncorrected", "overheating"})
_IMPACTS: Mapping[str, str] = {
    "hung-task": "Programs wait for storage or for a lock.",
    "cpu-stall": "Interrupts and tasks of a processor wait for seconds.",
    "lockup": "A processor did nothing else for seconds.",
    "oom-kill": "The kernel killed a program because memory ran out.",
    "kernel-bug": "A part of the kernel has stopped, with its locks.",
    "machine-check": "Data in a processor or in memory can be damaged.",
    "memory-uncorrected": "Data in memory is damaged.",
    "transmit-hang": "Frames of an interface wait until its driver resets it.",
    "conntrack-full": "The kernel drops packets of new connections.",
    "overheating": "The node shuts down to protect itself.",
    "cpu-throttled": "Hot processors run slower.",
}
_ADVICE: Mapping[str, str] = {
    "hung-task": "Find the device or server that the tasks wait for.",
    "oom-kill": "Find the program that used the memory.",
    "machine-check": "Find the module or processor in the messages, and replace it.",
    "memory-uncorrected": "Find the module in the messages, and replace it.",
    "transmit-hang": "Update driver and firmware of the network card; check its slot.",
    "conntrack-full": "Raise net.netfilter.nf_conntrack_max, or exempt storage traffic.",
    "overheating": "Check fans, filters and the temperature of the room.",
    "cpu-throttled": "Check fans, filters and the temperature of the room.",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    log = next(iter(window.rows(KernelLog).values()), None)
    if log is None:
        return
    found = 0
    for rows in by_thing(window, Subject.NODE).values():
        for row in rows:
            if row.effect is not LogEffect.NOTICE or (row.minute or 0) >= limits["notices"]:
                found += 1
                yield _finding(window, row, limits)
    gap = gap_in(log)
    if not found and gap is None:
        yield RuledOut("kernel", f"0 hung tasks, lockups and memory kills {silence(log)}")
    elif not found and gap is not None:
        yield gap


def _finding(window: Window, row: KernelComplaint, limits: Limits) -> Finding:
    recent = is_recent(row, limits["recent"])
    severity = Severity.INFO
    if recent:
        severity = Severity.CRITICAL if row.kind in _CRITICAL else Severity.WARNING
    last = last_time(window, [row])
    amount = KINDS[row.kind].counted(row.count)
    return Finding(
        severity=severity,
        subject=row.kind,
        title=f"KERNEL LOG: {amount.upper()}" if len(amount) <= 26 else "KERNEL LOG: FAULTS",
        cause=fitting(
            f"The kernel logged {amount}{f', the last {last}' if last else ''}.", f"The kernel logged {amount}."
        ),
        impact=_IMPACTS.get(row.kind, "Corrected errors can precede uncorrected ones."),
        values=numbers([row]),
        evidence=cites(*quoted(window, [row])),
        advice=_advice(row),
        refuted_by="a kernel log without these messages",
        damage=Damage.DATA if row.kind in {"machine-check", "memory-uncorrected"} else Damage.AVAILABILITY,
        standing=severity is Severity.INFO,
    )


def _advice(row: KernelComplaint) -> tuple[Advice, ...]:
    look = run("journalctl", "-k").pipe("grep", "-iE", "hung|blocked for|lockup|out of memory|hardware error|BUG:")
    return (_ADVICE.get(row.kind, "Find the cause in the messages around these."), look.pipe("tail", "-40"))


KERNEL_FAULTS = Rule(
    "kernel-faults",
    "hung tasks, lockups, out-of-memory kills and hardware errors in the kernel's log",
    Severity.CRITICAL,
    _check,
    (KernelLog,),
    (RECENT, Threshold("notices", 20.0, "corrected errors in one minute that are too many")),
    covers=(),
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Find the device or server that the tasks in the kernel log wait for.",
)
