"""Addresses of a node, and the targets that its kernel exports."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.addresses import ADDRESSES, parse_trie
from sdstop.collectors.network.exports import EXPORTS
from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.network.peer_readings import TargetExport
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed

TRIE = (
    "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 10.20.0.0/24 2 0 2\n"
    "        |-- 10.20.0.0\n           /24 link UNICAST\n        |-- 10.20.0.7\n           /32 host LOCAL\n"
    "     +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.1\n           /32 host LOCAL\n"
    "     |-- 169.254.3.4\n        /32 host LOCAL\n        |-- 10.20.0.255\n           /32 link BROADCAST\n"
    "Local:\n        |-- 10.20.0.7\n           /32 host LOCAL\n"
)
ROUTE = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth1\t0000140A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
SIX = (
    "00000000000000000000000000000001 01 80 10 80       lo\n"
    "fe800000000000000000000000000001 03 40 20 80     eth1\n"
    "20010db8000000000000000000000007 03 40 00 80     eth1\n"
)


def test_addresses_with_their_interfaces() -> None:
    host = EvidenceHost.of({"/proc/net/fib_trie": TRIE, "/proc/net/route": ROUTE, "/proc/net/if_inet6": SIX})
    rows = list(ADDRESSES.read(host))
    assert all(isinstance(row, NodeAddress) for row in rows)
    assert [(row.address, row.interface) for row in rows if isinstance(row, NodeAddress)] == [
        ("10.20.0.7", "eth1"),
        ("2001:db8::7", "eth1"),
    ]


def test_an_address_without_a_route_has_no_interface() -> None:
    (row,) = ADDRESSES.read(EvidenceHost.of({"/proc/net/fib_trie": TRIE}))
    assert isinstance(row, NodeAddress)
    assert row.interface is None


@pytest.mark.parametrize("text", ["", "nothing", "{}"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_trie(text)


def test_an_impossible_address_is_malformed() -> None:
    with pytest.raises(Malformed):
        list(ADDRESSES.read(EvidenceHost.of({"/proc/net/fib_trie": TRIE.replace("10.20.0.7", "10.20.0.777")})))


def test_a_target_of_lio_at_each_portal_with_its_disk() -> None:
    base, core = "/sys/kernel/config/target/iscsi/iqn.x:a/tpgt_1", "/sys/kernel/config/target/core/iblock_0/disk0"
    host = EvidenceHost.of({
        f"{base}/enable": "1\n", f"{base}/np/10.0.0.1:3260/iser": "0\n", f"{base}/np/10.0.1.1:3260/iser": "0\n",
        f"link:{base}/lun/lun_0/7f3a": "../../../../../../target/core/iblock_0/disk0",
        f"{core}/udev_path": "/dev/vg0/vault\n", "link:/dev/vg0/vault": "../dm-4",
    })  # fmt: skip
    assert list(EXPORTS.read(host)) == [
        TargetExport("iqn.x:a", f"10.0.{n}.1:3260", "iscsi", 1, "dm-4", f"{base}/enable") for n in (0, 1)
    ]


def test_a_subsystem_of_nvmet_at_its_port() -> None:
    base = "/sys/kernel/config/nvmet"
    host = EvidenceHost.of({
        f"{base}/ports/1/addr_traddr": "2001:db8::7\n", f"{base}/ports/1/addr_trsvcid": "4420\n",
        f"{base}/ports/1/addr_trtype": "tcp\n", f"{base}/ports/1/subsystems/nqn.x/attr": "\n",
        f"{base}/subsystems/nqn.x/namespaces/1/enable": "0\n",
        f"{base}/subsystems/nqn.x/namespaces/1/device_path": "/dev/sdb\n",
        f"{base}/subsystems/nqn.x/namespaces/2/enable": "0\n",
        f"{base}/subsystems/nqn.x/namespaces/2/device_path": "/srv/file\n",
    })  # fmt: skip
    assert list(EXPORTS.read(host)) == [
        TargetExport("nqn.x", "[2001:db8::7]:4420", "nvme-tcp", 0, "sdb", f"{base}/ports/1/addr_traddr")
    ]


def test_a_node_without_targets_has_none() -> None:
    with pytest.raises(Absent):
        list(EXPORTS.read(EvidenceHost.of({"/proc/mdstat": ""})))
