"""Columns of older samples have the same numbers as when they were new."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.stepped import TOGETHER, ColumnSteps, SteppedColumn

MOST = {"I": 2**32 - 1, "q": 2**62}


@st.composite
def courses(draw: st.DrawFn) -> list[array[int]]:
    """Return successive versions of a column; now and then a counter goes back, or moves by very much."""
    kind = draw(st.sampled_from("Iq"))
    count = draw(st.integers(1, 5))
    move = st.one_of(st.integers(0, 3), st.integers(0, 70_000), st.integers(-5, MOST[kind] // 4))
    numbers = draw(st.lists(st.integers(0, MOST[kind] // 2), min_size=count, max_size=count))
    found = []
    for _ in range(draw(st.integers(1, TOGETHER + 4))):
        found.append(array(kind, numbers))
        moves = draw(st.lists(move, min_size=count, max_size=count))
        numbers = [min(max(number + by, 0), MOST[kind]) for number, by in zip(numbers, moves, strict=True)]
    return found


@given(courses())
def test_every_number_stays(columns: list[array[int]]) -> None:
    steps = ColumnSteps()
    for column, kept in [(column, steps.stepped(column)) for column in columns]:
        assert len(kept) == len(column)
        assert [kept[place] for place in range(len(column))] == list(kept) == list(column)
        assert kept[1:] == column[1:]
        if isinstance(kept, SteppedColumn):
            assert kept.whole() == column
            assert kept.whole().typecode == column.typecode
        else:
            assert kept is column


def test_a_base_serves_several_columns_and_then_another_one_does() -> None:
    steps, columns = ColumnSteps(), [array("I", [number, 7]) for number in range(2 * TOGETHER + 2)]
    kept = [steps.stepped(column) for column in columns]
    whole = [place for place, column in enumerate(kept) if not isinstance(column, SteppedColumn)]
    assert whole == [0, TOGETHER + 1]


def test_equal_columns_stay_one_object_and_the_base_itself() -> None:
    steps, base, later = ColumnSteps(), array("I", [1, 2]), array("I", [1, 3])
    assert steps.stepped(base) is base
    found = steps.stepped(later)
    assert isinstance(found, SteppedColumn)
    assert steps.stepped(later) is found
    assert steps.stepped(base) is base


@pytest.mark.parametrize("column", [["sda", "sdb"], [1, None], array("d", [0.5, 1.5])])
def test_other_columns_stay_as_they_are(column: list[object]) -> None:
    steps = ColumnSteps()
    assert steps.stepped(array("I", [0, 0])) is not None
    assert steps.stepped(column) is column
