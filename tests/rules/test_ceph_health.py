"""The rules on Ceph: health checks by effect, OSDs down or slow, daemons of this node, room for a rebuild."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.analysis.clusters.ceph_codes import EFFECTS
from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.health import HARMLESS, osds_in
from sdstop.collectors.ceph.local import CEPH_DAEMONS, daemon_id, running
from sdstop.collectors.ceph.osds import CEPH_OSDS
from sdstop.collectors.ceph.readings import CephBlocker, CephDaemon
from sdstop.core.evidence import Evidence, Origin, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.core.session import Session
from sdstop.rules.ceph.ceph_daemon_down import CEPH_DAEMON_DOWN
from sdstop.rules.ceph.ceph_health import CEPH_HEALTH
from sdstop.rules.ceph.osd_down import OSD_DOWN
from sdstop.rules.ceph.osd_slow import OSD_SLOW
from sdstop.rules.powerflex.spare_below_fault_set import SPARE_BELOW_FAULT_SET
from sdstop.rules.space.capacity_near_full import CAPACITY_NEAR_FULL
from tests.nodes.ceph import (
    DUMP,
    FSID,
    HERE,
    NAME,
    PERF,
    RULES,
    STATUS,
    TREE,
    USAGE,
    crush_rules,
    osd_dump,
    perf,
    pool,
    status,
    tree,
    usage,
)
from tests.nodes.frames import Judged, check, frames
from tests.stories.texts import faults

RULED = (CEPH_DAEMON_DOWN, OSD_DOWN, OSD_SLOW, CEPH_HEALTH, SPARE_BELOW_FAULT_SET)


def judged(files: Mapping[str, str] | None = None, **settings: Any) -> Judged:
    known = {**HERE, STATUS: status(**settings), TREE: tree(), DUMP: osd_dump(), RULES: crush_rules(), **(files or {})}
    return Judged((CEPH, CEPH_OSDS, CEPH_DAEMONS), RULED, [(0.0, known)])


def severities(said: Judged) -> dict[str, str]:
    return {each.subject: each.severity.value for each in said.all if isinstance(each, Finding)}


# --- health checks


@pytest.mark.parametrize(
    ("code", "message", "severity"),
    [
        ("OSD_FULL", "1 full osd(s)", "critical"),
        ("POOL_FULL", "1 pool(s) full", "critical"),
        ("PG_AVAILABILITY", "Reduced data availability: 3 pgs inactive", "critical"),
        ("PG_DAMAGED", "Possible data damage: 1 pg inconsistent", "critical"),
        ("OBJECT_UNFOUND", "1/9 objects unfound (11%)", "critical"),
        ("OSD_NEARFULL", "1 nearfull osd(s)", "warning"),
        ("SLOW_OPS", "9 slow ops, oldest one blocked for 35 sec, osd.1 has slow ops", "warning"),
        ("SLOW_OPS", "9 slow ops, oldest one blocked for 72 sec, osd.1 has slow ops", "critical"),
        ("SLOW_OPS", "9 slow ops, oldest one blocked for 72 sec, mon.a has slow ops", "warning"),
        ("OSD_NO_DOWN_OUT_INTERVAL", "down out interval is 0", "warning"),
        ("TOO_MANY_PGS", "too many PGs per OSD", "warning"),
        ("PG_NOT_SCRUBBED", "3 pgs not scrubbed in time", "info"),
        ("OSDMAP_FLAGS", "noout flag(s) set", "warning"),
        ("OSDMAP_FLAGS", "nodeep-scrub,noscrub flag(s) set", "info"),
        ("OSDMAP_FLAGS", "noscrub,pausewr flag(s) set", "critical"),
        ("OSDMAP_FLAGS", "norebalance flag(s) set", "warning"),
        ("OSDMAP_FLAGS", "a-flag-of-next-year flag(s) set", "warning"),
        ("OSD_DATACENTER_DOWN", "1 datacenter (3 osds) down", "warning"),
        ("MDS_ALL_DOWN", "1 filesystem is offline", "critical"),
        ("FS_DEGRADED", "1 filesystem is degraded", "critical"),
        ("MDS_READ_ONLY", "1 MDSs are read only", "critical"),
        ("MDS_INSUFFICIENT_STANDBY", "insufficient standby MDS daemons available", "warning"),
        ("MON_CLOCK_SKEW", "clock skew detected on mon.b", "warning"),
        ("MON_DISK_CRIT", "mon a is very low on available space", "critical"),
        ("DEGRADED_STRETCH_MODE", "We are missing stretch mode buckets", "warning"),
        ("CEPHADM_FAILED_DAEMON", "1 failed cephadm daemon(s)", "warning"),
        ("MGR_MODULE_ERROR", "Module 'devicehealth' has failed: disk I/O error", "warning"),
    ],
)
def test_a_check_is_as_severe_as_its_effect(code: str, message: str, severity: str) -> None:
    said = judged(health="HEALTH_WARN", checks={code: message})
    assert severities(said) == {f"{NAME}/{code}": severity}


@pytest.mark.parametrize("code", [*EFFECTS, *sorted(HARMLESS), "A_CODE_OF_NEXT_YEAR"])
@pytest.mark.parametrize("muted", [False, True])
def test_the_texts_of_checks_have_their_form(code: str, muted: bool) -> None:  # noqa: FBT001  # a table
    name = "a-very-long-pool-name-of-somebody-who-likes-them-long"
    details = [f"pg 2.{n:x} is stuck, acting [1]" for n in range(40)] + [f"pool '{name}' is full", "osd.11 is full"]
    said = json.loads(status(health="HEALTH_WARN"))
    said["health"]["checks"] = {
        code: {
            "severity": "HEALTH_WARN", "summary": {"message": "x" * 90, "count": 40}, "muted": muted,
            "detail": [{"message": line} for line in details],
        }
    }  # fmt: skip
    finding = judged({STATUS: json.dumps(said), DUMP: osd_dump(pool(2, name))}).finding(f"{NAME}/{code}")
    assert list(faults(finding)) == []


@pytest.mark.parametrize("flags", ["pauserd", "full", "noout", "nodown,noup", "norecover", "noscrub", "zzz"])
def test_the_texts_of_flags_have_their_form(flags: str) -> None:
    said = judged(health="HEALTH_WARN", checks={"OSDMAP_FLAGS": f"{flags} flag(s) set"})
    assert list(faults(said.finding(f"{NAME}/OSDMAP_FLAGS"))) == []


@pytest.mark.parametrize(("code", "severity"), [("OSD_DOWN", "info"), ("PG_AVAILABILITY", "warning")])
def test_a_muted_check_is_marked_and_one_degree_less_severe(code: str, severity: str) -> None:
    muted = status(checks={code: "something"}).replace('"muted": false', '"muted": true')
    said = judged({STATUS: muted}).finding(f"{NAME}/{code}")
    assert (said.severity.value, said.title.startswith("MUTED: "), "(muted)" in said.cause) == (severity, True, True)


def test_a_check_names_its_pools_and_placement_groups() -> None:
    detail = {
        "PG_AVAILABILITY": {
            "severity": "HEALTH_WARN", "summary": {"message": "Reduced data availability: 2 pgs inactive", "count": 2},
            "detail": [{"message": f"pg 2.{n} is down, acting [1]"} for n in ("1f", "3")],
        }
    }  # fmt: skip
    said = json.loads(status(health="HEALTH_WARN"))
    said["health"]["checks"] = detail
    files = {
        STATUS: json.dumps(said),
        "cmd:ceph --connect-timeout 5 health detail -f json": json.dumps({"checks": detail}),
        DUMP: osd_dump(pool(2, "payroll")),
    }
    finding = judged(files).finding(f"{NAME}/PG_AVAILABILITY")
    assert finding.cause == "2 PGs of pool payroll serve no I/O: 2.1f, 2.3."
    assert {value.name: value.value for value in finding.values}["pools"] == "payroll"


@pytest.mark.parametrize(
    ("kept", "acting", "last"),
    [
        (pool(2, "a", 3), "[1,0]", False),
        (pool(2, "a", 3), "[1]", True),
        (pool(2, "a", 2, least=1), "[1]", True),
        (pool(2, "a", 1), "[1]", False),
        (pool(2, "a", 6, kind=3, least=5, profile="k4m2"), "[1,0,3,NONE,5,NONE]", True),
        (pool(2, "a", 6, kind=3, least=5, profile="k4m2"), "[1,0,3,2147483647,5,4]", False),
        (pool(2, "a", 3, kind=3, least=3, profile="gone"), "[1,NONE,0]", True),
    ],
)
def test_one_copy_left_is_critical(kept: dict[str, Any], acting: str, last: bool) -> None:  # noqa: FBT001  # a table
    check = {
        "PG_DEGRADED": {
            "severity": "HEALTH_WARN", "summary": {"message": "Degraded data redundancy", "count": 1},
            "detail": [{"message": f"pg 2.0 is active+undersized+degraded, acting {acting}"}],
        }
    }  # fmt: skip
    said = json.loads(status(health="HEALTH_WARN"))
    said["health"]["checks"] = check
    finding = judged({STATUS: json.dumps(said), DUMP: osd_dump(kept)}).finding(f"{NAME}/PG_DEGRADED")
    assert finding.severity is (Severity.CRITICAL if last else Severity.WARNING)


def found(check: dict[str, Any], kept: dict[str, Any] | None = None) -> Finding:
    """Return the finding about the only check; its pool has the number 2."""
    said = json.loads(status(health="HEALTH_WARN"))
    said["health"]["checks"] = check
    files = {
        STATUS: json.dumps(said), DUMP: osd_dump(kept or pool(2, "data")),
        "cmd:ceph --connect-timeout 5 health detail -f json": json.dumps({"checks": check}),
    }  # fmt: skip
    return judged(files).finding(f"{NAME}/{next(iter(check))}")


def check_of(code: str, message: str, *details: str) -> dict[str, Any]:
    """Return a health check as Ceph reports it."""
    return {
        code: {
            "severity": "HEALTH_WARN", "summary": {"message": message, "count": max(len(details), 1)},
            "detail": [{"message": line} for line in details],
        }
    }  # fmt: skip


def test_pieces_of_erasure_coding_are_not_copies() -> None:
    line = "pg 2.0 is undersized+degraded+peered, acting [0,NONE,2,1,NONE,5]"
    said = found(
        check_of("PG_DEGRADED", "Degraded data redundancy: 1 pg degraded", line),
        pool(2, "data", 6, kind=3, least=5, profile="k4m2"),
    )  # fmt: skip
    assert (said.severity, said.title) == (Severity.CRITICAL, "NO PIECE TO SPARE: 1 PG")


@pytest.mark.parametrize(
    ("states", "severity", "cause"),
    [
        ("1 pg inconsistent, 1 pg repair", "critical", "1 PG of pool data has damaged copies: 2.1."),
        ("1 pg repair", "warning", "1 PG of pool data is being repaired: 2.1."),
        ("1 pg snaptrim_error", "critical", "1 PG of pool data could not trim snapshots: 2.1."),
    ],
)
def test_damage_is_judged_by_the_states_of_its_groups(states: str, severity: str, cause: str) -> None:
    said = found(check_of("PG_DAMAGED", f"Possible data damage: {states}", "pg 2.1 is active, acting [0,1,2]"))
    assert (said.severity.value, said.cause) == (severity, cause)


@pytest.mark.parametrize(
    ("message", "detail", "cause"),
    [
        (
            "1 OSDs or CRUSH {nodes, device-classes} have {NOUP,NODOWN,NOIN,NOOUT} flags set",
            "host node1 has flags noout", "Host node1 has flags noout.",
        ),
        (
            "We are missing stretch mode buckets, only requiring 1 of 2 buckets to peer", "",
            "We are missing stretch mode buckets.",
        ),
        (
            "5 slow ops, oldest one blocked for 300 sec, daemons [osd.1,mon.a] have slow ops.", "",
            "5 slow requests, the oldest for 300 s: osd.1.",
        ),
        (
            "1 failed cephadm daemon(s)", "daemon rgw.store.node1.abc on node1 is in error state",
            "1 failed cephadm daemon(s): rgw.store.node1.abc.",
        ),
        ("1 MDSs are read only", "mds.a(mds.0): MDS in read-only mode", "1 MDSs are read only: mds.a."),
    ],
)  # fmt: skip
def test_a_message_that_is_too_long_is_shortened_and_names_its_things(message: str, detail: str, cause: str) -> None:
    assert found(check_of("CODE_OF_ITS_OWN", message, *filter(None, [detail]))).cause == cause


def test_hosts_with_an_osd_down_follow_from_it() -> None:
    checks = {"OSD_DOWN": "1 osds down", "OSD_HOST_DOWN": "1 host (1 osds) down"}
    finding = judged(health="HEALTH_WARN", checks=checks).finding(f"{NAME}/OSD_DOWN")
    assert finding.explains == (f"ceph-health:{NAME}/OSD_HOST_DOWN",)


@pytest.mark.parametrize(
    ("line", "osds"),
    [
        ("osd.3 is near full", [3]),
        ("Daemons [osd.0,osd.12,mon.a] have slow ops.", [0, 12]),
        ("osds 0,1 have stuck requests > 536.9 sec", [0, 1]),
        ("Slow OSD heartbeats on back from osd.2 [] to osd.0 [] 1000.0 msec", [0, 2]),
        ("3 osds down", []),
    ],
)
def test_osds_are_found_in_messages(line: str, osds: list[int]) -> None:
    assert osds_in([line]) == osds


# --- OSDs


def without(osd: int, **changes: Any) -> str:
    said = json.loads(tree())
    for node in said["nodes"]:
        if node["id"] == osd and node["type"] == "osd":
            node.update(changes)
    return json.dumps(said)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"status": "down"}, "warning"),
        ({"status": "down", "reweight": 0}, "info"),
        ({"status": "down", "crush_weight": 0}, "info"),
        ({"reweight": 0}, None),
    ],
)
def test_an_osd_that_is_down(changes: dict[str, Any], severity: str | None) -> None:
    said = judged({TREE: without(4, **changes)})
    assert severities(said) == ({} if severity is None else {f"{NAME}/store1/osd.4": severity})


def test_an_osd_that_is_out_is_a_fault_until_its_copies_are_elsewhere() -> None:
    files = {TREE: without(4, status="down", reweight=0)}
    said = judged(files, health="HEALTH_WARN", checks={"PG_DEGRADED": "Degraded data redundancy: 9 pgs degraded"})
    finding = said.finding(f"{NAME}/store1/osd.4")
    assert finding.severity is Severity.WARNING
    assert finding.impact == "Copies are missing until the rebuild on other OSDs ends."


def test_an_osd_that_is_out_is_no_small_matter_if_the_health_is_unknown() -> None:
    text = """ID  CLASS  WEIGHT   TYPE NAME      STATUS  REWEIGHT  PRI-AFF
