"""The arithmetic of AoE's frames: against what real kernels showed, and its laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.analysis.aoe.framing import TargetSizes, max_partial_share
from sdstop.collectors.aoe.readings import (
    FALLBACK,
    MOST_SECTORS,
    SECTOR,
    aligned,
    good_mtus,
    payload,
    pieces,
    whole_share,
)
from sdstop.readings.iosize import RequestSizes, cumulative

MTUS = st.integers(68, 140_000)
PAYLOADS = st.integers(2, MOST_SECTORS).map(lambda sectors: sectors * SECTOR)
BLOCKS = st.sampled_from([4096, 8192, 16384])


@pytest.mark.parametrize(
    ("mtu", "carried"),
    [(1500, 1024), (4000, 3584), (4131, 3584), (4132, 4096), (4200, 4096), (4643, 4096), (4644, 4608), (8227, 7680),
     (8228, 8192), (8700, 8192), (8739, 8192), (8740, 8704), (9000, 8704), (547, 1024), (1_000_000, 130_560)],
)  # fmt: skip
def test_what_a_frame_carries(mtu: int, carried: int) -> None:
    assert payload(mtu) == carried


@pytest.mark.parametrize(
    ("largest", "low", "high"), [(9000, 8228, 8739), (8700, 8228, 8700), (4200, 4132, 4200), (4132, 4132, 4132)]
)
def test_the_mtus_that_are_right(largest: int, low: int, high: int) -> None:
    assert good_mtus(largest) == (low, high)


def test_no_mtu_is_right_below_a_block() -> None:
    assert good_mtus(4131) is None
    assert good_mtus(9000, 16384) is None


@pytest.mark.parametrize(
    ("carried", "length", "cut"),
    [(1024, 4096, {1024: 4}), (3584, 4096, {3584: 1, 512: 1}), (8704, 4096, {4096: 1}), (8704, 8192, {4096: 2}),
     (8704, 16384, {4096: 3, 512: 1, 3584: 1}), (8192, 65536, {4096: 16})],
)  # fmt: skip
def test_how_requests_are_cut(carried: int, length: int, cut: dict[int, int]) -> None:
    assert pieces(carried, length) == cut


@pytest.mark.parametrize(("carried", "share"), [(1024, 0.0), (3584, 0.0), (4096, 1.0), (8192, 1.0), (8704, 0.5625)])
def test_what_of_128_kib_arrives_whole(carried: int, share: float) -> None:
    assert whole_share(carried, 131072) == share


@given(MTUS, BLOCKS)
def test_right_mtus_carry_whole_blocks_and_the_next_ones_do_not(largest: int, block: int) -> None:
    found = good_mtus(largest, block)
    if found is None:
        assert not any(aligned(mtu, block) for mtu in range(68, largest + 1, 97))
        return
    low, high = found
    assert low <= high <= largest
    assert aligned(low, block)
    assert aligned(high, block)
    assert not aligned(low - 1, block) or payload(low - 1) != payload(low)
    assert high == largest or payload(high + 1) != payload(high)


@given(MTUS)
def test_a_frame_fits(mtu: int) -> None:
    assert payload(mtu) == FALLBACK or payload(mtu) + 36 <= mtu
    assert payload(mtu) % SECTOR == 0


@given(PAYLOADS, st.integers(1, 256).map(lambda n: n * SECTOR), BLOCKS)
def test_pieces_are_all_of_a_request(carried: int, length: int, block: int) -> None:
    cut = pieces(carried, length, block)
    assert sum(size * count for size, count in cut.items()) == length
    assert max(cut) <= min(carried, block)
    assert 0 <= whole_share(carried, length, block) <= 1
    if carried % block == 0 and length % block == 0:
        assert cut == {block: length // block}


@given(PAYLOADS, st.sampled_from([4096, 16384, 131072, 524288]))
def test_frames_are_never_contradicted_by_what_they_make_themselves(carried: int, length: int) -> None:
    cut = pieces(carried, length)
    small = 1 - cut.get(4096, 0) / sum(cut.values())
    assert small <= max_partial_share(carried, 4096)
    row = RequestSizes(counter="queue", device="sda", direction="write", sizes=cumulative(cut))
    assert TargetSizes(row, cut, small, lately=True, seconds=1.0).frame(carried, 4096, 0.5) is None


@given(st.integers(2, 7).map(lambda sectors: sectors * SECTOR), st.sampled_from([16384, 131072]))
def test_smaller_frames_than_the_mtu_makes_are_told_by_their_largest_piece(carried: int, length: int) -> None:
    cut = pieces(carried, length)
    row = RequestSizes(counter="queue", device="sda", direction="write", sizes=cumulative(cut))
    assert TargetSizes(row, cut, 1.0, lately=True, seconds=1.0).frame(8192, 4096, 0.5) == carried
    assert TargetSizes(row, cut, 1.0, lately=False, seconds=None).frame(8192, 4096, 0.5) is None
