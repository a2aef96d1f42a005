"""What the tests of the command line share: made-up readings, and sdstop run as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sdstop.core.evidence import RunMark
from tests.exporters.meters import Meter, Mood

CALM = Meter("a", count=1, mood=Mood.CALM)
WARNING = Meter("b|c", count=1, level=0.1, mood=Mood.LOUD)
CRITICAL = Meter("c", count=1, level=0.9, mood=Mood.LOUD)
MARK = RunMark(1.0, 0.1)
DISKSTATS = "   8       0 sda {} 0 800 10 5 0 40 3 0 13 13 0 0 0 0 0 0\n"

Make = Callable[..., str]


def run(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, **keywords: Any
) -> subprocess.CompletedProcess[str]:
    """Run sdstop as a process."""
    keywords = {"stdin": subprocess.DEVNULL, "capture_output": "stdout" not in keywords, "timeout": 120} | keywords
    argv = [sys.executable, "-m", "sdstop", *map(str, arguments)]
    return subprocess.run(argv, text=True, check=False, env={**os.environ, **(environment or {})}, **keywords)


def start(*arguments: str | Path, **keywords: Any) -> subprocess.Popen[str]:
    """Start sdstop as a process."""
    argv = [sys.executable, "-m", "sdstop", *map(str, arguments)]
    keywords = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | keywords
    return subprocess.Popen(argv, text=True, **keywords)


def one_line(text: str) -> str:
    """Return the only line of a text."""
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text[:-1]
