"""The sheet of changes: between two moments of the dashboard, and of two captures above the dashboard of one."""

from __future__ import annotations

import pytest

from sdstop.analysis.comparison.comparison import comparison
from sdstop.tui.difference import ChangesSheet
from tests.compared import pair, side
from tests.fixtures import story
from tests.tui.hostile import NASTY, harmless
from tests.tui.screens import SMALL, WIDE, screen


async def test_two_moments_are_marked_and_compared() -> None:
    async with screen(story("aoe-flashcache-mended").session, WIDE) as shown:
        await shown.press("b")
        await shown.type("10:04:25\n")
        await shown.press("d")
        assert "marked 10:04:2" in shown.lines()[-1]
        await shown.press("L", "d")
        assert isinstance(shown.app.screen, ChangesSheet)
        said = "\n".join(shown.lines())
        assert "san1, A to B: findings: 3 gone; 1 setting" in said
        assert "Network interfaces: MTU  eth1  9000 -> 8700" in said
        await shown.press("escape")
        assert not isinstance(shown.app.screen, ChangesSheet)
        await shown.press("D")
        assert "marked 10:05:5" in shown.lines()[-1]


async def test_a_moment_is_not_compared_with_itself() -> None:
    async with screen(story("quiet-node").session, SMALL) as shown:
        await shown.press("d", "d")
        assert not isinstance(shown.app.screen, ChangesSheet)
        assert "go to another moment" in shown.lines()[-1]


async def test_a_comparison_of_files_is_shown_first_and_scrolls() -> None:
    found = pair("layers-misplaced", "layers-in-place")
    async with screen(found.b.session, SMALL) as shown:
        await shown.app.lay(ChangesSheet(found))
        await shown.pilot.pause()
        assert "LOG DEVICE IN A FILE" in "\n".join(shown.lines())
        await shown.press("G")
        assert "Unchanged: 0 findings" in "\n".join(shown.lines())
        await shown.press("escape")
        assert not isinstance(shown.app.screen, ChangesSheet)


@pytest.mark.parametrize("name", sorted(NASTY))
async def test_hostile_names_are_harmless(name: str) -> None:
    other = side("mtu-mended")
    other.host = other.source = name
    found = comparison(side("mtu-mended"), other)
    assert not found.same_host
    async with screen(found.b.session, SMALL) as shown:
        await shown.app.lay(ChangesSheet(found))
        await shown.pilot.pause()
        harmless(shown)


async def test_only_bad_changes_have_the_color_of_their_severity() -> None:
    styles = []
    for before, after, word in (("mtu-mended", "mtu-mismatch", "new"), ("mtu-mismatch", "mtu-mended", "gone")):
        found = pair(before, after)
        async with screen(found.b.session, SMALL) as shown:
            await shown.app.lay(ChangesSheet(found))
            await shown.pilot.pause()
            parts = [part for line in shown.segments() for part in line if part.text.startswith(f"   {word} ")]
            styles.append(parts[0].style)
    assert styles[0] != styles[1]
