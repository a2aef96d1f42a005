"""The line of a rebuild, whatever the rules say of it."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.nodes.frames import Files, frames
from tests.nodes.md import run
from tests.tui.screens import WIDE, screen


async def line_of(shown: Sequence[tuple[float, Files]], *, rules: bool = False) -> str:
    session = Session(Origin("n"), BUILTIN, RULES if rules else ())
    session.feed_all(frames(shown))
    async with screen(session, WIDE) as seen:
        await seen.press("2")
        return seen.line("recovery ")


async def test_its_own_estimate_needs_no_finding() -> None:
    shown = run(60, 100.0, done=0.0, total=60_000.0)
    assert "  10.0%  5.9G of 58.6G  100 MiB/s  ETA 9m00" in await line_of(shown)
    assert (await line_of(shown, rules=True)).endswith("ETA 9m00 (8m55 to 9m05)")  # no fault to name


async def test_an_early_estimate_says_so() -> None:
    assert "ETA about 9m" in await line_of(run(12, 100.0, done=0.0, total=60_000.0))


async def test_what_moved_too_little_has_mds_figures() -> None:
    assert "  100 MiB/s  mdstat: " in await line_of(run(1, 100.0))


async def test_what_stands_has_neither_speed_nor_end() -> None:
    shown = run(30, 100.0)
    shown += [(30 + t, files) for t, files in run(40, 0.0, done=4000.0)[1:]]
    line = await line_of(shown)
    assert "no progress for 4" in line
    assert "ETA" not in line
    assert "md says" not in line
    assert "/s" not in line
