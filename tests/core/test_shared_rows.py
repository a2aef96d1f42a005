"""Rows that equal those of the run before are the same objects."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Annotated, Any, ClassVar

import pytest

from sdstop.core.model import Fact, Label, Metric, Reading
from sdstop.core.shared_rows import share


class State(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Row(Reading, frozen=True):
    """A row with anything."""

    family: ClassVar[str] = "row"
    title: ClassVar[str] = "Rows"

    name: Annotated[str, Label("Name", "h")]
    value: Annotated[Any, Metric("Value", "h")] = None
    more: Annotated[Any, Fact("More", "h")] = None


@pytest.mark.parametrize("value", ["a", b"b", 1, 1.5, True, None, (1, "a", (None, 2.0)), State.GOOD])
def test_equal_rows_are_shared(value: object) -> None:
    old = Row("a", value)
    rows: dict[Hashable, Reading] = {"a": Row("a", value), "b": Row("b", value)}
    new = rows["b"]
    share(rows, {"a": old})
    assert rows["a"] is old
    assert rows["b"] is new
    assert list(rows) == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new"),
    [(1, 1.0), (1, True), (0.0, False), ((1, 2), (1, 2.0)), (State.GOOD, State.BAD), ("a", "b"), ([1], [1.0])],
)
def test_rows_that_differ_in_a_type_are_not(old: object, new: object) -> None:
    rows: dict[Hashable, Reading] = {"a": Row("a", new)}
    made = rows["a"]
    share(rows, {"a": Row("a", old)})
    assert rows["a"] is made


def test_equal_values_of_many_new_rows_are_one_object() -> None:
    def row(number: int) -> Row:
        return Row(f"disk {number}", int("4096"), b"mq".decode())

    rows: dict[Hashable, Reading] = {number: row(number) for number in range(100)}
    before: dict[Hashable, Reading] = {0: row(0)}
    share(rows, before)
    assert rows[0] is before[0]
    assert rows == {number: row(number) for number in range(100)}
    assert len({id(each.value) for each in list(rows.values())[1:] if isinstance(each, Row)}) == 1
    assert len({id(each.more) for each in list(rows.values())[1:] if isinstance(each, Row)}) == 1


def test_equal_values_of_other_types_stay() -> None:
    rows: dict[Hashable, Reading] = {
        n: Row(str(n), (1, True, 1.0)[n % 3], (None, True, -0.0)[n % 3]) for n in range(99)
    }
    share(rows, {})
    values = [(each.value, each.more) for each in rows.values() if isinstance(each, Row)]
    assert [(type(a), repr(b)) for a, b in values[:3]] == [(int, "None"), (bool, "True"), (float, "-0.0")]


def test_a_table_of_the_same_rows_in_the_same_order_is_the_one_of_the_run_before() -> None:
    before: dict[Hashable, Reading] = {name: Row(name, 1) for name in "abc"}
    assert share({name: Row(name, 1) for name in "abc"}, before) is before
    for names, value in (("abc", 2), ("acb", 1), ("ab", 1), ("abcd", 1)):
        rows: dict[Hashable, Reading] = {name: Row(name, value) for name in names}
        assert share(rows, before) is rows
