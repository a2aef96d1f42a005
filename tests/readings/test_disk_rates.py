"""Rates as columns: to the last bit what `activity` says of each device, whatever happened to its counters."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.core.columns import Columns, value_of, values_of
from sdstop.core.model import Reading
from sdstop.readings.disk import WRAP, Disk, DiskActivity, activity
from sdstop.readings.disk_rates import DiskRates

FIELDS = DiskActivity.__struct_fields__
COUNTERS = Disk.__struct_fields__[3:]
DISCARDS = COUNTERS.index("discards")

NUMBER = st.one_of(st.just(0), st.integers(0, 60), st.integers(0, 1 << 66), st.integers(WRAP - 60, WRAP - 1))
STEP = st.one_of(st.just(0), st.integers(-20, 20), st.integers(0, 100_000), st.just(-WRAP + 40))


@st.composite
def device(draw: st.DrawFn, name: str, *, kernel: int) -> tuple[Disk, Disk]:
    """A device in two samples; most counters move forward, some do anything."""
    old: list[Any] = draw(st.lists(NUMBER, min_size=17, max_size=17))
    steps = draw(st.one_of(st.lists(STEP, min_size=17, max_size=17), st.lists(st.integers(0, 9), min_size=17,
                                                                              max_size=17)))  # fmt: skip
    if draw(st.booleans()):
        old = [0 if name.endswith("time") else value for name, value in zip(COUNTERS, old, strict=True)]
    new: list[Any] = [max(0, value + step) for value, step in zip(old, steps, strict=True)]
    for row in (old, new):
        known = draw(st.sampled_from((kernel,) * 9 + (11, 15, 17)))
        row[known:] = [None] * (17 - known)
        if draw(st.integers(0, 9)) == 0:
            row[COUNTERS.index("in_flight")] = None
    return Disk(name, 8, 0, *old), Disk(name, 8, draw(st.sampled_from((0,) * 9 + (1,))), *new)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[Disk], list[Disk]]:
    kernel = draw(st.sampled_from((11, 15, 17)))
    pairs = [draw(device(name, kernel=kernel)) for name in draw(st.lists(st.sampled_from("abcdef"), unique=True))]
    before = [old for old, _ in pairs if draw(st.integers(0, 9))]
    after = [new for _, new in pairs if draw(st.integers(0, 9))]
    if draw(st.booleans()):
        after.reverse()
    return before, after


def table(rows: Sequence[Disk], like: Columns | None = None) -> Columns:
    return Columns.of(Disk, {row.device: row for row in rows}, like)


def told(before: Sequence[Disk], after: Sequence[Disk], seconds: float) -> dict[str, DiskActivity]:
    old = {row.device: row for row in before}
    found = ((row.device, activity(old[row.device], row, seconds)) for row in after if row.device in old)
    return {name: row for name, row in found if row is not None}


@given(samples(), st.sampled_from((1.0, 0.7, 2.0, 0.0, -1.0)), st.sampled_from(("new", "settled", "old")))
def test_columns_and_rows_say_what_activity_says(
    two: tuple[list[Disk], list[Disk]],
    seconds: float,
    state: str,
) -> None:
    before = table(two[0])
    made = DiskRates(before, table(two[1], before), seconds)
    wanted = told(*two, seconds)
    if state == "settled":
        assert len(made.column("queue")) == len(wanted)
        made.settle()
    if state == "old":
        made.age()
    for name, row in wanted.items():  # one by one, before any column is known
        assert repr(made.get(name)) == repr(row)
        assert [repr(value_of(made, name, field)) for field in FIELDS] == [
            repr(getattr(row, field)) for field in FIELDS
        ]
    assert list(made) == list(wanted)
    assert len(made) == len(wanted)
    for field in FIELDS:
        assert list(map(repr, values_of(made, field))) == [repr(getattr(row, field)) for row in wanted.values()], field
    assert list(map(repr, made.values())) == list(map(repr, wanted.values()))
    assert {key: repr(row) for key, row in made.items()} == {key: repr(row) for key, row in wanted.items()}
    for name in "abcdef":
        assert (name in made) is (name in wanted)
        assert (made.get(name) is None) is (name not in wanted)


@given(
    samples(),
    st.sampled_from((1.0, 0.7, 0.0)),
    st.sampled_from(("new", "old", "read and old", "aged")),
    st.lists(st.sampled_from("abcdef"), max_size=4).map(tuple),
)
def test_rows_that_are_picked_say_what_activity_says(
    two: tuple[list[Disk], list[Disk]], seconds: float, state: str, keys: tuple[str, ...]
) -> None:
    before = table(two[0])
    made: Columns = DiskRates(before, table(two[1], before), seconds)
    wanted = told(*two, seconds)
    if state == "read and old":
        assert len(made.column("queue")) == len(wanted)
    if state == "aged":
        assert isinstance(made, DiskRates)
        made = made.aged()
    elif state != "new":
        made.age()
    found = made.picked(keys, FIELDS)
    if not all(key in wanted for key in keys):
        assert found is None
        return
    assert found is not None
    for field, column in zip(FIELDS, found, strict=True):
        assert list(map(repr, column)) == [repr(getattr(wanted[key], field)) for key in keys], field


def disks(count: int, step: int) -> list[Disk]:
    return [Disk(f"sd{n}", 8, n, *(value + step * (n + 1) for value in range(100, 117))) for n in range(count)]


def test_many_rows_asked_for_one_by_one_are_those_of_the_columns() -> None:
    old, new = disks(600, 0), disks(600, 1)
    made = DiskRates(table(old), table(new), 1.0)
    assert [made[row.device] for row in new] == [activity(*pair, 1.0) for pair in zip(old, new, strict=True)]
    assert made["sd599"] is made["sd599"]


def test_an_old_sample_keeps_little_and_says_the_same() -> None:
    made = DiskRates(table(disks(600, 0)), table(disks(600, 1)), 1.0)
    wanted: list[Reading] = list(made.values())
    made.age()
    assert made.column("queue") is not made.column("queue")
    assert [made.get(f"sd{n}") for n in range(600)] == wanted
    assert made.value("sd3", "queue") == made.column("queue")[3]


def test_a_sample_that_is_not_the_newest_keeps_numbers_only() -> None:
    made = DiskRates(table(disks(600, 0)), table(disks(600, 1)), 1.0)
    before = list(made.column("queue"))
    made.settle()
    assert made.column("queue") is made.column("queue")
    busy = [activity(*pair, 1.0) for pair in zip(disks(600, 0), disks(600, 1), strict=True)]
    for name, wanted in (("queue", before), ("busy", [row.busy for row in busy if row])):  # known before, and not
        column = made.column(name)
        assert isinstance(column, array)
        assert list(column) == wanted


def test_a_device_that_was_reset_is_left_out_and_the_others_stay() -> None:
    old, new = disks(3, 0), disks(3, 1)
    new[1] = replace(new[1], reads=0)
    made = DiskRates(table(old), table(new), 1.0)
    assert list(made) == ["sd0", "sd2"]
    assert made.column("device") == ["sd0", "sd2"]
    with pytest.raises(KeyError):
        made["sd1"]
    with pytest.raises(KeyError):
        made.column("nothing")
    with pytest.raises(AttributeError):
        _ = made.nothing
