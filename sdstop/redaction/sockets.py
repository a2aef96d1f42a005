r"""Sockets and routes: /proc/net has addresses as hex digits in the memory layout of the processor.

/proc/net/tcp (net/ipv4/tcp_ipv4.c), route (net/ipv4/fib_trie.c): four bytes, on a little-endian processor the last
octet first. tcp6 (net/ipv6/tcp_ipv6.c): four such words. if_inet6 (net/ipv6/addrconf.c), ipv6_route: 32 digits in
network byte order.

      sl  local_address rem_address   st
       0: 0B00140A:0CBC 1500140A:C738 01                                        10.20.0.11:3260 10.20.0.21:51000
    eth1\t0000140A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0              10.20.0.0, mask 255.255.0.0
    fe800000000000003eececfffe123456 02 40 20 80     eth1
"""

from __future__ import annotations

import ipaddress
import re

from sdstop.core.expression import expression
from sdstop.redaction.pseudonym import NameKind, Pseudonyms

_SOCKETS = expression(r"/proc/(?:\d+/|self/)?net/(?:tcp|udp|udplite|raw|icmp)6?")
_ROUTES = expression(r"/proc/(?:\d+/|self/)?net/(?:route|rt_cache)")
_SIX = expression(r"/proc/(?:\d+/|self/)?net/(?:if_inet6|ipv6_route|anycast6)")
_END = expression(r"\b([0-9A-F]{32}|[0-9A-F]{8})(?=:[0-9A-F]{4}\b)")
_ROUTE = expression(r"^(\S+\s+)([0-9A-F]{8})(\s+)([0-9A-F]{8})\b", re.MULTILINE)
_ADDRESS = expression(r"\b[0-9a-f]{32}\b")


def is_list(key: str) -> bool:
    """Return whether a file lists sockets: their addresses are all the names in it."""
    return _SOCKETS.fullmatch(key) is not None


def replaced(key: str, text: str, known: Pseudonyms) -> str | None:
    """Return a file's text with the addresses replaced, None for a file without addresses of this form."""
    if _SOCKETS.fullmatch(key):
        return _END.sub(lambda found: _memory(found[0], known), text)
    if _ROUTES.fullmatch(key):
        return _ROUTE.sub(lambda m: m[1] + _memory(m[2], known) + m[3] + _memory(m[4], known), text)
    if _SIX.fullmatch(key):
        return _ADDRESS.sub(lambda found: _six(bytes.fromhex(found[0]), known).hex(), text)
    return None


def _memory(digits: str, known: Pseudonyms) -> str:
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    if len(words) == 1:
        made = ipaddress.IPv4Address(known.of(NameKind.IPV4, str(ipaddress.IPv4Address(words[0])))).packed
    else:
        made = _six(b"".join(words), known)
    return "".join(made[at : at + 4][::-1].hex() for at in range(0, len(made), 4)).upper()


def _six(packed: bytes, known: Pseudonyms) -> bytes:
    address = ipaddress.IPv6Address(packed)
    if address.ipv4_mapped is not None:
        return packed[:12] + ipaddress.IPv4Address(known.of(NameKind.IPV4, str(address.ipv4_mapped))).packed
    return ipaddress.IPv6Address(known.of(NameKind.IPV6, str(address))).packed
