"""Network interfaces: traffic every second from /proc/net/dev, the state of the links more slowly from sysfs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.model import Fact, Kind, Label, Metric, Reading, Source, State

PROC_DEV = "/proc/net/dev"
CLASS = "/sys/class/net"


@dataclass(frozen=True, slots=True)
class Interface(Reading):
    """A network interface, one row each: what it is, its link, and its error counters one by one.

    From /sys/class/net/X (kernel net/core/net-sysfs.c) every 10 s, at once when an interface comes, goes, or
    changes state. `speed` None where nothing is measured or negotiated: virtual interfaces invent one.
    """

    family: ClassVar[str] = "interface"
    title: ClassVar[str] = "Network interfaces"

    interface: Annotated[str, Label("Interface", "Kernel name of the interface")]
    kind: Annotated[
        str,
        Fact("Kind", "physical, bond, bridge, vlan, veth, macvlan, vxlan, tun, team, loopback, virtual ..."),
    ]
    operstate: Annotated[str | None, State("State", "up, down, unknown, dormant, lowerlayerdown, notpresent, testing")]
    up: Annotated[bool | None, Metric("Up", "1 when the administrator has it up", export=True)]
    carrier: Annotated[bool | None, Metric("Carrier", "1 when there is a link")]
    carrier_changes: Annotated[int | None, Metric("Carrier changes", "Times the link came or went", kind=Kind.COUNTER)]
    mtu: Annotated[int | None, Metric("MTU", "Largest payload of a frame", "bytes")]
    speed: Annotated[int | None, Metric("Speed", "Line speed in one direction", "bytes_per_second")]
    duplex: Annotated[str | None, Fact("Duplex", "full or half")]
    master: Annotated[str | None, Fact("Master", "Bond, bridge or team that it is part of")]
    parent: Annotated[str | None, Fact("Parent", "Interface that it is made on (vlan, macvlan)")]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver of a physical interface")]
    mac: Annotated[str | None, Fact("Address", "Hardware address", export=False)]
    ifindex: Annotated[int | None, Metric("Index", "Interface number", export=False)]
    rx_errors: Annotated[int | None, Metric("RX errors", "Frames received badly, of any kind", kind=Kind.COUNTER)]
    rx_dropped: Annotated[
        int | None,
        Metric(
            "RX dropped",
            "Good frames that nobody took: no room, or a protocol unknown here",
            kind=Kind.COUNTER,
        ),
    ]
    rx_missed: Annotated[int | None, Metric("RX missed", "Frames the card had no buffer for", kind=Kind.COUNTER)]
    rx_over: Annotated[int | None, Metric("RX overflow", "Frames that overran the receiver", kind=Kind.COUNTER)]
    rx_length: Annotated[
        int | None,
        Metric("RX length", "Frames of a wrong length, most often larger than the MTU", kind=Kind.COUNTER),
    ]
    rx_crc: Annotated[int | None, Metric("RX CRC", "Frames damaged on the wire", kind=Kind.COUNTER)]
    rx_frame: Annotated[int | None, Metric("RX alignment", "Frames with a broken end", kind=Kind.COUNTER)]
    rx_fifo: Annotated[int | None, Metric("RX FIFO", "Frames lost in the card's queue", kind=Kind.COUNTER)]
    rx_nohandler: Annotated[
        int | None, Metric("RX no handler", "Frames that came to an inactive slave", kind=Kind.COUNTER)
    ]
    tx_errors: Annotated[int | None, Metric("TX errors", "Frames not sent, of any kind", kind=Kind.COUNTER)]
    tx_dropped: Annotated[int | None, Metric("TX dropped", "Frames dropped before they were sent", kind=Kind.COUNTER)]
    tx_carrier: Annotated[int | None, Metric("TX carrier", "Frames lost because the link failed", kind=Kind.COUNTER)]
    tx_fifo: Annotated[int | None, Metric("TX FIFO", "Frames lost in the card's send queue", kind=Kind.COUNTER)]
    collisions: Annotated[int | None, Metric("Collisions", "Collisions: somebody talks half duplex", kind=Kind.COUNTER)]

    @property
    def active(self) -> bool:
        """Whether it can carry traffic now: up and not known to lack a link."""
        return self.up is not False and self.carrier is not False and self.operstate not in _AWAY

    def source(self, field: str = "") -> Source | None:
        """Return the attribute that holds the field."""
        return Source(f"{CLASS}/{self.interface}/{_ATTRIBUTES.get(field, field or 'operstate')}")


_AWAY = frozenset({"down", "notpresent", "lowerlayerdown"})

STATISTICS = {
    "rx_errors": "rx_errors", "rx_dropped": "rx_dropped", "rx_missed": "rx_missed_errors",
    "rx_over": "rx_over_errors", "rx_length": "rx_length_errors", "rx_crc": "rx_crc_errors",
    "rx_frame": "rx_frame_errors", "rx_fifo": "rx_fifo_errors", "rx_nohandler": "rx_nohandler",
    "tx_errors": "tx_errors", "tx_dropped": "tx_dropped", "tx_carrier": "tx_carrier_errors",
    "tx_fifo": "tx_fifo_errors", "collisions": "collisions",
}  # fmt: skip
"""Fields of Interface that are counters, and their files in /sys/class/net/X/statistics."""

_ATTRIBUTES = {field: f"statistics/{name}" for field, name in STATISTICS.items()} | {
    "up": "flags", "kind": "uevent", "mac": "address", "driver": "device/uevent",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Traffic(Reading):
    """What went through an interface since it was made, one row each, from /proc/net/dev every second.

    The kernel adds up here: `rx_dropped` counts frames that the card missed too, `rx_frame` those of a wrong
    length, with a bad checksum or overrun; Interface has them one by one.
    """

    family: ClassVar[str] = "interface_traffic"
    title: ClassVar[str] = "Interface traffic"

    interface: Annotated[str, Label("Interface", "Kernel name of the interface")]
    rx_bytes: Annotated[int, Metric("RX", "Bytes received", "bytes", kind=Kind.COUNTER)]
    rx_packets: Annotated[int, Metric("RX packets", "Packets received", kind=Kind.COUNTER)]
    rx_errors: Annotated[int, Metric("RX errors", "Packets received badly", kind=Kind.COUNTER, export=False)]
    rx_dropped: Annotated[
        int, Metric("RX dropped", "Packets dropped or missed on receipt", kind=Kind.COUNTER, export=False)
    ]
    rx_fifo: Annotated[int, Metric("RX FIFO", "Lost in the receive queue", kind=Kind.COUNTER, export=False)]
    rx_frame: Annotated[int, Metric("RX frame", "Wrong length, checksum or overrun", kind=Kind.COUNTER, export=False)]
    rx_multicast: Annotated[int, Metric("RX multicast", "Multicast packets received", kind=Kind.COUNTER)]
    tx_bytes: Annotated[int, Metric("TX", "Bytes sent", "bytes", kind=Kind.COUNTER)]
    tx_packets: Annotated[int, Metric("TX packets", "Packets sent", kind=Kind.COUNTER)]
    tx_errors: Annotated[int, Metric("TX errors", "Packets not sent", kind=Kind.COUNTER, export=False)]
    tx_dropped: Annotated[int, Metric("TX dropped", "Packets dropped on sending", kind=Kind.COUNTER, export=False)]
    tx_fifo: Annotated[int, Metric("TX FIFO", "Lost in the send queue", kind=Kind.COUNTER, export=False)]
    tx_collisions: Annotated[int, Metric("Collisions", "Collisions", kind=Kind.COUNTER, export=False)]
    tx_carrier: Annotated[
        int,
        Metric(
            "TX carrier",
            "Carrier lost, aborted, window and heartbeat errors",
            kind=Kind.COUNTER,
            export=False,
        ),
    ]

    def source(self, field: str = "") -> Source | None:
        """Return the interface's line."""
        del field
        return Source(PROC_DEV, f"{self.interface}:")


