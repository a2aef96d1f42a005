"""Pacemaker: its nodes and resources, and what the rules say of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.pacemaker.cluster import PACEMAKER, ClusterResource, read
from sdstop.collectors.pacemaker.crm_mon import parse_name, parse_status
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Denied, Failed, Malformed
from sdstop.readings.cluster import Cluster, ClusterNode
from sdstop.rules.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.cluster_resource_failed import CLUSTER_RESOURCE_FAILED
from sdstop.rules.mdm_no_redundancy import MDM_NO_REDUNDANCY
from tests.nodes.frames import Judged, value
from tests.nodes.pacemaker import (
    COROSYNC,
    DRBD,
    MON,
    NODES,
    TARGET,
    clone,
    failure,
    group,
    instance,
    node,
    status,
)

UNCLEAN = node("store1", leads=True) + node("store2", online=False, unclean=True)


def judged(said: str, more: Mapping[str, str] = COROSYNC) -> Judged:
    rules = [CLUSTER_DEGRADED, CLUSTER_RESOURCE_FAILED, MDM_NO_REDUNDANCY]
    return Judged([PACEMAKER], rules, [(1.0, {MON: said, "/proc/sys/kernel/hostname": "store1\n", **more})])


def resources(said: str) -> dict[str, ClusterResource]:
    return {row.resource: row for row in judged(said).window.rows(ClusterResource).values()}


def test_a_cluster_that_is_well() -> None:
    said = judged(status())
    (cluster,) = said.window.rows(Cluster).values()
    assert (cluster.cluster, cluster.kind, cluster.state, cluster.leader) == ("san", "pacemaker", "quorum", "store1")
    assert (cluster.managers, cluster.managers_up, cluster.healthy) == (2, 2, 1)
    nodes = {row.node: row for row in said.window.rows(ClusterNode).values()}
    assert (nodes["store1"].leads, nodes["store1"].local, nodes["store2"].local) == (True, True, False)
    rows = said.window.rows(ClusterResource).values()
    assert {row.resource: (row.state, row.where, row.running, row.instances) for row in rows} == {
        "r0": ("running", "store1 (Promoted), store2 (Unpromoted)", 2, 2),
        "ip": ("running", "store1", 1, 1),
        "lun": ("running", "store1", 1, 1),
    }
    assert said.ruled_out("san", "cluster-degraded").summary == "quorum, 2 of 2 nodes online"
    assert said.ruled_out("san", "cluster-resource-failed").summary == "3 of 3 resources run"
    assert said.silent("mdm-no-redundancy")


def test_without_corosyncs_file_it_has_the_name_of_its_kind() -> None:
    assert judged(status(), {}).ruled_out("pacemaker", "cluster-degraded").summary.startswith("quorum")


def test_the_form_before_2_0_3() -> None:
    assert parse_status(status(root="crm_mon")) == parse_status(status())
    host = EvidenceHost()
    host.apply([Evidence("cmd:crm_mon -1 -r -X", data=status(root="crm_mon").encode())])
    assert any(isinstance(row, Cluster) for row in read(host))


def test_a_node_that_is_lost_and_not_fenced_yet() -> None:
    finding = judged(status(UNCLEAN)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "store2 UNCLEAN: fencing has not completed. Resources of store2 wait for fencing."
    assert value(finding, "managers") == 1


def test_a_node_that_cannot_be_fenced() -> None:
    said = status(UNCLEAN).replace('stonith-enabled="true"', 'stonith-enabled="false"')
    assert judged(said).finding("san", "cluster-degraded").impact.endswith("wait for fencing, but fencing is disabled.")
    newer = said.replace("<cluster_options ", '<cluster_options fencing-enabled="true" ')
    assert judged(newer).finding("san", "cluster-degraded").impact.endswith("wait for fencing.")


def test_a_node_that_was_shut_down_is_a_warning() -> None:
    nodes = node("store1", leads=True) + node("store2", online=False)
    finding = judged(status(nodes)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.WARNING
    assert "store2 is offline" in finding.summary


@pytest.mark.parametrize(
    ("policy", "words"),
    [("stop", "All resources are stopped"), ("freeze", "none is moved"), ("?", "No-quorum-policy decides")],
)
def test_no_quorum_and_what_becomes_of_the_resources(policy: str, words: str) -> None:
    finding = judged(status(quorum=False, policy=policy)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert "no quorum" in finding.summary
    assert words in finding.summary


def test_nobody_leads_it() -> None:
    said = judged(status(leader=""))
    finding = said.finding("san", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert "has no designated controller" in finding.summary
    said.unchecked("san", "cluster-resource-failed")


@pytest.mark.parametrize("word", ["standby", "maintenance"])
def test_a_node_that_is_kept_out_on_purpose(word: str) -> None:
    nodes = node("store1", leads=True) + node("store2", **{word: True})
    finding = judged(status(nodes)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.INFO
    assert "In maintenance: store2" in finding.summary


def test_in_maintenance_mode_stopped_resources_are_nobodys_fault() -> None:
    said = judged(status(resources=instance("ip", "ocf:heartbeat:IPaddr2"), maintenance=True))
    said.unchecked("san", "cluster-resource-failed")
    assert said.ruled_out("san", "cluster-degraded").summary.startswith("maintenance")


def test_a_remote_node_that_is_down_may_be_a_stopped_container() -> None:
    remote = node("web-0", online=False).replace('type="member"', 'type="remote"')
    said = judged(status(NODES + remote))
    assert said.ruled_out("san", "cluster-degraded").summary == "quorum, 2 of 2 nodes online"
    assert {row.node: row.healthy for row in said.window.rows(ClusterNode).values()}["web-0"] is None


def test_a_resource_that_failed() -> None:
    lun = instance("lun", "ocf:heartbeat:iSCSILogicalUnit", "store1", failed=True)
    reasons = failure("lun", "store1", "no LIO", when="2026-11-21 03:10:00Z") + failure("lun", "store1", "timed out")
    finding = judged(status(resources=lun, failures=reasons)).finding("san/lun")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Failed on store1: monitor on store1: timed out (2026-11-21 03:12:07Z)."
    assert value(finding, "failures") == 2
    assert "crm_resource --cleanup --resource lun" in finding.steps[3]


def test_a_resource_that_could_not_be_stopped() -> None:
    stuck = instance("r0", "ocf:linbit:drbd", "store1", failed=True, blocked=True)
    finding = judged(status(resources=stuck)).finding("san/r0")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "RESOURCE BLOCKED"
    assert "on store1" in finding.cause


def test_a_resource_that_should_run_and_does_not() -> None:
    finding = judged(status(resources=group("target", instance("ip", "ocf:heartbeat:IPaddr2")))).finding("san/ip")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Not running on any node, although enabled."


@pytest.mark.parametrize("roles", [("Unpromoted", "Unpromoted"), ("Slave", "Slave"), ("Promoted", "Unpromoted")])
def test_a_clone_without_a_promoted_instance_is_a_warning(roles: tuple[str, str]) -> None:
    both = [instance("r0", "ocf:linbit:drbd", f"store{n}", role) for n, role in enumerate(roles, 1)]
    said = judged(status(resources=clone("c", *both)))
    if "Promoted" in roles:
        assert said.ruled_out("san", "cluster-resource-failed").summary
    else:
        assert "No instance promoted" in said.finding("san/r0").cause


@pytest.mark.parametrize(
    ("resources", "state"),
    [
        (instance("ip", "x", target="Stopped"), "disabled"),
        (instance("ip", "x", target="stopped"), "disabled"),
        (clone("c", instance("ip", "x"), disabled=True), "disabled"),
        (clone("c", group("g", instance("ip", "x")), disabled=True), "disabled"),
        (instance("ip", "x", "store1", managed=False), "unmanaged"),
        (clone("c", instance("ip", "x", "store1"), instance("ip", "x")), "running"),
        (instance("ip", "x", "store1"), "running"),
    ],
)
def test_what_is_stopped_on_purpose_or_runs_somewhere_is_well(resources: str, state: str) -> None:
    said = judged(status(resources=resources, failures=failure("ip", "store1", "it was slow once")))
    (row,) = said.window.rows(ClusterResource).values()
    assert (row.state, row.failures) == (state, 1)
    assert "1 failed actions on record" in said.ruled_out("san", "cluster-resource-failed").summary


def test_failures_of_other_resources_are_not_its_own() -> None:
    known = resources(status(failures=failure("ip6", "store1", "x") + failure("ip_a", "store1", "y")))
    assert known["ip"].failures == 0
    assert resources(status(failures=failure("r0:1", "store2", "x")))["r0"].failures == 1


@pytest.mark.parametrize(
    ("exit_", "stderr", "error", "match"),
    [
        (102, "crm_mon: Error: cluster is not available on this node", Absent, "does not run"),
        (107, "Connection to cluster failed: Transport endpoint is not connected", Absent, "does not run"),
        (1, "Could not connect to the CIB: Permission denied", Denied, "haclient"),
        (64, "Unknown option --output-as=xml", Failed, "Unknown option"),
    ],
)
def test_what_it_says_when_it_fails(exit_: int, stderr: str, error: type[Exception], match: str) -> None:
    host = EvidenceHost()
    host.apply([Evidence(MON, Outcome.OK, b"", stderr=stderr.encode(), exit=exit_)])
    with pytest.raises(error, match=match):
        list(read(host))


def test_a_node_without_it_is_calm() -> None:
    host = EvidenceHost()
    host.apply([Evidence(MON, Outcome.ABSENT, detail="crm_mon is not installed")])
    with pytest.raises(Absent):
        list(read(host))


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "<a/>", "<pacemaker-result/>", '<!DOCTYPE a [<!ENTITY b "c">]><pacemaker-result/>',
        status()[:400], "<crm_mon><summary></crm_mon>",
    ],
)  # fmt: skip
def test_something_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="crm_mon"):
        parse_status(text)


@given(st.text() | st.text(alphabet='<>/="crm_monodeslifg ', max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    try:
        parse_status(text)
    except Malformed:
        return


@given(st.integers(0, 3000), st.sampled_from(["true", "", "online", "<", "&lt;", "\N{SNOWMAN}"]), st.integers(1, 40))
def test_damage_in_the_middle_is_malformed_or_read(place: int, by: str, length: int) -> None:
    whole = status(UNCLEAN, DRBD + TARGET, failure("r0", "store2", "x"))
    try:
        known = parse_status(whole[:place] + by + whole[place + length :])
    except Malformed:
        return
    assert len(known.members) <= 2


def test_a_thousand_groups_in_each_other_are_read() -> None:
    deep = instance("ip", "x", "store1")
    for number in range(1000):
        deep = group(f"g{number}", deep)
    assert [row.name for row in parse_status(status(resources=deep)).resources] == ["ip"]


def test_the_name_is_that_of_its_own_line() -> None:
    assert parse_name("totem {\n\tcluster_name: san-1\n}\n") == "san-1"
    assert parse_name("# cluster_name: x\n") is None
