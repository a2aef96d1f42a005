"""Memory errors: recurring corrected errors, and any uncorrected ones."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.fabric.ecc import module_of
from sdstop.collectors.memory.readings import (
    Dimm,
    MemoryController,
    MemoryControllerActivity,
    MemoryErrorActivity,
    MemoryErrors,
)
from sdstop.collectors.system.readings import Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_ID = "memory-errors"
_HOUR, _DAY = 3600.0, 86400.0


class _Count(Struct, frozen=True):
    """Errors of one place: totals, seconds of counting, and the new errors between two samples."""

    row: MemoryErrors | MemoryController
    subject: str
    what: str
    corrected: int
    uncorrected: int
    counted_for: float | None
    new: MemoryErrorActivity | None

    @property
    def daily(self) -> float | None:
        """Corrected errors per day, averaged since the count began."""
        return self.corrected / self.counted_for * _DAY if self.counted_for else None


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each run once: nothing changes between runs, and modules are many."""
    slots = window.now.run_of(Dimm)
    key = (_ID, None if slots is None else slots.started, *limits.values())
    yield from window.of_run(MemoryController, key, lambda: list(_said(window, limits)))
    for node in window.rows(Node).values():
        if node.memory_poisoned:
            yield _poisoned(window, node, node.memory_poisoned)


def _poisoned(window: Window, node: Node, size: int) -> Finding:
    """Return the finding of pages that the kernel took out of use (mm/memory-failure.c), with EDAC or without it."""
    return Finding(
        severity=Severity.WARNING,
        subject="memory",
        title=f"MEMORY POISONED: {human.quantity(size, 'bytes')}",
        cause=f"{human.quantity(size, 'bytes')} taken out of use since boot after uncorrectable errors.",
        impact="Programs with data there were ended; the module can fail again.",
        values=(Value("poisoned", "memory out of use", size, "bytes", above=0),),
        evidence=cites(window.cite(node, "memory_poisoned")),
        advice=(
            "Find the module in the log of the management controller; replace it.",
            run("ipmitool", "sel", "elist"),
            run("journalctl", "-k").pipe("grep", "-i", "-E", "mce|memory failure|poison"),
        ),
        refuted_by="HardwareCorrupted: 0 kB in /proc/meminfo",
        harmless_if="errors were injected for a test",
        totals=True,
    )


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    controllers = window.rows(MemoryController)
    places = window.rows(MemoryErrors).values()
    for controller in sorted(controllers.values(), key=lambda row: row.controller):
        own = [row for row in places if row.controller == controller.controller]
        counts = [*_placed(window, controller, own), *_unplaced(window, controller, own)]
        if not counts:
            yield Unchecked("EDAC driver reports no counters", controller.controller)
        bad = [count for count in counts if count.corrected or count.uncorrected]
        for count in bad:
            yield _finding(window, count, limits)
        if counts and not bad:
            for_ = f" in {human.duration(controller.counted_for)}" if controller.counted_for else ""
            yield RuledOut(controller.controller, f"no errors of {len(own) or 1} modules or ranks{for_}")


def _placed(window: Window, controller: MemoryController, rows: list[MemoryErrors]) -> Iterator[_Count]:
    for row in rows:
        if row.corrected is None and row.uncorrected is None:
            continue
        module = module_of(window, row)
        name = human.safe(row.label or row.location or row.place)
        what = name
        if module is not None:
            what = f"{human.safe(module.slot)} ({human.safe(module.part or 'part unknown')})"
        yield _Count(
            row, row.place, what, row.corrected or 0, row.uncorrected or 0, controller.counted_for,
            window.get(MemoryErrorActivity, row.place),
        )  # fmt: skip


def _unplaced(window: Window, controller: MemoryController, rows: list[MemoryErrors]) -> Iterator[_Count]:
    """Yield errors that the controller counted but no place did."""
    if controller.corrected is None and controller.uncorrected is None:
        return
    corrected = max((controller.corrected or 0) - sum(row.corrected or 0 for row in rows), controller.unplaced or 0)
    uncorrected = max(
        (controller.uncorrected or 0) - sum(row.uncorrected or 0 for row in rows), controller.uncorrected_unplaced or 0
    )
    new = window.get(MemoryControllerActivity, controller.controller)
    if rows and new is not None:
        placed = [window.get(MemoryErrorActivity, row.place) for row in rows]
        known = [row for row in placed if row is not None]
        new = MemoryControllerActivity(
            new.place,
            new.seconds,
            max(0, new.corrected - sum(row.corrected for row in known)),
            max(0, new.uncorrected - sum(row.uncorrected for row in known)),
        )
    unknown = "module not identified by the hardware"
    yield _Count(
        controller, controller.controller, unknown,
        max(0, corrected), max(0, uncorrected), controller.counted_for, new,
    )  # fmt: skip


