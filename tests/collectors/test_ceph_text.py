# ruff: noqa: E501  # lines as wide as Ceph prints them
"""Ceph's answers as it prints them for people: as much is read from them as from its JSON."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.collectors.ceph import health_text, osd_tables, status_text
from sdstop.collectors.ceph.answers import Osd
from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.health_codes import UNKNOWN, code_of, severities
from sdstop.collectors.ceph.readings import CephCheck
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from sdstop.core.session import Session
from sdstop.readings.cluster import Cluster
from sdstop.rules import RULES
from tests.clusters.scenario import RECORDED
from tests.fixtures import FIXTURES
from tests.nodes import ceph_text

STATUS, HEALTH = "cmd:ceph --connect-timeout 5 status -f json", "cmd:ceph --connect-timeout 5 health detail -f json"
TREE = "cmd:ceph --connect-timeout 5 --rados-mon-op-timeout 6 osd df tree -f json"
UNANSWERED = ("no-quorum", "key-rejected", "monitors-hung")
"""States in which the command has no answer that could be text."""
CAPTURES = sorted(path for path in RECORDED.glob("ceph-*.tar.gz") if not any(n in path.name for n in UNANSWERED))


def answers(path: Path) -> dict[str, str]:
    """The last answers in a capture, by key."""
    _, frames = open_capture(path)
    found = {item.key: item.data.decode() for frame in frames for item in frame.evidence if not item.exit and item.data}
    return {key: found[key] for key in (STATUS, HEALTH, TREE) if key in found}


def judged(files: dict[str, str]) -> set[tuple[str, str, str, str]]:
    session = Session(Origin("n"), BUILTIN, RULES)
    items = tuple(Evidence(key, data=text.encode()) for key, text in files.items())
    judgement = session.feed(Frame(1, 1_700_000_000.0, 0.0, items)).judgement
    return {(each.severity.value, each.rule, each.subject, each.title.partition(":")[0]) for each in judgement.findings}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_the_text_of_a_recorded_state_gives_the_findings_of_its_json(path: Path) -> None:
    exact = answers(path)
    assert STATUS in exact
    text = {"cmd:ceph -s": ceph_text.status(exact[STATUS])}
    if HEALTH in exact:
        text["cmd:ceph health detail"] = ceph_text.health(exact[HEALTH])
    if TREE in exact:
        text["cmd:ceph osd df tree"] = ceph_text.tree(exact[TREE])
    assert judged(text) == judged(exact)
    assert status_text.status_fault(text["cmd:ceph -s"]) == ""


def test_the_captures_are_those_of_the_lab() -> None:
    assert len(CAPTURES) >= 20
    assert all(tarfile.is_tarfile(path) for path in CAPTURES)


LUMINOUS = """\
  cluster:
    id:     9d4d8c61-cf87-4129-9cef-8fbf301210ad
    health: HEALTH_WARN
            6 osds down
            1 host (6 osds) down
            Degraded data redundancy: 195/624 objects degraded (31.250%), 8 pgs degraded
            mon vol1 is low on available space
            1/3 mons down, quorum vol1,vol2

  services:
    mon: 3 daemons, quorum vol1,vol2, out of quorum: vol3
    mgr: vol1(active), standbys: vol3
    mds: cephfs-1/1/1 up  {0=mds-65bb45dffc=up:active}, 1 up:standby
    osd: 24 osds: 18 up, 24 in
    rgw: 2 daemons active

  data:
    pools:   18 pools, 182 pgs
    objects: 1.41 k objects, 3359 bytes
    usage:   2630 MB used, 44675 GB / 44678 GB avail
    pgs:     195/624 objects degraded (31.250%)
             126 active+undersized
             48  active+clean
             8   active+undersized+degraded

  io:
    client:   170 B/s rd, 127 KiB/s wr, 0 op/s rd, 5 op/s wr
