"""The pace of a rebuild, on progress that is known exactly."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.analysis.rebuilds.pace import Trend, is_stalled, pace

MB = 1e6
TOTAL = 1e6 * MB


def steady(rate: float, seconds: int, done: float = 0.0) -> list[tuple[float, float]]:
    return [(float(t), done + rate * t) for t in range(seconds + 1)]


def test_nothing_seen() -> None:
    assert pace([], TOTAL) is None


def test_one_reading_has_no_rate() -> None:
    seen = pace([(5.0, 3 * MB)], TOTAL)
    assert seen is not None
    assert (seen.rate, seen.eta, seen.confidence, seen.unchanged, seen.moved) == (None, None, None, 0, 0)


def test_a_steady_rebuild_is_sure() -> None:
    seen = pace(steady(100 * MB, 60, 500 * MB), TOTAL)
    assert seen is not None
    assert seen.rate == pytest.approx(100 * MB)
    assert seen.eta == pytest.approx((TOTAL - 6500 * MB) / (100 * MB))
    assert seen.soonest is not None
    assert seen.latest is not None
    assert seen.eta is not None
    assert seen.eta * 0.97 < seen.soonest < seen.eta < seen.latest < seen.eta * 1.03
    assert seen.trend is Trend.STEADY
    assert seen.confidence is not None
    assert seen.confidence > 0.95


def test_a_short_look_is_less_sure() -> None:
    long, short = pace(steady(MB, 60), TOTAL), pace(steady(MB, 12), TOTAL)
    assert long is not None
    assert short is not None
    assert long.confidence is not None
    assert short.confidence is not None
    assert short.confidence < 0.5 < long.confidence


def test_steps_of_a_throttled_rebuild_are_no_stall_and_do_not_bias_the_rate() -> None:
    samples = [(float(t), 8 * MB * (t // 4)) for t in range(61)]
    for end in range(30, 61):
        seen = pace(samples[:end], TOTAL)
        assert seen is not None
        assert seen.rate == pytest.approx(2 * MB, rel=0.01)
        assert not is_stalled(seen)


@pytest.mark.parametrize(
    ("rates", "trend"), [((100, 50), Trend.SLOWING), ((50, 100), Trend.RISING), ((100, 96), Trend.STEADY)]
)
def test_trend(rates: tuple[float, float], trend: Trend) -> None:
    samples = steady(rates[0] * MB, 30)
    samples += [(30.0 + t, samples[-1][1] + rates[1] * MB * t) for t in range(1, 31)]
    seen = pace(samples, TOTAL)
    assert seen is not None
    assert seen.trend is trend


def test_noise_widens_the_interval_and_the_truth_is_in_it() -> None:
    chance = random.Random(7)
    inside = 0
    for _ in range(200):
        done, samples = 0.0, []
        for t in range(61):
            samples.append((float(t), done))
            done += chance.uniform(20, 180) * MB
        seen = pace(samples, TOTAL)
        assert seen is not None
        assert seen.soonest is not None
        truth = (TOTAL - samples[-1][1]) / (100 * MB)
        inside += seen.soonest <= truth <= (seen.latest or float("inf"))
    assert inside >= 188


def test_a_run_that_began_again_is_judged_alone() -> None:
    samples = [*steady(300 * MB, 30), *[(31.0 + t, 10 * MB * t) for t in range(30)]]
    seen = pace(samples, TOTAL)
    assert seen is not None
    assert seen.rate == pytest.approx(10 * MB)
    assert seen.seconds == 29


def test_what_lay_before_a_stall_does_not_count_after_it() -> None:
    samples = steady(10 * MB, 20)
    samples += [(21.0 + t, 200 * MB) for t in range(30)]
    samples += [(51.0 + t, 200 * MB + 10 * MB * (t + 1)) for t in range(20)]
    seen = pace(samples, TOTAL)
    assert seen is not None
    assert seen.rate == pytest.approx(10 * MB)
    assert not is_stalled(seen)


@pytest.mark.parametrize(("still", "stood"), [(9, False), (10, True), (11, True)])
def test_a_stall_begins_after_ten_seconds(still: int, stood: bool) -> None:  # noqa: FBT001  # a table
    samples = steady(MB, 20)
    samples += [(20.0 + t, 20 * MB) for t in range(1, still + 1)]
    seen = pace(samples, TOTAL)
    assert seen is not None
    assert seen.unchanged == still
    assert is_stalled(seen) is stood


@pytest.mark.parametrize(("still", "stood"), [(14, False), (15, True)])
def test_rests_that_are_usual_are_no_stall(still: int, stood: bool) -> None:  # noqa: FBT001  # a table
    samples = [(float(t), MB * (t // 5)) for t in range(31)]
    samples += [(30.0 + t, samples[-1][1]) for t in range(1, still + 1)]
    seen = pace(samples, TOTAL)
    assert seen is not None
    assert seen.longest_pause == 5
    assert is_stalled(seen) is stood


def test_two_readings_are_not_enough_for_a_stall() -> None:
    two, three = pace([(0.0, MB), (60.0, MB)], TOTAL), pace([(0.0, MB), (30.0, MB), (60.0, MB)], TOTAL)
    assert two is not None
    assert three is not None
    assert (is_stalled(two), is_stalled(three)) == (False, True)


@given(
    st.lists(st.tuples(st.floats(0.001, 100), st.integers(-1000, 1000)), min_size=1, max_size=40), st.integers(0, 10**6)
)
def test_no_progress_breaks_it(steps: list[tuple[float, int]], total: int) -> None:
    now, done, samples = 0.0, 0, []
    for wait, move in steps:
        now, done = now + wait, max(done + move, 0)
        samples.append((now, float(done)))
    seen = pace(samples, total)
    assert seen is not None
    assert seen.unchanged >= 0
    assert seen.seconds >= seen.unchanged
    assert seen.rate is None or seen.rate > 0
    assert seen.confidence is None or 0 <= seen.confidence <= 1
    if seen.eta is not None:
        assert seen.soonest is not None
        assert 0 <= seen.soonest <= seen.eta <= (seen.latest or float("inf")) or seen.eta == 0
