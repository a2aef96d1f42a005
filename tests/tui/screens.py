"""A dashboard under test, and what stands on its screen."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

from rich.segment import Segment
from rich.style import Style
from textual import _callback, events
from textual._compositor import Compositor
from textual._context import active_app, active_message_pump
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.cache import FIFOCache
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.tokenize import tokenize_values
from textual.dom import DOMNode
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen as TextualScreen
from textual.strip import Strip

from sdstop.core.evidence import Frame
from sdstop.core.judging import Judging
from sdstop.core.session import Look, Session
from sdstop.tui.app import Dashboard
from sdstop.tui.lookup import Lookup
from sdstop.tui.terminal import Depth, Options
from sdstop.tui.widgets.roles import ROLES

WIDE, SMALL, LOW = (200, 60), (80, 24), (60, 15)


LOOKS = Options(ascii=False, theme="dark", version="9.9", depth=Depth.TRUE)
"""The same on every terminal that runs the tests."""


def roles(style: Style | None) -> set[str]:
    """Return the roles that have the colors of a style that LOOKS paints."""
    if style is None:
        return set()
    ink, ground = (
        c.triplet.hex if c is not None and c.triplet is not None else "" for c in (style.color, style.bgcolor)
    )
    heat = {name for name in ROLES if name[1:].isdecimal()}
    grounds = {name for name in ROLES if name.endswith("bg") or name == "track"}
    return {name for name in ROLES.keys() - grounds if ROLES[name].dark == ink} | {
        name for name in grounds | heat if ROLES[name].dark == ground
    }


class _Variables(dict[str, Any]):
    """Tokens of CSS variables: one object for the same variables, which is its own key."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


@functools.cache
def _tokens(variables: tuple[tuple[str, str], ...]) -> _Variables:
    return _Variables(tokenize_values(dict(variables)))


@functools.cache
def _rules(scope: str, css: str, read_from: Any, **settings: Any) -> list[RuleSet]:
    return list(parse(scope, css, read_from, **settings))


# Hundreds of dashboards have the same style sheets. Parsing them takes a third of a start, and rules never change.
_styles: Any = stylesheet
_styles.tokenize_values = lambda variables: _tokens(tuple(variables.items()))
_styles.parse = _rules

_styles.RuleSet.__hash__ = object.__hash__  # the same in C: a start looks up five thousand rules

_CACHES = {
    "_divide_cache": 4, "_crop_cache": 16, "_style_cache": 16, "_filter_cache": 4, "_line_length_cache": 4,
    "_crop_extend_cache": 4, "_offsets_cache": 4,
}  # fmt: skip
"""Caches of a painted line, and their sizes."""


