"""Readings of network interfaces: their state, counters and links."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, files, recorded

CLASS = "/sys/class/net"
FOLDER = "/proc/net/bonding"
PROC_DEV = "/proc/net/dev"
STATISTICS = {
    "rx_errors": "rx_errors", "rx_dropped": "rx_dropped", "rx_missed": "rx_missed_errors",
    "rx_over": "rx_over_errors", "rx_length": "rx_length_errors", "rx_crc": "rx_crc_errors",
    "rx_frame": "rx_frame_errors", "rx_fifo": "rx_fifo_errors", "rx_nohandler": "rx_nohandler",
    "tx_errors": "tx_errors", "tx_dropped": "tx_dropped", "tx_carrier": "tx_carrier_errors",
    "tx_fifo": "tx_fifo_errors", "collisions": "collisions",
}  # fmt: skip
"""Counter fields of Interface and their files in /sys/class/net/X/statistics."""
_AWAY = frozenset({"down", "notpresent", "lowerlayerdown"})


class Interface(Reading, frozen=True):
    """A network interface: its kind, its link and its individual error counters.

    Read from /sys/class/net/X (kernel net/core/net-sysfs.c) every 10 s, and at once when an interface appears,
    disappears or changes state. `speed` is None unless measured or negotiated: virtual interfaces report a made-up one.
    """

    family: ClassVar[str] = "interface"
    title: ClassVar[str] = "Network interfaces"
    rows_of = (Source("{told}", "{interface}"), Source(f"{CLASS}/{{interface}}/operstate"))
    fields_of = recorded(
        "{interface}",
        files(f"{CLASS}/{{interface}}", "carrier", "carrier_changes", "mtu", "speed", "duplex", "ifindex")
        | files(f"{CLASS}/{{interface}}", interface="uevent", kind="uevent", up="flags", mac="address")
        | files(f"{CLASS}/{{interface}}/statistics", **STATISTICS)
        | {
            "master": Source(f"link:{CLASS}/{{interface}}/master"),
            "driver": Source(f"link:{CLASS}/{{interface}}/device/driver"),
            "parent": Source(f"list:{CLASS}/{{interface}}", "lower_{parent}"),
        },
    )
    things: ClassVar = {
        "interface": Identity(
            Stated("kind", {"bond": ThingKind.BOND, "team": ThingKind.BOND}, ThingKind.NIC), Naming.NET
        ),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    kind: Annotated[
        str,
        Fact(
            "Kind", "physical, bond, bridge, vlan, veth, macvlan, vxlan, tun, team, loopback, virtual ...", plain=True
        ),
    ]
    operstate: Annotated[
        str | None,
        State(
            "State", "Operational state: up, down, unknown, dormant, lowerlayerdown, notpresent, testing", detail=True
        ),
    ]
    up: Annotated[bool | None, Metric("Up", "Whether the interface is administratively up", export=True, detail=True)]
    carrier: Annotated[bool | None, Metric("Carrier", "Whether the link is up (carrier)")]
    carrier_changes: Annotated[
        int | None, Metric("Carrier changes", "Changes of the carrier since boot", kind=Kind.COUNTER)
    ]
    mtu: Annotated[int | None, Metric("MTU", "MTU of the interface", "bytes", exact=True, setting=True)]
    speed: Annotated[
        int | None, Metric("Speed", "Line speed of the interface in one direction", "bytes_per_second", setting=True)
    ]
    duplex: Annotated[str | None, Fact("Duplex", "full or half", plain=True)]
    master: Annotated[
        str | None, Fact("Master", "Bond, bridge or team that contains the interface", names=Name.INTERFACE)
    ]
    parent: Annotated[str | None, Fact("Parent", "Lower interface (vlan, macvlan)", names=Name.INTERFACE)]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver of a physical interface", plain=True)]
    mac: Annotated[str | None, Fact("Address", "Hardware address", export=False, names=Name.IDENTIFIER)]
    ifindex: Annotated[int | None, Metric("Index", "Interface number", export=False)]
    rx_errors: Annotated[int | None, Metric("RX errors", "Receive errors of any kind", kind=Kind.COUNTER, detail=True)]
    rx_dropped: Annotated[
        int | None,
        Metric(
            "RX dropped",
            "Received frames dropped by the host: no buffer, or unknown protocol",
            kind=Kind.COUNTER,
            detail=True,
        ),
    ]
    rx_missed: Annotated[
        int | None,
        Metric("RX missed", "Received frames missed for lack of buffers (rx_missed_errors)", kind=Kind.COUNTER),
    ]
    rx_over: Annotated[
        int | None, Metric("RX overflow", "Received frames lost to receiver overruns", kind=Kind.COUNTER, detail=True)
    ]
    rx_length: Annotated[
        int | None,
        Metric(
            "RX length", "Received frames of a wrong length, mostly larger than the MTU", kind=Kind.COUNTER, detail=True
        ),
    ]
    rx_crc: Annotated[int | None, Metric("RX CRC", "Received frames with a wrong checksum", kind=Kind.COUNTER)]
    rx_frame: Annotated[
        int | None, Metric("RX alignment", "Received frames with an alignment error", kind=Kind.COUNTER, detail=True)
    ]
    rx_fifo: Annotated[int | None, Metric("RX FIFO", "Received frames lost in the card's queue", kind=Kind.COUNTER)]
    rx_nohandler: Annotated[
        int | None,
        Metric(
            "RX no handler", "Frames received on an inactive bond slave (rx_nohandler)", kind=Kind.COUNTER, detail=True
        ),
    ]
    tx_errors: Annotated[int | None, Metric("TX errors", "Transmit errors of any kind", kind=Kind.COUNTER, detail=True)]
    tx_dropped: Annotated[
        int | None, Metric("TX dropped", "Frames dropped before they were sent", kind=Kind.COUNTER, detail=True)
    ]
    tx_carrier: Annotated[
        int | None, Metric("TX carrier", "Frames not sent because the link failed", kind=Kind.COUNTER, detail=True)
    ]
    tx_fifo: Annotated[
        int | None, Metric("TX FIFO", "Frames not sent because the card's queue failed", kind=Kind.COUNTER, detail=True)
    ]
    collisions: Annotated[int | None, Metric("Collisions", "Collisions (half duplex)", kind=Kind.COUNTER, detail=True)]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None

    @property
    def active(self) -> bool:
        """Whether the interface can carry traffic: up, and not known to lack a link."""
        return self.up is not False and self.carrier is not False and self.operstate not in _AWAY


class Traffic(Reading, frozen=True):
    """Traffic counters of an interface since its creation, from /proc/net/dev every second.

    The kernel combines counters here: `rx_dropped` includes frames missed by the card, `rx_frame` frames with a wrong
    length, a bad checksum or an overrun; Interface has them separately.
    """

    family: ClassVar[str] = "interface_traffic"
    title: ClassVar[str] = "Interface traffic"
    rows_of = (Source("{told}", "{interface}"), Source(PROC_DEV, "{interface}:"))
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    rx_bytes: Annotated[int, Metric("RX", "Bytes received", "bytes", kind=Kind.COUNTER)]
    rx_packets: Annotated[int, Metric("RX packets", "Packets received", kind=Kind.COUNTER)]
    rx_errors: Annotated[int, Metric("RX errors", "Receive errors", kind=Kind.COUNTER, export=False)]
    rx_dropped: Annotated[
        int, Metric("RX dropped", "Packets dropped or missed on receipt", kind=Kind.COUNTER, export=False)
    ]
    rx_fifo: Annotated[
        int | None, Metric("RX FIFO", "Packets lost in the receive queue", kind=Kind.COUNTER, export=False)
    ]
    rx_frame: Annotated[
        int | None,
        Metric("RX frame", "Packets with a wrong length or checksum, or overrun", kind=Kind.COUNTER, export=False),
    ]
    rx_multicast: Annotated[int, Metric("RX multicast", "Multicast packets received", kind=Kind.COUNTER)]
    tx_bytes: Annotated[int, Metric("TX", "Bytes sent", "bytes", kind=Kind.COUNTER)]
    tx_packets: Annotated[int, Metric("TX packets", "Packets sent", kind=Kind.COUNTER)]
    tx_errors: Annotated[int, Metric("TX errors", "Transmit errors", kind=Kind.COUNTER, export=False)]
    tx_dropped: Annotated[int, Metric("TX dropped", "Packets dropped on sending", kind=Kind.COUNTER, export=False)]
    tx_fifo: Annotated[int | None, Metric("TX FIFO", "Packets lost in the send queue", kind=Kind.COUNTER, export=False)]
    tx_collisions: Annotated[int, Metric("Collisions", "Collisions", kind=Kind.COUNTER, export=False)]
    tx_carrier: Annotated[
        int | None,
        Metric(
            "TX carrier",
            "Carrier lost, aborted, window and heartbeat errors",
            kind=Kind.COUNTER,
            export=False,
        ),
    ]
    told: Annotated[str | None, Fact("Source", "Evidence, if not /proc/net/dev", export=False, names=Name.EVIDENCE)] = (
        None
    )


class InterfaceActivity(Reading, frozen=True):
    """Traffic rates of an interface between two samples of /proc/net/dev."""

    family: ClassVar[str] = "interface_activity"
    title: ClassVar[str] = "Interface activity"
    exported: ClassVar[bool] = False
    rows_of = Source(PROC_DEV, "{interface}:")
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    rx_bytes_per_second: Annotated[float, Metric("RX", "Bytes received per second", "bytes_per_second")]
    tx_bytes_per_second: Annotated[float, Metric("TX", "Bytes sent per second", "bytes_per_second")]
    rx_packets_per_second: Annotated[float, Metric("RX pkt/s", "Packets received per second", "per_second")]
    tx_packets_per_second: Annotated[float, Metric("TX pkt/s", "Packets sent per second", "per_second")]
    rx_size: Annotated[float | None, Metric("RX size", "Mean size of a received packet", "bytes")]
    tx_size: Annotated[float | None, Metric("TX size", "Mean size of a sent packet", "bytes")]
    rx_errors_per_second: Annotated[float, Metric("RX err/s", "Receive errors per second", "per_second")]
    tx_errors_per_second: Annotated[float, Metric("TX err/s", "Transmit errors per second", "per_second")]
    rx_dropped_per_second: Annotated[float, Metric("RX drop/s", "Dropped or missed packets per second", "per_second")]
    tx_dropped_per_second: Annotated[float, Metric("TX drop/s", "Packets dropped on sending", "per_second")]


class InterfaceLink(Reading, frozen=True):
    """A pair of stacked interfaces: frames of `upper` pass through `interface`.

    `relation` is the kind of `upper`: bond, bridge, team, vlan, macvlan ... For the two ends of a veth pair it is
    "veth", and the pair is listed once, ordered by name.
    """

    family: ClassVar[str] = "interface_link"
    title: ClassVar[str] = "Interface relations"
    things: ClassVar = {
        "upper": Identity(None, Naming.NET),
        "interface": Identity(None, Naming.NET),
    }
    joins = (
        Join(
            "upper",
            "interface",
            Stated(
                "relation",
                {"bond": Relation.MEMBER, "team": Relation.MEMBER, "veth": None},
                Relation.CARRIED,
            ),
        ),
    )

    interface: Annotated[
        str, Label("Interface", "The lower interface, or one end of a veth pair", names=Name.INTERFACE)
    ]
    upper: Annotated[str, Label("Upper", "Interface above it, or the other end", names=Name.INTERFACE)]
    relation: Annotated[str, Label("Relation", "bond, bridge, team, vlan, macvlan, ipvlan, veth ...", plain=True)]

    def source(self, field: str = "") -> Source | None:
        """Return the entry in the lower interface's directory."""
        del field
        if self.relation == "veth":
            return Source(f"{CLASS}/{self.interface}/iflink")
        return Source(f"list:{CLASS}/{self.interface}", f"upper_{self.upper}")


