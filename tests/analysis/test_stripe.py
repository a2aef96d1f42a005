"""The statistics of sdstop.analysis.members.stripe: seconds made by hand, anything, recordings of real kernels."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import tarfile
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.analysis.members.column import Second, StripeColumn, StripeLimits, StripeMember
from sdstop.analysis.members.laggard import sudden
from sdstop.analysis.members.stripe import StripePattern, Verdict, judge
from tests.arrays import SAS_15K, SATA_7200, ArraySpec, Clones, Level, Media, Random, member_name, simulate
from tests.arrays.measure import member, rows, seconds
from tests.arrays.spec import KIB
from tests.fixtures import FIXTURES


def disk(
    number: int, queue: float = 0.5, busy: float = 0.4, ios: float = 40.0, wait: float | None = None
) -> StripeMember:
    """Make a disk that answers as many reads as writes of 8 KiB; by Little's law unless a wait is given."""
    wait = queue / ios if wait is None and ios else wait
    half = ios / 2
    return StripeMember(f"sd{number:02d}", queue, busy, half, half, half * 8192, half * 8192, wait, wait)


def striped(disks: Sequence[StripeMember], *, legs: int = 1, busy: float | None = 1.0) -> Second:
    columns = tuple(StripeColumn(tuple(disks[first : first + legs])) for first in range(0, len(disks), legs))
    return Second.of(columns, busy)


