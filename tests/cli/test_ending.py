"""SIGTERM is obeyed within two seconds, whatever a command is busy with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.run import run

pytestmark = pytest.mark.live

OBEYED = 2.0
"""Seconds from the signal to the end of the process."""

HEAVY = """
import sys, time
from sdstop.core.finding import RuledOut, Severity
from sdstop.core.rule import Rule
import sdstop.rules

def slow(window, limits):
    print("judging", file=sys.stderr, flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        sorted(str(n) for n in range(1000))
    yield RuledOut("a", "b")

sdstop.rules.RULES = (Rule("slow", "s", Severity.INFO, slow, ()),)
from sdstop.cli import capture
capture._TOGETHER = 2
from sdstop.cli.command import execute
sys.exit(execute(sys.argv[1:]))
"""
"""sdstop with a rule that takes a minute for each frame and says when it begins."""


def ended(argv: list[str], said: str, number: int = signal.SIGTERM) -> tuple[float, int, str]:
    """Send a signal to a process once it says something; return how long it took to end, how, and its words."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    line = process.stderr.readline()
    while said not in line:
        assert line, process.communicate()
        line = process.stderr.readline()
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(number)
    _, words = process.communicate(timeout=60)
    return time.monotonic() - began, process.returncode, words


def heavy(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", HEAVY, *map(str, arguments)]


@pytest.mark.parametrize(
    ("command", "codes"),
    [
        (("check",), {-signal.SIGTERM}),
        (("report",), {-signal.SIGTERM}),
        (("report", "--format", "html"), {-signal.SIGTERM}),
        (("export", "--listen", "127.0.0.1:0"), {0}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_while_a_heavy_frame_is_judged(command: tuple[str, ...], codes: set[int], node: Path) -> None:
    seconds, code, _ = ended(heavy(*command, "--root", node), "judging")
    assert seconds <= OBEYED
    assert code in codes


def test_a_capture_is_whole_although_it_was_not_judged(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "made.tar.gz"
    argv = heavy("capture", "--root", node, "--duration", "1h", "--interval", "100ms", "-o", path)
    seconds, code, words = ended(argv, "judging")
    assert seconds <= OBEYED
    assert code == 143
    assert "interrupted, without findings" in words
    again = run("report", "--from", path)
    assert (again.returncode, again.stderr) == (0, "")


def test_a_source_that_hangs_delays_no_end(node: Path) -> None:
    (node / "proc" / "mdstat").unlink(missing_ok=True)
    os.mkfifo(node / "proc" / "mdstat")
    argv = [sys.executable, "-m", "sdstop", "export", "--root", str(node), "--listen", "127.0.0.1:0"]
    seconds, code, _ = ended(argv, "serving")
    assert seconds <= OBEYED
    assert code == 0


OPENING = """
import sys
from sdstop.capture import reader

def slow(*_, **__):
    print("opening", file=sys.stderr, flush=True)
    while True:
        sorted(str(n) for n in range(1000))

reader.open_nodes = slow
from sdstop.cli.command import execute
sys.exit(execute(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["report", "check", "capture", "export"])
def test_while_a_capture_is_opened(command: str, tmp_path: Path) -> None:
    more = ["-o", str(tmp_path / "out.tar.gz")] if command == "capture" else []
    argv = [sys.executable, "-c", OPENING, command, "--from", str(tmp_path), *more]
    seconds, code, _ = ended(argv, "opening")
    assert seconds <= OBEYED
    assert code == -signal.SIGTERM


STUCK = """
import sys, threading, time
from sdstop.core.ending import end_soon
import signal
signal.signal(signal.SIGTERM, lambda *_: end_soon(7, lambda: print("tidied", file=sys.stderr, flush=True)))
print("ready", file=sys.stderr, flush=True)
while True:
    sorted(str(n) for n in range(100000))
"""


def test_a_process_whose_main_thread_is_busy_ends_in_order() -> None:
    seconds, code, words = ended([sys.executable, "-c", STUCK], "ready")
    assert (code, words) == (7, "tidied\n")
    assert 1.0 <= seconds <= OBEYED


UNTIDY = STUCK.replace('lambda: print("tidied", file=sys.stderr, flush=True)', "lambda: time.sleep(60)")


def test_what_cannot_be_left_in_order_is_left() -> None:
    seconds, code, _ = ended([sys.executable, "-c", UNTIDY], "ready")
    assert code == 7
    assert seconds <= OBEYED
