"""bond-unbalanced: links that are down, outside the LACP group, of another speed, or unused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.network import proc_bonding
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.core.collector import texts_of
from sdstop.core.finding import Damage, Gap, Severity
from sdstop.core.session import Session
from sdstop.pasted.reader import read_nodes
from sdstop.rules.network.bond_unbalanced import BOND_UNBALANCED
from sdstop.rules.network.link_saturated import LINK_SATURATED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.network import CLASS, Nic, files

LINE = 1_250_000_000


def judged(
    rates: Sequence[tuple[float, float]] = ((0.2, 0.2), (0.2, 0.2)),
    mode: str = "802.3ad 4",
    *,
    seconds: int = 12,
    speeds: Sequence[int] = (10_000, 10_000),
    slaves: Mapping[int, Mapping[str, str]] | None = None,
    link: str = "up",
    proc: Mapping[str, str] | None = None,
) -> Judged:
    """Judge a bond whose slaves receive and send these shares of 10 Gb/s; `slaves` has other files of some."""
    names = [f"eth{index}" for index in range(len(rates))]
    nics = [Nic(name, speed=speed, master="bond0") for name, speed in zip(names, speeds, strict=True)]
    base = f"{CLASS}/bond0/bonding"
    more = {f"{base}/mode": mode, f"{base}/slaves": " ".join(names), f"{base}/xmit_hash_policy": "layer2 0",
            f"{base}/mii_status": link, f"{base}/miimon": "100", **(proc or {})}  # fmt: skip
    for index, name in enumerate(names):
        own = {"state": "active", "mii_status": "up", "link_failure_count": "0", "ad_aggregator_id": "1"}
        own |= (slaves or {}).get(index, {})
        more |= {f"{CLASS}/{name}/bonding_slave/{key}": text for key, text in own.items() if text}
    bond = Nic("bond0", kind="bond", speed=20_000, lower=tuple(names))
    shown: list[tuple[float, Files]] = []
    for second in range(seconds + 1):
        for nic, (rx, tx) in zip(nics, rates, strict=True):
            nic.rx_bytes, nic.tx_bytes = int(rx * LINE * second), int(tx * LINE * second)
            nic.rx_packets, nic.tx_packets = nic.rx_bytes // 8000, nic.tx_bytes // 8000
        shown.append((float(second), files(*nics, bond, more=more)))
    return Judged((NETWORK, INTERFACES, LINKS), [BOND_UNBALANCED, LINK_SATURATED], shown)


RULE = "bond-unbalanced"


@pytest.mark.parametrize(
    ("rates", "mode"),
    [
        (((0.2, 0.2), (0.2, 0.2)), "802.3ad 4"),
        (((0.0, 0.0), (0.0, 0.0)), "802.3ad 4"),  # idle
        (((0.4, 0.84), (0.0, 0.0)), "802.3ad 4"),  # one flow, and room
        (((0.0, 0.95), (0.0, 0.06)), "802.3ad 4"),  # uneven, but both are used
        (((0.0, 0.95), (0.0, 0.0)), "active-backup 1"),
        (((0.0, 0.95), (0.0, 0.95)), "broadcast 3"),
        (((0.0, 0.006), (0.0, 0.0)), "balance-rr 0"),  # 7.5 MB/s
        (((0.5, 0.3), (0.0, 0.3)), "balance-rr 0"),  # the switch sends all to one, which has room
        (((0.9, 0.9),), "802.3ad 4"),  # one slave
    ],
)
def test_bonds_that_do_what_they_can(rates: Any, mode: str) -> None:
    judged(rates, mode, speeds=(10_000,) * len(rates)).ruled_out("bond0", RULE)


@pytest.mark.parametrize(
    ("rates", "mode", "words"),
    [
        (((0.0, 0.86), (0.0, 0.0)), "802.3ad 4", "eth0 sent 86.0% of its line, eth1 almost nothing."),
        (((0.0, 0.0), (0.0, 0.9)), "balance-xor 2", "eth1 sent 90.0% of its line, eth0 almost nothing."),
        (((0.9, 0.1), (0.0, 0.1)), "802.3ad 4", "eth0 received 90.0% of its line, eth1 almost nothing."),
        (((0.0, 0.3), (0.0, 0.0)), "balance-rr 0", "eth0 sent 358 MiB/s, eth1 almost nothing."),
        (((0.0, 0.009), (0.0, 0.0)), "balance-rr 0", "eth0 sent 10.7 MiB/s, eth1 almost nothing."),
    ],
)
def test_a_slave_that_is_full_while_another_is_unused(rates: Any, mode: str, words: str) -> None:
    finding = judged(rates, mode).finding("bond0", RULE)
    assert finding.severity is Severity.WARNING
    assert finding.cause == words
    assert finding.explains[0].startswith("link-saturated:eth")


@pytest.mark.parametrize(("least", "fires"), [(0.0, True), (0.022, True), (0.024, False), (0.9, False)])
def test_a_twentieth_of_an_even_share_is_unused(least: float, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(((0.0, 0.9), (0.0, least)))
    if fires:
        assert value(said.finding("bond0", RULE), "share") == pytest.approx(0.9, abs=0.001)
    else:
        said.ruled_out("bond0", RULE)


def test_traffic_needs_ten_seconds() -> None:
    early = judged(((0.0, 0.95), (0.0, 0.0)), seconds=9).unchecked("bond0", RULE)
    assert (early.reason, early.gap) == ("all links up; traffic needs 10 s of samples, has 9 s", Gap.EARLY)
    judged(((0.0, 0.95), (0.0, 0.0)), seconds=10).finding("bond0", RULE)


def test_it_explains_the_link_that_is_full() -> None:
    said = judged(((0.0, 0.95), (0.0, 0.0)))
    findings = said.session.head().judgement.findings
    assert [finding.id for finding in findings] == ["bond-unbalanced:bond0", "link-saturated:eth0"]
    assert findings[0].explains == ("link-saturated:eth0",)


@pytest.mark.parametrize("mode", ["802.3ad 4", "active-backup 1", "balance-rr 0"])
def test_a_link_that_is_down(mode: str) -> None:
    finding = judged(mode=mode, seconds=1, slaves={1: {"mii_status": "down", "link_failure_count": "3"}}).finding(
        "bond0", RULE
    )
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Link down: eth1."
    assert finding.impact == "1 of 2 links carries all frames; the next failure stops them."
    assert finding.damage is Damage.REDUNDANCY
    assert value(finding, "failures") == 3


def test_no_link_is_left() -> None:
    down = {"mii_status": "down"}
    finding = judged(seconds=1, slaves={0: down, 1: down}).finding("bond0", RULE)
    assert (finding.severity, finding.title, finding.cause) == (
        Severity.CRITICAL,
        "NO LINK LEFT",
        "Link down: eth0, eth1.",
    )
    assert finding.damage is Damage.AVAILABILITY


@pytest.mark.parametrize("state", ["up", "going down", "going back"])
def test_a_link_that_is_going_down_or_back_is_not_down_yet(state: str) -> None:
    judged(slaves={1: {"mii_status": state}}).ruled_out("bond0", RULE)


def test_a_slave_in_an_aggregator_of_its_own() -> None:
    other = {1: {"ad_aggregator_id": "2"}}
    finding = judged(slaves=other, seconds=1).finding("bond0", RULE)
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Outside the main LACP aggregator: eth1."
    assert finding.impact == "1 of 2 links carries all frames."
    judged(mode="balance-xor 2", slaves=other).ruled_out("bond0", RULE)  # only LACP has aggregators
    judged(slaves={1: {"ad_aggregator_id": ""}}).ruled_out("bond0", RULE)  # unknown


def test_a_bond_without_link_although_its_slaves_have_one() -> None:
    finding = judged(link="down").finding("bond0", RULE)
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "The bond has no link, its 2 slaves have one."


@pytest.mark.parametrize(("mode", "fires"), [("802.3ad 4", True), ("balance-rr 0", True), ("active-backup 1", False)])
def test_an_inactive_slave_where_all_should_carry_frames(mode: str, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(mode=mode, slaves={1: {"state": "backup"}})
    if fires:
        assert said.finding("bond0", RULE).summary == "Link up but inactive: eth1. 1 of 2 links carries all frames."
    else:
        assert said.ruled_out("bond0", RULE).summary


def test_a_slave_of_another_speed() -> None:
    finding = judged(speeds=(10_000, 1_000), seconds=1).finding("bond0", RULE)
    assert finding.cause == "eth1 negotiated 119 MiB/s, eth0 1.2 GiB/s."
    judged(mode="active-backup 1", speeds=(10_000, 1_000)).ruled_out("bond0", RULE)  # a slower spare is a choice


def test_what_is_not_known_is_not_good() -> None:
    assert judged(slaves={1: {"mii_status": ""}}).unchecked("bond0", RULE).reason == "link of eth1 unknown"
    assert judged(mode="").unchecked("bond0", RULE).reason == "mode unknown"


def partners(*macs: str) -> str:
    """Return /proc/net/bonding/bond0 as root reads it, with the partner of each slave."""
    head = "Ethernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\n"
    slaves = (
        f"\nSlave Interface: eth{n}\nMII Status: up\nAggregator ID: 1\ndetails actor lacp pdu:\n"
        f"    system mac address: 3c:ec:ef:01:02:03\n    port state: 61\ndetails partner lacp pdu:\n"
        f"    system mac address: {mac}\n    oper key: 1\n    port state: 63\n"
        for n, mac in enumerate(macs)
    )
    return head + "".join(slaves)


def test_the_partner_of_each_slave_is_known_to_root() -> None:
    said = proc_bonding.parse(partners("00:1c:73:aa:bb:01", "00:00:00:00:00:00"))
    assert [(slave.partner, slave.port_state) for slave in said.slaves] == [
        ("00:1c:73:aa:bb:01", 61),
        ("00:00:00:00:00:00", 61),
    ]


@pytest.mark.parametrize("state", ["69", "189"])  # 0x45: defaulted, 0xbd: expired
def test_a_slave_without_lacp_frames_from_the_switch(state: str) -> None:
    finding = judged(slaves={1: {"ad_actor_oper_port_state": state}}).finding("bond0", RULE)
    assert (finding.severity, finding.title) == (Severity.WARNING, "NO LACP PARTNER")
    assert finding.cause == "Link up, but no LACP frames from the switch: eth1."
    assert finding.impact == "1 of 2 links carries all frames; the next failure stops them."


def test_a_port_that_collects_and_distributes_has_a_partner() -> None:
    judged(slaves={n: {"ad_actor_oper_port_state": "61"} for n in (0, 1)}).ruled_out("bond0", RULE)
    judged(mode="balance-xor 2", slaves={1: {"ad_actor_oper_port_state": "69"}}).ruled_out("bond0", RULE)


def test_a_switch_that_speaks_no_lacp_at_all() -> None:
    finding = judged(slaves={n: {"ad_actor_oper_port_state": "69"} for n in (0, 1)}).finding("bond0", RULE)
    assert (finding.title, finding.impact) == ("NO LACP PARTNER ON ANY SLAVE", "At most 1 of 2 links carries frames.")


def test_two_partners_are_named_as_the_cause_of_two_aggregators() -> None:
    files_of_proc = {"/proc/net/bonding/bond0": partners("00:1c:73:aa:bb:01", "00:1c:73:aa:bb:02")}
    said = judged(slaves={1: {"ad_aggregator_id": "2"}}, proc=files_of_proc).finding("bond0", RULE)
    assert said.cause == "eth1 leads to another LACP partner than the other slaves."
    assert value(said, "partners") == 2


def test_a_pasted_bond_is_read_to_its_last_slave_although_root_sees_details_of_both_ends() -> None:
    both = partners("00:1c:73:aa:bb:01", "00:1c:73:aa:bb:02").replace("Aggregator ID: 1", "Aggregator ID: 2")
    both = both.replace("Aggregator ID: 2", "Aggregator ID: 1", 1)
    text = f"root@n1:~# cat /proc/net/bonding/bond0\n{both}\nroot@n1:~# \n"
    origin, frames = read_nodes(text.encode(), texts_of(BUILTIN))[0]
    session = Session(origin, BUILTIN, (BOND_UNBALANCED,))
    session.feed_all(frames)
    (found,) = session.head().judgement.findings
    assert found.cause == "eth1 leads to another LACP partner than the other slaves."


@pytest.mark.parametrize(("miimon", "mode", "found"), [
    ("0", "active-backup 1", True), ("0", "balance-xor 2", True), ("1", "active-backup 1", False),
    ("100", "802.3ad 4", False),
])  # fmt: skip
def test_a_bond_that_does_not_look_at_its_links(miimon: str, mode: str, *, found: bool) -> None:
    said = judged(mode=mode, proc={f"{CLASS}/bond0/bonding/miimon": miimon})
    if found:
        finding = said.finding("bond0", RULE)
        assert (finding.severity, finding.title) == (Severity.INFO, "LINKS OF THE BOND NOT MONITORED")
    else:
        assert said.ruled_out("bond0", RULE).summary


@pytest.mark.parametrize(("before", "now", "left"), [(2, 2, ""), (1, 2, ""), (2, 1, "eth1"), (3, 2, "eth2")])
def test_a_slave_that_leaves_the_bond_while_it_is_watched(before: int, now: int, left: str) -> None:
    shown: list[tuple[float, Files]] = []
    for second in range(20):
        names = [f"eth{index}" for index in range(now if second > 5 else before)]
        base = f"{CLASS}/bond0/bonding"
        more = {f"{base}/mode": "802.3ad 4", f"{base}/slaves": " ".join(names), f"{base}/mii_status": "up",
                f"{base}/miimon": "100"}  # fmt: skip
        for name in names:
            own = {"state": "active", "mii_status": "up", "link_failure_count": "0", "ad_aggregator_id": "1"}
            more |= {f"{CLASS}/{name}/bonding_slave/{key}": text for key, text in own.items()}
        bond = Nic("bond0", kind="bond", speed=20_000, lower=tuple(names))
        shown.append((float(second), files(*(Nic(name, master="bond0") for name in names), bond, more=more)))
    said = Judged((NETWORK, INTERFACES, LINKS), [BOND_UNBALANCED], shown)
    if left:
        assert said.finding("bond0").title == "SLAVE LEFT THE BOND"
        assert said.finding("bond0").cause == f"{left} left the bond while watched."
    else:
        said.ruled_out("bond0")