@dataclass(frozen=True, slots=True)
class InterfaceActivity(Reading):
    """What goes through an interface per second, one row each, between two reads of /proc/net/dev."""

    family: ClassVar[str] = "interface_activity"
    title: ClassVar[str] = "Interface activity"
    exported: ClassVar[bool] = False

    interface: Annotated[str, Label("Interface", "Kernel name of the interface")]
    rx_bytes_per_second: Annotated[float, Metric("RX", "Bytes received per second", "bytes_per_second")]
    tx_bytes_per_second: Annotated[float, Metric("TX", "Bytes sent per second", "bytes_per_second")]
    rx_packets_per_second: Annotated[float, Metric("RX pkt/s", "Packets received per second", "per_second")]
    tx_packets_per_second: Annotated[float, Metric("TX pkt/s", "Packets sent per second", "per_second")]
    rx_size: Annotated[float | None, Metric("RX size", "Bytes of a received packet, on average", "bytes")]
    tx_size: Annotated[float | None, Metric("TX size", "Bytes of a sent packet, on average", "bytes")]
    rx_errors_per_second: Annotated[float, Metric("RX err/s", "Bad packets per second", "per_second")]
    tx_errors_per_second: Annotated[float, Metric("TX err/s", "Unsent packets per second", "per_second")]
    rx_dropped_per_second: Annotated[float, Metric("RX drop/s", "Dropped or missed packets per second", "per_second")]
    tx_dropped_per_second: Annotated[float, Metric("TX drop/s", "Packets dropped on sending", "per_second")]

    def source(self, field: str = "") -> Source | None:
        """Return the interface's line."""
        del field
        return Source(PROC_DEV, f"{self.interface}:")
