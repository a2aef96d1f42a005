"""Memory errors: recurring corrected errors, and any uncorrected ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.analysis.ecc import module_of
from sdstop.collectors.memory.dimms import Dimm
from sdstop.collectors.memory.edac import (
    MemoryController,
    MemoryControllerActivity,
    MemoryErrorActivity,
    MemoryErrors,
)
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import phrase, quoted

_ID = "memory-errors"
_HOUR, _DAY = 3600.0, 86400.0


class _Count(Struct, frozen=True):
    """Errors of one place: totals, seconds of counting, and the new errors between two readings.

    `pasted` is `what` in a form that is safe in a command line.
    """

    row: MemoryErrors | MemoryController
    subject: str
    what: str
    pasted: str
    corrected: int
    uncorrected: int
    counted_for: float | None
    new: MemoryErrorActivity | None

    @property
    def daily(self) -> float | None:
        """Corrected errors per day, averaged since the count began."""
        return self.corrected / self.counted_for * _DAY if self.counted_for else None


def _check(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Judge each run once: nothing changes between runs, and modules are many."""
    slots = window.now.run_of(Dimm)
    key = (_ID, None if slots is None else slots.started, *limits.values())
    return window.of_run(MemoryController, key, lambda: list(_said(window, limits)))


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    controllers = window.rows(MemoryController)
    places = window.rows(MemoryErrors).values()
    for controller in sorted(controllers.values(), key=lambda row: row.controller):
        own = [row for row in places if row.controller == controller.controller]
        counts = [*_placed(window, controller, own), *_unplaced(window, controller, own)]
        if not counts:
            yield Unchecked("its driver does not say how many errors there were", controller.controller)
        bad = [count for count in counts if count.corrected or count.uncorrected]
        for count in bad:
            yield _finding(window, count, limits)
        if counts and not bad:
            for_ = f" in {human.duration(controller.counted_for)}" if controller.counted_for else ""
            yield RuledOut(controller.controller, f"0 errors of its {len(own) or 1} modules or ranks{for_}")


def _placed(window: Window, controller: MemoryController, rows: list[MemoryErrors]) -> Iterator[_Count]:
    for row in rows:
        if row.corrected is None and row.uncorrected is None:
            continue
        module = module_of(window, row)
        name = human.safe(row.label or row.location or row.place)
        what, pasted = name, phrase(name)
        if module is not None:
            slot, part = human.safe(module.slot), human.safe(module.part or "part unknown")
            what, pasted = f"{slot} ({part})", f"{phrase(slot)} ({phrase(part)})"
        yield _Count(
            row, row.place, what, pasted, row.corrected or 0, row.uncorrected or 0, controller.counted_for,
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
    unknown = "memory of which the hardware does not say the module"
    yield _Count(
        controller, controller.controller, unknown, unknown,
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
    often = count.daily is not None and count.daily >= limits["per_day"] and count.corrected >= limits["count"]
    # If the average rate predicts errors that did not occur, the counted ones are old.
    over = not new and (count.daily or 0.0) / _DAY * seconds >= limits["expected"]
    return Severity.WARNING if often and not over else Severity.INFO


def _finding(window: Window, count: _Count, limits: Limits) -> Finding:
    severity = _severity(count, limits)
    parts = [
        f"{human.number(count.uncorrected, 0)} errors that could not be corrected" if count.uncorrected else "",
        f"{human.number(count.corrected, 0)} corrected" if count.corrected else "",
    ]
    since = f" in {human.duration(count.counted_for)}" if count.counted_for else ""
    new = count.new
    grown = ""
    if new is not None:
        most = human.number(new.corrected + new.uncorrected, 0)
        grown = f", {most} of them in the last {human.duration(new.seconds)}"
    daily = f" ({human.number(count.daily, 1)} a day)" if count.daily is not None and count.corrected else ""
    return Finding(
        severity=severity,
        subject=count.subject,
        cause=f"{count.what}: {' and '.join(filter(None, parts))}{since}{daily}{grown}",
        values=(
            Value("uncorrected", "errors that could not be corrected", count.uncorrected, "", above=1),
            Value("corrected", "corrected errors", count.corrected, "", above=limits["count"]),
            Value("daily", "corrected errors a day, since the count began", count.daily, "", above=limits["per_day"]),
            Value("new", "corrected errors since the reading before", new.corrected if new else None),
        ),
        evidence=cites(
            window.cite(count.row, "uncorrected") if count.uncorrected else None,
            window.cite(count.row, "corrected"),
            window.cite(count.row, "label") if isinstance(count.row, MemoryErrors) and count.row.label else None,
        ),
        advice=_advice(count, severity),
        refuted_by=(
            "a count that belongs to a module that was replaced since: it begins anew with the driver, or by writing "
            "to "
            "reset_counters"
        ),
        totals=severity is Severity.WARNING and new is None,
    )


def _advice(count: _Count, severity: Severity) -> tuple[str, ...]:
    look = "ras-mc-ctl --errors; journalctl -k | grep -iE 'edac|mce|hardware error'   # when, and of which address"
    if severity is Severity.INFO:
        return (look, f"look at {quoted(count.subject)} again in a day: single corrected errors are usual")
    return (
        f"replace the module, or move it first: {count.pasted}. If the errors stay in the slot, clean the slot",
        look,
    )


MEMORY_ERRORS = Rule(
    _ID,
    "memory modules err: corrected errors that keep coming, or any that could not be corrected",
    Severity.CRITICAL,
    _check,
    (MemoryController, MemoryErrors),
    (
        Threshold("count", 10.0, "corrected errors, and"),
        Threshold("per_day", 10.0, "so many of them a day since the count began (mcelog's default for a module)"),
        Threshold("expected", 3.0, "errors that should have come by that average and did not: then they are old"),
        Threshold("storm", 100.0, "corrected errors between two readings, and"),
        Threshold("critical_per_hour", 1000.0, "so many of them an hour, that are critical"),
    ),
    many="have memory errors",
)
