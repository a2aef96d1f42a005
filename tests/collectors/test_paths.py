"""TCP, the CPUs' queues and learnt path MTUs, as kernels and iproute2 print them."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.network.path_readings import PathMtu, Softnet, Tcp
from sdstop.collectors.network.paths import PATHS, TCP, parse_softnet, parse_tables, tcp_activity
from sdstop.core.evidence import Evidence
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Failed, Malformed
from sdstop.core.model import schema

CLASS = "/sys/class/net"

SNMP = """\
Ip: Forwarding DefaultTTL ReasmFails FragOKs FragFails FragCreates
Ip: 2 64 31 0 32 33
Icmp: InMsgs InErrors InDestUnreachs
Icmp: 50 0 44
IcmpMsg: InType3 InType8
IcmpMsg: 41 9
Tcp: RtoAlgorithm MaxConn CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 -1 12 1000 2000 20 3 0 4
"""
NETSTAT = """\
TcpExt: ListenDrops TCPTimeouts TCPBacklogDrop TCPMTUPFail TCPMTUPSuccess
TcpExt: 5 6 7 8 9
IpExt: InOctets
IpExt: 77
"""
SOFTNET = """\
0004e5e3 00000001 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0 0
000000ff 00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002 0 0
"""


def test_tcp() -> None:
    host = EvidenceHost.of({"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT, "/proc/net/softnet_stat": SOFTNET})
    assert list(TCP.read(host)) == [
        Tcp(
            in_segments=1000, out_segments=2000, retransmitted=20, in_errors=3, checksum_errors=4, established=12,
            timeouts=6, backlog_drops=7, listen_drops=5, mtu_probe_failures=8, mtu_probe_successes=9,
            fragments_created=33, fragment_failures=32, reassembly_failures=31, unreachable_received=41,
        ),
        Softnet("0", 0x4E5E3, 1, 3),
        Softnet("2", 255, 16, 0),
    ]  # fmt: skip


def test_tcp_of_a_node_that_says_less() -> None:
    text = SNMP.replace("IcmpMsg: InType3 InType8\nIcmpMsg: 41 9\n", "")
    (row,) = TCP.read(EvidenceHost.of({"/proc/net/snmp": text}))
    assert isinstance(row, Tcp)
    assert (row.timeouts, row.mtu_probe_failures, row.unreachable_received) == (None, None, 44)


def test_cpus_of_an_old_kernel_count_up() -> None:
    assert [row.cpu for row in parse_softnet("0004e5e3 00000001 00000003 0 0 0 0 0 0 0\n" * 3)] == ["0", "1", "2"]


def test_tables_whose_lines_do_not_match_are_left_out() -> None:
    assert parse_tables("A: x y\nA: 1\nB: z\nB: -4\nC: w\n") == {("B", "z"): -4}


def tcp(**counters: int | None) -> Tcp:
    fields: dict[str, int | None] = {column.name: 100 for column in schema(Tcp).columns}
    return Tcp(**{**fields, **counters})


def test_tcp_activity_by_hand() -> None:
    row = tcp_activity(tcp(), tcp(out_segments=190, retransmitted=110, in_segments=200, timeouts=104), 2.0)
    assert row is not None
    assert (row.in_per_second, row.out_per_second, row.retransmitted_per_second, row.timeouts_per_second) == (
        50,
        45,
        5,
        2,
    )
    assert row.retransmitted_ratio == pytest.approx(0.1)


def test_tcp_activity_of_what_is_not_counted() -> None:
    row = tcp_activity(tcp(timeouts=None), tcp(out_segments=90), 1.0)
    assert row is not None
    assert (row.out_per_second, row.timeouts_per_second, row.retransmitted_ratio) == (None, None, None)
    assert row.in_per_second == 0
    assert tcp_activity(tcp(), tcp(), 0.0) is None


FOUR = (
    '[{"dst":"10.99.2.1","gateway":"10.99.1.2","dev":"a0","flags":[],"cache":[],"expires":599,"users":1,"age":0,'
    '"metrics":[{"mtu":1500}]}]'
)
SIX = (
    '[{"dst":"fd99:2::1","gateway":"fd99:1::2","dev":"a0","metric":1024,"flags":[],"expires":598,'
    '"metrics":[{"mtu":1400}],"pref":"medium"}]'
)
KEYS = ("cmd:ip -j -s route show cache", "cmd:ip -j -s -6 route show cache")


def paths(*evidence: Evidence) -> list[PathMtu]:
    mtu = Evidence(f"{CLASS}/a0/mtu", data=b"9000\n")
    return [row for row in PATHS.read(EvidenceHost([mtu, *evidence])) if isinstance(row, PathMtu)]


def test_learnt_path_mtus() -> None:
    # The kernel tells an exception once for every route through the same gateway.
    often = json.dumps(json.loads(FOUR) * 21)
    assert paths(Evidence(KEYS[0], data=often.encode()), Evidence(KEYS[1], data=SIX.encode())) == [
        PathMtu("10.99.2.1", "a0", "10.99.1.2", 1500, 9000, 599),
        PathMtu("fd99:2::1", "a0", "fd99:1::2", 1400, 9000, 598),
    ]


@pytest.mark.parametrize("empty", [b"", b"[]", b"[ ]\n"])
def test_nothing_learnt(empty: bytes) -> None:
    assert paths(Evidence(KEYS[0], data=empty), Evidence(KEYS[1], data=empty)) == []


def test_a_redirect_is_no_path_mtu() -> None:
    redirect = FOUR.replace('"metrics":[{"mtu":1500}]', '"metrics":[{"rtt":3}]')
    assert paths(Evidence(KEYS[0], data=redirect.encode()), Evidence(KEYS[1], data=b"[]")) == []


def test_without_ipv6_ipv4_is_told() -> None:
    assert len(paths(Evidence(KEYS[0], data=FOUR.encode()), Evidence(KEYS[1], exit=2, stderr=b"not supported"))) == 1


def test_an_ip_that_knows_no_json() -> None:
    with pytest.raises(Failed, match='Option "-j" is unknown'):
        paths(Evidence(KEYS[0], exit=255, stderr=b'Option "-j" is unknown, try "ip -help".\n'))


@pytest.mark.parametrize("said", ["{}", "[{", "10.0.0.1 dev a0"])
def test_what_is_no_list_of_routes(said: str) -> None:
    with pytest.raises(Malformed):
        paths(Evidence(KEYS[0], data=said.encode()))


def test_no_network_is_absent() -> None:
    for collector in (TCP, PATHS):
        with pytest.raises(Absent):
            list(collector.read(EvidenceHost()))


def test_every_field_says_where_it_stands() -> None:
    host = EvidenceHost.of(
        {
            "/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT, "/proc/net/softnet_stat": SOFTNET,
            KEYS[0]: FOUR, KEYS[1]: SIX, f"{CLASS}/a0/mtu": "9000\n",
        }
    )  # fmt: skip
    rows = [*TCP.read(host), *PATHS.read(host)]
    assert {type(row) for row in rows} == {Tcp, Softnet, PathMtu}
    for row in rows:
        for column in schema(type(row)).columns:
            source = row.source(column.name)
            assert source is not None
            known = host.evidence(source.key)
            assert known is not None, (row, column.name, source)
            assert source.needle.encode() in known.data
