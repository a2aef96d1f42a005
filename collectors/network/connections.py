"""Established TCP connections, as /proc/net/tcp and ss list them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Failed, Host, Unreadable, again

SOCKETS = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"
_LOOPBACK = expression(r"[0-9A-Fa-f]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-Fa-f]{6}7F", re.ASCII)
"""Addresses of this node as /proc/net/tcp and tcp6 print them."""
_LINE = expression(r"\s*\d{1,12}\s+\d{1,12}\s+(\S{3,60}):(\d{1,5})\s+(\S{3,60}):(\d{1,5})\s(.*)", re.ASCII)


class PortPair(Struct, frozen=True):
    """Ports of an established connection, and whether the other end is on this node."""

    local: int
    remote: int
    loopback: bool


class TcpConnection(Struct, frozen=True):
    """A connection from ss; addresses are plain, and None if invalid. `counters` is the rest of the line."""

    address: str | None
    port: int
    peer: str | None
    peer_port: int
    counters: str


def established(text: str) -> Iterator[PortPair]:
    """Yield the established connections of /proc/net/tcp or tcp6 (net/ipv4/tcp_ipv4.c: get_tcp4_sock).

    sl  local_address rem_address   st tx_queue rx_queue ...
     0: 0100007F:0801 0200007F:9C40 01 00000000:00000000 ...
    """
    for line in text.splitlines()[1:]:
        words = line.split(None, 4)
        if len(words) > 3 and words[3] == _ESTABLISHED:
            ports = [words[place].rpartition(":")[2] for place in (1, 2)]
            if all(re.fullmatch(r"[0-9A-Fa-f]{4}", port) for port in ports):
                away = _LOOPBACK.fullmatch(words[2].partition(":")[0]) is None
                yield PortPair(int(ports[0], 16), int(ports[1], 16), not away)


def listed(host: Host, wanted: Callable[[PortPair], bool]) -> bool:
    """Return whether an established connection is a wanted one.

    Raises Unreadable if those over IPv4 cannot be read, and those over IPv6 have none. Each file is read once: the
    kernel goes through a table of all connections that there can be, 4 to 7 ms each time.
    """
    fault: Unreadable | None = None
    for path in SOCKETS:
        try:
            if any(map(wanted, established(host.text(path)))):
                return True
        except Unreadable as error:
            fault = again(error) if path == SOCKETS[0] else fault
    if fault is not None:
        raise again(fault)
    return False


def connections(text: str) -> Iterator[TcpConnection]:
    """Yield the connections that `ss -tinO state established` (iproute2 5.x and 6.x) prints, one per line.

    Recv-Q Send-Q  Local Address:Port   Peer Address:Port Process
    0      0           192.0.2.1:2049     192.0.2.31:812  cubic wscale:7,7 ... bytes_acked:123 bytes_received:456 ...

    Other lines are skipped.
    """
    for line in text.splitlines():
        if (found := _LINE.fullmatch(line)) is not None:
            yield TcpConnection(_plain(found[1]), int(found[2]), _plain(found[3]), int(found[4]), found[5])


def _plain(text: str) -> str | None:
    """Return an address without brackets, scope and IPv4-mapped prefix; None if it is invalid."""
    try:
        address = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def asked(host: Host, argv: Sequence[str]) -> str:
    """Return the output of ss. Raises Failed if it reports an error."""
    output = host.run(argv)
    if output.exit:
        raise Failed(command_key(argv), output.failure)
    return output.text
