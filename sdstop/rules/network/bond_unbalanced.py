"""Bonds whose slaves do not share the load: a link down, outside the LACP group, of another speed, or unused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.network.interfaces import Interface, InterfaceActivity
from sdstop.collectors.network.links import Bond, BondSlave
from sdstop.core import format as human
from sdstop.core.advice import Advice, ShellCommand, operands, run
from sdstop.core.averages import fmean
from sdstop.core.finding import (
    Covers,
    Damage,
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
            yield Unchecked("no slaves", bond.interface, calm=True)
        elif down:
            yield _down(window, bond, slaves, down)
        elif bond.link == "down":
            yield _cut_off(window, bond, slaves)
        elif unknown:
            yield Unchecked(f"link of {', '.join(map(human.safe, unknown[:4]))} unknown", bond.interface)
        elif bond.mode is None:
            yield Unchecked("mode unknown", bond.interface)
        elif bond.mode == _LACP and (silent := [slave for slave in slaves if _is_silent(slave)]):
            yield _silent(window, bond, slaves, silent)
        elif bond.mode == _LACP and len({slave.aggregator for slave in slaves} - {None}) > 1:
            yield _split(window, bond, slaves)
        elif fewer := _fewer(window, bond, slaves, standby):
            yield fewer
        elif bond.miimon == 0 and len(slaves) > 1:
            yield _unmonitored(bond, window, slaves)
        elif len(slaves) == 1 or bond.mode in _ONE:
            yield RuledOut(bond.interface, f"{len(slaves)} of {len(slaves)} links up, {human.safe(bond.mode)}")
        else:
            yield _shared(window, bond, slaves, limits)


class _Fault(Struct, frozen=True, kw_only=True):
    """Reason for which slaves carry no frames: the value that counts them, the field that shows it, and the texts."""

    name: str
    counts: str
    field: str
    title: str
    cause: str
    advice: tuple[Advice, ...]
    refuted_by: str
    damage: Damage


def _without(
    window: Window,
    bond: Bond,
    slaves: Sequence[BondSlave],
    out: Sequence[BondSlave],
    fault: _Fault,
    values: Sequence[Value] = (),
) -> Finding:
    """Return the finding about a bond in which the slaves `out` carry no frames."""
    left = len(slaves) - len(out)
    failed = fault.damage is Damage.REDUNDANCY
    impact = f"{left} of {human.plural(len(slaves), 'link')} {'carries' if left == 1 else 'carry'} all frames"
    if not left:
        impact = "The bond carries no frames"
    elif failed and left == 1:
        impact += "; the next failure stops them"
    return Finding(
        severity=Severity.WARNING if left else Severity.CRITICAL,
        subject=bond.interface,
        title=fault.title if left or not failed else "NO LINK LEFT",
        cause=fault.cause,
        impact=f"{impact}.",
        values=(
            Value(fault.name, fault.counts, len(out), "", of=len(slaves)),
            Value("slaves", "slaves", len(slaves)),
            Value("outside", "interfaces", ", ".join(slave.interface for slave in out[:8])),
            *values,
        ),
        evidence=cites(*(window.cite(slave, fault.field) for slave in out[:4]), window.cite(bond, "mode")),
        advice=fault.advice,
        refuted_by=fault.refuted_by,
        damage=fault.damage if left else Damage.AVAILABILITY,
    )


def _listed(slaves: Sequence[BondSlave]) -> str:
    names = ", ".join(human.safe(slave.interface) for slave in slaves[:2])
    return names if len(slaves) < 3 else f"{names} and {len(slaves) - 2} more"


def _state_of(bond: Bond, note: str) -> ShellCommand:
    return run("cat", f"/proc/net/bonding/{bond.interface}", note=note)


def _kernel_log(name: str, note: str) -> ShellCommand:
    return run("journalctl", "-k", note=note).pipe("grep", "-w", *operands(name))


def _down(window: Window, bond: Bond, slaves: Sequence[BondSlave], down: Sequence[BondSlave]) -> Finding:
    first = down[0].interface
    fault = _Fault(
        name="down",
        counts="links down",
        field="link",
        title="LINK OF THE BOND DOWN",
        cause=f"Link down: {_listed(down)}.",
        advice=(
            run("ethtool", *operands(first), note="link, cable, module, switch port"),
            _kernel_log(first, "time of the failure"),
        ),
        refuted_by=f"up in /sys/class/net/{first}/bonding_slave/mii_status",
        damage=Damage.REDUNDANCY,
    )
    failures = _sum(slave.link_failures for slave in down)
    found = _without(window, bond, slaves, down, fault, [Value("failures", "failures of these links", failures)])
    return replace(found, harmless_if="the slave was unplugged on purpose")


def _fewer(window: Window, bond: Bond, slaves: Sequence[BondSlave], standby: Sequence[BondSlave]) -> Finding | None:
    """Return the finding of a bond that has or uses fewer slaves than it was given, None for others."""
    if left := _left(window, bond, slaves):
        return _smaller(window, bond, slaves, left)
    return _standby(window, bond, slaves, standby) if standby else None


def _left(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> list[str]:
    """Return the slaves that the bond had earlier in the window: one whose driver gives it up just disappears."""
    moments = window.moments(BondSlave)
    first = moments[0].rows.values() if moments else ()
    return sorted({row.interface for row in first if row.bond == bond.interface} - {row.interface for row in slaves})


def _smaller(window: Window, bond: Bond, slaves: Sequence[BondSlave], left: Sequence[str]) -> Finding:
    total = len(slaves) + len(left)
    next_one = "; the next failure stops them" if len(slaves) == 1 else ""
    return Finding(
        severity=Severity.WARNING,
        subject=bond.interface,
        title="SLAVE LEFT THE BOND",
        cause=f"{human.listed([human.safe(name) for name in left], 2, 40)} left the bond while watched.",
        impact=f"{len(slaves)} of {total} links left{next_one}.",
        values=(
            Value("left", "slaves that left", len(left), "", of=total),
            Value("slaves", "slaves", len(slaves)),
            Value("outside", "interfaces", ", ".join(left[:8])),
        ),
        evidence=cites(*(window.cite(slave) for slave in slaves[:1]), window.cite(bond, "mode")),
        advice=(
            run("ip", "link", "show", note="whether the interface is still there"),
            _kernel_log(left[0], "why its driver gave it up"),
        ),
        refuted_by=f"the interface in /sys/class/net/{bond.interface}/bonding/slaves",
        harmless_if="an administrator took it out of the bond",
        damage=Damage.REDUNDANCY,
    )


def _standby(window: Window, bond: Bond, slaves: Sequence[BondSlave], standby: Sequence[BondSlave]) -> Finding:
    fault = _Fault(
        name="standby",
        counts="inactive slaves",
        field="state",
        title="INACTIVE SLAVE",
        cause=f"Link up but inactive: {_listed(standby)}.",
        advice=(_state_of(bond, "state and LACP partner"),),
        refuted_by=f"active in /sys/class/net/{standby[0].interface}/bonding_slave/state",
        damage=Damage.SPEED,
    )
    return _without(window, bond, slaves, standby, fault)


def _split(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    groups = Counter(slave.aggregator for slave in slaves)
    main = max(groups, key=lambda each: (groups[each], -(each or 0)))
    out = [slave for slave in slaves if slave.aggregator != main]
    partners = {slave.partner for slave in slaves} - {None}
    cause = f"Outside the main LACP aggregator: {_listed(out)}."
    if len(partners) > 1:
        cause = f"{_listed(out)} {'leads' if len(out) == 1 else 'lead'} to another LACP partner than the other slaves."
    fault = _Fault(
        name="out",
        counts="slaves outside the main aggregator",
        field="aggregator",
        title="SLAVE OUTSIDE THE LACP GROUP",
        cause=cause,
        advice=(
            _state_of(bond, "partner Mac Address and key"),
            "Compare the switch ports: one port channel, LACP active, same speed, both ends of each cable.",
        ),
        refuted_by=f"the same aggregator ID of all slaves in /proc/net/bonding/{bond.interface}",
        damage=Damage.SPEED,
    )
    return _without(window, bond, slaves, out, fault, [
        Value("aggregators", "aggregators", len(groups), "", above=1),
        Value("partners", "LACP partners", len(partners) or None),
    ])  # fmt: skip


_NO_PARTNER = "00:00:00:00:00:00"
_DEFAULTED, _EXPIRED = 0x40, 0x80
"""Bits of a port's state (IEEE 802.1AX, 6.4.2.3): no partner is known, and the known one fell silent."""


