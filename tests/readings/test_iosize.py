"""Request sizes as readings."""

import math

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.format import cell
from sdstop.core.model import schema
from sdstop.readings.iosize import EXPORTED, RequestSizes, cumulative

COUNTS = st.dictionaries(st.integers(1, 1 << 24), st.integers(1, 1 << 50), max_size=20)


def sizes(counts: dict[int, int], larger: int | None = None, exact: int = 1) -> RequestSizes:
    return RequestSizes(
        counter="issue", device="sda", direction="read", sizes=cumulative(counts), larger=larger, exact=exact
    )


@given(COUNTS, st.none() | st.integers(0, 99))
def test_the_exported_histogram_counts_what_is_at_most_its_bound(counts: dict[int, int], larger: int | None) -> None:
    told = sizes(counts, larger).histogram
    if not counts and not larger:
        assert told == {}
        return
    assert list(told) == [*EXPORTED, math.inf]
    for bound in EXPORTED:
        assert told[bound] == sum(count for size, count in counts.items() if size <= bound)
    assert told[math.inf] == sum(counts.values()) + (larger or 0)


@given(COUNTS.filter(bool), st.integers(0, 99))
def test_ranges_keep_their_bounds(counts: dict[int, int], larger: int) -> None:
    reading = sizes(counts, larger, exact=0)
    told = reading.histogram
    assert told.pop(math.inf) == sum(counts.values()) + larger
    assert told == reading.sizes


def test_a_cell_names_the_sizes_that_are_most_in_their_order() -> None:
    column = schema(RequestSizes).column("sizes")
    counts = {512: 20, 1024: 1, 3584: 18, 4096: 40, 65536: 22}
    assert cell(column, cumulative(counts)) == "101: 512 19.8%, 3.5K 17.8%, 4K 39.6%, 64K 21.8%"
    assert cell(column, {}) == "0"
    assert cell(column, None) == "-"
