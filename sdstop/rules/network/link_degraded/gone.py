"""Physical interfaces that left the node while it was watched, as after a fault of the card or its PCIe link.

A bond forgets such a slave: it is complete again, with fewer links. An interface that carried frames until then, or
belonged to a bond, was not taken out on purpose, as far as its last samples show: it is remembered when the window no
longer has a sample with it (see sdstop.core.memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.readings import BondSlave, Interface, InterfaceActivity, Traffic
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window

_SAMPLES = 2
"""Samples of the counters that must lack an interface: sources are not read at the same instant."""
_USED = 3
"""Last samples that must all have frames if the interface was in use."""


def gone_interfaces(window: Window) -> Iterator[Finding]:
    """Yield a finding for each physical interface that was there and is gone; one that was renamed is not."""
    moments, now = window.moments(Interface), window.rows(Interface)
    counters = [moment.rows for moment in window.moments(Traffic)[-_SAMPLES:]]
    if len(moments) < 2 or moments[0].rows is now or not now or len(counters) < _SAMPLES or not all(counters):
        return
    new = {row.mac for name, row in now.items() if name not in moments[0].rows}  # slaves share the address of the bond
    for name, row in moments[0].rows.items():
        if name in now or row.kind != "physical" or row.told is not None or any(name in rows for rows in counters):
            continue
        if row.mac is None or row.mac not in new:
            yield _finding(window, row)


def _finding(window: Window, row: Interface) -> Finding:
    rates = [each for _, each in window.series(InterfaceActivity, row.interface) if each is not None][-_USED:]
    used = len(rates) == _USED and all(each.rx_packets_per_second or each.tx_packets_per_second for each in rates)
    bond = _bond(window, row)
    seen = [moment for moment in window.moments(Traffic) if row.interface in moment.rows]
    seconds = window.now.monotonic - seen[-1].started if seen else 0.0
    when = f"{human.safe(row.interface, 16)} left the node {human.duration(seconds)} ago"
    was = (
        f", a slave of {human.safe(bond, 16)}" if bond else ", which carried frames until then" if used else ", unused"
    )
    return Finding(
        severity=Severity.WARNING if used or bond else Severity.INFO,
        subject=row.interface,
        title="INTERFACE GONE",
        cause=fitting(f"{when}{was}.", f"{when}."),
        impact=(
            "The bond has less bandwidth, and fewer links to lose."
            if bond
            else "Its networks are unreachable through it."
        ),
        values=(
            Value("seconds", "time since the last sample with it", seconds, "seconds"),
            Value("bond", "bond", bond),
            Value("driver", "driver", row.driver),
            Value("speed", "speed", row.speed, "bytes_per_second"),
        ),
        evidence=cites(window.quote("/proc/net/dev")),
        advice=(
            "Find out why the card disappeared: driver, PCIe link or slot.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(row.interface)).pipe("tail", "-40"),
            run("ip", "-br", "link", note="whether it returned under another name"),
        ),
        refuted_by=f"a line of {human.safe(row.interface, 16)} in /proc/net/dev",
        harmless_if="it was moved into a network namespace or a virtual machine",
        damage=Damage.REDUNDANCY if bond else Damage.AVAILABILITY,
        left=(_names(window, row),) if used or bond else (),
    )


def _names(window: Window, row: Interface) -> tuple[str, ...]:
    """Return the names whose return ends the fault: not an address that other slaves of the bond have."""
    others = {other.mac for other in window.rows(Interface).values()}
    return (row.interface,) if row.mac is None or row.mac in others else (row.interface, row.mac)


def _bond(window: Window, row: Interface) -> str | None:
    """Return the bond that had an interface as a slave in its last samples."""
    for moment in reversed(window.moments(BondSlave)):
        for slave in moment.rows.values():
            if slave.interface == row.interface:
                return slave.bond
    return None
