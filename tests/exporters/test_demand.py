"""When pages are asked for, and the next one is expected."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sdstop.exporters.prometheus.demand import Demand


def told(*times: float) -> Demand:
    demand = Demand()
    for at in times:
        demand.note(at)
    return demand


@pytest.mark.parametrize("times", [(), (50.0,), (50.0, 50.4)])
def test_nobody_knows_the_time_of_the_second_page(times: tuple[float, ...]) -> None:
    assert all(told(*times).expects(float(now), 2.0) for now in range(50, 200))


def test_a_page_is_due_at_the_usual_time_and_then_overdue() -> None:
    demand = told(0.0, 15.0, 30.0)
    assert [now for now in range(30, 60) if demand.expects(float(now), 2.0)] == list(range(43, 60))


def test_two_servers_are_expected_by_their_shorter_gap() -> None:
    demand = told(0.0, 4.0, 15.0, 19.0)
    assert not demand.expects(20.0, 2.0)
    assert demand.expects(21.0, 2.0)
    demand = told(0.0, 0.3, 15.0, 15.2, 30.0)
    assert not demand.expects(42.0, 2.0)
    assert demand.expects(43.0, 2.0)


def test_regular_pages_find_what_was_made_shortly_before() -> None:
    pages = [7.5 + 15 * n for n in range(20)]
    demand, made, waited = Demand(), -10.0, []
    for before, now in pairwise(range(310)):
        for page in pages:
            if before < page <= now:
                demand.note(page)
                waited.append(page - made)
        if now - made >= 5 and demand.expects(now, 2.5):
            made = now
    assert max(waited[2:]) < 3


def test_a_clock_that_went_back_delays_nothing() -> None:
    assert told(1000.0, 1015.0).expects(3.0, 2.0)
