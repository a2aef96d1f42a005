"""Clients of storage over TCP, by /proc/net/tcp and ss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.network.clients import (
    CLIENTS,
    ClientConnection,
    activity,
    parse_addresses,
    parse_connections,
    parse_routes,
    served,
)
from sdstop.collectors.network.connections import SOCKETS, established, listed
from sdstop.collectors.network.peer_readings import ASK_CLIENTS, StorageClient
from sdstop.collectors.network.storage_peers import STORAGE_PEERS
from sdstop.core.evidence import command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from tests.nodes.clients import ROUTE, TCP, line, node
from tests.nodes.counting import Counting


def rows(found: dict[str, str]) -> list[StorageClient]:
    return [row for row in CLIENTS.read(EvidenceHost.of(found)) if isinstance(row, StorageClient)]


def test_connections_of_a_client_are_counted_together() -> None:
    (row,) = rows(node(line("192.0.2.31"), line("192.0.2.31", 1, 0)))
    assert row == StorageClient("192.0.2.31", "nfs", "192.0.2.1", "eth1", 2, 457, 123)
    source = row.source()
    assert source is not None
    assert source.needle == "192.0.2.31:"


def test_services_and_ways() -> None:
    found = rows(
        node(line("198.51.100.7", port=3260), line("[2001:db8::9]", local="[2001:db8::1]", port=445),
             line("[::ffff:192.0.2.8]", local="[::ffff:192.0.2.1]", port=10809), line("192.0.2.9", port=80))
    )  # fmt: skip
    assert [(row.client, row.service, row.interface) for row in found] == [
        ("198.51.100.7", "iscsi", "eth0"), ("2001:db8::9", "smb", "eth2"), ("192.0.2.8", "nbd", "eth1"),
    ]  # fmt: skip


def test_what_runs_on_the_node_itself_is_no_client() -> None:
    assert rows(node(line("127.0.0.1", local="127.0.0.1"), line("[::1]", local="[::1]"))) == []


def test_an_old_kernel_does_not_count_bytes() -> None:
    (row,) = rows(node("0 0 192.0.2.1:2049 192.0.2.31:812 cubic rto:204\n"))
    assert (row.received, row.sent) == (None, None)
    assert activity(row, row, 1.0) is None


def test_nobody_is_asked_where_there_is_no_client() -> None:
    for text in (TCP.replace(":0801 ", ":0050 "), TCP.replace(" 01 ", " 0A ")):
        host = EvidenceHost.of({SOCKETS[0]: text})
        with pytest.raises(Absent, match="clients connected"):
            CLIENTS.read(host)
        assert command_key(ASK_CLIENTS) not in host.touched


def test_the_table_of_connections_is_read_once() -> None:
    """Each time the kernel goes through all that it has room for: 15 ms for three reads on an idle node."""
    host = Counting(EvidenceHost.of(dict.fromkeys(SOCKETS, TCP.replace(":0801 ", ":0050 "))))
    for collector in (CLIENTS, STORAGE_PEERS):
        with pytest.raises(Absent):
            collector.read(host)
    assert host.reads == [*SOCKETS, *SOCKETS]


def test_connections_over_ipv6_count_where_the_kernel_has_no_others() -> None:
    assert listed(EvidenceHost.of({SOCKETS[1]: TCP}), served)
    with pytest.raises(Absent, match="not recorded"):
        listed(EvidenceHost.of({SOCKETS[1]: TCP.replace(":0801 ", ":0050 ")}), served)


@pytest.mark.parametrize(("text", "said"), [(TCP, True), (TCP.replace("0801", "0CBC"), True), ("", False)])
def test_clients_of_storage(text: str, said: bool) -> None:  # noqa: FBT001  # a case
    assert any(map(served, established(text))) is said


def test_what_a_client_moves() -> None:
    (before,), (after,) = rows(node(line("192.0.2.31", 100, 50))), rows(node(line("192.0.2.31", 300, 1050)))
    moved = activity(before, after, 10.0)
    assert moved is not None
    assert (moved.received_per_second, moved.sent_per_second) == (20.0, 100.0)
    assert activity(after, before, 10.0) is None
    (more,) = rows(node(line("192.0.2.31", 300, 1050), line("192.0.2.31", 9, 9)))
    assert activity(before, more, 10.0) is None


@given(st.text(max_size=60), st.text(max_size=12))
def test_no_text_raises_anything(text: str, word: str) -> None:
    for said in (text, line(word or "x"), f"0 0 {word}:2049 {text}:1 x", TCP + text, ROUTE + text.replace(" ", "\t")):
        any(map(served, established(said)))
        assert all(isinstance(row, ClientConnection) for row in parse_connections(said))
        parse_routes(said)
        parse_addresses(said)
