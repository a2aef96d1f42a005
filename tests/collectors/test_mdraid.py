"""md arrays, members and rebuilds, from mdstat and sysfs as kernels print them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.mdstat import fault, parse
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.model import Reading, schema
from sdstop.core.replay import Replay
from sdstop.readings.rebuild import MDSTAT, Rebuild
from tests.fixtures import opened
from tests.nodes.resting import RestingHost

MD = "/sys/block/md0/md"
R = TypeVar("R", bound=Reading)


def mdstat(body: str) -> str:
    return f"Personalities : [raid1] [raid10] [raid6] [raid5] [raid4] \n{body}\nunused devices: <none>\n"


RAID5 = (
    "md0 : active raid5 sdc1[3] sdb1[1] sda1[0]\n"
    "      3906764800 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]\n"
)
RECOVERY = (
    "md0 : active raid5 sdd1[4] sdc1[3](F) sdb1[1] sda1[0] sde1[5](S)\n"
    "      3906764800 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/2] [UU_]\n"
    "      [==>..................]  recovery = 12.6% (246122496/1953382400) finish=142.3min speed=199912K/sec\n"
    "      bitmap: 0/15 pages [0KB], 65536KB chunk\n"
)
SYSFS = {
    "level": "raid5", "raid_disks": "3", "chunk_size": "524288", "array_state": "clean", "degraded": "1",
    "sync_action": "recover", "last_sync_action": "check", "mismatch_cnt": "128", "metadata_version": "1.2",
    "consistency_policy": "bitmap", "sync_speed_min": "1000 (system)", "sync_speed_max": "50000 (local)",
    "sync_completed": "492244864 / 3906764800", "sync_max": "max", "stripe_cache_size": "256",
    "stripe_cache_active": "17", "suspend_lo": "0", "suspend_hi": "0", "reshape_position": "none",
}  # fmt: skip
DEVICES = {
    "sda1": ("in_sync", "0", "none"), "sdb1": ("in_sync,write_mostly", "1", "none"), "sdc1": ("faulty", "none", "0"),
    "sdd1": ("spare", "2", "492244864"), "sde1": ("spare", "none", "0"),
}  # fmt: skip


def node(
    text: str, attributes: Mapping[str, str] = SYSFS, devices: Mapping[str, tuple[str, str, str]] = DEVICES
) -> EvidenceHost:
    files = {"/proc/mdstat": mdstat(text)}
    files |= {f"{MD}/{name}": f"{said}\n" for name, said in attributes.items()}
    for name, (state, slot, start) in devices.items():
        own = {
            "state": state, "slot": slot, "recovery_start": start, "errors": "3", "size": "1953382400",
            "offset": "262144", "bad_blocks": "",
        }  # fmt: skip
        files |= {f"{MD}/dev-{name}/{attribute}": f"{said}\n" for attribute, said in own.items()}
    return EvidenceHost.of(files)


def arrays(host: EvidenceHost) -> dict[str, Array]:
    return {row.array: row for row in MDRAID.read(host) if isinstance(row, Array)}


def rebuild(host: EvidenceHost) -> Rebuild:
    (row,) = (row for row in MDRAID.read(host) if isinstance(row, Rebuild))
    return row


def members(host: EvidenceHost) -> dict[str, Member]:
    return {row.device: row for row in MDMEMBERS.read(host) if isinstance(row, Member)}


def test_an_array_with_all_of_sysfs() -> None:
    assert arrays(node(RECOVERY)) == {
        "md0": Array(
            array="md0", state="clean", level="raid5", layout="left-symmetric", metadata="1.2",
            size=3906764800 * 1024, chunk=524288, near_copies=None, far_copies=None, raid_disks=3,
            old_raid_disks=None, working=2, degraded=1, tolerates=0, spares=1, failed=1, slots="UU_",
            action="recover", last_action="check", mismatch=128, policy="bitmap", bitmap="internal",
            bitmap_chunk=64 << 20, stripe_cache=256, stripe_cache_active=17, suspended_from=0, suspended_to=0,
        )
    }  # fmt: skip


def test_a_rebuild_with_all_of_sysfs() -> None:
    row = rebuild(node(RECOVERY))
    assert row == Rebuild(
        array="md0", operation="recovery", state="running", done=246122496 * 1024, total=1953382400 * 1024,
        speed=199912 * 1024, remaining=142 * 60 + 18, speed_min=1000 * 1024, speed_max=50000 * 1024,
        speed_min_set="system", speed_max_set="local", completed=492244864 * 512, stop=None,
    )  # fmt: skip
    assert row.progress == pytest.approx(0.126, abs=1e-4)


def test_members_with_all_of_sysfs() -> None:
    found = members(node(RECOVERY))
    assert {name: (row.slot, row.state) for name, row in found.items()} == {
        "sda1": (0, "in_sync"), "sdb1": (1, "in_sync"), "sdc1": (None, "faulty"), "sdd1": (2, "rebuilding"),
        "sde1": (None, "spare"),
    }  # fmt: skip
    assert found["sdd1"] == Member(
        array="md0", device="sdd1", slot=2, state="rebuilding", flags="spare", errors=3, bad_blocks=0,
        size=1953382400 * 1024, offset=262144 * 512, recovery_start=492244864 * 512,
    )  # fmt: skip
    assert found["sda1"].recovery_start is None


def test_mdstat_alone() -> None:
    array = arrays(node(RECOVERY, {}, {}))["md0"]
    assert (array.state, array.level, array.degraded, array.tolerates) == ("active", "raid5", 1, 0)
    assert (array.action, array.mismatch, array.policy, array.stripe_cache) == ("recover", None, None, None)
    assert array.chunk == 512 * 1024
    row = rebuild(node(RECOVERY, {}, {}))
    assert (row.speed_min, row.speed_max, row.completed, row.stop) == (None, None, None, None)
    found = members(node(RECOVERY, {}, {}))
    assert {name: (row.slot, row.state) for name, row in found.items()} == {
        "sda1": (None, "unknown"), "sdb1": (None, "unknown"), "sdc1": (None, "faulty"), "sdd1": (None, "unknown"),
        "sde1": (None, "spare"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (RAID5, {"sda1": None, "sdb1": None, "sdc1": None}),  # number 3 in an array of 3: no number is a slot
        (RAID5.replace("[3] ", "[2] "), {"sda1": 0, "sdb1": 1, "sdc1": 2}),
        (RAID5.replace("[3] ", "[2] ").replace("UUU", "UU_"), {"sda1": None, "sdb1": None, "sdc1": None}),
    ],
)
def test_slots_without_sysfs_only_where_they_are_certain(text: str, slots: dict[str, int | None]) -> None:
    assert {name: row.slot for name, row in members(node(text, {}, {})).items()} == slots


def test_the_node_sets_the_speed_where_the_array_does_not_say() -> None:
    host = node(RECOVERY, {})
    host.apply(
        EvidenceHost.of(
            {"/proc/sys/dev/raid/speed_limit_min": "1000\n", "/proc/sys/dev/raid/speed_limit_max": "200000\n"}
        ).state.values()
    )
    row = rebuild(host)
    assert (row.speed_min, row.speed_min_set) == (1000 * 1024, "system")
    assert (row.speed_max, row.speed_max_set) == (200000 * 1024, "system")


@pytest.mark.parametrize(
    ("action", "said", "operation", "state"),
    [
        ("resync", "resync", "resync", "running"),
        ("repair", "resync", "repair", "running"),  # mdstat does not tell them apart
        ("check", "check", "check", "running"),
        ("reshape", "reshape", "reshape", "running"),
        ("recover", "recovery", "recovery", "running"),
        ("frozen", "recovery", "recovery", "frozen"),
        ("idle", "recovery", "recovery", "running"),  # it began, or ended, between the two reads
    ],
)
def test_operations(action: str, said: str, operation: str, state: str) -> None:
    row = rebuild(node(RECOVERY.replace("recovery", said), {**SYSFS, "sync_action": action}))
    assert (row.operation, row.state) == (operation, state)


@pytest.mark.parametrize(
    ("action", "said", "operation", "state"),
    [
        ("recover", "resync=DELAYED", "recovery", "delayed"),
        ("resync", "resync=DELAYED", "resync", "delayed"),
        ("check", "resync=DELAYED", "check", "delayed"),
        ("reshape", "resync=DELAYED", "reshape", "delayed"),
        ("idle", "resync=PENDING", "resync", "pending"),
        ("idle", "recover=REMOTE", "recovery", "remote"),
        ("idle", "reshape=REMOTE", "reshape", "remote"),
    ],
)
def test_what_waits_has_no_progress(action: str, said: str, operation: str, state: str) -> None:
    attributes = {**SYSFS, "sync_action": action, "sync_completed": "delayed"}
    row = rebuild(node(f"{RAID5}      \t{said}\n", attributes))
    assert (row.operation, row.state) == (operation, state)
    assert (row.done, row.total, row.progress, row.completed) == (None, None, None, None)


def test_a_frozen_array_without_a_line_rebuilds_nothing() -> None:
    host = node(
        RAID5.replace("[3/3] [UUU]", "[3/2] [UU_]"), {**SYSFS, "sync_action": "frozen", "sync_completed": "none"}
    )
    assert arrays(host)["md0"].action == "frozen"
    assert not [row for row in MDRAID.read(host) if isinstance(row, Rebuild)]


def test_it_was_told_to_stop() -> None:
    assert rebuild(node(RECOVERY, {**SYSFS, "sync_max": "163840"})).stop == 163840 * 512


def test_a_reshape_has_the_old_number_of_disks() -> None:
    array = arrays(node(RAID5, {**SYSFS, "raid_disks": "4 (3)", "chunk_size": "65536 (524288)"}))["md0"]
    assert (array.raid_disks, array.old_raid_disks, array.chunk) == (4, 3, 65536)


@pytest.mark.parametrize(
    ("text", "level", "found"),
    [
        ("md0 : inactive sda[0](S)\n      1 blocks super 1.2\n", "", None),
        ("md0 : inactive sda[0](S)\n      1 blocks super 1.2\n", "5", "raid5"),
        ("md0 : inactive sda[0](S)\n      1 blocks super 1.2\n", "raid6", "raid6"),
        ("md0 : inactive sda[0](S)\n      1 blocks super external:imsm\n", None, "container"),
        ("md0 : inactive sda[0](S)\n      1 blocks super external:imsm\n", "container", "container"),
        ("md0 : inactive sda[0](S)\n      1 blocks super external:/md127/0\n", None, None),
        ("md0 : active linear sda[0]\n      1 blocks super 1.2 0k rounding\n", "linear", "linear"),
    ],
)
def test_levels(text: str, level: str | None, found: str | None) -> None:
    array = arrays(node(text, {} if level is None else {"level": level}, {}))["md0"]
    assert array.level == found
    assert array.redundant is (found in {"raid5", "raid6"})


def test_an_inactive_array_says_neither_size_nor_spares() -> None:
    array = arrays(node("md0 : inactive sdb[1](S) sda[0](S)\n      7814 blocks super 1.2\n", {}, {}))["md0"]
    assert (array.state, array.size, array.spares, array.tolerates, array.degraded) == (
        "inactive",
        None,
        None,
        None,
        None,
    )


def test_levels_without_redundancy_have_none_to_lose() -> None:
    array = arrays(node("md0 : active raid0 sdb[1] sda[0]\n      7814 blocks super 1.2 512k chunks\n", {}, {}))["md0"]
    assert (array.degraded, array.tolerates, array.action, array.mismatch) == (None, None, None, None)
    assert not array.redundant


@pytest.mark.parametrize(
    ("words", "layout", "near", "far"),
    [
        ("512K chunks 2 near-copies", "near=2", 2, 1),
        ("512K chunks 2 far-copies", "far=2", 1, 2),
        ("512K chunks 2 offset-copies", "offset=2", 1, 2),
        ("512K chunks 2 near-copies 2 far-copies", "near=2 far=2", 2, 2),
    ],
)
def test_layouts_of_raid10(words: str, layout: str, near: int, far: int) -> None:
    text = f"md0 : active raid10 sdd[3] sdc[2] sdb[1] sda[0]\n      7814 blocks super 1.2 {words} [4/4] [UUUU]\n"
    array = arrays(node(text, {}, {}))["md0"]
    assert (array.layout, array.near_copies, array.far_copies) == (layout, near, far)
    assert array.tolerates == near * far - 1


@pytest.mark.parametrize(
    ("number", "name"), [(0, "left-asymmetric"), (5, "parity-last"), (18, "left-symmetric-6"), (77, "algorithm 77")]
)
def test_layouts_of_parity(number: int, name: str) -> None:
    assert arrays(node(RAID5.replace("algorithm 2", f"algorithm {number}"), {}, {}))["md0"].layout == name


@pytest.mark.parametrize(
    ("flags", "letters", "slot", "state"),
    [
        ("in_sync,failfast", "", "0", "in_sync"),
        ("spare", "", "0", "rebuilding"),
        ("spare", "(S)", "none", "spare"),
        ("faulty,blocked", "(F)", "none", "faulty"),
        ("faulty", "", "none", "faulty"),
        ("in_sync", "(F)", "0", "faulty"),  # it failed between the two reads
        ("in_sync,journal", "(J)", "journal", "journal"),
        ("replacement,spare", "(R)", "0", "replacement"),
        ("in_sync,want_replacement", "", "0", "in_sync"),
        ("", "", "0", "unknown"),
    ],
)
def test_states_of_members(flags: str, letters: str, slot: str, state: str) -> None:
    text = f"md0 : active raid1 sda1[7]{letters}\n      7814 blocks super 1.2 [2/1] [U_]\n"
    row = members(node(text, {}, {"sda1": (flags, slot, "none")}))["sda1"]
    assert row.state == state
    assert row.slot == (int(slot) if slot.isdigit() else None)


def test_a_bad_block_list_is_counted() -> None:
    host = node(RECOVERY)
    host.apply(EvidenceHost.of({f"{MD}/dev-sda1/bad_blocks": "8 16\n4096 8\n"}).state.values())
    assert members(host)["sda1"].bad_blocks == 2


def test_a_controllers_names_are_folders_with_an_exclamation_mark() -> None:
    host = EvidenceHost.of(
        {
            "/proc/mdstat": mdstat("md0 : active raid1 cciss/c0d0p1[0]\n      7814 blocks super 1.2 [2/1] [U_]\n"),
            f"{MD}/dev-cciss!c0d0p1/slot": "0\n",
            f"{MD}/dev-cciss!c0d0p1/state": "in_sync\n",
        }
    )
    row = members(host)["cciss/c0d0p1"]
    assert (row.slot, row.state) == (0, "in_sync")
    source = row.source("state")
    assert source is not None
    assert host.evidence(source.key) is not None


def test_no_md_is_absent_and_nonsense_is_malformed() -> None:
    for collector in (MDRAID, MDMEMBERS):
        with pytest.raises(Absent):
            list(collector.read(EvidenceHost()))
        with pytest.raises(Malformed):
            list(collector.read(EvidenceHost.of({"/proc/mdstat": "nonsense"})))


def fingerprint(text: str) -> Hashable:
    assert MDMEMBERS.fingerprint is not None
    return MDMEMBERS.fingerprint(EvidenceHost.of({"/proc/mdstat": mdstat(text)}))


@pytest.mark.parametrize(
    "change", [("sdc1[3](F)", "sdc1[3]"), ("sde1[5](S)", ""), ("[UU_]", "[UUU]"), ("active", "active (read-only)")]
)
def test_members_are_read_again_when_one_changes(change: tuple[str, str]) -> None:
    assert fingerprint(RECOVERY) != fingerprint(RECOVERY.replace(*change))


@pytest.mark.parametrize(
    "change", [("246122496", "246122500"), ("199912K", "1K"), ("0/15 pages [0KB]", "9/15 pages [36KB]")]
)
def test_members_are_not_read_again_for_progress(change: tuple[str, str]) -> None:
    assert fingerprint(RECOVERY) == fingerprint(RECOVERY.replace(*change))


@pytest.mark.parametrize("family", [Array, Member, Rebuild])
def test_every_field_says_where_it_stands(family: type[Reading]) -> None:
    host = node(RECOVERY)
    rows = [row for collector in (MDRAID, MDMEMBERS) for row in collector.read(host) if isinstance(row, family)]
    assert rows
    for row in rows:
        for column in schema(family).columns:
            source = row.source(column.name)
            assert source is not None
            known = host.evidence(source.key)
            assert known is not None, source
            assert source.needle.encode() in known.data


@given(
    st.dictionaries(st.sampled_from(sorted(SYSFS)), st.text(max_size=30)), st.text(max_size=20), st.text(max_size=20)
)
def test_nothing_in_sysfs_breaks_it(attributes: dict[str, str], state: str, slot: str) -> None:
    host = node(RECOVERY, attributes, {"sda1": (state, slot, slot)})
    assert list(MDRAID.read(host))
    assert members(host)["sda1"].array == "md0"


RECORDING = "vm-md-rebuild"


def test_a_recorded_kernel() -> None:
    """Linux 6.1: a member fails, another is added, its recovery is frozen and then stopped on the way."""
    _, frames = opened(RECORDING)
    replay = Replay((MDRAID, MDMEMBERS))
    shots = [replay.feed(frame) for frame in frames]
    rows = [shot.rows(Array)["md0"] for shot in shots]
    assert {row.level for row in rows} == {"raid10"}
    assert {row.tolerates for row in rows} == {0, 1}
    assert {row.action for row in rows} == {"idle", "recover", "frozen"}
    assert all((row.degraded == 0) == (row.slots == "UUUU") for row in rows)
    frozen = [shot for shot, row in zip(shots, rows, strict=True) if row.action == "frozen"]
    assert len([shot for shot in frozen if not shot.rows(Rebuild)]) >= 10
    stopped = [r for shot in shots for r in shot.rows(Rebuild).values() if r.stop is not None and r.done == r.stop]
    assert len(stopped) >= 14
    assert {r.completed for r in stopped} == {r.done for r in stopped}
    states = {shot.rows(Member)[("md0", "vdf")].state for shot in shots if ("md0", "vdf") in shot.rows(Member)}
    assert states == {"rebuilding", "in_sync"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, []),
        ({"raid_disks": "3\n"}, ['"[2/", and /sys/block/md0/md/raid_disks is 3']),
        ({"raid_disks": "3 (2)\n"}, []),  # a reshape
        ({"level": "raid6\n"}, ['"raid1", and /sys/block/md0/md/level is raid6']),
        ({"level": "1\n", "raid_disks": "2\n"}, []),
    ],
)
def test_a_shape_in_sysfs_that_is_not_that_of_mdstat_is_a_contradiction(files: dict[str, str], said: list[str]) -> None:
    text = "md0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n\nunused devices: <none>\n"
    host = EvidenceHost.of({MDSTAT: text} | {f"/sys/block/md0/md/{name}": value for name, value in files.items()})
    list(MDRAID.read(host))
    assert [defect.reason for defect in host.defects] == said


def test_an_array_of_which_more_members_work_than_are_listed_is_not_whole() -> None:
    assert fault(mdstat(RAID5)) == ""
    assert fault(mdstat(RECOVERY)) == ""
    assert fault(mdstat(RAID5.replace(" sda1[0]", ""))) == "md0: fewer members listed than work"
    assert fault(mdstat(RECOVERY.replace(" sdb1[1]", "", 1))) == ""  # 3 listed beside the failed and the spare: 2 work
    assert fault(mdstat(RECOVERY.replace(" sdb1[1] sda1[0]", ""))) == "md0: fewer members listed than work"


_EACH_SECOND = {"stripe_cache_size", "stripe_cache_active"}
_STATE = {"array_state", "sync_action", "suspend_hi", "reshape_position"}
_SELDOM = {"level", "raid_disks", "chunk_size", "metadata_version", "consistency_policy", "last_sync_action",
           "mismatch_cnt", "degraded"}  # fmt: skip
_BITMAP = "      bitmap: {}/15 pages [0KB], 65536KB chunk\n"


def read_of(host: RestingHost, text: str, **files: str) -> set[str]:
    """Return the attributes of the array that a second with this mdstat reads."""
    host.apply(node(text, {**SYSFS, "sync_action": "idle", "degraded": "0", **files}).state.values())
    host.touched = set()
    list(MDRAID.read(host))
    return {key.rpartition("/")[2] for key in host.touched if key.startswith(MD)}


def test_what_changes_together_with_mdstat_is_read_when_it_does() -> None:
    host = RestingHost()
    assert read_of(host, RAID5) == _EACH_SECOND | _STATE | _SELDOM
    assert read_of(host, RAID5) == _EACH_SECOND
    seconds = sorted(host.rested.values())
    assert 3.0 <= seconds[0] <= 5.0
    assert 22.5 <= seconds[1] <= 37.5
    for other in (
        ("[3/3] [UUU]", "[3/2] [UU_]"),
        ("sdc1[3]", "sdc1[3](F)"),
        ("512k", "64k"),
        ("active", "active (read-only)"),
    ):
        changed = RAID5.replace(*other)
        assert [read_of(host, changed) - _EACH_SECOND for _ in range(2)] == [_SELDOM | _STATE, set()]
    for pages in (1, 7):  # pages in use change with every write
        changed = RAID5.replace("active", "active (read-only)")
        assert read_of(host, changed + _BITMAP.format(pages)) == _EACH_SECOND
    host.rested.clear()
    assert read_of(host, RAID5) == _EACH_SECOND | _STATE | _SELDOM


def test_a_member_that_fails_returns_and_fails_again_within_seconds_is_read_each_time() -> None:
    """Each time mdstat has lines that it had before, and other values were read since."""
    host = RestingHost()
    degraded = RAID5.replace("[3/3] [UUU]", "[3/2] [UU_]").replace("sdc1[3]", "sdc1[3](F)")
    for _ in range(3):
        for text, missing in ((RAID5, 0), (degraded, 1)):
            assert read_of(host, text, degraded=str(missing)) >= _SELDOM | _STATE
            (array,) = (row for row in MDRAID.read(host) if isinstance(row, Array))
            assert array.degraded == missing
            assert not host.defects


def test_a_state_that_is_not_calm_ends_the_rest_of_a_calm_one() -> None:
    host = RestingHost()
    read_of(host, RAID5)
    host.rested.pop("state of md0")
    assert read_of(host, RAID5, sync_action="frozen") >= _STATE
    assert read_of(host, RAID5) >= _STATE
    assert read_of(host, RAID5) & _STATE == set()


def test_what_a_synchronization_leaves_behind_is_read_even_if_it_took_longer_than_the_rest() -> None:
    host = RestingHost()
    read_of(host, RAID5)
    read_of(host, RAID5 + RECOVERY.splitlines(keepends=True)[2].replace("recovery", "check"))
    del host.rested["md0 synchronizes"]
    assert read_of(host, RAID5) >= _SELDOM
    assert read_of(host, RAID5) & _SELDOM == set()


@pytest.mark.parametrize(
    "files",
    [
        {"sync_action": "frozen"},
        {"array_state": "write-pending"},
        {"array_state": "suspended"},
        {"suspend_hi": "4096", "suspend_lo": "0"},
        {"reshape_position": "81920"},
    ],
)
def test_an_array_in_which_something_is_wrong_is_asked_for_its_state_each_second(files: dict[str, str]) -> None:
    host = RestingHost()
    for _ in range(2):
        assert read_of(host, RAID5, **files) >= _STATE


def test_arrays_are_not_all_asked_in_the_same_second() -> None:
    text = "".join(f"md{n} : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n\n" for n in range(200))
    states = {f"/sys/block/md{n}/md/array_state": "clean\n" for n in range(200)}
    host = RestingHost()
    host.apply(EvidenceHost.of({MDSTAT: mdstat(text), **states}).state.values())
    list(MDRAID.read(host))
    rests = [seconds for what, seconds in host.rested.items() if what.startswith("state of")]
    assert len(rests) == 200
    assert all(20 < sum(start <= each < start + 0.5 for each in rests) < 80 for start in (3.0, 3.5, 4.0, 4.5))


def test_what_a_synchronization_leaves_behind_is_read_at_its_end() -> None:
    host = RestingHost()
    read_of(host, RAID5)
    running = RAID5 + RECOVERY.splitlines(keepends=True)[2].replace("recovery", "check")
    for _ in range(2):
        assert read_of(host, running) >= _SELDOM
    assert read_of(host, RAID5) >= _SELDOM  # a check that took less than the 30 s, too
    del host.rested["md0 synchronizes"]
    assert read_of(host, RAID5) & _SELDOM == set()


def test_an_array_that_does_not_run_is_read_each_second() -> None:
    host = RestingHost()
    for _ in range(2):
        assert {"level", "raid_disks"} <= read_of(host, "md0 : inactive sda1[0](S) sdb1[1](S)\n")


def test_mails_without_indentation_and_kernels_that_count_failed_members() -> None:
    mail = mdstat(RECOVERY.replace("      ", ""))
    assert fault(mail) == ""
    (array,) = parse(mail)
    assert (array.working, array.slots, array.progress is not None) == (2, "UU_", True)
    for head, working in (("hdb1[1](F) hda1[0]", 1), ("hdb1[1] hda1[0]", 2)):  # the second contradicts itself
        (array,) = parse(mdstat(f"md3 : active raid1 {head}\n      104320 blocks [2/2] [U_]\n"))
        assert (array.raid_disks, array.working) == (2, working)
