"""Real network namespaces: unequal MTUs, a router that says "too large", and our figures beside those of ip."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.probe import COLLECTORS

pytestmark = [pytest.mark.live, pytest.mark.needs("ip", "network namespaces")]

ROOT = Path(__file__).parents[2]


def ip(*argv: str) -> str:
    return subprocess.run(["ip", *argv], capture_output=True, text=True, check=True).stdout


class Net:
    """A network namespace that goes away with all that is in it."""

    numbers = itertools.count()

    def __init__(self) -> None:
        self.name = f"sdstop-test-{os.getpid()}-{next(self.numbers)}"
        ip("netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *argv: str) -> str:
        return ip("-n", self.name, *argv)

    def made(self, *argv: str) -> bool:
        """Add a link; False if this kernel knows no such kind."""
        result = subprocess.run(
            ["ip", "-n", self.name, "link", "add", *argv], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0 or "Unknown device type" in result.stderr, result.stderr
        return result.returncode == 0

    def look(self, *sent: tuple[str, int]) -> dict[str, Any]:
        """Run `probe` within: a look, datagrams of these sizes to these addresses, another look."""
        code = f"from tests.live.probe import probe; probe({sent!r})"
        argv = ["ip", "netns", "exec", self.name, sys.executable, "-c", code]
        result = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        found: dict[str, Any] = json.loads(result.stdout)
        return found


@pytest.fixture
def nets() -> Iterator[list[Net]]:
    made: list[Net] = []
    try:
        made.extend(Net() for _ in range(3))
        yield made
    finally:
        for net in made:
            ip("netns", "del", net.name)


def veth(one: Net, name: str, other: Net, peer: str, *, mtu: int = 1500, peer_mtu: int = 1500) -> None:
    ip("link", "add", name, "netns", one.name, "type", "veth", "peer", "name", peer, "netns", other.name)
    one.ip("link", "set", name, "mtu", str(mtu), "up")
    other.ip("link", "set", peer, "mtu", str(peer_mtu), "up")


def test_a_pair_of_unequal_mtu_within_a_namespace(nets: list[Net]) -> None:
    net = nets[0]
    veth(net, "big", net, "small", mtu=9000, peer_mtu=1500)
    veth(net, "same0", net, "same1", mtu=9000, peer_mtu=9000)
    seen = net.look()
    severity, summary, keys = seen["findings"]["mtu-mismatch:big/small"]
    assert severity == "warning"
    assert "big has MTU 9000, its peer small 1500" in summary
    assert set(keys) == {"/sys/class/net/big/mtu", "/sys/class/net/small/mtu"}
    assert "mtu-mismatch:same0/same1" in seen["good"]
    assert list(seen["findings"]) == ["mtu-mismatch:big/small"]
    # The driver says 10 Gb/s of a cable that is none.
    assert seen["rows"]["interface"]["big"]["speed"] is None
    assert seen["rows"]["interface"]["big"]["kind"] == "veth"


def test_an_end_whose_peer_is_elsewhere_is_compared_with_nothing(nets: list[Net]) -> None:
    # Both get number 2 in their namespaces, so each names its own number as its peer's.
    veth(nets[0], "near", nets[1], "far", mtu=9000, peer_mtu=1500)
    seen = nets[0].look()
    assert seen["rows"]["interface_link"] == {}
    assert seen["findings"] == {}


def test_what_the_rule_says_is_lost_is_lost(nets: list[Net]) -> None:
    veth(nets[0], "big", nets[1], "small", mtu=9000, peer_mtu=1500)
    nets[0].ip("addr", "add", "10.98.0.1/24", "dev", "big")
    nets[1].ip("addr", "add", "10.98.0.2/24", "dev", "small")
    before = nets[1].look()["rows"]["interface"]["small"]["rx_dropped"]
    nets[0].look(("10.98.0.2", 1000))
    assert nets[1].look()["rows"]["interface"]["small"]["rx_dropped"] == before
    nets[0].look(("10.98.0.2", 4000))
    assert nets[1].look()["rows"]["interface"]["small"]["rx_dropped"] == before + 4


def test_a_bridge_whose_ports_differ(nets: list[Net]) -> None:
    net, guests = nets[0], nets[1]
    assert net.made("br0", "type", "bridge")
    for port, mtu in (("p0", 9000), ("p1", 1500)):
        veth(net, port, guests, f"{port}-guest", mtu=mtu, peer_mtu=mtu)
        net.ip("link", "set", port, "master", "br0")
    net.ip("link", "set", "br0", "up")
    seen = net.look()
    severity, summary, _ = seen["findings"]["mtu-mismatch:br0"]
    assert severity == "warning"
    assert "p0 has MTU 9000, p1 1500" in summary
    assert seen["rows"]["interface"]["br0"]["mtu"] == 1500  # the kernel makes it the smallest
    assert seen["rows"]["interface"]["p0"]["master"] == "br0"
    assert set(seen["rows"]["interface_link"]) == {"('p0', 'br0', 'bridge')", "('p1', 'br0', 'bridge')"}
    net.ip("link", "set", "p1", "mtu", "9000")
    net.ip("link", "set", "br0", "mtu", "9000")
    assert "mtu-mismatch:br0" in net.look()["good"]


def test_interfaces_that_are_made_on_others(nets: list[Net]) -> None:
    net = nets[0]
    veth(net, "v0", nets[1], "v1", mtu=9000, peer_mtu=9000)
    kinds = {}
    if net.made("link", "v0", "name", "v0.7", "type", "vlan", "id", "7"):
        kinds["v0.7"] = "vlan"
    if net.made("link", "v0", "name", "mac0", "type", "macvlan"):
        kinds["mac0"] = "macvlan"
    if net.made("tun0", "type", "dummy"):
        kinds["tun0"] = "virtual"
    seen = net.look()
    rows = seen["rows"]["interface"]
    assert {name: rows[name]["kind"] for name in kinds} == kinds
    assert all(rows[name]["parent"] == "v0" for name in kinds if kinds[name] in {"vlan", "macvlan"})
    assert all(
        f"('v0', '{name}', '{kind}')" in seen["rows"]["interface_link"]
        for name, kind in kinds.items()
        if kind != "virtual"
    )
    assert seen["findings"] == {}


@pytest.mark.needs("bonding")
def test_a_bond_whose_slave_is_too_small(nets: list[Net]) -> None:
    net = nets[0]
    assert net.made("bond0", "type", "bond", "mode", "active-backup")
    for slave in ("s0", "s1"):
        ip(
            "link",
            "add",
            slave,
            "netns",
            net.name,
            "type",
            "veth",
            "peer",
            "name",
            f"{slave}-far",
            "netns",
            nets[1].name,
        )
        net.ip("link", "set", slave, "master", "bond0")
        nets[1].ip("link", "set", f"{slave}-far", "up")
    net.ip("link", "set", "bond0", "mtu", "9000", "up")
    assert "mtu-mismatch:bond0" in net.look()["good"]
    net.ip("link", "set", "s1", "mtu", "1500")
    assert "mtu-mismatch:bond0/s1" in net.look()["findings"]


@pytest.fixture
def routed(nets: list[Net]) -> list[Net]:
    """Three namespaces in a row; the way from the middle to the last takes 1500, all else 9000."""
    first, router, last = nets
    veth(first, "a0", router, "r0", mtu=9000, peer_mtu=9000)
    veth(router, "r1", last, "b0")
    for net, link, four, six in (
        (first, "a0", "10.99.1.1/24", "fd99:1::1/64"), (router, "r0", "10.99.1.2/24", "fd99:1::2/64"),
        (router, "r1", "10.99.2.2/24", "fd99:2::2/64"), (last, "b0", "10.99.2.1/24", "fd99:2::1/64"),
    ):  # fmt: skip
        net.ip("addr", "add", four, "dev", link)
        net.ip("addr", "add", six, "dev", link, "nodad")
    first.ip("route", "add", "default", "via", "10.99.1.2")
    first.ip("-6", "route", "add", "default", "via", "fd99:1::2")
    last.ip("route", "add", "default", "via", "10.99.2.2")
    last.ip("-6", "route", "add", "default", "via", "fd99:2::2")
    script = "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"
    ip("netns", "exec", router.name, "sh", "-c", script)
    return nets


@pytest.mark.parametrize("destination", ["10.99.2.1", "fd99:2::1"])
def test_a_router_that_says_too_large_is_remembered(routed: list[Net], destination: str) -> None:
    first = routed[0]
    before = first.look()
    assert before["rows"]["path_mtu"] == {}
    assert not any(key.startswith("path-mtu-shrunk") for key in before["findings"])
    seen = first.look((destination, 4000))
    row = seen["rows"]["path_mtu"][destination]
    assert (row["mtu"], row["interface"], row["interface_mtu"]) == (1500, "a0", 9000)
    assert 500 < row["expires"] <= 600
    severity, summary, keys = seen["findings"]["path-mtu-shrunk:a0"]
    assert severity == "warning"
    assert "takes 1500 bytes, a0 sends up to 9000" in summary
    assert f"cmd:ip -j -s {'-6 ' if ':' in destination else ''}route show cache" in keys


def test_many_routes_through_one_gateway_are_one_path(routed: list[Net]) -> None:
    first = routed[0]
    for n in range(20):
        first.ip("route", "add", f"10.98.{n}.0/24", "via", "10.99.1.2")
    seen = first.look(("10.99.2.1", 4000))
    assert set(seen["rows"]["path_mtu"]) == {"10.99.2.1"}


def test_our_counters_are_those_of_ip(routed: list[Net]) -> None:
    first = routed[0]
    first.look(("10.99.2.1", 1000))

    def counted() -> dict[str, Any]:
        (link,) = json.loads(first.ip("-j", "-s", "-s", "link", "show", "dev", "a0"))
        return dict(link)

    before, seen, link = counted(), first.look(), counted()
    rx = link["stats64"]["rx"]
    ours, facts = seen["rows"]["interface_traffic"]["a0"], seen["rows"]["interface"]["a0"]
    # IPv6 sends something now and then, so ours lies between the two.
    for way in ("rx", "tx"):
        for what in ("bytes", "packets"):
            assert before["stats64"][way][what] <= ours[f"{way}_{what}"] <= link["stats64"][way][what]
    assert ours["tx_bytes"] > 4 * 1000
    assert (facts["rx_errors"], facts["rx_dropped"], facts["rx_missed"]) == (
        rx["errors"],
        rx["dropped"],
        rx["missed_errors"],
    )
    assert (facts["mtu"], facts["mac"], facts["ifindex"]) == (9000, link["address"], link["ifindex"])


def test_every_collector_answers_in_a_bare_namespace(nets: list[Net]) -> None:
    seen = nets[2].look()
    assert {name: outcome for name, (outcome, _) in seen["outcomes"].items()} == {
        collector.name: "ok" for collector in COLLECTORS
    }
    assert seen["findings"] == {}
    assert set(seen["rows"]["interface"]) == {"lo"}
