# ruff: noqa: E501  # lines as wide as drbdsetup prints them
"""The text of drbdadm status and drbdsetup status: as much is read from it as from JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors import BUILTIN
from sdstop.collectors.drbd.resources import DRBD
from sdstop.collectors.drbd.status import parse_proc, parse_status
from sdstop.collectors.drbd.status_text import parse
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.session import Session
from sdstop.readings.rebuild import Rebuild
from sdstop.rules import RULES
from tests.nodes import drbd, drbd_text

STATES: dict[str, dict[str, Any]] = {
    "healthy": drbd.resource(),
    "syncing": drbd.syncing(RS_DONE := 1_405_248),
    "paused": drbd.resource(
        replication="PausedSyncS", peer_disk="Inconsistent", out_of_sync=4096, **{"resync-suspended": "user"}
    ),
    "standalone": drbd.resource(state="StandAlone", peer_disk="DUnknown", out_of_sync=256),
    "connecting": drbd.resource(state="Connecting", peer_disk="DUnknown"),
    "outdated": drbd.resource(state="Connecting", peer_disk="Outdated"),
    "inconsistent": drbd.resource(disk="Inconsistent", replication="SyncTarget", out_of_sync=1024),
    "diskless": drbd.resource(disk="Diskless"),
    "suspended": {**drbd.resource(state="Connecting", peer_disk="DUnknown"), "suspended": True},
    "no quorum": {
        **drbd.resource(state="Connecting", peer_disk="DUnknown"),
        "devices": [{"volume": 0, "minor": 0, "disk-state": "UpToDate", "quorum": False, "size": 20970204}],
    },
    "differs": drbd.resource(out_of_sync=64),
}


for _state in STATES.values():
    for _peer in _state["connections"]:
        if _peer["connection-state"] != "Connected":
            _peer["peer-role"] = "Unknown"  # as drbdsetup reports it


def judged(key: str, text: str) -> set[tuple[str, str, str]]:
    frame = Frame(1, 1_700_000_000.0, 0.0, (Evidence(key, data=text.encode()),))
    findings = Session(Origin("n"), BUILTIN, RULES).feed(frame).judgement.findings
    return {(each.severity.value, each.rule, each.subject) for each in findings}


@pytest.mark.parametrize("state", STATES)
def test_the_verbose_text_gives_the_findings_of_the_json(state: str) -> None:
    exact = drbd.status(STATES[state], drbd.resource("r1"))
    text = drbd_text.status(exact, verbose=True)
    assert judged("cmd:drbdsetup status --verbose --statistics", text) == judged(drbd.STATUS, exact)
    assert parse(text).defects == {}


UNSHOWN = {"differs", "outdated"}
"""States that the short text does not show: numbers of blocks, and the disk of a peer that is away."""


@pytest.mark.parametrize("state", sorted(STATES.keys() - UNSHOWN))
def test_the_short_text_has_the_same_rules_and_subjects(state: str) -> None:
    exact = drbd.status(STATES[state], drbd.resource("r1"))
    text = drbd_text.status(exact, verbose=False)
    found = {(rule, subject) for _, rule, subject in judged("cmd:drbdadm status", text)}
    assert found == {(rule, subject) for _, rule, subject in judged(drbd.STATUS, exact)}


@pytest.mark.parametrize("state", STATES)
def test_the_verbose_text_has_the_states_of_the_json(state: str) -> None:
    exact = drbd.status(STATES[state])
    (one,), (other,) = parse(drbd_text.status(exact, verbose=True)).resources, parse_status(exact)
    assert (one.name, one.role, one.suspended, one.volumes) == (other.name, other.role, other.suspended, other.volumes)
    assert [(p.name, p.state, p.congested) for p in one.peers] == [(p.name, p.state, p.congested) for p in other.peers]
    for mine, its in zip(one.peers[0].volumes, other.peers[0].volumes, strict=True):
        assert (mine.replication, mine.disk, mine.out_of_sync) == (its.replication, its.disk, its.out_of_sync)


def test_a_resync_has_its_progress() -> None:
    text = drbd_text.status(drbd.status(STATES["syncing"]), verbose=True)
    rows = DRBD.read(EvidenceHost.of({"cmd:drbdsetup status --verbose --statistics": text}))
    (row,) = (row for row in rows if isinstance(row, Rebuild))
    assert row.progress == pytest.approx(RS_DONE / drbd.RS_TOTAL, abs=1e-4)
    assert row.speed == pytest.approx(93.05 * drbd.MIB, rel=1e-3)
    assert row.remaining is not None


BRIEF = "r0 role:Primary\n  disk:UpToDate\n  san2 role:Secondary\n    peer-disk:UpToDate\n\n"


def test_values_that_are_left_out_are_not_zero() -> None:
    (resource,) = parse(BRIEF).resources
    assert (resource.volumes[0].minor, resource.volumes[0].size, resource.volumes[0].quorum) == (None, None, None)
    assert resource.peers[0].volumes[0].out_of_sync is None


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_text_that_ends_early_is_not_complete(lines: int) -> None:
    cut = "\n".join(BRIEF.splitlines()[:lines])
    said = parse(cut)
    assert said.defects.keys() == {"r0"}
    assert [resource.name for resource in said.resources] == (["r0"] if lines == 2 else [])  # without peers
    assert not {severity for severity, _, _ in judged("cmd:drbdadm status", cut)} - {"info"}


def test_lines_of_a_resource_whose_first_line_is_missing_are_not_those_of_another() -> None:
    fewer = BRIEF + BRIEF.replace("r0 role:Primary\n", "").replace("UpToDate", "Inconsistent")
    said = parse(fewer)
    assert [resource.name for resource in said.resources] == ["r0"]
    assert {volume.disk for volume in said.resources[0].volumes} == {"UpToDate"}
    assert said.defects.keys() == {""}


def test_lines_that_are_not_understood_are_noted() -> None:
    assert "what now" in parse(f"{BRIEF}  what now?\n").defects[""]


def test_prose_behind_a_text_is_not_part_of_it() -> None:
    assert parse(f"{BRIEF}what now?\n") == parse(BRIEF)


def test_without_indentation_peers_are_not_taken_for_resources() -> None:
    with pytest.raises(Malformed):
        parse("".join(line.strip() + "\n" for line in BRIEF.splitlines() if line.strip()))


EIGHT = "drbdsetup-84 status r0\nr0 role:Primary\n  disk:UpToDate\n  peer role:Secondary\n    replication:Established peer-disk:UpToDate\n\n"
ALONE = "drbdsetup-84 status r1\nr1 role:Primary\n  disk:UpToDate\n\n"


def test_a_resource_of_8_4_without_a_peer_is_standalone() -> None:
    said = parse(EIGHT + ALONE)
    assert said.defects == {}
    assert [(peer.name, peer.state) for peer in said.resources[1].peers] == [("peer", "StandAlone")]
    assert ("critical", "cluster-degraded", "r1") in judged("cmd:drbdadm status", EIGHT + ALONE)


def test_a_resource_without_a_peer_is_not_called_good() -> None:
    assert parse(ALONE.partition("\n")[2]).defects == {"r1": "no peer: none configured, or StandAlone before version 9"}


def test_a_verify_of_version_8_has_its_progress() -> None:
    text = (
        "version: 8.4.11 (api:1/proto:86-101)\n"
        " 1: cs:VerifyS ro:Primary/Secondary ds:UpToDate/UpToDate C r-----\n"
        "    ns:45016 nr:0 dw:0 dr:51808 al:8 bm:0 lo:0 pe:0 ua:12 ap:0 ep:1 wo:f oos:0\n"
        "\t[==>.................] verified: 18.2% (38944/45016)K\n"
        "\tfinish: 0:00:24 speed: 1,516 (1,516) want: 2,048 K/sec\n"
    )
    (resource,) = parse_proc(text)
    resync = resource.peers[0].volumes[0].resync
    assert resync is not None
    assert (resync.total, resync.left, resync.remaining) == (45016 << 10, 38944 << 10, 24)


VERBOSE = drbd_text.status(drbd.status(*STATES.values()), verbose=True)


@given(
    st.lists(st.sampled_from((VERBOSE + BRIEF + EIGHT).splitlines()) | st.text(max_size=60), max_size=30).map("\n".join)
)
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse(text)
        list(DRBD.read(EvidenceHost.of({"cmd:drbdadm status": f"r9 role:Primary\n{text}"})))
    except (Absent, Malformed):
        return
