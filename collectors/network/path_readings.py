"""Readings of the node's network: addresses, TCP, paths, statistics of days."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source

TRIE = "/proc/net/fib_trie"
NETSTAT = "/proc/net/netstat"
SNMP = "/proc/net/snmp"
SOFTNET = "/proc/net/softnet_stat"


class NodeAddress(Reading, frozen=True):
    """An address of this node, other than loopback and link-local ones."""

    family: ClassVar[str] = "node_address"
    title: ClassVar[str] = "Addresses of this node"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "address": Identity(ThingKind.PEER, Naming.ADDRESS),
        "interface": Identity(None, Naming.NET),
    }
    joins = (Join("address", "interface", Relation.CARRIED),)

    address: Annotated[str, Label("Address", "IP address", names=Name.IDENTIFIER)]
    interface: Annotated[
        str | None, Fact("Interface", "Interface whose network contains the address", names=Name.INTERFACE)
    ]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = TRIE
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


class Tcp(Reading, frozen=True):
    """Counters of the node's IP stack since boot, from /proc/net/snmp and /proc/net/netstat."""

    family: ClassVar[str] = "tcp"
    title: ClassVar[str] = "TCP and IP"
    rows_of = Source(SNMP, "Tcp:")
    fields_of: ClassVar = {
        **dict.fromkeys(
            ("timeouts", "backlog_drops", "listen_drops", "mtu_probe_failures", "mtu_probe_successes"),
            Source(NETSTAT, "TcpExt:"),
        ),
        **dict.fromkeys(("fragments_created", "fragment_failures", "reassembly_failures"), Source(SNMP, "Ip:")),
        "unreachable_received": Source(SNMP, "IcmpMsg:"),
    }

    in_segments: Annotated[int | None, Metric("In", "Segments received", kind=Kind.COUNTER, detail=True)]
    out_segments: Annotated[
        int | None, Metric("Out", "TCP segments sent, excluding retransmissions", kind=Kind.COUNTER, detail=True)
    ]
    retransmitted: Annotated[
        int | None, Metric("Retrans", "TCP segments retransmitted", kind=Kind.COUNTER, detail=True)
    ]
    in_errors: Annotated[int | None, Metric("Bad", "TCP segments received in error", kind=Kind.COUNTER, detail=True)]
    checksum_errors: Annotated[
        int | None, Metric("Bad checksum", "TCP segments with a wrong checksum", kind=Kind.COUNTER)
    ]
    established: Annotated[int | None, Metric("Established", "Established TCP connections", detail=True)]
    timeouts: Annotated[int | None, Metric("Timeouts", "Retransmission timeouts", kind=Kind.COUNTER)]
    backlog_drops: Annotated[
        int | None,
        Metric("Backlog drops", "TCP segments dropped because a socket's backlog was full", kind=Kind.COUNTER),
    ]
    listen_drops: Annotated[
        int | None,
        Metric(
            "Listen drops", "TCP connections dropped because the accept queue was full", kind=Kind.COUNTER, detail=True
        ),
    ]
    mtu_probe_failures: Annotated[int | None, Metric("MTU probe lost", "Failed TCP MTU probes", kind=Kind.COUNTER)]
    mtu_probe_successes: Annotated[
        int | None, Metric("MTU probe passed", "Successful TCP MTU probes", kind=Kind.COUNTER)
    ]
    fragments_created: Annotated[
        int | None, Metric("Fragments", "IPv4 fragments created", kind=Kind.COUNTER, detail=True)
    ]
    fragment_failures: Annotated[
        int | None,
        Metric("Too large", "IPv4 packets not sent because fragmentation was forbidden", kind=Kind.COUNTER),
    ]
    reassembly_failures: Annotated[
        int | None, Metric("Reassembly failed", "IPv4 packets that could not be reassembled", kind=Kind.COUNTER)
    ]
    unreachable_received: Annotated[
        int | None,
        Metric("Unreachable", "ICMP messages of type 3 (destination unreachable) received", kind=Kind.COUNTER),
    ]


class TcpActivity(Reading, frozen=True):
    """TCP counter rates between two samples."""

    family: ClassVar[str] = "tcp_activity"
    title: ClassVar[str] = "TCP activity"
    exported: ClassVar[bool] = False
    rows_of = Source(SNMP, "Tcp:")
    fields_of: ClassVar = {"timeouts_per_second": Source(NETSTAT, "TcpExt:")}

    in_per_second: Annotated[float | None, Metric("In/s", "Segments received per second", "per_second")]
    out_per_second: Annotated[float | None, Metric("Out/s", "Segments sent per second", "per_second")]
    retransmitted_per_second: Annotated[
        float | None, Metric("Retrans/s", "TCP segments retransmitted per second", "per_second")
    ]
    retransmitted_ratio: Annotated[float | None, Metric("Retrans", "Share of retransmitted TCP segments", "ratio")]
    timeouts_per_second: Annotated[
        float | None, Metric("Timeouts/s", "Retransmission timeouts per second", "per_second")
    ]


