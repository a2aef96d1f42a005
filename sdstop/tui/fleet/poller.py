"""The thread that waits for the server, so that the screen never does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sdstop.fleet.picture import Key, Picture
from sdstop.fleet.watcher import NodePicture, Watcher

FleetAnswer = Picture | NodePicture | Exception


class FleetPoller:
    """One question at a time; whoever quits does not wait for an answer."""

    def __init__(self, watcher: Watcher, interval: float, tell: Callable[[FleetAnswer], None]) -> None:
        """Ask nothing yet; `tell` is called from the thread."""
        self.interval = interval
        self.paused = False
        self.busy = False
        self._watcher = watcher
        self._tell = tell
        self._changed = threading.Condition()
        self._now = True
        self._wanted: Key | None = None
        self._ended = False
        self._due = 0.0
        self._thread = threading.Thread(target=self._run, name="asking", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def now(self) -> None:
        """Refresh at once."""
        with self._changed:
            self._now = True
            self._changed.notify()

    def node(self, key: Key) -> None:
        """Ask for a node, before the next refresh; only the last one asked for counts."""
        with self._changed:
            self._wanted = key
            self._changed.notify()

    def set(self, *, interval: float | None = None, paused: bool | None = None) -> None:
        """Change the pace."""
        with self._changed:
            self.interval = self.interval if interval is None else interval
            self.paused = self.paused if paused is None else paused
            self._due = min(self._due, time.monotonic() + self.interval)
            self._changed.notify()

    def end(self) -> None:
        """Tell nothing any more."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._ended or self._wanted or self._now or self._is_due()):
                    self._changed.wait(None if self.paused else max(self._due - time.monotonic(), 0.01))
                if self._ended:
                    return
                wanted, self._wanted = self._wanted, None
                if wanted is None:
                    self._now = False
                self.busy = True
            told = self._asked(wanted)
            with self._changed:
                self.busy = False
                if wanted is None:
                    self._due = time.monotonic() + self._watcher.pause(self.interval)
                if self._ended:
                    return
            self._tell(told)
            if isinstance(told, Exception):
                return

    def _is_due(self) -> bool:
        return not self.paused and time.monotonic() >= self._due

    def _asked(self, wanted: Key | None) -> FleetAnswer:
        try:
            return self._watcher.refresh() if wanted is None else self._watcher.node(wanted)
        except Exception as error:  # noqa: BLE001  # a thread's errors are seen by nobody unless they are handed over
            return error
