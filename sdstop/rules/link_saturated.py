"""Network links close to their line rate."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.network.interfaces import Interface, InterfaceActivity
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted

WIRE = 24
"""Uncounted bytes per Ethernet frame on the wire: preamble 8, checksum 4, gap 12."""


def _has_line(interface: Interface) -> bool:
    """Return whether an interface has a line of its own that is up."""
    return interface.kind == "physical" and interface.active


class _Share(Struct, frozen=True):
    """Share of the line rate by direction in one sample; half duplex counts both directions in each."""

    rx: float
    tx: float

    @property
    def most(self) -> float:
        return max(self.rx, self.tx)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(InterfaceActivity)[-int(limits["readings"]) :]
    for interface in sorted(window.rows(Interface).values(), key=lambda row: row.interface):
        # A bond depends on its slaves, which are checked; other kinds have no line of their own.
        if not _has_line(interface):
            continue
        name, speed = interface.interface, interface.speed
        rows = [row for row in (moment.rows.get(name) for moment in moments) if row is not None]
        if speed is None:
            used = any(row.rx_packets_per_second or row.tx_packets_per_second for row in rows)
            yield Unchecked("the kernel does not know the speed of its link", name, calm=not used)
            continue
        if len(rows) < limits["readings"]:
            yield Unchecked(f"needs {limits['readings']:g} readings, has {len(rows)}", name)
            continue
        shares = [_share(row, speed, half=interface.duplex == "half") for row in rows]
        least = min(share.most for share in shares)
        if min(s.rx for s in shares) > limits["share"] or min(s.tx for s in shares) > limits["share"]:
            yield _saturated(window, interface, shares, rows[-1], limits)
        else:
            most = max(share.most for share in shares)
            yield RuledOut(
                name,
                f"{human.percent(least)} to {human.percent(most)} % of {human.quantity(speed, 'bytes_per_second')} "
                f"in the busier direction over {len(shares)} readings",
            )


def _share(row: InterfaceActivity, speed: int, *, half: bool) -> _Share:
    rx = (row.rx_bytes_per_second + WIRE * row.rx_packets_per_second) / speed
    tx = (row.tx_bytes_per_second + WIRE * row.tx_packets_per_second) / speed
    return _Share(rx + tx, rx + tx) if half else _Share(rx, tx)


def _saturated(
    window: Window, interface: Interface, shares: list[_Share], row: InterfaceActivity, limits: Limits
) -> Finding:
    name = interface.interface
    rx, tx = min(s.rx for s in shares), min(s.tx for s in shares)
    inward, outward = rx > limits["share"], tx > limits["share"]
    way = "both directions" if inward and outward else "receiving" if inward else "sending"
    if interface.duplex == "half":
        way = "both directions together, half duplex"
    peers = _peers(window, interface)
    idle = [peer for peer in peers if _now(window, peer) < shares[-1].most / 2]
    summary = (
        f"{way}: {human.percent(max(rx, tx))} % or more of {human.quantity(interface.speed, 'bytes_per_second')} "
        f"over {len(shares)} readings"
    )
    if idle:
        summary += f", while {', '.join(p.interface for p in idle)} of {interface.master} has room"
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        cause=summary,
        values=(
            Value("rx", "received, share of the line", rx, "ratio", above=limits["share"]),
            Value("tx", "sent, share of the line", tx, "ratio", above=limits["share"]),
            Value("rx_rate", "received", row.rx_bytes_per_second, "bytes_per_second"),
            Value("tx_rate", "sent", row.tx_bytes_per_second, "bytes_per_second"),
            Value("speed", "speed of the link", interface.speed, "bytes_per_second"),
        ),
        evidence=cites(window.cite(row), window.cite(interface, "speed")),
        advice=tuple(_advice(interface, idle=bool(idle))),
        refuted_by="clients that get no more when the same is spread over another link",
    )


def _peers(window: Window, interface: Interface) -> list[Interface]:
    if interface.master is None:
        return []
    return [
        other
        for other in window.rows(Interface).values()
        if other.master == interface.master and other.interface != interface.interface and other.kind == "physical"
    ]


def _now(window: Window, interface: Interface) -> float:
    row = window.get(InterfaceActivity, interface.interface)
    if row is None or interface.speed is None or not interface.active:
        return float("inf")
    return _share(row, interface.speed, half=interface.duplex == "half").most


def _advice(interface: Interface, *, idle: bool) -> Iterator[str]:
    name = interface.interface
    if interface.duplex == "half":
        yield f"ethtool {operand(name)}   # half duplex is a failed negotiation: check the switch port and the cable"
    if idle:
        yield (
            f"cat /sys/class/net/{quoted(interface.master or '')}/bonding/xmit_hash_policy"
            "   # layer3+4 spreads several connections; "
            "a single one never uses more than one slave, and what comes in is the switch's choice"
        )
    yield f"ss -tinp state established   # who sends and receives; iftop -i {quoted(name)}"
    yield f"ethtool {operand(name)}   # did it negotiate the speed that the card and the switch can do?"


LINK_SATURATED = Rule(
    "link-saturated",
    "a network link carries about all it can in one direction",
    Severity.WARNING,
    _check,
    (Interface, InterfaceActivity),
    (
        Threshold("share", 0.85, "share of the line from which it is full, frames counted as on the wire", "ratio"),
        Threshold("readings", 3.0, "successive readings that must show it"),
    ),
    covers=(Covers(Interface, where=_has_line),),
    many="carry about all that they can",
    explains=(
        "frames-dropped",
        "rebuild-slow",
        "volume-below-promise",
    ),
)
