"""Disks folded by likeness where not all rows fit, and members against their median."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.tui.terminal import Depth
from sdstop.tui.views.disks import Disks
from tests.fixtures import story
from tests.tui.screens import LOOKS, SMALL, WIDE, roles, screen


async def test_members_that_are_alike_take_one_row_and_the_odd_one_its_own() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        text = await shown.press("2")
        assert shown.line("+ 57 alike").split()[3:7] == ["105", "2", "105.0", "1.9"]
        assert shown.line("*          sdap").rstrip().endswith("faulted")
        assert "\n           sda " not in text


async def test_enter_unfolds_the_group() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        await shown.press("2")
        shown.app.main.shown.main.point(("N58-C3-D16-P3-S1", "+57 disks alike"))
        text = await shown.press("enter")
        assert "alike" not in text
        assert all(f" {name} " in text for name in ("sda", "sdb", "sdc"))
        chosen = shown.app.main.shown.main.chosen
        assert chosen is not None
        assert chosen.item.drive.name == "sda"


async def test_all_rows_are_shown_where_they_fit_and_in_a_convoy() -> None:
    async with screen(story("draid-one-dimm").session, (160, 110)) as shown:
        assert "alike" not in await shown.press("2")
    async with screen(story("clone-convoy").session, (160, 48)) as shown:
        text = await shown.press("2")
        assert "alike" not in text
        assert "others" not in text


async def test_a_search_finds_a_folded_disk() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        await shown.press("2", "slash")
        text = await shown.type("sdbc")
        assert shown.app.main.table().needle == "sdbc"
        assert "sdbc" in text


async def test_each_member_is_a_block_and_only_the_accused_one_has_a_color() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        text = await shown.press("2")
        assert "throughput against the median" in text
        blocks = {s.text.strip(): roles(s.style) for line in shown.segments() for s in line if s.text.strip()}
        assert "warnbg" in blocks["sdap"]
        assert all("track" in blocks[name] for name in ("sda", "sdb", "sdbf"))
        assert any(line.split()[:1] == ["-1%"] for line in shown.lines())
        assert "*faulted" in text


@pytest.mark.parametrize("size", [SMALL, (80, 40), (120, 40), (160, 48), WIDE])
async def test_no_member_is_left_out_of_the_picture(size: tuple[int, int]) -> None:
    async with screen(story("draid-one-dimm").session, size) as shown:
        await shown.press("2")
        view = shown.app.main.shown
        assert isinstance(view, Disks)
        if not view.against.display:
            return
        drawn = " ".join(view.against.text().split())
        names = drawn.split()
        assert sum(name in names for name in ("sdap", "sdbf", "sda")) == 3 or {"ap", "bf", "a"} <= set(names)


@pytest.mark.parametrize("depth", [Depth.ANSI, Depth.NONE])
async def test_without_backgrounds_marks_and_words_remain(depth: Depth) -> None:
    looks = replace(LOOKS, depth=depth, ascii=True, no_color=depth is Depth.NONE)
    async with screen(story("draid-one-dimm").session, (160, 48), options=looks) as shown:
        text = await shown.press("2")
        assert text.isascii()
        assert "*faulted" in text
        assert "+ 57 alike" in text


async def test_free_lines_show_the_load_of_the_row_under_the_cursor() -> None:
    async with screen(story("writes-hung").session, (160, 48)) as shown:
        await shown.press("2")
        text = await shown.press("g")
        assert "sdb: Throughput, MiB/s" in text
        assert "Wait, ms a request" in text
        assert "nvme0n1: Throughput, MiB/s" in await shown.press("j")


async def test_members_that_are_alike_show_the_load_of_their_pool() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        await shown.press("2")
        shown.app.main.shown.main.point(("N58-C3-D16-P3-S1", "+57 disks alike"))
        assert "N58-C3-D16-P3-S1: Disks together (58), MiB/s" in await shown.press("R")


async def test_a_full_table_leaves_no_room_for_graphs() -> None:
    async with screen(story("clone-convoy").session, (160, 48)) as shown:
        assert "Throughput, MiB/s" not in await shown.press("2")


async def test_a_mapping_is_accused_by_the_name_that_its_finding_has() -> None:
    async with screen(story("aoe-flashcache").session, (160, 48)) as shown:
        await shown.press("2")
        assert shown.line("cachedev dm-0").startswith("!")


async def test_a_recording_without_block_devices_does_not_wait_for_them() -> None:
    async with screen(story("scaleio-4node").session, SMALL) as shown:
        assert "no block devices recorded" in await shown.press("2")


async def test_a_row_has_a_word_for_its_fault_not_the_name_of_a_rule() -> None:
    for name, rows in {
        "san-neglected": ("*sdc not by map",),
        "layers-misplaced": ("*sdd discards",),
        "dm-caches-failing": ("*db dirty!", "!mail errors!", "*web few hits"),
        "disk-gone-mirrored": ("*  sdc gone!",),
    }.items():
        async with screen(story(name).session, (160, 48)) as shown:
            assert [row for row in rows if row not in shown.text()] == []


async def test_a_row_that_is_not_a_device_shows_the_findings_about_it() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        text = await shown.press("2")
        detail = text.split("─ N58-C3-D16-P3-S1 ─")[1]
        assert "*WARN POOL DEGRADED: 2 more can fail" in detail
        assert "Enter opens the selected row" in detail


async def test_an_accused_member_has_its_fault_in_full_below_its_block() -> None:
    async with screen(story("draid-one-dimm").session, (160, 48)) as shown:
        text = await shown.press("2")
        assert "*faulted" in text
        assert "-0%" not in text
