"""What a disk did between two readings: iostat's formulas, wraps, resets, and what cannot be told."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.model import Metric, metric_name, schema
from sdstop.readings.disk import (
    SLACK,
    WRAP,
    Disk,
    DiskActivity,
    activity,
    device_name,
    sysfs_name,
)

BEFORE = Disk(
    "sda", 8, 0,
    reads=1000, reads_merged=10, read_sectors=80_000, read_time=5000,
    writes=2000, writes_merged=20, write_sectors=160_000, write_time=9000,
    in_flight=0, io_time=7000, weighted_time=14_000,
    discards=10, discards_merged=1, discard_sectors=800, discard_time=40, flushes=5, flush_time=9,
)  # fmt: skip
TIMES = ("read_time", "write_time", "io_time", "weighted_time", "discard_time", "flush_time")
COUNTS = (
    "reads", "reads_merged", "read_sectors", "writes", "writes_merged", "write_sectors",
    "discards", "discards_merged", "discard_sectors", "flushes",
)  # fmt: skip


def put(disk: Disk, fields: dict[str, Any]) -> Disk:
    return replace(disk, **fields)


def moved(before: Disk = BEFORE, /, **steps: int) -> Disk:
    """Return the reading after these steps."""
    return put(before, {name: getattr(before, name) + step for name, step in steps.items()})


def shown(before: Disk, after: Disk, seconds: float = 2.0) -> DiskActivity:
    found = activity(before, after, seconds)
    assert found is not None
    return found


def test_every_column_of_iostat() -> None:
    after = moved(
        reads=300, reads_merged=100, read_sectors=24_000, read_time=1500,
        writes=500, writes_merged=0, write_sectors=8000, write_time=2000,
        in_flight=7, io_time=1900, weighted_time=3700,
        discards=4, discards_merged=12, discard_sectors=64, discard_time=2, flushes=8, flush_time=20,
    )  # fmt: skip
    assert shown(BEFORE, after) == DiskActivity(
        "sda",
        reads_per_second=150.0, read_bytes_per_second=6_144_000.0, reads_merged_per_second=50.0,
        reads_merged_ratio=0.25, read_wait=0.005, read_size=40_960.0,
        writes_per_second=250.0, write_bytes_per_second=2_048_000.0, writes_merged_per_second=0.0,
        writes_merged_ratio=0.0, write_wait=0.004, write_size=8192.0,
        discards_per_second=2.0, discard_bytes_per_second=16_384.0, discards_merged_per_second=6.0,
        discards_merged_ratio=0.75, discard_wait=0.0005, discard_size=8192.0,
        flushes_per_second=4.0, flush_wait=0.0025,
        queue=1.85, busy=0.95, completed_per_second=402.0,
        wait=3502 / 804 / 1000, size=32_064 * 512 / 804, in_flight=7,
    )  # fmt: skip


def test_nothing_completed_has_no_wait_and_no_size() -> None:
    row = shown(BEFORE, moved(io_time=2000, in_flight=3))
    assert (row.read_wait, row.write_wait, row.discard_wait, row.flush_wait, row.wait) == (None,) * 5
    assert (row.read_size, row.write_size, row.discard_size, row.size) == (None,) * 4
    assert (row.reads_merged_ratio, row.writes_merged_ratio, row.discards_merged_ratio) == (None,) * 3
    assert (row.reads_per_second, row.completed_per_second, row.queue, row.busy) == (0.0, 0.0, 0.0, 1.0)
    assert row.in_flight == 3


def test_merges_alone_are_all_merged() -> None:
    assert shown(BEFORE, moved(reads_merged=5)).reads_merged_ratio == 1.0


def test_busy_is_not_clamped() -> None:
    assert shown(BEFORE, moved(io_time=2004)).busy == 1.002


@pytest.mark.parametrize("name", ["discards", "flushes"])
@pytest.mark.parametrize("which", ["before", "after", "both"])
def test_what_the_kernel_does_not_count_is_none(name: str, which: str) -> None:
    fields = [field for field in Disk.__struct_fields__ if field.startswith(name[:5])]
    old = put(BEFORE, dict.fromkeys(fields, None))
    after = moved(reads=2, read_time=10)
    row = shown(
        old if which != "after" else BEFORE,
        after if which == "before" else put(after, dict.fromkeys(fields, None)),
    )
    unknown = [field for field in DiskActivity.__struct_fields__ if field.startswith(name[:5])]
    assert unknown
    assert {getattr(row, field) for field in unknown} == {None}
    assert row.wait == 0.005


def test_a_device_without_times_has_none() -> None:
    """Md before kernel 5.12 counts requests, not their times; iostat shows it idle and infinitely fast."""
    md = Disk("md0", 9, 0, 100, 0, 800, 0, 50, 0, 400, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    for after in (moved(md, reads=50, read_sectors=400, flushes=1), md):
        row = shown(md, after)
        assert (row.read_wait, row.wait, row.queue, row.busy, row.flush_wait) == (None,) * 5
    assert shown(md, moved(md, reads=50)).reads_per_second == 25.0


def test_a_device_that_never_did_anything_is_idle() -> None:
    fresh = Disk("loop0", 7, 0, *[0] * 17)
    row = shown(fresh, fresh)
    assert (row.queue, row.busy, row.completed_per_second, row.wait) == (0.0, 0.0, 0.0, None)


# --- steps back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "elapsed"),
    [
        (1, 1, 0),
        (1, 5001, 5000),
        (WRAP - 1, 0, 1),
        (WRAP - 1000, 1000, 2000),
        (WRAP - 1, WRAP - 1, 0),
        (5000, 4999, 0),
        (5000, 5000 - SLACK + 1, 0),
        (5000, 5000 - SLACK, None),
        (5000, 0, None),
        (WRAP // 2, 0, None),
        (WRAP // 2 + 1, 0, WRAP // 2 - 1),
    ],
)
def test_times_wrap_at_32_bits_or_were_reset(before: int, after: int, elapsed: int | None) -> None:
    base = put(BEFORE, dict.fromkeys(TIMES, before))
    later = moved(base, reads=10, writes=10, discards=10, flushes=10)
    row = shown(base, put(later, dict.fromkeys(TIMES, after)))
    wait = None if elapsed is None else elapsed / 10 / 1000
    assert (row.read_wait, row.write_wait, row.discard_wait, row.flush_wait) == (wait,) * 4
    assert row.queue == row.busy == (None if elapsed is None else elapsed / 1000 / 2.0)
    assert row.wait == (None if elapsed is None else elapsed * 3 / 30 / 1000)
    assert row.reads_per_second == 5.0


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_was_reset_takes_only_its_own_figures_along(name: str) -> None:
    after = moved(reads=10, writes=10, discards=10, flushes=10, **{n: 30 for n in TIMES if n != name})
    row = shown(put(BEFORE, {name: 900_000}), after)
    fields = {"io_time": ["busy"], "weighted_time": ["queue"], "flush_time": ["flush_wait"]}
    gone = fields.get(name, [name.replace("time", "wait"), "wait"])
    waits = ["read_wait", "write_wait", "discard_wait", "flush_wait", "wait", "busy", "queue"]
    assert [field for field in waits if getattr(row, field) is None] == sorted(gone, key=waits.index)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(("back", "told"), [(1, True), (SLACK - 1, True), (SLACK, False), (1000, False)])
def test_a_count_that_went_back_is_a_reset_unless_by_little(name: str, back: int, told: bool) -> None:  # noqa: FBT001
    base = put(BEFORE, {name: 5000})
    after = moved(base, **{other: 100 for other in COUNTS if other != name}, **{name: -back})
    row = activity(base, after, 1.0)
    assert (row is not None) is told
    assert row == (activity(base, put(after, {name: 5000}), 1.0) if told else None)


def test_another_device_of_that_name_is_not_compared() -> None:
    assert activity(BEFORE, replace(moved(reads=1), minor=16), 1.0) is None
    assert activity(BEFORE, replace(moved(reads=1), major=65), 1.0) is None


def test_no_time_no_rates() -> None:
    assert activity(BEFORE, moved(reads=1), 0.0) is None
    assert activity(BEFORE, BEFORE, -1.0) is None


# --- for all devices --------------------------------------------------------------------------------------

counts = st.integers(0, 2**64 - 1)
times = st.integers(0, WRAP - 1)


def disks(steps: st.SearchStrategy[int] = counts, elapsed: st.SearchStrategy[int] = times) -> st.SearchStrategy[Disk]:
    discards = st.tuples(steps, steps, steps, elapsed) | st.just((None,) * 4)
    flushes = st.tuples(steps, elapsed) | st.just((None,) * 2)
    both = st.tuples(steps, steps, steps, elapsed)
    rest = st.tuples(st.none() | st.integers(0, 2**31), elapsed, elapsed)
    numbers: st.SearchStrategy[list[Any]] = st.tuples(both, both, rest, discards, flushes).map(
        lambda parts: [number for part in parts for number in part]
    )
    return numbers.map(lambda found: Disk("sda", 8, 0, *found))


@given(disks(), disks(), st.floats(allow_nan=False, allow_infinity=False))
def test_no_pair_of_readings_breaks_it(before: Disk, after: Disk, seconds: float) -> None:
    row = activity(before, after, seconds)
    if row is not None:
        figures = [getattr(row, field) for field in row.__struct_fields__][1:-1]
        assert all(figure is None or figure >= 0 for figure in figures)


@given(disks())
def test_the_same_row_twice_is_as_good_as_two_equal_ones(disk: Disk) -> None:
    assert activity(disk, disk, 3.0) == activity(disk, replace(disk), 3.0)


@given(
    disks(st.integers(0, 10**12)),
    st.fixed_dictionaries(
        {**dict.fromkeys(COUNTS, st.integers(1, 10**6)), **dict.fromkeys(TIMES, st.integers(0, 10**7))}
    ),
    st.floats(0.01, 1e5),
)
def test_the_truth_comes_back_whatever_the_counters_stood_at(
    start: Disk, steps: dict[str, int], seconds: float
) -> None:
    """Take steps from any start with 32 bit times that wrap: the steps are what is shown."""
    steps = {name: step for name, step in steps.items() if getattr(start, name) is not None}
    end = moved(start, **steps)
    end = put(end, {name: getattr(end, name) % WRAP for name in TIMES if name in steps})
    row = shown(start, end, seconds)

    def close(found: float | None, expected: float) -> bool:
        return found is not None and math.isclose(found, expected, rel_tol=1e-12)

    names = {"reads": "read", "writes": "write", "discards": "discard"}
    for kind in [kind for kind in names if kind in steps]:
        one, count = names[kind], steps[kind]
        size = steps[f"{one}_sectors"] * 512
        assert close(getattr(row, f"{kind}_per_second"), count / seconds)
        assert close(getattr(row, f"{one}_bytes_per_second"), size / seconds)
        assert close(getattr(row, f"{one}_size"), size / count)
        if any(steps[name] for name in TIMES[:4]) or any(getattr(start, name) for name in TIMES[:4]):
            assert close(getattr(row, f"{one}_wait"), steps[f"{one}_time"] / count / 1000)
            assert close(row.queue, steps["weighted_time"] / 1000 / seconds)
            assert close(row.busy, steps["io_time"] / 1000 / seconds)


# --- the classes ------------------------------------------------------------------------------------------


def test_rows_are_compared_by_value_and_never_changed() -> None:
    values: tuple[Any, ...] = ("sda", 8, 0, *range(17))
    one, other = Disk(*values), Disk(*values)
    assert (one, hash(one), repr(one)) == (other, hash(other), repr(other))
    with pytest.raises(AttributeError, match="immutable"):
        one.reads = 5  # type: ignore[misc]
    row = shown(BEFORE, moved(reads=1))
    assert row == replace(row) != replace(row, busy=0.5)
    with pytest.raises(AttributeError, match="immutable"):
        row.busy = 0.0  # type: ignore[misc]
    assert DiskActivity(*(getattr(row, field) for field in DiskActivity.__struct_fields__)) == row


def test_metrics_are_named_as_everybody_expects() -> None:
    declared = schema(Disk)
    numbers = [c for c in declared.columns if isinstance(c.mark, Metric) and c.exported]
    assert [metric_name("disk", column).removeprefix("sdstop_disk_") for column in numbers] == [
        "reads_total", "reads_merged_total", "read_bytes_total", "read_time_seconds_total",
        "writes_total", "writes_merged_total", "written_bytes_total", "write_time_seconds_total",
        "io_now", "io_time_seconds_total", "io_time_weighted_seconds_total",
        "discards_total", "discards_merged_total", "discarded_bytes_total", "discard_time_seconds_total",
        "flushes_total", "flush_time_seconds_total",
    ]  # fmt: skip
    assert declared.row(BEFORE)["read_sectors"] == 80_000 * 512
    assert declared.row(BEFORE)["read_time"] == 5.0
    assert not DiskActivity.exported


def test_sources_mark_the_line_of_the_device_alone() -> None:
    source = BEFORE.source("reads")
    assert source is not None
    assert source.needle in "   8       0 sda 1 2 3"
    assert source.needle not in "   8       1 sda1 1 2 3"
    assert shown(BEFORE, BEFORE).source() == source


@pytest.mark.parametrize(
    ("entry", "device"), [("sda", "sda"), ("cciss!c0d0", "cciss/c0d0"), ("etherd!e0.1", "etherd/e0.1")]
)
def test_names_of_devices_and_of_their_folders(entry: str, device: str) -> None:
    assert (device_name(entry), sysfs_name(device)) == (device, entry)