def _severity(count: _Count, limits: Limits) -> Severity:
    """Return the severity: uncorrected errors, a storm of errors, recurring errors, or old ones."""
    new, seconds = (count.new.corrected, count.new.seconds) if count.new is not None else (0, 0.0)
    if count.uncorrected:
        return Severity.CRITICAL
    if new >= limits["storm"] and new / seconds * _HOUR >= limits["critical_per_hour"]:
        return Severity.CRITICAL
    if new >= limits["count"]:
        return Severity.WARNING
    if count.counted_for is None and count.corrected >= limits["total"]:
        return Severity.WARNING
    often = count.daily is not None and count.daily >= limits["per_day"] and count.corrected >= limits["count"]
    # If the average rate predicts errors that did not occur, the counted ones are old.
    over = not new and (count.daily or 0.0) / _DAY * seconds >= limits["expected"]
    return Severity.WARNING if often and not over else Severity.INFO


def _finding(window: Window, count: _Count, limits: Limits) -> Finding:
    severity = _severity(count, limits)
    since = f" in {human.duration(count.counted_for)}" if count.counted_for else ""
    new = count.new
    number = f"{human.number(count.corrected, 0)} corrected"
    if count.uncorrected:
        number = f"{human.number(count.uncorrected, 0)} uncorrected" + (f" and {number}" if count.corrected else "")
    daily = f" ({human.number(count.daily, 1)} per day)" if count.daily is not None and count.corrected else ""
    counted = f"{number} errors{since}{daily}."
    impact = "Single corrected errors are normal."
    if count.uncorrected:
        impact = "Uncorrected errors can corrupt data or crash the node."
    elif severity is not Severity.INFO:
        impact = "Recurring corrected errors can precede uncorrected ones."
    return Finding(
        severity=severity,
        subject=count.subject,
        title=f"MEMORY ERRORS: {number.partition(' and')[0]}",
        cause=fitting(f"{count.what}: {counted}", counted),
        impact=impact,
        values=(
            Value("module", "module", count.what),
            Value("uncorrected", "uncorrected errors", count.uncorrected, "", above=0),
            Value("corrected", "corrected errors", count.corrected, "", above=limits["count"]),
            Value("daily", "corrected errors per day", count.daily, "", above=limits["per_day"]),
            Value("new", "corrected since the previous sample", new.corrected if new else None),
            *((Value("sampled", "time between the samples", new.seconds, "seconds"),) if new is not None else ()),
        ),
        evidence=cites(
            window.cite(count.row, "uncorrected") if count.uncorrected else None,
            window.cite(count.row, "corrected"),
            window.cite(count.row, "label") if isinstance(count.row, MemoryErrors) and count.row.label else None,
        ),
        advice=_advice(severity),
        refuted_by="counters reset since (driver reload, reset_counters) that stay at 0",
        harmless_if="the counted module was replaced since",
        damage=Damage.DATA if count.uncorrected else None,
        totals=severity is Severity.WARNING and new is None,
    )


def _advice(severity: Severity) -> tuple[Advice, ...]:
    look = (
        run("ras-mc-ctl", "--errors", note="time and address of each error"),
        run("journalctl", "-k").pipe("grep", "-iE", "edac|mce|hardware error"),
    )
    if severity is Severity.INFO:
        return ("Check the count again in a day.", *look)
    return (
        "Replace the module.",
        "To distinguish module from slot, move it first: errors that stay mean the slot.",
        *look,
    )


MEMORY_ERRORS = Rule(
    _ID,
    "memory with uncorrected or recurring corrected errors, or out of use after errors",
    Severity.CRITICAL,
    _check,
    (MemoryController, MemoryErrors),
    (
        Threshold("count", 10.0, "minimum corrected errors in total"),
        Threshold("total", 1000.0, "corrected errors that are too many where their time is unknown"),
        Threshold("per_day", 10.0, "corrected errors per day (mcelog default per DIMM)"),
        Threshold("expected", 3.0, "expected errors that failed to occur before old errors are dismissed"),
        Threshold("storm", 100.0, "minimum corrected errors between two samples that are critical"),
        Threshold("critical_per_hour", 1000.0, "corrected errors per hour that are critical"),
    ),
    instead=(Node,),
    many="have memory errors",
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Replace the module; errors that stay afterwards mean the slot.",
)
