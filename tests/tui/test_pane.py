"""Memory of painted lines."""

from __future__ import annotations

import weakref

import pytest
from rich.segment import Segment

from sdstop.tui.widgets.pane import PaintedLine, Pane
from tests.fixtures import story
from tests.tui.screens import WIDE, Screen, screen


class Watched(PaintedLine):
    """A line that can be seen to be freed."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize("ends", [[6], [2, 6]])
def test_a_line_is_freed_as_soon_as_another_replaces_it(ends: list[int]) -> None:
    line = Watched([Segment("sda"), Segment("sdb")], 6)
    known = weakref.ref(line)
    assert "".join(part.text for part in line.divide(iter(ends))) == "sdasdb"
    del line
    assert known() is None  # without a collection of garbage


async def test_a_pane_has_nothing_that_is_added_to_its_lines() -> None:
    async with screen(story("slow-member").session, WIDE) as shown:
        for key in "1234567890":
            await shown.press(key)
            for pane in shown.app.screen.query(Pane):
                assert not any(pane.gutter), pane.id
                assert (pane.styles.opacity, pane.styles.text_opacity) == (1.0, 1.0)


async def test_a_hidden_pane_has_no_lines_and_is_painted_when_it_is_shown_again() -> None:
    async with screen(story("slow-member").session, WIDE) as shown:
        before = await shown.press("2")
        assert all(_lines(shown, "disks"))
        await shown.press("1")
        assert not _lines(shown, "disks")
        assert await shown.press("2") == before


def _lines(shown: Screen, name: str) -> list[str]:
    return [line.text for line in shown.app.screen.query_one(f"#{name}", Pane)._painted.values()]
