"""What a full ring of frames takes: megabytes as JSON.

    python bench/memory.py TREE --seconds 900

A dashboard remembers 15 minutes. They are fed here without waiting for them, once with that ring and once, as the
exporter does, without; what matters is how much more memory is resident than after the first minute.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import seconds

from sdstop.cli.command import collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
from sdstop.rules import RULES

SETTLED = 90
"""Seconds after which the windows of rules are full."""


def resident() -> float:
    """Return this process's resident memory in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError("VmRSS")


def main() -> None:
    """Feed the frames."""
    parser = argparse.ArgumentParser(description="What a full ring of frames takes.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--remember", type=float, default=900.0)
    options = parser.parse_args()
    collect_seldom()
    session = Session(Origin("bench", live=True), BUILTIN, RULES, remember=options.remember)
    settled = 0.0
    for frame in seconds.frames(options.tree, options.seconds):
        session.feed(frame)
        if frame.number == min(SETTLED, options.seconds // 2):
            settled = resident()
    print(json.dumps({"settled": settled, "full": resident()}))


if __name__ == "__main__":
    main()
