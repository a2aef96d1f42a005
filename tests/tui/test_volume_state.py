"""Volumes with a state, and file systems, among the disks."""

from __future__ import annotations

from tests.fixtures import story
from tests.tui.screens import SMALL, WIDE, screen


async def test_volumes_and_file_systems_show_their_state_and_level() -> None:
    async with screen(story("lvm-failing").session, WIDE) as seen:
        text = await seen.press("2")
    assert "LVM volumes with a state  3" in text
    assert "vg0/home  raid1  AD  1 failed, 0 not in sync" in text
    assert "vg1/pool  thin-pool  ok  94.5G of 100G in use (94.5%)  metadata 6.7%" in text
    assert "vg2/backup  snapshot  ok  17.2G of 20G for changes in use (86.2%)" in text
    assert "/srv/db  ext4  forced read-only  " in text


async def test_they_fit_on_a_small_screen() -> None:
    async with screen(story("lvm-mended").session, SMALL) as seen:
        text = await seen.press("2")
    assert "vg0/home  raid1  AA  2 in sync" in text
    assert all(len(line) <= SMALL[0] for line in text.splitlines())