-1         2.00000  root default
-3         1.00000      host h1
 0    hdd  1.00000          osd.0      up   1.00000  1.00000
-5         1.00000      host h2
 1    hdd  1.00000          osd.1    down         0  1.00000
"""
    said = Judged([CEPH_OSDS], [OSD_DOWN], [(0.0, {"cmd:ceph osd tree": text})])
    (finding,) = [each for each in said.all if isinstance(each, Finding)]
    assert (finding.severity, finding.title) == (Severity.WARNING, "OSD DOWN AND OUT")
    assert finding.impact == "Copies can be missing: no health of the cluster was recorded."


@pytest.mark.parametrize(
    ("waits", "severity"),
    [
        ({0: 2254, 1: 5, 2: 5, 3: 6}, "critical"),
        ({0: 140, 1: 5, 2: 5, 3: 6}, "warning"),
        ({0: 140, 1: 90, 2: 80, 3: 100}, None),
        ({0: 60, 1: 1, 2: 1, 3: 1}, None),
        ({0: 2254, 1: 0, 2: 0, 3: 6}, "critical"),  # seen on a real cluster: 0 is also less than half a millisecond
        ({0: 2254, 1: 300}, None),
        ({0: 1000, 1: 0, 2: 0}, "warning"),
        ({0: 999, 1: 0, 2: 0}, "unchecked"),
        ({0: 999, 1: 0, 2: 6}, "unchecked"),
    ],
)
def test_an_osd_is_slow_among_its_peers(waits: dict[int, int], severity: str | None) -> None:
    said = judged({PERF: perf(waits)})
    verdict = said.of(f"{NAME}/store0/osd.0", "osd-slow")
    if severity == "unchecked":
        assert isinstance(verdict, Unchecked)
    elif severity is None:
        assert isinstance(verdict, RuledOut)
    else:
        finding = said.finding(f"{NAME}/store0/osd.0", "osd-slow")
        assert finding.severity.value == severity
        assert f"osd.0 of store0 commits in {waits[0]} ms" in finding.cause.replace(".00", "")


def test_media_are_compared_with_their_own_kind() -> None:
    said = json.loads(tree())
    for node in said["nodes"]:
        if node["id"] in {0, 1, 2}:
            node["device_class"] = "ssd"
    disks = dict.fromkeys(range(3), 1) | dict.fromkeys(range(3, 12), 180)
    assert severities(judged({TREE: json.dumps(said), PERF: perf(disks)})) == {}


@pytest.mark.parametrize(
    ("waits", "slow", "unknown"),
    [
        ({0: 2831, 1: 12, 2: 9, 3: 11}, ["osd.0"], []),
        ({0: 99, 1: 1, 2: 1, 3: 1}, [], []),
        ({0: 112, 1: 128, 2: 1, 3: 1}, [], ["osd.0", "osd.1"]),  # the rotating ones, perhaps
        ({**dict.fromkeys(range(2, 22), 5), 0: 400, 1: 400}, ["osd.0", "osd.1"], []),
    ],
)
def test_latencies_alone(waits: dict[int, int], slow: list[str], unknown: list[str]) -> None:
    rows = "".join(f"{number:>3}  {wait:>18}  {wait:>17}\n" for number, wait in waits.items())
    text = f"osd  commit_latency(ms)  apply_latency(ms)\n{rows}"
    said = Judged((CEPH_OSDS,), [OSD_SLOW], [(0.0, {"cmd:ceph osd perf": text})])
    assert sorted(severities(said)) == [f"ceph/unknown/{name}" for name in slow]
    open_ = [name for each in said.all if isinstance(each, Unchecked) for name in each.subjects]
    assert sorted(open_) == [f"ceph/unknown/{name}" for name in unknown]


# --- daemons of this node

FOLDERS = {
    "/var/lib/ceph/osd/ceph-0/ceph_fsid": f"{FSID}\n", "link:/var/lib/ceph/osd/ceph-0/block": "/dev/sdb",
    "/var/lib/ceph/osd/ceph-0/whoami": "0\n", "list:/var/lib/ceph/mon": "ceph-store0",
    "list:/var/lib/ceph/mon/ceph-store0": "keyring\nstore.db", "/proc/sys/kernel/hostname": "store0\n",
    "list:/var/lib/ceph/mgr": "ceph-gone", "list:/var/lib/ceph/mgr/ceph-gone": "",
    "/etc/ceph/ceph.conf": f"fsid = {FSID}\n",
}  # fmt: skip


def daemons(*active: str) -> Judged:
    rows = [dict(zip(("kind", "id"), name.split("."), strict=True)) for name in active]
    files = {**FOLDERS, "answer:ceph.daemons": json.dumps(rows)}
    return Judged((CEPH_DAEMONS,), (CEPH_DAEMON_DOWN,), [(0.0, files)])


def test_a_daemon_with_data_here_has_to_run() -> None:
    assert severities(daemons("osd.0", "mon.store0")) == {}
    said = daemons("mon.store0", "osd.7")
    finding = said.finding(f"{NAME}/store0/osd.0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "OSD NOT RUNNING")
    assert finding.cause == "osd.0 does not run; its data is on sdb of this node."
    assert "smartctl -x /dev/sdb" in finding.steps
    said.of(f"{NAME}/store0/mon.store0")
    assert daemons("osd.0").finding(f"{NAME}/store0/mon.store0").title == "MON NOT RUNNING"


def test_an_osd_that_ended_is_not_up_because_the_cluster_counts_it_so() -> None:
    rows = [{"kind": "mon", "id": "store0"}]
    said = judged({**FOLDERS, "answer:ceph.daemons": json.dumps(rows)})
    assert severities(said) == {f"{NAME}/store0/osd.0": "warning"}
    assert said.unchecked(f"{NAME}/store0/osd.0", "osd-down").reason == "counted as up; its process does not run here"
    rows.append({"kind": "osd", "id": "0"})
    good = judged({**FOLDERS, "answer:ceph.daemons": json.dumps(rows)})
    assert isinstance(good.of(f"{NAME}/store0/osd.0", "osd-down"), RuledOut)


@pytest.mark.parametrize(
    ("status_of", "monitor", "running", "fires"),
    [
        ("unanswered", Outcome.TIMEOUT, "mon.store0", True),
        ("unanswered", Outcome.TIMEOUT, "osd.0", False),
        ("hangs", Outcome.TIMEOUT, "mon.store0", False),
        ("answered", Outcome.OK, "mon.store0", False),
    ],
)
def test_a_monitor_of_this_node_that_hangs_when_no_other_answers(
    status_of: str,
    monitor: Outcome,
    running: str,
    fires: bool,  # noqa: FBT001  # a table
) -> None:
    kind, _, ident = running.partition(".")
    files = {**HERE, **FOLDERS, "answer:ceph.daemons": json.dumps([{"kind": kind, "id": ident}])}
    (first,) = frames([(0.0, files)])
    asked = {
        "unanswered": Evidence(STATUS, data=b"", stderr=b"[errno 110] RADOS timed out (error connecting)", exit=1),
        "hangs": Evidence(STATUS, Outcome.TIMEOUT, detail="timed out after 12 s"),
        "answered": Evidence(STATUS, data=status().encode()),
    }[status_of]
    local = Evidence("cmd:ceph daemon mon.store0 mon_status", monitor, b"{}", detail="timed out after 12 s")
    session = Session(Origin("n"), (CEPH, CEPH_DAEMONS), [CEPH_HEALTH])
    session.feed_all([replace(first, evidence=(*first.evidence, asked, local))])
    found = session.head().judgement.findings
    assert bool(found) == fires
    for finding in found:
        check(finding)
        assert (finding.subject, finding.title) == (NAME, "MONITORS DO NOT ANSWER")
        assert finding.cause == "No monitor answered within 5 s, and mon.store0 of this node hangs."


def test_an_empty_directory_is_no_daemon() -> None:
    rows = [row.daemon for row in CEPH_DAEMONS.read(EvidenceHost.of(FOLDERS)) if isinstance(row, CephDaemon)]
    assert sorted(rows) == ["mon.store0", "osd.0"]


def test_an_osd_that_the_cluster_does_not_know_was_removed() -> None:
    said = json.loads(tree())
    said["nodes"] = [node for node in said["nodes"] if node["id"] != 0]
    files = {**FOLDERS, "answer:ceph.daemons": "[]", TREE: json.dumps(said)}
    assert isinstance(judged(files).of(f"{NAME}/store0/osd.0", "ceph-daemon-down"), RuledOut)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ("/usr/bin/ceph-osd -f --cluster ceph --id 3 --setuser ceph", "3"),
        ("ceph-osd -i 3", "3"),
        ("/usr/bin/ceph-osd -n osd.3 -f --setuser ceph", "3"),
        ("ceph-osd --name=osd.3", "3"),
        ("ceph-osd --help", None),
        ("ceph-osd -i", None),
    ],
)
def test_the_id_of_a_daemon_is_in_its_command_line(argv: str, name: str | None) -> None:
    assert daemon_id("osd", argv.split()) == name


@pytest.mark.parametrize(
    ("folders", "process", "daemon"),
    [
        ({"list:/var/lib/ceph/mds": "ceph-a", "list:/var/lib/ceph/mds/ceph-a": "keyring"}, ("mds", "a"), "mds.a"),
        (
            {"list:/var/lib/ceph/radosgw": "ceph-rgw.n1", "list:/var/lib/ceph/radosgw/ceph-rgw.n1": "keyring"},
            ("rgw", "n1"), "rgw.n1",
        ),
        (
            {
                "list:/var/lib/ceph": FSID, f"list:/var/lib/ceph/{FSID}": "rgw.shop.n1.x",
                f"list:/var/lib/ceph/{FSID}/rgw.shop.n1.x": "unit.run",
            },
            ("rgw", "shop.n1.x"), "rgw.shop.n1.x",
        ),
    ],
)  # fmt: skip
def test_gateways_and_metadata_servers_have_to_run_too(
    folders: dict[str, str], process: tuple[str, str], daemon: str
) -> None:
    files = {**folders, "/proc/sys/kernel/hostname": "n1\n"}
    listed = json.dumps([{"kind": process[0], "id": process[1]}])
    up, down = (judged({**files, "answer:ceph.daemons": answer}) for answer in (listed, "[]"))
    name = next(row.name for row in up.window.rows(CephDaemon).values())
    assert name.endswith(f"/n1/{daemon}")
    assert isinstance(up.of(name, "ceph-daemon-down"), RuledOut)
    finding = down.finding(name)
    assert finding.title == f"{process[0].upper()} NOT RUNNING"
    assert finding.severity is Severity.WARNING


def test_the_id_of_a_gateway_is_that_of_its_client() -> None:
    assert daemon_id("rgw", ["/usr/bin/radosgw", "-f", "-n", "client.rgw.shop.n1.x"]) == "shop.n1.x"
    assert daemon_id("rgw", ["radosgw", "--name", "client.radosgw.gateway"]) == "radosgw.gateway"


def test_placement_groups_that_wait_name_the_osd_that_they_wait_for() -> None:
    check = check_of("PG_AVAILABILITY", "Reduced data availability: 1 pg inactive, 1 pg down", "pg 2.1 is down")
    said = json.loads(status(health="HEALTH_WARN", states={"down": 1, "active+clean": 256}))
    said["health"]["checks"] = check
    rows = [{"id": 7, "num_blocked": 1}, {"id": 2, "num_blocked": 16}]
    blocked = "cmd:ceph --connect-timeout 5 --rados-mon-op-timeout 6 osd blocked-by -f json"
    for answer in (
        {"osd_blocked_by_infos": rows},
        {"pg_ready": True, "osd_blocked_by": {"osd_blocked_by_infos": rows}},
    ):
        finding = judged({STATUS: json.dumps(said), blocked: json.dumps(answer)}).finding(f"{NAME}/PG_AVAILABILITY")
        assert {value.name: value.value for value in finding.values}["blocked"] == "osd.2 (16 PGs), osd.7 (1 PG)"
        assert finding.cause == "1 PG serves no I/O; it waits for osd.2, osd.7."
        assert finding.advice[0] == "Restore osd.2, osd.7 first: PGs wait for it."
    calm = judged({STATUS: status(), blocked: json.dumps({"osd_blocked_by_infos": rows})})
    assert not calm.window.rows(CephBlocker)


def test_running_daemons_are_found_by_their_processes() -> None:
    host = EvidenceHost.of(
        {
            "/proc/12/comm": "ceph-osd\n", "/proc/12/cmdline": "ceph-osd\0-i\x003\0", "/proc/13/comm": "bash\n",
            "/proc/13/cmdline": "bash\0-i\x009\0", "/proc/14/comm": "ceph-mon\n",
            "/proc/14/cmdline": "/usr/bin/ceph-mon\0-n\0mon.a\0-f\0",
        }
    )  # fmt: skip
    assert running(host) == [{"kind": "mon", "id": "a"}, {"kind": "osd", "id": "3"}]


# --- room for a rebuild


@pytest.mark.parametrize(
    ("hosts", "pools", "used", "severity"),
    [
        (3, [pool(1, "a", 3)], {}, None),
        (3, [pool(1, "a", 2)], {}, "critical"),
        (4, [pool(1, "a", 3)], {}, "warning"),
        (6, [pool(1, "a", 6, kind=3, least=5)], {}, None),
        (3, [pool(1, "a", 3), pool(2, "b", 2)], {1: 99, 2: 1}, None),
        (3, [pool(1, "a", 3), pool(2, "b", 2)], {1: 1, 2: 99}, "critical"),
        (3, [], {}, "unchecked"),
    ],
)
def test_copies_in_every_domain_need_no_room(
    hosts: int, pools: list[dict[str, Any]], used: dict[int, int], severity: str | None
) -> None:
    files = {TREE: tree(hosts=hosts, share=0.66), DUMP: osd_dump(*pools), USAGE: usage(used)}
    verdict = judged(files).of(f"{NAME}/default", "spare-below-fault-set")
    if severity == "unchecked":
        assert isinstance(verdict, Unchecked)
    elif severity is None:
        assert isinstance(verdict, RuledOut)
    else:
        assert isinstance(verdict, Finding)
        assert verdict.severity.value == severity


def test_racks_are_domains_where_the_rule_says_so() -> None:
    said = json.loads(tree(hosts=6, share=0.66))
    root = said["nodes"][0]
    hosts = root["children"]
    racks = [
        {"id": -100 - n, "name": f"rack{n}", "type": "rack", "children": hosts[2 * n : 2 * n + 2]} for n in range(3)
    ]
    root["children"] = [rack["id"] for rack in racks]
    said["nodes"] += racks
    files = {TREE: json.dumps(said), DUMP: osd_dump(pool(1, "a", 3)), RULES: "[]"}
    by_host = judged(files).of(f"{NAME}/default", SPARE_BELOW_FAULT_SET.id)
    assert isinstance(by_host, RuledOut)
    assert "the largest of 6" in by_host.summary
    by_rack = judged({**files, RULES: crush_rules(domain="rack")}).of(f"{NAME}/default", SPARE_BELOW_FAULT_SET.id)
    assert isinstance(by_rack, RuledOut)
    assert "3 copies in 3 failure domains: no rebuild" in by_rack.summary


@pytest.mark.parametrize(("used", "title"), [("8.9 TiB", "OSD FULL"), ("8.0 TiB", "OSD NEARLY FULL"), ("4.5 TiB", "")])
def test_an_osd_that_is_full_where_no_pool_is_known(used: str, title: str) -> None:
    row = (
        "{n}    hdd  9.09569   1.00000  9.1 TiB  {used}  4.4 TiB   10 MiB   10 GiB  4.6 TiB  49.50  0.80  120      up\n"
    )
    text = (
        "ID  CLASS  WEIGHT   REWEIGHT  SIZE     RAW USE  DATA     OMAP     META     AVAIL    %USE   VAR   PGS  STATUS\n"
        + row.format(n=0, used="4.5 TiB") + row.format(n=1, used=used)
        + "                     TOTAL    27 TiB   18 TiB   18 TiB   30 MiB   30 GiB  9.4 TiB  65.60\n"
        "MIN/MAX VAR: 0.80/1.60  STDDEV: 22\n"
    )  # fmt: skip
    said = Judged([CEPH_OSDS], [CAPACITY_NEAR_FULL], [(0.0, {"cmd:ceph osd df": text})])
    assert [each.title for each in said.all if isinstance(each, Finding)] == ([title] if title else [])
