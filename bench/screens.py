"""What painting and keys take on a node with many disks in arrays: CPU milliseconds as JSON.

    python bench/screens.py --disks 1000 --frames 30

`small` and `wide` are one paint of the first screen on 80x24 and 200x60, from a judged frame to the lines that the
terminal would get; `key` is the slowest of the keys of a walk through all views, `slowest` its name. All counters of
all disks move in every frame. Other programs only make both slower, so the paint counts that is slower than one in ten,
and of each key the fastest round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from textual.pilot import Pilot

from sdstop.cli.command import collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.tui.app import Dashboard
from sdstop.tui.terminal import Options
from sdstop.tui.views import VIEWS
from tests.nodes.block import Load, Node, disk_name, raid10

HELD = 62
"""Frames before the first paint: a full window."""
MEMBERS = 48
KEYS = (
    *"23456789012", "j", "G", "g", "pagedown", "s", "I", "s", "S", "j", "o", "escape", "enter", "right_square_bracket",
    "p", "escape", "p", "1", "enter", "escape", "v", "1", "question_mark", "escape", "slash", "s", "d", "a", "enter",
    "n", "N", "escape", "a", "a", "c", "c",
)  # fmt: skip
"""Keys in the order of the walk, all at the newest frame."""
WIDE = (200, 60)


def frames(disks: int, count: int) -> list[Frame]:
    """Return frames of a node with arrays of 48 disks whose loads differ a little, and change every second."""
    names = [disk_name(at) for at in range(disks)]
    arrays = {f"md{at}": names[start : start + MEMBERS] for at, start in enumerate(range(0, disks, MEMBERS))}
    status = "".join(
        raid10(name, members).partition("\n")[2].rpartition("unused")[0] for name, members in arrays.items()
    )

    def load(device: str, second: int) -> Load:
        odd = crc32(f"{device} {second}".encode()) % 97
        if device in arrays:
            return Load(500 + odd, 500, 65536, 0.01, 10.0, 1.0)
        return Load(50 + odd % 7, 50 + odd % 5, 65536, 0.01 + odd / 9000, 1.0 + odd / 90, 0.3 + odd / 300)

    mdstat = f"Personalities : [raid10]\n{status}unused devices: <none>\n"
    return Node((*names, *arrays), load, mdstat).frames(count)


@asynccontextmanager
async def dashboard(session: Session, size: tuple[int, int]) -> AsyncIterator[tuple[Dashboard, Pilot[None]]]:
    """Show a session on a terminal of that size, after all views are loaded."""
    app = Dashboard(session, None, Options(ascii=False, version=""))
    async with app.run_test(size=size) as pilot:
        for key in (entry.key for entry in VIEWS):  # what the dashboard does in its first seconds
            await pilot.press(key)
        await pilot.press(VIEWS[0].key)
        await pilot.pause()
        yield app, pilot


async def paints(session: Session, coming: Sequence[Frame], size: tuple[int, int]) -> float:
    """Return what one paint of the first screen takes."""
    took = []
    async with dashboard(session, size) as (app, pilot):
        for frame in coming:
            app.playhead.newest(session.feed(frame))
            began = time.process_time()
            app.paint()
            await pilot.pause()
            took.append((time.process_time() - began) * 1000)
    return sorted(took)[len(took) // 10]


async def keys(session: Session, coming: Sequence[Frame], rounds: int) -> tuple[float, str]:
    """Return what the slowest key of a walk takes, and which it is."""
    took: dict[tuple[int, str], list[float]] = {}
    next_frame = cycle(coming)
    async with dashboard(session, WIDE) as (app, pilot):
        for _ in range(rounds):
            app.playhead.newest(session.feed(next(next_frame)))
            for at, key in enumerate(KEYS):
                began = time.thread_time()
                await pilot.press(key)
                await pilot.pause()
                took.setdefault((at, key), []).append((time.thread_time() - began) * 1000)
    slowest, (_, key) = max((min(times), place) for place, times in took.items())
    return slowest, key


def main() -> None:
    """Print what paints and keys take."""
    parser = argparse.ArgumentParser(description="What painting and keys take on a node with many disks.")
    parser.add_argument("--disks", type=int, default=1000)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    collect_seldom()
    all_frames = frames(options.disks, HELD + 2 * options.frames + 8)
    session = Session(Origin("bench", live=True), BUILTIN, RULES, remember=900)
    session.feed_all(all_frames[:HELD])
    coming = all_frames[HELD:]
    found: dict[str, float | str] = {}
    for at, (name, size) in enumerate((("small", (80, 24)), ("wide", WIDE))):
        found[name] = asyncio.run(paints(session, coming[at * options.frames :][: options.frames], size))
    found["key"], found["slowest"] = asyncio.run(keys(session, coming[2 * options.frames :], options.rounds))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
