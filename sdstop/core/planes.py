"""Byte planes: the lowest bytes of all numbers, then the next ones; planes of zeros are left out.

Differences of counters have one or two bytes, and the bytes of one plane resemble each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

Planes = Sequence[bytes | None]
"""The planes of some numbers, the lowest first; None: all its bytes are 0."""
_BEST = 9
"""Memory level of zlib at which the planes of most nodes are one block, with codes of their own."""


def planes_of(raw: bytes, width: int) -> Planes:
    """Return the planes of numbers of `width` bytes each, little-endian."""
    zero = bytes(len(raw) // width)
    found = [raw[plane::width] for plane in range(width)]
    return [None if plane == zero else plane for plane in found]


def joined(planes: Planes, count: int) -> bytearray:
    """Return the bytes of `count` numbers, little-endian."""
    raw, width = bytearray(count * len(planes)), len(planes)
    for place, plane in enumerate(planes):
        if plane is not None:
            raw[place::width] = plane
    return raw


def deflated(plane: bytes) -> bytes:
    """Return a plane deflated: that of busy devices by the frequency of its bytes, of idle ones by repetitions, too.

    Repetitions among random bytes are short: a reference takes more room than they do.
    """
    runs = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, _BEST, zlib.Z_RLE)
    found = runs.compress(plane) + runs.flush()
    return found if 2 * len(found) > len(plane) else min(found, zlib.compress(plane, 1), key=len)