class Bond(Reading, frozen=True):
    """A bond, from /sys/class/net/X/bonding (kernel drivers/net/bonding/bond_sysfs.c)."""

    family: ClassVar[str] = "bond"
    title: ClassVar[str] = "Bonds"
    rows_of = (Source("{told}", "{interface}"), Source(f"{CLASS}/{{interface}}/bonding/slaves"))
    fields_of = recorded(
        "{interface}",
        files(
            f"{CLASS}/{{interface}}/bonding",
            "mode",
            "active_slave",
            "miimon",
            hash_policy="xmit_hash_policy",
            link="mii_status",
        ),
    )
    things: ClassVar = {
        "interface": Identity(ThingKind.BOND, Naming.NET),
    }
    traits: ClassVar = {"layout": "mode"}

    interface: Annotated[str, Label("Bond", "Kernel name of the bond", names=Name.INTERFACE)]
    mode: Annotated[str | None, Fact("Mode", "balance-rr, active-backup, 802.3ad ...", plain=True)]
    hash_policy: Annotated[
        str | None, Fact("Hash", "Hash policy that spreads frames over the slaves: layer2, layer3+4 ...", plain=True)
    ]
    active_slave: Annotated[
        str | None, Fact("Active", "Active slave, in modes with a single one", export=False, names=Name.INTERFACE)
    ]
    link: Annotated[str | None, State("Link", "Link state of the bond: up, down")]
    slaves: Annotated[int | None, Metric("Slaves", "Number of interfaces in the bond", setting=True)]
    miimon: Annotated[
        float | None, Metric("Link check", "Interval of the link check; 0 without one", "seconds", setting=True)
    ]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None


