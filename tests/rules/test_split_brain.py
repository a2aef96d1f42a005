"""split-brain, and DRBD's states by side, with states of a real cluster (DRBD 8.4.11, two nodes)."""

from __future__ import annotations

import pytest

from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.drbd.resources import DRBD
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import RuledOut, Severity, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.clusters.split_brain import SPLIT_BRAIN
from tests.nodes.drbd import STATUS, resource, status
from tests.nodes.frames import Files, Judged, value

HEAD = "version: 8.4.11 (api:1/proto:86-101)\nsrcversion: F73C670A7EC572DB9CF3E5B\n"
COUNTS = "    ns:0 nr:0 dw:16640 dr:54648 al:12 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:"
CABLE_CUT_A = f" 0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/Inconsistent C r-----\n{COUNTS}11776\n"
CABLE_CUT_B = f" 0: cs:WFConnection ro:Secondary/Unknown ds:Inconsistent/DUnknown C r-----\n{COUNTS}7392\n"
STAND_ALONE = f" 0: cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----\n{COUNTS}256\n"
BY_HAND_B = f" 0: cs:StandAlone ro:Secondary/Unknown ds:UpToDate/DUnknown   r-----\n{COUNTS}256\n"
PEER_DEAD = f" 0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----\n{COUNTS}0\n"
SUSPENDED = f" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C s-----\n{COUNTS}0\n"
DISKLESS = f" 0: cs:Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----\n{COUNTS}0\n"
PEER_DISKLESS = f" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/Diskless C r-----\n{COUNTS}0\n"
GOOD = f" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----\n{COUNTS}0\n"
BOTH = f" 0: cs:Connected ro:Primary/Primary ds:UpToDate/UpToDate C r-----\n{COUNTS}0\n"


def judged(*shown: str) -> Judged:
    frames: list[tuple[float, Files]] = [
        (5.0 * n, {"/proc/drbd": HEAD + text, "/proc/sys/kernel/hostname": "a\n"}) for n, text in enumerate(shown)
    ]
    return Judged((DRBD,), [SPLIT_BRAIN, CLUSTER_DEGRADED], frames)


def nine(**changes: object) -> Judged:
    files = {"/proc/drbd": "version: 9.2.4 (api:2)\n", STATUS: status(resource(**changes))}  # type: ignore[arg-type]
    return Judged((DRBD,), [SPLIT_BRAIN, CLUSTER_DEGRADED], [(0.0, files)])


# --- split-brain --------------------------------------------------------------------------------------------


def test_a_primary_that_stands_alone_and_was_written_to() -> None:
    finding = judged(STAND_ALONE).finding("drbd0/peer", "split-brain")
    assert finding.severity is Severity.CRITICAL
    assert "256 KiB out of sync" in finding.summary
    assert finding.title == "SPLIT BRAIN OR MANUAL DISCONNECT"
    assert value(finding, "role") == "Primary"
    assert finding.confidence == 0.6
    assert any("drbdadm connect --discard-my-data minor-0" in line for line in finding.steps)
    assert finding.explains == ("cluster-degraded:drbd0",)


def test_both_sides_were_primary() -> None:
    finding = judged(BOTH, STAND_ALONE).finding("drbd0/peer", "split-brain")
    assert finding.title == "SPLIT BRAIN"
    assert "Both sides were Primary: their data diverged" in finding.impact
    assert finding.confidence == 0.9


def test_version_9_has_names() -> None:
    finding = nine(state="StandAlone", peer_disk="DUnknown", out_of_sync=1024).finding("r0/store2", "split-brain")
    assert any(line.endswith("drbdadm connect --discard-my-data r0") for line in finding.steps)


