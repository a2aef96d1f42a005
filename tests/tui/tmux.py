"""tmux: a real terminal whose screen a test reads."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

PATIENCE = 60.0
"""Seconds that a shared machine may take for what takes one."""
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "COLORTERM", "TERM", "LC_ALL", "TMUX"}}


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, size: tuple[int, int], command: str) -> None:
        self.socket = str(folder / "tmux")
        where = ["-x", str(size[0]), "-y", str(size[1])]
        self.run("-f", "/dev/null", "new-session", "-d", *where, f"{command}; echo left with $?; exec cat")

    def run(self, *argv: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *argv], capture_output=True, check=True, timeout=PATIENCE, text=True,
            env={**ENVIRONMENT, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
        )  # fmt: skip
        return done.stdout

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def until(self, *parts: str) -> str:
        """Return the screen once it shows all parts."""
        deadline = time.monotonic() + PATIENCE
        while not all(part in (shown := self.screen()) for part in parts):
            assert time.monotonic() < deadline, shown
            time.sleep(0.1)
        return shown

    def click(self, part: str, line: str = "", times: int = 1) -> None:
        """Click on the first cell of a text that the screen shows, in a line with another text."""
        lines = self.screen().splitlines()
        y = next(at for at, text in enumerate(lines) if part in text and line in text)
        x = lines[y].index(part)
        for _ in range(times):
            for end in "Mm":
                sent = f"\x1b[<0;{x + 1};{y + 1}{end}"
                self.run("send-keys", "-H", *(f"{byte:02x}" for byte in sent.encode()))

    def type(self, text: str) -> None:
        """Type a text and end it with Enter."""
        self.run("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self.run("send-keys", *keys)
