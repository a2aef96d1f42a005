"""Keys are answered while a frame is judged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from statistics import median

import pytest

from sdstop.core.finding import Limits, Rule, RuledOut, Severity, Verdict
from sdstop.core.history import Window
from tests.nodes.block import Load, Node
from tests.tui.screens import WIDE, FakeFeed, Screen, screen

ANSWERED = 0.1
"""Seconds within which a key is answered."""
ATTEMPTS = 3
JUDGED = 1.5
"""Seconds of CPU that the slow rule takes."""


def slow(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Keep a core and Python's lock busy, as a rule over thousands of devices does."""
    del window, limits
    end = time.thread_time() + JUDGED
    rows = {n: str(n) for n in range(1000)}
    while time.thread_time() < end:
        sorted(rows.values())
    yield RuledOut("a", "it took its time")


SLOW = Rule("slow", "s", Severity.INFO, slow, ())


def load(_: str, second: int) -> Load:
    return Load(reads=10 * second, queue=2.0, busy=0.5)


def still(seconds: float) -> Callable[[], bool]:
    """Return whether less time has passed since."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


async def pressed(shown: Screen, going: Callable[[], bool]) -> list[float]:
    """Press the keys of three views in turn as long as something goes on, and return how long each took."""
    waits: list[float] = []
    while going():
        for key, view in (("2", "disks"), ("exclamation_mark", "findings"), ("1", "overview")):
            began = time.perf_counter()
            shown.app.simulate_key(key)
            await shown.reached(view)
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.02)
    return waits


async def test_keys_are_answered_while_a_frame_takes_seconds() -> None:
    node = Node(("sda", "sdb"), load)
    live = node.session(0, live=True)
    session = type(live)(live.origin, live.collectors, [], remember=900)
    feed = FakeFeed(node.frames(5))
    async with screen(session, WIDE, frames=feed) as shown:
        await shown.arrive(2)
        judging = shown.app.judging
        assert judging is not None
        session.rules = session.diagnosis.rules = (SLOW,)
        idle, meanwhile = [0.0], [ANSWERED * 2]
        for _ in range(ATTEMPTS):
            idle = await pressed(shown, still(1.0))
            feed.give()
            shown.app._receive()
            meanwhile = await pressed(shown, lambda: judging.busy)
            # A machine with other work is slower without a slow rule, too.
            if median(meanwhile) <= max(ANSWERED, 4 * median(idle)):
                break
        else:
            pytest.fail(f"keys took {median(meanwhile):.3f} s, without a slow rule {median(idle):.3f} s")
        assert len(meanwhile) > 10
        shown.app._judged()
        text = ""
        for _ in range(100):  # the screen draws the judged frame when the machine lets it
            text = await shown.press("exclamation_mark")
            if "it took its time" in text:
                break
            await asyncio.sleep(0.1)
        assert "it took its time" in text