class BondSlave(Reading, frozen=True):
    """A slave interface of a bond, from /sys/class/net/X/bonding_slave."""

    family: ClassVar[str] = "bond_slave"
    title: ClassVar[str] = "Bond slaves"
    rows_of = (Source("{told}", "{interface}"), Source(f"{CLASS}/{{bond}}/bonding/slaves", "{interface}"))
    fields_of = recorded(
        "{interface}",
        files(
            f"{CLASS}/{{interface}}/bonding_slave",
            "state",
            link="mii_status",
            link_failures="link_failure_count",
            aggregator="ad_aggregator_id",
            port_state="ad_actor_oper_port_state",
        )
        | {"partner": Source(f"{FOLDER}/{{bond}}", "{partner}")},
    )
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
        "bond": Identity(ThingKind.BOND, Naming.NET),
    }
    joins = (Join("bond", "interface", Relation.MEMBER),)
    peers = (
        Peers(
            kind=GroupKind.SLAVES,
            upper="bond",
            member="interface",
            only=Stated("link", {"down": False, "going down": False}, True),  # noqa: FBT003
        ),
    )

    bond: Annotated[str, Label("Bond", "Kernel name of the bond", names=Name.INTERFACE)]
    interface: Annotated[str, Label("Slave", "Kernel name of the slave", names=Name.INTERFACE)]
    state: Annotated[str | None, State("State", "State of the slave: active or backup")]
    link: Annotated[str | None, State("Link", "Link state of the slave: up, down, going down, going back")]
    link_failures: Annotated[int | None, Metric("Failures", "Link failures of the slave", kind=Kind.COUNTER)]
    aggregator: Annotated[int | None, Metric("Aggregator", "802.3ad aggregator of the slave", export=False)]
    partner: Annotated[
        str | None,
        Fact("Partner", "802.3ad: address of the switch at the other end", export=False, names=Name.IDENTIFIER),
    ] = None
    port_state: Annotated[
        int | None,
        Metric(
            "Port state",
            "802.3ad state of the slave's port; bit 64: no partner is known, bit 128: it fell silent",
            exact=True,
        ),
    ] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None


