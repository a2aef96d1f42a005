"""SAS phys and their errors, ports, expanders and end devices, from sysfs and SMP responses of expanders.

For each counter of an expander's phy, the kernel queries the expander (SMP REPORT PHY ERROR LOG); if the expander
does not respond, the driver may reset the HBA. These counters are therefore read rarely, serially, only for phys with
an attached device, and never if SMP is turned off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sdstop.collectors.fabric import smp
from sdstop.collectors.fabric.expander import DISCOVER, ERRORS, GENERAL, SmpSession, changes, recorded, take_recorded
from sdstop.collectors.fabric.place import PciePath, enclosure_of, parse_place
from sdstop.collectors.fabric.port_readings import (
    DEVICES,
    EXPANDERS,
    PHY_COUNTERS,
    PHYS,
    PORTS,
    SasDevice,
    SasExpander,
    SasExpanderActivity,
    SasPhy,
    SasPhyActivity,
    SasPort,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.columns import Columns
from sdstop.core.expression import expression
from sdstop.core.host import Host, TimedOut, Unreadable
from sdstop.core.model import Derivation, Reading, Rows

PACE = 300.0
"""Seconds between samples; each sample queries every expander four times per phy."""

COUNTERS = tuple(PHY_COUNTERS)
_LINK = ("state", "rate", "port", "attached", "address")
"""Fields of a phy that change with its link."""

_RATE = expression(r"(\d{1,3}(?:\.\d{1,2})?) Gbit")
_NUMBERS = expression(r"(?:phy|port|end_device)-(\d+)(?::(\d+))?:(\d+)")


def rate(said: str | None) -> int | None:
    """Return the data rate in bytes per second of a `12.0 Gbit` link; None for any other text."""
    match = _RATE.fullmatch(said or "")
    return None if match is None else smp.data_rate(float(match[1]))


def owner(name: str) -> str:
    """Return the owner of a phy or port: `phy-1:0:52` -> `expander-1:0`, `phy-1:3` -> `host1`, else ""."""
    match = _NUMBERS.fullmatch(name)
    if match is None:
        return ""
    return f"host{match[1]}" if match[2] is None else f"expander-{match[1]}:{match[2]}"


def _place(host: Host, path: str) -> PciePath:
    try:
        return parse_place(host.link(path))
    except TimedOut:
        raise
    except Unreadable:
        return PciePath()


def _port_of(name: str, place: PciePath) -> str | None:
    """Return the port that leads to a device; an end device has the same number as its port."""
    if place.ports:
        return place.ports[-1]
    return name.replace("end_device-", "port-") if name.startswith("end_device-") else None


def _device(host: Host, name: str) -> SasDevice:
    base = f"{DEVICES}/{name}"
    place = _place(host, base)
    port = _port_of(name, place)
    expander = name.startswith("expander-")
    said = [host.maybe(f"{EXPANDERS}/{name}/{part}") for part in ("vendor_id", "product_id")] if expander else []
    above = owner(port) if port is not None else ""
    enclosure = host.maybe(f"{base}/enclosure_identifier") or None
    return SasDevice(
        device=name,
        kind=host.maybe(f"{base}/device_type") or None if expander else "end device",
        address=host.maybe(f"{base}/sas_address") or None,
        host=place.host or (f"host{number[0]}" if (number := re.findall(r"\d+", name)) else None),
        port=port,
        above=above or None,
        enclosure=enclosure_of(enclosure),
        # Without an enclosure the bay is a meaningless 0.
        bay=host.number(f"{base}/bay_identifier") if enclosure is None or enclosure_of(enclosure) else None,
        product=" ".join(word for word in said if word) or None,
    )


def _phy(host: Host, name: str, attached: Mapping[str, SasDevice], talk: SmpSession | None) -> SasPhy:
    """Return a phy from sysfs; `talk` queries its expander, None for an HBA's phy, which the driver counts itself."""
    base = f"{PHYS}/{name}"
    word = host.maybe(f"{base}/negotiated_linkrate") or None
    speed = rate(word)
    port = host.target(f"{base}/device/port")
    number = int(match[3]) if (match := _NUMBERS.fullmatch(name)) else None
    counters: dict[str, Any] = {}
    if word not in {None, "Unknown", "Phy disabled"}:  # as few as possible: each read queries the expander
        if talk is None:
            counters = {field: host.number(f"{base}/{file}") for field, file in PHY_COUNTERS.items()}
        else:
            counters = talk.counters(name, number)
    state = "up" if speed is not None else word
    if talk is not None and number in talk.vacant and speed is None:
        state = smp.VACANT
    end = attached.get(port) if port is not None else None
    return SasPhy(
        phy=name,
        owner=owner(name),
        number=number,
        port=port,
        attached=end.device if end is not None else None,
        address=end.address if end is not None else None,
        state=state,
        rate=speed,
        maximum_rate=rate(host.maybe(f"{base}/maximum_linkrate_hw")),
        **counters,
        told=talk.error_log_key(number) if talk is not None and number in talk.logs else None,
    )


