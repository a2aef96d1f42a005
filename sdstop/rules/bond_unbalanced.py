"""Bonds whose slaves do not share the load: a link down, outside the LACP group, of another speed, or unused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from sdstop.collectors.network.interfaces import Interface, InterfaceActivity
from sdstop.collectors.network.links import Bond, BondSlave
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Gap,
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

_UP = frozenset({"up", "going down", "going back"})
_ONE = frozenset({"active-backup", "broadcast"})
"""Modes in which all frames go through one slave, or each through all."""
_EVEN = "balance-rr"
"""Mode that sends frames over all slaves in turn, whatever connection they belong to."""
_LACP = "802.3ad"
_SENDING = frozenset({_EVEN, "balance-xor", _LACP, "balance-tlb", "balance-alb"})


class _Direction(Struct, frozen=True):
    """Mean bytes per second of each slave in one direction, and the share of its line; None for an unknown speed."""

    word: str
    rates: Mapping[str, float]
    shares: Mapping[str, float | None]

    def idle(self, limits: Limits) -> list[str]:
        """Return the slaves that carry far less than an even share, if the bond carries enough."""
        total = sum(self.rates.values())
        if total < limits["rate"]:
            return []
        return [name for name, rate in self.rates.items() if rate < limits["idle"] * total / len(self.rates)]

    @property
    def fullest(self) -> str:
        return max(self.rates, key=lambda name: (self.shares[name] or 0.0, self.rates[name]))


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for bond in window.rows(Bond).values():
        slaves = window.where(BondSlave, "bond", bond.interface)
        unknown = [slave.interface for slave in slaves if slave.link is None]
        standby = [slave for slave in slaves if slave.state == "backup"] if bond.mode in _SENDING else []
        down = [slave for slave in slaves if slave.link is not None and slave.link not in _UP]
        if not slaves:
            yield Unchecked("it has no slaves", bond.interface, calm=True)
        elif down:
            yield _down(window, bond, slaves, down)
        elif bond.link == "down":
            yield _cut_off(window, bond, slaves)
        elif unknown:
            yield Unchecked(f"link of {', '.join(map(human.safe, unknown[:4]))} unknown", bond.interface)
        elif bond.mode is None:
            yield Unchecked("mode unknown", bond.interface)
        elif bond.mode == _LACP and len({slave.aggregator for slave in slaves} - {None}) > 1:
            yield _split(window, bond, slaves)
        elif standby:
            yield _standby(window, bond, slaves, standby)
        elif len(slaves) == 1 or bond.mode in _ONE:
            yield RuledOut(bond.interface, f"{len(slaves)} of {len(slaves)} links up, {human.safe(bond.mode)}")
        else:
            yield _shared(window, bond, slaves, limits)


def _down(window: Window, bond: Bond, slaves: Sequence[BondSlave], down: Sequence[BondSlave]) -> Finding:
    names = [slave.interface for slave in down]
    left = len(slaves) - len(down)
    rest = f"{left} of {len(slaves)} links left" if left else "no link is left"
    return Finding(
        severity=Severity.WARNING if left else Severity.CRITICAL,
        subject=bond.interface,
        cause=f"{human.safe(', '.join(names[:4]))}: link down, {rest}"
        + ("; the next failure cuts it off" if left == 1 else ""),
        values=(
            Value("down", "links down", len(down), "", above=0),
            Value("slaves", "slaves", len(slaves)),
            Value("failures", "times these links failed", _sum(slave.link_failures for slave in down)),
        ),
        evidence=cites(*(window.cite(slave, "link") for slave in down[:4])),
        advice=(
            f"ethtool {operand(names[0])}   # link, cable, module; is the switch port up?",
            f"journalctl -k | grep -w {operand(names[0])}   # when it went down",
        ),
        refuted_by=f"up in /sys/class/net/{names[0]}/bonding_slave/mii_status, or a slave that is unplugged on purpose",
    )


def _cut_off(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=bond.interface,
        cause=f"the bond has no link, although its {human.plural(len(slaves), 'slave')} "
        f"{'has' if len(slaves) == 1 else 'have'} one",
        values=(Value("slaves", "slaves with a link", len(slaves)),),
        evidence=cites(window.cite(bond, "link"), *(window.cite(slave, "link") for slave in slaves[:4])),
        advice=(
            f"cat /proc/net/bonding/{quoted(bond.interface)}   # min_links, LACP partner, ARP targets",
            f"journalctl -k | grep -w {operand(bond.interface)}   # when it lost its link",
        ),
        refuted_by=f"up in /sys/class/net/{bond.interface}/bonding/mii_status",
    )


def _standby(window: Window, bond: Bond, slaves: Sequence[BondSlave], standby: Sequence[BondSlave]) -> Finding:
    names = [slave.interface for slave in standby]
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        cause=f"{human.safe(', '.join(names[:4]))}: link up but inactive, "
        f"{len(slaves) - len(standby)} of {len(slaves)} slaves carry frames",
        values=(
            Value("standby", "inactive slaves", len(standby), "", above=0),
            Value("slaves", "slaves", len(slaves)),
        ),
        evidence=cites(*(window.cite(slave, "state") for slave in standby[:4]), window.cite(bond, "mode")),
        advice=(f"cat /proc/net/bonding/{quoted(bond.interface)}   # state and LACP partner of each slave, as root",),
        refuted_by=f"active in /sys/class/net/{names[0]}/bonding_slave/state",
    )


def _split(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    groups = Counter(slave.aggregator for slave in slaves)
    main = max(groups, key=lambda each: (groups[each], -(each or 0)))
    out = [slave for slave in slaves if slave.aggregator != main]
    names = [slave.interface for slave in out]
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        cause=f"LACP: {human.safe(', '.join(names[:4]))} in an aggregator of {'its' if len(out) == 1 else 'their'} "
        f"own, {len(slaves) - len(out)} of {len(slaves)} slaves carry frames",
        values=(
            Value("aggregators", "aggregators", len(groups), "", above=1),
            Value("slaves", "slaves", len(slaves)),
            Value("outside", "slaves outside the main one", ", ".join(names[:8])),
        ),
        evidence=cites(*(window.cite(slave, "aggregator") for slave in slaves[:4])),
        advice=(
            f"cat /proc/net/bonding/{quoted(bond.interface)}   # partner Mac Address and key of each slave, as root",
            "compare the switch ports: one port channel, LACP active, same speed, both ends of each cable",
        ),
        refuted_by=f"the same aggregator ID of all slaves in /proc/net/bonding/{bond.interface}",
    )


def _shared(window: Window, bond: Bond, slaves: Sequence[BondSlave], limits: Limits) -> Verdict:
    """Return the verdict on a bond with all links up, whose mode spreads the load."""
    names = [slave.interface for slave in slaves]
    known = {name: window.get(Interface, name) for name in names}
    speeds = {name: row.speed for name, row in known.items() if row is not None and row.speed is not None}
    if len(set(speeds.values())) > 1:
        return _uneven_speeds(window, bond, speeds, [row for row in known.values() if row is not None])
    moments = [moment for moment in window.moments(InterfaceActivity) if all(name in moment.rows for name in names)]
    seconds = sum(moment.seconds or 0.0 for moment in moments)
    if seconds + 0.5 < limits["seconds"]:
        return Unchecked(
            f"all links up; traffic needs {limits['seconds']:g} s of samples, has {seconds:.0f} s",
            bond.interface,
            gap=Gap.EARLY,
        )
    rows = {name: [moment.rows[name] for moment in moments] for name in names}
    sent = {name: fmean(row.tx_bytes_per_second for row in each) for name, each in rows.items()}
    received = {name: fmean(row.rx_bytes_per_second for row in each) for name, each in rows.items()}
    both = (_direction("sent", sent, speeds), _direction("received", received, speeds))
    for way in both:
        idle = way.idle(limits)
        if idle:
            full = way.shares[way.fullest] or 0.0
            turn = bond.mode == _EVEN and way.word == "sent"
            if turn or full >= limits["full"]:
                return _unbalanced(window, bond, way, idle, limits, seconds)
    spread = ", ".join(f"{way.word} {_percents(way)}" for way in both)
    return RuledOut(bond.interface, f"all {len(slaves)} links up; {spread}")


def _direction(word: str, rates: Mapping[str, float], speeds: Mapping[str, int]) -> _Direction:
    return _Direction(
        word, rates, {name: rate / speeds[name] if name in speeds else None for name, rate in rates.items()}
    )


def _percents(way: _Direction) -> str:
    total = sum(way.rates.values())
    if not total:
        return "nothing"
    return " + ".join(f"{human.percent(rate / total)} %" for rate in way.rates.values())


def _unbalanced(
    window: Window, bond: Bond, way: _Direction, idle: Sequence[str], limits: Limits, seconds: float
) -> Finding:
    full = way.fullest
    share = way.shares[full]
    line = f", {human.percent(share)} % of its line" if share is not None else ""
    rate = human.quantity(way.rates[full], "bytes_per_second")
    rows = [row for name in (full, *idle[:3]) if (row := window.get(InterfaceActivity, name)) is not None]
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        cause=f"{human.safe(full)} {way.word} {rate}{line}, {human.safe(', '.join(idle[:3]))} next to nothing "
        f"({human.safe(bond.mode or '')}, {human.duration(seconds)})",
        values=(
            Value("share", f"share of the line of {full}, {way.word}", share, "ratio", above=limits["full"]),
            Value("rate", f"{way.word} by {full}", way.rates[full], "bytes_per_second"),
            Value("idle", f"{way.word} by {idle[0]}", way.rates[idle[0]], "bytes_per_second"),
            Value("policy", "transmit hash policy", bond.hash_policy),
        ),
        evidence=cites(*map(window.cite, rows), window.cite(bond, "mode")),
        advice=tuple(_advice(bond, way, idle)),
        refuted_by="a single connection, which no bond spreads, that carries all of it",
        explains=(f"link-saturated:{full}",),
    )


def _advice(bond: Bond, way: _Direction, idle: Sequence[str]) -> Iterator[str]:
    name = quoted(bond.interface)
    if way.word == "received":
        yield "change the switch's load balancing to addresses and ports: it chooses the link of incoming frames"
    elif bond.mode == _EVEN:
        yield f"ethtool -S {operand(idle[0])}   # what balance-rr sends there is lost or refused"
    else:
        yield f"cat /sys/class/net/{name}/bonding/xmit_hash_policy   # layer3+4 spreads connections to one peer"
    yield f"ss -tin state established   # how many connections there are; one uses one slave of {name}"


def _uneven_speeds(window: Window, bond: Bond, speeds: Mapping[str, int], interfaces: Sequence[Interface]) -> Finding:
    slowest = min(speeds, key=lambda name: speeds[name])
    fastest = max(speeds, key=lambda name: speeds[name])
    slow, fast = (human.quantity(speeds[name], "bytes_per_second") for name in (slowest, fastest))
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        cause=f"{human.safe(slowest)} negotiated {slow}, {human.safe(fastest)} {fast}",
        values=(
            Value("slowest", f"speed of {slowest}", speeds[slowest], "bytes_per_second", above=speeds[fastest]),
            Value("fastest", f"speed of {fastest}", speeds[fastest], "bytes_per_second"),
        ),
        evidence=cites(*(window.cite(row, "speed") for row in interfaces[:4])),
        advice=(f"ethtool {operand(slowest)}   # what both ends advertise; then the cable and the module",),
        refuted_by=f"the same speed of all slaves in /sys/class/net/{slowest}/speed",
    )


def _sum(numbers: Iterator[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


BOND_UNBALANCED = Rule(
    "bond-unbalanced",
    "a bond's links do not share the load: one is down, outside the LACP group, slower or unused",
    Severity.CRITICAL,
    _check,
    (Bond,),
    (
        Threshold("idle", 0.05, "part of an even share below which a slave counts as unused", "ratio"),
        Threshold("full", 0.85, "share of its line from which a slave is full, while another is unused", "ratio"),
        Threshold(
            "rate", 10e6, "traffic of the bond in one direction, below which nothing is compared", "bytes_per_second"
        ),
        Threshold("seconds", 10.0, "time over which traffic is compared", "seconds"),
    ),
    covers=(Covers(Bond),),
)
