"""Pauses between samples are said, and usual intervals are none."""

import pytest

from sdstop.core.evidence import UNDATED, Frame
from sdstop.core.pauses import Pauses

START = 1_763_900_000.0


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((1, 1, 15, 1), ""),
        ((1, 1, 16, 1), "no sample for 16s from 2025-11-23 12:13:22Z"),
        ((1, 1, 16, 1, 40, 1), "no sample in 2 pauses of 56s, the longest of 40s from 2025-11-23 12:13:39Z"),
        ((1800, 1800, 1800), ""),
        ((1800,), ""),
        ((10, 10, 30, 10), ""),
        ((10, 10, 31, 10), "no sample for 31s from 2025-11-23 12:13:40Z"),
        ((1, 1, 16, 40, 1), "no sample in 2 pauses of 56s, the longest of 40s from 2025-11-23 12:13:38Z"),
        ((1, 20, 20, 20), "no sample for 20s from 2025-11-23 12:13:21Z"),  # another interval
        ((), ""),
    ],
)
def test_a_pause_is_longer_than_three_intervals(steps: tuple[int, ...], said: str) -> None:
    pauses = Pauses()
    for number in range(len(steps) + 1):
        passed = float(sum(steps[:number]))
        pauses.add(Frame(number + 1, START + passed, 100 + passed))
    assert pauses.said == said


def test_without_dates_only_the_length_is_said() -> None:
    pauses = Pauses()
    for number, passed in enumerate((0, 1, 2, 90), 1):
        pauses.add(Frame(number, UNDATED + passed, float(passed)))
    assert pauses.said == "no sample for 1m28"


def test_the_wall_clock_makes_no_pause() -> None:
    pauses = Pauses()
    for number, taken in enumerate((0, 1, 7200, 7201), 1):
        pauses.add(Frame(number, START + taken, float(number)))
    assert not pauses.said
