r"""Parser for the text of `ip address` and `ip link` with any of -d, -s, -s -s, -o and -br (iproute2 3.10 to 6.x).

    2: eth0: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 9000 qdisc mq master bond0 state UP group default qlen 1000
        link/ether 52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535
        bond_slave state ACTIVE mii_status UP link_failure_count 0 perm_hwaddr 52:54:00:12:34:56 queue_id 0
        inet 192.0.2.5/24 brd 192.0.2.255 scope global eth0
        RX:  bytes packets errors dropped  missed   mcast
              1632      18      0       0       0       0
        RX errors:  length    crc   frame    fifo overrun
                         0      0       0       0       0

Until 5.8 the fifth number below RX is `overrun`. Numbers with a suffix (-h) are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_HEAD = expression(
    r"(?P<index>\d{1,10}): (?P<name>[^\s:@]+(?::[^\s:@]+)?)(?:@(?P<below>[^\s:]+))?: <(?P<flags>[A-Z0-9_,-]*)> "
    r"mtu (?P<mtu>\d{1,10})(?P<rest>.*)"
)
_NUMBERED = expression(r"\d{1,10}: ")
_ADDRESS_ONLY = expression(r"(?P<index>\d{1,10}): (?P<name>\S+)\s+(?P<rest>inet6? .*)")
_BRIEF = expression(
    r"(?P<name>[^\s:@]+)(?:@(?P<below>[^\s:]+))? +"
    r"(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT|TESTING)(?: +(?P<rest>\S.*))?"
)
_FLAGS = expression(r"(?P<mac>[0-9a-fA-F:]{5,}) <(?P<flags>[A-Z0-9_,-]*)>")
_INET = expression(r"inet6? (?P<address>[0-9a-fA-F.:]+)(?: peer \S+)?(?:/\d{1,3})?(?:\s|$)")
_LINK = expression(r"link/(?P<type>[\w/:.-]+)(?: (?P<mac>[0-9a-fA-F:.]{5,}))?")
_COUNTS = expression(r"(?P<side>RX|TX)(?P<errors> errors)?:\s+(?P<names>[a-z].*)")
_KINDS = ("bond", "bridge", "vlan", "vxlan", "macvlan", "macvtap", "ipvlan", "veth", "dummy", "tun", "team", "geneve",
          "gre", "gretap", "ip6gre", "ipip", "sit", "vrf", "ifb", "ipoib", "nlmon", "wireguard", "ovs", "openvswitch",
          "hsr", "bareudp", "xfrm", "can", "vcan", "netdevsim")  # fmt: skip
"""Kinds of links that -d shows at the beginning of a line (iproute2, ip/iplink_*.c)."""
_WORDS = expression(r"\S+")


class IpInterface(Struct):
    """An interface as ip shows it; fields without a value were not shown."""

    name: str
    index: int
    flags: frozenset[str] = frozenset()
    below: str | None = None
    mtu: int | None = None
    master: str | None = None
    state: str | None = None
    link: str | None = None
    mac: str | None = None
    kind: str | None = None
    detailed: bool = False
    bond: dict[str, str] = field(default_factory=dict)
    slave: dict[str, str] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """Counters by side and name: `RX bytes`, `RX errors crc`."""


def parse(text: str) -> list[IpInterface]:
    """Return the interfaces of one or several outputs; of one interface the lines are joined. Raises Malformed."""
    found: dict[str, IpInterface] = {}
    current: IpInterface | None = None
    names: tuple[str, Sequence[str]] = ("", ())
    for line in _lines(text):
        head = _HEAD.fullmatch(line)
        if head is not None:
            current = found.setdefault(head["name"], IpInterface(head["name"], int(head["index"])))
            _begin(current, head)
            names = ("", ())
            continue
        only = _ADDRESS_ONLY.fullmatch(line)
        if only is not None:
            current = found.setdefault(only["name"], IpInterface(only["name"], int(only["index"])))
            _add(current, only["rest"])
            continue
        if (brief := _BRIEF.fullmatch(line)) is not None:
            current = found.setdefault(brief["name"], IpInterface(brief["name"], 0))
            _add_brief(current, brief)
            continue
        if _NUMBERED.match(line):
            raise Malformed(f"not an interface of ip: {line[:60]!r}")
        if current is None:
            continue
        inner = line.strip()
        counts = _COUNTS.fullmatch(inner)
        if counts is not None:
            names = (f"{counts['side']}{counts['errors'] or ''}", counts["names"].split())
        elif names[1] and re.fullmatch(r"[\d.]+[KMGTPi]*(?:\s+[\d.]+[KMGTPi]*)*", inner):
            for name, word in zip(names[1], inner.split(), strict=False):
                number = whole(word)
                if number is not None:
                    current.counts[f"{names[0]} {name}"] = number
            names = ("", ())
        else:
            _add(current, inner)
    if not found:
        raise Malformed(f"no interface of ip: {text.strip()[:60]!r}")
    return list(found.values())


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; -o joins those of an interface by backslashes."""
    for line in text.splitlines():
        yield from (part.rstrip() for part in re.split(r"\\(?=\s|$)", line) if part.strip())


