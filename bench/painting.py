"""What the dashboard adds to a frame: CPU milliseconds as JSON, into a file. To be run on a terminal.

    python bench/painting.py TREE OUT --frames 30

It is fed ten frames a second, out of memory; what judging them takes is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from pathlib import Path

import seconds

from sdstop import tui
from sdstop.cli.command import collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin
from sdstop.core.session import Look, Session
from sdstop.core.timeline import RING_SECONDS
from sdstop.rules import RULES

PACE = 0.1
WARM = 10


class Timed(Session):
    """A session that knows how much CPU its feeding took."""

    took = 0.0

    def feed(self, frame: Frame) -> Look:
        """Take over a frame."""
        began = time.process_time()
        look = super().feed(frame)
        self.took += time.process_time() - began
        return look


class Film:
    """Frames that come one after the other. After the last one the process ends."""

    def __init__(self, frames: list[Frame], session: Timed, out: Path) -> None:
        """Start the clock."""
        self._frames = frames
        self._session = session
        self._out = out
        self._sign = os.eventfd(0, os.EFD_NONBLOCK)
        self._at = 0
        self._before = 0.0
        threading.Thread(target=self._run, daemon=True).start()

    def fileno(self) -> int:
        """Return what is readable when a frame is there."""
        return self._sign

    def receive(self) -> list[Frame]:
        """Return the frame that is there."""
        try:
            os.eventfd_read(self._sign)
        except BlockingIOError:
            return []
        own = time.process_time() - self._session.took
        if self._at == WARM:
            self._before = own
        if self._at == len(self._frames):
            each = (own - self._before) * 1000 / (self._at - WARM)
            self._out.write_text(json.dumps({"paint": each}))
            os._exit(0)
        self._at += 1
        return [self._frames[self._at - 1]]

    def rescan(self) -> None:
        """Do nothing."""

    def set_interval(self, seconds: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def _run(self) -> None:
        while True:
            time.sleep(PACE)
            os.eventfd_write(self._sign, 1)


def main() -> None:
    """Show the film."""
    parser = argparse.ArgumentParser(description="What the dashboard adds to a frame.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--frames", type=int, default=30)
    options = parser.parse_args()
    collect_seldom()
    frames = list(seconds.frames(options.tree, options.frames + WARM))
    session = Timed(Origin("bench", live=True), BUILTIN, RULES, remember=RING_SECONDS)
    tui.run(session, Film(frames, session, options.out), tui.Options())


if __name__ == "__main__":
    main()
