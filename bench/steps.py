"""What a step and a jump take in a recording of many disks, until the frame is on the screen and until it is judged.

    python bench/steps.py NODE [--seconds 600]      a tree of bench/tree.py, or a recording

Prints JSON: `shown` is the median of milliseconds from the key to the end of the paint that shows the frame, `worst`
the slowest, and `judged` until the rules have judged it; `cpu` is that of the whole process up to the first paint. All
counters of all disks move in every frame, and all frames are judged before anything is measured, unless `--judging`.

A moment is typed at TYPED seconds a key, as a fast typist does, so that it is looked up before Enter. `click` is a jump
that nothing announces: a click on the time bar by a terminal that does not tell where the mouse is before.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from seconds import frames

from sdstop.analysis.load_course import LoadCourse
from sdstop.capture.reader import open_recording
from sdstop.cli.command import collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.format import clock
from sdstop.core.period import Period
from sdstop.core.session import Session
from sdstop.exporters.recording import RecordingLimits, RecordingWriter
from sdstop.rules import RULES
from sdstop.tui.app import Dashboard
from sdstop.tui.terminal import Options
from sdstop.tui.time_bar import TimeBar
from sdstop.tui.views import VIEWS

SIZE = (200, 60)
LONGEST = 120.0
TYPED = 0.1
"""Seconds between two keys of a moment."""
LOOKED = 0.3
"""Seconds for which somebody looks at a frame before the next key."""


class Stamped(Dashboard):
    """Dashboard that notes when which frame reached the terminal."""

    CSS_PATH = Path(inspect.getfile(Dashboard)).with_name("dashboard.tcss")
    painted: tuple[int, bool] = (0, False)

    def __init__(self, *given: Any) -> None:
        """Start without a frame."""
        super().__init__(*given)
        self.stamped = asyncio.Event()
        """Set when anything reached the terminal: asking each half millisecond costs 4 ms of a jump."""

    def _display(self, screen: Any, renderable: Any) -> None:  # as in Textual
        super()._display(screen, renderable)
        scene = self.main.scene
        if scene is not None:
            self.painted = scene.now.number, not scene.look.is_glance
            self.stamped.set()


async def shown(app: Stamped, number: int, *, judged: bool) -> None:
    """Wait until a frame is painted."""
    async with asyncio.timeout(LONGEST):
        while app.painted[0] != number or (judged and not app.painted[1]):
            app.stamped.clear()
            await app.stamped.wait()


async def measured(app: Stamped, number: int, act: Callable[[], object]) -> tuple[float, float, float]:
    """Return the milliseconds until a frame is painted, their CPU, and those until it is judged."""
    began, spent = time.perf_counter(), time.process_time()
    act()
    await shown(app, number, judged=False)
    first, cpu = time.perf_counter() - began, time.process_time() - spent
    await shown(app, number, judged=True)
    return first * 1000, cpu * 1000, (time.perf_counter() - began) * 1000


async def walk(session: Session, rounds: int, *, judging: bool) -> dict[str, dict[str, float]]:
    """Return what steps and jumps take."""
    app, chance = Stamped(session, None, Options(ascii=False, version=""), LoadCourse(session)), Random(1)
    timeline = session.timeline
    kinds = ("jump", "click", "first_step_back", "step", "held_key")
    found: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    back, step = partial(app.simulate_key, "T"), partial(app.simulate_key, "t")
    async with app.run_test(size=SIZE) as pilot:
        while session.latest is None or (not judging and not session.is_judged):  # noqa: ASYNC110  # by a thread
            await asyncio.sleep(0.1)
        for key in (entry.key for entry in VIEWS):
            await pilot.press(key)
        await pilot.press(VIEWS[0].key)
        for _ in range(rounds):
            frame = timeline.frames[chance.randrange(60, len(timeline.frames) - 20)]
            for key in ("b", *clock(frame.taken)):
                app.simulate_key(key)
                await asyncio.sleep(TYPED)
            found["jump"].append(await measured(app, frame.number, partial(app.simulate_key, "enter")))
            number = frame.number - 1
            found["first_step_back"].append(await measured(app, number, back))
            for _ in range(4):
                await asyncio.sleep(LOOKED)
                number += 1
                found["step"].append(await measured(app, number, step))
            for _ in range(4):
                number += 1
                found["held_key"].append(await measured(app, number, step))
            await asyncio.sleep(LOOKED)
            frame = timeline.frames[chance.randrange(60, len(timeline.frames) - 20)]
            click = TimeBar.Sought(frame.monotonic)
            found["click"].append(await measured(app, frame.number, partial(app.main.bar.post_message, click)))
    return {
        name: {
            "shown": median(each[0] for each in every), "worst": max(each[0] for each in every),
            "cpu": median(each[1] for each in every), "judged": median(each[2] for each in every),
        }
        for name, every in found.items()
    }  # fmt: skip


def main() -> None:
    """Print what steps and jumps take."""
    parser = argparse.ArgumentParser(description="What steps and jumps take in a recording.")
    parser.add_argument("node", type=Path)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--judging", action="store_true", help="measure while frames are judged in the background")
    options = parser.parse_args()
    collect_seldom()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "r.sdstop")
        if options.node.is_file():
            path = options.node
        else:
            origin = Origin("node", privileged=True, collectors=frozenset(each.name for each in BUILTIN))
            with RecordingWriter(path, origin, RecordingLimits(bytes=1 << 40)) as writer:
                for frame in frames(options.node, options.seconds):
                    writer.add(frame)
        origin, timeline = open_recording(path, Period(), float("inf"))
        session = Session(origin, BUILTIN, RULES, timeline=timeline)
        found = asyncio.run(walk(session, options.rounds, judging=options.judging))
        timeline.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
