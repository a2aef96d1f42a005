# ruff: noqa: E501  # lines as wide as Pacemaker prints them
"""The text of crm_mon, crm status and pcs status: as much is read from it as from XML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.collectors.pacemaker import crm_mon_text
from sdstop.collectors.pacemaker.cluster import PACEMAKER
from sdstop.collectors.pacemaker.readings import ClusterResource
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.clusters.scenario import RECORDED
from tests.fixtures import FIXTURES
from tests.nodes import pacemaker_text

XML = "cmd:crm_mon --output-as=xml -1"
NAME = "/etc/corosync/corosync.conf"
UNSHOWN = {"cluster-fencing"}
"""Rules that judge options of the cluster, which the text does not have."""


def answer(path: Path) -> str | None:
    """The last XML in a capture, None if Pacemaker did not answer."""
    _, frames = open_capture(path)
    found = [item for frame in frames for item in frame.evidence if item.key == XML]
    return found[-1].data.decode() if found and not found[-1].exit and found[-1].data else None


CAPTURES = sorted(path for path in RECORDED.glob("pacemaker-*.tar.gz") if answer(path))


def judged(key: str, text: str) -> set[tuple[str, str, str]]:
    items = (Evidence(key, data=text.encode()), Evidence(NAME, data=b"cluster_name: san\n"))
    judgement = Session(Origin("n"), BUILTIN, RULES).feed(Frame(1, 1_700_000_000.0, 0.0, items)).judgement
    return {(f.severity.value, f.rule, f.subject) for f in judgement.findings if f.rule not in UNSHOWN}


WITHOUT_FENCING = {"pacemaker-pair-node-lost", "pacemaker-pair-split", "pacemaker-pair-split@2"}
"""States that are critical because fencing is off, which the text does not show: a warning there."""

RECOVERED = "pacemaker-failure-ignored-before"
"""A failure that on-fail=ignore left on record: only the XML has the monitor that has found the resource since."""


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_the_text_of_a_recorded_state_gives_the_findings_of_its_xml(path: Path) -> None:
    exact = answer(path)
    assert exact is not None
    expected = judged(XML, exact)
    if path.name.partition(".")[0] in WITHOUT_FENCING:
        assert expected == {("critical", "cluster-degraded", "san")}
        expected = {("warning", "cluster-degraded", "san")}
    if path.name.partition(".")[0] == RECOVERED:
        assert expected == {("info", "cluster-resource-failed", "san/vip")}
        expected = {("warning", "cluster-resource-failed", "san/vip")}
    assert judged("cmd:crm_mon -1rfc", pacemaker_text.status(exact)) == expected


def test_the_captures_are_those_of_the_lab() -> None:
    assert len(CAPTURES) >= 25


def text(name: str) -> str:
    return (FIXTURES / "texts" / "pacemaker" / f"{name}.txt").read_text(encoding="utf-8")


def resources(said: str, key: str = "cmd:pcs status") -> dict[str, ClusterResource]:
    rows = PACEMAKER.read(EvidenceHost.of({key: said}))
    return {row.resource: row for row in rows if isinstance(row, ClusterResource)}


def test_version_1_1_prints_masters_and_technical_failures() -> None:
    found = resources(text("pcs-status-el7").partition("\n")[2])
    assert found["drbd_r0"].where == "ha2 (Slave), ha1 (Master)"
    assert (found["vip"].state, found["vip"].task, found["vip"].failed_on) == ("blocked", "stop", "ha1")
    assert found["old"].state == "disabled"
    assert found["fence-ha1"].is_fence_device


def test_stopped_resources_are_unknown_where_only_active_ones_are_listed() -> None:
    said = crm_mon_text.parse(text("crm-mon-node-lost"))
    assert said.defect == ""
    fewer = text("crm-mon-node-lost").replace("  * vip\t(ocf:heartbeat:Dummy):\t Started node1\n", "")
    assert "5 resource instances configured, 4 listed" in crm_mon_text.parse(fewer).defect


def test_a_resource_that_failed_and_is_not_listed_is_stopped() -> None:
    fewer = text("crm-mon-node-lost").replace("  * vip\t(ocf:heartbeat:Dummy):\t Started node1\n", "")
    failed = "\nFailed Resource Actions:\n  * vip start on node1 could not be executed (Timed Out) because 'no address' at Sun Nov 22 11:07:40 2026 after 20s\n"
    vip = resources(fewer + failed, "cmd:crm_mon -1")["vip"]
    assert (vip.state, vip.failures, vip.said) == (
        "stopped",
        1,
        "start on node1: no address (Sun Nov 22 11:07:40 2026)",
    )


@pytest.mark.parametrize(
    ("words", "state", "where"),
    [
        ("Started san1", "running", "san1"),
        ("Started san1 (unmanaged)", "unmanaged", "san1"),
        ("Started san1 (Monitoring)", "running", "san1"),
        ("Stopped", "stopped", ""),
        ("Stopped (disabled)", "disabled", ""),
        ("Starting san1", "starting", ""),
        ("FAILED san1", "failed", "san1"),
        ("FAILED san1 (blocked)", "blocked", "san1"),
        ("Started [ san1 san2 ]", "multiple", "san1, san2"),
        ("Started san3 (UNCLEAN)", "unclean", "san3"),
        (" ORPHANED Started san1", "orphaned", "san1"),
    ],
)
def test_states_of_a_resource(words: str, state: str, where: str) -> None:
    said = (
        "Cluster Summary:\n  * Current DC: san1 (version 2.1.5) - partition with quorum\n  * 3 nodes configured\n"
        "  * 1 resource instance configured\n\nNode List:\n  * Online: [ san1 san2 ]\n  * Node san3: UNCLEAN (offline)\n\n"
        f"Full List of Resources:\n  * vip\t(ocf:heartbeat:IPaddr2):\t {words}\n"
    )
    said = said.replace("configured\n\nNode", "configured (1 DISABLED)\n\nNode") if "disabled" in words else said
    assert crm_mon_text.parse(said).defect == ""
    vip = resources(said)["vip"]
    assert (vip.state, vip.where) == (state, where)


@pytest.mark.parametrize(
    ("cut", "defect"),
    [
        ("Online: [", "3 nodes configured, 1 listed"),
        ("Full List of Resources", "no list of resources"),
        ("Active Resources", "no list of resources"),
    ],
)
def test_a_status_that_lacks_lines_is_not_complete(cut: str, defect: str) -> None:
    whole = text("crm-mon-node-lost")
    if cut.endswith("Resources"):
        fewer = whole.partition(cut)[0] if cut in whole else whole.partition("Active Resources")[0]
    else:
        fewer = "".join(line for line in whole.splitlines(keepends=True) if cut not in line)
    assert crm_mon_text.parse(fewer).defect == defect


def test_a_status_without_its_controller_is_not_read() -> None:
    fewer = "".join(line for line in text("crm-mon-node-lost").splitlines(keepends=True) if "Current DC" not in line)
    with pytest.raises(Malformed, match="Current DC"):
        crm_mon_text.parse(fewer)


@pytest.mark.parametrize("lost", ["Clone Set:", "Promoted: [", "Active Resources:"])
def test_a_missing_line_makes_no_resource_fail(lost: str) -> None:
    fewer = "".join(line for line in text("crm-mon-node-lost").splitlines(keepends=True) if lost not in line)
    said = crm_mon_text.parse(fewer)
    assert said.defect
    assert {row.state for row in resources(fewer, "cmd:crm_mon -1").values()} <= {"running"}


def test_lines_that_are_not_understood_are_noted() -> None:
    odd = text("crm-mon-node-lost").replace("Started node1", "Started node1\n  * something of 2031", 1)
    assert "something of 2031" in crm_mon_text.parse(odd).defect


EVERY = "".join(
    text(name) for name in ("pcs-status-el7", "crm-mon-failed", "crm-mon-maintenance", "pcs-status-stopped")
)


@given(st.lists(st.sampled_from(EVERY.splitlines()) | st.text(max_size=60), max_size=40).map("\n".join))
def test_no_text_raises_anything_else(said: str) -> None:
    kept = crm_mon_text.without_reasons(said.encode())
    assert crm_mon_text.without_reasons(kept) == kept
    try:
        crm_mon_text.parse(said)
    except Malformed:
        return


def test_redaction_drops_reasons_and_users() -> None:
    said = (
        text("crm-mon-failed")
        .replace("No process state file found", "secret path")
        .replace("by root via", "by secretuser via")
    )
    kept = crm_mon_text.without_reasons(said.encode())
    assert b"secret" not in kept
    assert crm_mon_text.parse(kept.decode()).status.failures


FAILED_ACTION = """Stack: corosync
Current DC: n1 (version 1.1.18-2b07d5c5a9) - partition with quorum

