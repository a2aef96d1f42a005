"""Ceph: answers of versions 12 to 19, what is asked and when, and the disks that OSDs lie on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph import osd_map, osd_perf
from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.osds import CEPH_OSDS
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Origin, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.host import Absent, Denied, Failed, Malformed, Output
from sdstop.core.joins import named
from sdstop.core.model import Reading
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import Service
from sdstop.rules.ceph.ceph_health import CEPH_HEALTH
from sdstop.rules.rebuilds.rebuild_running import REBUILD_RUNNING
from sdstop.rules.rebuilds.rebuild_stalled import REBUILD_STALLED
from sdstop.rules.space.capacity_near_full import CAPACITY_NEAR_FULL
from tests.nodes.ceph import DUMP, HEALTH, HERE, NAME, PERF, STATUS, TREE, drain, health, perf, status, tree
from tests.nodes.frames import Files, Judged, check, frames, value

R = TypeVar("R", bound=Reading)


def rows(collector: Collector, files: Mapping[str, str], family: type[R]) -> list[R]:
    return [row for row in collector.read(EvidenceHost.of(files)) if isinstance(row, family)]


def cluster(said: str) -> Cluster:
    (row,) = rows(CEPH, {**HERE, STATUS: said}, Cluster)
    return row


def rebuilds(said: str) -> dict[str, Rebuild]:
    return {row.operation: row for row in rows(CEPH, {**HERE, STATUS: said}, Rebuild)}


@pytest.mark.parametrize("release", [12, 14, 15, 17, 18, 19])
def test_every_version_says_the_same(release: int) -> None:
    row = cluster(status(release))
    assert (row.cluster, row.state, row.healthy, row.epoch) == (NAME, "HEALTH_OK", 1, 4711)
    assert (row.managers, row.managers_up, row.tolerates, row.leader) == (3, 3, 1, "mon0")
    assert (row.used, row.capacity, row.degraded, row.failed, row.says) == (
        121_252_000_000, 727_512_000_000, 0, 0, None
    )  # fmt: skip


def test_a_drain_takes_75_hours() -> None:
    row = rebuilds(drain())["rebalance"]
    assert (row.array, row.state, row.kind, row.speed) == (NAME, "running", "ceph", 358_717)
    assert row.total is not None
    assert row.done is not None
    assert (row.total - row.done) / 1e9 == pytest.approx(96.9, abs=0.05)
    assert row.remaining is not None
    assert row.remaining / 3600 == pytest.approx(75.0, abs=0.1)
    assert row.limited_by == "osd_max_backfills: 2 placement groups at work, 208 wait"


def course(step: int, count: int = 21) -> list[tuple[float, Files]]:
    """Return looks half a minute apart, between each of which `step` objects find their place."""
    return [(30.0 * n, {**HERE, STATUS: drain(471_699 - step * n)}) for n in range(count)]


def test_dozens_of_hours_are_shown_as_such() -> None:
    step = round(30 * 358_717 / (60_626_000_000 / 295_141))
    finding = Judged((CEPH,), [REBUILD_RUNNING], course(step)).finding(NAME, "rebuild-running")
    eta = value(finding, "eta")
    assert isinstance(eta, float)
    assert eta / 3600 == pytest.approx(75, rel=0.02)
    assert "3d0" in finding.summary


def test_a_recovery_that_stands_is_stalled() -> None:
    shown: list[tuple[float, Files]] = [
        (30.0 * n, {**HERE, STATUS: status(
            states={"active+undersized+degraded+recovering": 3}, degraded_objects=1000 + (5 if n < 8 else 0) * (8 - n),
            degraded_total=590_282, recovering_bytes_per_sec=1, read_op_per_sec=n + 1,
        )})
        for n in range(30)
    ]  # fmt: skip
    Judged((CEPH,), [REBUILD_STALLED], shown).finding(NAME, "rebuild-stalled")


def test_what_is_degraded_is_recovered_before_what_is_misplaced() -> None:
    both = status(
        states={"active+degraded+recovering": 1, "active+remapped+backfill_wait": 2},
        degraded_objects=100, degraded_total=590_282, misplaced_objects=50, misplaced_total=590_282,
        recovering_bytes_per_sec=2_000_000,
    )  # fmt: skip
    found = rebuilds(both)
    assert (found["recovery"].speed, found["rebalance"].speed) == (2_000_000, None)
    assert cluster(both).degraded == pytest.approx(100 * 60_626_000_000 / 295_141, abs=1)


def test_flags_hold_it() -> None:
    said = status(
        checks={"OSDMAP_FLAGS": "norebalance,nobackfill flag(s) set"}, states={"active+remapped+backfill_wait": 9},
        misplaced_objects=50, misplaced_total=590_282,
    )  # fmt: skip
    row = rebuilds(said)["rebalance"]
    assert (row.state, row.limited_by) == ("paused", "nobackfill, norebalance")
    full = status(states={"active+remapped+backfill_toofull": 9}, misplaced_objects=50, misplaced_total=590_282)
    assert rebuilds(full)["rebalance"].state == "pending"
    assert "too full" in (rebuilds(full)["rebalance"].limited_by or "")


def test_counts_that_cannot_be_are_left_alone() -> None:
    """Old versions had negative counts, and more degraded than there was."""
    assert rebuilds(status(degraded_objects=-7, degraded_total=590_282)) == {}
    row = rebuilds(status(degraded_objects=600_000, degraded_total=590_282))["recovery"]
    assert (row.done, row.total, row.remaining) == (None, None, None)
    assert cluster(status(degraded_objects=600_000, degraded_total=590_282)).degraded is None
    assert rebuilds(status(objects=0, data=0, misplaced_objects=3, misplaced_total=9)) == {}


@pytest.mark.parametrize(
    ("checks", "healthy"),
    [
        ({"AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED": "mons are allowing it"}, 1),
        ({"OSD_DOWN": "1 osds down"}, 0),
        ({"PG_DEGRADED": "Degraded data redundancy"}, 0),
        ({"MON_DOWN": "1/3 mons down, quorum mon0,mon1"}, 0),
    ],
)
def test_a_warning_of_taste_is_no_damage(checks: dict[str, str], healthy: int) -> None:
    row = cluster(status(health="HEALTH_WARN", checks=checks))
    assert (row.state, row.healthy) == ("HEALTH_WARN", healthy)
    marks = dict.fromkeys(checks, "" if healthy == 0 else " (harmless)")
    assert row.says == "; ".join(f"{code}: {message}{marks[code]}" for code, message in checks.items())


def test_two_of_three_monitors_may_lose_none() -> None:
    row = cluster(status(quorum=2))
    assert (row.managers_up, row.tolerates) == (2, 0)


def test_groups_that_answer_nobody_are_lost_data() -> None:
    row = cluster(status(states={"active+clean": 75, "down+peering": 25}))
    assert row.failed == pytest.approx(60_626_000_000 / 4, abs=1)


def said_of(answer: str) -> Judged:
    return Judged([CEPH, CEPH_OSDS], [CEPH_HEALTH, CAPACITY_NEAR_FULL], [(0.0, {**HERE, STATUS: answer, TREE: tree()})])


@pytest.mark.parametrize(
    "state",
    ["active+undersized+degraded", "stale+active+clean", "active+clean+inconsistent", "active+recovery_unfound",
     "active+remapped+backfill_toofull", "active+frobnicated"],
)  # fmt: skip
def test_groups_that_need_a_health_check_contradict_one_that_is_ok(state: str) -> None:
    said = said_of(status(states={"active+clean": 75, state: 25})).unchecked(NAME)
    assert "without a health check" in said.reason
    warned = said_of(status(health="HEALTH_WARN", checks={"PG_X": "x"}, states={"active+clean": 75, state: 25}))
    assert warned.finding(f"{NAME}/PG_X").severity is Severity.WARNING


@pytest.mark.parametrize(
    "state", ["active+clean+scrubbing+deep", "active+remapped+backfill_wait", "active+clean+snaptrim"]
)
def test_groups_at_work_are_good(state: str) -> None:
    assert said_of(status(states={"active+clean": 75, state: 25})).ruled_out(NAME).summary


@pytest.mark.parametrize(("up", "good"), [(11, True), (10, False)])
def test_osds_that_are_in_and_down_contradict_a_health_that_is_ok(up: int, good: bool) -> None:  # noqa: FBT001
    said = said_of(status().replace('"num_up_osds": 12', f'"num_up_osds": {up}')).of(NAME)
    assert isinstance(said, RuledOut) is good


@pytest.mark.parametrize(("used", "fires"), [(899, False), (900, True)])
def test_a_cluster_is_full_as_a_whole(used: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = said_of(status(bytes_used=used, bytes_total=1000))
    full = [each for each in said.all if each.rule == "capacity-near-full" and isinstance(each, Finding)]
    assert [each.severity for each in full] == [Severity.CRITICAL] * fires


# --- what is asked


class Probed(EvidenceHost):
    """Evidence that counts which commands are asked for."""

    asked: list[str]

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        self.asked.append(" ".join(argv))
        return super().run(argv, deadline)


@pytest.mark.parametrize("collector", [CEPH, CEPH_OSDS], ids=["status", "osds"])
@pytest.mark.parametrize(
    "names", [None, "ceph.conf", "ceph.client.admin.keyring", "ceph.conf\nceph.client.crash.keyring"]
)
def test_no_monitor_is_spoken_to_from_a_node_that_administers_no_cluster(
    collector: Collector, names: str | None
) -> None:
    host = Probed()
    host.asked = []
    if names is not None:
        host.apply([Evidence("list:/etc/ceph", data=names.encode())])
    with pytest.raises(Absent):
        list(collector.read(host))
    assert host.asked == []


def test_the_tool_is_told_to_give_up() -> None:
    assert all(
        argv[1:3] == ("--connect-timeout", "5") for argv in (ceph.STATUS, ceph.TREE, ceph.PERF, ceph.HEALTH, ceph.DUMP)
    )


@pytest.mark.parametrize(
    ("stderr", "error", "said"),
    [
        (b"[errno 13] RADOS permission denied (error connecting to the cluster)", Denied, "sudo"),
        (
            (
                b"monclient(hunting): handle_auth_bad_method server allowed_methods [2] but i only support [2]\n"
                b"[errno 13] RADOS permission denied (error connecting to the cluster)\n"
            ),
            Failed,
            "reject the key",
        ),
        (b"something else", Failed, "exit 1"),
    ],
)
def test_a_cluster_that_does_not_answer(stderr: bytes, error: type[Exception], said: str) -> None:
    host = EvidenceHost.of(HERE)
    host.apply([Evidence(STATUS, Outcome.OK, b"", stderr=stderr, exit=1)])
    with pytest.raises(error, match=said):
        list(CEPH.read(host))


TIMED_OUT = Evidence(STATUS, Outcome.OK, b"", stderr=b"[errno 110] RADOS timed out (error connecting)", exit=1)
CONF = (
    "[global]\nfsid = 7b1f2c0e-5a4d-4c6b-9d7e-2f6a8b3c1d90\nmon host = [v2:10.0.0.1:3300,v1:10.0.0.1:6789] 10.0.0.2\n"
)


def unanswered(**more: str) -> Finding:
    (first,) = frames([(0.0, {**HERE, "/etc/ceph/ceph.conf": CONF, **more})])
    session = Session(Origin("n"), (CEPH,), [CEPH_HEALTH])
    session.feed_all([replace(first, evidence=(*first.evidence, TIMED_OUT))])
    (finding,) = session.head().judgement.findings
    check(finding)
    return finding


def test_monitors_that_do_not_answer_are_a_fault() -> None:
    finding = unanswered()
    assert finding.subject == NAME
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "MONITORS DO NOT ANSWER")
    assert finding.cause == "No monitor of 2 answered this node within 5 s."


def test_a_monitor_of_this_node_knows_that_there_is_no_quorum() -> None:
    monitors = [{"rank": rank, "name": name} for rank, name in enumerate("abc")]
    said = {"name": "b", "state": "probing", "quorum": [], "outside_quorum": ["b"], "monmap": {"mons": monitors}}
    here = {"list:/var/lib/ceph/mon": "ceph-b", "cmd:ceph daemon mon.b mon_status": json.dumps(said)}
    finding = unanswered(**here)
    assert finding.title == "NO QUORUM: 1 of 3 monitors up"
    assert finding.cause == "Monitors not reached: a, c."


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("ceph -s -f json", "status"),
        ("ceph status --format json-pretty", "status"),
        ("ceph --connect-timeout 5 status -f json", "status"),
        ("ceph osd df tree --format=json", "tree"),
        ("ceph_osd_df_tree_--format_json-pretty", "tree"),
        ("ceph osd perf -f json", "perf"),
        ("ceph-volume lvm list --format json", "volumes"),
        ("ceph -s", "status"),
        ("ceph --cluster prod -s", "status"),
        ("ceph osd dump", None),
        ("ceph auth ls -f json", None),
        ("ceph config-key dump -f json", None),
    ],
)
def test_what_others_recorded_is_known_by_its_words(name: str, asked: str | None) -> None:
    assert ceph.question(name) == asked


def test_recorded_answers_need_no_keyring() -> None:
    assert len(rows(CEPH, {"cmd:ceph -s --format json-pretty": status()}, Cluster)) == 1
    assert len(rows(CEPH_OSDS, {"slug:ceph_osd_df_tree_-f_json": tree()}, ClusterDevice)) == 12


# --- OSDs


def osds(files: Mapping[str, str], family: type[R], **more: str) -> list[R]:
    return rows(CEPH_OSDS, {**HERE, STATUS: status(), **files, **more}, family)


def test_the_tree() -> None:
    files = {
        TREE: tree(larger=2.0),
        PERF: perf({0: 7, 5: 120}),
        STATUS: status(health="HEALTH_WARN", checks={"OSD_NEARFULL": "1 nearfull osd(s)"}),
        HEALTH: health(OSD_NEARFULL=["osd.5 is near full"], OSD_DOWN=["osd.1 was down"]),
        DUMP: "{}",
    }
    found = {row.device: row for row in osds(files, ClusterDevice)}
    assert len(found) == 12
    assert (found["osd.0"].node, found["osd.0"].state, found["osd.0"].healthy) == ("store0", "up", 1)
    assert [found[name].write_wait for name in ("osd.0", "osd.5", "osd.1")] == [0.007, 0.12, None]
    assert (found["osd.5"].state, found["osd.5"].healthy) == ("OSD_NEARFULL up", 0)
    (pool,) = osds(files, ClusterPool)
    assert (pool.pool, pool.domains, pool.largest_domain) == ("default", 4, "store3")
    assert (pool.capacity, pool.largest) == (15 * 4_000_000_000_000, 6 * 4_000_000_000_000)
    assert (pool.near_full, pool.full) == (0.85, 0.95)
    assert pool.filled == pytest.approx(0.4)
    domains = {row.domain: row.capacity for row in osds(files, FailureDomain)}
    assert domains["store3"] == 24_000_000_000_000


def test_ratios_of_the_cluster_count_over_defaults() -> None:
    ratios = json.dumps({"full_ratio": 0.97, "backfillfull_ratio": 0.92, "nearfull_ratio": 0.8})
    (pool,) = osds({TREE: tree(), DUMP: ratios}, ClusterPool)
    assert (pool.near_full, pool.full) == (0.8, 0.97)


def test_old_versions_do_not_say_who_is_up() -> None:
    files = {TREE: tree(release=12), PERF: perf({1: 4}, release=12)}
    found = osds(files, ClusterDevice)
    assert {row.state for row in found} == {None}
    assert {row.healthy for row in found} == {None}
    assert {row.healthy for row in osds(files, ClusterNode)} == {None}
    assert found[1].write_wait == 0.004


def test_osds_that_are_out_or_down() -> None:
    said = json.loads(tree())
    said["nodes"][2].update({"reweight": 0})
    said["nodes"][3].update({"status": "down"})
    found = {row.device: row for row in osds({TREE: json.dumps(said)}, ClusterDevice)}
    assert (found["osd.0"].state, found["osd.1"].state, found["osd.1"].healthy) == ("up out", "down", 0)
    (pool,) = osds({TREE: json.dumps(said)}, ClusterPool)
    assert pool.capacity == 11 * 4_000_000_000_000  # one is to be emptied
    nodes = {row.node: row for row in osds({TREE: json.dumps(said)}, ClusterNode)}
    assert (nodes["store0"].state, nodes["store0"].healthy) == ("1 of 3 OSDs down", 0)


def test_classes_are_pools_of_their_own() -> None:
    said = json.loads(tree())
    for node in said["nodes"][2:5]:
        node["device_class"] = "ssd"
    assert {row.pool for row in osds({TREE: json.dumps(said)}, ClusterPool)} == {"default~ssd", "default~hdd"}


LOCAL = {
    "/var/lib/ceph/osd/ceph-0/ceph_fsid": "7b1f2c0e-5a4d-4c6b-9d7e-2f6a8b3c1d90\n",
    "link:/var/lib/ceph/osd/ceph-0/block": "/dev/ceph-1a2b/osd-block-3c4d",
    "link:/dev/ceph-1a2b/osd-block-3c4d": "../dm-3",
    "link:/sys/block/dm-3/slaves/sdb": "../../../../devices/x/sdb",
    "/proc/sys/kernel/hostname": "store0\n",
}


def test_the_disks_of_this_node_are_marked() -> None:
    found = {row.device: row.local for row in osds({TREE: tree()}, ClusterDevice, **LOCAL)}
    assert {name for name, disk in found.items() if disk} == {"osd.0"}
    assert found["osd.0"] == "sdb"
    # The same of a node that only carries OSDs: nobody is asked.
    (row,) = rows(CEPH_OSDS, LOCAL, ClusterDevice)
    assert (row.cluster, row.node, row.device, row.local, row.state) == (NAME, "store0", "osd.0", "sdb", None)


def test_cephadm_and_a_recorded_list() -> None:
    moved = {
        key.replace("/osd/ceph-0", "/7b1f2c0e-5a4d-4c6b-9d7e-2f6a8b3c1d90/osd.0"): text for key, text in LOCAL.items()
    }
    assert [row.local for row in rows(CEPH_OSDS, moved, ClusterDevice)] == ["sdb"]
    listed = json.dumps(
        {"2": [{"type": "db", "devices": ["/dev/nvme0n1"]}, {"type": "block", "devices": ["/dev/sdd"]}]}
    )
    found = osds(
        {"slug:ceph_osd_df_tree_-f_json": tree(), "slug:ceph-volume_lvm_list_--format_json": listed}, ClusterDevice
    )
    assert [row.local for row in found if row.local] == ["sdd"]


# --- any JSON

WORDS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1 << 70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["osd", "host"]),
)
KEYS = [
    "nodes", "id", "name", "type", "children", "kb", "kb_used", "utilization", "status", "reweight", "health", "checks",
    "detail", "message", "summary", "quorum_names", "monmap", "mons", "osdmap", "pgmap", "pgs_by_state", "state_name",
    "count", "num_pgs", "data_bytes", "num_objects", "osdstats", "osd_perf_infos", "perf_stats", "commit_latency_ms",
    "full_ratio", "0", "devices",
]  # fmt: skip
JSON = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)
PARSERS: list[Callable[[str], object]] = [
    ceph.parse_status, ceph.parse_tree, osd_perf.parse, ceph.parse_health, osd_map.parse_dump, osd_map.parse_usage,
    ceph.parse_volumes,
]  # fmt: skip


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(said=JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5))
def test_any_json_is_read_or_malformed(parser: Callable[[str], object], said: object) -> None:
    with contextlib.suppress(Malformed):
        parser(json.dumps(said))


@pytest.mark.parametrize("text", ["", "no", "[1]", "[" * 100_000])
def test_what_is_no_object_is_malformed(text: str) -> None:
    for parser in PARSERS:
        with pytest.raises(Malformed):
            parser(text)


def test_a_tree_that_bites_its_tail_ends() -> None:
    nodes = [
        {"id": -1, "name": "a", "type": "host", "children": [-2, 0]},
        {"id": -2, "name": "b", "type": "root", "children": [-1]},
        {"id": 0, "name": "osd.0", "type": "osd"},
    ]
    (osd,) = ceph.parse_tree(json.dumps({"nodes": nodes}))
    assert (osd.host, osd.root) == ("a", "b")


OSD_PERF = """osd  commit_latency(ms)  apply_latency(ms)
  2                 900                900
  0                   3                  3
  1                   0                  0
