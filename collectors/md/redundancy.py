"""Remaining redundancy of an array: how many members can fail, and which ones its data depends on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}

LARGEST = 4096
"""Maximum number of disks of an array; larger ones are ignored. md supports no more than a few hundred."""


class Layout(Struct, frozen=True):
    """Parameters that determine where an array stores its copies.

    `raid_disks` is the number of members. On raid10, near copies are on neighboring members and far copies (including
    those of an offset layout) are shifted within sets of `far_set` disks (None: all disks form one set).
    """

    level: str
    raid_disks: int
    near_copies: int = 1
    far_copies: int = 1
    far_set: int | None = None


@lru_cache(256)
def copies(layout: Layout) -> frozenset[frozenset[int]]:
    """Return all sets of slots that hold the same data in a raid10, according to md's geometry.

    The near copies of chunk c occupy consecutive slots from c * near % disks. A far copy is `near` slots further,
    wrapping around within its set; the last set also includes the remaining disks.
    """
    disks = layout.raid_disks
    if not 0 < disks <= LARGEST:
        return frozenset()
    size = min(max(layout.far_set or disks, 1), disks)
    last = (disks // size - 1) * size
    found = set()
    for chunk in range(disks):
        slots: set[int] = set()
        for near in range(min(layout.near_copies, disks)):
            slot = (chunk * layout.near_copies + near) % disks
            slots.update(_far(slot, layout, size, last))
        found.add(frozenset(slots))
    return frozenset(found)


def _far(slot: int, layout: Layout, size: int, last: int) -> Iterator[int]:
    disks = layout.raid_disks
    yield slot
    for _ in range(1, min(layout.far_copies, disks)):
        moved = slot + layout.near_copies
        if disks % size and moved > last:
            # md checks the target slot, not the source slot, so some copies move from their set to the last one.
            slot = last + (moved - last) % (disks - last)  # each copy is relative to the previous one
        else:
            slot = slot // size * size + moved % size
        yield slot


def tolerated(layout: Layout, working: int, slots: str | None) -> int | None:
    """Return how many more members can fail in any combination without data loss; -1: data is already lost.

    `working` members are in sync; `slots` has U or _ for each slot. None for an unknown level, and for a degraded
    raid10 with unknown slots.
    """
    if layout.level in _PARITY:
        return max(_PARITY[layout.level] - (layout.raid_disks - working), -1)
    if layout.level == "raid1":
        return max(working, 0) - 1
    if layout.level == "raid10":
        sets = copies(layout)
        if working >= layout.raid_disks:
            return min((len(group) for group in sets), default=0) - 1
        if slots is None or len(slots) != layout.raid_disks:
            return None
        return min((sum(slots[slot] == "U" for slot in group) for group in sets), default=0) - 1
    return None


def sole_holders(layout: Layout, slots: str) -> tuple[int, ...]:
    """Return the in-sync slots whose failure would cause data loss, in order."""
    present = [slot for slot, letter in enumerate(slots) if letter == "U"]
    if len(slots) != layout.raid_disks:
        return ()
    if layout.level == "raid10":
        groups = ([slot for slot in group if slots[slot] == "U"] for group in copies(layout))
        return tuple(sorted({group[0] for group in groups if len(group) == 1}))
    left = tolerated(layout, len(present), slots)
    return tuple(present) if left is not None and left <= 0 else ()
