"""A failed power supply, fan, drive or module, or a temperature, as management controller or enclosure report it.

Sensors show the present. Entries of the log are the past: an event that was asserted and never deasserted holds if it
is recent, by the newest time that is known; older ones are information, because many controllers log no end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sdstop.collectors.platform.readings import HardwareEvent, HardwareSensor
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import (
    Damage,
    Finding,
    Gap,
    RuledOut,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_WARNING, _CRITICAL, _INFO = Severity.WARNING, Severity.CRITICAL, Severity.INFO
_STATES = {
    "failure detected": _WARNING, "predictive failure": _WARNING, "power supply ac lost": _WARNING,
    "ac lost or out-of-range": _WARNING, "ac out-of-range, but present": _WARNING, "config error": _WARNING,
    "ac lost": _WARNING, "redundancy lost": _WARNING, "redundancy degraded": _WARNING,
    "non-redundant: sufficient from redundant": _WARNING, "non-redundant: sufficient from insufficient": _WARNING,
    "non-redundant: insufficient resources": _CRITICAL, "uncorrectable ecc": _CRITICAL, "parity": _CRITICAL,
    "memory scrub failed": _WARNING, "memory device disabled": _WARNING,
    "correctable ecc logging limit reached": _WARNING, "correctable ecc": _INFO, "configuration error": _WARNING,
    "critical overtemperature": _CRITICAL, "drive fault": _CRITICAL, "in critical array": _WARNING,
    "in failed array": _CRITICAL, "rebuild aborted": _WARNING, "thermal trip": _CRITICAL, "ierr": _CRITICAL,
    "uncorrectable machine check exception": _CRITICAL, "predictive failure asserted": _WARNING,
    "transition to degraded": _WARNING, "transition to critical from less severe": _WARNING,
    "transition to non-recoverable from less severe": _CRITICAL, "transition to non-recoverable": _CRITICAL,
    "lower critical going low": _WARNING, "upper critical going high": _WARNING,
    "lower non-recoverable going low": _CRITICAL, "upper non-recoverable going high": _CRITICAL,
    "upper non-critical going high": _INFO, "lower non-critical going low": _INFO,
    # flags of SES elements
    "fail": _WARNING, "ac fail": _WARNING, "dc fail": _WARNING, "overtmp fail": _WARNING, "ot failure": _CRITICAL,
    "ut failure": _WARNING, "ot warning": _WARNING, "ut warning": _WARNING, "temperature warn": _WARNING,
    "dc overvoltage": _WARNING, "dc undervoltage": _WARNING, "dc overcurrent": _WARNING, "fault sensed": _CRITICAL,
    "predicted failure": _WARNING, "crit over": _WARNING, "crit under": _WARNING,
}  # fmt: skip
"""States and events that are faults: ipmitool include/ipmitool/ipmi_sel.h, sg3_utils src/sg_ses.c."""
_GOOD = frozenset({
    "presence detected", "fully redundant", "drive present", "device present", "device enabled", "transition to ok",
    "state deasserted", "limit not exceeded", "predictive failure deasserted", "performance met", "hot spare",
    "transition to running", "d0 power state", "s0/g0: working", "slot / connector device installed",
    "timestamp clock sync", "log area reset/cleared", "power off/down", "power cycle", "power supply inactive", "spare",
    "rebuild in progress", "parity check in progress", "oem system boot event", "initiated by power up",
    "initiated by hard reset", "initiated by warm reset", "c: boot completed",
})  # fmt: skip
_STATUS = {"critical": _WARNING, "non-recoverable": _CRITICAL, "non-critical": _INFO}
_MOMENTARY = ("ecc", "parity", "machine check", "ierr", "thermal trip", "rebuild aborted")
"""Parts of events that happen once and have no end."""


class _Fault(NamedTuple):
    severity: Severity
    said: str


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    sensors = list(window.rows(HardwareSensor).values())
    good, bare, silent = list[str](), list[str](), list[str]()
    for row in sensors:
        faults = _faults(row)
        if faults:
            yield _present(window, row, faults)
        elif row.status is None:
            bare.append(row.name)
        elif row.status == "not readable" or row.states == "":
            silent.append(row.name)
        elif row.status != "ok":
            yield Unchecked(f'unknown status "{human.safe(row.status, 20)}"', row.name, gap=Gap.FAULTY)
        elif others := [each for each in _words(row) if each not in _GOOD]:
            yield Unchecked(f'meaning of "{human.safe(others[0], 30)}" unknown', row.name, calm=True)
        else:
            good.append(row.name)
    yield from passed(good, "ok")
    yield from unchecked(bare, "discrete state not shown; ipmitool sdr elist has it")
    yield from unchecked(silent, "not readable or not fitted", calm=True)
    shown = {row.sensor: row for row in sensors if row.status is not None and row.status != "not readable"}
    events: dict[str, list[HardwareEvent]] = {}
    for event in window.rows(HardwareEvent).values():
        events.setdefault(event.sensor, []).append(event)
    for sensor, rows in events.items():
        now = next((row for name, row in shown.items() if sensor.endswith(f" {name}")), None)
        yield _logged(window, sensor, rows, now, limits["recent"])


def _words(row: HardwareSensor) -> list[str]:
    return [word.strip().lower() for word in (row.states or "").split(",") if word.strip()]


def _faults(row: HardwareSensor) -> list[_Fault]:
    """Return the faults of a sensor, the worst first."""
    found = [_Fault(_STATES[word], word) for word in _words(row) if word in _STATES]
    joined = (row.states or "").lower()
    found += [_Fault(level, text) for text, level in _STATES.items() if ", " in text and text in joined]
    if row.status in _STATUS:
        found.append(_Fault(_STATUS[row.status], row.status))
    return sorted(found, key=lambda fault: (-fault.severity.rank, fault.said == row.status))


def _present(window: Window, row: HardwareSensor, faults: Sequence[_Fault]) -> Finding:
    worst = faults[0]
    said = ", ".join(dict.fromkeys(fault.said for fault in faults))
    reading = f", {human.safe(row.reading, 20)}" if row.reading else ""
    noun = row.kind or "sensor"
    return Finding(
        severity=max((fault.severity for fault in faults), key=lambda each: each.rank),
        subject=row.name,
        title=_title(worst.said, noun),
        cause=fitting(f"The {noun} reports {said}{reading}.", f"The {noun} reports {worst.said}."),
        impact=_impact(noun),
        values=(
            Value("status", "status", row.status),
            Value("states", "states that hold", row.states or None),
            Value("reading", "reading", row.reading),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Replace the part, or restore its supply or cooling.",
            run("ipmitool", "sel", "elist", note="when it began")
            if row.place == "node"
            else run("sg_ses", "--join", row.place, note="all elements of the enclosure"),
        ),
        refuted_by="the status ok of the sensor",
        harmless_if="no part is fitted there" if row.kind == "fan" else "",
    )


def _title(said: str, noun: str) -> str:
    full = said if noun == "sensor" or said.startswith(noun) else f"{noun} {said}"
    return (full if len(full) <= 40 else said).upper()[:40]


def _impact(noun: str) -> str:
    return {
        "power supply": "The node or enclosure can lose power with the next failure.",
        "fan": "Parts behind the fan can overheat.",
        "temperature": "Parts can slow down, fail or switch off.",
        "memory": "The node can crash, or lose data.",
        "drive": "The drive can be lost to its array.",
    }.get(noun, "The part can fail.")


def _logged(
    window: Window, sensor: str, rows: Sequence[HardwareEvent], now: HardwareSensor | None, recent: float
) -> Verdict:
    """Judge the events of one sensor in the log; a sensor that is readable now decides instead."""
    bad = [(row, level) for row in rows if row.asserted and (level := _level(row)) is not None]
    if not bad:
        others = [row.event for row in rows if row.asserted and row.event.strip().lower() not in _GOOD]
        if others:
            return Unchecked(f'meaning of "{human.safe(others[0], 40)}" in the log unknown', sensor, calm=True)
        ended = [row for row in rows if not row.asserted and _level(row) is not None]
        said = f"{ended[0].event.strip().lower()} was deasserted" if ended else "no entry of a fault"
        return RuledOut(sensor, f"{said}; {human.plural(len(rows), 'kind')} of events")
    if now is not None and not any(part in row.event.lower() for row, _ in bad for part in _MOMENTARY):
        return RuledOut(sensor, "history: the sensor is readable and is judged by itself")
    row, level = max(bad, key=lambda pair: (pair[1].rank, pair[0].at or 0.0))
    end = max((at for at in (row.newest, window.now.taken) if at is not None), default=None)
    age = max(end - row.at, 0.0) if end is not None and row.at is not None else None
    old = age is not None and age > recent
    name = row.event.strip().lower()
    since = f" at {human.safe(row.last, 24)}" if row.last else ""
    once = any(part in name for part in _MOMENTARY)
    entries = "1 entry" if row.count == 1 else f"{row.count} entries"
    tail = "" if once else ", and never deasserted"
    return Finding(
        severity=_INFO if old else level,
        subject=sensor,
        title=f"{'LOGGED: ' if old else ''}{name.upper()}"[:40],
        cause=fitting(f"Logged{since}{tail}; {entries}.", f"Logged{since}."),
        impact="The log shows the past; the sensor shows whether it still holds.",
        values=(
            Value("entries", "entries", row.count),
            Value("age", "age at the end of the log", age, "seconds", above=recent if old else None),
            Value("detail", "details", row.detail),
            Value(
                "others",
                "other events asserted",
                ", ".join(each.event.strip() for each, _ in bad if each != row) or None,
            ),
        ),
        evidence=cites(*(window.cite(each) for each, _ in bad[:3])),
        advice=(
            "Read the sensor, and replace the part if it still reports it.",
            run("ipmitool", "sdr", "elist"),
            run("ipmitool", "sel", "elist", note="the log, with names of sensors"),
        ),
        refuted_by="the sensor without this state in ipmitool sdr elist",
        harmless_if="the part was replaced since" if not once else "",
        standing=old,
    )


def _level(row: HardwareEvent) -> Severity | None:
    name = row.event.strip().lower()
    return next((level for text, level in _STATES.items() if name == text or name.startswith(f"{text}:")), None)


HARDWARE_FAULT = Rule(
    "hardware-fault",
    "power supply, fan, drive, memory or temperature that a controller or an enclosure reports",
    Severity.CRITICAL,
    _check,
    (HardwareSensor,),
    (Threshold("recent", 30 * 86_400.0, "age of an entry of the log above which it is information", "seconds"),),
    instead=(HardwareEvent,),
    covers=(),
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Replace the part, or restore its supply or cooling.",
)
