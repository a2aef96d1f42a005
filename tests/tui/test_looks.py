"""Every view in every color depth, theme and glyph set: the same words and marks, in cells of one width."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from sdstop.core.session import Session
from sdstop.tui.terminal import Depth, Options
from sdstop.tui.views import VIEWS
from tests.fixtures import story
from tests.tui.screens import LOOKS, SMALL, roles, screen

OTHERS = {
    "light": replace(LOOKS, theme="light"),
    "256 colors": replace(LOOKS, depth=Depth.INDEXED),
    "16 colors": replace(LOOKS, depth=Depth.ANSI),
    "no color": replace(LOOKS, depth=Depth.NONE, no_color=True),
    "ASCII": replace(LOOKS, ascii=True),
    "ASCII without color": replace(LOOKS, ascii=True, depth=Depth.NONE, no_color=True),
}
FEWEST = ["16 colors", "ASCII without color"]
"""The fewest colors, and neither color nor glyphs."""
KEYS = [(entry.key, {"!": "exclamation_mark"}.get(entry.key, entry.key)) for entry in VIEWS]


async def painted(session: Session, looks: Options, size: tuple[int, int]) -> list[list[str]]:
    """Return the lines of every view."""
    found = []
    async with screen(session, size, options=looks) as shown:
        for _, key in KEYS:
            await shown.press(key)
            found.append(shown.lines())
    return found


def told(line: str) -> list[str]:
    """Return the words and numbers of a line; a multiplication sign before a number has an ASCII form."""
    return [word.removeprefix("x") for word in re.findall(r"[A-Za-z0-9]+", line.replace("▾", "v"))]


def marked(lines: list[str]) -> list[str]:
    """Return the marks of severity in the first column."""
    return [line[0] for line in lines if line[:1] in {"!", "*"}]


@pytest.mark.parametrize(
    ("fixture", "others"),
    [
        ("draid-one-dimm", [name for name in OTHERS if name not in FEWEST]),
        ("scaleio-cloud", FEWEST),
        pytest.param("draid-one-dimm", FEWEST, marks=pytest.mark.slow),
        pytest.param("scaleio-cloud", [name for name in OTHERS if name not in FEWEST], marks=pytest.mark.slow),
    ],
    ids=["draid-one-dimm", "scaleio-cloud", "draid-one-dimm, others", "scaleio-cloud, others"],
)
async def test_no_terminal_loses_a_word_or_a_mark(fixture: str, others: list[str]) -> None:
    session = story(fixture).session
    usual = await painted(session, LOOKS, SMALL)
    for name in others:
        looks = OTHERS[name]
        for (key, _), lines, here in zip(KEYS, usual, await painted(session, looks, SMALL), strict=True):
            assert marked(here) == marked(lines), (name, key)
            assert [told(line) for line in here] == [told(line) for line in lines], (name, key)
            assert not looks.ascii or "\n".join(here).isascii(), (name, key)


@pytest.mark.parametrize("fixture", ["aoe-flashcache", pytest.param("draid-one-dimm", marks=pytest.mark.slow)])
async def test_every_glyph_of_every_view_is_one_cell(fixture: str) -> None:
    for lines in await painted(story(fixture).session, LOOKS, (160, 48)):
        assert not [glyph for line in lines for glyph in line if cell_len(glyph) != 1]


@pytest.mark.parametrize("fixture", ["busy-but-healthy", pytest.param("quiet-node", marks=pytest.mark.slow)])
async def test_a_healthy_node_has_no_color_of_severity_in_any_view(fixture: str) -> None:
    async with screen(story(fixture).session, (160, 48)) as shown:
        for name, key in KEYS:
            await shown.press(key)
            used = {(role, s.text) for line in shown.segments() for s in line for role in roles(s.style)}
            accused = [text for role, text in used if role in {"crit", "warn", "critbg", "warnbg"}]
            assert not accused, name
