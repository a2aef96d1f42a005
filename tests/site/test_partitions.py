"""Nodes of one Pacemaker cluster: who lies in which part, and what runs in both."""

from __future__ import annotations

import pytest

from sdstop.core.finding import Damage, Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.pacemaker import COROSYNC, DRBD, MON, TARGET, clone, group, instance, node, status
from tests.nodes.site import Shown, finding, found, ruled_out, site, unchecked

ALONE1 = node("store1", leads=True) + node("store2", online=False)
ALONE2 = node("store1", online=False) + node("store2", leads=True)
TARGET2 = group(
    "target", instance("ip", "ocf:heartbeat:IPaddr2", "store2"), instance("lun", "ocf:heartbeat:iSCSI", "store2")
)
DRBD1 = clone("r0-clone", instance("r0", "ocf:linbit:drbd", "store1", "Promoted"))
DRBD2 = clone("r0-clone", instance("r0", "ocf:linbit:drbd", "store2", "Promoted"))


def shown(mon: str, start: float = 0.0) -> Shown:
    return [(start + 5 * number, {MON: mon, **COROSYNC}) for number in range(4)]


def pair(one: str, other: str, later: float = 1.0) -> SiteSession:
    return site({"store1": shown(one), "store2": shown(other, later)})


def test_a_healthy_pair_is_ruled_out() -> None:
    made = pair(status(), status())
    assert made.judgement.findings == ()
    assert ruled_out(made, "cluster-partitioned", "san") == "the same 2 members online on all 2 nodes"


def test_a_split_pair_runs_everything_twice() -> None:
    made = pair(status(ALONE1, DRBD1 + TARGET), status(ALONE2, DRBD2 + TARGET2, leader="store2"))
    split = finding(made, "cluster-partitioned")
    assert (split.severity, split.damage, split.host) == (Severity.CRITICAL, Damage.DATA, "")
    assert split.title == "PARTITIONED AND RUNNING TWICE: 1 + 1"
    assert "store1 | store2" in split.cause
    twice = [value.value for value in split.values if value.name.startswith("twice")]
    assert twice == ["ip on store1, store2", "lun on store1, store2", "r0 on store1, store2"]
    assert {"store1:cluster-degraded:san", "store2:cluster-degraded:san"} == set(split.explains)
    assert {cite.host for cite in split.evidence} == {"store1", "store2"}


def test_a_clone_may_run_on_both_sides() -> None:
    ping = clone("ping-clone", instance("ping", "ocf:pacemaker:ping", "store1"), instance("ping", "x", "store2"))
    made = pair(status(ALONE1, ping), status(ALONE2, ping, quorum=False, leader="store2"))
    split = finding(made, "cluster-partitioned")
    assert not [value for value in split.values if value.name.startswith("twice")]


def three(lost: str = "node3") -> tuple[str, str]:
    """Return what the majority and the lost node of three see."""
    names = ("node1", "node2", "node3")
    most = "".join(node(name, leads=name == "node1", online=name != lost) for name in names)
    least = "".join(node(name, leads=name == lost, online=name == lost) for name in names)
    vip = instance("vip", "ocf:heartbeat:IPaddr2", "node1")
    return status(most, vip, leader="node1"), status(least, "", leader=lost, quorum=False)


def test_the_minority_is_the_side_that_is_wrong() -> None:
    majority, minority = three()
    made = site({"node1": shown(majority), "node2": shown(majority, 1), "node3": shown(minority, 2)})
    split = finding(made, "cluster-partitioned")
    assert (split.host, split.severity) == ("node3", Severity.WARNING)
    assert split.title == "PARTITIONED: 2 + 1 nodes"
    assert split.between == ("node1", "node2", "node3")
    parts = {value.name: value.value for value in split.values if value.name.startswith("part")}
    assert parts["part1"] == "node1, node2: quorum; runs vip"
    assert parts["part2"] == "node3: no quorum; runs nothing"
    assert split.steps[0] == "Restore the cluster network of node3."


def test_a_minority_that_runs_on_is_critical() -> None:
    majority, _ = three()
    names = ("node1", "node2", "node3")
    least = "".join(node(name, leads=name == "node3", online=name == "node3") for name in names)
    on = status(least, instance("vip", "ocf:heartbeat:IPaddr2", "node3"), leader="node3", quorum=False)
    made = site({"node1": shown(majority), "node3": shown(on, 2)})
    split = finding(made, "cluster-partitioned")
    assert (split.severity, split.damage) == (Severity.CRITICAL, Damage.DATA)
    assert "vip on both sides at once" in split.impact


def test_a_lost_node_without_a_capture_is_unchecked() -> None:
    made = site({"store1": shown(status(ALONE1, DRBD + TARGET)), "other": [(1.0, {}), (6.0, {})]})
    assert found(made, "cluster-partitioned") == []
    assert unchecked(made, "cluster-partitioned", "san") == "seen by 1 of 2 nodes: no capture of the others"


def test_views_that_differ_without_excluding_each_other_are_unchecked() -> None:
    """store1 does not see store2 yet, which sees both."""
    made = pair(status(ALONE1), status())
    assert found(made, "cluster-partitioned") == []
    assert "the state is changing" in unchecked(made, "cluster-partitioned", "san")


@pytest.mark.parametrize(("later", "judged"), [(599.0, True), (601.0, False)])
def test_captures_of_different_times_are_not_joined(later: float, *, judged: bool) -> None:
    made = pair(status(ALONE1), status(ALONE2, "", leader="store2", quorum=False), later)
    assert bool(found(made, "cluster-partitioned")) is judged
    if judged:
        assert finding(made, "cluster-partitioned").confidence == 0.8
    else:
        assert (
            unchecked(made, "cluster-partitioned", "san")
            == "captures of store1, store2 are 10m01 apart by their clocks"
        )


def test_two_clusters_are_two() -> None:
    other = {"/etc/corosync/corosync.conf": "totem {\n  cluster_name: web\n}\n"}
    web = [(5.0 * n, {MON: status(node("web1", leads=True), "", leader="web1"), **other}) for n in range(4)]
    made = site({"store1": shown(status()), "store2": shown(status(), 1), "web1": web})
    assert ruled_out(made, "cluster-partitioned", "san").startswith("the same 2 members")
    assert ruled_out(made, "cluster-partitioned", "web") == "1 member: no other part"
