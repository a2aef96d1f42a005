"""Identity: identifying values that are recognized by their form, in any text.

These are addresses, WWNs, IQNs, UUIDs and e-mail addresses. Host names, serial numbers, users and volume names have no
distinctive form: they are learned from readings (declared.py), and then replaced everywhere.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Callable

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.redaction.ordinary import ACCOUNTS, is_ordinary
from sdstop.redaction.pseudonym import NameKind, Pseudonyms

IPV4 = expression(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w.]*\.\d)(?!\d)"
)
IPV6 = expression(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,37}(?![\w:])")
"""Candidates for IPv6 addresses, to be verified by parsing."""
MAC = expression(
    r"(?<![0-9A-Za-z:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Za-z:]|-[0-9A-Fa-f]{2}\b)"
    r"|(?<![\w.])[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![\w.])|(?<=\benx)[0-9a-f]{12}(?![0-9a-z])"
    r"|(?<=\b[0-9a-f]{4}\.)[0-9a-f]{12}(?![0-9A-Za-z])|(?<![0-9A-Za-z.])(?=[0-9]{0,11}[a-f])[0-9a-f]{12}(?![0-9A-Za-z])"
)
"""MAC with separators, in Cisco's dotted form, in an interface name or a bridge ID; bare only if it has a letter."""
BARE = expression(r"(?<![0-9A-Za-z])[0-9a-fA-F]{12}(?![0-9A-Za-z])")
"""Bare MAC where no other value is possible: AoE targets (drivers/block/aoe/aoeblk.c, %pm)."""
_CORE = r"(?:[2356][0-9A-Fa-f]{15}(?:[0-9A-Fa-f]{16})?|1000[0-9A-Fa-f]{12})"
WWN = expression(
    rf"(?<![0-9A-Za-z])(?:(?:wwn-)?0[xX](?P<x>{_CORE})|(?:naa|NAA)\.(?P<naa>{_CORE}|[cC][0-9A-Fa-f]{{15}})"
    r"|(?:eui|EUI)\.(?P<eui>[0-9A-Fa-f]{16}(?:[0-9A-Fa-f]{16})?)"
    r"|(?=[0-9]{0,16}[A-Fa-f])[23]?(?P<bare>[2356][0-9a-f]{15}(?:[0-9a-f]{16})?|[2356][0-9A-F]{15}(?:[0-9A-F]{16})?)"
    r"|(?P<pairs>(?<![:-])(?:[12356][0-9A-Fa-f]|10)([:-])(?:[0-9A-Fa-f]{2}\6){6}[0-9A-Fa-f]{2}(?!\6[0-9A-Fa-f]{2}\b))"
    r"|(?P<groups>[2356] [0-9A-Fa-f]{6} [0-9A-Fa-f]{9}))(?![0-9A-Za-z])"
)
"""WWN; without a prefix it must have a letter, because sixteen digits may be a count. Groups as in smartctl."""
IQN = expression(
    r"(?<![\w.])(?:iqn\.\d{4}-\d{2}\.[a-z0-9][a-z0-9.:_-]{2,220}?|nqn\.\d{4}-\d{2}\.[\w.:-]{3,220}?)"
    r"(?=-lun-\d|[^\w.:-]|[.:]?\Z|[.:](?=[\s,;]))",
    re.IGNORECASE,
)
UUID = expression(
    r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
    r"|[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}|(?=[0-9]{0,31}[a-f])[0-9a-f]{32}"
    r"|[A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6})(?![0-9A-Za-z])"
    r"|(?<=LVM-)[A-Za-z0-9]{32}(?:[A-Za-z0-9]{32})?(?![A-Za-z0-9])"
)
"""UUIDs of file systems, md, LVM, clusters and machines."""
_LVM = 32
"""Characters of a UUID of LVM (lib/uuid/uuid.h: ID_LEN)."""
EMAIL = expression(
    r"(?<![\w.+@-])[A-Za-z0-9_][\w.+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.)+"
    r"(?!(?:service|socket|scope|slice|mount|timer|target|device|path|swap|automount)\b)[A-Za-z][A-Za-z0-9-]{1,20}(?![\w@])"
)
_NO_HOST = frozenset({
    "", "localhost", "localhost.localdomain", "(none)", "debian", "ubuntu", "vm", "capture", "localdomain", "local",
    "lan", "internal", "home.arpa", "pasted text", "this node", "ip6-localhost", "ip6-loopback", "ip6-allnodes",
    "ip6-allrouters",
})  # fmt: skip
_NO_SERIAL = expression(
    r"(?:0+|x+|f+|none|n/?a|unknown|default string|to be filled.*|not (?:specified|provided|available).*|no asset.*"
    r"|.* asset ?tag.*|serial\w* ?number|0?123456789\d*|.*no dimm.*)",
    re.IGNORECASE,
)
SHORTEST = 3
"""Characters; shorter values are a part of too many words to be replaced."""
_DIGITS = 8
"""Minimum length of an all-digit serial number: a shorter one may be a count."""


