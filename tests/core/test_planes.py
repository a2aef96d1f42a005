"""Byte planes return every number."""

from __future__ import annotations

import zlib
from array import array

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.planes import deflated, joined, planes_of


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)), min_size=1, max_size=9))
def test_planes_have_the_bytes_of_numbers(numbers: list[int]) -> None:
    raw = b"".join(number.to_bytes(8, "little") for number in numbers)
    planes = planes_of(raw, 8)
    assert len(planes) == 8
    assert joined(planes, len(numbers)) == raw
    assert [plane is None for plane in planes] == [not any(raw[place::8]) for place in range(8)]


@given(st.binary(max_size=600), st.integers(1, 40))
def test_a_deflated_plane_is_an_ordinary_stream(plane: bytes, times: int) -> None:
    assert zlib.decompress(deflated(plane * times)) == plane * times


def test_numbers_of_four_bytes_that_are_small_have_one_plane() -> None:
    assert planes_of(array("I", [1, 2, 3]).tobytes(), 4) == [b"\x01\x02\x03", None, None, None]
