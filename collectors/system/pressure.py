"""Pressure stall information: time that tasks are stalled waiting for I/O, memory or processors."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.system.readings import PRESSURES, Pressure
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Denied, Host, TimedOut, Unreadable, again
from sdstop.core.model import Reading
from sdstop.core.text import decimal, whole


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
            refusal = refusal or again(error)
            continue
        if row is not None:
            rows.append(row)
    if rows:
        return rows
    if isinstance(refusal, Denied) or (isinstance(refusal, Absent) and not refusal.recorded):
        raise again(refusal)
    raise Absent(f"{PRESSURES}/io", "kernel without pressure stall information (boot with psi=1)")


PRESSURE = Collector(
    "pressure",
    "Pressure stall information",
    read_pressure,
    (Pressure,),
    (Need(f"{PRESSURES}/*", "time that tasks are stalled by a lack of I/O, memory or processors", filled=True),),
    LIVE,
)
