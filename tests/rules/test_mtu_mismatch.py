"""mtu-mismatch: bonds, bridges, VLANs, veth pairs."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.network.interfaces import INTERFACES
from sdstop.collectors.network.links import LINKS
from sdstop.core.finding import Severity
from sdstop.rules.network.mtu_mismatch import MTU_MISMATCH
from tests.nodes.frames import Files, Judged
from tests.nodes.network import CLASS, Nic, files


def judged(*nics: Nic, more: dict[str, str] | None = None) -> Judged:
    shown: Files = files(*nics, more=more)
    return Judged((INTERFACES, LINKS), [MTU_MISMATCH], [(0.0, shown)])


def bond(mtu: int, *slaves: int, **settings: bool) -> list[Nic]:
    lower = tuple(f"eth{n}" for n in range(len(slaves)))
    nics = [Nic(name, slave, master="bond0", **settings) for name, slave in zip(lower, slaves, strict=True)]  # type: ignore[arg-type]
    return [*nics, Nic("bond0", mtu, "bond", lower=lower)]


def bridge(mtu: int, **ports: int) -> list[Nic]:
    nics = [Nic(name, port, master="br0") for name, port in ports.items()]
    return [*nics, Nic("br0", mtu, "bridge", lower=tuple(ports))]


def test_a_bond_and_its_slaves_agree() -> None:
    assert "9000" in judged(*bond(9000, 9000, 9000)).ruled_out("bond0").summary


def test_a_slave_that_is_too_small() -> None:
    finding = judged(*bond(9000, 9000, 1500)).finding("bond0/eth1")
    assert finding.severity is Severity.WARNING
    assert "ip link set dev bond0 mtu 9000" in finding.steps[0]
    assert {cite.key for cite in finding.evidence} == {f"{CLASS}/bond0/mtu", f"{CLASS}/eth1/mtu"}
    assert any("ping -M do -c 3 -s 8972" in line for line in finding.steps)


@pytest.mark.parametrize(("slave", "fires"), [(8999, True), (9000, False)])
def test_one_byte_is_enough(slave: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(*bond(9000, 9000, slave))
    assert [v.subject for v in said.all] == (["bond0/eth1"] if fires else ["bond0"])


def test_a_slave_that_is_larger_harms_nobody() -> None:
    assert judged(*bond(1500, 1500, 9000)).finding("bond0/eth1").severity is Severity.INFO


def test_a_slave_that_is_down_matters_later() -> None:
    finding = judged(*bond(9000, 9000, 1500, carrier=False)).finding("bond0/eth1")
    assert finding.severity is Severity.INFO
    assert finding.impact.endswith("would be lost; eth1 is down.")


def test_bridge_ports_differ() -> None:
    finding = judged(*bridge(1500, eth0=9000, tap0=1500, tap1=1500)).finding("br0")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "eth0 has MTU 9000, tap0 and 1 other port 1500."
    assert "ip link set dev tap0 mtu 9000" in finding.steps
    assert not any("dev eth0 mtu" in line for line in finding.steps)


def test_a_bridge_is_as_small_as_its_ports() -> None:
    judged(*bridge(1500, eth0=1500, tap0=1500)).ruled_out("br0")


def test_a_bridge_that_was_set_smaller_than_its_ports_is_not_our_matter() -> None:
    judged(*bridge(1400, eth0=1500, tap0=1500)).ruled_out("br0")


def test_a_bridge_that_is_larger_than_its_ports() -> None:
    finding = judged(*bridge(9000, eth0=1500, tap0=1500)).finding("br0")
    assert "br0 has MTU 9000, its ports 1500" in finding.summary


def test_a_port_that_is_down_is_info() -> None:
    nics = bridge(9000, eth0=9000, tap0=1500)
    nics[1].carrier = False
    finding = judged(*nics).finding("br0")
    assert finding.severity is Severity.INFO
    assert finding.impact.endswith("would be lost; tap0 is down.")


def test_a_bridge_that_is_down_is_info() -> None:
    nics = bridge(1500, eth0=9000, tap0=1500)
    nics[2].up = False
    assert judged(*nics).finding("br0").severity is Severity.INFO


@pytest.mark.parametrize(("upper", "fires"), [(1500, False), (9000, False), (9001, True)])
def test_a_vlan_larger_than_what_it_is_on(upper: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(Nic("eth0", 9000, upper=("eth0.7",)), Nic("eth0.7", upper, "vlan", lower=("eth0",)))
    if fires:
        finding = said.finding("eth0.7/eth0")
        assert "ip link set dev eth0 mtu 9001" in finding.steps[0]
    else:
        said.ruled_out("eth0.7")


def pair(one: int, other: int, *, up: bool = True) -> Judged:
    peers = [
        {"ifname": name, "link": peer, "linkinfo": {"info_kind": "veth"}} for name, peer in (("v0", "v1"), ("v1", "v0"))
    ]
    nics = [Nic("v0", one, "veth"), Nic("v1", other, "veth", up=up)]
    numbers = {f"{CLASS}/v0/iflink": "3\n", f"{CLASS}/v1/iflink": "2\n"}
    return judged(*nics, more={**numbers, "cmd:ip -j -d link show": json.dumps(peers)})


def test_the_ends_of_a_pair_differ() -> None:
    finding = pair(9000, 1500).finding("v0/v1")
    assert finding.severity is Severity.WARNING
    assert "v0 has MTU 9000, its peer v1 1500" in finding.cause
    assert finding.steps[0] == "ip link set dev v1 mtu 9000"


def test_the_ends_of_a_pair_agree() -> None:
    pair(1500, 1500).ruled_out("v0/v1")


def test_a_pair_that_is_down_is_info() -> None:
    assert pair(9000, 1500, up=False).finding("v0/v1").severity is Severity.INFO


def test_single_interfaces_have_nothing_to_agree_with() -> None:
    assert judged(Nic("eth0", 9000), Nic("eth1", 1500), Nic("lo", 65536, "loopback")).silent()


def test_an_mtu_that_is_not_known_is_not_called_good() -> None:
    nics = bond(9000, 9000, 9000)
    assert "unknown" in judged(*nics, more={f"{CLASS}/eth1/mtu": ""}).unchecked("bond0").reason


def far(*names: str, kind: str = "veth", ip: bool = True) -> tuple[list[Nic], dict[str, str]]:
    """Return interfaces whose other end is in another network namespace, and what tells so."""
    more = {f"{CLASS}/{name}/iflink": "2\n" for name in names}
    if kind != "veth":
        more |= {f"{CLASS}/{name}/uevent": f"DEVTYPE={kind}\nINTERFACE={name}\n" for name in names}
    if ip:
        rows = [{"ifname": n, "link_index": 2, "link_netnsid": 0, "linkinfo": {"info_kind": kind}} for n in names]
        more["cmd:ip -j -d link show"] = json.dumps(rows)
    return [Nic(name, 1500, kind) for name in names], more


@pytest.mark.parametrize("ip", [True, False])
def test_a_pair_whose_other_end_is_elsewhere_is_not_called_good(ip: bool) -> None:  # noqa: FBT001  # a table
    # The number of its peer is one of another namespace: here it is the number of eth0, which is no end of it.
    nics, more = far("v0", ip=ip)
    said = judged(Nic("eth0", 9000), *nics, more=more)
    assert said.unchecked("").reason.startswith("peers of v0 are in another network namespace")
    assert said.unchecked("").calm
    assert len(said.all) == 1


def test_what_is_built_upon_an_interface_elsewhere() -> None:
    nics, more = far("eth0.7", kind="vlan")
    assert judged(Nic("eth1", 9000), *nics, more=more).unchecked("").reason.startswith("peers of eth0.7 are in another")


def test_hundreds_of_containers_are_one_line() -> None:
    nics, more = far(*(f"v{n:03}" for n in range(300)))
    said = judged(Nic("eth0", 9000), *nics, more=more)
    assert said.unchecked("").reason.startswith("peers of v000, v001, v002, v003 and 296 more are in another")
    assert len(said.all) == 1


def test_beside_what_could_be_checked() -> None:
    nics, more = far("v0")
    said = judged(*bond(9000, 9000, 9000), *nics, more={**more, f"{CLASS}/v0/iflink": "77\n"})
    said.ruled_out("bond0")
    said.unchecked("")
