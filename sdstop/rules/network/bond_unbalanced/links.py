"""Bonds with links that carry no frames: down, gone, inactive, outside the LACP group, not monitored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.network.readings import Bond, BondSlave
from sdstop.core import format as human
from sdstop.core.advice import Advice, ShellCommand, operands, run
from sdstop.core.finding import (
    Damage,
    Finding,
    Severity,
    Value,
    cites,
)
from sdstop.core.history import Window


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


def state_of(bond: Bond, note: str) -> ShellCommand:
    """Return the command that prints the state of a bond."""
    return run("cat", f"/proc/net/bonding/{bond.interface}", note=note)


def _kernel_log(name: str, note: str) -> ShellCommand:
    return run("journalctl", "-k", note=note).pipe("grep", "-w", *operands(name))


def links_down(window: Window, bond: Bond, slaves: Sequence[BondSlave], down: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond with slaves whose link is down."""
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


def fewer_left(window: Window, bond: Bond, slaves: Sequence[BondSlave], standby: Sequence[BondSlave]) -> Finding | None:
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
        advice=(state_of(bond, "state and LACP partner"),),
        refuted_by=f"active in /sys/class/net/{standby[0].interface}/bonding_slave/state",
        damage=Damage.SPEED,
    )
    return _without(window, bond, slaves, standby, fault)


def split_group(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond whose slaves are in several LACP aggregators, of which one carries frames."""
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
            state_of(bond, "partner Mac Address and key"),
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


def is_silent(slave: BondSlave) -> bool:
    """Return whether no LACP frames arrive on a slave."""
    return slave.partner == _NO_PARTNER or bool((slave.port_state or 0) & (_DEFAULTED | _EXPIRED))


def without_partner(window: Window, bond: Bond, slaves: Sequence[BondSlave], silent: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond with slaves on which no LACP frames arrive."""
    fault = _Fault(
        name="silent",
        counts="slaves without an LACP partner",
        field="partner" if silent[0].port_state is None else "port_state",
        title="NO LACP PARTNER",
        cause=f"Link up, but no LACP frames from the switch: {_listed(silent)}.",
        advice=(
            state_of(bond, "partner Mac Address, port state"),
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


def cut_off(window: Window, bond: Bond, slaves: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond that has no link although its slaves have one."""
    return Finding(
        severity=Severity.CRITICAL,
        subject=bond.interface,
        title="BOND DOWN, SLAVES UP",
        cause=f"The bond has no link, its {human.plural(len(slaves), 'slave')} {have(len(slaves))} one.",
        impact="The bond carries no frames.",
        values=(Value("slaves", "slaves with a link", len(slaves), "", of=len(slaves)),),
        evidence=cites(window.cite(bond, "link"), *(window.cite(slave, "link") for slave in slaves[:4])),
        advice=(
            state_of(bond, "min_links, LACP, ARP targets"),
            _kernel_log(bond.interface, "time of the failure"),
        ),
        refuted_by=f"up in /sys/class/net/{bond.interface}/bonding/mii_status",
        damage=Damage.AVAILABILITY,
    )


def unmonitored(bond: Bond, window: Window, slaves: Sequence[BondSlave]) -> Finding:
    """Return the finding of a bond that does not check the links of its slaves, which thus are always up."""
    return Finding(
        severity=Severity.INFO,
        subject=bond.interface,
        title="LINKS OF THE BOND NOT MONITORED",
        cause="miimon is 0: the bond does not check the carrier of its slaves.",
        impact="Without ARP monitoring, a slave that loses its link is still used.",
        values=(Value("slaves", "slaves", len(slaves)),),
        evidence=cites(window.cite(bond, "miimon"), window.cite(bond)),
        advice=("Set miimon to 100 in the configuration of the bond.", state_of(bond, "MII Polling Interval")),
        refuted_by=f"a number above 0 in /sys/class/net/{bond.interface}/bonding/miimon",
        harmless_if="arp_interval of the bond is set",
        damage=Damage.REDUNDANCY,
        standing=True,
    )


def have(count: int) -> str:
    """Return the verb for a number of things."""
    return "has" if count == 1 else "have"


def _sum(numbers: Iterator[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