class InterfaceCard(Reading, frozen=True, kw_only=True):
    """Settings of a network card, from recorded output of ethtool: -i, -g, -k."""

    family: ClassVar[str] = "interface_card"
    title: ClassVar[str] = "Network cards"
    rows_of = Source("{told}", "{interface}")
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver", plain=True)]
    firmware: Annotated[str | None, Fact("Firmware", "Firmware version", plain=True)]
    bus: Annotated[str | None, Fact("Bus", "PCI address", plain=True)]
    autoneg: Annotated[str | None, Fact("Autoneg.", "Whether speed and duplex are negotiated: on, off", plain=True)]
    rx_ring: Annotated[int | None, Metric("RX ring", "Descriptors of the receive ring", setting=True)]
    rx_ring_maximum: Annotated[int | None, Metric("RX max.", "Maximum descriptors of the receive ring")]
    tx_ring: Annotated[int | None, Metric("TX ring", "Descriptors of the send ring", setting=True)]
    tx_ring_maximum: Annotated[int | None, Metric("TX max.", "Maximum descriptors of the send ring")]
    off: Annotated[
        str | None,
        Fact("Off", "Offloads that are off: segmentation and checksums, separated by commas", plain=True),
    ]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]


class InterfaceFault(Reading, frozen=True):
    """A counter of errors, drops or pauses of a network card's driver that is not 0, from recorded `ethtool -S`."""

    family: ClassVar[str] = "interface_fault"
    title: ClassVar[str] = "Error counters of network cards"
    crowded: ClassVar[bool] = True
    rows_of = Source("{told}", "{counter}:")
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    counter: Annotated[str, Label("Counter", "Name that the driver gives it", plain=True)]
    count: Annotated[int, Metric("Count", "Value of the counter", kind=Kind.COUNTER)]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]


class PauseFrames(Reading, frozen=True):
    """Frames of IEEE 802.3x and of priority flow control (PFC), as the driver of a network card counts them.

    Drivers have their own names (`rx_pause_ctrl_phy`, `tx_flow_control_xoff`, `rx_prio3_pause`). Counts of priorities
    are added up; of these and of the counts of all, the larger one is used, because they count the same frames.
    """

    family: ClassVar[str] = "pause_frames"
    title: ClassVar[str] = "Pause frames"
    remembered: ClassVar[int] = 32
    rows_of = Source("cmd:ethtool --statistics {interface}")
    things: ClassVar = {"interface": Identity(None, Naming.NET)}

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    received: Annotated[
        int | None, Metric("Received", "Pause frames received: the switch stopped this node", kind=Kind.COUNTER)
    ]
    sent: Annotated[int | None, Metric("Sent", "Pause frames sent: this node stopped the switch", kind=Kind.COUNTER)]
