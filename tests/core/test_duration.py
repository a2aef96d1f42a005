"""Durations that users type."""

from __future__ import annotations

import pytest

from sdstop.core.duration import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("1h30", 3630.0), ("2d", 172_800.0), ("0.5s", 0.5),
        ("500ms", 0.5), ("1m500ms", 60.5),
    ],
)  # fmt: skip
def test_numbers_have_units(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-5m", "5 m", "5m ", "5y", "1.h", ".5s", "5s\n", "30 1h", "9" * 12, "٣s"])
def test_anything_else_is_none(text: str) -> None:
    assert seconds_of(text) is None
