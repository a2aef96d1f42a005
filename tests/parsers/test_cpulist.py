"""Lists of CPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.cpulist import cpulist, parse_cpulist


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8\n", {0, 1, 2, 3, 8}), ("5", {5}), ("\n", set()), ("", set())],
)
def test_lists(text: str, cpus: set[int]) -> None:
    assert parse_cpulist(text) == frozenset(cpus)


@pytest.mark.parametrize("text", [None, "x", "3-1", "0-", "0-99999", "0-3:1/2", "1,,2", "-1"])
def test_what_is_none(text: str | None) -> None:
    assert parse_cpulist(text) is None


@given(st.frozensets(st.integers(0, 4000), max_size=60))
def test_both_ways(cpus: frozenset[int]) -> None:
    assert parse_cpulist(cpulist(cpus)) == cpus


@given(st.text(max_size=30))
def test_no_text_raises_anything(text: str) -> None:
    found = parse_cpulist(text)
    assert found is None or parse_cpulist(cpulist(found)) == found
