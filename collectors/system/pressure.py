"""Pressure stall information: time that tasks are stalled waiting for I/O, memory or processors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Denied, Host, TimedOut, Unreadable
from sdstop.core.model import Kind, Label, Metric, Reading, Source
from sdstop.core.text import decimal, whole

_COUNTER = Kind.COUNTER
PRESSURES = "/proc/pressure"
_SOME = "in which some task was stalled on the resource"
_FULL = "in which all non-idle tasks were stalled on the resource"


class Pressure(Reading, frozen=True):
    """Time that tasks are stalled waiting for a resource (PSI, kernel 4.20 and later).

    `some`: at least one task is stalled; `full`: all non-idle tasks are.
    """

    family: ClassVar[str] = "pressure"
    title: ClassVar[str] = "Pressure"
    rows_of = Source(f"{PRESSURES}/{{resource}}")
    fields_of: ClassVar = {
        f"{kind}_{span}": Source(f"{PRESSURES}/{{resource}}", f"{kind} ")
        for kind in ("some", "full")
        for span in ("avg10", "avg60", "avg300", "total")
    }

    resource: Annotated[str, Label("Resource", "io, memory, cpu or irq", plain=True)]
    some_avg10: Annotated[float | None, Metric("Some, 10 s", f"Share of time {_SOME} (PSI avg10)", "ratio")] = None
    some_avg60: Annotated[float | None, Metric("Some, 60 s", f"Share of time {_SOME} (PSI avg60)", "ratio")] = None
    some_avg300: Annotated[float | None, Metric("Some, 300 s", f"Share of time {_SOME} (PSI avg300)", "ratio")] = None
    some_total: Annotated[
        int | None,
        Metric(
            "Some",
            f"Seconds since boot {_SOME} (PSI total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_some_seconds_total",
        ),
    ] = None
    full_avg10: Annotated[float | None, Metric("Full, 10 s", f"Share of time {_FULL} (PSI avg10)", "ratio")] = None
    full_avg60: Annotated[float | None, Metric("Full, 60 s", f"Share of time {_FULL} (PSI avg60)", "ratio")] = None
    full_avg300: Annotated[float | None, Metric("Full, 300 s", f"Share of time {_FULL} (PSI avg300)", "ratio")] = None
    full_total: Annotated[
        int | None,
        Metric(
            "Full",
            f"Seconds since boot {_FULL} (PSI total)",
            "seconds",
            _COUNTER,
            1e-6,
            "sdstop_pressure_full_seconds_total",
        ),
    ] = None


def parse_pressure(resource: str, text: str) -> Pressure | None:
    """Return the row for one file of /proc/pressure (kernel/sched/psi.c), None if it has no values.

        some avg10=0.00 avg60=0.12 avg300=0.31 total=8421024
        full avg10=0.00 avg60=0.00 avg300=0.00 total=0

    The averages are percentages over the last 10, 60 and 300 s; the total is in microseconds since boot.
    """
    found: dict[str, float | int] = {}
    for line in text.splitlines():
        kind, _, pairs = line.partition(" ")
        if kind not in {"some", "full"}:
            continue
        for pair in pairs.split():
            name, _, word = pair.partition("=")
            value = decimal(word)
            if value is not None and name in {"avg10", "avg60", "avg300"}:
                found[f"{kind}_{name}"] = value / 100
            elif name == "total" and (total := whole(word)) is not None:
                found[f"{kind}_total"] = total
    return Pressure(resource, **found) if found else None  # type: ignore[arg-type]  # only total is named total


def read_pressure(host: Host) -> Iterable[Reading]:
    """Return a Pressure row for each resource that the kernel accounts for.

    Raises Absent if pressure accounting is missing (before kernel 4.20) or disabled (`psi=0`, the default of some
    distributions; opening the files then fails with "Operation not supported").
    """
    rows, refusal = [], None
    for resource in ("io", "memory", "cpu", "irq"):
        try:
            row = parse_pressure(resource, host.text(f"{PRESSURES}/{resource}"))
        except TimedOut:
            raise
        except Unreadable as error:
            refusal = refusal or error
            continue
        if row is not None:
            rows.append(row)
    if rows:
        return rows
    if isinstance(refusal, Denied) or (isinstance(refusal, Absent) and not refusal.recorded):
        raise refusal
    raise Absent(f"{PRESSURES}/io", "kernel without pressure stall information (boot with psi=1)")


PRESSURE = Collector(
    "pressure",
    "Pressure stall information",
    read_pressure,
    (Pressure,),
    (Need(f"{PRESSURES}/*", "time that tasks are stalled by a lack of I/O, memory or processors", filled=True),),
    LIVE,
)
