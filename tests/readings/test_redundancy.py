"""What arrays can lose, against the grids that md lays out."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.md.redundancy import Layout, copies, sole_holders, tolerated

# Rows of chunks as they stand on the disks, one string a row, a character a chunk; far copies follow.
GRIDS = {
    "near 2 of 4": (Layout("raid10", 4, 2), ["0011", "2233"]),
    "near 2 of 3": (Layout("raid10", 3, 2), ["001", "122", "334", "455"]),
    "near 3 of 5": (Layout("raid10", 5, 3), ["00011", "12223", "33444"]),
    "far 2 of 4": (Layout("raid10", 4, 1, 2), ["0123", "4567", "3012", "7456"]),
    "far 2 of 4 in sets of 2": (Layout("raid10", 4, 1, 2, 2), ["0123", "4567", "1032", "5476"]),
    "far 2 of 5 in sets of 2, three left": (Layout("raid10", 5, 1, 2, 2), ["01234", "56789", "10423", "65978"]),
    "far 3 of 4": (Layout("raid10", 4, 1, 3), ["0123", "3012", "2301"]),
    "near 2, far 2 of 4": (Layout("raid10", 4, 2, 2), ["0011", "2233", "1100", "3322"]),
}


@pytest.mark.parametrize(("layout", "grid"), GRIDS.values(), ids=GRIDS.keys())
def test_copies_stand_where_the_grid_has_them(layout: Layout, grid: list[str]) -> None:
    holders: dict[str, set[int]] = {}
    for row in grid:
        for slot, chunk in enumerate(row):
            holders.setdefault(chunk, set()).add(slot)
    assert {frozenset(slots) for slots in holders.values()} <= copies(layout)


@pytest.mark.parametrize(("layout", "grid"), GRIDS.values(), ids=GRIDS.keys())
def test_no_data_is_lost_by_what_is_tolerated_and_some_by_one_more(layout: Layout, grid: list[str]) -> None:
    disks = layout.raid_disks
    may = tolerated(layout, disks, "U" * disks)
    assert may is not None
    chunks = set("".join(grid))

    def lost(gone: tuple[int, ...]) -> bool:
        left = {row[slot] for row in grid for slot in range(disks) if slot not in gone}
        return left != chunks

    assert not any(lost(gone) for gone in combinations(range(disks), may))
    assert any(lost(gone) for gone in combinations(range(disks), may + 1))


@pytest.mark.parametrize(
    ("layout", "working", "slots", "may"),
    [
        (Layout("raid5", 4), 4, "UUUU", 1),
        (Layout("raid5", 4), 3, "UU_U", 0),
        (Layout("raid5", 4), 2, "U__U", -1),
        (Layout("raid4", 3), 2, None, 0),
        (Layout("raid6", 8), 7, None, 1),
        (Layout("raid6", 8), 6, None, 0),
        (Layout("raid6", 8), 5, None, -1),
        (Layout("raid6", 8), 1, None, -1),
        (Layout("raid1", 3), 3, "UUU", 2),
        (Layout("raid1", 3), 1, "_U_", 0),
        (Layout("raid1", 2), 0, "__", -1),
        (Layout("raid10", 4, 2), 4, None, 1),
        (Layout("raid10", 4, 2), 3, "U_UU", 0),
        (Layout("raid10", 4, 2), 2, "U_U_", 0),
        (Layout("raid10", 4, 2), 2, "UU__", -1),
        (Layout("raid10", 4, 2), 3, None, None),
        (Layout("raid10", 6, 3), 5, "U_UUUU", 1),
        (Layout("raid10", 4, 1, 2), 2, "U_U_", 0),
        (Layout("raid10", 4, 1, 2), 2, "__UU", -1),
        (Layout("raid0", 4), 4, None, None),
        (Layout("linear", 4), 4, None, None),
        (Layout("raid10", 0, 2), 0, None, -1),
    ],
)
def test_tolerated(layout: Layout, working: int, slots: str | None, may: int | None) -> None:
    assert tolerated(layout, working, slots) == may


@pytest.mark.parametrize(
    ("layout", "slots", "holders"),
    [
        (Layout("raid10", 4, 2), "U_UU", (0,)),
        (Layout("raid10", 4, 2), "U_U_", (0, 2)),
        (Layout("raid10", 4, 2), "UUUU", ()),
        (Layout("raid10", 3, 2), "U_U", (0, 2)),
        (Layout("raid10", 4, 2), "U_U", ()),
        (Layout("raid1", 3), "_U_", (1,)),
        (Layout("raid1", 3), "UU_", ()),
        (Layout("raid5", 3), "UU_", (0, 1)),
        (Layout("raid6", 4), "UUU_", ()),
        (Layout("raid6", 4), "U__U", (0, 3)),
    ],
)
def test_sole_holders(layout: Layout, slots: str, holders: tuple[int, ...]) -> None:
    assert sole_holders(layout, slots) == holders


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.integers(1, 12), st.data())
def test_losing_no_sole_holder_never_loses_data(
    disks: int, near: int, far: int, group: int, data: st.DataObject
) -> None:
    layout = Layout("raid10", disks, min(near, disks), far, min(group, disks))
    slots = "".join(data.draw(st.lists(st.sampled_from("U_"), min_size=disks, max_size=disks)))
    before = tolerated(layout, slots.count("U"), slots)
    assert before is not None
    sole = sole_holders(layout, slots)
    for slot in range(disks):
        if slots[slot] == "U":
            after = tolerated(layout, slots.count("U") - 1, slots[:slot] + "_" + slots[slot + 1 :])
            assert after is not None
            if before >= 0:
                assert (after < 0) == (slot in sole)
