"""Network links that are down, flap, run half duplex, or are slower than the other slaves of their bond."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.interfaces import Interface, Traffic
from sdstop.collectors.network.links import Bond, BondSlave
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Threshold, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted

_KINDS = frozenset({"physical", "bond", "team"})
_AWAY = frozenset({"down", "lowerlayerdown"})
_BALANCING = ("balance-rr", "balance-xor", "802.3ad", "balance-tlb", "balance-alb")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    slaves = {row.interface: row for row in window.rows(BondSlave).values()}
    for row in window.rows(Interface).values():
        if row.kind in _KINDS:
            yield _judged(window, row, slaves, limits)


def _judged(window: Window, row: Interface, slaves: dict[str, BondSlave], limits: Limits) -> Verdict:
    if row.up is False:
        return RuledOut(row.interface, "switched off by the administrator: UP is 0")
    slave = slaves.get(row.interface)
    bond = window.get(Bond, row.interface)
    if row.carrier is False or row.operstate in _AWAY or (bond is not None and bond.link == "down"):
        return _down(window, row, slave, bond)
    if slave is not None and slave.link == "down":
        return _down(window, row, slave, bond)
    flaps = _flaps(window, row, slave)
    if flaps >= limits["flaps"]:
        said = f"the link failed {human.plural(flaps, 'time')} while watched"
        return _finding(window, row, Severity.WARNING, said, window.cite(row, "carrier_changes"))
    if row.duplex == "half":
        return _finding(window, row, Severity.WARNING, "half duplex: every second frame can collide", None)
    if slave is not None:
        mode = window.get(Bond, slave.bond)
        balancing = mode is not None and (mode.mode or "").startswith(_BALANCING)
        if balancing and slave.state == "backup":
            said = f"carries nothing for {slave.bond}, which balances over its slaves"
            return _finding(window, row, Severity.WARNING, said, window.cite(slave, "state"))
        fastest = _fastest(window, slave, slaves)
        if row.speed is not None and fastest is not None and row.speed < fastest:
            own, others = (human.quantity(speed, "bytes_per_second") for speed in (row.speed, fastest))
            said = f"runs at {own}, another slave of {slave.bond} at {others}"
            return _finding(window, row, Severity.WARNING, said, window.cite(row, "speed"))
    return RuledOut(row.interface, f"link up, lost {human.plural(flaps, 'time')} while watched")


def _down(window: Window, row: Interface, slave: BondSlave | None, bond: Bond | None) -> Verdict:
    """Judge a link that is down: a fault if it belongs to a bond, or carried something since boot."""
    if slave is not None:
        said = f"no link: {slave.bond} works without it"
        return _finding(window, row, Severity.WARNING, said, window.cite(slave, "link"))
    if bond is not None:
        said = "no link on any of its slaves"
        return _finding(window, row, Severity.CRITICAL, said, window.cite(bond, "link"))
    traffic = window.get(Traffic, row.interface)
    if traffic is None or not traffic.rx_packets:
        return RuledOut(row.interface, "no link, 0 frames received since boot")
    said = f"no link, after {human.quantity(traffic.rx_bytes, 'bytes')} received since boot"
    return _finding(window, row, Severity.WARNING, said, window.cite(traffic))


def _flaps(window: Window, row: Interface, slave: BondSlave | None) -> int:
    """Return the number of link failures in the window."""
    changes = [old.carrier_changes for _, old in window.series(Interface, row.interface) if old is not None]
    known = [number for number in changes if number is not None]
    flaps = (known[-1] - known[0]) // 2 if known else 0
    if slave is not None:
        rows = [old for _, old in window.series(BondSlave, (slave.bond, slave.interface)) if old is not None]
        failures = [old.link_failures for old in rows if old.link_failures is not None]
        flaps = max(flaps, failures[-1] - failures[0] if failures else 0)
    return flaps


def _fastest(window: Window, slave: BondSlave, slaves: dict[str, BondSlave]) -> int | None:
    names = [other.interface for other in slaves.values() if other.bond == slave.bond and other.link != "down"]
    rows = [window.get(Interface, name) for name in names]
    return max((row.speed for row in rows if row is not None and row.speed is not None), default=None)


def _finding(window: Window, row: Interface, severity: Severity, said: str, more: Cite | None) -> Finding:
    name = quoted(row.interface)
    return Finding(
        severity=severity,
        subject=row.interface,
        summary=said,
        values=(
            Value("operstate", "state", row.operstate),
            Value("carrier", "carrier", None if row.carrier is None else int(row.carrier)),
            Value("speed", "speed", row.speed, "bytes_per_second"),
            Value("duplex", "duplex", row.duplex),
        ),
        evidence=cites(window.cite(row, "carrier"), window.cite(row, "operstate"), more),
        advice=(
            f"ethtool {name}; ethtool -m {name}   # what both ends offer; light of the module",
            f"journalctl -k | grep -w {operand(row.interface)} | tail -40   # since when",
            f"ip link set {name} down   # if it is not to be used any more",
        ),
        refuted_by="carrier 1, full duplex, and the same speed as the other slaves",
    )


LINK_DEGRADED = Rule(
    "link-degraded",
    "a network link is down, flaps, runs half duplex, or is slower than the other slaves of its bond",
    Severity.CRITICAL,
    _check,
    (Interface,),
    (Threshold("flaps", 2.0, "link failures in a window from which a link flaps"),),
    covers=(Covers(Interface, where=lambda row: row.kind in _KINDS),),
    many="are degraded",
)
