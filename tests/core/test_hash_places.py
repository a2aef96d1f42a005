"""HashPlaces of 64-bit hashes."""

import random

from sdstop.core.hash_places import NONE, HashPlaces


def test_places_are_in_the_order_of_adding() -> None:
    dice = random.Random(1)
    keys = list(dict.fromkeys(dice.randrange(-(1 << 63), 1 << 63) for _ in range(5000)))
    places = HashPlaces()
    for key in keys:
        assert places.find(key) == NONE
        places.add(key)
    assert [places.find(key) for key in keys] == list(range(len(keys)))
    assert len(places) == len(keys)


def test_keys_that_fall_into_the_same_slot_have_places_of_their_own() -> None:
    places = HashPlaces()
    keys = [number << 40 for number in range(600)]
    for key in keys:
        places.add(key)
    assert [places.find(key) for key in keys] == list(range(600))
    assert places.find(600 << 40) == NONE


def test_a_copy_does_not_change() -> None:
    places = HashPlaces()
    places.add(7)
    copied = places.copy()
    places.add(8)
    assert (copied.find(7), copied.find(8), len(copied)) == (0, NONE, 1)