def _told_phys(talk: SmpSession) -> Iterator[SasPhy]:
    """Yield the phys of an expander from recorded tool output, for captures without sysfs."""
    for number in sorted({*talk.found, *talk.logs, *talk.vacant}):
        found, log = talk.found.get(number), talk.logs.get(number)
        state = found.state if found is not None else smp.VACANT if number in talk.vacant else None
        yield SasPhy(
            phy=f"phy-{talk.name.removeprefix('expander-')}:{number}",
            owner=talk.name,
            number=number,
            port=None,
            attached=None,
            address=found.attached if found is not None else None,
            state=state,
            rate=found.rate if found is not None else None,
            maximum_rate=None,
            **{field: getattr(log, field) for field in COUNTERS} if log is not None else {},
            told=talk.error_log_key(number if log is not None or found is None else None),
        )


def read(host: Host, *, ask: bool = True) -> Iterable[Reading]:
    """Yield devices, ports, phys and expanders; nothing without SAS. No expander is queried unless `ask` is set."""
    attached = {}
    for name in host.names(DEVICES):
        device = _device(host, name)
        if device.port is not None:
            attached[device.port] = device
        yield device
    for name in host.names(PORTS):
        yield SasPort(name, host.number(f"{PORTS}/{name}/num_phys"))
    names: dict[str, list[str]] = {}
    for name in host.names(PHYS):
        names.setdefault(owner(name), []).append(name)
    commands = recorded(host)
    for whose in (*names, *(name for name in commands if name not in names)):
        talk = SmpSession(host, whose, PHYS, allowed=ask) if whose.startswith("expander") else None
        rows = [_phy(host, name, attached, talk) for name in names.get(whose, ())]
        if talk is not None and ask:
            take_recorded(host, talk, commands.get(whose, ()))
            rows = rows or list(_told_phys(talk))
            rows = [_vacated(row, talk) for row in rows]
        yield from rows
        if talk is not None:
            up = [row.state == smp.UP for row in rows if row.state is not None]
            yield talk.row(len(rows) or None, sum(up) if up else None)


def _vacated(row: SasPhy, talk: SmpSession) -> SasPhy:
    """Return a phy with counters or vacant state from a recorded log if sysfs has neither."""
    log = talk.logs.get(row.number) if row.number is not None else None
    if log is not None and all(getattr(row, name) is None for name in COUNTERS):
        more: Mapping[str, Any] = {field: getattr(log, field) for field in COUNTERS}
        return replace(row, **more, told=talk.error_log_key(row.number))
    if row.number in talk.vacant and row.rate is None and row.state in {None, "Unknown"}:
        return replace(row, state=smp.VACANT)
    return row


