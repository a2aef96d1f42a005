"""Averages without the module `statistics`, which has them too."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.averages import fmean, median

_NUMBERS = st.lists(st.floats(-1e9, 1e9) | st.integers(-1000, 1000), min_size=1, max_size=9)


@given(_NUMBERS)
def test_they_are_those_of_the_standard_library(values: list[float]) -> None:
    assert median(values) == statistics.median(values)
    assert fmean(iter(values)) == statistics.fmean(values)


def test_of_nothing_there_is_none() -> None:
    for average in (median, fmean):
        with pytest.raises(ValueError, match="no values"):
            average([])
