"""Clients of the storage that this node serves over TCP, and their throughput."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.network.connections import SOCKETS, PortPair, asked, connections, listed
from sdstop.collectors.network.peer_readings import ASK_CLIENTS, PORTS, StorageClient, StorageClientActivity
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Derivation, Reading
from sdstop.core.text import whole_total

ROUTES = "/proc/net/route"
ADDRESSES6 = "/proc/net/if_inet6"


class ClientConnection(Struct, frozen=True):
    """A connection from ss: addresses, local port, bytes received and bytes acknowledged by the client."""

    address: str
    port: int
    client: str
    received: int | None
    sent: int | None


def served(connection: PortPair) -> bool:
    """Return whether a connection is that of a client of one of PORTS."""
    return connection.local in PORTS


def parse_connections(text: str) -> list[ClientConnection]:
    """Parse the output of ss: see `connections`. `bytes_acked` is omitted while it is 0."""
    found = []
    for each in connections(text):
        if each.address is not None and each.peer is not None and 0 < each.port < 65536:
            told = "bytes_" in each.counters or "segs_in" in each.counters
            counts = (_count(each.counters, name, told=told) for name in ("bytes_received", "bytes_acked"))
            found.append(ClientConnection(each.address, each.port, each.peer, *counts))
    return found


def _count(text: str, name: str, *, told: bool) -> int | None:
    match = re.search(rf"(?:^| ){name}:(\d{{1,20}})(?: |$)", text, re.ASCII)
    return int(match[1]) if match else 0 if told else None


def parse_routes(text: str) -> list[tuple[ipaddress.IPv4Network, str]]:
    """Parse /proc/net/route (net/ipv4/fib_trie.c) into networks and interfaces, longest prefix first.

    Iface   Destination     Gateway         Flags   RefCnt  Use     Metric  Mask            MTU     Window  IRTT
    eth0    000200C0        00000000        0001    0       0       0       00FFFFFF        0       0       0
    """
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 8 or not all(re.fullmatch(r"[0-9A-Fa-f]{8}", words[place]) for place in (1, 7)):
            continue
        target, mask = (int.from_bytes(bytes.fromhex(words[place]), "little") for place in (1, 7))
        length = mask.bit_count()
        if mask == ((1 << length) - 1) << (32 - length):
            found.append((ipaddress.IPv4Network((target & mask, length)), words[0]))
    return sorted(found, key=lambda route: -route[0].prefixlen)


def parse_addresses(text: str) -> dict[str, str]:
    """Parse /proc/net/if_inet6 into interfaces by address.

    20010db8000000000000000000000001 03 40 00 80     eth0
    """
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 6 and re.fullmatch(r"[0-9a-f]{32}", words[0]):
            found[str(ipaddress.IPv6Address(int(words[0], 16)))] = words[5]
    return found


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each client. Raise Absent, without running ss, if no storage port has a connection."""
    if not host.recorded("ss") and not listed(host, served):
        raise Absent(SOCKETS[0], "no NFS, SMB, iSCSI, NBD or NVMe/TCP clients connected")
    return _rows(host, [row for row in parse_connections(asked(host, ASK_CLIENTS)) if row.port in PORTS])


def _rows(host: Host, connections: list[ClientConnection]) -> Iterator[StorageClient]:
    routes = parse_routes(host.maybe(ROUTES) or "")
    addresses = parse_addresses(host.maybe(ADDRESSES6) or "")
    grouped: dict[tuple[str, str, str], list[ClientConnection]] = {}
    for row in connections:
        if not ipaddress.ip_address(row.client).is_loopback:
            grouped.setdefault((row.client, PORTS[row.port], row.address), []).append(row)
    for (client, service, address), rows in grouped.items():
        yield StorageClient(
            client, service, address, _interface(client, address, routes, addresses), len(rows),
            whole_total([row.received for row in rows]), whole_total([row.sent for row in rows]),
        )  # fmt: skip


def _interface(
    client: str, address: str, routes: list[tuple[ipaddress.IPv4Network, str]], addresses: dict[str, str]
) -> str | None:
    peer = ipaddress.ip_address(client)
    if isinstance(peer, ipaddress.IPv6Address):
        return addresses.get(address)
    return next((name for network, name in routes if peer in network), None)


def activity(before: StorageClient, after: StorageClient, seconds: float) -> StorageClientActivity | None:
    """Return a client's throughput; None if it is unknown or connections were opened or closed."""
    if seconds <= 0 or before.connections != after.connections:
        return None
    if before.received is None or after.received is None or before.sent is None or after.sent is None:
        return None
    received, sent = after.received - before.received, after.sent - before.sent
    if received < 0 or sent < 0:
        return None
    return StorageClientActivity(after.client, after.service, after.address, received / seconds, sent / seconds)


CLIENTS = Collector(
    "clients",
    "TCP clients of the storage of this node",
    read,
    (StorageClient,),
    (
        Need(SOCKETS[0], "whether a client is connected to a storage port"),
        Need(SOCKETS[1], "whether a client is connected to a storage port over IPv6"),
        Command(ASK_CLIENTS, "bytes of each connection; only where there are such clients"),
        Need(ROUTES, "interface that leads to a client"),
        Need(ADDRESSES6, "interface that leads to a client over IPv6"),
    ),
    10.0,
    deadline=12.0,
    resting=120.0,
    derives=(Derivation(StorageClient, StorageClientActivity, activity),),
)
