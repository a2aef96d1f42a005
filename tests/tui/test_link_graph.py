"""The graphs of an interface: against its capacity, at every size, and where nothing is known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sdstop.tui.terminal import Depth
from tests.fixtures import story
from tests.tui.screens import LOOKS, SMALL, WIDE, Screen, roles, screen


def graph(shown: Screen) -> list[str]:
    """Return the lines of the graph below its title."""
    lines = shown.lines()
    first = next(at for at, line in enumerate(lines) if ", MiB/s" in line)
    ends = next(at for at in range(first + 1, len(lines)) if lines[at].startswith(("─ ", " ? ")))
    return lines[first + 1 : ends]


@pytest.mark.parametrize("size", [SMALL, (120, 40), (160, 48), WIDE])
async def test_the_busiest_link_is_drawn_against_its_capacity(size: tuple[int, int]) -> None:
    async with screen(story("busy-but-healthy").session, size) as shown:
        text = await shown.press("4")
        assert "─ ens1f0, MiB/s ─" in text
        drawn = graph(shown)
        assert drawn[0].split()[0] == "1192"  # 10 Gb/s in MiB/s, at both ends
        assert "rx 308" in "".join(drawn)
        assert "tx 375" in "".join(drawn)
        assert [line.split()[0] for line in drawn if "╌" in line and "80%" in line] == ["80%", "80%"]
        received = [line for line in shown.segments() if any("read" in roles(s.style) and "⣿" in s.text for s in line)]
        sent = [line for line in shown.segments() if any("write" in roles(s.style) and "⣿" in s.text for s in line)]
        assert received
        assert sent


async def test_the_interface_under_the_cursor_is_drawn() -> None:
    async with screen(story("busy-but-healthy").session, (160, 48)) as shown:
        assert "─ ens1f0, MiB/s" in await shown.press("4")
        text = await shown.press("j", "j")
        assert "─ lo, MiB/s" in text
        assert "speed unknown" in shown.line("─ lo, MiB/s")
        assert "bytes a frame, MTU 9000" not in text


async def test_a_wide_screen_shows_frames_and_their_size_against_the_mtu() -> None:
    async with screen(story("busy-but-healthy").session, (160, 48)) as shown:
        text = await shown.press("4")
        assert "frames a second, both ways" in text
        assert "bytes a frame, MTU 9000" in text
        assert shown.line(" 9018")
        assert " 7000 " in text


async def test_a_link_below_its_mark_has_no_color_of_severity() -> None:
    async with screen(story("busy-but-healthy").session, (160, 48)) as shown:
        await shown.press("4")
        used = {role for line in shown.segments()[2:] for s in line for role in roles(s.style)}
        assert not used & {"crit", "warn", "critbg", "warnbg"}


@pytest.mark.parametrize("depth", [Depth.ANSI, Depth.NONE])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_every_terminal_has_the_graph(depth: Depth, *, ascii_only: bool) -> None:
    looks = replace(LOOKS, depth=depth, ascii=ascii_only, no_color=depth is Depth.NONE)
    async with screen(story("busy-but-healthy").session, SMALL, options=looks) as shown:
        text = await shown.press("4")
        assert "rx 308" in text
        assert not ascii_only or text.isascii()
        assert ("###" if ascii_only else "⣿⣿⣿") in text
