"""Who does the I/O on a made-up node, as psutil answers it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

ANSWER = "answers/psutil.processes.json"


@dataclass(frozen=True, slots=True)
class Process:
    """A process, and the bytes it read and wrote up to now."""

    pid: int
    name: str
    cmdline: str
    read: int | None
    written: int | None
    user: str = "root"


def answer(processes: Sequence[Process], started: float) -> str:
    """Return the answer to `psutil.processes`, one process a line; they began one after the other from `started`."""
    rows = [
        {
            "pid": p.pid, "name": p.name, "started": started + 3.0 * number, "user": p.user, "cmdline": p.cmdline,
            "read_bytes": p.read, "write_bytes": p.written,
        }
        for number, p in enumerate(processes)
    ]  # fmt: skip
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
