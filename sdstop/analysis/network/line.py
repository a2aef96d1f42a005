"""Share of its line rate that a network interface uses."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.history import Moment, Window

WIRE = 24
"""Uncounted bytes per Ethernet frame on the wire: preamble 8, checksum 4, gap 12."""
FULL = 0.85
"""Share of the line rate above which a link is full."""
READINGS = 3
"""Successive samples that show it."""


class LineShare(Struct, frozen=True):
    """Share of the line rate by direction in one sample; half duplex counts both directions in each."""

    rx: float
    tx: float

    @property
    def most(self) -> float:
        """The share of the busier direction."""
        return max(self.rx, self.tx)


def has_line(interface: Interface) -> bool:
    """Return whether an interface has a line of its own that is up."""
    return interface.kind == "physical" and interface.active


def line_share(wire: tuple[float, float], interface: Interface, speed: int) -> LineShare:
    """Return the shares of one sample; `wire` and `speed` are bytes per second, received and sent, and of the line."""
    rx, tx = wire[0] / speed, wire[1] / speed
    return LineShare(rx + tx, rx + tx) if interface.duplex == "half" else LineShare(rx, tx)


def on_wire(moment: Moment[InterfaceActivity], name: str) -> tuple[float, float] | None:
    """Return the bytes per second received and sent on the wire, None without a sample; worked out once per run."""
    known = moment.brief("on wire")
    if name not in known:
        row = moment.rows.get(name)
        known[name] = None if row is None else (
            row.rx_bytes_per_second + WIRE * row.rx_packets_per_second,
            row.tx_bytes_per_second + WIRE * row.tx_packets_per_second,
        )  # fmt: skip
    found: tuple[float, float] | None = known[name]
    return found


def wires(window: Window, name: str, readings: int = READINGS) -> list[tuple[float, float]]:
    """Return the bytes per second on the wire in the last samples, oldest first."""
    found = [on_wire(moment, name) for moment in window.moments(InterfaceActivity)[-readings:]]
    return [each for each in found if each is not None]


def line_shares(window: Window, interface: Interface) -> Sequence[LineShare]:
    """Return the shares of an interface in its last samples, oldest first; none if its speed is unknown."""
    speed = interface.speed
    if speed is None:
        return ()
    return [line_share(wire, interface, speed) for wire in wires(window, interface.interface)]


def full_so_far(window: Window) -> list[str]:
    """Return the links that are full in each of too few samples for a finding."""
    found = []
    for interface in window.rows(Interface).values():
        shares = line_shares(window, interface) if has_line(interface) else ()
        if 0 < len(shares) < READINGS and all(share.most > FULL for share in shares):
            found.append(interface.interface)
    return found
