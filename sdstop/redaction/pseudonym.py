"""Pseudonyms: HMAC-SHA256 of a key, the kind and the value, in the form of the original.

Captures redacted with the same key have the same pseudonym for the same disk; only the key must be shared. Without the
key, guesses of the original cannot be verified.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import ipaddress
import string
from collections.abc import Iterator

from sdstop.redaction.ordinary import is_ordinary

_HEX = "0123456789abcdef"
_HEXED = frozenset("0123456789abcdefABCDEF")
_GROUP = 8
"""Characters of the first group of a UUID, which may be used alone."""


class NameKind(enum.StrEnum):
    """Kind of object that a name refers to."""

    HOST = "host"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    MAC = "mac"
    SERIAL = "serial"
    WWN = "wwn"
    IQN = "iqn"
    UUID = "uuid"
    VOLUME = "volume"
    PATH = "path"
    INTERFACE = "interface"
    USER = "user"
    EMAIL = "email"


_ONCE = frozenset({NameKind.MAC, NameKind.WWN, NameKind.UUID})
"""Kinds whose pseudonyms have the form of the original, and are too long to match a real value by chance."""


class Pseudonyms:
    """Pseudonyms of all values. `known` is the map, {kind: {value: pseudonym}}, for the node's administrator only."""

    def __init__(self, key: bytes) -> None:
        """Start with a key and an empty map. Raises ValueError if the key is empty."""
        if not key:
            raise ValueError("a key is needed")
        self._key = key
        self.known: dict[NameKind, dict[str, str]] = {kind: {} for kind in NameKind}
        self._octets: dict[str, tuple[int, ...]] = {}
        self._taken: set[str] = set()

    def of(self, kind: NameKind, value: str) -> str:
        """Return the pseudonym of a value, of the same length and kinds of characters where that matters."""
        known = self.known[kind].get(value)
        if known is None and kind in _ONCE and value in self._taken:
            return value  # it is already a pseudonym
        if known is None:
            known = self._make(kind, value)
            self.known[kind][value] = known
            self._taken.add(known)
        return known

    def joined(self, kind: NameKind, value: str, made: str) -> str:
        """Return a pseudonym that was made of those of a value's parts, and add it to the map."""
        self.known[kind][value] = made
        self._taken.add(made)
        return made

    def alike(self, kind: NameKind, value: str) -> str:
        """Return a text of the same kinds of characters, without adding it to the map."""
        digits = self._digits(kind, value)
        return "".join(_alike(c, next(digits)) for c in value)

    def forget(self, kind: NameKind, value: str) -> None:
        """Remove a value from the map."""
        self._taken.discard(self.known[kind].pop(value, ""))

    def made(self, text: str) -> bool:
        """Return whether a text is one of the pseudonyms."""
        return text in self._taken

    def _make(self, kind: NameKind, value: str) -> str:
        if kind is NameKind.IPV4:
            return self._ipv4(value)
        if kind is NameKind.IPV6:
            return self._ipv6(value)
        if kind is NameKind.MAC:
            return self._mac(value)
        made = value
        for attempt in range(64):  # collisions are likely for names of three letters
            digits = self._digits(kind, f"{value}\0{attempt}" if attempt else value)
            if kind is NameKind.HOST:
                made = "host-" + "".join(_HEX[next(digits) % 16] for _ in range(8))
            elif kind is NameKind.USER:
                made = "user-" + "".join(_HEX[next(digits) % 16] for _ in range(6))
            elif kind is NameKind.EMAIL:
                made = "".join(_HEX[next(digits) % 16] for _ in range(8)) + "@host.invalid"
            elif kind is NameKind.WWN:
                kept = 4 if value.startswith("1000") else 1
                made = value[:kept] + "".join(_HEX[next(digits) % 16] for _ in value[kept:])
            elif kind is NameKind.IQN:
                made = self._iqn(value, digits)
            elif kind is NameKind.UUID:  # its first group may be used alone (`ceph-7b1f2c0e`)
                first = self._digits(kind, value[:_GROUP])
                plain = not set(value) - _HEXED
                numbers = ((next(first if at < _GROUP else digits), c) for at, c in enumerate(value))
                made = "".join(_alike(c, number, hexadecimal=plain) for number, c in numbers)
            else:
                made = "".join(_alike(c, next(digits)) for c in value)
            if made != value and made not in self._taken and not is_ordinary(made):
                return made
        return made

    def _digits(self, kind: NameKind, value: str) -> Iterator[int]:
        """Yield 16-bit numbers without end."""
        message = f"{kind}\0{value}".encode("utf-8", "surrogateescape")
        block = 0
        while True:
            found = hmac.new(self._key, message + block.to_bytes(4, "big"), hashlib.sha256).digest()
            yield from (int.from_bytes(found[at : at + 2], "big") for at in range(0, 32, 2))
            block += 1

    def _ipv4(self, value: str) -> str:
        """Return the pseudonym of an address; each octet depends on those before it, which preserves networks."""
        address = ipaddress.IPv4Address(value)
        if kept_ipv4(address):
            return value
        made: list[str] = []
        for at, octet in enumerate(value.split(".")):
            prefix = ".".join(value.split(".")[:at])
            made.append(str(self._octet(prefix, first=at == 0)[int(octet)]))
        return ".".join(made)

    def _octet(self, prefix: str, *, first: bool) -> tuple[int, ...]:
        """Return the replacement of each octet after a prefix; 0 and 255 keep their meaning."""
        known = self._octets.get(prefix)
        if known is None:
            last = 223 if first else 254  # addresses of hosts end at 223
            middle = [octet for octet in range(1, last + 1) if not first or octet not in {10, 127}]
            order = dict(zip(middle, self._digits(NameKind.IPV4, prefix), strict=False))
            shuffled = sorted(middle, key=lambda octet: (order[octet], octet))
            table = list(range(256))
            for octet, other in zip(middle, shuffled, strict=True):
                table[octet] = other
            known = self._octets[prefix] = tuple(table)
        return known

    def _ipv6(self, value: str) -> str:
        address = ipaddress.IPv6Address(value)
        if kept_ipv6(address):
            return value
        groups = address.exploded.split(":")
        kept = 1 if address.is_link_local else 0
        made = groups[:kept]
        for at in range(kept, 8):
            if int(groups[at], 16) == 0:
                made.append("0")
                continue
            prefix = ":".join(groups[: at + 1])
            made.append(f"{next(self._digits(NameKind.IPV6, prefix)) % 0xFFFE + 1:x}")
        return str(ipaddress.IPv6Address(":".join(made)))

    def _mac(self, value: str) -> str:
        octets = value.lower().split(":")
        if set(octets) <= {"00"} or set(octets) <= {"ff"} or int(octets[0], 16) & 1:
            return value  # null, broadcast or multicast address
        digits = self._digits(NameKind.MAC, value.lower())  # independent of case
        return ":".join(["02", *(f"{next(digits) % 256:02x}" for _ in octets[1:])])

    @staticmethod
    def _iqn(value: str, digits: Iterator[int]) -> str:
        """Return a name with the original type, month and separators: iqn.2026-11.com.example:disk1."""
        parts = value.split(".", 2)
        head, rest = (
            (".".join(parts[:2]) + ".", parts[2]) if len(parts) == 3 and parts[0] == "iqn" else (value[:4], value[4:])
        )
        return head + "".join(_alike(c, next(digits)) for c in rest)


def kept_ipv4(address: ipaddress.IPv4Address) -> bool:
    """Return whether an address is not identifying: unspecified, loopback, multicast, reserved or a netmask."""
    number = int(address)
    inverted = number ^ 0xFFFFFFFF
    mask = number >= 0xFF000000 and inverted & (inverted + 1) == 0
    return address.is_loopback or address.is_multicast or mask or number < 0x01000000 or number >= 0xE0000000


def kept_ipv6(address: ipaddress.IPv6Address) -> bool:
    """Return whether an address is not identifying: unspecified, loopback or multicast."""
    return address.is_loopback or address.is_unspecified or address.is_multicast


def _alike(c: str, number: int, *, hexadecimal: bool = False) -> str:
    """Return a character of the same kind; ASCII other than letters and digits is unchanged."""
    if hexadecimal and c in string.hexdigits:
        return _HEX[number % 16] if c in _HEX else _HEX[number % 16].upper()
    if c.isdecimal() and c.isascii():
        return str(number % 10)
    if not c.isascii() or not c.isalpha():
        return c if c.isascii() else "x"
    letters = string.ascii_uppercase if c.isupper() else string.ascii_lowercase
    return letters[number % 26]
