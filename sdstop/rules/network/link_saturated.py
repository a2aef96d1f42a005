"""Network links close to their line rate."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.network.line import FULL, READINGS, LineShare, has_line, line_share, wires
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for interface in sorted(window.rows(Interface).values(), key=lambda row: row.interface):
        # A bond depends on its slaves, which are checked; other kinds have no line of their own.
        if not has_line(interface):
            continue
        name, speed = interface.interface, interface.speed
        samples = wires(window, name, int(limits["readings"]))
        if speed is None:
            yield Unchecked("link speed unknown to the kernel", name, calm=not any(map(any, samples)))
            continue
        if len(samples) < limits["readings"]:
            yield Unchecked(f"collecting data: {len(samples)} of {limits['readings']:g} samples", name, gap=Gap.EARLY)
            continue
        shares = [line_share(sample, interface, speed) for sample in samples]
        if min([s.rx for s in shares]) > limits["share"] or min([s.tx for s in shares]) > limits["share"]:
            yield _saturated(window, interface, shares, limits)
        else:
            most = max([share.most for share in shares])
            yield RuledOut(
                name,
                f"at most {human.percent(most)}% of {human.quantity(speed, 'bytes_per_second')} "
                f"in the busier direction over {len(shares)} samples",
            )


def _saturated(window: Window, interface: Interface, shares: list[LineShare], limits: Limits) -> Finding:
    name = interface.interface
    row = window.moments(InterfaceActivity)[-1].rows[name]
    rx, tx = min(s.rx for s in shares), min(s.tx for s in shares)
    inward, outward = rx > limits["share"], tx > limits["share"]
    way = "sending and receiving" if inward and outward else "receiving" if inward else "sending"
    if interface.duplex == "half":
        way = "both directions, half duplex"
    peers = _peers(window, interface)
    idle = [peer for peer in peers if _now(window, peer) < shares[-1].most / 2]
    impact = "More load adds latency, not throughput."
    if idle:
        impact = f"{human.safe(idle[0].interface)} of {human.safe(interface.master or '')} has spare capacity."
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        title=f"LINK SATURATED: {way}",
        cause=(
            f"{human.percent(max(rx, tx))}% or more of {human.quantity(interface.speed, 'bytes_per_second')} "
            f"in {len(shares)} samples."
        ),
        impact=impact,
        values=(
            Value("rx", "use of the line, received", rx, "ratio", above=limits["share"]),
            Value("tx", "use of the line, sent", tx, "ratio", above=limits["share"]),
            Value("rx_rate", "received", row.rx_bytes_per_second, "bytes_per_second"),
            Value("tx_rate", "sent", row.tx_bytes_per_second, "bytes_per_second"),
            Value("speed", "speed of the link", interface.speed, "bytes_per_second"),
        ),
        evidence=cites(window.cite(row), window.cite(interface, "speed")),
        advice=tuple(_advice(interface, idle=bool(idle))),
        refuted_by="unchanged throughput with the load spread over another link",
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
    newest = wires(window, interface.interface, 1)
    if not newest or interface.speed is None or not interface.active:
        return float("inf")
    return line_share(newest[0], interface, interface.speed).most


def _advice(interface: Interface, *, idle: bool) -> Iterator[Advice]:
    name = interface.interface
    if interface.duplex == "half":
        yield run("ethtool", *operands(name), note="half duplex: failed negotiation")
        yield "Check the switch port and the cable."
    if idle:
        yield "Set xmit_hash_policy to layer3+4, which spreads connections."
        yield run("cat", f"/sys/class/net/{interface.master}/bonding/xmit_hash_policy", note="the policy in use")
        yield "One connection uses one slave; the switch distributes incoming frames."
    yield run("ss", "-tinp", "state", "established", note="busiest connections")
    yield run("iftop", "-i", name, note="busiest peers")
    yield run("ethtool", *operands(name), note="speed that the link negotiated")


LINK_SATURATED = Rule(
    "link-saturated",
    "network link near its line rate in one direction",
    Severity.WARNING,
    _check,
    (Interface, InterfaceActivity),
    (
        Threshold("share", FULL, "utilization above which the link is saturated (on-wire frame size)", "ratio"),
        Threshold("readings", float(READINGS), "consecutive samples that must show it"),
    ),
    covers=(Covers(Interface, where=has_line),),
    many="are saturated",
    view="network",
    explains=(
        "frames-dropped",
        "rebuild-slow",
        "volume-below-promise",
    ),
    advice="Spread the traffic over more links, or move clients to another port.",
)
