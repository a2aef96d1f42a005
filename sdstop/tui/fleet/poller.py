"""Poller thread that queries the server, so that the screen never blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sdstop.core.guard import caught
from sdstop.fleet.state import FleetState, Key
from sdstop.fleet.watcher import FleetWatcher, NodePicture

FleetAnswer = FleetState | NodePicture | Exception


class FleetPoller:
    """Serial query runner; ending it does not wait for the pending response."""

    def __init__(self, watcher: FleetWatcher, interval: float, notify: Callable[[FleetAnswer], None]) -> None:
        """Create the poller without starting it; `notify` is called from the poller's thread."""
        self.interval = interval
        self.paused = False
        self.busy = False
        self._watcher = watcher
        self._notify = notify
        self._changed = threading.Condition()
        self._now = True
        self._wanted: Key | None = None
        self._ended = False
        self._due = 0.0
        self._thread = threading.Thread(target=self._run, name="asking", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def now(self) -> None:
        """Refresh immediately."""
        with self._changed:
            self._now = True
            self._changed.notify()

    def node(self, key: Key) -> None:
        """Query a node before the next refresh; a newer request replaces a pending one."""
        with self._changed:
            self._wanted = key
            self._changed.notify()

    def set(self, *, interval: float | None = None, paused: bool | None = None) -> None:
        """Set the refresh interval in seconds, or pause and resume polling."""
        with self._changed:
            self.interval = self.interval if interval is None else interval
            self.paused = self.paused if paused is None else paused
            self._due = min(self._due, time.monotonic() + self.interval)
            self._changed.notify()

    def end(self) -> None:
        """End polling; no further results are passed on."""
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
            self._notify(told)
            if isinstance(told, Exception):
                return

    def _is_due(self) -> bool:
        return not self.paused and time.monotonic() >= self._due

    def _asked(self, wanted: Key | None) -> FleetAnswer:
        # An exception in a thread would be lost; the dashboard raises it again.
        return caught(self._watcher.refresh if wanted is None else lambda: self._watcher.node(wanted))
