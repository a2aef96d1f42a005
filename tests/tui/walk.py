"""A seeded random walk over the dashboard: keys, clicks, the wheel and resizes."""

from __future__ import annotations

import random
import re
import time

from textual import events
from textual.geometry import Size

from sdstop.tui.commands import KEYS
from sdstop.tui.widgets.keys import pressed
from tests.tui.screens import Screen

LEAVING = {"q", "F10", "Ctrl-C", "w"}
"""Keys that end the dashboard or write files."""
TYPED = [
    "sd[a-c]", "await > 20ms", "%util > 80 and aqu >= 4", "array = md0", "not (x or y)", "sd(", "await >", "*", "nvme",
    "sort aqu", "sort nonsense", "columns -areq", "columns usual", "disks", "nonsense", "unpin", "13:58", "-5s", "soon",
    "\\x1b[31m", "über", "日本", "",
]  # fmt: skip
SIZES = [(80, 24), (160, 48), (60, 15), (200, 60), (120, 40), (40, 8), (30, 5), (300, 80), (1, 1), (81, 24)]


def keys() -> list[str]:
    """Return the Textual names of the keys that the help screen lists."""
    names = {name for _, lines in KEYS for shown, _ in lines for name in shown.split()}
    return sorted(pressed(name) for name in names - LEAVING)


FOOT = re.compile(r"(?<!\S)(?:q quit|w capture)(?!\S)")
"""Words of the footer that are clicked like their keys: those of `LEAVING`."""


def leaves(shown: Screen, at: tuple[int, int]) -> bool:
    """Return whether a click on this cell ends the dashboard or writes files."""
    line = shown.lines()[at[1] : at[1] + 1]
    return any(found.start() <= at[0] < found.end() for found in FOOT.finditer(line[0] if line else ""))


async def walk(shown: Screen, seed: int, steps: int = 0, seconds: float = 0.0) -> list[str]:
    """Do `steps` random things, or things for `seconds`; return what was done, the last at the end.

    Raises what the dashboard raised, and AssertionError if it ended or shows an error.
    """
    chance = random.Random(seed)
    app, done = shown.app, [f"seed {seed}"]
    known, until = keys(), time.monotonic() + seconds
    while len(done) <= steps or time.monotonic() < until:
        kind = chance.random()
        width, height = app.size
        at = chance.randrange(max(width, 1)), chance.randrange(max(height, 1))
        if kind < 0.62:
            key = chance.choice(known)
            done.append(key)
            await shown.pilot.press(key)
        elif kind < 0.72:
            text = chance.choice(TYPED)
            done.append(f"type {text!r}")
            app.post_message(events.Paste(text))
            if chance.random() < 0.7:
                await shown.pilot.press("enter")
        elif kind < 0.90:
            times = 1 if at[1] == height - 1 else chance.choice((1, 1, 1, 2))  # the first click may change the footer
            if not leaves(shown, at):
                done.append(f"click {at} x{times}")
                await shown.pilot.click(offset=at, times=times)
        elif kind < 0.95:
            done.append(f"wheel {at}")
            up = chance.random() < 0.5
            wheel = events.MouseScrollUp if up else events.MouseScrollDown
            app.screen.post_message(wheel(None, *at, 0, 0, 0, False, False, False))  # noqa: FBT003  # Textual's order
        else:
            size = chance.choice(SIZES)
            done.append(f"resize {size}")
            await shown.pilot.resize_terminal(*size)
        if app.failure is not None:
            raise AssertionError(done[-30:]) from app.failure
        assert app.is_running, done[-30:]
        for line in shown.lines():
            assert "cannot be shown, internal error" not in line, (line, done[-30:])
        assert app.screen.size == Size(*app.size), done[-30:]
    return done
