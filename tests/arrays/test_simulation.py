"""The simulator itself: it must obey the kernel's bookkeeping and md's geometry, or it proves nothing."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrays import (
    SATA_7200,
    ArraySpec,
    Bursts,
    Clones,
    Direction,
    Level,
    Random,
    Rebuild,
    Ticks,
    member_name,
    simulate,
    write_capture,
)  # fmt: skip
from tests.arrays.geometry import Geometry
from tests.arrays.measure import rows
from tests.arrays.scenarios import chance
from tests.arrays.spec import KIB, MIB

SMALL = {"member_size": 64 * MIB, "chunk": 512 * KIB}
LOADED = ArraySpec(disks=8, random=Random(rate=200.0), clones=Clones(count=4))


def last(spec: ArraySpec, seed: int = 1, seconds: int = 3) -> dict[str, list[int]]:
    return rows(list(simulate(spec, seed, seconds))[-1].diskstats)


def test_the_same_seed_gives_the_same_frames_and_another_gives_others() -> None:
    one, again, other = (list(simulate(LOADED, seed, 2)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_there_is_a_frame_at_the_start_and_after_each_interval() -> None:
    times = [frame.monotonic for frame in simulate(LOADED, 1, 2, interval=0.5)]
    assert [later - times[0] for later in times] == pytest.approx([0, 0.5, 1.0, 1.5, 2.0])


def test_rows_are_those_of_a_kernel_of_today() -> None:
    text = next(iter(simulate(replace(LOADED, disks=30), 1, 1))).diskstats
    lines = [line.split() for line in text.splitlines()]
    assert all(len(line) == 20 for line in lines)
    assert [line[2] for line in lines] == [*map(member_name, range(30)), "md0"]
    assert [line[:2] for line in lines[13:17]] == [["8", "224"], ["8", "240"], ["65", "0"], ["65", "16"]]
    assert lines[-1][:2] == ["9", "0"]


@pytest.mark.parametrize("ticks", list(Ticks))
def test_counters_never_go_back_and_busy_time_stays_within_the_interval(ticks: Ticks) -> None:
    looks = [rows(frame.diskstats) for frame in simulate(replace(LOADED, ticks=ticks), 1, 4)]
    for before, now in pairwise(looks):
        for name, old in before.items():
            steps = [b - a for a, b in zip(old, now[name], strict=True)]
            assert all(step >= 0 for place, step in enumerate(steps) if place != 8)
            assert steps[9] <= 1004


def test_weighted_time_is_the_time_of_what_was_answered() -> None:
    for row in last(LOADED).values():
        assert row[10] == row[3] + row[7]


def test_kernels_that_sample_lose_busy_time_of_a_disk_that_never_rests() -> None:
    busy = {}
    for ticks in Ticks:
        spec = ArraySpec(level=Level.RAID0, disks=2, random=Random(outstanding=40), ticks=ticks)
        first, *_, end = (rows(frame.diskstats)["sdb"][9] for frame in simulate(spec, 1, 5))
        busy[ticks] = (end - first) / 5000
    assert busy[Ticks.WHOLE] == pytest.approx(1.0, abs=0.01)
    assert 0.8 < busy[Ticks.SAMPLED] < 0.97


def test_both_legs_of_a_mirror_get_the_same_writes_and_share_the_reads() -> None:
    disks = last(replace(LOADED, bursts=Bursts(period=1.0, count=50)))
    for leg in range(0, 8, 2):
        one, other = disks[member_name(leg)], disks[member_name(leg + 1)]
        assert one[6] == pytest.approx(other[6], rel=0.02)
        assert min(one[0], other[0]) > 0


def test_a_write_to_parity_reads_first_and_writes_data_and_parity() -> None:
    spec = ArraySpec(level=Level.RAID6, disks=6, random=Random(rate=20.0, writes=1.0), clones=None)
    disks = last(spec, seconds=5)
    done = disks.pop("md0")[4]
    assert sum(row[4] for row in disks.values()) == pytest.approx(3 * done, abs=12)
    assert sum(row[0] for row in disks.values()) == pytest.approx(3 * done, abs=12)


def test_random_reads_are_answered_with_the_service_time_of_the_disk() -> None:
    spec = ArraySpec(level=Level.RAID0, disks=4, random=Random(rate=20.0, writes=0.0))
    row = last(spec, seconds=30)["sdc"]
    low, high = SATA_7200.seek
    assert row[3] / row[0] / 1000 == pytest.approx((low + high) / 2 + SATA_7200.turn / 2, rel=0.15)


def test_a_stream_alone_does_not_seek_and_runs_at_the_rate_of_the_disk() -> None:
    spec = ArraySpec(disks=8, clones=Clones(count=1, size=64 * KIB, direction=Direction.WRITE))
    first, *_, end = (rows(frame.diskstats)["md0"][6] * 512 for frame in simulate(spec, 1, 3))
    assert (end - first) / 3 == pytest.approx(SATA_7200.rate, rel=0.2)


def test_waiting_requests_that_touch_are_merged() -> None:
    spec = ArraySpec(level=Level.RAID0, disks=4, bursts=Bursts(period=1.0, count=512, run=64))
    disks = last(spec)
    assert sum(row[5] for name, row in disks.items() if name != "md0") > 1000


def test_a_slow_disk_takes_its_factor_longer_and_a_missing_one_does_nothing() -> None:
    spec = ArraySpec(level=Level.RAID5, disks=5, random=Random(rate=20.0), slow=((1, 5.0),), missing=frozenset({3}))
    disks = last(spec, seconds=20)
    assert disks["sdc"][3] / disks["sdc"][0] > 3 * disks["sdb"][3] / disks["sdb"][0]
    assert disks["sde"][0] == disks["sde"][4] == 0


def test_the_truth_is_where_the_clones_stand() -> None:
    together = ArraySpec(level=Level.RAID0, disks=2, chunk=64 * MIB, clones=Clones(same_phase=True))
    truths = [frame.truth for frame in simulate(together, 1, 3)]
    assert [truth.crowd for truth in truths[1:]] == pytest.approx([10.0] * 3)
    assert [truth.occupied for truth in truths[1:]] == pytest.approx([1.0] * 3)
    assert [truth.places for truth in truths[1:]] == [pytest.approx((1.0, 0.0))] * 3
    mirrored = replace(together, level=Level.RAID10, disks=4)
    assert [frame.truth.occupied for frame in simulate(mirrored, 1, 3)][1:] == pytest.approx([2.0] * 3)


def test_reads_that_change_between_the_legs_of_a_mirror_stay_on_its_column() -> None:
    clones = Clones(count=10, same_phase=True, direction=Direction.READ)
    spec = ArraySpec(level=Level.RAID10, disks=4, chunk=64 * MIB, clones=clones)
    truths = [frame.truth for frame in simulate(spec, 1, 3)][1:]
    assert [truth.places for truth in truths] == [pytest.approx((1.0, 0.0))] * 3
    assert all(1.9 < truth.occupied <= 2.0 for truth in truths)


def test_clones_that_crowd_on_rotational_disks_do_so_more_than_by_chance() -> None:
    spec = ArraySpec(disks=46, random=Random(rate=300.0), clones=Clones(count=10))
    fullest, occupied = chance(spec)
    truths = [frame.truth for frame in simulate(spec, 1, 5)][1:]
    assert sum(truth.crowd for truth in truths) / 5 > 1.5 * fullest
    assert sum(truth.occupied for truth in truths) / 5 < occupied / 1.3


# --- geometry --------------------------------------------------------------------------------------------


@given(
    level=st.sampled_from(list(Level)),
    disks=st.integers(2, 8).map(lambda half: 2 * half),
    number=st.integers(0, 511),
)
def test_no_two_chunks_share_a_place_and_a_row_holds_each_disk_once(level: Level, disks: int, number: int) -> None:
    geometry = Geometry(ArraySpec(level=level, disks=disks, member_size=64 * MIB))
    row = number // geometry.data * geometry.data
    places = [geometry.place(chunk) for chunk in range(row, row + geometry.data)]
    assert {place.start for place in places} == {number // geometry.data * 512 * KIB}
    used = Counter(member for place in places for member in place.copies)
    parity = Counter(member for place in places for member in place.parity)
    assert set(used.values()) == {1}
    assert len(used) + len(parity) == disks
    assert set(parity.values()) <= {geometry.data}


def test_parity_goes_round_left_symmetrically() -> None:
    """Checked against `mdadm --detail`'s layout 2: D0 D1 D2 P / D4 D5 P D3 / ..."""
    geometry = Geometry(ArraySpec(level=Level.RAID5, disks=4, member_size=64 * MIB))
    assert [geometry.place(chunk).copies[0] for chunk in range(6)] == [0, 1, 2, 3, 0, 1]
    assert [geometry.place(3 * row).parity[0] for row in range(5)] == [3, 2, 1, 0, 3]


