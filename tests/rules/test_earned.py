"""OK is earned: what contradicts itself, is unknown, or was cut is never called good; what vanished stays bad."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest

from sdstop.capture.reader import open_pasted
from sdstop.collectors import BUILTIN
from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.drbd.resources import DRBD
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.readings import TABLE, Dimm
from sdstop.collectors.pacemaker.cluster import PACEMAKER
from sdstop.collectors.zfs.pools import ZFS
from sdstop.core.collector import texts_of
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, Gap, Severity, Unchecked, Verdict
from sdstop.core.headline import OK, UNKNOWN
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.rules.arrays.array_degraded import ARRAY_DEGRADED
from sdstop.rules.ceph.ceph_health import CEPH_HEALTH
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.zfs.zfs_pool_degraded import ZFS_POOL_DEGRADED
from tests.nodes.ceph import HERE, NAME, STATUS, status
from tests.nodes.firmware import Board, Module, board
from tests.nodes.frames import Judged, value
from tests.nodes.md import Node
from tests.nodes.zfs import MIRROR, tree
from tests.nodes.zfs import status as zpool

NO_ARRAY = {"/proc/mdstat": "Personalities : [raid6] \nunused devices: <none>\n"}


def pasted(text: str) -> Session:
    origin, frames = open_pasted(io.BytesIO(text.encode()), texts_of(BUILTIN))[0]
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return session


def of(session: Session, rule: str) -> list[Verdict]:
    said = session.head().judgement
    every: list[Verdict] = [*said.findings, *said.ruled_out, *said.unchecked]
    return [verdict for verdict in every if verdict.rule == rule]


# --- md -------------------------------------------------------------------------------------------------------


def arrays(*shown: Mapping[str, str]) -> Judged:
    return Judged((MDRAID, MDMEMBERS), [ARRAY_DEGRADED], [(float(n), files) for n, files in enumerate(shown)])


def raid6(slots: str) -> dict[str, str]:
    return Node(level="raid6", layout="level 6, 512k chunk, algorithm 2", slots=slots, action="idle").files()


def test_an_array_that_is_gone_after_its_third_loss_stays_critical() -> None:
    """A RAID6 without two members loses the third, and udev stops it before anybody looks again."""
    finding = arrays(raid6("UUU__"), NO_ARRAY, NO_ARRAY).finding("md0")
    assert finding.severity is Severity.CRITICAL
    assert finding.cause == "md0 was critical, and is gone."
    assert finding.impact == "Last finding: NO REDUNDANCY: 2 members missing."
    assert str(value(finding, "before")).startswith("2 of 5 members missing")


def test_an_array_that_was_well_may_be_stopped() -> None:
    assert arrays(raid6("UUUUU"), NO_ARRAY, NO_ARRAY).silent()


def test_an_array_that_is_back_is_what_it_is() -> None:
    arrays(raid6("UUU__"), NO_ARRAY, raid6("UUUUU")).ruled_out("md0")
    assert arrays(raid6("UUU__"), raid6("UUUUU"), NO_ARRAY).silent()


def test_counts_that_contradict_the_slots_are_cited() -> None:
    files = Node(level="raid1", layout="", slots="UU", action="idle", sysfs=False).files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace("[UU]", "[U_]")
    verdict = arrays(files).unchecked("md0")
    assert verdict.reason == '/proc/mdstat: "[2/2]" contradicts "[U_]"'
    assert verdict.gap is Gap.FAULTY


def test_mdstat_and_sysfs_that_contradict_each_other_are_cited() -> None:
    files = Node(level="raid1", layout="", slots="UU", action="idle").files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace("[UU]", "[U_]")
    assert arrays(files).unchecked("md0").reason.endswith('"[U_]", and /sys/block/md0/md/degraded is 0')


@pytest.mark.parametrize("state", ["suspended", "clear", "frobnicated"])
def test_an_unknown_state_of_an_array_is_not_good(state: str) -> None:
    verdict = arrays(Node(slots="UUU", state=state, action="idle").files()).unchecked("md0")
    assert (verdict.reason, verdict.gap) == (f'unknown state "{state}"', Gap.FAULTY)


def test_an_array_line_that_is_not_understood_is_not_skipped_silently() -> None:
    files = Node(slots="UUU", action="idle").files()
    files["/proc/mdstat"] += "md1 : half-active raid1 sdx[0]\n"
    assert "line not understood: 'md1 : half-active" in arrays(files).unchecked("md0").reason


# --- ZFS ------------------------------------------------------------------------------------------------------


def test_zpool_status_with_blanks_for_tabs_has_its_tree() -> None:
    sick = zpool(
        tree((1, "mirror-0", "ONLINE"), (2, "/dev/sda1", "ONLINE"), (2, "/dev/sdb1", "ONLINE"),
             errors={"/dev/sdb1": (0, 0, 442)})
    )  # fmt: skip
    for text in (sick, sick.expandtabs(8)):
        found = [v for v in of(pasted(f"# zpool status -s\n{text}# \n"), "zfs-pool-degraded") if isinstance(v, Finding)]
        assert [(v.subject, v.severity) for v in found] == [("tank/sdb1", Severity.WARNING)]
        assert "442 checksum" in found[0].summary


def test_a_pool_without_a_tree_is_not_judged() -> None:
    text = "  pool: tank\n state: ONLINE\nconfig:\n\nerrors: No known data errors\n"
    session = pasted(f"# zpool status\n{text}# \n")
    (verdict,) = of(session, "zfs-pool-degraded")
    assert isinstance(verdict, Unchecked)
    assert "no device tree" in verdict.reason
    assert session.headline().code == UNKNOWN


@pytest.mark.parametrize("after", ["root@san1:~# uptime\n", "and that is all\n", "  and that is all\n"])
def test_what_follows_the_last_line_is_no_error(after: str) -> None:
    said = of(pasted(f"# zpool status -s\n{MIRROR}{after}"), "zfs-pool-degraded")
    assert [type(v).__name__ for v in said] == ["RuledOut"]


def test_a_status_that_was_cut_is_not_good() -> None:
    session = pasted(f"# zpool status -s\n{MIRROR.partition('errors:')[0]}")
    (verdict,) = of(session, "zfs-pool-degraded")
    assert isinstance(verdict, Unchecked)
    assert "end not shown" in verdict.reason
    assert session.headline().code == UNKNOWN


def pool(*states: str, state: str = "DEGRADED") -> Judged:
    rows = [(1, "raidz2-0", state), *((2, f"/dev/sd{chr(97 + n)}1", word) for n, word in enumerate(states))]
    text = zpool(tree(*rows), state=state)
    return Judged((ZFS,), [ZFS_POOL_DEGRADED], [(0.0, {"slug:zpool_status_-s": text})])


def test_leaves_with_too_many_errors_still_serve() -> None:
    finding = pool("DEGRADED", "DEGRADED", "DEGRADED", "ONLINE", "ONLINE").finding("tank")
    assert finding.severity is Severity.WARNING
    assert value(finding, "devices") == "sda1 (DEGRADED), sdb1 (DEGRADED), sdc1 (DEGRADED)"
    assert finding.impact == "2 more can fail in raidz2-0 without data loss."
    assert pool("UNAVAIL", "FAULTED", "DEGRADED", "ONLINE", "ONLINE").finding("tank").severity is Severity.CRITICAL


def test_an_unknown_state_of_a_leaf_is_not_good() -> None:
    verdict = pool("ONLINE", "HALFLINE", "ONLINE", state="ONLINE").unchecked("tank")
    assert verdict.reason == "unknown state: HALFLINE of sdb1"


# --- clusters -------------------------------------------------------------------------------------------------


def ceph(**settings: object) -> Judged:
    return Judged((CEPH,), [CEPH_HEALTH], [(0.0, {**HERE, STATUS: status(**settings)})])  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["SLOW_OPS", "DEVICE_HEALTH", "MDS_SLOW_METADATA_IO", "A_CODE_OF_NEXT_YEAR"])
def test_a_health_check_that_is_not_listed_as_harmless_is_quoted(code: str) -> None:
    finding = ceph(health="HEALTH_WARN", checks={code: "see there"}).finding(f"{NAME}/{code}")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "See there."


def test_an_error_and_paused_clients_are_critical() -> None:
    assert ceph(health="HEALTH_ERR").finding(NAME).severity is Severity.CRITICAL
    paused = ceph(health="HEALTH_WARN", checks={"OSDMAP_FLAGS": "pauserd,pausewr flag(s) set"})
    assert paused.finding(f"{NAME}/OSDMAP_FLAGS").severity is Severity.CRITICAL


@pytest.mark.parametrize(
    "checks",
    [
        {"PG_NOT_DEEP_SCRUBBED": "3 pgs not deep-scrubbed in time"},
        {"OSDMAP_FLAGS": "noscrub,nodeep-scrub flag(s) set"},
    ],
)
def test_harmless_checks_are_information(checks: dict[str, str]) -> None:
    judged = ceph(health="HEALTH_WARN", checks=checks)
    judged.ruled_out(NAME)
    (code,) = checks
    assert judged.finding(f"{NAME}/{code}").severity is Severity.INFO


def test_a_warning_without_a_check_and_an_unknown_word_are_unchecked() -> None:
    assert "unknown state" in ceph(health="HEALTH_WARN").unchecked(NAME).reason
    assert "unknown state" in ceph(health="HEALTH_FINE").unchecked(NAME).reason


def test_placement_groups_that_do_not_add_up_are_unchecked() -> None:
    verdict = ceph(num_pgs=300).unchecked(NAME)
    assert "pgs_by_state has 257 placement groups, num_pgs is 300" in verdict.reason


def test_words_of_drbd_that_are_not_known_are_found() -> None:
    text = (
        '[{"name":"r0","role":"Primary","suspended":false,"devices":[{"volume":0,"minor":0,"disk-state":"UpToDate",'
        '"size":9,"quorum":true}],"connections":[{"name":"b","connection-state":"Connected","peer-role":"Secondary",'
        '"peer_devices":[{"volume":0,"replication-state":"Established","peer-disk-state":"UpToDate","out-of-sync":0}]'
        "}]}]"
    )

    def judged(text: str) -> Judged:
        return Judged((DRBD,), [CLUSTER_DEGRADED], [(0.0, {"slug:drbdsetup_status_--json": text})])

    judged(text).ruled_out("r0")
    assert "replication is Behind" in judged(text.replace("Established", "Behind")).finding("r0").summary
    assert "I/O is suspended" in judged(text.replace('"suspended":false', '"suspended":true')).finding("r0").summary


def test_a_word_of_pacemaker_that_is_neither_true_nor_false_is_unread() -> None:
    text = (
        '<pacemaker-result><summary><current_dc present="true" name="a" with_quorum="true"/></summary><nodes><node '
        'name="a" online="true" unclean="perhaps" type="member"/></nodes><resources/></pacemaker-result>'
    )
    session = Session(Origin("n"), (PACEMAKER,), (CLUSTER_DEGRADED,))
    session.feed(Frame(1, 1e9, 0.0, (Evidence("slug:crm_mon_-X", data=text.encode()),)))
    run = session.head().now.runs["pacemaker"]
    assert run.outcome is Outcome.UNREAD
    assert "unclean is neither true nor false: 'perhaps'" in run.reason
    assert session.headline().code == UNKNOWN


# --- memory ---------------------------------------------------------------------------------------------------


def modules(made: Board) -> Session:
    session = Session(Origin("n"), (DIMMS,), RULES)
    session.feed(Frame(1, 1e9, 0.0, (Evidence(TABLE, data=made.table()),)))
    return session


def test_modules_at_an_absent_processor_are_a_contradiction() -> None:
    cpu = board().cpus[0]
    session = modules(board((1, 1), cpus=(cpu, None)))
    said = [v for v in session.head().judgement.unchecked if "memory" in v.subjects]
    assert '"CPU2" is not populated, and a module is in its slot "P2-DIMMA1"' in {
        v.reason.partition(": ")[2] for v in said
    }
    assert session.head().judgement.findings == ()
    assert session.headline().code == UNKNOWN


def test_modules_whose_array_is_not_in_the_table_are_rows() -> None:
    made = Board([Module(f"RAM slot #{n}", 1024, array=9) for n in range(128)])
    assert len(modules(made).head().now.rows(Dimm)) == 128


def test_a_board_with_unequal_slots_that_are_all_filled_is_info() -> None:
    names = [f"P1-DIMM{letter}{n}" for letter in "ABCD" for n in (1, 2)] + [f"P2-DIMM{letter}1" for letter in "ABCD"]
    found = {f.rule: f for f in modules(Board([Module(name, 16384) for name in names])).head().judgement.findings}
    assert found["dimm-unequal-sockets"].severity is Severity.INFO
    assert "all are filled" in found["dimm-unequal-sockets"].impact
    names.append("P2-DIMMA2")
    lacking = [Module(name, 16384) for name in names[:-1]] + [Module("P2-DIMMA2", 0)]
    found = {f.rule: f for f in modules(Board(lacking)).head().judgement.findings}
    assert found["dimm-unequal-sockets"].severity is Severity.WARNING


# --- pasted text ----------------------------------------------------------------------------------------------


def test_pasted_text_that_nothing_follows_may_have_been_cut() -> None:
    stats = "/proc/diskstats\n"
    line = "   8       0 sda 5 0 40 1 0 0 0 0 0 1 1\n"
    whole, cut = (pasted(f"$ cat {stats}{line}{end}") for end in ("$ uptime\n", ""))
    assert not whole.head().now.runs["diskstats"].defects
    assert [defect.text for defect in cut.head().now.runs["diskstats"].defects] == ["/proc/diskstats: end not shown"]
    assert cut.headline().code == UNKNOWN
    assert cut.headline().code != OK
