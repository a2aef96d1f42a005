"""A disk's health, slot and temperature on the screen: in the detail of view 2, and on the disk's page."""

from __future__ import annotations

import pytest

from tests.fixtures import story
from tests.tui.screens import screen


@pytest.mark.parametrize("size", [(160, 48), (200, 60)])
async def test_the_page_and_the_detail_of_a_disk_show_what_other_sources_report(size: tuple[int, int]) -> None:
    async with screen(story("disks-failing").session, size) as shown:
        await shown.press("2")
        assert "reports disk health FAILING, no errors counted, 31 C" in shown.text()
        assert shown.app.main.shown.main.point(("", "sdc"))
        text = await shown.press("down", "up")
        assert "reports disk health passed, 16 pending, 8 reallocated, 31 C" in text
        assert "slot Slot 01 of enclosure 1:0:24:0" in text
        await shown.press("enter")
        page = shown.text()
        assert "Disk health" in page
        assert "16 pending" in page
