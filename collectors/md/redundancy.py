"""What an array can still lose: how many members, and which ones its data depends on."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}

LARGEST = 4096
"""Disks beyond which no array is looked at: md has no more than a few hundred."""


class Layout(Struct, frozen=True):
    """What decides where copies stand.

    `raid_disks` members; on raid10 near copies on neighbours, far copies (an offset layout counts as far) shifted
    within sets of `far_set` disks (None: all disks are one set).
    """

    level: str
    raid_disks: int
    near_copies: int = 1
    far_copies: int = 1
    far_set: int | None = None


def copies(layout: Layout) -> set[frozenset[int]]:
    """Return the sets of slots that hold the same data in a raid10 (each at least once), as md's geometry puts them.

    Near copies of chunk c begin at slot c * near % disks and take the next ones. A far copy stands `near` slots on,
    round its set; the last set also has the disks that are left over.
    """
    disks = layout.raid_disks
    if not 0 < disks <= LARGEST:
        return set()
    size = min(max(layout.far_set or disks, 1), disks)
    last = (disks // size - 1) * size
    found = set()
    for chunk in range(disks):
        slots: set[int] = set()
        for near in range(min(layout.near_copies, disks)):
            slot = (chunk * layout.near_copies + near) % disks
            slots.update(_far(slot, layout, size, last))
        found.add(frozenset(slots))
    return found


def _far(slot: int, layout: Layout, size: int, last: int) -> Iterator[int]:
    disks = layout.raid_disks
    yield slot
    for _ in range(1, min(layout.far_copies, disks)):
        moved = slot + layout.near_copies
        if disks % size and moved > last:
            # md asks where the copy would land, not where it comes from, so some leave their set for the last one.
            slot = last + (moved - last) % (disks - last)  # one copy leads to the next
        else:
            slot = slot // size * size + moved % size
        yield slot


def tolerated(layout: Layout, working: int, slots: str | None) -> int | None:
    """Return how many further members may fail, whichever they are, without losing data; -1: some is lost already.

    `working` members are in sync, `slots` has U or _ for each slot. None for a level that is not known, and for a
    degraded raid10 whose slots are not known.
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
    """Return the slots in sync whose failure would lose data now, in order."""
    present = [slot for slot, letter in enumerate(slots) if letter == "U"]
    if len(slots) != layout.raid_disks:
        return ()
    if layout.level == "raid10":
        groups = ([slot for slot in group if slots[slot] == "U"] for group in copies(layout))
        return tuple(sorted({group[0] for group in groups if len(group) == 1}))
    left = tolerated(layout, len(present), slots)
    return tuple(present) if left is not None and left <= 0 else ()
