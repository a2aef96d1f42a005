"""Arithmetic on whole columns says what Python says number by number, or nothing."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.lanes import differences, sums

FORMS = {"I": (1 << 32) - 1, "q": (1 << 63) - 1}


def numbers(form: str) -> st.SearchStrategy[int]:
    """Return numbers of a form, most of them near its ends and near 0."""
    most = FORMS[form]
    near = [st.integers(0, 3), st.integers(most // 2 - 2, most // 2 + 2), st.integers(most - 3, most)]
    return st.one_of(st.integers(0, most), *near)


@st.composite
def rows(draw: st.DrawFn, columns: int) -> tuple[str, list[list[int]]]:
    form = draw(st.sampled_from(sorted(FORMS)))
    count = draw(st.integers(0, 20))
    return form, [draw(st.lists(numbers(form), min_size=count, max_size=count)) for _ in range(columns)]


@given(rows(2))
def test_differences_are_those_of_each_number(given_: tuple[str, list[list[int]]]) -> None:
    form, (new, old) = given_
    found = differences(array(form, new), array(form, old))
    expected = [after - before for after, before in zip(new, old, strict=True)]
    if found is not None:
        assert (found.typecode, found.tolist()) == (form, expected)
    elif all(each <= FORMS[form] >> 1 for each in (*new, *old)):
        assert min(expected) < 0


@given(st.integers(1, 3).flatmap(rows))
def test_sums_are_those_of_each_number(given_: tuple[str, list[list[int]]]) -> None:
    form, columns = given_
    found = sums([array(form, column) for column in columns])
    expected = [sum(row) for row in zip(*columns, strict=True)]
    if found is not None:
        assert (found.typecode, found.tolist()) == (form, expected)
    else:
        assert any(each > FORMS[form] >> 3 for column in columns for each in column)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ([2, 3], [1, 1]),
        (array("I", [2]), [1]),
        (array("I", [2]), array("q", [1])),
        (array("I", [2]), array("I", [1, 1])),
        (array("d", [2.0]), array("d", [1.0])),
        (array("I", [2, 0]), array("I", [1, 1])),
        (array("q", [2, -1]), array("q", [1, -2])),
    ],
)
def test_columns_of_other_forms_are_for_the_caller(new: Sequence[Any], old: Sequence[Any]) -> None:
    assert differences(new, old) is None


def test_a_column_that_stands_still_differs_by_nothing() -> None:
    column = array("q", [5, 7])
    assert differences(column, column) == array("q", [0, 0])
    assert sums([array("I"), array("I")]) == array("I")
