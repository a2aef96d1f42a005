"""What the tests of the command line share: made-up readings, and sdstop run as a process."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from sdstop.cli.command import execute
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


def executed(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command that opens what was recorded, as `run` does, but in this process: starts take 0.15 s of CPU."""
    words = [*map(str, arguments)]
    printed, said = io.BytesIO(), io.BytesIO()
    thresholds = gc.get_threshold()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.TextIOWrapper(printed, encoding="utf-8", write_through=True)) as out,
        redirect_stderr(io.TextIOWrapper(said, encoding="utf-8", write_through=True)) as err,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            code = execute(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out.flush()
        err.flush()
        texts = [stream.getvalue().decode() for stream in (printed, said)]
    gc.set_threshold(*thresholds)
    return subprocess.CompletedProcess(words, code, *texts)


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