class Softnet(Reading, frozen=True):
    """Receive queue counters of a CPU since boot, from /proc/net/softnet_stat."""

    family: ClassVar[str] = "softnet"
    title: ClassVar[str] = "Receive queues of the CPUs"
    rows_of = Source(SOFTNET)

    cpu: Annotated[str, Label("CPU", "Number of the CPU", plain=True)]
    processed: Annotated[int, Metric("Processed", "Packets processed by the CPU's receive queue", kind=Kind.COUNTER)]
    dropped: Annotated[
        int, Metric("Dropped", "Packets dropped because the CPU's receive queue was full", kind=Kind.COUNTER)
    ]
    squeezed: Annotated[
        int, Metric("Squeezed", "Softirq budget overruns with packets left (time_squeeze)", kind=Kind.COUNTER)
    ]


class PathMtu(Reading, frozen=True):
    """A destination with a learned path MTU below the MTU of its interface.

    From `ip -j -s route show cache`, without and with -6. The kernel keeps such an exception for ten minutes unless
    traffic renews it.
    """

    family: ClassVar[str] = "path_mtu"
    title: ClassVar[str] = "Learned path MTUs"
    things: ClassVar = {
        "destination": Identity(ThingKind.PEER, Naming.ADDRESS),
        "interface": Identity(None, Naming.NET),
    }
    joins = (Join("destination", "interface", Relation.CARRIED),)

    destination: Annotated[str, Label("Destination", "Destination address", names=Name.IDENTIFIER)]
    interface: Annotated[str | None, Fact("Interface", "Interface of the path", names=Name.INTERFACE)]
    gateway: Annotated[str | None, Fact("Gateway", "First router of the path", names=Name.IDENTIFIER)]
    mtu: Annotated[int, Metric("Path MTU", "Path MTU", "bytes", exact=True)]
    interface_mtu: Annotated[int | None, Metric("Interface MTU", "MTU of the interface", "bytes", exact=True)]
    expires: Annotated[
        float | None, Metric("Expires", "Time until the path MTU entry expires", "seconds", export=False)
    ]

    def source(self, field: str = "") -> Source | None:
        """Return the command's output, or the interface's MTU."""
        if field == "interface_mtu" and self.interface:
            return Source(f"/sys/class/net/{self.interface}/mtu")
        six = "-6 " if ":" in self.destination else ""
        return Source(f"cmd:ip -j -s {six}route show cache", self.destination)


class InterfaceDay(Reading, frozen=True, kw_only=True):
    """Activity of an interface over the time recorded by sysstat: means of all intervals, and the largest one.

    `since` and `to` are times of day as printed, in the node's time zone. Errors and drops are None if only
    `sar -n DEV` was recorded, traffic if only `sar -n EDEV` was.
    """

    family: ClassVar[str] = "interface_day"
    title: ClassVar[str] = "Network statistics recorded by sar"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", " {interface} ")
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    intervals: Annotated[int, Metric("Intervals", "Number of recorded intervals")]
    since: Annotated[str, Fact("From", "End of the first interval", plain=True)]
    to: Annotated[str, Fact("To", "End of the last interval", plain=True)]
    rx: Annotated[float | None, Metric("RX", "Mean bytes received per second", "bytes_per_second")]
    rx_most: Annotated[
        float | None, Metric("RX at most", "Bytes received per second in the busiest interval", "bytes_per_second")
    ]
    tx: Annotated[float | None, Metric("TX", "Mean bytes sent per second", "bytes_per_second")]
    tx_most: Annotated[
        float | None, Metric("TX at most", "Bytes sent per second in the busiest interval", "bytes_per_second")
    ]
    busy_most: Annotated[
        float | None, Metric("Used at most", "Share of the line rate that was used in the busiest interval", "ratio")
    ]
    rx_errors: Annotated[float | None, Metric("RX err/s", "Mean receive errors per second", "per_second")]
    tx_errors: Annotated[float | None, Metric("TX err/s", "Mean transmit errors per second", "per_second")]
    rx_dropped: Annotated[float | None, Metric("RX drop/s", "Mean frames dropped on receiving", "per_second")]
    tx_dropped: Annotated[float | None, Metric("TX drop/s", "Mean frames dropped on sending", "per_second")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
