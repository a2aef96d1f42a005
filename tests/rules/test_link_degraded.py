"""link-degraded: which links are at fault, and which are only unused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.interfaces_text import INTERFACES_TEXT
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.readings import CLASS
from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Severity
from sdstop.rules.network.bond_unbalanced import BOND_UNBALANCED
from sdstop.rules.network.link_degraded import LINK_DEGRADED
from tests.nodes.frames import Judged, check
from tests.nodes.network import Nic, files


def judged(*moments: dict[str, str]) -> Judged:
    shown = [(10.0 * number, each) for number, each in enumerate(moments)]
    return Judged((NETWORK, INTERFACES, LINKS), [LINK_DEGRADED], shown)


def bond(*slaves: Nic) -> dict[str, str]:
    """Return a bond over these slaves; a slave without carrier is down."""
    base = f"{CLASS}/bond0/bonding"
    names = tuple(nic.name for nic in slaves)
    more = {f"{base}/mode": "802.3ad 4\n", f"{base}/slaves": f"{' '.join(names)}\n", f"{base}/mii_status": "up\n"}
    for nic in slaves:
        own = f"{CLASS}/{nic.name}/bonding_slave"
        more |= {f"{own}/mii_status": "up\n" if nic.carrier else "down\n", f"{own}/link_failure_count": "0\n",
                 f"{own}/state": "active\n"}  # fmt: skip
    return files(Nic("bond0", kind="bond", lower=names, rx_packets=9), *slaves, more=more)


def slave(name: str, *, carrier: bool = True) -> Nic:
    return Nic(name, master="bond0", carrier=carrier, rx_packets=9)


def test_a_link_that_carried_something_and_is_down_is_a_warning() -> None:
    finding = judged(files(Nic("eth0", carrier=False, rx_packets=9, rx_bytes=1 << 30))).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert "after 1 GiB received since boot" in finding.cause
    assert finding.title == "LINK DOWN"
    check(finding)


@pytest.mark.parametrize(
    ("nic", "words"),
    [
        (Nic("eth0", rx_packets=9), "link up"),
        (Nic("eth0", carrier=False), "no link, 0 frames received since boot"),
        (Nic("eth0", up=False, rx_packets=9), "switched off by the administrator"),
    ],
)
def test_a_link_that_is_up_or_not_used_is_good(nic: Nic, words: str) -> None:
    assert words in judged(files(nic)).ruled_out("eth0").summary


def test_a_link_that_never_was_there_is_a_fault_below_a_vlan() -> None:
    """After a boot with the cable unplugged nothing was received; somebody configured a VLAN on it."""
    eth0 = Nic("eth0", carrier=False, upper=("eth0.7",))
    vlan = Nic("eth0.7", kind="vlan", lower=("eth0",), carrier=False)
    finding = judged(files(eth0, vlan)).finding("eth0")
    assert (finding.severity, finding.cause) == (Severity.WARNING, "The link is down; configured on it: eth0.7.")
    assert "eth0.7" not in {said.subject for said in judged(files(eth0, vlan)).all}
    judged(files(eth0, replace(vlan, up=False))).ruled_out("eth0")


def test_a_vlan_whose_interface_is_not_shown_has_the_verdict_itself() -> None:
    text = (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether 00:11:22:33:44:55 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9702\n"
        "3: vlan7@eth1: <NO-CARRIER,BROADCAST,MULTICAST,UP,M-DOWN> mtu 9000 qdisc noqueue state LOWERLAYERDOWN mode "
        "DEFAULT group default qlen 1000\n"
        "    link/ether 00:11:22:33:44:56 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 0 maxmtu 65535\n"
        "    vlan protocol 802.1Q id 7 <REORDER_HDR>\n"
    )
    said = Judged((NETWORK, INTERFACES, LINKS, INTERFACES_TEXT), [LINK_DEGRADED], [(0.0, {"cmd:ip -d link": text})])
    assert said.finding("vlan7").title == "LINK DOWN"


@pytest.mark.parametrize("state", ["dormant", "testing"])
def test_a_port_that_is_not_open_is_a_warning(state: str) -> None:
    shown = files(Nic("eth0", rx_packets=9)) | {f"{CLASS}/eth0/operstate": f"{state}\n"}
    assert judged(shown).finding("eth0").cause == f"The link has a carrier; its state is {state}."


def test_half_duplex_is_a_warning() -> None:
    finding = judged(files(Nic("eth0", duplex="half", rx_packets=9))).finding("eth0")
    assert finding.title == "HALF DUPLEX"


@pytest.mark.parametrize(("speed", "is_found"), [(10, True), (100, True), (101, False), (1000, False)])
def test_a_link_at_100_mbit_is_a_warning(speed: int, is_found: bool) -> None:  # noqa: FBT001
    said = judged(files(Nic("eth0", speed=speed, rx_packets=9)))
    if is_found:
        assert said.finding("eth0").title == f"LINK AT {speed} Mbit/s"
        check(said.finding("eth0"))
    else:
        assert said.ruled_out("eth0").summary


def test_other_kinds_of_interfaces_are_not_judged() -> None:
    assert judged(files(Nic("br0", kind="bridge", carrier=False, rx_packets=9), Nic("eth0"))).ruled_out("eth0").summary


@pytest.mark.parametrize("flaps", [0, 1, 2, 3])
def test_a_link_flaps_from_the_second_time_on(flaps: int) -> None:
    changes = f"{CLASS}/eth0/carrier_changes"
    said = judged(files(Nic("eth0"), more={changes: "5\n"}), files(Nic("eth0"), more={changes: f"{5 + 2 * flaps}\n"}))
    if flaps < 2:
        assert said.ruled_out("eth0").summary
    else:
        assert f"failed {flaps} times" in said.finding("eth0").cause
        assert said.finding("eth0").title == "LINK FLAPPING"


@pytest.mark.parametrize(("uptime", "flaps"), [(86_400.0, True), (89_900.0, True), (90_100.0, False), (9e6, False)])
def test_a_link_that_fails_once_in_a_window_flaps_if_it_did_so_each_hour(uptime: float, flaps: bool) -> None:  # noqa: FBT001
    """25 failures: in a day or in 24.97 hours, in 25.03 hours, in 104 days."""
    changes, boot = f"{CLASS}/eth0/carrier_changes", {"/proc/uptime": f"{uptime} 0.00\n"}
    moments = [files(Nic("eth0"), more={changes: f"{number}\n"} | boot) for number in (48, 50)]
    shown = [(10.0 * number, each) for number, each in enumerate(moments)]
    said = Judged((NETWORK, INTERFACES, LINKS, NODE), [LINK_DEGRADED], shown)
    if flaps:
        assert "1 time in 10s, 1.0" in said.finding("eth0").cause
        check(said.finding("eth0"))
    else:
        assert said.ruled_out("eth0").summary == "link up, lost 1 time while watched"


def test_old_failures_alone_are_good() -> None:
    more = {f"{CLASS}/eth0/carrier_changes": "5000\n", "/proc/uptime": "86400.0 0.00\n"}
    shown = [(10.0 * number, files(Nic("eth0"), more=more)) for number in range(2)]
    good = [Judged((NETWORK, INTERFACES, LINKS, NODE), [LINK_DEGRADED], shown[:count]) for count in (1, 2)]
    assert [said.ruled_out("eth0").summary for said in good] == [
        "link up in 1 sample", "link up, lost 0 times while watched",
    ]  # fmt: skip


def test_failures_that_cannot_be_read_are_no_good_sign() -> None:
    nics = (Nic("eth0"), Nic("eth1"))
    for text in ("garbage\n", "\0"):
        shown = [
            (
                10.0 * n,
                files(*nics, more={f"{CLASS}/eth0/carrier_changes": text, f"{CLASS}/eth1/carrier_changes": "2\n"}),
            )
            for n in range(3)
        ]
        said = Judged((NETWORK, INTERFACES, LINKS, NODE), [LINK_DEGRADED], shown)
        assert "not a number" in said.unchecked("eth0").reason
        assert said.ruled_out("eth1").summary == "link up, lost 0 times while watched"


# --- bonds --------------------------------------------------------------------------------------------------


def test_the_slaves_of_a_whole_bond_are_good_and_the_bond_is_left_to_its_own_rule() -> None:
    said = judged(bond(slave("a"), slave("b")))
    assert [said.ruled_out(name).summary for name in ("a", "b")] == ["link up in 1 sample"] * 2
    assert {verdict.subject for verdict in said.session.head().judgement.ruled_out} <= {"a", "b"}


def test_a_slave_without_link_is_a_warning_and_explains_the_bond() -> None:
    shown = [(10.0, bond(slave("a"), slave("b", carrier=False)))]
    said = Judged((NETWORK, INTERFACES, LINKS), [LINK_DEGRADED, BOND_UNBALANCED], shown)
    finding = said.finding("b", "link-degraded")
    assert finding.severity is Severity.WARNING
    assert "bond0 works without it" in finding.summary
    assert finding.explains == ("bond-unbalanced:bond0",)
    assert said.finding("bond0", "bond-unbalanced").severity is Severity.WARNING


def test_without_traffic_nobody_knows_whether_a_link_was_used() -> None:
    text = (
        "3: eno2: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default qlen 1000\n"
        "    link/ether 3c:fd:fe:a1:b2:c2 brd ff:ff:ff:ff:ff:ff\n    inet 198.51.100.5/24 scope global eno2\n"
    )
    said = Judged([INTERFACES_TEXT], [LINK_DEGRADED], [(0.0, {"cmd:ip address": text})])
    assert "traffic since boot unknown" in said.unchecked("eno2").reason


@pytest.mark.parametrize(("other", "share", "severity"), [
    (1000, 0.0, Severity.INFO), (999, 0.0, Severity.WARNING), (25_000, 0.09, Severity.INFO),
    (25_000, 0.11, Severity.WARNING),
])  # fmt: skip
def test_a_slow_link_beside_a_fast_one_is_for_management(other: int, share: float, severity: Severity) -> None:
    line = 12_500_000
    moments = [
        files(Nic("eth0", speed=100, rx_packets=9 + n, rx_bytes=int(share * line * 10 * n)), Nic("eth1", speed=other))
        for n in range(3)
    ]
    assert judged(*moments).finding("eth0").severity is severity


def test_a_slow_slave_is_not_for_management() -> None:
    said = judged(bond(Nic("eth0", speed=100, rx_packets=9), Nic("eth1", speed=10_000)))
    assert said.finding("eth0").severity is Severity.WARNING


@pytest.mark.parametrize("kind", ["physical", "tun", "veth"])
def test_a_slave_that_is_down_is_a_warning_whatever_its_kind(kind: str) -> None:
    """A virtual link that is down by itself is none of the node's; below a bond it was redundancy."""
    down = Nic("eth1", kind=kind, master="bond0", carrier=False, rx_packets=9)
    finding = judged(bond(slave("eth0"), down)).finding("eth1")
    assert finding.cause == "The link is down; bond bond0 works without it."
    alone = judged(files(Nic("eth1", kind="tun", carrier=False, rx_packets=9)))
    assert alone.silent()