def _made(strip: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    """Make a line without its seven caches, which take longer than all else and of which few are ever used."""
    strip._segments = list(segments)
    strip._cell_length = cell_length
    strip._render_cache = strip._link_ids = strip._cell_count = None


def _cache_of(strip: Strip, name: str) -> Any:
    """Make a cache of a line when it is used first."""
    if name not in _CACHES:
        raise AttributeError(name)
    setattr(strip, name, FIFOCache(_CACHES[name]))
    return getattr(strip, name)


_strips: Any = Strip
_strips.__init__, _strips.__getattr__ = _made, _cache_of

_signed: Any = _callback


@functools.cache
def _parameters_of(code: CodeType) -> int:
    varied = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + varied


def _count(function: Any, signed: Callable[[Any], int] = _signed._count_parameters) -> int:
    """Return how many parameters a callback has; most are functions that are made anew for each call."""
    plain = isinstance(function, FunctionType) and not hasattr(function, "__wrapped__")
    return _parameters_of(function.__code__) if plain else signed(function)


_signed._count_parameters = _count

_Handler = tuple[type, Any]


@functools.cache
def _handlers(kind: type, name: str) -> tuple[_Handler, ...] | None:
    """Return the methods that a class and its bases have for a message; None if any of them chooses by a selector."""
    bases = [vars(each) for each in kind.__mro__]
    if any(base.get("_decorated_handlers") for base in bases):
        return None
    found = zip(kind.__mro__, (base.get(f"_{name}") or base.get(name) for base in bases), strict=True)
    return tuple((each, method) for each, method in found if method is not None and not hasattr(method, "_textual_on"))


def _dispatched(
    pump: MessagePump, name: str, message: Message, sought: Any = MessagePump._get_dispatch_methods
) -> Iterator[_Handler]:
    """Yield the handlers of a message: a start asks for them 565 times, and Textual asks each base of a widget."""
    handlers = _handlers(type(pump), name)
    if handlers is None:
        yield from sought(pump, name, message)
        return
    for each, method in handlers:
        if message._no_default_action:
            break
        yield each, method.__get__(pump, each)


_pumps: Any = MessagePump
_pumps._get_dispatch_methods = _dispatched

_composed = Compositor.render_update


def _update(compositor: Compositor, full: bool = False, *settings: Any, **named: Any) -> Any:  # noqa: FBT001, FBT002
    if full:
        return _composed(compositor, full, *settings, **named)
    compositor._dirty_regions.clear()
    return None


async def _idle(*_: float) -> None:
    """Wait until nothing is left to do but to wait, and the screen is laid out; for at most a second."""
    loop: Any = asyncio.get_running_loop()
    app, end, idle = active_app.get(), loop.time() + 1.0, 0
    while idle < _IDLE and loop.time() < end:
        await asyncio.sleep(0)
        shown = app.screen_stack[-1] if app.screen_stack else None
        if loop._ready:
            idle = 0
        elif shown is not None and _dirty(shown):
            shown._on_timer_update()
            idle = 0
        elif app._resize_timer is not None:
            app._check_resize()
            idle = 0
        else:
            idle += 1


_IDLE = 3
"""Turns of the event loop with nothing to do, after which nothing more follows: each looks for readable descriptors."""


def _dirty(shown: TextualScreen[Any]) -> bool:
    return bool(
        shown.is_current
        and not shown.app._batch_count
        and (
            shown._layout_required or shown._scroll_required or shown._repaint_required
            or shown._recompose_required or shown._dirty_widgets or shown._callbacks
        )
    )  # fmt: skip


_closed = App.pop_screen


def _close(app: App[Any]) -> AwaitComplete:
    """Close a sheet; raise AssertionError in a handler of one of its widgets, which would wait for its own end."""
    asking = active_message_pump.get(None)
    assert not isinstance(asking, DOMNode) or app.screen not in asking.ancestors_with_self, f"{asking} waits for itself"
    return _closed(app)


@contextlib.contextmanager
def _without_terminal() -> Iterator[None]:
    """Leave out what only a terminal needs, while a dashboard is under test.

    Without a terminal, Textual puts each update together and drops it: a fifth of the time of these tests. The screen
    is put together when a test looks at it; test_terminal.py and others watch what a real terminal gets. And after each
    key Textual sleeps twice for a 50th of a second, or as long as any thread of the process is busy.
    """
    with (
        mock.patch.object(Compositor, "render_update", _update),
        mock.patch.object(App, "pop_screen", _close),
        mock.patch("textual.app.wait_for_idle", _idle),
        mock.patch("textual.pilot.wait_for_idle", _idle),
    ):
        yield


class Screen:
    """A running dashboard."""

    def __init__(self, app: Dashboard, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    def segments(self) -> list[list[Segment]]:
        """Return every line as it is painted."""
        return [list(strip) for strip in self.app.screen._compositor.render_strips()]

    def lines(self) -> list[str]:
        """Return every line as text."""
        return ["".join(s.text for s in line).rstrip() for line in self.segments()]

    def text(self) -> str:
        """Return the whole screen as text."""
        return "\n".join(self.lines())

    def line(self, part: str) -> str:
        """Return the first line that holds `part`."""
        return next((line for line in self.lines() if part in line), "")

    async def press(self, *keys: str) -> str:
        """Press keys, and return the screen's text."""
        for key in keys:
            await self.pilot.press(key)
        await self.settled()
        return self.text()

    async def settled(self) -> None:
        """Wait until all that happened is shown: also a frame that is sought by a message that was still waiting."""
        await self.looked_up()
        await self.pilot.pause()
        while self.app.playhead.sought is not None:
            await self.looked_up()
            await self.pilot.pause()

    async def looked_up(self) -> None:
        """Wait until the frame that was stepped to is judged and shown."""
        if self.app.playhead.sought is not None:
            await asyncio.to_thread(settle, self.app.lookup)
            self.app.looked_up()

    async def reached(self, view: str) -> None:
        """Wait until a view is shown."""
        for _ in range(60_000):
            if self.app.main.entry.name == view:
                return
            await asyncio.sleep(0.001)
        raise TimeoutError(view)

    async def arrive(self, count: int = 1) -> str:
        """Let frames come in one by one and be judged, and return the screen's text."""
        assert isinstance(self.app.feed, FakeFeed)
        assert self.app.judging is not None
        for _ in range(count):
            self.app.feed.give()
            self.app._receive()
            await asyncio.to_thread(settle, self.app.judging)
            self.app._judged()
        return await self.press()

    async def type(self, text: str) -> str:
        """Paste a text into the last line and end it with Enter."""
        self.app.post_message(events.Paste(text))
        return await self.press("enter")


@contextlib.asynccontextmanager
async def screen(
    session: Session, size: tuple[int, int] = SMALL, *, frames: FakeFeed | None = None, options: Options | None = None
) -> AsyncIterator[Screen]:
    """Show a session."""
    app = Dashboard(session, frames, options or LOOKS)
    with _without_terminal():
        async with app.run_test(size=size) as pilot:
            shown = Screen(app, pilot)
            await shown.settled()
            yield shown


def settle(judging: Judging[Look] | Lookup) -> None:
    """Wait until nothing is left to judge."""
    while judging.busy:
        time.sleep(0.001)


class FakeFeed:
    """Frames that come when a test says so."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.waiting = list(frames)
        self.ready: list[Frame] = []
        self.interval = 1.0
        self.rescans = 0

    def fileno(self) -> int:
        return -1

    def give(self, count: int = 1) -> None:
        """Let the next frames arrive."""
        self.ready, self.waiting = self.ready + self.waiting[:count], self.waiting[count:]

    def receive(self) -> list[Frame]:
        ready, self.ready = self.ready, []
        return ready

    def rescan(self) -> None:
        self.rescans += 1

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    def close(self) -> None:
        pass
