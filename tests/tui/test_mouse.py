"""What clicks do."""

from __future__ import annotations

import pytest
from textual.geometry import Offset

from sdstop.core.session import Session
from sdstop.tui.commands import BOUND
from sdstop.tui.device.page import DevicePage
from sdstop.tui.main import Main
from sdstop.tui.views import VIEWS
from sdstop.tui.widgets.keys import key_name, keys_of, pressed
from tests.fixtures import story
from tests.nodes.block import Load, Node, raid10
from tests.tui.screens import SMALL, Screen, screen

DISKS = ("sda", "sdb", "sdc", "sdd")
SIZES = pytest.mark.parametrize("size", [SMALL, (160, 48)], ids=str)


def session(seconds: int = 5) -> Session:
    def load(device: str, second: int) -> Load:
        return Load(
            reads=10 * (1 + DISKS.index(device)) if device in DISKS else 10,
            queue=float(second),
            busy=0.1 * (1 + DISKS.index(device)) if device in DISKS else 0.4,
        )

    return Node((*DISKS, "md0"), load, raid10("md0", DISKS)).session(seconds)


def place(shown: Screen, part: str, line: str = "") -> Offset:
    """Return where a text stands on the screen, in a line with another text."""
    for y, text in enumerate(shown.lines()):
        if part in text and line in text:
            return Offset(text.index(part), y)
    raise AssertionError(f"{part!r} is not on the screen:\n{shown.text()}")


async def click(shown: Screen, at: Offset, times: int = 1) -> str:
    await shown.pilot.click(offset=at, times=times)
    return await shown.press()


@SIZES
async def test_tabs_show_their_views(size: tuple[int, int]) -> None:
    async with screen(session(), size) as shown:
        for entry in VIEWS[1:]:
            if f"{entry.key} " not in shown.lines()[1]:
                continue
            at = shown.lines()[1].index(f"{entry.key} ")
            await click(shown, Offset(at, 1))
            assert shown.app.main.entry is entry


@SIZES
async def test_tabs_of_a_page_close_it_and_show_their_views(size: tuple[int, int]) -> None:
    async with screen(session(), size) as shown:
        await shown.press("2", "enter")
        assert [type(each) for each in shown.app.screen_stack] == [Main, DevicePage]
        await click(shown, place(shown, "5 Fab"))
        assert [type(each) for each in shown.app.screen_stack] == [Main]
        assert shown.app.main.entry.name == "fabric"
        await shown.press("2")
        assert shown.app.main.entry.name == "disks"


async def test_a_page_of_a_walk_is_left_by_its_tabs() -> None:
    async with screen(story("draid-one-dimm").session, (120, 40)) as shown:
        await shown.press("9")
        await click(shown, Offset(52, 10), times=2)
        await shown.press("enter", "left_square_bracket")
        await shown.pilot.resize_terminal(80, 24)
        assert [type(each) for each in shown.app.screen_stack] == [Main, DevicePage]
        await click(shown, Offset(23, 1))
        assert [type(each) for each in shown.app.screen_stack] == [Main]
        assert shown.app.main.entry.name == "network"
        await shown.press("2")
        assert shown.app.main.entry.name == "disks"


@SIZES
async def test_headings_sort_and_reverse(size: tuple[int, int]) -> None:
    async with screen(session(), size) as shown:
        await shown.press("2")
        table = shown.app.main.table()

        def order() -> list[str]:
            return [row.key[1] for row in table.rows if isinstance(row.key, tuple) and row.key[1]]

        assert order() == list(DISKS)
        await click(shown, place(shown, "%util", "DEVICE"))
        assert (table.sort, order()) == ("busy", list(reversed(DISKS)))
        await click(shown, place(shown, "%util", "DEVICE"))
        assert order() == list(DISKS)
        before = table.sort
        await click(shown, place(shown, "SLOT", "DEVICE") if "SLOT" in shown.text() else Offset(0, 2))
        assert table.sort == before  # is not sortable


@SIZES
async def test_rows_are_selected_and_opened(size: tuple[int, int]) -> None:
    async with screen(session(), size) as shown:
        await shown.press("2")
        await click(shown, place(shown, "sdc"))
        assert shown.app.main.table().cursor == ("md0", "sdc")
        await click(shown, place(shown, "sdb"), times=2)
        assert len(shown.app.screen_stack) == 2


@SIZES
async def test_keys_of_the_last_line_are_pressed(size: tuple[int, int]) -> None:
    async with screen(session(), size) as shown:
        last = shown.lines()[-1]
        await click(shown, Offset(last.index("? help"), size[1] - 1))
        assert "Help" in shown.text()
        await shown.press("escape")
        await click(shown, Offset(last.index("help"), size[1] - 1))
        assert "Help" in shown.text()
        await shown.press("escape")
        await click(shown, Offset(last.index("/ find"), size[1] - 1))
        assert shown.app.foot.question is not None
        await shown.press("escape")
        at = last.index("t T")
        await click(shown, Offset(at + 2, size[1] - 1))
        assert shown.app.playhead.behind == 1.0
        await click(shown, Offset(at, size[1] - 1))
        assert shown.app.playhead.behind == 0.0


async def test_a_graph_leads_to_its_moment() -> None:
    async with screen(session(20), (160, 48)) as shown:
        await shown.press("2")
        table = shown.app.main.table()
        y = place(shown, "sdb").y
        start = 1
        for column, width in table.fitted(table.size.width):
            if column.seconds:
                break
            start += width + 1
        await click(shown, Offset(start + width - 1 - 7, y))
        assert shown.app.playhead.behind == 7.0
        await click(shown, Offset(start - 3, y))
        assert shown.app.playhead.behind == 7.0


async def test_the_wheel_moves_the_cursor() -> None:
    async with screen(session(), SMALL) as shown:
        await shown.press("2")
        table = shown.app.main.table()
        before = table.cursor
        table.on_mouse_scroll_down(_Wheel())  # type: ignore[arg-type]
        assert table.cursor != before
        table.on_mouse_scroll_up(_Wheel())  # type: ignore[arg-type]
        assert table.cursor == before


class _Wheel:
    def stop(self) -> None:
        pass


def test_each_key_has_one_readable_name() -> None:
    keys = {key for binding in keys_of(BOUND) for key in binding.key.split(",")}
    assert {pressed(key_name(key)) for key in keys} == keys