1 node configured
1 resource configured

Online: [ n1 ]

Full list of resources:

 fs1	(ocf::heartbeat:Filesystem):	FAILED n1

Failed Actions:
* fs1_start_0 on n1 'unknown error' (1): call=21, status=complete, exitreason='Couldn't mount device [/dev/vg0/secret]',
    last-rc-change='Sun Nov 29 01:58:00 2026', queued=0ms, exec=102ms
"""


def test_a_failure_of_two_lines_has_its_reason_and_time() -> None:
    """Pacemaker 1.1 breaks the line before the time, and escapes no apostrophe."""
    found = crm_mon_text.parse(FAILED_ACTION)
    assert found.defect == ""
    (failure,) = found.status.failures
    assert (failure.reason, failure.when) == ("Couldn't mount device [/dev/vg0/secret]", "Sun Nov 29 01:58:00 2026")
    kept = crm_mon_text.without_reasons(FAILED_ACTION.encode())
    assert b"secret" not in kept
    assert crm_mon_text.without_reasons(kept) == kept


@pytest.mark.parametrize("warned", [True, False])
def test_a_warning_of_pcs_about_fence_devices_is_read(warned: bool) -> None:  # noqa: FBT001
    warning = "WARNINGS:\nNo stonith devices and stonith-enabled is not false\n\n" if warned else ""
    status = crm_mon_text.parse(f"Cluster name: prod\n\n{warning}{FAILED_ACTION}").status
    assert (status.fencing, status.unfenced) == ((True, True) if warned else (None, False))
