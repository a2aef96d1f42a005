"""path-mtu-shrunk: exceptions that the kernel learnt."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.network.interfaces import INTERFACES
from sdstop.collectors.network.paths import PATHS, TCP
from sdstop.core.finding import Severity
from sdstop.rules.network.path_mtu_shrunk import PATH_MTU_SHRUNK
from tests.nodes.frames import Files, Judged, value
from tests.nodes.network import Nic, files

FOUR, SIX = "cmd:ip -j -s route show cache", "cmd:ip -j -s -6 route show cache"


def routes(**mtus: int) -> str:
    rows = [
        {
            "dst": dst.replace("_", "."),
            "gateway": "10.0.0.254",
            "dev": "eth0",
            "expires": 500,
            "metrics": [{"mtu": mtu}],
        }
        for dst, mtu in mtus.items()
    ]
    return json.dumps(rows)


def judged(said: str, *, mtu: int = 9000, six: str = "[]", probes: tuple[int, int] | None = None) -> Judged:
    shown: list[tuple[float, Files]] = []
    for t in range(2):
        more = {FOUR: said, SIX: six}
        if probes is not None:
            more["/proc/net/snmp"] = "Tcp: InSegs\nTcp: 1\n"
            more["/proc/net/netstat"] = f"TcpExt: TCPMTUPFail\nTcpExt: {probes[t]}\n"
        shown.append((float(t), files(Nic("eth0", mtu), more=more)))
    return Judged((INTERFACES, PATHS, TCP), [PATH_MTU_SHRUNK], shown)


def test_a_storage_peer_behind_a_smaller_hop() -> None:
    finding = judged(routes(_10_1_2_3=1500).replace(".10", "10")).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert finding.title == "PATH MTU 1500, INTERFACE 9000"
    assert finding.cause == "The path to 10.1.2.3 takes 1500 bytes, eth0 sends up to 9000."
    assert any("ping -M do -c 3 -s 8972 10.1.2.3" in line for line in finding.steps)
    assert any("ip link set dev eth0 mtu 1500" in line for line in finding.steps)
    assert any(cite.key == FOUR for cite in finding.evidence)


@pytest.mark.parametrize(
    ("mtu", "severity"), [(8101, Severity.INFO), (8100, Severity.WARNING), (1280, Severity.WARNING)]
)
def test_ten_percent_less_towards_a_private_network(mtu: int, severity: Severity) -> None:
    assert (
        judged(f'[{{"dst":"192.168.7.7","dev":"eth0","metrics":[{{"mtu":{mtu}}}]}}]').finding("eth0").severity
        is severity
    )


@pytest.mark.parametrize("destination", ["8.8.8.8", "2606:4700::1111", "nonsense"])
def test_the_internet_is_smaller(destination: str) -> None:
    said = f'[{{"dst":"{destination}","dev":"eth0","metrics":[{{"mtu":1400}}]}}]'
    finding = (judged("[]", six=said) if ":" in destination else judged(said)).finding("eth0")
    assert finding.severity is Severity.INFO


def test_ipv6_is_probed_with_its_own_header() -> None:
    finding = judged("[]", six='[{"dst":"fd00::1","dev":"eth0","metrics":[{"mtu":1500}]}]').finding("eth0")
    assert finding.severity is Severity.WARNING
    assert any("ping -6 -M do -c 3 -s 8952 fd00::1" in line for line in finding.steps)
    assert any(cite.key == SIX for cite in finding.evidence)


def test_many_destinations_of_an_interface_are_one_finding() -> None:
    rows = [{"dst": f"10.0.0.{n}", "dev": "eth0", "metrics": [{"mtu": 1500}]} for n in range(9)]
    rows = [{"dst": "8.8.8.8", "dev": "eth0", "pref": "x" * 500}, *rows]  # the first exception is far into the line
    finding = judged(json.dumps(rows)).finding("eth0")
    assert value(finding, "named") == "10.0.0.0, 10.0.0.1, 10.0.0.2 and 6 more"
    assert "9 destinations" in finding.impact
    assert value(finding, "destinations") == 9


@pytest.mark.parametrize("mtu", [9000, 9001])
def test_no_smaller_than_the_interface_is_good(mtu: int) -> None:
    judged(f'[{{"dst":"10.0.0.1","dev":"eth0","metrics":[{{"mtu":{mtu}}}]}}]').ruled_out("eth0")


def test_nothing_learnt_is_good() -> None:
    assert judged("[]").unchecked("").calm


@pytest.mark.parametrize(("lost", "fires"), [(2, False), (3, True)])
def test_lost_probes_without_an_exception(lost: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged("[]", probes=(7, 7 + lost))
    if fires:
        finding = said.finding("tcp")
        assert finding.severity is Severity.INFO
        assert value(finding, "probes") == lost
    else:
        said.unchecked("")


def test_a_node_without_ip_is_not_called_good() -> None:
    shown: list[tuple[float, Files]] = [(0.0, files(Nic("eth0")))]
    assert "not recorded" in Judged((INTERFACES, PATHS), [PATH_MTU_SHRUNK], shown).unchecked("").reason
