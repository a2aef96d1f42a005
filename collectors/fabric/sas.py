"""SAS phys and their errors, ports, expanders and end devices, from sysfs and SMP responses of expanders.

For each counter of an expander's phy, the kernel queries the expander (SMP REPORT PHY ERROR LOG); if the expander
does not respond, the driver may reset the HBA. These counters are therefore read rarely, serially, only for phys with
an attached device, and never if SMP is turned off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from sdstop.collectors.fabric import smp
from sdstop.collectors.fabric.smp import NEEDLES
from sdstop.collectors.fabric.expander import PHY_COUNTERS
from sdstop.collectors.fabric.expander import (
    DISCOVER,
    ERRORS,
    GENERAL,
    SasExpander,
    SasExpanderActivity,
    SmpSession,
    changes,
    recorded,
    take_recorded,
)
from sdstop.collectors.fabric.place import PciePath, enclosure_of, parse_place
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host, TimedOut, Unreadable
from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Rows, Source, State, files

PHYS = "/sys/class/sas_phy"
PORTS = "/sys/class/sas_port"
DEVICES = "/sys/class/sas_device"
EXPANDERS = "/sys/class/sas_expander"
PACE = 300.0
"""Seconds between samples; each sample queries every expander four times per phy."""

COUNTERS = tuple(PHY_COUNTERS)


class SasPhy(Reading, frozen=True):
    """A phy of an HBA or an expander (kernel drivers/scsi/scsi_transport_sas.c).

    Counters stop at 2^32-1 and restart with the expander or when cleared; None for phys without an attached device,
    which are not queried. Speeds are data rates, without line coding.
    """

    family: ClassVar[str] = "sas_phy"
    title: ClassVar[str] = "SAS phys"
    things: ClassVar = {
        "phy": Identity(ThingKind.PHY, Naming.SCSI),
        "owner": Identity(None, Naming.SCSI),
        "attached": Identity(None, Naming.SCSI),
    }
    joins = (
        Join("attached", "phy", Relation.ATTACHED),
        Join("phy", "owner", Relation.PART),
    )

    phy: Annotated[str, Label("Phy", "phy-HOST:NUMBER of an HBA, phy-HOST:EXPANDER:NUMBER of an expander", plain=True)]
    owner: Annotated[str, Fact("Of", "Host (hostN) or expander (expander-H:N) of the phy", plain=True)]
    number: Annotated[int | None, Metric("Number", "Number of the phy on its host or expander", export=False)]
    port: Annotated[str | None, Fact("Port", "Port of the phy, while a device is attached", plain=True)]
    attached: Annotated[str | None, Fact("Attached", "end_device-... or expander-... at the other end", plain=True)]
    address: Annotated[
        str | None, Fact("Address", "SAS address of the device at the other end", export=False, names=Name.IDENTIFIER)
    ]
    state: Annotated[
        str | None,
        State("State", "State of the phy: up, vacant, or as the kernel reports it (Phy disabled, Link Rate failed)"),
    ]
    rate: Annotated[int | None, Metric("Rate", "Data rate of the negotiated link", "bytes_per_second", setting=True)]
    maximum_rate: Annotated[
        int | None, Metric("At most", "Maximum data rate of the phy", "bytes_per_second", setting=True)
    ]
    invalid_dwords: Annotated[int | None, Metric("Invalid dwords", "Invalid dwords received", kind=Kind.COUNTER)] = None
    disparity_errors: Annotated[
        int | None,
        Metric("Disparity", "Running disparity errors (mostly counted as invalid dwords too)", kind=Kind.COUNTER),
    ] = None
    sync_losses: Annotated[int | None, Metric("Sync lost", "Losses of dword synchronization", kind=Kind.COUNTER)] = None
    reset_problems: Annotated[int | None, Metric("Reset problems", "Failed link resets", kind=Kind.COUNTER)] = None
    told: Annotated[
        str | None, Fact("Source", "Evidence of the counters, if not sysfs", export=False, names=Name.EVIDENCE)
    ] = None

    def source(self, field: str = "") -> Source | None:
        """Return the attribute (by default the state) or the command that a field was read from."""
        if self.told is not None and (field in PHY_COUNTERS or self.rate is None or self.port is None):
            several = field in PHY_COUNTERS and not re.search(r"-p[ _]?\d", self.told)
            return Source(self.told, f"phy identifier: {self.number}" if several else NEEDLES.get(field, ""))
        if field == "address" and self.attached is not None:
            return Source(f"{DEVICES}/{self.attached}/sas_address")
        names = {**PHY_COUNTERS, "maximum_rate": "maximum_linkrate_hw"}
        return Source(f"{PHYS}/{self.phy}/{names.get(field, 'negotiated_linkrate')}")


class SasPhyActivity(Reading, frozen=True):
    """Error rates of a phy between two samples of an unchanged link."""

    family: ClassVar[str] = "sas_phy_activity"
    title: ClassVar[str] = "SAS phy errors"
    exported: ClassVar[bool] = False
    rows_of = Source(f"{PHYS}/{{phy}}/invalid_dword_count")
    fields_of = files(f"{PHYS}/{{phy}}", **{f"{field}_per_second": name for field, name in PHY_COUNTERS.items()})
    things: ClassVar = {
        "phy": Identity(ThingKind.PHY, Naming.SCSI),
    }

    phy: Annotated[str, Label("Phy", "Name of the phy", plain=True)]
    seconds: Annotated[float, Metric("Time", "Time between the two readings", "seconds")]
    invalid_dwords_per_second: Annotated[
        float | None, Metric("Invalid dwords/s", "Invalid dwords received per second", "per_second")
    ]
    disparity_errors_per_second: Annotated[
        float | None, Metric("Disparity/s", "Running disparity errors per second", "per_second")
    ]
    sync_losses_per_second: Annotated[
        float | None, Metric("Sync lost/s", "Losses of dword synchronization per second", "per_second")
    ]
    reset_problems_per_second: Annotated[float | None, Metric("Resets/s", "Failed link resets", "per_second")]


class SasPort(Reading, frozen=True):
    """A SAS port: the phys that lead to the same device."""

    family: ClassVar[str] = "sas_port"
    title: ClassVar[str] = "SAS ports"
    rows_of = Source(f"{PORTS}/{{port}}/num_phys")

    port: Annotated[str, Label("Port", "port-HOST:NUMBER, or port-HOST:EXPANDER:NUMBER", plain=True)]
    phys: Annotated[int | None, Metric("Phys", "Number of phys; a wide port has several")]


class SasDevice(Reading, frozen=True):
    """An expander or end device (a drive's port, an enclosure processor) and its position."""

    family: ClassVar[str] = "sas_device"
    title: ClassVar[str] = "SAS devices"
    rows_of = Source(f"{DEVICES}/{{device}}/device_type")
    fields_of = files(
        f"{DEVICES}/{{device}}", address="sas_address", enclosure="enclosure_identifier", bay="bay_identifier"
    ) | files(f"{EXPANDERS}/{{device}}", product="product_id")
    things: ClassVar = {
        "device": Identity(
            Stated(
                "kind",
                dict.fromkeys(("edge expander", "fanout expander"), ThingKind.EXPANDER),
                ThingKind.DEVICE,
            ),
            Naming.SCSI,
        ),
        "above": Identity(None, Naming.SCSI),
        "host": Identity(ThingKind.CONTROLLER, Naming.SCSI),
        "bay": Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{bay}"),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (
        Join("device", "above|host", Relation.ATTACHED),
        Join("device", "bay|enclosure", Relation.LOCATED),
        Join("bay", "enclosure", Relation.PART),
    )

    device: Annotated[str, Label("Device", "expander-H:N or end_device-...", plain=True)]
    kind: Annotated[str | None, Fact("Kind", "end device, edge expander, fanout expander", plain=True)]
    address: Annotated[str | None, Fact("Address", "SAS address", export=False, names=Name.IDENTIFIER)]
    host: Annotated[str | None, Fact("Host", "SCSI host that leads to the device", plain=True)]
    port: Annotated[str | None, Fact("Port", "Port that leads to it", plain=True)]
    above: Annotated[str | None, Fact("Above", "Expander or host that the port belongs to", plain=True)]
    enclosure: Annotated[
        str | None, Fact("Enclosure", "Identifier of the enclosure", export=False, names=Name.IDENTIFIER)
    ]
    bay: Annotated[int | None, Metric("Bay", "Number of the bay in the enclosure", export=False)]
    product: Annotated[str | None, Fact("Product", "Vendor and product of an expander", plain=True)]


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


def activity(before: SasPhy, after: SasPhy, seconds: float) -> SasPhyActivity | None:
    """Return the error rates between two samples.

    Return None if the link changed, because bringing up a link causes errors, or if a counter was reset.
    """
    link = ("state", "rate", "port", "attached", "address")
    if seconds <= 0 or any(getattr(before, name) != getattr(after, name) for name in link):
        return None
    pairs = [(getattr(before, name), getattr(after, name)) for name in COUNTERS]
    steps = [None if old is None or new is None else new - old for old, new in pairs]
    if all(step is None for step in steps) or any(step is not None and step < 0 for step in steps):
        return None
    return SasPhyActivity(after.phy, seconds, *(None if step is None else step / seconds for step in steps))


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
            filled=(*PHY_COUNTERS.values(), "negotiated_linkrate", "maximum_linkrate_hw", "phy_identifier", "sas_address"),
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
