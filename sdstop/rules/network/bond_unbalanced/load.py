"""Load of a bond whose links are all up: slaves that carry far less than their share, or have another speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.network.readings import Bond, BondSlave, Interface, InterfaceActivity
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.averages import fmean
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits

EVEN = "balance-rr"
"""Mode that sends frames over all slaves in turn, whatever connection they belong to."""


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


def shared_load(window: Window, bond: Bond, slaves: Sequence[BondSlave], limits: Limits) -> Verdict:
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
            turn = bond.mode == EVEN and way.word == "sent"
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
    return " + ".join(f"{human.percent(rate / total)}%" for rate in way.rates.values())


def _unbalanced(
    window: Window, bond: Bond, way: _Direction, idle: Sequence[str], limits: Limits, seconds: float
) -> Finding:
    full = way.fullest
    share = way.shares[full]
    rate = human.quantity(way.rates[full], "bytes_per_second")
    even = rate if share is None or share < limits["full"] else f"{human.percent(share)}% of its line"
    rows = [row for name in (full, *idle[:3]) if (row := window.get(InterfaceActivity, name)) is not None]
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        title="BOND UNBALANCED: one slave idle",
        cause=f"{human.safe(full)} {way.word} {even}, {human.safe(idle[0])} almost nothing.",
        impact=f"The bond uses {len(way.rates) - len(idle)} of {len(way.rates)} links in this direction.",
        values=(
            Value("share", f"use of the line of {full}, {way.word}", share, "ratio", above=limits["full"]),
            Value("rate", f"{way.word} by {full}", way.rates[full], "bytes_per_second"),
            Value("idle", f"{way.word} by {idle[0]}", way.rates[idle[0]], "bytes_per_second"),
            Value("mode", "mode of the bond", bond.mode),
            Value("policy", "transmit hash policy", bond.hash_policy),
            Value("seconds", "time compared", seconds, "seconds"),
        ),
        evidence=cites(*map(window.cite, rows), window.cite(bond, "mode")),
        advice=tuple(_advice(bond, way, idle)),
        refuted_by="a single connection that carries all of it, which no bond spreads",
        explains=(f"link-saturated:{full}",),
    )


def _advice(bond: Bond, way: _Direction, idle: Sequence[str]) -> Iterator[Advice]:
    if way.word == "received":
        yield "Set the load balancing of the switch to addresses and ports."
        yield "The switch chooses the link of incoming frames."
    elif bond.mode == EVEN:
        yield run("ethtool", "-S", *operands(idle[0]), note="frames lost or refused there")
    else:
        yield "Set xmit_hash_policy to layer3+4 to spread connections to one peer."
        policy = f"/sys/class/net/{bond.interface}/bonding/xmit_hash_policy"
        yield run("cat", policy, note="the policy in use")
    yield run("ss", "-tin", "state", "established", note="number of connections; one uses one slave")


def _uneven_speeds(window: Window, bond: Bond, speeds: Mapping[str, int], interfaces: Sequence[Interface]) -> Finding:
    slowest = min(speeds, key=lambda name: speeds[name])
    fastest = max(speeds, key=lambda name: speeds[name])
    slow, fast = (human.quantity(speeds[name], "bytes_per_second") for name in (slowest, fastest))
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        title="SLAVES OF DIFFERENT SPEED",
        cause=f"{human.safe(slowest)} negotiated {slow}, {human.safe(fastest)} {fast}.",
        impact=f"Connections on {human.safe(slowest)} get at most {slow}.",
        values=(
            Value("slowest", f"speed of {slowest}", speeds[slowest], "bytes_per_second", below=speeds[fastest]),
            Value("fastest", f"speed of {fastest}", speeds[fastest], "bytes_per_second"),
        ),
        evidence=cites(*(window.cite(row, "speed") for row in interfaces[:4])),
        advice=(
            run("ethtool", *operands(slowest), note="modes that both ends advertise"),
            "Then check the cable and the module.",
        ),
        refuted_by=f"the same speed of all slaves in /sys/class/net/{slowest}/speed",
        standing=True,
    )
