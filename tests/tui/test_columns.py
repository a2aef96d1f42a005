"""Columns that the user chooses, and rows that keep their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdstop.tui.settings import remembered_columns
from sdstop.tui.terminal import Options
from tests.nodes.block import Load, Node, raid10
from tests.tui.screens import SMALL, WIDE, FakeFeed, screen

DISKS = ("sda", "sdb", "sdc", "sdd")
SIZES = pytest.mark.parametrize("size", [SMALL, (160, 48)], ids=str)


def load(device: str, second: int) -> Load:
    """Load each disk in turn."""
    turn = DISKS.index(device) if device in DISKS else 0
    return Load(reads=10, queue=1.0, busy=0.9 if turn == second % 4 else 0.1 + turn / 100)


def node() -> Node:
    return Node((*DISKS, "md0"), load, raid10("md0", DISKS))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@SIZES
async def test_columns_are_chosen_by_key_and_remembered(size: tuple[int, int]) -> None:
    async with screen(node().session(3), size) as shown:
        await shown.press("2", "o")
        assert "[x] %util" in shown.text()
        while "▸[x] %util" not in shown.text():
            await shown.press("j")
        assert "▸[ ] %util" in await shown.press("enter")
        text = await shown.press("escape")
        assert "%util" not in text
        assert "await" in text
    columns = remembered_columns()
    assert "busy" not in columns["disks"]
    async with screen(node().session(3), size, options=Options(ascii=False, columns=columns)) as shown:
        assert "%util" not in await shown.press("2")
        await shown.press("colon")
        assert "%util" in await shown.type("columns usual")
    assert remembered_columns() == {}


@SIZES
async def test_columns_are_chosen_by_command(size: tuple[int, int]) -> None:
    async with screen(node().session(3), size) as shown:
        await shown.press("2", "colon")
        text = await shown.type("columns DEVICE await array")
        assert "DEVICE" in text
        assert "await ARRAY" in text
        assert "md0" in shown.line("sda")
        await shown.press("colon")
        text = await shown.type("columns +%util -await")
        assert "await" not in text
        assert "ARRAY" in text
        assert "%util" in text
        await shown.press("colon")
        assert 'unknown column "utli"; did you mean "%util"?' in await shown.type("columns +utli")
        assert "%util" in shown.text()


async def test_rows_keep_their_places_until_the_next_sort_or_ten_seconds() -> None:
    feed = FakeFeed(node().frames(40))
    base = node().session(0, live=True)
    async with screen(base, WIDE, frames=feed) as shown:
        await shown.arrive(3)
        await shown.press("2", "colon")
        await shown.type("sort %util")
        table, now = shown.app.main.table(), [0.0]
        table.clock = lambda: now[0]
        table.due = True

        def order() -> list[str]:
            return [row.key[1] for row in table.rows if isinstance(row.key, tuple) and row.key[1]]

        await shown.arrive(1)
        first = order()
        for second in range(1, 9):
            now[0] = float(second)
            await shown.arrive(1)
            assert order() == first
        assert len({*first}) == 4
        await shown.arrive(1)
        now[0] = 10.5
        await shown.arrive(1)
        assert order() != first
        second_order = order()
        now[0] = 11.0
        await shown.arrive(1)
        assert order() == second_order
        await shown.press("S")
        assert order() != second_order


async def test_the_arrow_keys_choose_the_column() -> None:
    async with screen(node().session(3), WIDE) as shown:
        await shown.press("2")
        table = shown.app.main.table()
        seen = []
        for _ in range(3):
            await shown.press("right")
            seen.append(table.sort)
        assert seen == ["device", "reads", "writes"]
        await shown.press("left")
        assert table.sort == "reads"