def activity(before: Columns, after: Columns, seconds: float) -> Columns:
    """Return the error rates of phys between two samples.

    Phys whose link changed have none, because bringing up a link causes errors, nor those of which a counter was reset.
    """
    links = [(before.column(name), after.column(name)) for name in _LINK]
    same = [
        (old, now)
        for now, old in enumerate(before.beside(after) if seconds > 0 else ())
        if old is not None and all(was[old] == found[now] for was, found in links)
    ]
    counters = [(before.column(name), after.column(name)) for name in COUNTERS]
    steps = [[_step(was[old], found[now]) for was, found in counters] for old, now in same]
    grown = [
        (now, some)
        for (_, now), some in zip(same, steps, strict=True)
        if any(step is not None for step in some) and all(step is None or step >= 0 for step in some)
    ]
    phys = after.column("phy")
    values: dict[str, Sequence[Any]] = {"phy": [phys[now] for now, _ in grown], "seconds": [seconds] * len(grown)}
    for at, name in enumerate(COUNTERS):
        values[f"{name}_per_second"] = [None if (step := some[at]) is None else step / seconds for _, some in grown]
    return Columns(SasPhyActivity, values, derived=True)


def _step(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _lacking(tables: Mapping[type[Reading], Rows]) -> str:
    """Return a text that lists the expanders without error counters."""
    rows = [row for row in tables.get(SasExpander, {}).values() if isinstance(row, SasExpander)]
    said = [f"{row.expander}: {row.state}, {row.reason}" for row in rows if row.state not in {None, "answers"}]
    return "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")


SAS = Collector(
    "sas",
    "SAS phys, ports, expanders and end devices",
    read,
    (SasPhy, SasPort, SasDevice, SasExpander),
    (
        Need(f"list:{PHYS}", "which phys there are"),
        Need(
            f"{PHYS}/*/*",
            "link rates and error counters; of an expander's phys the driver asks the expander",
            filled=(
                *PHY_COUNTERS.values(),
                "negotiated_linkrate",
                "maximum_linkrate_hw",
                "phy_identifier",
                "sas_address",
            ),
        ),
        Need(f"link:{PHYS}/*/device/port", "port of a phy"),
        Need(f"list:{PORTS}", "which ports there are"),
        Need(f"{PORTS}/*/num_phys", "number of phys of a port", filled=True),
        Need(f"list:{DEVICES}", "which expanders and end devices there are"),
        Need(f"{DEVICES}/*/*", "kind, address, enclosure and bay"),
        Need(f"link:{DEVICES}/*", "port that leads to a device"),
        Need(f"{EXPANDERS}/*/*", "vendor and product of expanders"),
        Command(GENERAL, "an expander's change count; with --no-smp never", "root"),
        Command(DISCOVER, "devices attached to the phys of an expander; never with --no-smp", "root"),
        Command(ERRORS, "a phy's errors, where sysfs does not count; with --no-smp never", "root"),
        Need("cmd:smp_discover*", "devices attached to the phys of an expander, from captures only"),
        Need("cmd:smp_rep_phy_err_log*", "error counters of a phy, from captures only"),
        Need("cmd:smp_rep_general*", "number of phys and change count of an expander, from captures only"),
    ),
    PACE,
    deadline=60.0,
    # No fingerprint: while an enclosure powers up, its devices change every second; each change would query every phy.
    derives=(
        Derivation(SasPhy, SasPhyActivity, activity),
        Derivation(SasExpander, SasExpanderActivity, changes),
    ),
    lacks=_lacking,
    forms=(smp.ERRORS_FORM, smp.DISCOVER_FORM, smp.GENERAL_FORM),
)


OFTEN = 20.0
"""Seconds between samples in a one-minute link test; three samples show when errors occur."""


def with_repeated_smp() -> Collector:
    """Return the collector for a short link test, which may query expanders repeatedly."""
    return replace(SAS, pace=OFTEN)


def _read_unasked(host: Host) -> Iterable[Reading]:
    return read(host, ask=False)


def without_smp() -> Collector:
    """Return the collector without the commands that query expanders, for use with SMP turned off."""
    needs = tuple(need for need in SAS.needs if not isinstance(need, Command))
    return replace(SAS, read=_read_unasked, needs=needs)
