"""Trends of spaces that fill."""

from __future__ import annotations

import pytest

from sdstop.analysis.space.filling import FORESEEN, LEAST, filling

GIB = float(1 << 30)


@pytest.mark.parametrize(
    ("seconds", "ahead", "words"),
    [
        (10.0, 1000.0, ", full in 16m40 at this rate"),
        (10.0, 10.0 * FORESEEN, ", full in 33m20 at this rate"),
        (10.0, 10.0 * FORESEEN + 1.0, ""),
        (600.0, 86_400.0, ", full in 24h00 at this rate"),
    ],
)
def test_ten_seconds_do_not_foretell_the_next_hours(seconds: float, ahead: float, words: str) -> None:
    rate = GIB / ahead
    known = filling([(0.0, GIB - rate * seconds), (seconds, GIB)], 2 * GIB)
    assert known is not None
    assert known.full_in == pytest.approx(ahead)
    assert known.words == words


def test_a_trend_takes_some_seconds() -> None:
    known = filling([(0.0, 0.5 * GIB), (LEAST - 0.1, GIB)], 2 * GIB)
    assert known is not None
    assert known.rate is None
    assert known.words == ""
