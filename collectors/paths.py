"""What the IP stack learnt and lost: path MTUs, TCP retransmission, fragments, the CPUs' receive queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.model import Fact, Kind, Label, Metric, Reading, Source

NETSTAT = "/proc/net/netstat"
SNMP = "/proc/net/snmp"
SOFTNET = "/proc/net/softnet_stat"


@dataclass(frozen=True, slots=True)
class Tcp(Reading):
    """Counters of the node's IP stack since boot, one row, from /proc/net/snmp and /proc/net/netstat."""

    family: ClassVar[str] = "tcp"
    title: ClassVar[str] = "TCP and IP"

    in_segments: Annotated[int | None, Metric("In", "Segments received", kind=Kind.COUNTER)]
    out_segments: Annotated[int | None, Metric("Out", "Segments sent, without those sent again", kind=Kind.COUNTER)]
    retransmitted: Annotated[int | None, Metric("Retrans", "Segments sent again", kind=Kind.COUNTER)]
    in_errors: Annotated[int | None, Metric("Bad", "Segments received badly", kind=Kind.COUNTER)]
    checksum_errors: Annotated[int | None, Metric("Bad checksum", "Segments with a wrong checksum", kind=Kind.COUNTER)]
    established: Annotated[int | None, Metric("Established", "Connections now")]
    timeouts: Annotated[int | None, Metric("Timeouts", "Retransmission timeouts", kind=Kind.COUNTER)]
    backlog_drops: Annotated[
        int | None, Metric("Backlog drops", "Segments dropped because a socket was full", kind=Kind.COUNTER)
    ]
    listen_drops: Annotated[
        int | None, Metric("Listen drops", "Connections refused by a full queue", kind=Kind.COUNTER)
    ]
    mtu_probe_failures: Annotated[
        int | None, Metric("MTU probe lost", "Large probes of TCP that were lost", kind=Kind.COUNTER)
    ]
    mtu_probe_successes: Annotated[
        int | None, Metric("MTU probe passed", "Large probes of TCP that arrived", kind=Kind.COUNTER)
    ]
    fragments_created: Annotated[int | None, Metric("Fragments", "IPv4 fragments made", kind=Kind.COUNTER)]
    fragment_failures: Annotated[
        int | None,
        Metric("Too large", "IPv4 packets that must not be fragmented and were too large", kind=Kind.COUNTER),
    ]
    reassembly_failures: Annotated[
        int | None, Metric("Reassembly failed", "IPv4 packets that lacked a fragment", kind=Kind.COUNTER)
    ]
    unreachable_received: Annotated[
        int | None,
        Metric("Unreachable", "ICMP messages of type 3, among them 'fragmentation needed'", kind=Kind.COUNTER),
    ]

    def source(self, field: str = "") -> Source | None:
        """Return the table that holds the field."""
        if field in {
            "timeouts",
            "backlog_drops",
            "listen_drops",
            "mtu_probe_failures",
            "mtu_probe_successes",
        }:
            return Source(NETSTAT, "TcpExt:")
        if field.startswith(("fragment", "reassembly")):
            return Source(SNMP, "Ip:")
        return Source(SNMP, "IcmpMsg:" if field == "unreachable_received" else "Tcp:")


@dataclass(frozen=True, slots=True)
class TcpActivity(Reading):
    """The same per second, between two reads."""

    family: ClassVar[str] = "tcp_activity"
    title: ClassVar[str] = "TCP activity"
    exported: ClassVar[bool] = False

    in_per_second: Annotated[float | None, Metric("In/s", "Segments received per second", "per_second")]
    out_per_second: Annotated[float | None, Metric("Out/s", "Segments sent per second", "per_second")]
    retransmitted_per_second: Annotated[
        float | None, Metric("Retrans/s", "Segments sent again per second", "per_second")
    ]
    retransmitted_ratio: Annotated[
        float | None, Metric("Retrans", "Share of the segments sent that were sent again", "ratio")
    ]
    timeouts_per_second: Annotated[float | None, Metric("Timeouts/s", "Timeouts per second", "per_second")]

    def source(self, field: str = "") -> Source | None:
        """Return the table that holds the field."""
        return Source(NETSTAT, "TcpExt:") if field == "timeouts_per_second" else Source(SNMP, "Tcp:")


@dataclass(frozen=True, slots=True)
class Softnet(Reading):
    """A CPU's receive queue since boot, one row each, from /proc/net/softnet_stat."""

    family: ClassVar[str] = "softnet"
    title: ClassVar[str] = "Receive queues of the CPUs"

    cpu: Annotated[str, Label("CPU", "Number of the CPU")]
    processed: Annotated[int, Metric("Processed", "Packets handled", kind=Kind.COUNTER)]
    dropped: Annotated[int, Metric("Dropped", "Packets dropped because the queue was full", kind=Kind.COUNTER)]
    squeezed: Annotated[int, Metric("Squeezed", "Times the CPU ran out of budget with packets left", kind=Kind.COUNTER)]

    def source(self, field: str = "") -> Source | None:
        """Return the table."""
        del field
        return Source(SOFTNET)


@dataclass(frozen=True, slots=True)
class PathMtu(Reading):
    """A destination for which the kernel learnt a smaller MTU than its interface has, one row each.

    From `ip -j -s route show cache` and the same with -6. The kernel keeps such an exception for ten minutes
    unless traffic renews it.
    """

    family: ClassVar[str] = "path_mtu"
    title: ClassVar[str] = "Learnt path MTUs"

    destination: Annotated[str, Label("Destination", "Address that the exception is for")]
    interface: Annotated[str | None, Fact("Interface", "Interface that the path leaves by")]
    gateway: Annotated[str | None, Fact("Gateway", "First router of the path")]
    mtu: Annotated[int, Metric("Path MTU", "Largest packet that passes", "bytes")]
    interface_mtu: Annotated[int | None, Metric("Interface MTU", "MTU of that interface", "bytes")]
    expires: Annotated[float | None, Metric("Expires", "Time until it is forgotten", "seconds", export=False)]

    def source(self, field: str = "") -> Source | None:
        """Return the command's output, or the interface's MTU."""
        if field == "interface_mtu" and self.interface:
            return Source(f"/sys/class/net/{self.interface}/mtu")
        six = "-6 " if ":" in self.destination else ""
        return Source(f"cmd:ip -j -s {six}route show cache", self.destination)
