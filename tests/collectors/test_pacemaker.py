"""Pacemaker: its nodes and resources, and what the rules say of them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.pacemaker.cluster import PACEMAKER, UNUSED, read
from sdstop.collectors.pacemaker.corosync import CIB, parse_name
from sdstop.collectors.pacemaker.crm_mon import parse_status
from sdstop.collectors.pacemaker.readings import ClusterResource
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Denied, Failed, Malformed
from sdstop.readings.cluster import Cluster, ClusterNode
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.clusters.mdm_no_redundancy import MDM_NO_REDUNDANCY
from sdstop.rules.pacemaker.cluster_constraint_left import CLUSTER_CONSTRAINT_LEFT
from sdstop.rules.pacemaker.cluster_fencing import CLUSTER_FENCING
from sdstop.rules.pacemaker.cluster_resource_failed import CLUSTER_RESOURCE_FAILED
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
    monitors,
    node,
    status,
)
from tests.nodes.resting import RestingHost

UNCLEAN = node("store1", leads=True) + node("store2", online=False, unclean=True)


def judged(said: str, more: Mapping[str, str] = COROSYNC) -> Judged:
    rules = [CLUSTER_DEGRADED, CLUSTER_RESOURCE_FAILED, CLUSTER_FENCING, CLUSTER_CONSTRAINT_LEFT, MDM_NO_REDUNDANCY]
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


FENCER = instance("fence1", "stonith:fence_ipmilan", "store1")


def unfenced(said: str) -> str:
    return said.replace('stonith-enabled="true"', 'stonith-enabled="false"')


def test_a_node_that_is_lost_and_not_fenced_yet() -> None:
    finding = judged(status(UNCLEAN, DRBD + TARGET + FENCER)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "store2 UNCLEAN: fencing has not completed. Resources of store2 wait for fencing."
    assert value(finding, "managers") == 1


def test_resources_of_an_unclean_node_are_not_running() -> None:
    there = instance("ip", "ocf:heartbeat:IPaddr2", "store2")
    said = judged(status(UNCLEAN, there + FENCER))
    assert said.finding("san", "cluster-degraded").impact == "One resource of a lost node is not started elsewhere."
    finding = said.finding("san/ip")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "RESOURCE ON A LOST NODE")
    assert finding.cause == "Last known on store2, lost and not fenced."
    assert finding.explained_by == ("cluster-degraded:san",)


def test_a_node_that_cannot_be_fenced() -> None:
    assert judged(unfenced(status(UNCLEAN))).finding("san", "cluster-degraded").cause.endswith("fencing is disabled.")
    without = judged(status(UNCLEAN)).finding("san", "cluster-degraded")
    assert (without.title, without.severity) == ("NODE UNCLEAN, NO FENCE DEVICE", Severity.CRITICAL)
    newer = unfenced(status(UNCLEAN, FENCER)).replace("<cluster_options ", '<cluster_options fencing-enabled="true" ')
    assert judged(newer).finding("san", "cluster-degraded").cause.endswith("fencing has not completed.")


def test_a_fencing_that_failed() -> None:
    event = '<fence_history><fence_event action="reboot" target="store2" status="failed"/></fence_history>'
    said = status(UNCLEAN, FENCER).replace("<failures>", f"{event}<failures>")
    assert judged(said).finding("san", "cluster-degraded").title == "FENCING FAILED"
    assert judged(said).finding("san", "cluster-fencing").cause == "The last fencing of store2 failed."
    later = event.replace("</fence_history>", '<fence_event action="reboot" target="store2" status="success" '
                          'completed="2026-11-23 04:51:08Z"/></fence_history>')  # fmt: skip
    said = status(UNCLEAN, FENCER).replace("<failures>", f"{later}<failures>")
    assert judged(said).ruled_out("san", "cluster-fencing").summary.startswith("fencing enabled, 1 fence device")


CONFIG = "cmd:cibadmin -Q -o crm_config"


@pytest.mark.parametrize(
    ("watchdog", "seconds", "known"), [("true", "10s", True), ("true", "0", False), ("false", "10s", False)]
)
def test_a_watchdog_is_a_way_to_fence(watchdog: str, seconds: str, known: object) -> None:
    lines = f'<nvpair id="a" name="have-watchdog" value="{watchdog}"/>\n'
    lines += f'<nvpair id="b" name="stonith-watchdog-timeout" value="{seconds}"/>\n'
    said = judged(status(), {**COROSYNC, CONFIG: lines})
    if known:
        assert said.ruled_out("san", "cluster-fencing").summary == "fencing enabled, 0 fence devices"
    else:
        finding = said.finding("san", "cluster-fencing")
        assert (finding.severity, finding.title, finding.standing) == (
            Severity.WARNING, "FENCING WITHOUT A DEVICE", True,
        )  # fmt: skip


def test_without_the_configuration_a_watchdog_is_unknown() -> None:
    assert "watchdog is unknown" in judged(status()).unchecked("san", "cluster-fencing").reason


def test_fencing_that_is_disabled_is_a_condition() -> None:
    finding = judged(unfenced(status())).finding("san", "cluster-fencing")
    assert (finding.severity, finding.standing) == (Severity.INFO, True)


def test_a_node_that_was_shut_down_is_a_warning() -> None:
    nodes = node("store1", leads=True) + node("store2", online=False, expected_up=False)
    finding = judged(status(nodes)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "store2 is offline after a shutdown or fencing."


GONE = node("store1", leads=True) + node("store2", online=False)


def test_a_lost_node_of_a_pair_without_fencing_may_run_resources_too() -> None:
    finding = judged(unfenced(status(GONE))).finding("san", "cluster-degraded")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "LOST NODE MAY RUN RESOURCES TOO")
    assert finding.impact == "Resources can run here and on store2 at once."
    more = unfenced(status(GONE + node("store3")))
    assert judged(more).finding("san", "cluster-degraded").severity is Severity.WARNING
    fenced = judged(status(GONE, FENCER)).finding("san", "cluster-degraded")
    assert (fenced.severity, fenced.title) == (Severity.WARNING, "NODE LOST")


@pytest.mark.parametrize("policy", ["stop", "freeze", "?"])
def test_without_quorum_what_runs_is_reported_and_not_the_policy(policy: str) -> None:
    finding = judged(status(quorum=False, policy=policy)).finding("san", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert "no quorum" in finding.cause
    assert finding.impact == "3 of 3 resources run on the nodes that are online."
    assert value(finding, "policy") == policy
    stopped = judged(status(resources=instance("ip", "x"), quorum=False, policy=policy))
    assert "do not run" in stopped.finding("san", "cluster-degraded").impact
    stopped.unchecked("san", "cluster-resource-failed")


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
    assert (finding.severity, finding.standing) == (Severity.INFO, True)
    assert finding.cause == f"In {word}: store2."


def test_a_node_in_standby_because_an_action_failed_is_a_fault() -> None:
    nodes = node("store1", leads=True) + node("store2", standby=True, standby_onfail=True)
    assert judged(status(nodes)).finding("san", "cluster-degraded").title == "NODE IN STANDBY BY A FAILURE"


@pytest.mark.parametrize(("color", "severity"), [("red", Severity.WARNING), ("yellow", Severity.INFO)])
def test_the_health_that_a_node_reports(color: str, severity: Severity) -> None:
    nodes = NODES.replace('name="store2"', f'name="store2" health="{color}"')
    finding = judged(status(nodes)).finding("san", "cluster-degraded")
    assert (finding.severity, finding.cause) == (severity, f"Health of store2 is {color}.")


def test_in_maintenance_mode_stopped_resources_are_nobodys_fault() -> None:
    said = judged(status(resources=instance("ip", "ocf:heartbeat:IPaddr2"), maintenance=True))
    said.unchecked("san", "cluster-resource-failed")
    finding = said.finding("san", "cluster-degraded")
    assert (finding.severity, finding.standing, finding.title) == (Severity.INFO, True, "MAINTENANCE MODE")


def test_all_resources_stopped_by_an_option() -> None:
    said = judged(
        status(resources=instance("ip", "x")).replace(
            "<cluster_options ", '<cluster_options stop-all-resources="true" '
        )
    )
    assert said.finding("san", "cluster-degraded").title == "ALL RESOURCES STOPPED BY OPTION"
    said.unchecked("san", "cluster-resource-failed")


def test_a_remote_node_that_is_down_may_be_a_stopped_container() -> None:
    remote = node("web-0", online=False).replace('type="member"', 'type="remote"')
    said = judged(status(NODES + remote))
    assert said.ruled_out("san", "cluster-degraded").summary == "quorum, 2 of 2 nodes online"
    assert {row.node: row.healthy for row in said.window.rows(ClusterNode).values()}["web-0"] is None


def test_a_remote_node_whose_connection_should_run_is_down() -> None:
    remote = node("far", online=False, expected_up=False).replace('type="member"', 'type="remote"')
    link = instance("far", "ocf:pacemaker:remote")
    said = judged(status(NODES + remote, link))
    finding = said.finding("san", "cluster-degraded")
    assert (finding.title, finding.cause) == ("REMOTE NODE DOWN", "far is not connected.")
    assert said.finding("san/far").explained_by == ("cluster-degraded:san",)
    off = judged(status(NODES + remote, instance("far", "ocf:pacemaker:remote", target="Stopped")))
    off.ruled_out("san", "cluster-degraded")


def test_a_guest_is_down_if_its_virtual_machine_should_run() -> None:
    guest = node("mail", online=False).replace('type="member"', 'type="remote" id_as_resource="vm-mail"')
    said = judged(status(NODES + guest, instance("vm-mail", "ocf:heartbeat:VirtualDomain")))
    assert said.finding("san", "cluster-degraded").cause == "mail is not connected."
    off = judged(status(NODES + guest, instance("vm-mail", "ocf:heartbeat:VirtualDomain", target="Stopped")))
    off.ruled_out("san", "cluster-degraded")


def replica(number: int, where: str = "", app: str = "Started", *, failed: bool = False) -> str:
    """Return a replica of the bundle web, as Pacemaker lists it."""
    made = [(f"web-ip-10.0.0.{number}", "ocf:heartbeat:IPaddr2"), (f"web-{number}", "ocf:pacemaker:remote")]
    inside = instance("httpd", "ocf:heartbeat:apache", f"web-{number}" if where else "", app)
    box = instance(f"web-podman-{number}", "ocf:heartbeat:podman", where, failed=failed)
    return f'<replica id="{number}">{inside}{box}{"".join(instance(*each, where) for each in made)}</replica>'


def bundle(*replicas: str) -> str:
    return f'<bundle id="web" type="podman" unique="false" managed="true" failed="false">{"".join(replicas)}</bundle>'


def test_a_bundle_is_one_resource_and_what_runs_in_it_another() -> None:
    rows = resources(status(resources=bundle(replica(0, "store1"), replica(1, "store2"))))
    assert {name: (row.state, row.running, row.instances) for name, row in rows.items()} == {
        "web": ("running", 2, 2), "httpd": ("running", 2, 2),
    }  # fmt: skip
    assert rows["web"].agent == "ocf:heartbeat:podman"


def test_a_replica_of_a_bundle_that_is_stopped_does_not_stop_its_service() -> None:
    half = bundle(replica(0, "store1"), replica(1))
    assert resources(status(resources=half))["web"].state == "running"
    said = judged(status(resources=half, failures=failure("web-podman-1", "store2", "no such image", "start")))
    finding = said.finding("san/web")
    assert (finding.severity, finding.title) == (Severity.WARNING, "INSTANCE FAILED")
    assert finding.cause == "Stopped where an action failed: store2."
    broken = judged(status(resources=bundle(replica(0, "store1"), replica(1, "store2", failed=True))))
    assert broken.finding("san/web").cause == "Failed on store2."
    gone = judged(status(resources=bundle(replica(0), replica(1)))).finding("san/web")
    assert gone.title == "RESOURCE STOPPED"


def test_a_bundle_whose_instances_are_all_unpromoted_serves_nothing() -> None:
    both = bundle(replica(0, "store1", "Unpromoted"), replica(1, "store2", "Unpromoted"))
    assert judged(status(resources=both)).finding("san/httpd").title == "RESOURCE NOT PROMOTED"
    one = bundle(replica(0, "store1", "Promoted"), replica(1, "store2", "Unpromoted"))
    assert resources(status(resources=one))["httpd"].state == "running"


def test_a_fencing_that_has_not_ended() -> None:
    event = '<fence_history><fence_event action="reboot" target="store2" status="pending"/></fence_history>'
    said = status(resources=FENCER).replace("<failures>", f"{event}<failures>")
    finding = judged(said).finding("san", "cluster-fencing")
    assert (finding.severity, finding.title) == (Severity.WARNING, "FENCING UNDER WAY")
    assert finding.cause == "Fencing of store2 has not ended."


def test_a_cluster_with_a_controller_and_no_nodes_is_malformed() -> None:
    with pytest.raises(Malformed):
        parse_status(status(""))


def test_a_resource_that_failed() -> None:
    lun = instance("lun", "ocf:heartbeat:iSCSILogicalUnit", "store1", failed=True)
    reasons = failure("lun", "store1", "no LIO", when="2026-11-21 03:10:00Z") + failure("lun", "store1", "timed out")
    finding = judged(status(resources=lun, failures=reasons)).finding("san/lun")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Failed on store1: timed out."
    assert value(finding, "failures") == 2
    assert "crm_resource --cleanup --resource lun" in finding.steps[3]


_BEFORE, _AFTER = "2026-11-21 03:12:07Z", "2026-11-21 03:12:08Z"


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([], "ignored"),
        ([("0", _BEFORE), ("7", _AFTER)], "ignored"),
        ([("7", _AFTER), ("0", _BEFORE)], "ignored"),
        ([("7", _BEFORE), ("0", _BEFORE)], "ignored"),
        ([("7", _BEFORE), ("0", _AFTER)], "running"),
        ([("7", _BEFORE), ("8", _AFTER)], "running"),
    ],
)
def test_a_failure_that_is_ignored_counts_until_a_monitor_finds_the_resource(
    results: list[tuple[str, str]], state: str
) -> None:
    lun = instance("lun", "ocf:heartbeat:iSCSILogicalUnit", "store1", ignored=True)
    history = monitors("lun", "store1", *results)
    said = judged(status(resources=lun, failures=failure("lun", "store1", "gone"), history=history))
    finding = said.finding("san/lun")
    if state == "running":
        assert (finding.severity, finding.title) == (Severity.INFO, "FAILED BEFORE, RUNS NOW")
        said.ruled_out("san", "cluster-resource-failed")
    else:
        assert (finding.severity, finding.title) == (Severity.WARNING, "FAILURE IGNORED")
        assert finding.cause == "Monitor failed on store1; on-fail=ignore."


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


def test_a_start_that_failed_is_critical_at_once_and_what_needs_it_follows() -> None:
    parts = group("g", instance("fs", "x"), instance("ip", "x"))
    failures = failure("fs", "store1", "no device", "start") + failure("fs", "store2", "no device", "start")
    said = judged(status(resources=parts, failures=failures))
    first, second = said.finding("san/fs"), said.finding("san/ip")
    assert (first.severity, first.title) == (Severity.CRITICAL, "START FAILED")
    assert first.cause == "Start failed on store1, store2: no device."
    assert (second.cause, second.explained_by) == (
        "Stopped: fs of its group does not run.", ("cluster-resource-failed:san/fs",),
    )  # fmt: skip


def test_what_stays_stopped_is_critical() -> None:
    said = {"/proc/sys/kernel/hostname": "store1\n", **COROSYNC, MON: status(resources=instance("ip", "x"))}
    later = {**said, MON: said[MON].replace("vip", "vip") + "\n"}
    assert Judged([PACEMAKER], [CLUSTER_RESOURCE_FAILED], [(1.0, said), (61.0, later)]).finding(
        "san/ip"
    ).severity is Severity.CRITICAL  # fmt: skip


def test_a_resource_that_runs_twice() -> None:
    twice = instance("fs", "x", "store1").replace(
        "</resource>", '<node name="store2" id="2" cached="true"/></resource>'
    )
    finding = judged(status(resources=twice)).finding("san/fs")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "RESOURCE RUNS TWICE")
    assert resources(status(resources=clone("c", twice)))["fs"].state == "running"
    moving = twice.replace('role="Started"', 'role="Migrating"')
    assert resources(status(resources=moving))["fs"].state == "running"


def test_an_instance_that_failed_on_one_node() -> None:
    one = clone("c", instance("fs", "x", "store1"), instance("fs", "x")).replace('multi_state="true"', "")
    finding = judged(status(resources=one, failures=failure("fs", "store2", "x", "start"))).finding("san/fs")
    assert (finding.severity, finding.title) == (Severity.WARNING, "INSTANCE FAILED")
    away = node("store1", leads=True) + node("store2", standby=True)
    assert resources(status(away, one, failure("fs", "store2", "x", "start")))["fs"].state == "running"


def test_numbered_instances_and_those_beyond_clone_max_are_one_resource() -> None:
    parts = clone("c", instance("db:0", "x", "store1"), instance("db:1", "x", "store2"), instance("db:2", "x"))
    parts = parts.replace('id="db:2"', 'id="db:2" orphaned="true"', 1).replace(
        'orphaned="true" resource_agent="x" role="Stopped" active="false" orphaned="false"',
        'orphaned="true" resource_agent="x" role="Stopped" active="false"',
    )
    (row,) = resources(status(resources=parts.replace('multi_state="true"', ""))).values()
    assert (row.resource, row.instances, row.running, row.state) == ("db", 2, 2, "running")


def test_a_role_that_is_wanted_is_not_a_missing_promotion() -> None:
    both = [instance("r0", "x", f"store{n}", "Slave", target="Slave") for n in (1, 2)]
    assert resources(status(resources=clone("c", *both)))["r0"].state == "running"


def test_bans_of_a_move_and_tickets() -> None:
    more = (
        '<bans><ban id="cli-ban-ip-on-store1" resource="ip" node="store1" weight="-1000000"/>'
        '<ban id="loc-1" resource="lun" node="store2" weight="-1000000"/></bans>'
        '<tickets><ticket id="site-a" status="revoked" standby="false"/>'
        '<ticket id="site-b" status="granted" standby="false"/></tickets>'
    )
    said = judged(status().replace("<failures>", f"{more}<failures>"))
    ban, ticket = said.finding("san/cli-ban-ip-on-store1"), said.finding("san/site-a")
    assert (ban.severity, ban.standing, ban.cause) == (Severity.INFO, True, "ip may not run on store1.")
    assert ticket.title == "TICKET NOT GRANTED"
    said.ruled_out("san/loc-1")
    said.ruled_out("san/site-b")
    barred = judged(status(resources=instance("ip", "x")).replace("<failures>", f"{more}<failures>")).finding("san/ip")
    assert barred.cause == "Stopped: barred from store1."


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
    assert said.ruled_out("san", "cluster-resource-failed").summary.endswith("of 1 resources run")
    finding = said.finding("san/ip")
    assert (finding.severity, finding.standing) == (Severity.INFO, True)
    if state == "running":
        assert finding.cause == "1 failed action on record."
        assert "it was slow once" in str(value(finding, "said"))


@pytest.mark.parametrize(
    ("count", "updated", "is_repeated"),
    [
        ("3", "2026-11-21 03:12:09Z", True),
        ("2", "2026-11-21 03:12:09Z", False),
        ("20", "2026-11-21 03:22:07Z", True),
        ("20", "2026-11-21 03:22:08Z", False),
        ("20", "2026-11-21 03:12:06Z", False),
        ("20", "", False),
        ("1000000", "2026-11-21 03:12:09Z", False),
        ("INFINITY", "2026-11-21 03:12:09Z", False),
        ("", "2026-11-21 03:12:09Z", False),
    ],
)
def test_a_resource_that_fails_again_and_again(count: str, updated: str, is_repeated: bool) -> None:  # noqa: FBT001
    """Seen for real: 20 failures in a minute are one failed action in crm_mon, and a fail count of 20."""
    history = monitors("ip", "store1", ("7", _BEFORE), ("0", _AFTER)).replace(
        'id="ip"', f'id="ip" fail-count="{count}"'
    )
    failed = failure("ip", "store1", "not running", when=_BEFORE)
    said = judged(status(failures=failed, history=history, updated=updated)).finding("san/ip")
    assert (said.severity is Severity.WARNING, said.standing) == (is_repeated, not is_repeated)
    if is_repeated:
        assert said.title == "RESOURCE FAILS REPEATEDLY"
        assert f"{count} failures since the last cleanup, the last " in said.cause


def test_failures_are_counted_over_all_nodes() -> None:
    history = "".join(
        monitors("ip", where, ("0", _AFTER)).replace('id="ip"', f'id="ip" fail-count="{count}"')
        for where, count in (("store1", "2"), ("store2", "5"))
    )
    assert resources(status(history=history))["ip"].fail_count == 7
    assert resources(status())["ip"].fail_count is None


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


@pytest.mark.parametrize(
    ("exit_", "files", "rests"),
    [
        (102, b"", True),
        (102, b"cib.xml\ncib.xml.sig", False),
        (102, None, False),
        (0, b"", False),
    ],
    ids=["never-used", "stopped", "unknown", "runs"],
)
def test_where_pacemaker_never_ran_it_is_asked_less_often(exit_: int, files: bytes | None, *, rests: bool) -> None:
    host = RestingHost()
    host.apply([Evidence(MON, data=status().encode() if exit_ == 0 else b"", exit=exit_)])
    host.apply([Evidence(f"list:{CIB}", Outcome.DENIED) if files is None else Evidence(f"list:{CIB}", data=files)])
    for _ in range(2):
        host.touched = set()
        with contextlib.suppress(Absent):
            read(host)
    assert host.rested == ({MON: UNUSED} if rests else {})
    assert (MON in host.touched) is not rests
