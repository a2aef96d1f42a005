"""lag: a member that takes somewhat longer than all of its peers, in each block of a minute."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sdstop.analysis.members.column import Second, StripeColumn, StripeMember
from sdstop.analysis.members.lag import BLOCKS, TIMES, lag

RATE, WORK, QUEUED = 30.0, 0.006, 1.3


def member(
    number: int, times: float = 1.0, *, rate: float = RATE, size: float = 8192.0, reads: float = 0.5, wait: float = 1.0
) -> StripeMember:
    """Return a member whose requests take `times` as long."""
    done, work = rate * reads, WORK * times
    waits = work * QUEUED * wait
    written = rate - done
    return StripeMember(
        f"sd{'abcdefgh'[number]}", rate * waits, min(1.0, rate * work), done, written, done * size, written * size,
        waits, waits,
    )  # fmt: skip


def block(*members: StripeMember, timed: bool = True) -> Second:
    return Second.of([StripeColumn((each,)) for each in members], timed=timed)


def even(count: int = 5) -> list[StripeMember]:
    """Return peers that differ by up to 6 %."""
    return [member(number, 1 + 0.015 * number) for number in range(count)]


def blocks(last: StripeMember, count: int = BLOCKS, peers: Sequence[StripeMember] | None = None) -> list[Second]:
    return [block(*(even() if peers is None else peers), last)] * count


def test_a_member_that_is_slower_than_its_peers_in_few_blocks_only_does_not_lag() -> None:
    found = blocks(member(7, 2.0))
    assert lag([block(*even(), member(7)), *found[1:]], rotational=True) is None  # 7 of 8
    assert lag([block(*even(), member(7)), *found, *found], rotational=True) is not None


@pytest.mark.parametrize("rotational", [True, False])
def test_a_member_that_takes_twice_as_long_lags(rotational: bool) -> None:  # noqa: FBT001
    found = lag(blocks(member(7, 2.0)), rotational=rotational)
    assert found is not None
    assert (found.disk, found.share) == ("sdh", 1.0)
    assert found.times == pytest.approx(2.0 / 1.06)
    assert not found.is_limit


@pytest.mark.parametrize(("times", "lags"), [(TIMES * 1.06 + 0.01, True), (TIMES * 1.06 - 0.01, False)])
def test_the_slowest_peer_is_the_measure(times: float, lags: bool) -> None:  # noqa: FBT001
    assert (lag(blocks(member(7, times)), rotational=True) is not None) is lags


@pytest.mark.parametrize(
    "other",
    [
        member(7, 2.0, rate=RATE * 1.2),  # it has more to do
        member(7, 2.0, rate=RATE / 1.2),
        member(7, 2.0, size=10240.0),  # larger requests
        member(7, 2.0, reads=0.65),  # others
        member(7, 1.0, wait=3.0),  # requests wait, and the disk does not work longer on each
        member(7, 2.0, wait=0.5),  # the busy time is longer alone, as kernels before 6.10 count it
        member(7, 2.0, rate=3.0),  # too few
    ],
)
def test_what_explains_a_longer_time_is_no_lag(other: StripeMember) -> None:
    assert lag(blocks(other), rotational=True) is None


def test_peers_that_differ_are_no_measure() -> None:
    apart = [*even(4), member(4, 1.3)]
    assert lag(blocks(member(7, 3.0), peers=apart), rotational=True) is None


def test_a_member_must_lag_in_nearly_every_block_of_a_minute() -> None:
    slow, good = blocks(member(7, 2.0), 1), blocks(member(7), 1)
    assert lag([*good, *slow * 9], rotational=True) is not None
    assert lag([*good * 2, *slow * 8], rotational=True) is None
    assert lag(slow * (BLOCKS - 1), rotational=True) is None


def test_few_members_and_other_sources_are_not_judged() -> None:
    assert lag(blocks(member(7, 2.0), peers=even(3)), rotational=True) is not None
    assert lag(blocks(member(7, 2.0), peers=even(2)), rotational=True) is None
    assert lag([block(*even(), member(7, 2.0), timed=False)] * BLOCKS, rotational=True) is None
    assert lag([*blocks(member(7, 2.0), 4), *blocks(member(6, 2.0), 4)], rotational=True) is None


def test_waits_too_short_to_be_counted_are_no_measure() -> None:
    none = [
        StripeMember(f"sd{name}", 0.0, busy, RATE, 0.0, RATE * 4096, 0.0, wait, None)
        for name, busy, wait in (("a", 0.01, 0.0), ("b", 0.01, 0.0), ("c", 0.01, 0.0), ("d", 0.02, 0.001))
    ]
    assert lag([block(*none)] * BLOCKS, rotational=False) is None


def test_a_flash_member_needs_less_excess() -> None:
    quick = [
        StripeMember(f"sd{name}", 1.0, RATE * work, RATE, 0.0, RATE * 4096, 0.0, work, None)
        for name, work in (("a", 5e-4), ("b", 5e-4), ("c", 5e-4), ("d", 1e-3))
    ]
    assert lag([block(*quick)] * BLOCKS, rotational=False) is not None
    assert lag([block(*quick)] * BLOCKS, rotational=True) is None


@pytest.mark.parametrize(("rate", "limits"), [(80.0, True), (70.0, False), (130.0, False)])
def test_a_full_member_whose_peers_have_room_limits_the_group(rate: float, limits: bool) -> None:  # noqa: FBT001
    peers = [member(number, rate=rate) for number in range(5)]
    found = lag(blocks(member(7, 2.0, rate=rate), peers=peers), rotational=True)
    assert (found is not None and found.is_limit) is limits


def test_blocks_in_which_the_peers_have_no_busy_time_are_no_measure() -> None:
    without = block(*[replace(each, busy=0.0) for each in even()], member(7, 2.0))
    found = blocks(member(7, 2.0))
    assert lag([without] * BLOCKS, rotational=True) is None
    assert lag([without, *found[1:]], rotational=True) is None  # 7 of 8
    assert lag([without, *found, *found], rotational=True) is not None
