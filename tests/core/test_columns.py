"""Tables of columns: the same rows as a dict of them, shared from run to run, and results that are kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.columns import Columns, value_of
from sdstop.core.evidence import Outcome
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Label, Metric, Reading, key_of
from sdstop.core.snapshot import MergedRows, Run, column_parts
from sdstop.core.structure import facts


class Group(Reading, frozen=True):
    """A limited group."""

    family: ClassVar[str] = "group"
    title: ClassVar[str] = "Groups"
    numerous: ClassVar[bool] = True

    things: ClassVar = {"device": Identity(ThingKind.DEVICE, Naming.DEV)}

    device: Annotated[str, Label("Device", "h")]
    owner: Annotated[str, Label("Owner", "h")]
    limit: Annotated[float | None, Metric("Limit", "h")]
    done: Annotated[int | None, Metric("Done", "h")] = None

    @property
    def subject(self) -> str:
        """A name."""
        return f"{self.device}@{self.owner}"

    def exceeds(self, most: int) -> bool:
        """A method."""
        return (self.done or 0) > most


def table(rows: list[Group], like: Columns | None = None) -> Columns:
    values = {name: [getattr(row, name) for row in rows] for name in Group.__struct_fields__}
    return Columns(Group, values, like)


def test_rows_that_equal_those_before() -> None:
    before = table([Group("a", "x", 1.0, 1), Group("b", "x", 2.0, None), Group("c", "x", None, 3)])
    after = table([Group("a", "x", 1.0, 1), Group("b", "x", 2.0, 2), Group("c", "x", 1.0, 3)], before)
    assert after.alike(before) == [True, False, False]
    assert after.alike(after) == [True, True, True]
    assert table([Group("a", "x", 1, 1)]).alike(before) is None
    one = table([Group("a", "x", 1.0, 1)])
    assert table([Group("a", "x", 1, 1)], one).alike(one) == [False]  # it is not shown alike


NUMBERS = st.one_of(st.none(), st.integers(-1, 1 << 65))
ROWS = st.lists(
    st.builds(
        Group, st.sampled_from("ab"), st.sampled_from("xyz"), st.one_of(st.none(), st.floats(allow_nan=False)), NUMBERS
    ),
    max_size=8,
)


@given(ROWS, ROWS)
def test_a_table_has_the_rows_of_a_dict(before: list[Group], rows: list[Group]) -> None:
    """Of rows with the same key the last one counts; sharing with a table before changes nothing."""
    wanted: Mapping[Hashable, Group] = {key_of(Group)(row): row for row in rows}
    for made in (table(rows), table(rows, table(before)), Columns.of(Group, wanted, table(before))):
        assert repr(dict(made)) == repr(wanted)
        assert repr(list(made.values())) == repr(list(wanted.values()))
        assert len(made) == len(wanted)
        for key in [*wanted, ("c", "x")]:
            assert made.get(key) == wanted.get(key)
            assert (key in made) is (key in wanted)


def test_a_number_that_becomes_a_fraction_is_shown_as_one() -> None:
    """1 and 1.0 are equal; a column is shared only if the values are shown alike."""
    whole, fraction = (table([Group("a", "x", limit)], None) for limit in (1, 1.0))
    again = table([Group("a", "x", 1.0)], whole)
    assert [repr(next(iter(each.values())).limit) for each in (whole, fraction, again)] == ["1", "1.0", "1.0"]  # type: ignore[attr-defined]


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        table([])["a", "x"]


def test_what_stands_still_is_shared() -> None:
    first = table([Group("a", "x", 9.0, 1), Group("a", "y", None, 2)])
    second = table([Group("a", "x", 9.0, 5), Group("a", "y", None, 2)], first)
    assert second.index is first.index
    assert second.column("limit") is first.column("limit")
    assert second.column("done") is not first.column("done")
    third = table([Group("a", "y", None, 2)], second)
    assert list(second.beside(third)) == [1]
    assert list(third.beside(second)) == [None, 0]
    assert list(first.beside(second)) == [0, 1]


def test_a_result_is_kept_until_a_field_that_it_read_changes() -> None:
    asked: list[int] = []

    def large(rows: Iterator[Any]) -> list[str]:
        asked.append(1)
        return [row.subject for row in rows if row.limit]

    first = table([Group("a", "x", 9.0, 1), Group("a", "y", None, 2)])
    assert first.once("large", large) == ["a@x"]
    second = table([Group("a", "x", 9.0, 7), Group("a", "y", None, 8)], first)
    assert second.once("large", large) == ["a@x"]
    assert len(asked) == 1  # only `done` moved, which it does not read
    third = table([Group("a", "x", None, 7), Group("a", "y", 3.0, 8)], second)
    assert third.once("large", large) == ["a@y"]
    fewer = table([Group("a", "y", 3.0, 8)], third)
    assert fewer.once("large", large) == ["a@y"]
    assert len(asked) == 3


def test_what_a_method_reads_is_noted_too() -> None:
    first = table([Group("a", "x", 9.0, 1)])
    second = table([Group("a", "x", 9.0, 5)], first)
    assert [each.once("k", lambda rows: [row.exceeds(3) for row in rows]) for each in (first, second)] == [
        [False], [True],
    ]  # fmt: skip


def merged(*tables: Mapping[Hashable, Reading]) -> MergedRows:
    """Return the rows of several runs."""
    runs = [Run(f"c{n}", Outcome.OK, "", 0.0, 0.0, 0.0, tables={Group: rows}) for n, rows in enumerate(tables)]
    return MergedRows(Group, runs)


def test_rows_of_several_sources_are_read_as_columns_too() -> None:
    one, other = table([Group("a", "x", 9.0)]), table([Group("b", "x", 7.0)])
    both = merged(one, other)
    assert list(column_parts(both)) == [one, other]
    assert facts(Group, both) == facts(Group, dict(both)) == (("a", "b"),)
    assert ("a", "x") in both
    assert ("c", "x") not in both
    assert not column_parts(merged(one, table([Group("a", "x", 3.0)])))  # only the first of these two rows counts
    assert not column_parts(merged(one, dict(other)))
    assert not column_parts(dict(one))


@given(ROWS)
def test_a_value_is_that_of_the_row(rows: list[Group]) -> None:
    columns, plain = table(rows), {key_of(Group)(row): row for row in rows}
    for key in (*plain, ("none", "here")):
        for name in ("done", "limit", "owner"):
            found = getattr(plain[key], name) if key in plain else None
            assert value_of(plain, key, name) == value_of(columns, key, name) == found


def test_an_aged_table_has_the_same_rows_and_columns() -> None:
    rows = [[Group(name, "x", 1.5, 100 + 70 * at * at) for name in "abc"] for at in range(4)]
    tables = [table(rows[0])]
    for some in rows[1:]:
        tables.append(table(some, tables[-1]))
    names = Group.__struct_fields__
    whole = [[list(made.column(name)) for name in names] for made in tables]
    base = tables[0].column("done")
    for made, expected, columns in zip(tables, rows, whole, strict=True):
        made.age()
        assert [list(made.column(name)) for name in names] == columns
        assert list(made.values()) == expected
        assert made.value(("b", "x"), "done") == expected[1].done
        assert made.at([("c", "x"), ("d", "x")], ["done"]) == [[expected[2].done, None]]
        assert made.alike(made) == [True, True, True]
        assert made.alike(tables[0]) == [made is tables[0]] * 3
        assert made.once("sum", lambda each: sum(row.done for row in each)) == 3 * (expected[0].done or 0)
    assert tables[0].column("done") is base
    assert tables[1].column("done") is not tables[1].column("done")  # made each time