def test_larger_members_of_raid0_carry_the_tail() -> None:
    spec = ArraySpec(level=Level.RAID0, disks=3, member_size=64 * MIB, sizes=(1.0, 2.0, 1.0))
    geometry = Geometry(spec)
    assert geometry.size == 4 * 64 * MIB
    last_chunk = geometry.size // spec.chunk - 1
    assert geometry.place(last_chunk).copies == (1,)
    assert geometry.place(last_chunk).start == 2 * 64 * MIB - spec.chunk
    assert [geometry.capacity_share(member) for member in range(3)] == [0.75, 1.5, 0.75]


@pytest.mark.parametrize(
    "spec",
    [
        {"disks": 3},
        {"level": Level.RAID6, "disks": 3},
        {"chunk": 1000},
        {"sizes": (1.0,)},
        {"level": Level.RAID0, "missing": frozenset({1})},
    ],
)
def test_arrays_that_cannot_be_are_refused(spec: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        ArraySpec(**spec)  # type: ignore[arg-type]


# --- the text around it --------------------------------------------------------------------------------------


def test_mdstat_shows_a_rebuild_as_md_prints_it() -> None:
    spec = ArraySpec(disks=4, rebuild=Rebuild(member=2, limit=20e6), chunk=512 * KIB)
    frames = list(simulate(spec, 1, 3))
    lines = frames[-1].mdstat.splitlines()
    assert lines[1] == "md0 : active raid10 sde[3] sdd[2] sdc[1] sdb[0]"
    assert lines[2].endswith("blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]")
    assert lines[3].startswith("      [==>..................]  recovery = 10.")
    assert frames[-1].files["/sys/block/md0/md/sync_action"] == "recover\n"
    assert frames[-1].files["/sys/block/md0/md/dev-sdd/state"] == "spare\n"
    assert frames[-1].files["/sys/block/md0/md/degraded"] == "1\n"
    done = [int(frame.files["/sys/block/md0/md/sync_completed"].split()[0]) * 512 for frame in frames]
    assert (done[-1] - done[0]) / 3 == pytest.approx(20e6, rel=0.1)


def test_raid0_has_no_files_about_redundancy() -> None:
    files = next(iter(simulate(ArraySpec(level=Level.RAID0, disks=2), 1, 1))).files
    assert "/sys/block/md0/md/degraded" not in files
    assert files["/sys/block/md0/md/level"] == "raid0\n"
    assert files["/sys/block/sdb/queue/rotational"] == "1\n"


def test_a_capture_holds_each_change_once(tmp_path: Path) -> None:
    folder = tmp_path / "story"
    write_capture(folder, LOADED, seed=1, seconds=2)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["schema"] == "sdstop.capture/1"
    assert [frame["monotonic"] for frame in manifest["frames"]] == [1004.0, 1005.0, 1006.0]
    links = json.loads((folder / "frames/0001/links.json").read_text())
    assert links["/sys/block/md0/slaves/sdb"] == "../../sdb"
    assert (folder / "frames/0001/sys/block/md0/md/chunk_size").read_text() == "524288\n"
    assert [path.name for path in sorted((folder / "frames/0002").rglob("*")) if path.is_file()] == ["diskstats"]
    frames = list(simulate(LOADED, 1, 2))
    assert (folder / "frames/0003/proc/diskstats").read_text() == frames[2].diskstats


def test_a_capture_is_not_written_over_another(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        write_capture(tmp_path, LOADED, seed=1, seconds=1)
