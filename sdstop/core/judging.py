"""Judging of live frames in a thread of its own, so that keys and scrapes do not wait for it."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame
from sdstop.core.guard import Guard, Part

T = TypeVar("T")

MOST_WAITING = 16
"""Frames that wait at most, quiet ones not counted; older ones are merged."""
SWITCH = 0.0005
"""Seconds after which the thread yields to one that serves. Each wait for a socket or terminal costs one yield."""


class Judging(Generic[T]):
    """Thread that owns a live session: it feeds frames in order and keeps the newest result.

    A frame that has waited for longer than an interval while a newer one is there is late: its evidence is merged into
    the newer one, and it is not judged. Frames from before the session are part of its first window: all are kept, and
    none is judged, as if they had been quiet.
    """

    def __init__(self, feed: Callable[[Frame], T], guard: Guard, interval: float = 1.0) -> None:
        """Start the thread; `feed` runs in it. An exception costs its frame."""
        self.interval = interval
        self.late = 0
        """Frames that were merged so far instead of judged."""
        self._feed = feed
        self._guard = guard
        self._past: deque[Frame] = deque()
        self._waiting: deque[tuple[float, Frame]] = deque()
        self._done: list[T] = []
        self._began: float | None = None
        self._ended = False
        self._signed = False
        """Whether the descriptor is readable."""
        self._changed = threading.Condition()
        self._sign = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        threading.Thread(target=self._run, name="judging", daemon=True).start()

    def fileno(self) -> int:
        """Return the descriptor that is readable when `take` has results."""
        return self._sign

    def put(self, frames: Iterable[Frame], before: float = -math.inf) -> None:
        """Add frames, newest last. Never waits for the thread's work.

        Those of a time `before` this one (monotonic seconds) are from before the session.
        """
        now = time.monotonic()
        with self._changed:
            for frame in frames:
                if frame.monotonic < before:
                    self._past.append(replace(frame, quiet=True))
                else:
                    self._waiting.append((now, frame))
            while sum(not frame.quiet for _, frame in self._waiting) > MOST_WAITING:
                self._merge()
            self._changed.notify()

    def take(self) -> list[T]:
        """Return the results since the last call, oldest first. Never waits."""
        with self._changed:
            done, self._done = self._done, []
            if self._signed:
                os.eventfd_read(self._sign)
                self._signed = False
        return done

    @property
    def busy(self) -> bool:
        """Whether frames wait or one is being judged."""
        with self._changed:
            return bool(self._past or self._waiting) or self._began is not None

    @property
    def seconds(self) -> float:
        """Seconds that the current frame has taken so far; 0 without one."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def close(self) -> None:
        """End the thread after its current frame, without waiting for it."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._past or self._waiting) and not self._ended:
                    self._changed.wait()
                if self._ended:
                    return
                frame = self._next()
                self._began = time.monotonic()
            results = self._judged(frame)
            with self._changed:
                self._began = None
                self._done += results
                # A quiet frame shows nothing new: its result is taken together with that of the next frame.
                if self._done and not self._signed and not (frame.quiet and (self._past or self._waiting)):
                    os.eventfd_write(self._sign, 1)
                    self._signed = True

    def _next(self) -> Frame:
        """Return the next frame, late ones merged into it."""
        if self._past:
            return self._past.popleft()
        while len(self._waiting) > 1 and time.monotonic() - self._waiting[0][0] > self.interval:
            self._merge()
        return self._waiting.popleft()[1]

    def _judged(self, frame: Frame) -> list[T]:
        """Return the result for a frame, none if that raises an exception."""
        return self._guard.call(Part.FRAME, "frame", lambda: [self._feed(frame)], lambda _: [])

    def _merge(self) -> None:
        """Merge the oldest waiting frame into the next one."""
        _, older = self._waiting.popleft()
        arrived, newer = self._waiting.popleft()
        self._waiting.appendleft((arrived, merged(older, newer)))
        self.late += not older.quiet  # a quiet one is never judged


def merged(older: Frame, newer: Frame) -> Frame:
    """Return a frame that leads to the same state as two in a row, at the time of the newer one."""
    evidence: dict[str, Evidence] = {item.key: item for item in (*older.evidence, *newer.evidence)}
    ran = None if newer.ran is None else {**(older.ran or {}), **newer.ran}
    quiet = older.quiet and newer.quiet
    return replace(newer, evidence=tuple(evidence.values()), ran=ran, quiet=quiet)
