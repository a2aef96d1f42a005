"""Errors of PCIe links that grow, or that made a link unusable."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.counter_growth import counter_growth
from sdstop.collectors.fabric.readings import NETWORK, PcieFunction
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_HOUR = 3600.0
_KINDS = ("fatal", "uncorrected", "corrected")
"""Counters of a function, the worst first."""
_TOO_MANY = 1_000_000
"""Corrected errors since boot that are too many whenever they occurred."""
_EFFECTS = {
    "fatal": "The link was reset; requests under way failed or were repeated.",
    "uncorrected": "Transactions were lost; their requests failed or were repeated.",
    "corrected": "The hardware repeats damaged packets; more of them can end the link.",
}


class _Errors(Struct, frozen=True):
    """Errors of one kind: since boot, and new ones over `seconds`; None with one sample."""

    kind: str
    total: int
    new: int | None
    seconds: float


def _is_counted(row: PcieFunction) -> bool:
    return any(getattr(row, kind) is not None for kind in _KINDS)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each sample once: nothing changes between two, and functions are many."""
    rows = window.rows(PcieFunction).values()
    key = ("pcie-errors", *limits.values())
    yield from window.of_run(
        PcieFunction, key, lambda: [_judged(window, row, limits) for row in rows if _is_counted(row)]
    )


def _judged(window: Window, row: PcieFunction, limits: Limits) -> Verdict:
    known = [_errors(window, row, kind) for kind in _KINDS if getattr(row, kind) is not None]
    bad = next((each for each in known if _is_bad(each, limits)), None)
    if bad is not None:
        return _finding(window, row, bad, limits)
    total = ", ".join(f"{each.total} {each.kind}" for each in known if each.total)
    if not total:
        return RuledOut(row.function, "0 PCIe errors since boot")
    lost = next((each for each in known if each.total and each.kind != "corrected"), None)
    if lost is not None:
        return _finding(window, row, lost, limits)
    if any(each.new is None for each in known):
        said = f"{total} PCIe errors since boot; growth needs two samples"
        return Unchecked(said, row.function, calm=True, gap=Gap.EARLY)
    new = sum(each.new or 0 for each in known)
    seconds = max(each.seconds for each in known)
    return RuledOut(row.function, f"{total} PCIe errors since boot, {new} new in {human.duration(seconds)}")


def _errors(window: Window, row: PcieFunction, kind: str) -> _Errors:
    grown = counter_growth(window, PcieFunction, row.function, (kind,), _HOUR)
    new, seconds = (None, 0.0) if grown is None else (grown.new, grown.seconds)
    return _Errors(kind, getattr(row, kind), new, seconds)


def _is_bad(errors: _Errors, limits: Limits) -> bool:
    if errors.kind != "corrected":
        return bool(errors.new)
    if errors.total >= _TOO_MANY:
        return True
    return (errors.new or 0) * _HOUR / max(_HOUR, errors.seconds) >= limits["corrected"]


def _finding(window: Window, row: PcieFunction, errors: _Errors, limits: Limits) -> Finding:
    new = errors.new or 0
    told = f"{human.number(new, 0)} {errors.kind} PCIe errors in {human.duration(errors.seconds)}"
    old = f"{human.number(errors.total, 0)} {errors.kind} PCIe errors since boot"
    severity = Severity.CRITICAL if errors.kind == "fatal" else Severity.WARNING
    if not new and errors.kind != "corrected":
        severity = Severity.INFO
    least = limits["corrected"] if errors.kind == "corrected" else 1.0
    return Finding(
        severity=severity,
        subject=row.function,
        title=f"PCIE ERRORS: {human.number(new or errors.total, 0)} {errors.kind}{'' if new else ' since boot'}",
        cause=f"{told if new else old}.",
        impact=_EFFECTS[errors.kind],
        values=(
            Value("new", f"new {errors.kind} errors", errors.new, "", above=least - 1 if new else None),
            Value("total", f"{errors.kind} errors since boot", errors.total),
            Value("kind", "kind", row.interfaces if row.kind == NETWORK else row.kind),
        ),
        evidence=cites(window.cite(row, errors.kind)),
        advice=(
            "Reseat the card, then try another slot; check riser and cable.",
            run("lspci", "-vv", "-s", row.function, note="link and errors of the function"),
            run("journalctl", "-k").pipe("grep", "-E", "AER|PCIe Bus Error|DPC"),
        ),
        refuted_by="counters that stay the same under load",
        damage=Damage.AVAILABILITY,
        standing=severity is Severity.INFO,
        totals=not new,
    )


PCIE_ERRORS = Rule(
    "pcie-errors",
    "errors of the PCIe links of storage and network that grow",
    Severity.CRITICAL,
    _check,
    (PcieFunction,),
    (Threshold("corrected", 20.0, "new corrected errors of a function within an hour"),),
    covers=(Covers(PcieFunction, where=_is_counted),),
    explains=("device-hung", "slow-device", "slow-stripe-member", "disk-offline", "kernel-io-errors", "frames-dropped"),
    many="have PCIe errors",
    damage=Damage.AVAILABILITY,
    view="fabric",
    advice="Reseat the card, then try another slot; check riser and cable.",
)
