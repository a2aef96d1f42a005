"""RDMA ports: InfiniBand and RoCE adapters, the errors of their links, and their retransmissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, files

CLASS = "/sys/class/infiniband"
_RATE = expression(r"(\d{1,5}(?:\.\d)?) Gb/sec(?: \((?:(\d{1,2})X)?.{0,30}\))?")
_NUMBERED = expression(r"\d{1,2}: (.{1,40})")
_GIGABIT = 125_000_000
_COUNTERS = {
    "symbol_errors": "symbol_error",
    "recoveries": "link_error_recovery",
    "downs": "link_downed",
    "receive_errors": "port_rcv_errors",
    "discards": "port_xmit_discards",
    "waits": "port_xmit_wait",
}
_HARDWARE = {
    "timeouts": "local_ack_timeout_err",
    "sequence_errors": "packet_seq_err",
    "out_of_sequence": "out_of_sequence",
    "congestion_notices": "rp_cnp_handled",
    "out_of_buffer": "out_of_buffer",
}


class RdmaPort(Reading, frozen=True):
    """A port of an RDMA adapter, from /sys/class/infiniband/X/ports/N (kernel drivers/infiniband/core/sysfs.c).

    Counters of the link are those of the InfiniBand specification (PortCounters); a RoCE adapter keeps some of them.
    Those of the adapter (hw_counters) are named as mlx5 names them; others have none or other ones.
    """

    family: ClassVar[str] = "rdma_port"
    title: ClassVar[str] = "RDMA ports"
    remembered: ClassVar[int] = 64
    rows_of = Source(f"{CLASS}/{{adapter}}/ports/{{number}}/state")
    fields_of: ClassVar = {
        **files(f"{CLASS}/{{adapter}}/ports/{{number}}", "rate", layer="link_layer", lanes="rate"),
        **files(f"{CLASS}/{{adapter}}/ports/{{number}}/counters", **_COUNTERS),
        **files(f"{CLASS}/{{adapter}}/ports/{{number}}/hw_counters", **_HARDWARE),
    }
    things: ClassVar = {"interface": Identity(None, Naming.NET)}

    adapter: Annotated[str, Label("Adapter", "RDMA device: mlx5_0", plain=True)]
    number: Annotated[str, Label("Port", "Number of the port", plain=True)]
    layer: Annotated[str | None, Fact("Layer", "InfiniBand or Ethernet (RoCE, iWARP)", plain=True)]
    state: Annotated[str | None, State("State", "State of the port: ACTIVE, DOWN, INIT, ARMED")]
    rate: Annotated[
        int | None, Metric("Rate", "Rate of the port in one direction", "bytes_per_second", setting=True, detail=True)
    ]
    interface: Annotated[str | None, Fact("Interface", "Network interface of the adapter", names=Name.INTERFACE)]
    symbol_errors: Annotated[int | None, Metric("Symbol errors", "Damaged symbols received", kind=Kind.COUNTER)]
    recoveries: Annotated[
        int | None, Metric("Recoveries", "Recoveries of the link after errors", kind=Kind.COUNTER, detail=True)
    ]
    downs: Annotated[int | None, Metric("Link down", "Losses of the link", kind=Kind.COUNTER, detail=True)]
    receive_errors: Annotated[int | None, Metric("RX errors", "Damaged packets received", kind=Kind.COUNTER)]
    discards: Annotated[
        int | None, Metric("TX discards", "Packets discarded because the port was down or full", kind=Kind.COUNTER)
    ]
    waits: Annotated[
        int | None, Metric("TX waits", "Ticks in which data waited for credits of the receiver", kind=Kind.COUNTER)
    ]
    timeouts: Annotated[
        int | None, Metric("Timeouts", "Requests repeated because no acknowledgement arrived", kind=Kind.COUNTER)
    ]
    sequence_errors: Annotated[
        int | None,
        Metric("Sequence errors", "Requests repeated because the peer missed a packet", kind=Kind.COUNTER, detail=True),
    ]
    out_of_sequence: Annotated[
        int | None, Metric("Out of sequence", "Packets received out of sequence", kind=Kind.COUNTER)
    ]
    congestion_notices: Annotated[
        int | None,
        Metric("CNP", "Congestion notifications that slowed this sender down", kind=Kind.COUNTER, detail=True),
    ]
    out_of_buffer: Annotated[
        int | None, Metric("No buffer", "Packets dropped for lack of a receive buffer", kind=Kind.COUNTER, detail=True)
    ]
    lanes: Annotated[int | None, Metric("Lanes", "Lanes of the link", setting=True, detail=True)] = None

    @property
    def port(self) -> str:
        """Adapter and number, as verbs name a port."""
        return f"{self.adapter}/{self.number}"


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each port. Raises Absent without any."""
    adapters = host.entries(CLASS)
    rows = [_port(host, adapter, number) for adapter in adapters for number in host.names(f"{CLASS}/{adapter}/ports")]
    if not rows:
        raise Absent(f"list:{CLASS}", "no RDMA adapter")
    return rows


def _port(host: Host, adapter: str, number: str) -> RdmaPort:
    base = f"{CLASS}/{adapter}/ports/{number}"
    rate = _RATE.fullmatch(host.maybe(f"{base}/rate") or "")
    state = _NUMBERED.fullmatch(host.maybe(f"{base}/state") or "")
    interfaces = host.names(f"{CLASS}/{adapter}/device/net")
    folders = ((_COUNTERS, "counters"), (_HARDWARE, "hw_counters"))
    counts = {
        field: host.number(f"{base}/{folder}/{file}") for names, folder in folders for field, file in names.items()
    }
    return RdmaPort(
        adapter,
        number,
        host.maybe(f"{base}/link_layer") or None,
        state[1] if state is not None else None,
        int(float(rate[1]) * _GIGABIT) if rate is not None else None,
        interfaces[0] if len(interfaces) == 1 else None,
        **counts,
        lanes=int(rate[2]) if rate is not None and rate[2] is not None else None,
    )


RDMA = Collector(
    "rdma",
    "RDMA ports",
    read,
    (RdmaPort,),
    (
        Need(f"list:{CLASS}", "which adapters there are"),
        Need(f"list:{CLASS}/*/ports", "ports of an adapter"),
        Need(f"list:{CLASS}/*/device/net", "network interface of an adapter"),
        Need(f"{CLASS}/*/ports/*/*", "state, rate and layer of a port", filled=("state", "rate", "link_layer")),
        *(Need(f"{CLASS}/*/ports/*/counters/{name}", "errors of the link") for name in _COUNTERS.values()),
        *(Need(f"{CLASS}/*/ports/*/hw_counters/{name}", "packets sent again") for name in _HARDWARE.values()),
    ),
    SLOW,
    deadline=10.0,
)