def _is_silent(slave: BondSlave) -> bool:
    """Return whether no LACP frames arrive on a slave."""
    return slave.partner == _NO_PARTNER or bool((slave.port_state or 0) & (_DEFAULTED | _EXPIRED))


def _silent(window: Window, bond: Bond, slaves: Sequence[BondSlave], silent: Sequence[BondSlave]) -> Finding:
    fault = _Fault(
        name="silent",
        counts="slaves without an LACP partner",
        field="partner" if silent[0].port_state is None else "port_state",
        title="NO LACP PARTNER",
        cause=f"Link up, but no LACP frames from the switch: {_listed(silent)}.",
        advice=(
            _state_of(bond, "partner Mac Address, port state"),
            "Configure LACP on these switch ports, in the same port channel.",
        ),
        refuted_by=f"a partner of each slave in /proc/net/bonding/{bond.interface}",
        damage=Damage.REDUNDANCY,
    )
    partners = {slave.partner for slave in slaves} - {None, _NO_PARTNER}
    found = _without(window, bond, slaves, silent, fault, [Value("partners", "LACP partners", len(partners) or None)])
    if len(silent) < len(slaves):
        return found
    # Without any partner the bond still uses one slave, as if it were an interface without LACP.
    impact = f"At most 1 of {human.plural(len(slaves), 'link')} carries frames."
    return replace(found, title="NO LACP PARTNER ON ANY SLAVE", severity=Severity.WARNING, impact=impact,
                   damage=Damage.REDUNDANCY)  # fmt: skip


