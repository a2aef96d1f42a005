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
