"""The arithmetic of limits: what binds, what was used, and how long a burst lasts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.columns import Columns
from sdstop.core.model import key_of
from sdstop.readings.limit import LeakyBucket, Limit, LimitUse, limited, use

KIB, MIB = 1024, 1 << 20


def mapping(**fields: object) -> Limit:
    """Return a volume of 104 GB by the story's table: 500 IOPS, 0.25 MiB/s for each GB."""
    known: dict[str, object] = {"limited": "both", "iops": 500.0, "bandwidth": 26.0 * MIB, **fields}
    return Limit("vol104", "sdc1", "powerflex", "total", **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gigabytes", "break_even", "allowed"),
    [
        (32, 16.4, {16: 500, 32: 256, 64: 128, 128: 64, 256: 32, 1024: 8}),
        (104, 53.2, {16: 500, 32: 500, 64: 416, 128: 208, 256: 104, 1024: 26}),
        (128, 65.5, {16: 500, 32: 500, 64: 500, 128: 256, 256: 128, 1024: 32}),
        (2048, 1049, {16: 500, 32: 500, 64: 500, 128: 500, 256: 500, 1024: 500}),
    ],
)
def test_which_limit_binds_depends_on_the_size(gigabytes: int, break_even: float, allowed: dict[int, int]) -> None:
    limit = mapping(bandwidth=gigabytes / 4 * MIB)
    assert limit.break_even is not None
    assert limit.break_even / KIB == pytest.approx(break_even, rel=0.005)
    for size, iops in allowed.items():
        assert limit.iops_at(size * KIB) == pytest.approx(iops, rel=0.005)
        # above the break-even size the bandwidth binds, below it the requests
        assert (limit.iops_at(size * KIB) == 500) is (size * KIB <= limit.break_even)


def test_without_a_limit_nothing_is_promised() -> None:
    free = mapping(limited="none", iops=None, bandwidth=None)
    assert (free.break_even, free.iops_at(4096)) == (None, None)
    assert mapping(bandwidth=None).iops_at(None) == 500
    assert mapping(iops=None).iops_at(None) is None  # of what size?
    assert [limited(*pair) for pair in ((1, 1), (1, None), (None, 1), (0, None))] == [
        "both", "iops", "bandwidth", "none"
    ]  # fmt: skip


def test_a_large_request_counts_several_times() -> None:
    limit = mapping(bandwidth=None, iops_size=4096)
    assert limit.iops_at(4096) == 500
    assert limit.iops_at(65536) == pytest.approx(500 / 16)
    assert limit.iops_at(512) == 500  # a small one counts as one


def used(before: Limit, after: Limit, seconds: float) -> LimitUse | None:
    """Return the use between two samples of one limit."""
    old, new = (Columns.of(Limit, {key_of(Limit)(row): row}) for row in (before, after))
    found: list[Any] = list(use(old, new, seconds).values())
    return found[0] if found else None


def test_use_follows_from_counters_or_is_told() -> None:
    before = mapping(used_requests=1000, used_bytes=1 << 20, stalled=3.0)
    after = mapping(used_requests=1500, used_bytes=3 << 20, stalled=4.5, wait=0.032)
    seen = used(before, after, 2.0)
    assert seen is not None
    assert (seen.requests_per_second, seen.bytes_per_second, seen.stalled) == (250, 1 << 20, 0.75)
    assert (seen.request_size, seen.wait, seen.sharers) == ((1 << 20) / 250, 0.032, 1)
    told = used(mapping(requests_rate=1.0), mapping(requests_rate=420.0, bytes_rate=420.0 * 4096, sharers=3), 10.0)
    assert told is not None
    assert (told.requests_per_second, told.request_size, told.sharers) == (420, 4096, 3)


def test_nothing_is_made_up() -> None:
    assert used(mapping(), mapping(), 1.0) is None
    assert used(mapping(used_requests=9), mapping(used_requests=3), 1.0) is None  # the counter began again
    assert used(mapping(used_requests=1), mapping(used_requests=3), 0.0) is None
    idle = used(mapping(used_requests=3), mapping(used_requests=3), 1.0)
    assert idle is not None
    assert (idle.requests_per_second, idle.request_size) == (0, None)


def test_a_burst_of_qemus_documentation_lasts_63_seconds() -> None:
    bucket = LeakyBucket(100, 2000, 60)
    assert bucket.left(0, 2000) == pytest.approx(63.16, abs=0.01)
    assert bucket.left(bucket.size, 2000) == 0
    assert bucket.left(0, 100) is None


@given(
    st.floats(1, 1e6), st.floats(1, 10), st.floats(0.1, 600), st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 60)))
)
def test_a_bucket_never_overflows(
    average: float, times: float, length: float, course: list[tuple[float, float]]
) -> None:
    bucket = LeakyBucket(average, average * times, length)
    level = 0.0
    for rate, seconds in course:
        level = bucket.after(level, rate, seconds)
        assert 0 <= level <= bucket.size
        left = bucket.left(level, rate)
        assert left is None or left >= 0


def test_a_subject_is_stable() -> None:
    assert mapping().subject == "vol:vol104@sdc1"
    assert Limit("img", "", "rbd", "total", "none").subject == "vol:img"
