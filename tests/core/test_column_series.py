"""Series of columns return every number as it was added."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.column_series import ColumnSeries, Reprint, Row

MOST = 5


def printer(columns: Row) -> bytes:
    return repr([list(column) for column in columns]).encode()


def reprint(columns: Row) -> Reprint:
    return Reprint("/m", b"", columns, printer)


NARROW, WIDE = st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1)
ROWS = st.integers(1, 4).flatmap(
    lambda count: st.lists(
        st.tuples(
            st.lists(NARROW, min_size=count, max_size=count).map(lambda numbers: array("I", numbers)),
            st.lists(WIDE, min_size=count, max_size=count).map(lambda numbers: array("q", numbers)),
        ),
        min_size=1,
        max_size=MOST,
    )
)


@given(ROWS, st.data())
def test_every_version_is_printed_as_it_was_added(
    rows: list[tuple[array[int], array[int]]], data: st.DataObject
) -> None:
    series = ColumnSeries(printer, MOST)
    for added, row in enumerate(rows, 1):
        assert series.takes(reprint(row)) or added == 1
        series.add(reprint(row))
        count, version = series.reader()
        assert count == added == series.count
        assert [version(at) for at in range(count)] == [printer(each) for each in rows[:added]]
        order = data.draw(st.lists(st.integers(0, count - 1), max_size=4))
        assert [version(at) for at in order] == [printer(rows[at]) for at in order]
    assert (series.size > 0) is (len(rows) == MOST)
    assert series.takes(reprint(rows[0])) is (len(rows) < MOST)


def test_other_columns_and_other_printers_begin_another_series() -> None:
    series = ColumnSeries(printer, MOST)
    series.add(reprint([array("I", [1, 2])]))
    assert series.takes(reprint([array("I", [3, 4])]))
    assert not series.takes(reprint([array("q", [3, 4])]))
    assert not series.takes(reprint([array("I", [3])]))
    assert not series.takes(reprint([array("I", [3, 4]), array("I", [3, 4])]))
    assert not series.takes(Reprint("/m", b"", [array("I", [3, 4])], lambda _: b""))
