"""Storage that this node reaches over TCP, and the segments that it had to send again to it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated, ClassVar

from msgspec import Struct

from sdstop.collectors.network.connections import SOCKETS, PortPair, asked, bracketed, connections, listed
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Kind, Label, Metric, Name, Reading, Source
from sdstop.core.text import whole_total

SERVED = {2049: "nfs", 445: "smb", 3260: "iscsi", 4420: "nvme-tcp", 10809: "nbd", 3300: "ceph", 6789: "ceph",
          24007: "gluster"}  # fmt: skip
"""Ports of a server that this node is a client of."""
REPLICATED = {(7788, 7799): "drbd", (6800, 7568): "ceph"}
"""Ranges of ports between nodes of a cluster: either end may have such a port."""
_RANGES = " or ".join(
    f"( {end} >= :{low} and {end} <= :{high} )" for low, high in REPLICATED for end in ("dport", "sport")
)
ASK = tuple(
    f"ss -tinO state established ( {' or '.join(f'dport = :{port}' for port in sorted(SERVED))} or {_RANGES} )".split()
)
_KEY = command_key(ASK)
_PACE = 60.0


class StoragePeer(Reading, frozen=True):
    """A server or cluster node that this node exchanges data with: all connections of one service to one address.

    Counters are those of the connections that are open now (tcp_info, Linux 4.2 and later): after a reconnect they
    begin again. Connections are recognized by the usual ports of their service.
    """

    family: ClassVar[str] = "storage_peer"
    title: ClassVar[str] = "Storage peers"
    remembered: ClassVar[int] = 64
    rows_of = Source(_KEY, "{shown}:")
    things: ClassVar = {
        "peer": Identity(ThingKind.PEER, Naming.ADDRESS, "{shown}", aliases=(("{shown}:{port}", Naming.ADDRESS),)),
    }

    peer: Annotated[str, Label("Peer", "Address of the other end", names=Name.IDENTIFIER)]
    service: Annotated[
        str, Label("Service", "iscsi, nvme-tcp, nfs, smb, nbd, ceph, drbd, gluster; by port", plain=True)
    ]
    port: Annotated[int | None, Metric("Port", "Port of the server, if all connections have one", export=False)]
    connections: Annotated[int, Metric("Connections", "Open connections to the peer")]
    segments: Annotated[int | None, Metric("Segments", "TCP segments sent to the peer", kind=Kind.COUNTER)]
    retransmitted: Annotated[
        int | None, Metric("Retransmitted", "TCP segments sent again to the peer", kind=Kind.COUNTER)
    ]
    round_trip: Annotated[
        float | None, Metric("Round trip", "Longest smoothed round-trip time of the connections", "seconds")
    ]

    @property
    def shown(self) -> str:
        """Address as ss prints it."""
        return bracketed(self.peer)


class PeerConnection(Struct, frozen=True):
    """A connection from ss: the peer, service, port of the server, and its counters."""

    peer: str
    service: str
    port: int | None
    segments: int | None
    retransmitted: int | None
    round_trip: float | None


_SEGMENTS = expression(r"(?:^| )segs_out:(\d{1,20})(?: |$)", re.ASCII)
_RETRANSMITTED = expression(r"(?:^| )retrans:\d{1,10}/(\d{1,20})(?: |$)", re.ASCII)
_ROUND_TRIP = expression(r"(?:^| )rtt:(\d{1,9}(?:\.\d{1,6})?)/", re.ASCII)


def service_of(local: int, remote: int) -> tuple[str, int | None] | None:
    """Return the service of a connection and the port of its server, None if neither end has a storage port."""
    if remote in SERVED:
        return SERVED[remote], remote
    for (low, high), service in REPLICATED.items():
        if low <= remote <= high or low <= local <= high:
            return service, None
    return None


def connected(connection: PortPair) -> bool:
    """Return whether a connection is one to storage elsewhere."""
    return not connection.loopback and service_of(connection.local, connection.remote) is not None


def parse(text: str) -> list[PeerConnection]:
    """Parse the output of ss: see `connections`. `retrans` is omitted while no segment was sent again."""
    found = []
    for each in connections(text):
        service = service_of(each.port, each.peer_port)
        if service is None or each.peer is None or ipaddress.ip_address(each.peer).is_loopback:
            continue
        segments = _SEGMENTS.search(each.counters)
        again, trip = _RETRANSMITTED.search(each.counters), _ROUND_TRIP.search(each.counters)
        found.append(
            PeerConnection(
                each.peer,
                *service,
                int(segments[1]) if segments is not None else None,
                int(again[1]) if again is not None else 0 if segments is not None else None,
                float(trip[1]) / 1000 if trip is not None else None,
            )
        )
    return found


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each peer and service. Raises Absent, without running ss, if there is none."""
    if not listed(host, connected):
        raise Absent(SOCKETS[0], "no connection to storage over TCP")
    grouped: dict[tuple[str, str], list[PeerConnection]] = {}
    for row in parse(asked(host, ASK)):
        grouped.setdefault((row.peer, row.service), []).append(row)
    return [_peer(*key, rows) for key, rows in grouped.items()]


def _peer(peer: str, service: str, rows: list[PeerConnection]) -> StoragePeer:
    ports = {row.port for row in rows}
    trips = [row.round_trip for row in rows if row.round_trip is not None]
    return StoragePeer(
        peer,
        service,
        next(iter(ports)) if len(ports) == 1 else None,
        len(rows),
        whole_total([row.segments for row in rows]),
        whole_total([row.retransmitted for row in rows]),
        max(trips, default=None),
    )


STORAGE_PEERS = Collector(
    "storage-peers",
    "TCP connections to storage",
    read,
    (StoragePeer,),
    (
        Need(SOCKETS[0], "whether this node is connected to storage"),
        Need(SOCKETS[1], "whether this node is connected to storage over IPv6"),
        Command(ASK, "segments sent again to storage; only where it is connected to any"),
    ),
    _PACE,
    deadline=12.0,
    resting=300.0,
)