class IdentifierForm(Struct, frozen=True):
    """Form of an identifying value: a text that must be present, the pattern, and the replacement function."""

    sign: str
    pattern: re.Pattern[str]
    made: Callable[[re.Match[str], Pseudonyms], str]


def mac(found: re.Match[str], known: Pseudonyms) -> str:
    """Return the pseudonym of a MAC with the separators of the original."""
    digits = re.sub(r"[^0-9a-f]", "", found[0].lower())
    made = known.of(NameKind.MAC, ":".join(digits[at : at + 2] for at in range(0, 12, 2))).replace(":", "")
    return like(found[0], made)


def _wwn(found: re.Match[str], known: Pseudonyms) -> str:
    core = next(found[name] for name in ("x", "naa", "eui", "bare", "pairs", "groups") if found[name])
    made = known.of(NameKind.WWN, re.sub(r"[^0-9a-f]", "", core.lower()))
    return found[0].replace(core, like(core, made))


def _uuid(found: re.Match[str], known: Pseudonyms) -> str:
    plain = re.sub(r"[^0-9A-Za-z]", "", found[0])
    if len(plain) == 2 * _LVM:  # of a volume group, then of a volume: each has its own pseudonym
        return "".join(known.of(NameKind.UUID, plain[at : at + _LVM]) for at in (0, _LVM))
    return like(found[0], known.of(NameKind.UUID, plain.lower() if _HEX.fullmatch(plain) else plain))


def _ipv6(found: re.Match[str], known: Pseudonyms) -> str:
    with contextlib.suppress(ValueError):
        ipaddress.IPv6Address(found[0])
        return known.of(NameKind.IPV6, found[0])
    return found[0]


_HEX = expression(r"[0-9A-Fa-f]+")


def like(text: str, made: str) -> str:
    """Return the digits `made` with the separators and the case of a text."""
    rest = iter(made)
    shaped = "".join(next(rest, c) if c.isalnum() else c for c in text)
    return shaped.upper() if _HEX.search(text) and text.isupper() else shaped


LOOKS = (
    IdentifierForm("qn.", IQN, lambda found, known: known.of(NameKind.IQN, found[0])),
    IdentifierForm("@", EMAIL, lambda found, known: known.of(NameKind.EMAIL, found[0])),
    IdentifierForm("", UUID, _uuid),
    IdentifierForm("", WWN, _wwn),
    IdentifierForm("", MAC, mac),
    IdentifierForm(".", IPV4, lambda found, known: known.of(NameKind.IPV4, found[0])),
    IdentifierForm(":", IPV6, _ipv6),
)


def is_host(name: str) -> bool:
    """Return whether a text is an identifying host name: neither a common default nor an address."""
    return (
        name.lower() not in _NO_HOST
        and not name.replace(".", "").isdecimal()
        and name.isprintable()
        and "/" not in name
    )


def usable(kind: NameKind, value: str) -> bool:
    """Return whether a value is identifying and distinguishable from other text."""
    if kind is NameKind.SERIAL and value.isascii() and value.isdecimal():
        return len(value) >= _DIGITS and _NO_SERIAL.fullmatch(value) is None
    if len(value) < SHORTEST or not value.isprintable() or is_ordinary(value):
        return False
    if kind is NameKind.HOST:
        return is_host(value)
    if kind is NameKind.USER:
        return value.lower() not in ACCOUNTS and not value.lower().startswith(("systemd-", "_"))
    if kind in {NameKind.VOLUME, NameKind.PATH, NameKind.INTERFACE}:
        return not value.isdecimal()
    return len(value) > SHORTEST and _NO_SERIAL.fullmatch(value) is None
