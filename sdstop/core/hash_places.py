"""Places of keys in buffers: a hash table of numbers that refers to the hashes that the buffers have anyway."""

from __future__ import annotations

from array import array

NONE = -1
"""Place of a key that has none."""
_FEWEST_SLOTS = 1024
"""Slots of an empty table."""
BITS = 9
"""Of a place, those of the key's index in its buffer; the others are the number of the buffer."""
LAST = (1 << BITS) - 1
"""Highest index in a buffer."""
FLAT = 31
"""Bits with which one array has all keys."""


class HashPlaces:
    """Places of keys, which are 64-bit hashes: the first buffer with a key that claimed it, and its index there.

    Several states of a node can share it. Claiming is not safe beside claiming; finding from several threads is.
    """

    __slots__ = ("_bits", "_count", "_parts", "_slots")

    def __init__(self, bits: int = BITS) -> None:
        """Start without a key. Without buffers (FLAT) a place is an index: small arrays would keep a heap in pieces."""
        self._bits = bits
        self._slots = array("i", [NONE]) * _FEWEST_SLOTS
        """Place of a key, at the first free slot from that of its hash."""
        self._parts: list[array[int]] = []
        """Hashes of the buffers, by their numbers."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, key: int) -> int:
        """Return the place of a key, NONE if nothing claimed it."""
        slots, parts, bits = self._slots, self._parts, self._bits
        last, within = len(slots) - 1, (1 << bits) - 1
        slot = key & last
        while (place := slots[slot]) != NONE and parts[place >> bits][place & within] != key:
            slot = (slot + 1) & last
        return place

    def is_free(self, hashes: array[int], index: int) -> bool:
        """Return whether a buffer with these hashes can claim the key at an index, or has done so."""
        place = self.find(hashes[index])
        return place == NONE or (self._parts[place >> BITS] is hashes and place & LAST == index)

    def number(self, hashes: array[int]) -> int:
        """Return the number of the buffer with these hashes."""
        parts = self._parts
        known = next((number for number in reversed(range(len(parts))) if parts[number] is hashes), None)
        if known is None:
            parts.append(hashes)
        return len(parts) - 1 if known is None else known

    def claim(self, number: int, index: int) -> bool:
        """Give the key at an index of a buffer its place there; return False if the key has another place."""
        if (self._count + 1) * 4 > len(self._slots) * 3:
            self._slots = self._widened()
        slots, parts, bits = self._slots, self._parts, self._bits
        last, within, here = len(slots) - 1, (1 << bits) - 1, number << bits | index
        key = parts[number][index]
        slot = key & last
        while (place := slots[slot]) != NONE:
            if parts[place >> bits][place & within] == key:
                return place == here
            slot = (slot + 1) & last
        slots[slot] = here
        self._count += 1
        return True

    def add(self, key: int) -> None:
        """Add a key that has no place to the array of a FLAT table: the places are 0, 1, and so on."""
        if not self._parts:
            self._parts.append(array("q"))
        self._parts[0].append(key)
        self.claim(0, len(self._parts[0]) - 1)

    def _widened(self) -> array[int]:
        slots, parts, bits = array("i", [NONE]) * (2 * len(self._slots)), self._parts, self._bits
        last, within = len(slots) - 1, (1 << bits) - 1
        for place in self._slots:
            if place != NONE:
                slot = parts[place >> bits][place & within] & last
                while slots[slot] != NONE:
                    slot = (slot + 1) & last
                slots[slot] = place
        return slots
