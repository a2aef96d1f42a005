"""Keys are answered while a frame is judged."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from statistics import median

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.finding import RuledOut, Severity, Verdict
from sdstop.core.history import Window
from sdstop.core.lookback import Lookback
from sdstop.core.rule import Limits, Rule
from sdstop.core.session import Session
from sdstop.tui.app import Dashboard
from sdstop.tui.lookup import Lookup
from sdstop.tui.scene import Scene
from sdstop.tui.time_bar import TimeBar, margin
from sdstop.tui.widgets.palette import plain
from tests.nodes.block import Load, Node
from tests.tui.rules import begun_between
from tests.tui.screens import WIDE, FakeFeed, Screen, screen

ANSWERED = 0.1
"""Seconds within which a key is answered."""
ATTEMPTS = 3
JUDGED = 0.8
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
            idle = await pressed(shown, still(0.5))
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


@pytest.mark.slow
async def test_keys_are_answered_while_a_step_takes_seconds() -> None:
    """Steps supersede each other; the status line names the frame that is being judged, and the last one is shown."""
    async with screen(Node(("sda", "sdb"), load).session(20), WIDE) as shown:
        app = shown.app
        app.session.rules = (SLOW,)
        idle, meanwhile = [0.0], [ANSWERED * 2]
        for _ in range(ATTEMPTS):
            idle = await pressed(shown, still(0.5))
            for _ in range(3):
                app.simulate_key("T")
            text = ""
            for _ in range(1000):
                await asyncio.sleep(0.01)
                text = shown.text()
                if "loading" in text:
                    break
            assert "REPLAY loading 14:13:" in text
            meanwhile = await pressed(shown, lambda: app.lookup.busy)
            if median(meanwhile) <= max(ANSWERED, 4 * median(idle)):
                break
        else:
            pytest.fail(f"keys took {median(meanwhile):.3f} s, without a slow rule {median(idle):.3f} s")
        assert len(meanwhile) > 10
        text = await shown.press()
        assert "loading" not in text
        assert app.playhead.look is not None
        assert (21 - app.playhead.look.now.number) % 3 == 0
        assert [good.rule for good in app.playhead.look.judgement.ruled_out] == ["slow"]


async def test_a_step_that_nobody_waits_for_ends_after_its_rule() -> None:
    called, begun = list[int](), threading.Event()

    def counted(window: Window, limits: Limits) -> Iterable[Verdict]:
        called.append(window.now.number)
        begun.set()
        time.sleep(0.3)
        yield RuledOut("a", f"{limits}")

    rules = tuple(Rule(f"slow-{n}", "s", Severity.INFO, counted, ()) for n in range(3))
    async with screen(Node(("sda", "sdb"), load).session(20), WIDE) as shown:
        shown.app.session.rules = rules
        shown.app.simulate_key("T")
        assert await asyncio.to_thread(begun.wait, 10)
        await shown.press("T")
        assert called[:4] == [20, 19, 19, 19]
        assert set(called[4:]) <= {18}  # judged ahead
        shown.app.session.rules = ()
        shown.app.simulate_key("T")
        assert "REPLAY 14:13:40Z   2026-09-21 " in await shown.press("L")
        assert shown.app.playhead.at_end


async def test_a_step_to_a_frame_that_was_judged_ahead_is_painted_once() -> None:
    async with screen(Node(("sda", "sdb"), load).session(20), WIDE) as shown:
        app = shown.app
        await shown.press("T")
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if app.lookback.ready(18) is not None:
                break
        painted, paint = list[bool](), app.main.show

        def counted(scene: Scene) -> None:
            painted.append(scene.look.is_glance or scene.sought is not None)
            paint(scene)

        app.main.show = counted  # type: ignore[method-assign]
        app.action_step(-1)
        look = app.playhead.look
        assert painted == [False]
        assert look is not None
        assert (look.now.number, look.is_glance, look.provisional) == (19, False, False)
        assert "loading" not in await shown.press()


async def test_a_frame_that_is_not_judged_is_named_and_nothing_else_is_painted() -> None:
    node = Node(("sda", "sdb"), load)
    async with screen(node.session(20), WIDE) as shown:
        app = shown.app
        app.session.rules = (SLOW,)
        painted, paint = list[Scene](), app.main.show

        def counted(scene: Scene) -> None:
            painted.append(scene)
            paint(scene)

        app.main.show = counted  # type: ignore[method-assign]
        before = app.playhead.look
        app.action_step(-1)
        assert not painted
        assert "loading" not in _status(app), "it may be there before anybody could read its name"
        for _ in range(1000):
            if "loading" in _status(app):
                break
            await asyncio.sleep(0.001)
        assert "loading" in _status(app)
        assert not painted
        assert app.playhead.look is before
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if not app.lookup.busy:
                break
        app.looked_up()
        look = app.playhead.look
        assert look is not None
        assert look.now.number == 20
        assert [good.rule for good in look.judgement.ruled_out] == ["slow"]


def _status(app: Dashboard) -> str:
    return plain(app.main.status.row_line(app.main.status.rows[0], 120))


async def test_a_frame_that_is_shown_in_time_is_not_named_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    monkeypatch.setattr("sdstop.tui.app._PATIENCE", 60.0)
    async with screen(Node(("sda", "sdb"), load).session(300), WIDE) as shown:
        app = shown.app
        await shown.press("T")
        monkeypatch.setattr(app.main, "await_frame", lambda _: pytest.fail("the moment before was painted again"))
        before = app.playhead.look
        for index in (100, 120):
            app.on_time_bar_sought(TimeBar.Sought(app.session.timeline.frames[index].monotonic))
            assert app.playhead.look is before
            assert app._naming is not None
        await shown.settled()
        assert app.playhead.look is not None
        assert app.playhead.look.now.number == 121
        assert app._naming is None


async def _typed(shown: Screen, text: str) -> None:
    """Type a moment, without Enter, and wait until a glance of it is made."""
    app = shown.app
    await shown.pilot.press("b", *text)
    index = app.session.timeline.taken_by(app.playhead.parse(text))
    assert index is not None
    for _ in range(1000):
        if app.lookback.foreseen(index) is not None:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


async def test_a_moment_is_looked_up_while_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    async with screen(Node(("sda", "sdb"), load).session(300), WIDE) as shown:
        app = shown.app
        await shown.press("T")
        before = app.playhead.look
        await _typed(shown, "14:15:03")
        await shown.pilot.press("x", "backspace")  # 14:15:03x is no moment: the glance of the last one is kept
        assert app.playhead.look is before, "nothing is shown before Enter"
        painted, paint = list[tuple[int, bool, bool]](), app.main.show

        def counted(scene: Scene) -> None:
            painted.append((scene.now.number, scene.look.is_glance, scene.sought is not None))
            paint(scene)

        app.main.show = counted  # type: ignore[method-assign]
        monkeypatch.setattr(app.main, "await_frame", lambda _: pytest.fail("the moment before was painted again"))
        app.foot.edit("enter", None)
        assert painted == [(104, True, True)]
        text = await shown.press()
        assert set(painted[1:]) == {(104, False, False)}, "the judged state follows, and no glance is painted again"
        assert "REPLAY 14:15:03Z" in text


async def test_a_moment_that_is_typed_but_not_asked_for_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    async with screen(Node(("sda", "sdb"), load).session(300), WIDE) as shown:
        app = shown.app
        await shown.press("T")
        before, text = app.playhead.look, shown.text()
        await _typed(shown, "14:15:03")
        assert await shown.press("escape") == text
        assert app.playhead.look is before
        assert app.playhead.sought is None
        assert app.lookback._foreseen is None, "the samples of a minute are not kept"
        await shown.press("T")
        assert app.playhead.look is not None
        assert app.playhead.look.now.number == 299


async def test_what_the_mouse_points_to_is_looked_up_before_the_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    async with screen(Node(("sda", "sdb"), load).session(300), WIDE) as shown:
        app = shown.app
        await shown.press("T")
        x = margin(app.size.width) + 20
        await shown.pilot.hover(TimeBar, offset=(x, 1))
        await _foreseen(app.lookback)
        before, painted, paint = app.playhead.look, list[tuple[int, bool]](), app.main.show

        def counted(scene: Scene) -> None:
            painted.append((scene.now.number, scene.look.is_glance))
            paint(scene)

        assert app.lookback._foreseen is not None
        number = app.lookback._foreseen.now.number
        app.main.show = counted  # type: ignore[method-assign]
        await shown.pilot.click(TimeBar, offset=(x, 1))
        await shown.settled()
        assert before is not None
        assert before.now.number != number
        assert painted[0] == (number, True)
        assert painted[-1] == (number, False)
        await shown.pilot.hover(TimeBar, offset=(x + 20, 1))
        await _foreseen(app.lookback)
        await shown.pilot.hover(None, offset=(5, 5))
        for _ in range(1000):
            if app.lookback._foreseen is None:
                break
            await asyncio.sleep(0.01)
        assert app.lookback._foreseen is None, "the samples of a minute are not kept"


async def test_the_event_after_the_next_one_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.core.lookback._QUICK", -1.0)
    rules = [begun_between(40, 50)]
    async with screen(Node(("sda", "sdb"), load).session(300, rules), WIDE) as shown:
        app = shown.app
        await shown.press("E")
        assert app.playhead.look is not None
        assert app.playhead.look.now.number == 51
        await _foreseen(app.lookback)
        assert app.lookback._foreseen is not None
        assert app.lookback._foreseen.now.number == 40
        app.action_event(-1)
        assert (app.playhead.look.now.number, app.playhead.look.is_glance) == (40, True)
        await shown.settled()
        assert (app.playhead.look.now.number, app.playhead.look.is_glance) == (40, False)


async def _foreseen(lookback: Lookback) -> None:
    """Wait until a glance is made ahead."""
    for _ in range(1000):
        if lookback._foreseen is not None:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


def test_states_of_earlier_frames_are_dropped_when_the_newest_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.tui.lookup._LEFT", 0.05)
    session = Session(Node().session(0).origin, BUILTIN, [], remember=900.0)
    session.feed_all(Node().frames(150))
    lookback = Lookback(session)
    lookup = Lookup(lookback)
    lookup.ask(20)
    _wait(lambda: lookback._last is not None and bool(lookback._ahead))
    lookup.leave()
    _wait(lambda: lookback._last is None and not lookback._ahead)
    lookup.ask(20)
    _wait(lambda: not lookup.busy)
    lookup.close()


def test_states_of_earlier_frames_are_kept_if_another_is_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(Node().session(0).origin, BUILTIN, [], remember=900.0)
    session.feed_all(Node().frames(150))
    lookback = Lookback(session)
    released = []
    monkeypatch.setattr(lookback, "release", lambda: released.append(1))
    monkeypatch.setattr("sdstop.tui.lookup._LEFT", 0.5)
    lookup = Lookup(lookback)
    lookup.ask(20)
    _wait(lambda: bool(lookback._ahead))
    lookup.leave()
    lookup.ask(21)
    _wait(lambda: not lookup.busy)
    time.sleep(0.7)
    assert not released
    lookup.close()


def _wait(done: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if done():
            return
        time.sleep(0.001)
    raise TimeoutError