def test_version_8_has_names_where_udev_made_links() -> None:
    files = {"/proc/drbd": HEAD + STAND_ALONE, "/proc/sys/kernel/hostname": "a\n",
             "link:/dev/drbd/by-res/db": "../../drbd0"}  # fmt: skip
    finding = Judged((DRBD,), [SPLIT_BRAIN, CLUSTER_DEGRADED], [(0.0, files)]).finding("db/peer", "split-brain")
    assert finding.severity is Severity.CRITICAL
    assert any("drbdadm connect --discard-my-data db" in line for line in finding.steps)
    assert finding.explains == ("cluster-degraded:db",)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (GOOD, RuledOut),
        (BOTH, RuledOut),
        (CABLE_CUT_A, Unchecked),
        (CABLE_CUT_B, Unchecked),
        (PEER_DEAD, Unchecked),
        (BY_HAND_B, Unchecked),
        (STAND_ALONE.replace("oos:256", "oos:0"), Unchecked),
        (STAND_ALONE.replace("UpToDate/DUnknown", "Outdated/DUnknown"), RuledOut),
    ],
)
def test_what_is_none(text: str, kind: type) -> None:
    assert isinstance(judged(text).of("drbd0/peer", "split-brain"), kind)


# --- by side ------------------------------------------------------------------------------------------------


def said(text: str) -> str:
    """Return all that the finding states, in its texts and its values."""
    finding = judged(text).finding("drbd0", "cluster-degraded")
    return "; ".join([finding.summary, *(str(value.value) for value in finding.values)])


def test_standalone_is_this_nodes_own_state() -> None:
    assert "this node is StandAlone and does not reconnect to the peer" in said(STAND_ALONE)
    assert "peer is StandAlone" not in said(STAND_ALONE)


@pytest.mark.parametrize("text", [STAND_ALONE, PEER_DEAD])
def test_what_the_peer_has_is_unknown(text: str) -> None:
    assert "The data of the peer is unknown (DUnknown)" in said(text)
    assert "Only the copy of a is reachable" in said(text)
    assert "has current data" not in said(text)


def test_what_the_peer_is_known_to_lack_is_said() -> None:
    assert "Only a has current data" in said(CABLE_CUT_A)
    assert "The peer is Inconsistent" in said(CABLE_CUT_A)


def test_a_disk_lost_on_either_side_is_no_client() -> None:
    assert "Only the peer has current data" in said(DISKLESS)
    assert "Only a has current data" in said(PEER_DISKLESS)


def test_suspended_io_is_critical() -> None:
    finding = judged(SUSPENDED).finding("drbd0", "cluster-degraded")
    assert finding.severity is Severity.CRITICAL
    assert (finding.cause, finding.impact) == ("I/O is suspended.", "Every request waits.")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (SUSPENDED, ["drbdadm resume-io minor-0"]),
        (DISKLESS, ["drbdadm sh-ll-dev minor-0", "drbdadm attach minor-0"]),
        (PEER_DISKLESS, ["On the peer, whose disk is lost:", "drbdadm attach minor-0"]),
        (STAND_ALONE, ["This node does not reconnect by itself.", "drbdadm connect minor-0"]),
        (PEER_DEAD, ["On the peer; if it is StandAlone, it was disconnected there:", "drbdadm status minor-0"]),
    ],
)
def test_advice_fits_the_state(text: str, steps: list[str]) -> None:
    said = judged(text).finding("drbd0", "cluster-degraded").steps
    places = [next((n for n, line in enumerate(said) if line.startswith(step)), -1) for step in steps]
    assert -1 not in places
    assert places == sorted(places)
    assert not any(line.startswith("ping") for line in said)  # version 8 does not name the peer


def test_rows_by_side() -> None:
    rows = list(DRBD.read(EvidenceHost.of({"/proc/drbd": HEAD + STAND_ALONE, "/proc/sys/kernel/hostname": "a"})))
    (row,) = [each for each in rows if isinstance(each, DrbdConnection)]
    assert (row.connection, row.role, row.disk, row.peer_role, row.peer_disk) == (
        "StandAlone", "Primary", "UpToDate", "Unknown", "DUnknown",
    )  # fmt: skip
    assert (row.out_of_sync, row.suspended, row.replication, row.device) == (256 * 1024, 0, None, "drbd0")


@pytest.mark.parametrize("text", ["", "garbage\n", "srcversion: F73C\n"])
def test_a_file_without_a_version_is_not_understood(text: str) -> None:
    with pytest.raises(Malformed):
        list(DRBD.read(EvidenceHost.of({"/proc/drbd": text})))
