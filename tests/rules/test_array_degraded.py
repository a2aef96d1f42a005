"""array-degraded: what is missing, what is still safe, and whether anything is done about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Finding, Gap, RuledOut, Severity
from sdstop.rules.arrays.array_degraded import ARRAY_DEGRADED
from sdstop.rules.arrays.no_spare_left import NO_SPARE_LEFT
from tests.nodes.frames import Judged, check, value
from tests.nodes.md import Disk, Node, run

COLLECTORS = (MDRAID, MDMEMBERS)
RAID10 = {"level": "raid10", "layout": "512K chunks 2 near-copies"}
RAID1 = {"level": "raid1", "layout": ""}
RAID6 = {"level": "raid6", "layout": "level 6, 512k chunk, algorithm 2"}


def judged(node: Node) -> Judged:
    return Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, node.files())])


def degraded(**settings: object) -> Finding:
    return judged(Node(action="idle", **settings)).finding("md0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "severity", "left"),
    [
        ({"slots": "UU_"}, Severity.CRITICAL, 0),
        ({**RAID6, "slots": "UUU_"}, Severity.WARNING, 1),
        ({**RAID6, "slots": "UU__"}, Severity.CRITICAL, 0),
        ({**RAID6, "slots": "U___"}, Severity.CRITICAL, -1),
        ({**RAID1, "slots": "U_"}, Severity.CRITICAL, 0),
        ({**RAID1, "slots": "UU_"}, Severity.WARNING, 1),
        ({**RAID10, "slots": "U_UU"}, Severity.CRITICAL, 0),  # the pair of slot 1 has one leg left
        ({**RAID10, "slots": "U_U_"}, Severity.CRITICAL, 0),
        ({**RAID10, "slots": "UU__"}, Severity.CRITICAL, -1),
        ({"level": "raid10", "layout": "512K chunks 3 near-copies", "slots": "U_UUUU"}, Severity.WARNING, 1),
    ],
)
def test_severity_is_what_may_still_fail(settings: dict[str, str], severity: Severity, left: int) -> None:
    finding = degraded(**settings)
    assert finding.severity is severity
    assert value(finding, "tolerates") == left
    assert value(finding, "degraded") == settings["slots"].count("_")


def test_it_names_the_slot_and_who_holds_the_only_copy() -> None:
    finding = degraded(**RAID10, slots="UUU_UU", flags={"sdd": ""})
    assert "1 of 6 members missing (slot 3)" in finding.summary
    assert finding.impact == "sdc has the only copy of its data; losing sdc loses data."
    assert "sda" not in finding.summary


def test_nothing_is_rebuilding_and_no_spare() -> None:
    finding = degraded(slots="UU_", flags={"sdc": ""})
    assert finding.title == "NO REDUNDANCY: 1 member missing"
    assert finding.cause.endswith("; no rebuild: no spare.")
    assert any(line.startswith("mdadm /dev/md0 --add") for line in finding.steps)


def test_a_spare_that_is_not_used() -> None:
    finding = degraded(slots="UU_", flags={"sdc": ""}, spares=("sdx",))
    assert "no rebuild" in finding.cause
    assert "no spare" not in finding.summary
    assert value(finding, "spares") == 1
    assert any("echo recover > /sys/block/md0/md/sync_action" in line for line in finding.steps)


def test_frozen_is_said() -> None:
    finding = judged(Node(slots="UU_", action="frozen")).finding("md0")
    assert "no rebuild: it is frozen" in finding.cause
    assert any("echo idle > /sys/block/md0/md/sync_action" in line for line in finding.steps)
    assert any(cite.key.endswith("sync_action") and "frozen" in cite.excerpt for cite in finding.evidence)


def test_a_failed_member_that_is_still_listed() -> None:
    finding = degraded(slots="UU_", flags={"sdc": "(F)"})
    assert value(finding, "failed") == 1
    assert any("--remove /dev/sdc" in line for line in finding.steps)
    assert any(cite.key.endswith("dev-sdc/state") for cite in finding.evidence)


def test_a_running_recovery_is_named_and_nothing_is_added() -> None:
    finding = judged(Node(slots="UU_", done=100, total=1000)).finding("md0")
    assert "recovery running, 10.0%" in finding.cause
    assert not any("--add" in line for line in finding.steps)


def test_a_waiting_recovery_is_named() -> None:
    assert "recovery delayed" in judged(Node(slots="UU_", waiting="DELAYED")).finding("md0").summary


def test_a_recovery_that_is_due() -> None:
    assert "recover pending" in judged(Node(slots="UU_")).finding("md0").summary


def test_a_recovery_that_stands_is_not_called_running() -> None:
    shown = run(15, 0.0, slots="UU_")
    assert "recovery stalled at 0.1%" in Judged(COLLECTORS, [ARRAY_DEGRADED], shown).finding("md0").summary


def test_a_read_only_array_rebuilds_nothing() -> None:
    finding = degraded(slots="UU_", state="readonly", spares=("sdx",))
    assert any("--readwrite" in line for line in finding.steps)


@pytest.mark.parametrize("settings", [{"slots": "UUUU"}, {**RAID10, "slots": "UUUU"}, {**RAID1, "slots": "UU"}])
def test_a_whole_array_is_ruled_out(settings: dict[str, str]) -> None:
    said = judged(Node(action="idle", **settings)).ruled_out("md0")  # type: ignore[arg-type]
    assert said.summary == f"all {len(settings['slots'])} members in sync"


def test_a_data_check_scares_nobody() -> None:
    judged(Node(slots="UUUU", action="check", operation="check", done=5)).ruled_out("md0")


@pytest.mark.parametrize("level", ["raid0", "linear"])
def test_levels_without_redundancy_have_none_to_lose(level: str) -> None:
    layout = "512k chunks" if level == "raid0" else "0k rounding"
    node = Node(level=level, layout=layout, slots="--", action="")
    found = judged(node)
    assert [type(said) for said in found.all] == [RuledOut]
    assert f"{level}, clean: no redundancy to lose" in str(found.all)


def test_a_container_is_silent() -> None:
    text = "Personalities : \nmd127 : inactive sda[0](S)\n      5288 blocks super external:imsm\n"
    assert Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, {"/proc/mdstat": text})]).silent()


@pytest.mark.parametrize("sysfs", [True, False])
def test_an_inactive_array_is_out_of_reach(sysfs: bool) -> None:  # noqa: FBT001  # a table
    node = Node(slots="--", layout="", activity="inactive", state="inactive", sysfs=sysfs, flags={"sda": "(S)"})
    finding = judged(node).finding("md0")
    assert finding.severity is Severity.CRITICAL
    assert (finding.title, finding.cause) == (
        "ARRAY INACTIVE: data inaccessible",
        "The array does not run: 2 devices listed.",
    )


def test_a_broken_array() -> None:
    node = Node(level="raid0", layout="512k chunks", slots="--", activity="broken", state="broken")
    finding = judged(node).finding("md0")
    assert finding.severity is Severity.CRITICAL
    assert finding.title == "ARRAY BROKEN: writes fail"


def test_without_sysfs_mdstat_is_enough() -> None:
    finding = judged(Node(slots="UU_", sysfs=False)).finding("md0")
    assert finding.severity is Severity.CRITICAL


def test_no_arrays_no_word() -> None:
    text = "Personalities : \nunused devices: <none>\n"
    assert Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, {"/proc/mdstat": text})]).silent()


def test_no_md_no_word_but_not_recorded_is_said() -> None:
    assert "not recorded" in Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, {})]).unchecked("").reason


# --- members that contradict their array, and arrays that refuse writes ----------------------------------------

SYSFS = "/sys/block/md0/md"


def whole(more: dict[str, str], **settings: object) -> Judged:
    """Judge an array with all its members, and these files beside."""
    node = Node(action="idle", slots="UUUU", **settings)  # type: ignore[arg-type]
    return Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, node.files() | more)])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("faulty", "sdb faulty in sysfs, not in mdstat"),
        ("in_sync,blocked", "sdb blocked: writes wait"),
        ("spare", "sdb not in sync"),
    ],
)
def test_a_member_that_contradicts_a_whole_array_leaves_it_unchecked(flags: str, words: str) -> None:
    said = whole({f"{SYSFS}/dev-sdb/state": f"{flags}\n", f"{SYSFS}/dev-sdb/slot": "1\n"}).unchecked("md0")
    assert words in said.reason
    assert said.gap is Gap.FAULTY


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({f"{SYSFS}/dev-sdb/state": "in_sync,write_error\n"}, "A write failed."),
        ({f"{SYSFS}/dev-sdb/state": "want_replacement,in_sync\n"}, "Its replacement is requested."),
        ({f"{SYSFS}/dev-sdb/bad_blocks": "81920 8\n90000 8\n"}, "2 bad block ranges listed."),
    ],
)
def test_a_member_that_serves_and_is_marked_is_a_warning(more: dict[str, str], words: str) -> None:
    finding = whole({f"{SYSFS}/dev-sdb/state": "in_sync\n", **more}).finding("md0/sdb")
    assert finding.severity is Severity.WARNING
    assert words in finding.summary


def test_an_empty_list_of_bad_blocks_is_good() -> None:
    said = whole({f"{SYSFS}/dev-sdb/state": "in_sync\n", f"{SYSFS}/dev-sdb/bad_blocks": ""})
    assert isinstance(said.of("md0"), RuledOut)


@pytest.mark.parametrize(("state", "fires"), [("readonly", True), ("read-auto", False), ("clean", False)])
def test_an_array_that_refuses_writes(state: str, fires: bool) -> None:  # noqa: FBT001  # a table
    said = whole({}, state=state).of("md0")
    assert isinstance(said, Finding if fires else RuledOut)


def test_states_that_do_not_agree_leave_the_array_unchecked() -> None:
    files = Node(action="idle", slots="UUUU").files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace("md0 : active", "md0 : broken")
    said = Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, files)]).unchecked("md0")
    assert '"broken", and' in said.reason


# --- members whose device is gone -------------------------------------------------------------------------

GONE = (*COLLECTORS, DISKSTATS, BLOCKDEV)


def vanished(
    names: Sequence[str], *, level: str = "raid6", sysfs: bool = True, slots: str = "UUUU", others: Sequence[str] = ()
) -> Judged:
    """Judge an array of four disks, of which some are gone for two seconds; `sysfs`: without it disks are unknown.

    `others` are further disks of the node.
    """
    array = Node(level=level, slots=slots, action="idle", layout="level 6, 512k chunk, algorithm 2").files()
    shown = []
    for second in range(4):
        left = [name for name in ("sda", "sdb", "sdc", "sdd") if second < 2 or name not in names]
        files = dict(array)
        files["/proc/diskstats"] = "".join(Disk(name, second).row(n) for n, name in enumerate([*left, *others]))
        files |= {f"/sys/block/{name}/size": "999\n" for name in (*left, *others) if sysfs}
        shown.append((float(second), files))
    return Judged(GONE, [ARRAY_DEGRADED], shown)


@pytest.mark.parametrize(
    ("names", "level", "severity"),
    [
        (("sdd",), "raid6", Severity.WARNING),
        (("sdc", "sdd"), "raid6", Severity.CRITICAL),
        (("sdd",), "raid5", Severity.CRITICAL),
        (("sdd",), "raid0", Severity.CRITICAL),
    ],
)
def test_a_member_whose_disk_is_gone_counts_before_md_notices(
    names: Sequence[str], level: str, severity: Severity
) -> None:
    finding = vanished(names, level=level).finding("md0")
    assert finding.severity is severity
    assert finding.title.endswith("GONE: md has not noticed")
    assert finding.disks == tuple(names)
    assert "no such device" in finding.cause


def test_all_members_may_be_gone_at_once() -> None:
    """As with their HBA: md lists all of them as working until it writes."""
    every = ("sda", "sdb", "sdc", "sdd")
    assert isinstance(vanished(every).of("md0"), RuledOut)  # no disk at all: recorded in part
    finding = vanished(every, others=("nvme0n1",)).finding("md0")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "4 MEMBERS GONE: md has not noticed")
    assert finding.impact == "Data of the array is inaccessible."


def test_all_members_there_is_good() -> None:
    assert isinstance(vanished(()).of("md0"), RuledOut)


def test_disks_of_which_sysfs_was_not_recorded_are_not_called_gone() -> None:
    assert isinstance(vanished(("sdd",), sysfs=False).of("md0"), RuledOut)


# --- arrays without a journal, and frozen ones -------------------------------------------------------------


JOURNAL = "/sys/block/md0/md/dev-sdz"


def with_journal(mark: str, flags: str | None, policy: str = "journal") -> Judged:
    """Return the verdict on a whole RAID5 with the journal sdz, marked so in mdstat and in sysfs."""
    files = Node(slots="UUUU", action="idle").files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace(" sda[0]", f" sdz[9]{mark} sda[0]")
    files["/sys/block/md0/md/consistency_policy"] = f"{policy}\n"
    files |= {} if flags is None else {f"{JOURNAL}/state": f"{flags}\n", f"{JOURNAL}/slot": "journal\n"}
    return Judged(COLLECTORS, [ARRAY_DEGRADED, NO_SPARE_LEFT], [(0.0, files)])


@pytest.mark.parametrize("flags", ["faulty,journal", None])
def test_a_failed_journal_is_critical_and_no_used_spare(flags: str | None) -> None:
    said = with_journal("(J)(F)", flags)
    finding = said.finding("md0", "array-degraded")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "JOURNAL FAILED")
    assert isinstance(said.of("md0", "no-spare-left"), RuledOut)
    check(finding)


def test_a_journal_that_works_is_good() -> None:
    said = with_journal("(J)", "journal")
    assert said.ruled_out("md0", "array-degraded").summary == "all 4 members in sync"


def test_a_failed_member_beside_a_working_journal_is_no_failed_journal() -> None:
    files = Node(slots="UUUU", action="idle").files()
    files["/proc/mdstat"] = files["/proc/mdstat"].replace(" sda[0]", " sdz[9](J) sdy[8](F) sda[0]")
    said = Judged(COLLECTORS, [ARRAY_DEGRADED, NO_SPARE_LEFT], [(0.0, files)])
    assert said.finding("md0", "no-spare-left").severity is Severity.WARNING


@pytest.mark.parametrize(("seconds", "is_found"), [(7, False), (8, True), (60, True)])
def test_a_whole_array_that_stays_frozen(seconds: int, is_found: bool) -> None:  # noqa: FBT001
    node = Node(slots="UUUU", action="frozen").files()
    shown = [(float(t), node | {"/proc/mdstat": f"{node['/proc/mdstat']}{' ' * t}"}) for t in range(seconds + 1)]
    said = Judged(COLLECTORS, [ARRAY_DEGRADED], shown)
    if is_found:
        assert said.finding("md0").title == "REBUILDS AND CHECKS FROZEN"
        check(said.finding("md0"))
    else:
        assert "frozen for 7.0s: needs 8 s" in said.unchecked("md0").reason


def test_an_array_that_was_frozen_is_good() -> None:
    frozen, idle = (Node(slots="UUUU", action=action).files() for action in ("frozen", "idle"))
    shown = [(float(t), frozen if t < 40 else idle | {"/proc/mdstat": f"{idle['/proc/mdstat']} "}) for t in range(45)]
    assert Judged(COLLECTORS, [ARRAY_DEGRADED], shown).ruled_out("md0").summary == "all 4 members in sync"


def on_partitions(*names: str, level: str = "raid1") -> Judged:
    """Judge an array of partitions."""
    folder = "/sys/block/md0/md"
    members = " ".join(f"{name}[{slot}]" for slot, name in enumerate(names))
    mark = f"[{len(names)}/{len(names)}] [{'U' * len(names)}]" if level != "raid0" else ""
    files = {
        "/proc/mdstat": f"Personalities : [{level}]\nmd0 : active {level} {members}\n      8 blocks {mark}\n\n"
        "unused devices: <none>\n",
        f"{folder}/level": f"{level}\n", f"{folder}/raid_disks": f"{len(names)}\n", f"{folder}/sync_action": "idle\n",
        f"{folder}/array_state": "clean\n", f"{folder}/degraded": "0\n",
    }  # fmt: skip
    for slot, name in enumerate(names):
        files |= {f"{folder}/dev-{name}/slot": f"{slot}\n", f"{folder}/dev-{name}/state": "in_sync\n"}
        files |= {f"/sys/block/{name[:3]}/dev": f"8:{16 * slot}\n", f"/sys/block/{name[:3]}/size": "99\n"}
        files |= {f"/sys/block/{name[:3]}/{name}/partition": name[3:], f"/sys/block/{name[:3]}/{name}/dev": f"8:{slot}"}
    return Judged((MDRAID, MDMEMBERS, BLOCKDEV), [ARRAY_DEGRADED], [(0.0, files)])


def test_two_members_on_one_disk() -> None:
    finding = on_partitions("sda1", "sda2").finding("md0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "MEMBERS SHARE A DISK")
    assert finding.impact == "The failure of sda takes 2 members at once."


def test_members_on_disks_of_their_own_and_arrays_without_redundancy() -> None:
    assert on_partitions("sda1", "sdb1").ruled_out("md0").summary == "all 2 members in sync"
    assert on_partitions("sda1", "sda2", level="raid0").ruled_out("md0").summary


def test_two_members_in_one_slot_contradict_each_other() -> None:
    node = Node(**RAID1, slots="UU", action="idle").files()  # type: ignore[arg-type]
    slots = [key for key in node if key.endswith("/slot")]
    said = Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, node | dict.fromkeys(slots, "0\n"))]).unchecked("md0")
    assert (said.gap, said.reason) == (Gap.FAULTY, "sda and sdb are both in slot 0")


def test_a_disk_that_is_gone_besides_a_missing_member() -> None:
    """Members that md counts as missing are not listed as working: a second one is lost."""
    finding = vanished(("sdc",), slots="UUU_").finding("md0")
    assert (finding.severity, finding.title) == (Severity.CRITICAL, "1 MEMBER GONE: md has not noticed")
    assert vanished((), slots="UUU_").finding("md0").severity is Severity.WARNING


# --- what md holds back, or does not list --------------------------------------------------------------------


def shaped(seconds: int, position: str = "40960", **settings: Any) -> Judged:
    """Return what is said of an array that has been at this reshape_position for some seconds."""
    node = Node(slots="UUUU", action="idle", **settings)
    files = node.files() | {"/sys/block/md0/md/reshape_position": f"{position}\n"}
    return Judged(COLLECTORS, [ARRAY_DEGRADED], [(float(t), files) for t in range(seconds + 1)])


def test_a_reshape_that_nobody_continues() -> None:
    finding = shaped(8).finding("md0")
    assert (finding.severity, finding.title) == (Severity.WARNING, "RESHAPE INTERRUPTED")
    assert value(finding, "position") == 40960 * 512
    assert "mdadm --grow --continue /dev/md0" in finding.steps


def test_a_reshape_that_begins_is_given_some_seconds() -> None:
    said = shaped(7).unchecked("md0")
    assert (said.gap, said.reason) == (Gap.SIGNS, "reshape not running for 7.0s: needs 8 s")
    assert shaped(4).unchecked("md0").gap is Gap.EARLY


def test_a_reshape_waits_for_the_first_write_to_an_array_that_is_read_only_until_then() -> None:
    assert shaped(9, state="read-auto").finding("md0").severity is Severity.INFO


@pytest.mark.parametrize("settings", [{"done": 100}, {"waiting": "DELAYED"}])
def test_a_reshape_that_runs_or_is_due_is_not_interrupted(settings: dict[str, Any]) -> None:
    assert shaped(20, operation="reshape", **settings).ruled_out("md0").summary == "all 4 members in sync"


def test_an_array_without_a_reshape_is_whole() -> None:
    assert shaped(20, "none").ruled_out("md0").summary == "all 4 members in sync"


def test_a_degraded_array_says_that_its_reshape_is_interrupted() -> None:
    files = Node(slots="UU_", action="idle").files() | {"/sys/block/md0/md/reshape_position": "40960\n"}
    finding = Judged(COLLECTORS, [ARRAY_DEGRADED], [(0.0, files)]).finding("md0")
    assert finding.cause.endswith("; no rebuild: reshape interrupted.")


def beside(mdstat: Sequence[bool], size: str = "7813529600") -> Judged:
    """Return what is said if the kernel counts md0 in each second, and lists it in some."""
    node = Node(slots="UUUU", action="idle", disks=[Disk("sda")], own=Disk("md0"))
    files = node.files() | {"/sys/block/md0/size": f"{size}\n", "/sys/block/md0/dev": "9:0\n"}
    empty = files | {"/proc/mdstat": "Personalities : [raid5]\nunused devices: <none>\n"}
    shown = [(float(t), files if listed else empty) for t, listed in enumerate(mdstat)]
    return Judged((*COLLECTORS, BLOCKDEV, DISKSTATS), [ARRAY_DEGRADED], shown)


@pytest.mark.parametrize("mdstat", [[True, False, False], [False, False]])
def test_an_array_that_is_counted_and_not_listed(mdstat: list[bool]) -> None:
    said = beside(mdstat).unchecked("md0")
    assert (said.gap, said.reason) == (Gap.FAULTY, "counted in /proc/diskstats, and not listed in /proc/mdstat")


def test_sources_are_not_read_at_the_same_instant() -> None:
    assert beside([True, True, False]).silent()


def test_a_stopped_array_has_no_size() -> None:
    assert beside([False, False, False], size="0").silent()


@pytest.mark.parametrize(
    ("bitmaps", "lost"), [((True, True), False), ((False, False), False), ((False, True), False), ((True, False), True)]
)
def test_a_bitmap_that_is_removed_while_it_is_watched(bitmaps: Sequence[bool], lost: bool) -> None:  # noqa: FBT001
    files = Node(slots="UUUU", action="idle").files()
    line = "[4/4] [UUUU]\n      bitmap: 0/15 pages [0KB], 65536KB chunk"
    with_one = files | {"/proc/mdstat": files["/proc/mdstat"].replace("[4/4] [UUUU]", line)}
    said = Judged(COLLECTORS, [ARRAY_DEGRADED], [(float(t), with_one if is_there else files)
                                                 for t, is_there in enumerate(bitmaps)])  # fmt: skip
    if lost:
        assert (said.finding("md0").severity, said.finding("md0").title) == (Severity.INFO, "BITMAP REMOVED")
    else:
        assert said.ruled_out("md0").summary == "all 4 members in sync"


@pytest.mark.parametrize(("seconds", "fires"), [(9, False), (10, True)])
def test_an_array_that_waits_for_its_metadata(seconds: int, fires: bool) -> None:  # noqa: FBT001
    files = Node(slots="UUUU", action="idle", state="write-pending").files()
    said = Judged(COLLECTORS, [ARRAY_DEGRADED], [(float(t), files) for t in range(seconds + 1)])
    if fires:
        assert said.finding("md0").title == "WRITES WAIT for the metadata"
    else:
        assert said.ruled_out("md0").summary == "all 4 members in sync"


def test_an_array_that_is_written_passes_through_the_state_now_and_then() -> None:
    states = ["write-pending" if t % 4 else "active" for t in range(40)]
    shown = [(float(t), Node(slots="UUUU", action="idle", state=state).files()) for t, state in enumerate(states)]
    assert Judged(COLLECTORS, [ARRAY_DEGRADED], shown).ruled_out("md0").summary == "all 4 members in sync"


@pytest.mark.parametrize(
    ("flags", "disks", "said"),
    [
        ({"sdc": ""}, "abc", "sdc: taken out, its disk is there"),
        ({"sdc": ""}, "ab", "sdc: its disk is gone"),
        ({"sdc": "(F)"}, "abc", "sdc: failed"),
        ({"sdc": "(F)"}, "ab", "sdc: its disk is gone"),
        ({"sdc": ""}, "", "sdc: taken out"),
    ],
)
def test_a_member_that_was_pulled_and_one_that_was_taken_out_are_told_apart(
    flags: dict[str, str], disks: str, said: str
) -> None:
    def shown(node: Node, letters: str) -> dict[str, str]:
        names = [f"sd{letter}" for letter in letters]
        counters = "".join(f"   8  {16 * at} {name} 1 0 8 1 1 0 8 1 0 1 1\n" for at, name in enumerate(names))
        blocks = {f"/sys/block/{name}/dev": f"8:{16 * at}\n" for at, name in enumerate(names)}
        return node.files() | (
            {"/proc/diskstats": counters, "list:/sys/block": "\n".join(names), **blocks} if names else {}
        )

    whole, hurt = Node(slots="UUU", action="idle"), Node(slots="UU_", action="idle", flags=flags)
    frames = [(0.0, shown(whole, "abc" if disks else "")), *((float(at), shown(hurt, disks)) for at in (1, 2, 3))]
    finding = Judged((*COLLECTORS, BLOCKDEV, DISKSTATS), [ARRAY_DEGRADED], frames).finding("md0")
    assert value(finding, "lost") == said


def test_a_member_that_was_lost_before_is_not_dated() -> None:
    assert value(degraded(slots="UU_"), "lost") is None
