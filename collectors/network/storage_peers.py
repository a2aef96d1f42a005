"""Storage that this node reaches over TCP, and the segments that it had to send again to it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from msgspec import Struct

from sdstop.collectors.network.connections import SOCKETS, PortPair, asked, connections, listed
from sdstop.collectors.network.peer_readings import ASK_SERVERS, REPLICATED, SERVED, StoragePeer
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole_total

_PACE = 15.0
"""Seconds between two runs."""
_SECOND = 5.0
"""Seconds after the first run to the second one, which gives the first rates."""


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
    for row in parse(asked(host, ASK_SERVERS)):
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
        Command(ASK_SERVERS, "segments sent again to storage; only where it is connected to any"),
    ),
    _PACE,
    deadline=12.0,
    resting=300.0,
    second=_SECOND,
)
