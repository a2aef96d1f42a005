"""Share of its line rate that a network interface uses."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.history import Window

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


def line_share(row: InterfaceActivity, interface: Interface, speed: int) -> LineShare:
    """Return the shares of one sample; `speed` is that of the line in bytes per second."""
    rx = (row.rx_bytes_per_second + WIRE * row.rx_packets_per_second) / speed
    tx = (row.tx_bytes_per_second + WIRE * row.tx_packets_per_second) / speed
    return LineShare(rx + tx, rx + tx) if interface.duplex == "half" else LineShare(rx, tx)


def line_shares(window: Window, interface: Interface, readings: int = READINGS) -> Sequence[LineShare]:
    """Return the shares of an interface in its last samples, oldest first; none if its speed is unknown."""
    speed = interface.speed
    if speed is None:
        return ()
    moments = window.moments(InterfaceActivity)[-readings:]
    rows = [row for moment in moments if (row := moment.rows.get(interface.interface)) is not None]
    return [line_share(row, interface, speed) for row in rows]


def full_so_far(window: Window) -> list[str]:
    """Return the links that are full in each of too few samples for a finding."""
    found = []
    for interface in window.rows(Interface).values():
        shares = line_shares(window, interface) if has_line(interface) else ()
        if 0 < len(shares) < READINGS and all(share.most > FULL for share in shares):
            found.append(interface.interface)
    return found
