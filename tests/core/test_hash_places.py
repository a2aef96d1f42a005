"""HashPlaces of 64-bit hashes in buffers."""

from __future__ import annotations

import random
from array import array

from sdstop.core.hash_places import BITS, FLAT, LAST, NONE, HashPlaces


def claimed(places: HashPlaces, part: array[int]) -> list[bool]:
    number = places.number(part)
    return [places.claim(number, index) for index in range(len(part))]


def test_a_key_has_its_index_in_the_first_buffer_that_claimed_it() -> None:
    dice = random.Random(1)
    keys = list(dict.fromkeys(dice.randrange(-(1 << 63), 1 << 63) for _ in range(5000)))
    parts = [array("q", keys[start : start + LAST + 1]) for start in range(0, len(keys), LAST + 1)]
    places = HashPlaces()
    assert {places.find(key) for key in keys} == {NONE}
    for _ in range(2):
        for number, part in enumerate(parts):
            assert places.number(part) == number
            assert all(claimed(places, part))
        assert [places.find(key) for key in keys] == list(range(len(keys)))
        assert len(places) == len(keys)


def test_keys_that_fall_into_the_same_slot_have_places_of_their_own() -> None:
    places = HashPlaces()
    part = array("q", [number << 40 for number in range(500)])
    assert all(claimed(places, part))
    assert [places.find(key) for key in part] == list(range(500))
    assert places.find(600 << 40) == NONE


def test_a_key_of_another_buffer_is_not_free() -> None:
    places = HashPlaces()
    first, second = array("q", [7, 8]), array("q", [8, 9])
    assert places.is_free(first, 0)
    assert places.claim(places.number(first), 1)
    assert [places.is_free(first, index) for index in (0, 1)] == [True, True]
    assert [places.is_free(second, index) for index in (0, 1)] == [False, True]
    assert claimed(places, second) == [False, True]
    assert places.find(9) == 1 << BITS | 1
    assert (places.find(7), len(places)) == (NONE, 2)


def test_of_two_keys_with_one_hash_the_first_has_the_place() -> None:
    places = HashPlaces()
    assert claimed(places, array("q", [5, 5])) == [True, False]
    assert (places.find(5), len(places)) == (0, 1)


def test_keys_without_buffers_have_places_in_the_order_of_adding() -> None:
    dice = random.Random(1)
    keys = list(dict.fromkeys(dice.randrange(-(1 << 63), 1 << 63) for _ in range(5000)))
    places = HashPlaces(FLAT)
    for key in keys:
        assert places.find(key) == NONE
        places.add(key)
    assert [places.find(key) for key in keys] == list(range(len(keys)))
    assert len(places) == len(keys)
