"""DRBD: both formats, resources as clusters, resyncs with the rate that holds them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.drbd.resources import DRBD, PROC, read
from sdstop.collectors.drbd.status import Rates, parse_proc, parse_rates, parse_status
from sdstop.core.collector import commands_of
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Denied, Malformed, Unreadable
from sdstop.core.model import Reading
from sdstop.node.commands import CommandRunner
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterVolume
from sdstop.readings.rebuild import Rebuild
from sdstop.rules.rebuilds.rebuild_running import REBUILD_RUNNING
from sdstop.rules.rebuilds.rebuild_throttled import REBUILD_THROTTLED
from tests.nodes.drbd import MIB, RS_TOTAL, SHOW, STATUS, resource, show, status, syncing
from tests.nodes.frames import Files, Judged, value

NINE = {PROC: "version: 9.2.4 (api:2/proto:86-121)\n"}
EIGHT = """version: 8.4.11 (api:1/proto:86-101)
srcversion: 211FB288A383ED945B83420
 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----
    ns:702624 nr:0 dw:0 dr:702624 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:20267580
	[>....................] sync'ed:  3.4% (19792/20478)M
	finish: 0:03:32 speed: 95,284 (88,960) K/sec
 1: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----
    ns:0 nr:0 dw:0 dr:0 al:0 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:4096

 3: cs:Unconfigured