def _begin(each: IpInterface, head: re.Match[str]) -> None:
    words = head["rest"].split()
    said = dict(zip(words[::2], words[1::2], strict=False))
    each.flags = frozenset(head["flags"].split(","))
    each.below, each.mtu = head["below"], int(head["mtu"])
    each.master, each.state = said.get("master"), said.get("state")


def _add_brief(each: IpInterface, row: re.Match[str]) -> None:
    """Take a row of -br: state and addresses, or MAC address and flags."""
    each.below, each.state = row["below"] or each.below, row["state"]
    shown = _FLAGS.fullmatch(row["rest"] or "")
    if shown is not None:
        each.mac, each.flags = shown["mac"], frozenset(shown["flags"].split(","))
        each.link = "ether" if len(shown["mac"]) == _MAC else None
        return
    for word in (row["rest"] or "").split():
        address = word.partition("/")[0]
        if "/" in word and address not in each.addresses:
            each.addresses.append(address)


_MAC = 17
"""Length of an Ethernet address."""


def _add(each: IpInterface, line: str) -> None:
    """Take a line below that of the interface."""
    link, inet = _LINK.match(line), _INET.match(line)
    if link is not None:
        each.link, each.mac = link["type"], link["mac"]
        each.detailed = each.detailed or " promiscuity " in line
        return
    if inet is not None:
        if inet["address"] not in each.addresses:
            each.addresses.append(inet["address"])
        return
    words = _WORDS.findall(line)
    if not words:
        return
    said = dict(zip(words[1::2], words[2::2], strict=False))
    if words[0] == "bond_slave":
        each.slave = said
    elif words[0] in _KINDS and each.kind is None and (len(words) > 1 or words[0] in {"veth", "dummy", "ifb"}):
        each.kind = words[0]
        if words[0] == "bond":
            each.bond = said


_WRAPPED = (
    r"qlen|qdisc|promiscuity|m(?:in|ax)mtu|perm_hwaddr|addrgenmode|num[rt]xqueues|gso_max_\w+|ad_\w+|mii_status|queue_id"
    r"|link_failure_count|xmit_hash_policy|peer_notify_delay|arp_\w+|lacp_rate"
)
"""Words in lines that are wrapped, as those of -d are longer than any terminal."""
_BRIEF_ROW = r"\S+ +(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT|TESTING)\b.*"
_KNOWN = expression(rf"\d+: \S+: <|\d+: \S+ +inet6? | {{4,}}\S|{_BRIEF.pattern}")


def fault(text: str) -> str:
    """Return why a list of interfaces may be incomplete: its first one is neither lo nor the one after it."""
    unknown = next((line for line in text.splitlines() if line.strip() and not _KNOWN.match(line)), None)
    if unknown is not None:
        return f"line not understood: {unknown.strip()[:40]!r}"
    return NOT_SHOWN if re.match(r"\s*(?:[12]: |lo )", text) else NOT_BEGUN


FORM = Form(
    key="cmd:ip -d -s address",
    first=(
        r"\d+: [^\s:@]+(?:@\S+)?: <[A-Z0-9_,-]+> mtu \d+ |\d+: \S+ +inet6? [0-9a-f.:]+/\d+ "
        r"|lo +UNKNOWN +(?:127\.0\.0\.1/8|00:00:00:00:00:00 <)"
    ),
    reads="MTU, state, addresses, bonds, errors and traffic of interfaces",
    versions="iproute2 3.10 and later",
    goes_on=rf"\d+: \S.*| {{4,}}\S.*|{_BRIEF_ROW}|(?=.*\b(?:{_WRAPPED})\b)\S.{{0,250}}",
    about=r"\A\d+: ([^\s:@]+)",
    fault=fault,
)
