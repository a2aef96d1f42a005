"""Places of 64-bit hashes: a hash table of numbers, a quarter of the memory of a dict of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

NONE = -1
"""Place of a key that has none."""
_FEWEST_SLOTS = 1024
"""Slots of an empty table."""


class HashPlaces:
    """Places of keys, which are 64-bit hashes: 0 for the first one that was added, 1 for the next, and so on.

    Adding is not safe beside other calls; reading from several threads is.
    """

    __slots__ = ("_keys", "_slots")

    def __init__(self) -> None:
        """Start without a key."""
        self._slots = array("i", [NONE]) * _FEWEST_SLOTS
        """Place of a key, at the first free slot from that of its hash."""
        self._keys = array("q")

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def find(self, key: int) -> int:
        """Return the place of a key, NONE if it was not added."""
        slots, keys = self._slots, self._keys
        last = len(slots) - 1
        slot = key & last
        while (place := slots[slot]) != NONE and keys[place] != key:
            slot = (slot + 1) & last
        return place

    def add(self, key: int) -> None:
        """Add a key that has no place yet."""
        if (len(self._keys) + 1) * 4 > len(self._slots) * 3:
            slots, keys = array("i", [NONE]) * (2 * len(self._slots)), self._keys
            for place, known in enumerate(keys):
                slots[_free(slots, known)] = place
            self._slots = slots
        slot = _free(self._slots, key)
        self._keys.append(key)
        self._slots[slot] = len(self._keys) - 1

    def copy(self) -> HashPlaces:
        """Return a copy."""
        made = HashPlaces()
        made._slots, made._keys = self._slots[:], self._keys[:]
        return made


def _free(slots: array[int], key: int) -> int:
    """Return the slot where a key belongs that is not in the table."""
    last = len(slots) - 1
    slot = key & last
    while slots[slot] != NONE:
        slot = (slot + 1) & last
    return slot
