"""Guard: an exception in one part of a frame costs that part, is shown and counted, and nothing else is lost.

Sources, rules, tallies, views and parts of pages and reports are guarded one by one. `Exception` is caught only here
and at the outermost level of sampler and cli.
"""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TypeVar

from sdstop.core.format import safe

V = TypeVar("V")


class Part(enum.StrEnum):
    """Kind of a guarded part."""

    SOURCE = "source"
    RULE = "rule"
    TALLY = "tally"
    VIEW = "view"
    PAGE = "page"
    REPORT = "report"
    FRAME = "frame"
    RECORD = "record"


class Guard:
    """Guard of one session, which counts the exceptions by part and name. Thread-safe."""

    def __init__(self) -> None:
        """Start without exceptions."""
        self._counts: dict[tuple[Part, str], int] = {}
        self._lock = threading.Lock()

    def call(self, part: Part, name: str, make: Callable[[], V], instead: Callable[[str], V]) -> V:
        """Return the result of `make`, or of `instead`, which gets the exception as one line: `KeyError: 'md5'`."""
        made = caught(make)
        if not isinstance(made, Exception):
            return made
        with self._lock:
            self._counts[part, name] = self._counts.get((part, name), 0) + 1
        return instead(described(made))

    @property
    def counts(self) -> dict[tuple[Part, str], int]:
        """Number of exceptions so far, by part and name."""
        with self._lock:
            return dict(self._counts)


class Superseded(BaseException):
    """Raised instead of a result that is not wanted any more; no guard takes it for a fault."""


_asked = threading.local()


@contextlib.contextmanager
def given_up_if(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Let `check_wanted` raise Superseded in this thread as soon as the result is `unwanted`."""
    before: Callable[[], bool] = getattr(_asked, "unwanted", bool)
    _asked.unwanted = unwanted
    try:
        yield
    finally:
        _asked.unwanted = before


def check_wanted() -> None:
    """Raise Superseded if the result is not wanted any more: for rules, between things that take 50 ms each."""
    if getattr(_asked, "unwanted", bool)():
        raise Superseded


def caught(make: Callable[[], V]) -> V | Exception:
    """Return the result of `make`, or the exception that it raised."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # the only place where parts of a frame are isolated
        return error


def described(error: Exception) -> str:
    """Return an exception as one line with its place: `KeyError: 'md5' (stripe.py:88)`."""
    said = caught(lambda: str(error))
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f" ({PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
        trace = trace.tb_next
    text = f": {said}" if isinstance(said, str) and said else ""
    return f"{safe(f'{type(error).__name__}{text}')}{place}"
