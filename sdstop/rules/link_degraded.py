"""Network links that are down, flap, or run half duplex."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.interfaces import Interface, Traffic
from sdstop.collectors.network.links import BondSlave
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Covers, Finding, Limits, Rule, RuledOut, Severity, Threshold, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted

_KINDS = frozenset({"physical", "team"})
"""Kinds of interfaces that are judged; bond-unbalanced compares the slaves of a bond."""
_AWAY = frozenset({"down", "lowerlayerdown"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    slaves = {row.interface: row for row in window.rows(BondSlave).values()}
    for row in window.rows(Interface).values():
        if row.kind in _KINDS:
            yield _judged(window, row, slaves, limits)


def _judged(window: Window, row: Interface, slaves: dict[str, BondSlave], limits: Limits) -> Verdict:
    if row.up is False:
        return RuledOut(row.interface, "switched off by the administrator: UP is 0")
    slave = slaves.get(row.interface)
    if row.carrier is False or row.operstate in _AWAY or (slave is not None and slave.link == "down"):
        return _down(window, row, slave)
    flaps = _flaps(window, row, slave)
    if flaps >= limits["flaps"]:
        said = f"the link failed {human.plural(flaps, 'time')} while watched"
        return _finding(window, row, said, window.cite(row, "carrier_changes"))
    if row.duplex == "half":
        return _finding(window, row, "half duplex: every second frame can collide", None)
    return RuledOut(row.interface, f"link up, lost {human.plural(flaps, 'time')} while watched")


def _down(window: Window, row: Interface, slave: BondSlave | None) -> Verdict:
    """Judge a link that is down: a fault if it belongs to a bond, or carried something since boot."""
    if slave is not None:
        said = f"no link: {slave.bond} works without it"
        return _finding(window, row, said, window.cite(slave, "link"))
    traffic = window.get(Traffic, row.interface)
    if traffic is None or not traffic.rx_packets:
        return RuledOut(row.interface, "no link, 0 frames received since boot")
    said = f"no link, after {human.quantity(traffic.rx_bytes, 'bytes')} received since boot"
    return _finding(window, row, said, window.cite(traffic))


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


def _finding(window: Window, row: Interface, said: str, more: Cite | None) -> Finding:
    name = quoted(row.interface)
    return Finding(
        severity=Severity.WARNING,
        subject=row.interface,
        cause=said,
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
        refuted_by="carrier 1 and full duplex",
    )


LINK_DEGRADED = Rule(
    "link-degraded",
    "a network link is down, flaps, or runs half duplex",
    Severity.WARNING,
    _check,
    (Interface,),
    (Threshold("flaps", 2.0, "link failures in a window from which a link flaps"),),
    covers=(Covers(Interface, where=lambda row: row.kind in _KINDS),),
    explains=("bond-unbalanced",),
    many="are degraded",
)
