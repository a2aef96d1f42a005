"""GlusterFS: servers, volumes, bricks and healing, and what the rules say of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.gluster.answers import (
    MOST_ENTRIES,
    Refused,
    parse_counts,
    parse_peers,
    parse_processes,
    parse_split_brain,
    parse_volumes,
)
from sdstop.collectors.gluster.heal import GLUSTER_HEAL, MOST_PENDING
from sdstop.collectors.gluster.readings import GlusterBrick, GlusterHeal, GlusterSplitBrain, GlusterVolume
from sdstop.collectors.gluster.volumes import GLUSTER, UNUSED, read
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Denied, Failed, Malformed
from sdstop.core.retention import Retention
from sdstop.readings.cluster import Cluster, ClusterNode
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.gluster.gluster_heal_pending import GLUSTER_HEAL_PENDING
from sdstop.rules.gluster.gluster_split_brain import GLUSTER_SPLIT_BRAIN
from sdstop.rules.gluster.gluster_volume_degraded import GLUSTER_VOLUME_DEGRADED
from tests.nodes.frames import Judged, value
from tests.nodes.gluster import (
    INFO,
    PEERS,
    STATUS,
    answer,
    count_key,
    counts,
    info,
    peers,
    running,
    split,
    split_key,
    status,
    volume,
)
from tests.nodes.resting import RestingHost

A, B, C = "s1:/b/v", "s2:/b/v", "s3:/b/v"
FOUR = (A, B, "s1:/b/w", "s2:/b/w")
UP = {A: True, B: True, C: True}
BOTH = peers({"s2": True, "s3": True})
RULES = [CLUSTER_DEGRADED, GLUSTER_VOLUME_DEGRADED, GLUSTER_SPLIT_BRAIN, GLUSTER_HEAL_PENDING]


def pool(volumes: str, processes: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    known = {INFO: volumes, STATUS: processes, PEERS: BOTH, "/proc/sys/kernel/hostname": "s1\n"}
    return {**known, count_key("v"): counts("v", dict.fromkeys((A, B, C), 0)), **(more or {})}


def judged(volumes: str, processes: str, more: Mapping[str, str] | None = None) -> Judged:
    return Judged([GLUSTER, GLUSTER_HEAL], RULES, [(1.0, pool(volumes, processes, more))])


THREE = info(volume("v", A, B, C, copies=3))
TWO = info(volume("v", A, B, copies=2))


def test_a_pool_that_is_well() -> None:
    said = judged(THREE, status(running("v", UP, (True, True, True))))
    (row,) = said.window.rows(GlusterVolume).values()
    assert (row.state, row.copies, row.bricks, row.bricks_up, row.tolerates, row.quorum) == (
        "Started", 3, 3, 3, 1, "auto",
    )  # fmt: skip
    assert (row.healers, row.healers_up, row.healing) == (3, 3, 1)
    (cluster,) = said.window.rows(Cluster).values()
    assert (cluster.kind, cluster.nodes, cluster.nodes_up, cluster.healthy) == ("gluster", 3, 3, 1)
    assert {node.node: node.state for node in said.window.rows(ClusterNode).values()} == {
        "s1": "connected", "s2": "connected", "s3": "connected",
    }  # fmt: skip
    bricks = said.window.rows(GlusterBrick).values()
    assert ("s1", "/b/v", 1, "online") in [(brick.host, brick.path, brick.set, brick.state) for brick in bricks]
    assert said.ruled_out("gluster", "cluster-degraded").summary == "3 of 3 servers connected"
    assert said.ruled_out("v", "gluster-volume-degraded").summary == "3 of 3 bricks online"
    assert said.ruled_out("v", "gluster-heal-pending").summary == "0 entries to heal"
    said.ruled_out("v", "gluster-split-brain")


@pytest.mark.parametrize(
    ("volumes", "down", "severity", "title"),
    [
        (volume("v", A, B, C, copies=3), {C}, Severity.WARNING, "BRICK OFFLINE"),
        (volume("v", A, B, C, copies=3), {B, C}, Severity.CRITICAL, "WRITES REFUSED"),
        (volume("v", A, B, C, copies=3), {A, B, C}, Severity.CRITICAL, "DATA UNREACHABLE"),
        (volume("v", A, B, copies=2), {B}, Severity.CRITICAL, "ONE COPY LEFT"),
        (volume("v", A, B, copies=2), {A, B}, Severity.CRITICAL, "DATA UNREACHABLE"),
        (volume("v", A, B, copies=2, options={"cluster.quorum-type": "auto"}), {A}, Severity.CRITICAL,
         "WRITES REFUSED"),
        (volume("v", A, B, copies=2, options={"cluster.quorum-type": "auto"}), {B}, Severity.CRITICAL,
         "ONE COPY LEFT"),
        (volume("v", A, B, copies=2, options={"cluster.quorum-type": "fixed", "cluster.quorum-count": "2"}), {B},
         Severity.CRITICAL, "WRITES REFUSED"),
        (volume("v", A, B, C, copies=3, arbiters=1), {C}, Severity.WARNING, "ARBITER OFFLINE"),
        (volume("v", A, B, C, copies=3, arbiters=1), {A}, Severity.CRITICAL, "ONE COPY LEFT"),
        (volume("v", A, B, C, dispersed=3, redundancy=1), {C}, Severity.CRITICAL, "NO REDUNDANCY LEFT"),
        (volume("v", A, B, C, dispersed=3, redundancy=1), {B, C}, Severity.CRITICAL, "DATA UNREACHABLE"),
        (volume("v", A, B), {B}, Severity.CRITICAL, "DATA UNREACHABLE"),
        (volume("v", *FOUR, copies=2), {B, FOUR[2]}, Severity.CRITICAL, "ONE COPY LEFT"),
    ],
)  # fmt: skip
def test_bricks_that_are_offline_by_effect(volumes: str, down: set[str], severity: Severity, title: str) -> None:
    names = [brick for brick in (*FOUR, C) if f"<name>{brick}<" in volumes]
    said = judged(info(volumes), status(running("v", {brick: brick not in down for brick in names})))
    finding = said.finding("v", "gluster-volume-degraded")
    assert (finding.severity, finding.title) == (severity, title)
    assert value(finding, "bricks") == len(names) - len(down)
    assert any("start v force" in step for step in finding.steps)


def test_a_volume_that_is_stopped_needs_no_bricks() -> None:
    said = judged(info(volume("v", A, B, copies=2, state="Stopped")), status())
    assert "Stopped" in said.ruled_out("v", "gluster-volume-degraded").summary


def test_bricks_of_a_server_out_of_reach_are_unknown_and_not_offline() -> None:
    gone = {PEERS: peers({"s2": True, "s3": False})}
    said = judged(THREE, status(running("v", {A: True, B: True})), gone)
    assert said.unchecked("v", "gluster-volume-degraded").reason == "1 of 3 bricks unknown from here"
    finding = said.finding("gluster", "cluster-degraded")
    assert (finding.severity, finding.cause) == (Severity.WARNING, "glusterd here does not reach s3.")
    (row,) = said.window.rows(GlusterVolume).values()
    assert (row.bricks_unknown, row.tolerates, row.down) == (1, None, 0)
    alone = judged(THREE, status(running("v", {A: True})), {PEERS: peers({"s2": False, "s3": False})})
    assert alone.finding("gluster", "cluster-degraded").title == "THIS SERVER IS ALONE"


def test_a_lock_of_another_transaction_leaves_bricks_unknown() -> None:
    busy = answer("", -1, "Another transaction is in progress for v. Please try again after some time.")
    said = judged(THREE, busy)
    reason = said.unchecked("v", "gluster-volume-degraded").reason
    assert reason == "bricks unknown: Another transaction is in progress for v. Please try agai..."


DIRECTORIES = "list:/var/lib/glusterd/vols"
DEAD = "Connection failed. Please check if gluster daemon is operational.\n"


def test_glusterd_that_does_not_run() -> None:
    host = EvidenceHost()
    host.apply([Evidence(INFO, Outcome.OK, DEAD.encode(), exit=1)])
    for collector in (GLUSTER, GLUSTER_HEAL):
        with pytest.raises(Absent, match="not recorded"):
            list(collector.read(host))
    for none in (Evidence(DIRECTORIES, Outcome.ABSENT), Evidence(DIRECTORIES)):
        host.apply([none])
        for collector in (GLUSTER, GLUSTER_HEAL):
            with pytest.raises(Absent, match="has no volumes"):
                list(collector.read(host))
    host.apply([Evidence(DIRECTORIES, data=b"v")])
    with pytest.raises(Failed, match="glusterd does not run; volumes configured here: 1"):
        list(GLUSTER_HEAL.read(host))
    (row,) = read(host)
    assert isinstance(row, Cluster)
    assert (row.state, row.healthy, row.says) == (
        "glusterd stopped", 0, "glusterd does not run; volumes configured here: 1",
    )  # fmt: skip


@pytest.mark.parametrize(("text", "volumes", "rests"), [(DEAD, "", True), (DEAD, "v", False), ("what?", "", False)])
def test_a_node_that_does_not_use_it_is_asked_seldom(text: str, volumes: str, rests: bool) -> None:  # noqa: FBT001
    """Where volumes are configured, or the answer is not understood, it is asked at its pace."""
    host = RestingHost()
    host.apply([Evidence(INFO, Outcome.OK, text.encode(), exit=1), Evidence(DIRECTORIES, data=volumes.encode())])
    for _ in range(2):
        host.touched = set()
        with suppress(Absent, Failed):
            list(GLUSTER.read(host))
    assert host.rested == ({INFO: UNUSED} if rests else {})
    assert (INFO in host.touched) is not rests
    host.rested = {}
    with suppress(Absent, Failed):
        list(GLUSTER_HEAL.read(host))
    assert bool(host.rested) is rests


REFUSED = 'ERROR: failed to create logfile "/var/log/glusterfs/cli.log" (Permission denied)'


@pytest.mark.parametrize("collector", [GLUSTER, GLUSTER_HEAL])
def test_an_ordinary_user_sees_where_glusterd_has_never_run(collector: Collector) -> None:
    """Where it has, or nobody looked, the refusal is what counts."""
    host = EvidenceHost()
    host.apply([Evidence(INFO, Outcome.OK, b"", stderr=REFUSED.encode(), exit=1)])
    for known in (None, Evidence(DIRECTORIES), Evidence(DIRECTORIES, data=b"v"), Evidence(DIRECTORIES, Outcome.DENIED)):
        host.apply([known] if known else [])
        with pytest.raises(Denied, match="start sdstop with sudo"):
            list(collector.read(host))
    host.apply([Evidence(DIRECTORIES, Outcome.ABSENT)])
    with pytest.raises(Absent, match="glusterd has never run here"):
        list(collector.read(host))


@pytest.mark.parametrize(
    ("exit_", "stderr", "error"),
    [(1, REFUSED, Denied),
     (1, "unrecognized word: xml (position 0)", Failed)],
)  # fmt: skip
def test_what_it_says_when_it_fails(exit_: int, stderr: str, error: type[Exception]) -> None:
    host = EvidenceHost()
    host.apply([Evidence(INFO, Outcome.OK, b"", stderr=stderr.encode(), exit=exit_)])
    with pytest.raises(error):
        list(read(host))


def test_a_node_without_volumes_and_peers_is_calm() -> None:
    with pytest.raises(Absent, match="no volumes and no peers"):
        list(read(EvidenceHost.of({INFO: info(), PEERS: peers({})})))


def test_entries_that_wait_to_be_healed() -> None:
    more = {count_key("v"): counts("v", {A: 7, B: None}), split_key("v"): split({A: []}, [B])}
    said = judged(TWO, status(running("v", {A: True, B: False})), more)
    finding = said.finding("v", "gluster-heal-pending")
    assert (finding.severity, finding.cause) == (Severity.INFO, "7 entries wait to be healed.")
    said.unchecked("v", "gluster-split-brain")
    assert value(finding, "silent") == 1


@pytest.mark.parametrize(
    ("options", "healers", "title"),
    [({"cluster.self-heal-daemon": "off"}, (), "SELF-HEAL DISABLED"), ({}, (False, False), "SELF-HEAL DAEMONS DOWN")],
)
def test_nothing_heals(options: Mapping[str, str], healers: tuple[bool, ...], title: str) -> None:
    refused = "Gathering count of entries to be healed on volume v has been unsuccessful:\n"
    more = {count_key("v"): f"{refused}Self-heal-daemon is disabled. Heal will not be triggered on volume v\n",
            split_key("v"): split({A: [], B: []})}  # fmt: skip
    said = judged(
        info(volume("v", A, B, copies=2, options=options)), status(running("v", {A: True, B: True}, healers)), more
    )
    finding = said.finding("v", "gluster-heal-pending")
    assert (finding.severity, finding.title) == (Severity.WARNING, title)
    said.ruled_out("v", "gluster-split-brain")


def test_healing_that_does_not_progress() -> None:
    def course(*numbers: int) -> Judged:
        frames = [
            (1.0 + 300.0 * place, pool(TWO, status(running("v", {A: True, B: True})), {
                count_key("v"): counts("v", {A: number, B: 0}), split_key("v"): split({A: [], B: []}),
            }))
            for place, number in enumerate(numbers)
        ]  # fmt: skip
        return Judged([GLUSTER, GLUSTER_HEAL], RULES, frames)

    stuck = course(500, 510, 520).finding("v", "gluster-heal-pending")
    assert (stuck.severity, stuck.title) == (Severity.WARNING, "HEAL DOES NOT PROGRESS")
    assert course(500, 400, 300).finding("v", "gluster-heal-pending").severity is Severity.INFO
    assert course(5, 6, 7).finding("v", "gluster-heal-pending").severity is Severity.INFO


def test_split_brain_names_files_and_the_choice() -> None:
    files = [("fc413294-8bf5-4f92-9559-0964a818df5d", "/db/x y"), ("36026587-9e8b-4233-a794-b0c771a3b560",
              "&lt;gfid:36026587-9e8b-4233-a794-b0c771a3b560&gt;")]  # fmt: skip
    more = {count_key("v"): counts("v", {A: 2, B: 1}), split_key("v"): split({A: files, B: files[:1]})}
    said = judged(TWO, status(running("v", {A: True, B: True})), more)
    finding = said.finding("v", "gluster-split-brain")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "2 entries in split brain: /db/x y."
    assert "overwritten" in finding.steps[0]
    steps = "\n".join(finding.steps)
    assert "split-brain source-brick s1:/b/v '/db/x y'" in steps
    assert "getfattr -d -m . -e hex '/b/v/db/x y'   # on s1" in steps
    rows = {row.entry: row.bricks for row in said.window.rows(GlusterSplitBrain).values()}
    assert rows == {"/db/x y": f"{A} {B}", "gfid:36026587-9e8b-4233-a794-b0c771a3b560": A}
    nameless = {count_key("v"): counts("v", {A: 1, B: 0}), split_key("v"): split({A: files[1:], B: []})}
    said = judged(TWO, status(running("v", {A: True, B: True})), nameless)
    steps = "\n".join(said.finding("v", "gluster-split-brain").steps)
    assert "/b/v/.glusterfs/36/02/36026587-9e8b-4233-a794-b0c771a3b560" in steps


def test_too_many_entries_are_not_searched() -> None:
    said = judged(TWO, status(running("v", {A: True, B: True})), {count_key("v"): counts("v", {A: MOST_PENDING + 1})})
    assert said.unchecked("v", "gluster-split-brain").reason.endswith("split brain not looked for")
    (row,) = said.window.rows(GlusterHeal).values()
    assert row.split is None


def test_a_dispersed_volume_has_no_count() -> None:
    said = judged(
        info(volume("v", A, B, C, dispersed=3, redundancy=1)),
        status(running("v", UP)),
        {count_key("v"): "must not run"},
    )
    said.unchecked("v", "gluster-heal-pending")
    said.ruled_out("v", "gluster-split-brain")


def test_all_entries_are_counted_and_some_named() -> None:
    many = [(f"{n:08d}-8bf5-4f92-9559-0964a818df5d", f"/f{n}") for n in range(50)]
    found = parse_split_brain(split({A: many, B: many}))
    assert (found.count, len(found.entries)) == (50, MOST_ENTRIES)


def test_names_of_options_and_files_beyond_those_shown_are_not_kept_when_redacted() -> None:
    many = [(f"{n:08d}-8bf5-4f92-9559-0964a818df5d", f"/secret{n}") for n in range(50)]
    retention = Retention([GLUSTER, GLUSTER_HEAL])
    kept = retention.redacted(split_key("v"), split({A: many, B: many}).encode())
    named = {entry.name for entry in parse_split_brain(kept.decode()).entries}
    assert sum(f"/secret{n}<".encode() in kept for n in range(50)) == len(named) == MOST_ENTRIES
    assert retention.redacted(split_key("v"), kept) == kept
    text = info(volume("v", A, B, copies=2, options={"auth.allow": "zurich", "cluster.quorum-type": "auto"}))
    part = retention.redacted(INFO, text.encode())
    assert b"zurich" not in part
    assert parse_volumes(part.decode())[0].options["cluster.quorum-type"] == "auto"
    assert retention.redacted(INFO, part) == part
    assert retention.redacted(INFO, b"<x") == b""


@pytest.mark.parametrize("text", ["", "x", "<a/>", '<!DOCTYPE a [<!ENTITY b "c">]><cliOutput/>', "<cliOutput>"])
def test_something_else_is_malformed(text: str) -> None:
    for parse in (parse_volumes, parse_processes, parse_peers, parse_split_brain):
        with pytest.raises(Malformed, match="gluster"):
            parse(text)
    with pytest.raises(Refused):
        parse_counts(text)


@given(st.text() | st.text(alphabet='<>/="cliOutputvolInfobrckame0 \n', max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    for parse in (parse_volumes, parse_processes, parse_peers, parse_split_brain, parse_counts):
        try:
            parse(f"<cliOutput>{text}</cliOutput>")
        except (Malformed, Refused):
            continue
