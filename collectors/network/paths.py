"""State of the IP stack: learned path MTUs, TCP retransmissions, fragments, and per-CPU receive queues."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.network.path_readings import NETSTAT, SNMP, SOFTNET, PathMtu, Softnet, Tcp, TcpActivity
from sdstop.core.collector import LIVE, SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.host import Failed, Host, Malformed
from sdstop.core.model import Derivation, Reading

_TCP_FIELDS = {
    "in_segments": ("Tcp", "InSegs"),
    "out_segments": ("Tcp", "OutSegs"),
    "retransmitted": ("Tcp", "RetransSegs"),
    "in_errors": ("Tcp", "InErrs"),
    "checksum_errors": ("Tcp", "InCsumErrors"),
    "established": ("Tcp", "CurrEstab"),
    "timeouts": ("TcpExt", "TCPTimeouts"),
    "backlog_drops": ("TcpExt", "TCPBacklogDrop"),
    "listen_drops": ("TcpExt", "ListenDrops"),
    "mtu_probe_failures": ("TcpExt", "TCPMTUPFail"),
    "mtu_probe_successes": ("TcpExt", "TCPMTUPSuccess"),
    "fragments_created": ("Ip", "FragCreates"),
    "fragment_failures": ("Ip", "FragFails"),
    "reassembly_failures": ("Ip", "ReasmFails"),
    "unreachable_received": ("IcmpMsg", "InType3"),
}


def parse_tables(text: str) -> dict[tuple[str, str], int]:
    """Parse /proc/net/snmp or /proc/net/netstat (net/ipv4/proc.c) into counters by table and name.

        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens ...
        Tcp: 1 200 120000 -1 4127 ...

    Tables whose two lines do not match are skipped. Raises Malformed without a table.
    """
    found: dict[tuple[str, str], int] = {}
    lines = text.splitlines()
    tables = 0
    for head, row in itertools.pairwise(lines):
        table, colon, names = head.partition(":")
        same, _, numbers = row.partition(":")
        words = numbers.split()
        if not colon or table != same or len(names.split()) != len(words):
            continue
        if not all(word.lstrip("-").isdecimal() and len(word) <= 21 for word in words):
            continue
        tables += 1
        found.update(((table, name), int(word)) for name, word in zip(names.split(), words, strict=True))
    if not tables:
        raise Malformed(f"no table of counters in {text[:60]!r}")
    return found


def parse_softnet(text: str) -> list[Softnet]:
    """Parse /proc/net/softnet_stat (net/core/net-procfs.c): one line of hexadecimal columns per CPU.

        0004e5e3 00000000 00000003 00000000 ... 00000000 00000000

    The columns are processed, dropped, squeezed; since Linux 5.14 the 13th column is the CPU number (offline CPUs have
    no line). Other lines are skipped.
    """
    rows: list[Softnet] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or not all(len(word) <= 16 and _HEX.fullmatch(word) for word in words):
            continue
        cpu = int(words[12], 16) if len(words) > 12 else len(rows)
        rows.append(Softnet(str(cpu), *(int(word, 16) for word in words[:3])))
    return rows


_HEX = expression(r"[0-9a-fA-F]+")


def read_tcp(host: Host) -> Iterable[Reading]:
    """Yield the node's Tcp row, and a Softnet row for each CPU."""
    return _tcp(host.text(SNMP), host.maybe(NETSTAT) or "", host.maybe(SOFTNET) or "")


def _tcp(snmp: str, netstat: str, softnet: str) -> Iterator[Reading]:
    counters = parse_tables(snmp)
    if netstat:
        counters |= parse_tables(netstat)
    # IcmpMsg lists only received types; Icmp counts this one by name.
    unreachable = counters.get(("Icmp", "InDestUnreachs"))
    if unreachable is not None:
        counters.setdefault(("IcmpMsg", "InType3"), unreachable)
    yield Tcp(**{field: counters.get(place) for field, place in _TCP_FIELDS.items()})
    yield from parse_softnet(softnet)


