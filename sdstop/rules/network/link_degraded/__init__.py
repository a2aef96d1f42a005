"""Network links that are down or gone, flap, run half duplex or at 100 Mbit/s."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import cast

from msgspec.structs import replace

from sdstop.collectors.network.readings import BondSlave, Interface, InterfaceActivity, Traffic
from sdstop.collectors.system.readings import Node
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.columns import values_of
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.joins import Naming
from sdstop.core.memory import FORGOTTEN
from sdstop.core.model import Rows
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.snapshot import Snapshot
from sdstop.rules.network.link_degraded.gone import gone_interfaces

_KINDS = frozenset({"physical", "team"})
"""Kinds of interfaces that are judged, and slaves of bonds of any kind; bond-unbalanced compares their rates."""
_AWAY = frozenset({"down", "lowerlayerdown"})
_CLOSED = frozenset({"dormant", "testing", "notpresent"})
"""States with a carrier and without traffic (RFC 2863): an 802.1X port that was not authorized is dormant."""
_VLAN = "vlan"
_UNREACHABLE = "Peers behind this interface can be unreachable."


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    slaves = {row.interface: row for row in window.rows(BondSlave).values()}
    for row in window.rows(Interface).values():
        if row.kind in _KINDS or row.interface in slaves:
            yield _judged(window, row, slaves, limits)
        elif row.kind == _VLAN and row.up and _is_away(row) and not _lower(window, row):
            lost = ("LINK DOWN", "The VLAN has no link; the interface below it is not shown.")
            yield _finding(window, row, lost, _UNREACHABLE, None, Damage.AVAILABILITY)
    yield from gone_interfaces(window)


def _is_away(row: Interface) -> bool:
    return row.carrier is False or row.operstate in _AWAY


def _lower(window: Window, row: Interface) -> bool:
    """Return whether an interface below a VLAN is known: it has the verdict then."""
    thing = window.topology.named(Naming.NET, row.interface)
    return thing is not None and any(each.name in window.rows(Interface) for each in window.topology.lower(thing))


def _vlans(window: Window, row: Interface) -> list[str]:
    """Return the VLANs on an interface that are up for the administrator."""
    thing = window.topology.named(Naming.NET, row.interface)
    above = window.topology.upper(thing) if thing is not None else ()
    rows = (window.rows(Interface).get(each.name) for each in above)
    return [upper.interface for upper in rows if upper is not None and upper.kind == _VLAN and upper.up]


def _judged(window: Window, row: Interface, slaves: dict[str, BondSlave], limits: Limits) -> Verdict:
    if row.up is False:
        return RuledOut(row.interface, "switched off by the administrator: UP is 0")
    slave = slaves.get(row.interface)
    if _is_away(row) or (slave is not None and slave.link == "down"):
        return _down(window, row, slave)
    if row.operstate in _CLOSED:
        closed = ("LINK NOT OPEN for traffic", f"The link has a carrier; its state is {row.operstate}.")
        return _finding(window, row, closed, "No frames pass until the port is open.", None, Damage.AVAILABILITY)
    flaps = _flaps(window, row, slave)
    hourly = _hourly(window, row) if flaps else None
    often = hourly is not None and hourly >= limits["hourly"]
    if flaps >= limits["flaps"] or often:
        since = f", {human.number(hourly)} times per hour since boot" if hourly is not None and often else ""
        counted = f"The link failed {human.plural(flaps, 'time')} in {human.duration(window.seconds)}"
        return _finding(
            window,
            row,
            ("LINK FLAPPING", f"{counted}{since}."),
            "Frames are lost whenever the link fails.",
            window.cite(row, "carrier_changes"),
            Damage.AVAILABILITY,
        )
    if row.duplex == "half":
        halved = ("HALF DUPLEX", "The link negotiated half duplex.")
        return _finding(window, row, halved, "Frames can collide and must be sent again.", None, Damage.SPEED)
    if row.speed is not None and row.speed <= limits["slowest"] and row.driver not in _USB:
        megabits = human.number(round(row.speed / _MEGABIT))
        slow = (
            f"LINK AT {megabits} Mbit/s",
            f"The link negotiated {megabits} Mbit/s: often a broken pair of the cable.",
        )
        impact = f"Transfers of at most {human.quantity(row.speed, 'bytes_per_second')} in each direction."
        finding = _finding(window, row, slow, impact, window.cite(row, "speed"), Damage.SPEED)
        if slave is None and _is_beside(window, row, row.speed):
            harmless = "it is a port for management, at an old switch"
            return replace(finding, severity=Severity.INFO, harmless_if=harmless, standing=True)
        return finding
    return RuledOut(row.interface, f"link up{_failures(window, row, slave, flaps)}")


def _failures(window: Window, row: Interface, slave: BondSlave | None, flaps: int) -> str:
    if len(window.snapshots) == 1:
        return " in 1 sample"
    if _counted(window, row, slave):
        return f", lost {human.plural(flaps, 'time')} while watched"
    return " in all samples; failures are not counted"


def _down(window: Window, row: Interface, slave: BondSlave | None) -> Verdict:
    """Judge a link that is down: a fault if it belongs to a bond, or carried something since boot."""
    if slave is not None:
        lost = ("LINK DOWN", f"The link is down; bond {human.safe(slave.bond)} works without it.")
        impact = "The bond has less bandwidth, and fewer links to lose."
        finding = _finding(window, row, lost, impact, window.cite(slave, "link"), Damage.REDUNDANCY)
        return replace(finding, explains=(f"bond-unbalanced:{slave.bond}",))
    traffic = window.get(Traffic, row.interface)
    vlans = _vlans(window, row)
    if vlans and (traffic is None or not traffic.rx_packets):
        named = human.listed(vlans, 2, 16)
        lost = ("LINK DOWN", f"The link is down; configured on it: {named}.")
        return _finding(window, row, lost, _UNREACHABLE, None, Damage.AVAILABILITY)
    if traffic is None:
        return Unchecked("no link; traffic since boot unknown", row.interface, calm=True, gap=Gap.UNRECORDED)
    if not traffic.rx_packets:
        return RuledOut(row.interface, "no link, 0 frames received since boot")
    received = human.quantity(traffic.rx_bytes, "bytes")
    lost = ("LINK DOWN", f"The link is down, after {received} received since boot.")
    return _finding(window, row, lost, _UNREACHABLE, window.cite(traffic), Damage.AVAILABILITY)


def _flaps(window: Window, row: Interface, slave: BondSlave | None) -> int:
    """Return the number of link failures in the window."""
    old = (each for _, each in window.series(Interface, row.interface) if each is not None)
    flaps = _grown(row.carrier_changes, (each.carrier_changes for each in old)) // 2
    if slave is not None:
        before = (each for _, each in window.series(BondSlave, (slave.bond, slave.interface)) if each is not None)
        flaps = max(flaps, _grown(slave.link_failures, (each.link_failures for each in before)))
    return flaps


def _grown(now: int | None, before: Iterator[int | None]) -> int:
    """Return how far a counter grew since the first sample that has it; old samples are expensive to read."""
    return 0 if now is None else now - next((number for number in before if number is not None), now)


def _is_beside(window: Window, row: Interface, speed: int) -> bool:
    """Return whether a slow link carries little beside a fast one, as one for management does."""
    now = window.get(InterfaceActivity, row.interface)
    if now is not None and max(now.rx_bytes_per_second, now.tx_bytes_per_second) >= _BUSY * speed:
        return False
    others = (other for other in window.rows(Interface).values() if other.kind in _KINDS and other.carrier)
    return any((other.speed or 0) >= _FASTER * speed for other in others)


def _counted(window: Window, row: Interface, slave: BondSlave | None) -> bool:
    """Return whether the failures of a link are known."""
    if slave is not None and slave.link_failures is not None:
        return True
    if row.carrier_changes is not None:
        return True
    return row.interface in window.once("carrier changes", lambda: _counting(window))


def _counting(window: Window) -> AbstractSet[Hashable]:
    """Return the interfaces whose carrier changes are known in any sample; of each sample they are kept with it."""
    found: set[Hashable] = set()
    last: frozenset[Hashable] = frozenset()
    for moment in window.moments(Interface):
        known: frozenset[Hashable] | None = moment.memo.get("carrier changes")
        if known is None:
            rows = cast("Rows", moment.rows)
            numbers = zip(rows, values_of(rows, "carrier_changes"), strict=True)
            made = frozenset([name for name, times in numbers if times is not None])
            known = moment.memo["carrier changes"] = last if made == last else made
        found |= known
        last = known
    return found


_MEGABIT = 125_000
"""Bytes per second of 1 Mbit/s."""
_USB = frozenset({"cdc_ether", "cdc_ncm", "cdc_eem", "rndis_host", "asix", "smsc95xx", "usbnet"})
"""Drivers of interfaces to a management controller within the node, and of USB adapters of 100 Mbit/s."""
_HOUR = 3600.0
_BUSY = 0.1
"""Share of a slow link that is more than management needs."""
_FASTER = 10
"""Speed of another link, as a multiple, beside which a slow one is not that of the data."""
_SEVERAL = 10
"""Minimum number of failures since boot from which a mean is computed."""


def _hourly(window: Window, row: Interface) -> float | None:
    """Return the mean number of failures per hour since boot: a link that fails once per window fails in each."""
    uptime = next((node.uptime for node in window.rows(Node).values()), None)
    failures = (row.carrier_changes or 0) // 2
    return failures / uptime * _HOUR if uptime and failures >= _SEVERAL else None


def _finding(
    window: Window, row: Interface, fault: tuple[str, str], impact: str, more: Cite | None, damage: Damage
) -> Finding:
    """Return the finding; `fault` is its title and its cause."""
    title, cause = fault
    return Finding(
        severity=Severity.WARNING,
        subject=row.interface,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("operstate", "state", row.operstate),
            Value("carrier", "carrier", None if row.carrier is None else int(row.carrier)),
            Value("speed", "speed", row.speed, "bytes_per_second"),
            Value("duplex", "duplex", row.duplex),
        ),
        evidence=cites(window.cite(row, "carrier"), window.cite(row, "operstate"), more),
        advice=(
            run("ethtool", *operands(row.interface), note="modes that both ends offer"),
            run("ethtool", "-m", *operands(row.interface), note="light of the module"),
            run("journalctl", "-k", note="time of the change")
            .pipe("grep", "-w", *operands(row.interface))
            .pipe("tail", "-40"),
            run("ip", "link", "set", "dev", row.interface, "down", note="for an interface out of use"),
        ),
        refuted_by="carrier 1 and full duplex",
        damage=damage,
    )


def _roles(shot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    """Return name and address of each interface: another card in its place may have either."""
    rows = shot.rows(Interface).values()
    return {row.interface: (row.interface, *((row.mac,) if row.mac else ())) for row in rows}


LINK_DEGRADED = Rule(
    "link-degraded",
    "network link that is down or gone, flaps, runs half duplex or at 100 Mbit/s",
    Severity.WARNING,
    _check,
    (Interface,),
    (
        Threshold("flaps", 2.0, "minimum link failures in a window for a link that flaps"),
        Threshold("slowest", 12.5e6, "speed of a physical link in one direction that is too slow", "bytes_per_second"),
        Threshold("hourly", 1.0, "mean link failures per hour since boot of a link that flaps, with one in a window"),
    ),
    covers=(Covers(Interface, where=lambda row: row.kind in _KINDS), Covers(BondSlave, "{interface}")),
    remembers=True,
    forgets=FORGOTTEN,
    roles=_roles,
    many="are degraded",
    view="network",
    advice="Reseat or replace the cable and its modules, then try another port.",
)
