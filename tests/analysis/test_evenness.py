"""Even groups: no full comparison would find an outlier in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.analysis.members.column import StripeLimits
from sdstop.analysis.members.evenness import is_even
from sdstop.analysis.members.laggard import slowest, sudden
from sdstop.analysis.members.peer_samples import GroupColumns, seconds_of
from sdstop.core.history import Moment
from sdstop.core.model import schema
from sdstop.readings.disk import DiskActivity

NAMES = ("sda", "sdb", "sdc")
MOST = 10
"""Samples of a window."""
Load = tuple[float, float | None, float | None]
"""Requests per second of each type, and the waits for reads and for writes, in seconds."""


def disk(name: str, load: Load) -> DiskActivity:
    rate, reads, writes = load
    known: dict[str, Any] = {column.name: 0.0 for column in schema(DiskActivity).columns}
    busy = min(1.0, rate * ((reads or 0.0) + (writes or 0.0)))
    known |= {
        "device": name,
        "origin": "",
        "in_flight": 0,
        "queue": 1.0,
        "busy": busy,
        "completed_per_second": 2 * rate,
    }
    known |= {"read_wait": reads, "write_wait": writes, "wait": reads}
    return DiskActivity(**{**known, "reads_per_second": rate, "writes_per_second": rate})


def samples(seconds: Sequence[Sequence[Load]]) -> list[Moment[DiskActivity]]:
    return [
        Moment(float(n), float(n), 1.0, {name: disk(name, load) for name, load in zip(NAMES, loads, strict=False)}, {})
        for n, loads in enumerate(seconds)
    ]


def layout_of(members: int) -> GroupColumns:
    names = NAMES[:members]
    return GroupColumns(("k", members), tuple((name,) for name in names), (1.0,) * members)


WAIT = st.one_of(st.none(), st.sampled_from([0.0001, 0.0004, 0.001, 0.003, 0.0041, 0.012, 0.02, 0.05, 0.5]))
LOADS = st.integers(2, 3).flatmap(
    lambda members: st.lists(
        st.lists(st.tuples(st.sampled_from([0.0, 1.0, 50.0]), WAIT, WAIT), min_size=members, max_size=members),
        min_size=1, max_size=24,
    )
)  # fmt: skip


@given(LOADS, st.booleans(), st.booleans())
def test_no_member_of_an_even_group_is_slow(seconds: list[list[Load]], rotational: bool, mirrored: bool) -> None:  # noqa: FBT001
    limits, layout = StripeLimits(), layout_of(len(seconds[0]))
    every = samples(seconds)
    for end in range(1, len(every) + 1):
        window = every[max(end - MOST, 0) : end]
        even = is_even(layout, window, limits, rotational=rotational)
        fresh = [replace(moment, memo={}) for moment in window]
        assert even is is_even(layout, fresh, limits, rotational=rotational)  # what is kept changes nothing
        known = seconds_of(layout, window)
        if even and len(known) == len(window):
            assert slowest(known, limits, rotational=rotational, mirrored=mirrored) is None
            assert sudden(known, limits, rotational=rotational, mirrored=mirrored, without=frozenset()) is None


def test_a_mirror_with_a_slow_leg_is_not_even() -> None:
    calm: Load = (10.0, 0.004, 0.004)
    even, slow = samples([[calm, calm]] * MOST), samples([[calm, (10.0, 0.2, 0.2)]] * MOST)
    limits, layout = StripeLimits(), layout_of(2)
    assert is_even(layout, even, limits, rotational=True)
    assert not is_even(layout, slow, limits, rotational=True)
    found = slowest(seconds_of(layout, slow), limits, rotational=True, mirrored=True)
    assert found is not None
    assert found.disk == "sdb"


def test_one_slow_second_ends_evenness_until_it_has_left_the_window() -> None:
    calm: Load = (10.0, 0.004, 0.004)
    every = samples([[calm, calm]] * 5 + [[calm, (10.0, 0.2, 0.2)]] + [[calm, calm]] * 14)
    found = [
        is_even(layout_of(2), every[max(end - MOST, 0) : end], StripeLimits(), rotational=True)
        for end in range(1, len(every) + 1)
    ]
    assert found == [True] * 5 + [False] * MOST + [True] * 5