"""


def rows(files: Mapping[str, str]) -> list[Reading]:
    return list(read(EvidenceHost.of(files)))


def cluster(said: dict[str, Any]) -> Cluster:
    return next(row for row in rows({**NINE, STATUS: status(said)}) if isinstance(row, Cluster))


def rebuild(said: dict[str, Any], **files: str) -> Rebuild:
    found = rows({**NINE, STATUS: status(said), SHOW: show(), **files})
    return next(row for row in found if isinstance(row, Rebuild))


BY_RES = "link:/dev/drbd/by-res"


@pytest.mark.parametrize(
    ("links", "names"),
    [
        ({}, ["drbd0", "drbd1", "drbd3"]),
        ({f"{BY_RES}/db": "../../drbd0", f"{BY_RES}/web": "../../drbd1"}, ["db", "web", "drbd3"]),
        ({f"{BY_RES}/db/0": "../../../drbd0", f"{BY_RES}/web/0": "../../../drbd1"}, ["db", "web", "drbd3"]),
        ({f"{BY_RES}/db/0": "../../../drbd0", f"{BY_RES}/db/1": "../../../drbd1"}, ["db/0", "db/1", "drbd3"]),
        ({f"{BY_RES}/db": "../../drbd9"}, ["drbd0", "drbd1", "drbd3"]),  # a device that is not there
    ],
)
def test_resources_of_version_8_are_named_by_udev_s_links(links: dict[str, str], names: list[str]) -> None:
    found = [row for row in rows({PROC: EIGHT, **links}) if isinstance(row, Cluster)]
    assert [row.cluster for row in found] == names
    assert [row.needle for row in found] == ["0: cs:", "1: cs:", "3: cs:"]  # as /proc/drbd has them
    volumes = [row for row in rows({PROC: EIGHT, **links}) if isinstance(row, ClusterVolume)]
    assert [row.local for row in volumes] == ["drbd0", "drbd1"]


def test_links_do_not_rename_the_resources_of_version_9() -> None:
    said = {**NINE, STATUS: status(resource()), f"{BY_RES}/other": "../../drbd0"}
    assert next(row for row in rows(said) if isinstance(row, Cluster)).cluster == "r0"


def test_a_resync_at_93_mib_a_second_has_213_seconds_left() -> None:
    row = rebuild(syncing(1405248))
    assert (row.array, row.operation, row.state, row.kind) == ("r0", "resync", "running", "drbd")
    assert row.total == RS_TOTAL * 512
    assert row.progress == pytest.approx(0.0335, abs=0.0001)
    assert row.speed is not None
    assert row.speed / MIB == pytest.approx(93.05, abs=0.01)
    assert row.remaining == 213
    assert (row.speed_max, row.speed_min, row.limited_by) == (100 * MIB, 250 * 1024, "c-max-rate")


def test_its_own_engine_says_the_same_and_names_the_limit() -> None:
    """After 40 s of reading: what is left at the rate seen, held by c-max-rate while the disk is not busy."""
    step = int(93.05 * MIB / 512)
    shown: list[tuple[float, Files]] = [
        (
            float(t),
            {
                **NINE,
                STATUS: status(syncing(1405248 + step * t)),
                SHOW: show(),
                "link:/sys/block/drbd0/slaves/sdb": "../../sdb",
                "/proc/diskstats": f" 8 16 sdb {180 * t} 0 {step * t} {300 * t} 0 0 0 0 0 {400 * t} {300 * t}\n",
            },
        )
        for t in range(0, 61, 5)
    ]
    said = Judged((DRBD, DISKSTATS), [REBUILD_RUNNING, REBUILD_THROTTLED], shown)
    running = said.finding("r0", "rebuild-running")
    assert value(running, "rate") == pytest.approx(93.05 * MIB, rel=0.01)
    assert value(running, "eta") == pytest.approx(213 - 60, abs=2)
    held = said.finding("r0", "rebuild-throttled")
    assert held.severity is Severity.INFO  # it ends soon
    assert held.cause.startswith("Limited to 100 MiB/s by c-max-rate; ")


def test_healthy_resources_are_whole_clusters() -> None:
    row = cluster(resource())
    assert (row.healthy, row.state, row.nodes, row.nodes_up, row.degraded, row.failed) == (1, "UpToDate", 2, 2, 0, 0)
    assert (row.capacity, row.leader, row.says) == (20970204 * 1024, "this node", None)


@pytest.mark.parametrize(
    ("changes", "state", "degraded", "failed", "said"),
    [
        (
            {"state": "Connecting", "peer_disk": "DUnknown"},
            "Connecting",
            20970204,
            0,
            "the connection to store2 is Connecting",
        ),
        (
            {"peer_disk": "Inconsistent", "out_of_sync": 512, "replication": "SyncSource"},
            "Inconsistent",
            512,
            0,
            "store2",
        ),
        ({"disk": "Failed"}, "Failed", 20970204, 0, "volume 0 of this node is Failed"),
        ({"disk": "Failed", "state": "StandAlone", "peer_disk": "DUnknown"}, "Failed", 20970204, 20970204, "Failed"),
    ],
)
def test_what_lost_its_copy(changes: dict[str, Any], state: str, degraded: int, failed: int, said: str) -> None:
    row = cluster(resource(**changes))
    assert (row.healthy, row.state) == (0, state)
    assert (row.degraded, row.failed) == (degraded * 1024, failed * 1024)
    assert row.says is not None
    assert said in row.says


def test_copies_that_a_verify_found_to_differ_are_complete() -> None:
    row = cluster(resource(out_of_sync=4))
    assert (row.healthy, row.state, row.degraded) == (1, "UpToDate", 0)


def test_a_client_without_a_disk_lacks_nothing() -> None:
    said = resource()
    said["devices"][0].update({"disk-state": "Diskless", "client": True})
    assert cluster(said).healthy == 1
    said["devices"][0]["client"] = False  # it lost its disk
    assert cluster(said).healthy == 0


def test_no_quorum_is_told() -> None:
    said = resource()
    said["devices"][0]["quorum"] = False
    row = cluster(said)
    assert (row.healthy, row.state, row.says) == (0, "no-quorum", "I/O fails: no quorum")
    said["role"] = "Secondary"
    assert cluster(said).says == "no quorum: this node cannot become Primary"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"suspended": True}, "I/O is suspended"),
        ({"suspended": True, "suspended-quorum": True}, "I/O is suspended: no quorum"),
        ({"suspended": True, "suspended-user": True}, "I/O is suspended: by an administrator"),
        ({"force-io-failures": True}, "I/O fails: made Secondary by force while in use"),
    ],
)
def test_io_that_waits_or_fails_has_its_reason(changes: dict[str, bool], says: str) -> None:
    assert cluster({**resource(), **changes}).says == says


@pytest.mark.parametrize(
    ("suspended", "replication", "state"),
    [("no", "SyncTarget", "running"), ("user", "PausedSyncS", "paused here"), ("peer", "SyncSource", "paused on peer"),
     ("dependency", "SyncSource", "delayed"), ("peer,dependency", "PausedSyncS", "delayed"),
     ("user,dependency", "PausedSyncS", "paused"), ("user,peer", "PausedSyncS", "paused"),
     ("no", "PausedSyncS", "paused")],
)  # fmt: skip
def test_a_resync_may_wait(suspended: str, replication: str, state: str) -> None:
    details: dict[str, Any] = {"rs-total": 400, "resync-suspended": suspended}
    said = resource(replication=replication, out_of_sync=100, **details)
    row = rebuild(said)
    assert (row.state, row.done, row.total) == (state, 100 * 1024, 400 * 512)


@pytest.mark.parametrize(
    ("flags", "state"),
    [("r-----", "paused"), ("r--u--", "paused here"), ("r-p---", "paused on peer"), ("r-pu--", "paused"),
     ("ra----", "delayed"), ("rap---", "delayed"), ("r---", "paused"), ("r", "paused")],
)  # fmt: skip
def test_version_8_shows_by_a_flag_which_side_holds_a_resync(flags: str, state: str) -> None:
    held = EIGHT.replace("cs:SyncSource", "cs:PausedSyncS").replace("C r-----", f"C {flags}", 1)
    row = next(row for row in rows({PROC: held}) if isinstance(row, Rebuild))
    assert row.state == state


def test_never_is_no_time() -> None:
    details: dict[str, Any] = {"estimated-seconds-to-finish": 987654321}
    said = resource(replication="SyncSource", out_of_sync=100, **details)
    row = rebuild(said)
    assert (row.remaining, row.total, row.done) == (None, None, None)


def test_an_online_verify_is_a_check() -> None:
    assert rebuild(resource(replication="VerifyS")).operation == "check"


def test_nodes_and_devices() -> None:
    found = rows({**NINE, STATUS: status(resource(state="Connecting")), "/proc/sys/kernel/hostname": "store1\n"})
    nodes = {row.node: (row.state, row.healthy, row.local) for row in found if isinstance(row, ClusterNode)}
    assert nodes == {"store1": ("UpToDate", 1, True), "store2": ("DUnknown", None, False)}
    (device,) = [row for row in found if isinstance(row, ClusterDevice)]
    assert (device.device, device.local, device.state) == ("/dev/drbd0", "drbd0", "UpToDate")


def test_version_8() -> None:
    found = rows({PROC: EIGHT})
    clusters = {row.cluster: row for row in found if isinstance(row, Cluster)}
    assert set(clusters) == {"drbd0", "drbd1", "drbd3"}
    assert (clusters["drbd0"].state, clusters["drbd1"].state) == ("Inconsistent", "WFConnection")
    assert clusters["drbd0"].degraded == 20267580 * 1024
    assert clusters["drbd1"].degraded is None  # how large it is nobody says
    (row,) = [row for row in found if isinstance(row, Rebuild)]
    assert (row.total, row.remaining, row.speed) == (20478 * MIB, 212, 95284 * 1024)
    assert row.done == 20478 * MIB - 20267580 * 1024


@pytest.mark.parametrize(("said", "error", "told"), [
    (Evidence(PROC, Outcome.ABSENT, detail="no such file"), Absent, "DRBD is not loaded"),
    (None, Absent, "not recorded"),
    (Evidence(PROC, Outcome.DENIED, detail="needs root"), Denied, "needs root"),
])  # fmt: skip
def test_only_a_node_that_was_asked_lacks_drbd(said: Evidence | None, error: type[Unreadable], told: str) -> None:
    host = EvidenceHost.of({})
    if said is not None:
        host.state[PROC] = said
    with pytest.raises(error) as known:
        read(host)
    assert str(known.value) == f"{PROC}: {told}"
    assert getattr(known.value, "recorded", True) is (told != "not recorded")


def test_without_drbd_its_tool_is_not_started() -> None:
    with pytest.raises(Absent):
        rows({})
    denied = Evidence(STATUS, Outcome.OK, b"", stderr=b"drbdsetup: no permission\n", exit=20)
    with pytest.raises(Denied, match="root"):
        list(read(EvidenceHost([Evidence(PROC, data=NINE[PROC].encode()), denied])))


def test_what_somebody_recorded_needs_nothing_else() -> None:
    assert any(isinstance(row, Rebuild) for row in rows({"slug:drbdsetup_status_--json": status(syncing(0))}))


def test_rates() -> None:
    assert parse_rates(show()) == {"r0": Rates(100 * MIB, "c-max-rate", 250 * 1024)}
    assert parse_rates(show(plan=0))["r0"] == Rates(250 * 1024, "resync-rate", 250 * 1024)
    assert parse_rates(show("a", "4M") + show("b"))["a"].most == 4 * MIB
    assert parse_rates("resource x {\n}\n") == {"x": Rates(None, "c-max-rate", None)}


def test_the_secret_of_the_nodes_is_never_kept(tmp_path: Any) -> None:
    """A stand-in for drbdsetup prints what the real one does, the shared secret among it."""
    tool = tmp_path / "drbdsetup"
    net = 'net {\n cram-hmac-alg "sha1";\n shared-secret "hunter2";\n _name "store2";\n }'
    text = show().replace('        _name                   "store2";', net)
    assert "hunter2" in text
    tool.write_text(f"#!/bin/sh\ncat <<'E'\n{text}E\n")
    tool.chmod(0o755)
    runner = CommandRunner(commands_of([DRBD]), (str(tmp_path),))
    kept = runner.run(("drbdsetup", "show", "--show-defaults"), 20.0).text
    assert "hunter2" not in kept
    assert parse_rates(kept) == {"r0": Rates(100 * MIB, "c-max-rate", 250 * 1024)}


WORDS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 1 << 70), st.floats(), st.text(max_size=5), st.just("SyncSource")
)
KEYS = [
    "name", "devices", "connections", "peer_devices", "minor", "size", "out-of-sync", "rs-total", "replication-state",
    "db1/dt1 [MiB/s]", "rs-db1-sectors", "rs-dt1-ms", "estimated-seconds-to-finish", "disk-state", "quorum",
]  # fmt: skip
JSON = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)


@given(JSON | st.lists(st.builds(lambda d, c: {"name": "r", "devices": d, "connections": c}, JSON, JSON), max_size=2))
def test_any_json_is_read_or_malformed(said: object) -> None:
    with contextlib.suppress(Malformed):
        parse_status(json.dumps(said))


@given(
    st.lists(
        st.one_of(
            st.text(max_size=30),
            st.sampled_from(EIGHT.splitlines()),
            st.from_regex(r" [0-9]{1,3}: cs:[A-Z][A-Za-z]{2,9}( ro:A/B ds:C/D)?", fullmatch=True),
            st.from_regex(
                r"sync'ed: [0-9]{1,3}(\.[0-9])?% \([0-9]{1,16}/[0-9]{1,16}\)[KMG]? oos:[0-9]{1,20}", fullmatch=True
            ),
        )
    ).map("\n".join)
)
def test_any_proc_is_read(text: str) -> None:
    with contextlib.suppress(Malformed):
        parse_proc("version: 8.4.11\n" + text)
    parse_rates(text)


def test_an_unknown_io_flag_of_version_8_is_not_taken_for_running_io() -> None:
    text = (
        "version: 8.4.11 (api:1/proto:86-101)\n 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C {}-----\n"
    )
    assert [parse_proc(text.format(flag))[0].suspended for flag in "rs"] == [False, True]
    with pytest.raises(Malformed, match="unknown I/O state"):
        parse_proc(text.format("q"))