def tcp_activity(before: Tcp, after: Tcp, seconds: float) -> TcpActivity | None:
    """Return the rates between two samples; a rate is None if its counter decreased."""
    if seconds <= 0:
        return None
    received = _step(before.in_segments, after.in_segments)
    sent = _step(before.out_segments, after.out_segments)
    again = _step(before.retransmitted, after.retransmitted)
    timeouts = _step(before.timeouts, after.timeouts)
    total = (sent or 0) + (again or 0)
    return TcpActivity(
        in_per_second=None if received is None else received / seconds,
        out_per_second=None if sent is None else sent / seconds,
        retransmitted_per_second=None if again is None else again / seconds,
        retransmitted_ratio=again / total if again is not None and sent is not None and total else None,
        timeouts_per_second=None if timeouts is None else timeouts / seconds,
    )


def _step(before: int | None, after: int | None) -> int | None:
    return after - before if before is not None and after is not None and after >= before else None


ROUTES = (("ip", "-j", "-s", "route", "show", "cache"), ("ip", "-j", "-s", "-6", "route", "show", "cache"))


def read_paths(host: Host) -> Iterable[Reading]:
    """Yield a PathMtu for each destination with a learned MTU.

    If IPv6 is disabled, its command fails and only IPv4 is reported. Raises Failed if the IPv4 command fails: `ip`
    before 4.16 and other implementations do not support -j.
    """
    found: dict[str, Route] = {}
    for argv in ROUTES:
        output = host.run(argv)
        if output.exit:
            if argv is ROUTES[0]:
                raise Failed(command_key(argv), output.failure)
            continue
        found |= parse_routes(output.text)
    mtus: dict[str, int | None] = {}
    for destination, row in found.items():
        name = row.interface
        if name is not None and name not in mtus:
            mtus[name] = host.number(f"/sys/class/net/{name}/mtu")
        yield PathMtu(
            destination=destination,
            interface=name,
            gateway=row.gateway,
            mtu=row.mtu,
            interface_mtu=None if name is None else mtus[name],
            expires=row.expires,
        )


class Route(Struct, frozen=True):
    """A route exception: the path MTU, and the seconds until it expires."""

    mtu: int
    interface: str | None
    gateway: str | None
    expires: int | None


def parse_routes(text: str) -> dict[str, Route]:
    """Parse `ip -j -s route show cache` (iproute2 6.1) into learned path MTUs by destination.

        [{"dst":"10.99.2.1","gateway":"10.99.1.2","dev":"a0","flags":[],"cache":[],"expires":599,"users":1,
          "age":0,"metrics":[{"mtu":1500}]}]

    Since Linux 5.3 an exception is listed once for every route that shares its next hop. Exceptions without an MTU are
    redirects. Raises Malformed for invalid output.
    """
    try:
        rows = json.loads(text.strip() or "[]")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"ip route show cache: no JSON: {text[:60]!r}") from error
    if not isinstance(rows, list):
        raise Malformed(f"ip route show cache: no list: {text[:60]!r}")
    found: dict[str, Route] = {}
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("dst"), str):
            continue
        metrics = row.get("metrics")
        tables = [table for table in metrics if isinstance(table, dict)] if isinstance(metrics, list) else []
        mtus = [mtu for table in tables if isinstance(mtu := table.get("mtu"), int) and not isinstance(mtu, bool)]
        if mtus and mtus[0] > 0:
            dev, gateway, expires = row.get("dev"), row.get("gateway"), row.get("expires")
            found[row["dst"]] = Route(
                mtus[0],
                dev if isinstance(dev, str) else None,
                gateway if isinstance(gateway, str) else None,
                expires if isinstance(expires, int) and not isinstance(expires, bool) else None,
            )
    return found


TCP = Collector(
    "tcp",
    "TCP, IP and the CPUs' receive queues",
    read_tcp,
    (Tcp, Softnet),
    (
        Need(SNMP, "segments, retransmissions, fragments, ICMP", filled=True),
        Need(NETSTAT, "timeouts, drops, probes of the path MTU", filled=True),
        Need(SOFTNET, "packets dropped before the stack saw them", filled=True),
    ),
    LIVE,
    derives=(Derivation(Tcp, TcpActivity, tcp_activity),),
    eager=True,
)

PATHS = Collector(
    "paths",
    "Path MTUs learned by the kernel",
    read_paths,
    (PathMtu,),
    (
        *(Command(argv, "destinations with a smaller MTU than their interface", filled=True) for argv in ROUTES),
        Need("/sys/class/net/*/mtu", "the MTU of the interface, to compare", filled=True),
    ),
    SLOW,
    deadline=15.0,
    resting=120.0,
)
