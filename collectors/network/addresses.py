"""IP addresses of this node, by which other nodes know it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from sdstop.collectors.network.clients import ADDRESSES6, ROUTES, parse_addresses, parse_routes
from sdstop.collectors.network.path_readings import TRIE, NodeAddress
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading

_LEAF = expression(r"\|-- (\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\n\s+/32 host LOCAL")


def parse_trie(text: str) -> list[str]:
    """Parse /proc/net/fib_trie (net/ipv4/fib_trie.c) into the addresses of this node, each once.

        |-- 10.20.0.7
           /32 host LOCAL

    Raises Malformed for text without a table.
    """
    if not re.match(r"(?:Main|Local|Id \d+):", text):
        raise Malformed(f"{TRIE}: begins with {text[:40]!r}")
    return list(dict.fromkeys(_LEAF.findall(text)))


def read(host: Host) -> Iterable[Reading]:
    """Return the addresses. Raises Absent if none were recorded."""
    try:
        four = parse_trie(host.text(TRIE))
    except Absent as absent:
        if not absent.recorded and host.maybe(ADDRESSES6) is None:
            raise
        four = []  # a kernel without IPv4
    routes = parse_routes(host.maybe(ROUTES) or "")
    rows = []
    for text in four:
        try:
            address = ipaddress.IPv4Address(text)
        except ValueError as error:
            raise Malformed(f"{TRIE}: not an address: {text}") from error
        if not (address.is_loopback or address.is_link_local):
            near = (name for network, name in routes if network.prefixlen and address in network)
            rows.append(NodeAddress(text, next(near, None), TRIE, text))
    for text, interface in parse_addresses(host.maybe(ADDRESSES6) or "").items():
        six = ipaddress.IPv6Address(text)
        if not (six.is_loopback or six.is_link_local):
            rows.append(NodeAddress(text, interface, ADDRESSES6, six.exploded.replace(":", "")))
    return rows


ADDRESSES = Collector(
    "addresses",
    "IP addresses of this node",
    read,
    (NodeAddress,),
    (
        Need(TRIE, "the addresses of this node"),
        Need(ROUTES, "the interfaces that they belong to"),
        Need(ADDRESSES6, "the same of IPv6"),
    ),
    SLOW,
)
