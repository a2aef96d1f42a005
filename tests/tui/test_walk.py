"""Random keys, clicks and resizes neither end the dashboard nor show an error; keys answer at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual import events

from sdstop.core.session import Session
from tests.fixtures import story as at_end
from tests.nodes.block import Load, Node, raid10
from tests.tui.rules import begun_between
from tests.tui.screens import WIDE, FakeFeed, Screen, screen
from tests.tui.walk import walk

STORIES = (
    "clone-convoy", "draid-one-dimm", "aoe-flashcache", "scaleio-cloud", "disks-failing", "lvm-failing",
    "vm-kernel-ext4",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("story", STORIES[::2])
async def test_a_short_walk(story: str) -> None:
    async with screen(at_end(story).session, (120, 40)) as shown:
        await walk(shown, 16, steps=40)


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES)
async def test_a_minute_s_walk(story: str) -> None:
    seed = int(os.environ.get("SDSTOP_SEED", time.time_ns() % 1_000_000))
    async with screen(at_end(story).session, (120, 40)) as shown:
        done = await walk(shown, seed, seconds=60.0)
        assert len(done) > 100


@pytest.mark.slow
async def test_a_walk_over_a_live_node() -> None:
    node = Node(("sda", "sdb", "nvme0n1"), lambda _, second: Load(reads=second % 50, queue=2.0, busy=0.4))
    feed = FakeFeed(node.frames(400))
    base = node.session(0, live=True)
    session = Session(base.origin, base.collectors, [begun_between(4, 60)], remember=60)
    async with screen(session, (120, 40), frames=feed) as shown:
        await shown.arrive(3)
        for seed in range(30):
            await walk(shown, seed, steps=20)
            await shown.arrive(5)


# --- keys at 1000 disks -----------------------------------------------------------------------------------

MANY = tuple(f"sd{number}" for number in range(1000))
ANSWER = 0.1
"""Seconds in which a key must be answered."""


async def answered(shown: Screen, key: str, character: str | None = None) -> float:
    """Return the seconds until a key is handled and everything that it changed is painted."""
    started = time.perf_counter()
    await shown.app.on_event(events.Key(key, character))
    shown.app.screen._compositor.render_strips()
    return time.perf_counter() - started


@pytest.mark.slow
async def test_keys_answer_at_1000_disks() -> None:
    place = {name: at for at, name in enumerate(MANY)}

    def load(device: str, second: int) -> Load:
        return Load(reads=1 + place.get(device, 0) % 7, queue=float(second), busy=0.5)

    session = Node((*MANY, "md0"), load, raid10("md0", MANY)).session(5)
    async with screen(session, WIDE) as shown:
        await shown.pilot.pause(1.0)
        await shown.press("2", "slash", "x")  # the listings of this moment are made once
        await shown.press("escape")
        slow: dict[str, float] = {}
        typed = [*(("slash", "/"),), *((c, c) for c in "sd9"), ("space", " "), *((c, c) for c in "await"),
                 ("greater_than_sign", ">"), ("1", "1"), ("m", "m"), ("s", "s"), ("enter", None)]  # fmt: skip
        others = ["n", "N", "escape", "s", "right", "left", "S", "j", "G", "g", "pagedown", "p", "p", "v",
                  "right_square_bracket", "left_square_bracket", "o", "escape", "tab", "1", "2", "3", "4", "5",
                  "6", "7", "8", "9", "1", "t", "T", "e"]  # fmt: skip
        for key, character in (*typed, *((key, None) for key in others)):
            seconds = await answered(shown, key, character)
            await shown.settled()
            if seconds > ANSWER:
                slow[f"{len(slow)} {key} {character}"] = round(seconds, 3)
        assert not slow