"""


@pytest.mark.parametrize("text", [
    OSD_PERF, OSD_PERF.replace("commit_latency", "fs_commit_latency").replace("  apply", "  fs_apply"),
    perf({2: 900, 0: 3, 1: 0}), perf({2: 900, 0: 3, 1: 0}, release=12),
])  # fmt: skip
def test_latencies_of_osds_as_text_and_json(text: str) -> None:
    assert osd_perf.parse(text) == {2: 0.9, 0: 0.003, 1: 0.0}


def test_latencies_alone_are_service_times_and_with_the_tree_they_have_its_names() -> None:
    served = [
        row for row in CEPH_OSDS.read(EvidenceHost.of({"cmd:ceph osd perf": OSD_PERF})) if isinstance(row, Service)
    ]
    assert {row.device: (row.write_wait, row.naming) for row in served} == {
        "osd.2": (0.9, "osd"), "osd.0": (0.003, "osd"), "osd.1": (None, "osd"),
    }  # fmt: skip
    assert {row.origin for row in served} == {"cmd:ceph osd perf"}
    found = list(CEPH_OSDS.read(EvidenceHost.of({"cmd:ceph osd perf": OSD_PERF, TREE: tree()})))
    names = {named(row)["device"][0].names[0] for row in found if isinstance(row, ClusterDevice)}
    times = {named(row)["device"][0].names[0] for row in found if isinstance(row, Service)}
    assert len(times) == 3
    assert times <= names  # the same things


def test_redaction_keeps_the_numbers_of_the_text() -> None:
    said = OSD_PERF.encode() + b"root@store1:~# \nfrom Ann\n"
    kept = osd_perf.only_numbers(said)
    assert osd_perf.parse(kept.decode()) == osd_perf.parse(OSD_PERF)
    assert b"store1" not in kept
    assert b"Ann" not in kept
    assert osd_perf.only_numbers(kept) == kept
    assert Retention([CEPH_OSDS]).redacted("cmd:ceph osd perf", said) == kept


@given(st.text() | st.lists(st.sampled_from([*OSD_PERF.split(), "\n", "{", "osd", "9" * 40])).map(" ".join))
def test_no_text_of_latencies_raises_anything_but_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        osd_perf.parse(text)
    osd_perf.only_numbers(text.encode("utf-8", "replace"))
