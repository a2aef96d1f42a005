"""Run the dashboard on a synthetic live node, for tests in real terminals: `python tests/tui/watch.py [OPTION...]`."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

# Instead of this folder, whose array.py is not the standard library's.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from sdstop.core.evidence import Frame, Origin
from sdstop.core.session import Session
from sdstop.tui import Options, run, usable_terminal
from tests.nodes.block import Load, Node, raid10

MEMBERS = ("sda", "sdb", "sdc", "sdd")


class PipeFeed:
    """Frames that arrive through a pipe, ten a second."""

    def __init__(self, frames: list[Frame]) -> None:
        self.interval = 1.0
        self._reader, self._writer = os.pipe()
        self._ready: list[Frame] = []
        threading.Thread(target=self._send, args=(frames,), daemon=True).start()

    def _send(self, frames: list[Frame]) -> None:
        for frame in frames:
            self._ready.append(frame)
            os.write(self._writer, b".")
            time.sleep(0.1)

    def fileno(self) -> int:
        return self._reader

    def receive(self) -> list[Frame]:
        if not self._ready:
            return []
        count = len(os.read(self._reader, 1000))
        return [self._ready.pop(0) for _ in range(count)]

    def rescan(self) -> None:
        pass

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    def close(self) -> None:
        pass


def _load(_: str, second: int) -> Load:
    return Load(second % 50, 10, queue=2.0, busy=0.4)


def main() -> int:
    """Show the dashboard, or say why not."""
    reason = usable_terminal()
    if reason is not None:
        print(f"no dashboard: {reason}")  # noqa: T201
        return 3
    node = Node((*MEMBERS, "md0"), _load, raid10("md0", MEMBERS))
    session = Session(Origin("test-node", live=True), node.session(0).collectors, (), remember=900)
    ascii_only = True if "--ascii" in sys.argv else None
    theme = "terminal" if "--theme=terminal" in sys.argv else "auto"
    options = Options(ascii=ascii_only, mouse="--no-mouse" not in sys.argv, theme=theme, version="9.9")
    return run(session, PipeFeed(node.frames(600)), options)


if __name__ == "__main__":
    sys.exit(main())
