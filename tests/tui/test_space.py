"""Space that can run out, in the view of volumes; and the kernel log in the view of the host."""

from __future__ import annotations

import pytest

from tests.fixtures import story
from tests.tui.screens import screen


async def test_the_view_of_volumes_has_a_bar_for_each_store_the_accused_ones_first() -> None:
    async with screen(story("lvm-failing").session) as shown:
        await shown.press("8")
        lines = shown.lines()
        at = next(i for i, line in enumerate(lines) if line.startswith("─ Space in use ─"))
        assert "5 stores, 3 with a finding" in lines[at]
        assert [line.split()[0].lstrip("▸") for line in lines[at + 2 : at + 7]] == [
            "/home", "vg1/pool", "vg2/backup", "/srv/db", "/srv/mail",
        ]  # fmt: skip
        assert "99.5%  512 MiB   98 GiB" in lines[at + 2]
        assert "forced read-only" in lines[at + 5]


async def test_a_full_file_system_leads_to_its_bar_and_back_to_why() -> None:
    async with screen(story("vm-filesystem-full").session) as shown:
        await shown.press("v")
        assert shown.line("▸/srv/data   ext4 ")
        text = await shown.press("enter")
        assert "Why !CRIT /srv/data" in text


async def test_a_cluster_with_limits_keeps_its_volumes_above() -> None:
    async with screen(story("scaleio-cloud").session) as shown:
        text = await shown.press("8")
        assert "*web-data" in text
        assert "no volume or limit found" not in text


@pytest.mark.parametrize(
    ("name", "first"), [("kernel-hung", "Out of memory: Killed process 5120"), ("kernel-quiet", "")]
)
async def test_the_kernel_log_is_a_page_of_the_host(name: str, first: str) -> None:
    async with screen(story(name).session) as shown:
        text = await shown.press("6", "6", "6", "6")
        assert "─ Kernel log ─" in text
        assert "since boot" in text
        assert first in text


async def test_a_finding_in_the_kernel_log_leads_to_its_page() -> None:
    async with screen(story("kernel-hung").session) as shown:
        text = await shown.press("v")
        assert "Kernel log *" in text
        assert "INFO: task rsync:4711 blocked" in text


async def test_a_wide_screen_has_the_kernel_log_below_the_sources() -> None:
    async with screen(story("kernel-medium-error").session, (160, 48)) as shown:
        text = await shown.press("6")
        assert "Data sources" in text
        assert "critical medium error, dev sda" in text