def _cut_off(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=bond.interface,
        title="BOND DOWN, SLAVES UP",
        cause=f"The bond has no link, its {human.plural(len(slaves), 'slave')} {_have(len(slaves))} one.",
        impact="The bond carries no frames.",
        values=(Value("slaves", "slaves with a link", len(slaves), "", of=len(slaves)),),
        evidence=cites(window.cite(bond, "link"), *(window.cite(slave, "link") for slave in slaves[:4])),
        advice=(
            _state_of(bond, "min_links, LACP, ARP targets"),
            _kernel_log(bond.interface, "time of the failure"),
        ),
        refuted_by=f"up in /sys/class/net/{bond.interface}/bonding/mii_status",
        damage=Damage.AVAILABILITY,
    )


def _unmonitored(bond: Bond, window: Window, slaves: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond that does not check the links of its slaves, which thus are always up."""
    return Finding(
        severity=Severity.INFO,
        subject=bond.interface,
        title="LINKS OF THE BOND NOT MONITORED",
        cause="miimon is 0: the bond does not check the carrier of its slaves.",
        impact="Without ARP monitoring, a slave that loses its link is still used.",
        values=(Value("slaves", "slaves", len(slaves)),),
        evidence=cites(window.cite(bond, "miimon"), window.cite(bond)),
        advice=("Set miimon to 100 in the configuration of the bond.", _state_of(bond, "MII Polling Interval")),
        refuted_by=f"a number above 0 in /sys/class/net/{bond.interface}/bonding/miimon",
        harmless_if="arp_interval of the bond is set",
        damage=Damage.REDUNDANCY,
        standing=True,
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
        yield "Set the switch's load balancing to addresses and ports."
        yield "The switch chooses the link of incoming frames."
    elif bond.mode == _EVEN:
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


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _sum(numbers: Iterator[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


BOND_UNBALANCED = Rule(
    "bond-unbalanced",
    "bond with a link that is down, outside the LACP group, slower or unused",
    Severity.CRITICAL,
    _check,
    (Bond,),
    (
        Threshold("idle", 0.05, "part of an even share below which a slave is unused", "ratio"),
        Threshold("full", 0.85, "utilization above which a slave is full", "ratio"),
        Threshold("rate", 10e6, "minimum traffic of the bond in one direction", "bytes_per_second"),
        Threshold("seconds", 10.0, "minimum time over which traffic is compared", "seconds"),
    ),
    covers=(Covers(Bond),),
    view="network",
    advice="Use a hash over ports (layer3+4) to spread connections to one peer.",
)