def run(make: Callable[[int, int], StripeMember], columns: int = 8, seconds: int = 10, legs: int = 1) -> list[Second]:
    """Make seconds; `make` is given column and second, and makes each leg alike."""
    return [
        striped(
            [replace(make(number // legs, second), name=f"sd{number:02d}") for number in range(columns * legs)],
            legs=legs,
        )
        for second in range(seconds)
    ]


def moving(column: int, second: int) -> StripeMember:
    return disk(column, queue=9.0, busy=1.0) if column == second * 3 % 8 else disk(column, queue=0.3, busy=0.2)


def even(column: int, _: int) -> StripeMember:
    return disk(column, queue=1.5, busy=0.8)


def judged(seconds: Sequence[Second], limits: StripeLimits | None = None) -> Verdict:
    return judge(seconds, rotational=True, limits=limits)


# --- what is compared ----------------------------------------------------------------------------------


def test_the_deficit_is_what_chance_would_keep_busy_and_is_not() -> None:
    verdict = judged(run(moving))
    queue, busy = 9.0 + 7 * 0.3, 1.0 + 7 * 0.2
    expected = 8 * queue / (8 + queue - 1)
    assert verdict.queue == pytest.approx(queue)
    assert verdict.busy == pytest.approx(busy)
    assert verdict.expected == pytest.approx(expected)
    assert verdict.deficit == pytest.approx(1 - busy / expected)


def test_the_top_share_is_the_fullest_column_against_the_mean() -> None:
    assert judged(run(moving)).top_share == pytest.approx(8 * 9.0 / (9.0 + 7 * 0.3))


def test_a_mirror_is_one_column_of_two_disks() -> None:
    single, pairs = judged(run(moving)), judged(run(moving, legs=2))
    assert (pairs.columns, pairs.queue, pairs.busy, pairs.top_share) == pytest.approx(
        (single.columns, single.queue, single.busy, single.top_share)
    )
    assert pairs.expected == pytest.approx(8 * (2 * 11.1) / (16 + 2 * 11.1 - 1))
    assert len(pairs.top) == 2


def test_a_mirror_counts_a_write_once_and_reads_of_both_legs() -> None:
    column = StripeColumn((disk(0, ios=40), disk(1, ios=60)))
    assert column.ios == 20 + 30 + 30


def test_time_in_which_the_array_was_idle_does_not_count() -> None:
    """Forty milliseconds of full queues look like a deficit unless they are taken for themselves."""

    def burst(column: int, second: int) -> StripeMember:
        return disk(column, queue=4.0 if column % 4 else 6.0, busy=0.3, ios=100.0)

    seconds = run(burst, columns=4)
    known = judged([Second.of(second.columns, 0.3) for second in seconds])
    unknown = judged([Second.of(second.columns) for second in seconds])
    assert known.deficit == pytest.approx(0.0, abs=0.07)
    assert unknown.deficit is not None
    assert unknown.deficit > 0.5


def test_busy_time_that_the_kernel_lost_is_given_back() -> None:
    def random_load(column: int, second: int) -> StripeMember:
        return disk(column, queue=9.0 if (column + second) % 3 else 14.0, busy=0.86, ios=85.0)

    verdict = judged(run(random_load))
    assert verdict.busy == pytest.approx(8.0)
    assert verdict.kind is StripePattern.EVEN


def test_a_disk_is_busy_for_no_longer_than_requests_waited() -> None:
    """Linux 5.0 to 6.9 counts a jiffy of 4 ms for each request of 0.5 ms that is alone."""
    rounded = judged(
        run(lambda column, _: disk(column, queue=9.0, busy=1.0) if column == 0 else disk(column, 0.1, 0.6))
    )
    assert rounded.busy == pytest.approx(1 + 7 * 0.1)


@pytest.mark.parametrize(
    ("deep", "parity", "deficit"),
    [(9.0, 0, True), (9.0, 1, False), (5.0, 0, False)],
)
def test_the_columns_without_the_fullest_say_how_busy_chance_keeps_them(
    deep: float, parity: int, *, deficit: bool
) -> None:
    """Services that take equally long keep columns busier.

    So do the parts of updates, but not by chance; and chance makes a queue of five beside columns that are 65% busy.
    """

    def at(column: int, second: int) -> StripeMember:
        made = disk(column, deep, 1.0) if column == second * 3 % 8 else disk(column, 0.7, 0.65)
        return replace(made, reads=0.0, writes=made.reads + made.writes, read_wait=None)

    verdict = judge(run(at), rotational=True, parity=parity)
    assert verdict.busy is not None
    assert verdict.expected is not None
    assert (verdict.expected > verdict.busy) is deficit


def test_the_queue_of_parity_is_not_taken_for_independent_requests() -> None:
    def deep(column: int, second: int) -> StripeMember:
        return disk(column, 40.0, 1.0, ios=80.0) if column == second * 3 % 8 else disk(column, 0.3, 0.3)

    plain, coupled = judged(run(deep)), judge(run(deep), rotational=True, parity=2)
    assert plain.deficit is not None
    assert coupled.deficit is not None
    assert 0 < coupled.deficit < plain.deficit


def test_standing_is_one_for_a_fixed_pattern_and_small_for_a_moving_one() -> None:
    def two_hot(column: int, second: int) -> StripeMember:
        return disk(column, queue=6.0, busy=1.0) if column in {1, 6} else disk(column, queue=0.2, busy=0.2)

    assert judged(run(two_hot)).standing == pytest.approx(1.0)
    assert (judged(run(moving)).standing or 0.0) < 0.1


# --- verdicts ------------------------------------------------------------------------------------------


def test_a_queue_that_moves_is_a_convoy() -> None:
    verdict = judged(run(moving))
    assert verdict.kind is StripePattern.CONVOY
    assert (verdict.active, verdict.crowded) == (10, 10)
    assert (verdict.deficit or 0.0) > (verdict.deficit_limit or 1.0)


@pytest.mark.parametrize("crowded", [5, 6])
def test_most_seconds_must_be_crowded(crowded: int) -> None:
    def some(column: int, second: int) -> StripeMember:
        return moving(column, second) if second < crowded else disk(column, queue=1.4, busy=0.75)

    assert (judged(run(some)).kind is StripePattern.CONVOY) is (crowded == 6)


def test_a_fixed_queue_at_more_requests_is_a_hot_column() -> None:
    def hot(column: int, second: int) -> StripeMember:
        return disk(column, 9.0, 1.0, ios=160.0) if column == 5 else disk(column, 0.3, 0.3)

    verdict = judged(run(hot))
    assert verdict.kind is StripePattern.HOT
    assert verdict.top == ("sd05",)
    assert verdict.ios_ratio == pytest.approx(4.0)
    assert verdict.persistence == 1.0


def test_a_hot_column_that_is_not_busy_is_none() -> None:
    def warm(column: int, second: int) -> StripeMember:
        return disk(column, 4.0, 0.6, ios=160.0) if column == 5 else disk(column, 0.1, 0.1)

    assert judged(run(warm)).kind is not StripePattern.HOT


def test_a_disk_that_takes_longer_for_the_same_is_slow() -> None:
    def slow(column: int, second: int) -> StripeMember:
        return disk(column, queue=4.0, busy=1.0) if column == 2 else disk(column, queue=0.5, busy=0.3)

    verdict = judged(run(slow))
    assert verdict.kind is StripePattern.SLOW
    assert verdict.wait is not None
    assert (verdict.wait.disk, verdict.wait.seconds, verdict.wait.peers) == ("sd02", 0.1, 0.0125)


def test_a_crowd_that_only_seeks_is_not_a_slow_disk() -> None:
    """Streams stand before one disk, which seeks for each request, and rush through the others."""

    def standing(column: int, second: int) -> StripeMember:
        return disk(column, queue=9.0, busy=1.0, ios=80.0) if column == 2 else disk(column, 0.1, 0.1, ios=80.0)

    verdict = judged(run(standing))
    assert verdict.wait is None
    assert verdict.kind is StripePattern.UNCLEAR


def takes(service: float, peers: Callable[[int, int], float], size: int = 8192) -> list[Second]:
    """Make seconds of RAID0 in which disk 2 works so many seconds on a request, and waits; the peers as told."""

    def load(column: int, second: int) -> StripeMember:
        each = service if column == 2 else peers(column, second)
        made = disk(column, queue=4.0 if column == 2 else 0.25, busy=min(1.0, 50 * each), ios=50.0)
        return replace(made, read_bytes=25.0 * size, write_bytes=25.0 * size)

    return run(load)


@pytest.mark.parametrize(("service", "slow"), [(0.018, True), (0.0104, True), (0.0096, False)])
def test_fast_disks_that_all_seek_need_no_longer_a_seek_of_a_slow_one(service: float, slow: bool) -> None:  # noqa: FBT001
    verdict = judged(takes(service, lambda *_: 0.004))
    assert (verdict.kind is StripePattern.SLOW) is slow
    assert slow is (verdict.wait is not None)


@pytest.mark.parametrize(("varies", "slow"), [(0.05, True), (0.3, False)])
def test_peers_of_which_some_follow_a_stream_prove_nothing(varies: float, slow: bool) -> None:  # noqa: FBT001
    def some(column: int, second: int) -> float:
        return 0.004 * (1 + varies if (column + second) % 2 else 1 - varies)

    assert (judged(takes(0.018, some)).kind is StripePattern.SLOW) is slow


@pytest.mark.parametrize(("size", "slow"), [(8 << 10, True), (150 << 10, True), (250 << 10, False)])
def test_peers_that_transfer_and_do_not_seek_prove_nothing(size: int, slow: bool) -> None:  # noqa: FBT001
    assert (judged(takes(0.018, lambda *_: 0.004, size)).kind is StripePattern.SLOW) is slow


def test_what_takes_longer_than_any_seek_needs_no_peers_that_seek() -> None:
    assert judged(takes(0.0201, lambda *_: 0.0005)).kind is StripePattern.SLOW
    assert judged(takes(0.0199, lambda *_: 0.0005)).kind is not StripePattern.SLOW


FAST = dataclasses.replace(SAS_15K, seek=(0.0008, 0.0025))


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("seed", range(3))
def test_a_slow_one_of_fast_disks_is_found(level: Level, seed: int) -> None:
    spec = ArraySpec(level=level, disks=8, media=FAST, random=Random(rate=100.0), slow=((3, 4.5),))
    verdict = judged(list(seconds(simulate(spec, seed, 10), spec)))
    assert verdict.wait is not None
    assert verdict.wait.disk == member_name(3)


@pytest.mark.parametrize("media", [FAST, SATA_7200], ids=["15k", "7200"])
@pytest.mark.parametrize("background", [0.0, 60.0, 200.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_crowd_of_streams_beside_other_load_is_no_slow_disk(media: Media, background: float, seed: int) -> None:
    clones = Clones(count=8, size=32 * KIB, same_phase=True)
    spec = ArraySpec(level=Level.RAID6, disks=8, media=media, random=Random(rate=background), clones=clones)
    assert judged(list(seconds(simulate(spec, seed, 10), spec))).kind is not StripePattern.SLOW


@pytest.mark.parametrize("level", [Level.RAID0, Level.RAID5])
@pytest.mark.parametrize("seed", range(3))
def test_a_slow_one_of_three_disks_is_found(level: Level, seed: int) -> None:
    spec = ArraySpec(level=level, disks=3, random=Random(rate=20.0), slow=((1, 6.0),))
    verdict = judged(list(seconds(simulate(spec, seed, 10), spec)))
    assert verdict.kind is StripePattern.SLOW
    assert verdict.wait is not None
    assert verdict.wait.disk == member_name(1)


@pytest.mark.parametrize("level", [Level.RAID0, Level.RAID5])
@pytest.mark.parametrize("phase", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_crowd_before_one_of_three_disks_is_no_slow_one(level: Level, phase: bool, seed: int) -> None:  # noqa: FBT001
    clones = Clones(count=5, same_phase=phase)
    spec = ArraySpec(level=level, disks=3, random=Random(rate=20.0), clones=clones)
    assert judged(list(seconds(simulate(spec, seed, 10), spec))).kind is StripePattern.TOO_FEW


def test_a_fixed_queue_without_a_cause_is_unclear() -> None:
    def twice(column: int, second: int) -> StripeMember:
        return disk(column, 9.0, 1.0, ios=80.0) if column == 5 else disk(column, 0.3, 0.3)

    assert judged(run(twice)).kind is StripePattern.UNCLEAR


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        ([1] * 8 + [4] * 2, StripePattern.CONVOY),
        ([1] * 2 + [4] * 8, StripePattern.CONVOY),
        ([1] * 9 + [4], StripePattern.UNCLEAR),  # one second can be chance
        ([1] * 10, StripePattern.UNCLEAR),
        ([1, 1, 1, 4] * 2 + [1] * 2, StripePattern.UNCLEAR),  # it comes back
    ],
)
def test_a_crowd_that_hands_over_to_another_column_once_is_a_convoy(places: list[int], kind: StripePattern) -> None:
    seconds = run(
        lambda column, second: disk(column, 9.0, 1.0, 80.0) if column == places[second] else disk(column, 0.3, 0.2)
    )
    verdict = judged(seconds)
    assert verdict.standing is not None
    assert verdict.standing >= StripeLimits().moving
    assert verdict.kind is kind


@pytest.mark.parametrize(("least", "kind"), [(3.0, StripePattern.CONVOY), (0.75, StripePattern.EVEN)])
def test_queues_that_come_and_go_are_bursts(least: float, kind: StripePattern) -> None:
    def at(column: int, second: int) -> StripeMember:
        times = 1.0 if second % 2 else least / 9.0
        return disk(column, 9.0 * times * 4, 1.0) if column == second * 3 % 8 else disk(column, 0.3 * times * 4, 0.2)

    verdict = judged(run(at), StripeLimits(queue=2.0))
    assert verdict.active == 10
    assert verdict.kind is kind


def test_columns_of_unequal_size_are_not_judged_by_evenness() -> None:
    seconds = [
        Second.of([replace(c, capacity=2.0 if n < 2 else 0.7) for n, c in enumerate(second.columns)], second.busy)
        for second in run(moving)
    ]
    assert judged(seconds).kind is StripePattern.UNEQUAL


def test_a_larger_column_may_carry_more() -> None:
    def large(column: int, second: int) -> StripeMember:
        return disk(column, 9.0, 1.0, ios=160.0) if column == 5 else disk(column, 0.3, 0.3)

    seconds = [
        Second.of([replace(c, capacity=4.0 if n == 5 else 0.6) for n, c in enumerate(second.columns)], second.busy)
        for second in run(large)
    ]
    assert judged(seconds).kind is StripePattern.UNEQUAL


def test_random_load_is_even_and_little_load_is_idle() -> None:
    assert judged(run(even)).kind is StripePattern.EVEN
    assert judged(run(lambda column, _: disk(column, 0.2, 0.2))).kind is StripePattern.IDLE


def test_too_few_columns_or_seconds_are_no_sample() -> None:
    three = [Second.of(second.columns[:3], second.busy) for second in run(moving)]
    assert judged(three).kind is StripePattern.TOO_FEW
    assert judged(run(moving, seconds=7)).kind is StripePattern.TOO_FEW
    assert judged([]).kind is StripePattern.TOO_FEW


def little(part: float, *, reads: bool) -> Callable[[int, int], StripeMember]:
    """Make legs of mirrors that have `part` of the fewest requests outstanding on the mean of their legs."""

    def load(column: int, second: int) -> StripeMember:
        made = disk(column, queue=StripeLimits().queue * part / 8, busy=0.5)
        return replace(made, reads=40.0, writes=0.0) if reads else replace(made, reads=0.0, writes=40.0)

    return load


@pytest.mark.parametrize(
    ("part", "reads", "active"), [(0.51, True, 10), (0.49, True, 0), (1.01, False, 10), (0.99, False, 0)]
)
def test_a_read_of_a_mirror_waits_on_one_leg_and_a_write_on_all(part: float, reads: bool, active: int) -> None:  # noqa: FBT001
    assert judged(run(little(part, reads=reads), legs=2)).active == active


@pytest.mark.parametrize(("times", "active"), [(2.95, 0), (3.05, 10)])
def test_writes_to_parity_must_be_more_to_be_a_sample(times: float, active: int) -> None:
    seconds = run(little(times, reads=False))
    assert judge(seconds, rotational=True, parity=1).active == active
    assert judge(seconds, rotational=True, parity=0).active == 10


def test_a_device_that_counts_no_busy_time_is_not_judged() -> None:
    assert judged(run(lambda column, second: replace(moving(column, second), busy=0.0))).kind is StripePattern.IDLE


def test_flash_needs_a_larger_deficit() -> None:
    def slight(column: int, second: int) -> StripeMember:
        return disk(column, 3.0, 1.0) if column == second % 8 else disk(column, 0.9, 0.47)

    seconds = run(slight)
    assert judge(seconds, rotational=True).kind is StripePattern.CONVOY
    assert judge(seconds, rotational=False).kind is StripePattern.EVEN


# --- anything ------------------------------------------------------------------------------------------

numbers = st.floats(0, 1e6, allow_nan=False)
waits = st.none() | st.floats(0, 100, allow_nan=False)


@st.composite
def any_seconds(draw: st.DrawFn) -> list[Second]:
    columns, legs = draw(st.integers(1, 9)), draw(st.integers(1, 2))
    capacities = [draw(st.floats(0.1, 10)) for _ in range(columns)]

    def leg(column: int, number: int) -> StripeMember:
        reads, writes, read_bytes, write_bytes = (draw(numbers) for _ in range(4))
        return StripeMember(
            f"sd{column}{number}", draw(numbers), draw(st.floats(0, 3)), reads, writes, read_bytes, write_bytes,
            draw(waits), draw(waits),
        )  # fmt: skip

    return [
        Second.of(
            tuple(StripeColumn(tuple(leg(c, n) for n in range(legs)), capacities[c]) for c in range(columns)),
            draw(st.none() | st.floats(0, 2)),
        )
        for _ in range(draw(st.integers(0, 12)))
    ]


@given(seconds=any_seconds(), rotational=st.booleans(), parity=st.integers(0, 2))
def test_any_seconds_get_a_verdict_whose_numbers_are_numbers(
    seconds: list[Second], *, rotational: bool, parity: int
) -> None:
    verdict = judge(seconds, rotational=rotational, parity=parity)
    assert verdict.crowded <= verdict.active <= verdict.seconds == len(seconds)
    for value in (verdict.deficit, verdict.top_share, verdict.queue, verdict.expected, verdict.ios_ratio):
        assert value is None or math.isfinite(value)
    for share in (verdict.persistence, verdict.standing):
        assert share is None or 0 <= share <= 1
    if verdict.top_share is not None:
        assert 1 - 1e-9 <= verdict.top_share <= verdict.columns + 1e-9
    assert (verdict.kind is StripePattern.SLOW) is (verdict.wait is not None)


def test_judged_seconds_are_freed_at_once() -> None:
    """A thousand disks have 22 of them a second: left to the garbage collector, those of minutes would stay."""
    gc.freeze()  # what other tests have kept is not scanned
    gc.collect()
    gc.disable()
    try:
        for make in (moving, even, lambda column, _: disk(column, wait=0.3 if column == 2 else None)):
            seconds = run(make)
            judged(seconds)
            sudden(seconds, StripeLimits(), rotational=True, mirrored=False, without=frozenset())
            del seconds
        assert gc.collect() == 0
    finally:
        gc.enable()


@given(st.permutations(range(8)), st.sampled_from([StripePattern.CONVOY, StripePattern.EVEN]))
def test_the_order_of_the_columns_does_not_matter(order: list[int], load: StripePattern) -> None:
    seconds = run(moving if load is StripePattern.CONVOY else even)
    mixed = [Second.of(tuple(second.columns[place] for place in order), second.busy) for second in seconds]
    a, b = judged(seconds), judged(mixed)
    assert a.kind is b.kind is load
    assert (a.deficit, a.top_share, a.standing) == pytest.approx((b.deficit, b.top_share, b.standing))


# --- recordings of a real kernel (Linux 6.1, RAID10 of eight disks) ---------------------------------------


def recorded(story: str, step: int) -> list[Second]:
    """Return the seconds of a recording, taking every `step`-th frame."""
    with tarfile.open(FIXTURES / story / "capture.tar.gz") as archive:
        texts = {item.name.removeprefix("./"): item for item in archive.getmembers() if item.isfile()}

        def text(name: str) -> str:
            found = next(path for path in texts if path.endswith(name))
            stream = archive.extractfile(texts[found])
            assert stream is not None
            return stream.read().decode()

        times = [frame["monotonic"] for frame in json.loads(text("manifest-final.json"))["frames"]][::step]
        looks = [rows(text(f"frames/{1 + step * number:04d}/proc/diskstats")) for number in range(len(times))]
    names = [f"vd{letter}" for letter in "bcdefghi"]
    found = []
    for (start, before), (end, now) in pairwise(zip(times, looks, strict=True)):
        disks = [member(name, before[name], now[name], end - start) for name in names]
        busy = (now["md0"][9] - before["md0"][9]) / 1000 / (end - start)
        found.append(striped(disks, legs=2, busy=busy))
    return found


def test_recorded_clones_are_a_convoy() -> None:
    seconds = recorded("vm-md-clones", 2)
    kinds = [judged(seconds[first : first + 10]).kind for first in range(len(seconds) - 9)]
    assert set(kinds) == {StripePattern.CONVOY}


def test_recorded_clones_are_a_convoy_at_half_seconds_too() -> None:
    seconds = recorded("vm-md-clones", 1)
    kinds = [judged(seconds[first : first + 20]).kind for first in range(0, len(seconds) - 19, 2)]
    assert set(kinds) == {StripePattern.CONVOY}


def test_the_recorded_slow_member_is_slow() -> None:
    seconds = recorded("vm-md-slow-member", 1)
    verdicts = [judged(seconds[first : first + 10]) for first in range(len(seconds) - 9)]
    assert {verdict.kind for verdict in verdicts} == {StripePattern.SLOW}
    assert {verdict.wait.disk for verdict in verdicts if verdict.wait} == {"vde"}