"""


def test_version_12_prints_other_units_and_no_ages() -> None:
    whole = status_text.status_of(LUMINOUS)
    said = whole.status
    assert whole.defect == ""
    assert (said.monitors, said.quorum, said.manager) == (3, ("vol1", "vol2"), True)
    assert (said.osds, said.osds_up, said.osds_in) == (24, 18, 24)
    assert (said.pgs, said.counted, said.objects, said.data) == (182, 182, 1410, 3359)
    assert (said.used, said.total) == (2630 << 20, 44678 << 30)
    assert (said.degraded, said.degraded_total, said.misplaced, said.unfound) == (195, 624, 0, 0)
    assert (said.read, said.write, said.reads, said.writes) == (170.0, 127 * 1024.0, 0.0, 5.0)
    codes = [check.code for check in said.checks]
    assert codes == ["OSD_DOWN", "OSD_HOST_DOWN", "PG_DEGRADED", "MON_DISK_LOW", "MON_DOWN"]


@pytest.mark.parametrize("lines", range(1, len(LUMINOUS.splitlines())))
def test_a_status_that_ends_early_is_not_complete(lines: int) -> None:
    text = "\n".join(LUMINOUS.splitlines()[:lines]) + "\n"
    whole = len(LUMINOUS[: LUMINOUS.index("  io:")].splitlines())
    try:
        said = status_text.status_of(text)
    except Malformed:
        assert lines < 3
        return
    counted = said.status.counted != said.status.pgs  # noted by the collector
    assert bool(said.defect) or counted or lines >= whole - 1


JEWEL = (FIXTURES / "texts/ceph/status-10.txt").read_text().partition("# ceph -s\n")[2].partition("# ceph health")[0]


def test_version_10_prints_maps_and_messages_without_codes() -> None:
    whole = status_text.status_of(JEWEL)
    said = whole.status
    assert whole.defect == ""
    assert (said.fsid[:8], said.monitors, said.quorum) == ("4c0d7a1e", 3, ("store1", "store2", "store3"))
    assert (said.osds, said.osds_up, said.osds_in, said.pgs, said.counted) == (24, 23, 24, 512, 512)
    assert (said.degraded, said.degraded_total, said.objects, said.used) == (1312, 40596, 13532, 155 << 30)
    assert (said.reads, said.writes, said.read) == (159.0, 177.0, 2238 * 1024.0)
    assert [check.code for check in said.checks] == ["PG_DEGRADED", "OBJECT_MISPLACED", "REQUEST_SLOW", "OSD_DOWN"]


def test_up_to_version_9_the_health_is_one_line() -> None:
    lines = JEWEL.splitlines(keepends=True)
    messages = "; ".join(line.strip() for line in lines[2:8])
    one = [lines[0], f"     health HEALTH_WARN {messages}\n", f"{lines[8].rstrip()}, {lines[9].lstrip()}", *lines[10:]]
    assert status_text.status_of("".join(one)) == status_text.status_of(JEWEL)


@pytest.mark.parametrize("lines", range(1, len(JEWEL.splitlines()) - 1))
def test_a_status_of_version_10_that_ends_early_is_not_complete(lines: int) -> None:
    try:
        said = status_text.status_of("".join(JEWEL.splitlines(keepends=True)[:lines]))
    except Malformed:
        assert lines < 2
        return
    assert said.defect or said.status.counted != said.status.pgs


def test_a_status_of_version_10_keeps_what_is_judged_when_it_is_redacted() -> None:
    kept = status_text.without_names(JEWEL.encode())
    assert b"192.0.2" not in kept
    assert status_text.status_of(kept.decode()) == status_text.status_of(JEWEL)


def test_a_health_without_a_status_that_is_understood_still_counts() -> None:
    found = judged({"cmd:ceph -s": "cluster of the next century\n", "cmd:ceph health detail": NAUTILUS})
    assert ("warning", "ceph-health", "ceph/POOL_NEARFULL") in {each[:3] for each in found}


@pytest.mark.parametrize(("seconds", "severity"), [("32.768", "warning"), ("65.536", "critical")])
def test_the_longest_wait_in_the_details_decides(seconds: str, severity: str) -> None:
    text = f"HEALTH_WARN 3 requests are blocked > 32 sec\n3 ops are blocked > {seconds} sec on osd.4\n"
    found = judged({"cmd:ceph health detail": text})
    assert (severity, "ceph-health", "ceph/REQUEST_SLOW") in {each[:3] for each in found}


def test_a_muted_check_without_details_is_not_known_to_be_active() -> None:
    text = LUMINOUS.replace(
        "            6 osds down", "            (muted: OSD_FULL(4w) POOL_FULL)\n            6 osds down"
    )
    muted = {check.code: check for check in status_text.status_of(text).status.checks if check.muted}
    assert muted.keys() == {"OSD_FULL", "POOL_FULL"}
    detail = (
        "HEALTH_WARN 6 osds down; (muted: OSD_FULL(4w) POOL_FULL)\n[WRN] OSD_DOWN: 6 osds down\n    osd.1 is down\n"
    )
    detail += "(MUTED) [WRN] POOL_FULL: 1 pool(s) full\n    pool 'a' is full\n"
    files = {"cmd:ceph -s": text, "cmd:ceph health detail": detail}
    rows = {row.code: row for row in CEPH.read(EvidenceHost.of(files)) if isinstance(row, CephCheck)}
    assert rows["POOL_FULL"].message == "1 pool(s) full"
    assert rows["POOL_FULL"].details == "pool 'a' is full"
    assert "OSD_FULL" not in rows  # the mute outlived the check


@pytest.mark.parametrize(
    ("overall", "found", "told"),
    [
        ("HEALTH_WARN", [("PG_DAMAGED", "x")], ["HEALTH_WARN"]),
        ("HEALTH_ERR", [("OSD_DOWN", "1 osds down"), ("OSD_FULL", "1 full osd(s)")], ["HEALTH_WARN", "HEALTH_ERR"]),
        ("HEALTH_ERR", [("OSD_DOWN", "1 osds down"), (UNKNOWN, "odd")], ["HEALTH_WARN", "HEALTH_ERR"]),
        ("HEALTH_ERR", [("MGR_DOWN", "no active mgr")], ["HEALTH_ERR"]),
        ("HEALTH_ERR", [("OSDMAP_FLAGS", "full flag(s) set"), ("OSD_DOWN", "x")], ["HEALTH_ERR", "HEALTH_WARN"]),
    ],
)
def test_severities_follow_the_overall_health(overall: str, found: list[tuple[str, str]], told: list[str]) -> None:
    assert severities(overall, found) == told


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Some pool(s) have the noscrub flag(s) set", "POOL_SCRUB_FLAGS"),
        ("noout,norecover flag(s) set", "OSDMAP_FLAGS"),
        ("1 rack (4 osds) down", "OSD_RACK_DOWN"),
        ("2 hosts (4 osds) down", "OSD_HOST_DOWN"),
        ("mons a,b are very low on available space", "MON_DISK_CRIT"),
        ("Degraded data redundancy (low space): 1 pg backfill_toofull", "PG_DEGRADED_FULL"),
        ("a check of the year 2031", UNKNOWN),
    ],
)
def test_codes_follow_from_messages(message: str, code: str) -> None:
    assert code_of(message) == code


def test_messages_that_are_not_listed_are_not_dropped() -> None:
    text = LUMINOUS.replace("6 osds down\n", "an odd check\n").replace("1 host (6 osds) down", "another odd check")
    files = {"cmd:ceph -s": text}
    rows = [row for row in CEPH.read(EvidenceHost.of(files)) if isinstance(row, CephCheck)]
    assert {"an odd check", "another odd check"} <= {row.message for row in rows}
    assert len({row.code for row in rows}) == len(rows)


NAUTILUS = """\
HEALTH_WARN 1 nearfull osd(s); 2 pool(s) nearfull
OSD_NEARFULL 1 nearfull osd(s)
    osd.3 is near full
POOL_NEARFULL 2 pool(s) nearfull
    pool 'a' is nearfull
    pool 'b' is nearfull
"""


def test_details_of_version_14_have_no_severities() -> None:
    said = health_text.health_of(NAUTILUS)
    assert [(check.code, check.severity, check.details) for check in said.checks] == [
        ("OSD_NEARFULL", "HEALTH_WARN", ("osd.3 is near full",)),
        ("POOL_NEARFULL", "HEALTH_WARN", ("pool 'a' is nearfull", "pool 'b' is nearfull")),
    ]
    assert said.defect == ""


def test_checks_that_are_listed_and_not_shown_are_kept_and_noted() -> None:
    said = health_text.health_of(NAUTILUS.partition("POOL_NEARFULL 2")[0])
    assert [check.code for check in said.checks] == ["OSD_NEARFULL", "POOL_NEARFULL"]
    assert said.defect == "lists 2 checks, ends after 1"


def test_a_health_alone_is_a_cluster() -> None:
    rows = list(CEPH.read(EvidenceHost.of({"cmd:ceph health detail": NAUTILUS})))
    (cluster,) = (row for row in rows if isinstance(row, Cluster))
    assert (cluster.cluster, cluster.state, cluster.healthy, cluster.managers) == ("ceph", "HEALTH_WARN", 0, None)
    assert {row.code for row in rows if isinstance(row, CephCheck)} == {"OSD_NEARFULL", "POOL_NEARFULL"}


TABLE = """\
ID  CLASS  WEIGHT   REWEIGHT  SIZE    RAW USE  DATA     OMAP  META     AVAIL    %USE   VAR   PGS  STATUS  TYPE NAME
-1         2.00000         -   8 GiB  3.1 GiB  2.5 GiB   0 B  592 MiB  4.9 GiB  38.75  1.00    -          root default
-9         2.00000         -   8 GiB  3.1 GiB  2.5 GiB   0 B  592 MiB  4.9 GiB  38.75  1.00    -              rack r1
-2         1.00000         -   4 GiB  1.8 GiB  1.5 GiB   0 B  294 MiB  2.2 GiB  45.86  1.10    -                  host a
 0    hdd  1.00000   1.00000   4 GiB  1.8 GiB  1.5 GiB   0 B  294 MiB  2.2 GiB  45.86  1.10   33      up              osd.0
-7         1.00000         -   4 GiB  1.3 GiB  1.0 GiB   0 B  298 MiB  2.7 GiB  32.79  0.79    -                  host b
 2         1.00000         0   4 GiB  1.3 GiB  1.0 GiB   0 B  298 MiB  2.7 GiB  32.79  0.79    0    down              osd.2
                       TOTAL   8 GiB  3.1 GiB  2.5 GiB   0 B  592 MiB  4.9 GiB  38.75
MIN/MAX VAR: 0.79/1.10  STDDEV: 6.28
"""  # as wide as Ceph prints it


def places(osds: list[Osd]) -> list[tuple[int, str, str, str | None]]:
    return [(osd.number, osd.root, osd.host, osd.rack) for osd in osds]


def test_a_table_of_osds() -> None:
    said = osd_tables.tree_of(TABLE)
    assert (said.placed, said.used, said.defect) == (True, True, "")
    assert places(said.osds) == [(0, "default", "a", "r1"), (2, "default", "b", "r1")]
    one, two = said.osds
    assert (one.media, one.up, one.size, one.utilization) == ("hdd", True, 4 << 30, 0.4586)
    assert (two.media, two.up, two.reweight, two.holds) == (None, False, 0.0, False)


def test_the_tree_is_known_by_its_kinds_where_blanks_were_lost() -> None:
    said = osd_tables.tree_of("\n".join(" ".join(line.split()) for line in TABLE.splitlines()))
    assert places(said.osds) == places(osd_tables.tree_of(TABLE).osds)


def test_a_table_without_its_end_is_not_complete() -> None:
    assert osd_tables.tree_of(TABLE.partition("                       TOTAL")[0]).defect == "end not shown"
    odd = TABLE.replace("                       TOTAL", "something odd\n                       TOTAL")
    assert "something odd" in osd_tables.tree_of(odd).defect
    assert "do not agree" in osd_tables.tree_of(TABLE.replace("TOTAL   8 GiB", "TOTAL  12 GiB")).defect


def test_a_table_that_is_cut_at_the_width_of_a_terminal_is_not_complete() -> None:
    cut = "\n".join(line[:80] for line in TABLE.splitlines())
    assert osd_tables.tree_of(cut).defect == "columns behind AVAIL are cut off"
    assert osd_tables.tree_of(TABLE).defect == ""


@pytest.mark.parametrize("lost", ["osd.2", "host b", "osd.0", "root default", "rack r1"])
def test_osds_are_not_given_to_another_bucket_where_a_line_is_missing(lost: str) -> None:
    fewer = "".join(line for line in TABLE.splitlines(keepends=True) if lost not in line)
    if lost == "rack r1":  # nothing shows that it was there
        assert places(osd_tables.tree_of(fewer).osds) == [(0, "default", "a", None), (2, "default", "b", None)]
        return
    with pytest.raises(Malformed, match=r"do not agree|no root above"):
        osd_tables.tree_of(fewer)


def test_a_tree_without_usage_and_a_table_without_hosts_are_joined() -> None:
    tree = "ID CLASS WEIGHT  TYPE NAME      STATUS REWEIGHT PRI-AFF\n-1       1.00000 root default\n-2       1.00000     host a\n"
    tree += " 0   hdd 1.00000         osd.0     down  1.00000 1.00000\n"
    fill = "ID CLASS WEIGHT  REWEIGHT SIZE   USE    AVAIL  %USE  VAR  PGS\n 0   hdd 1.00000  1.00000 10240M  1024M  9216M 10.00 1.00  33\n"
    fill += "                    TOTAL 10240M  1024M  9216M 10.00\nMIN/MAX VAR: 1.00/1.00  STDDEV: 0\n"
    (osd,) = osd_tables.joined(osd_tables.tree_of(tree), osd_tables.tree_of(fill)).osds
    assert (osd.host, osd.up, osd.size, osd.used) == ("a", False, 10 << 30, 1 << 30)
    assert not osd_tables.tree_of(fill).placed


LINES = st.lists(st.sampled_from((LUMINOUS + NAUTILUS + TABLE).splitlines()) | st.text(max_size=60), max_size=40)


@given(LINES.map("\n".join))
def test_no_text_raises_anything_else(text: str) -> None:
    for parse in (status_text.status_of, health_text.health_of, osd_tables.tree_of):
        try:
            parse(text)
        except Malformed:
            continue
    assert isinstance(status_text.status_fault(text) + osd_tables.tree_fault(text), str)
    assert status_text.without_names(status_text.without_names(text.encode())) == status_text.without_names(
        text.encode()
    )


def test_redaction_keeps_no_word_that_no_reading_has() -> None:
    text = LUMINOUS.replace("rgw: 2 daemons active", "rgw: 2 daemons active (secret1, secret2)").replace(
        "mds-65bb45dffc", "secret3"
    )
    text = text.replace("mon vol1 is low", "mon secret4 is low")
    kept = status_text.without_names(text.encode())
    assert b"secret" not in kept
    assert status_text.status_of(kept.decode()).status.pgs == 182
