"""Commands of a live node: none delays anybody, whatever it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sdstop.collectors
from sdstop.core.collector import Collector, Command, Need, commands_of
from sdstop.core.host import LARGEST, Absent, Denied, Failed, TimedOut
from sdstop.node import commands
from sdstop.node.commands import CommandRunner

pytestmark = pytest.mark.live

LONG = 600.0
"""Seconds that a test's command would sleep: whoever waited for it would not end."""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Callable[[str], CommandRunner]]:
    """Make runners for a program `probe`, a shell script."""
    made = []

    def make(script: str) -> CommandRunner:
        program = tmp_path / "probe"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        made.append(CommandRunner([Command(("probe",), "test"), Command(("probe", "*"), "test")], [str(tmp_path)], 0.3))
        return made[-1]

    yield make
    for one in made:
        one.close()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def until(true: Callable[[], bool]) -> None:
    """Wait for something that does happen: a test that waits for ever is one that failed."""
    while not true():
        time.sleep(0.01)


def test_a_command_gets_what_is_fixed_and_nothing_else(
    runner: Callable[[str], CommandRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD_OF_SOMEBODY", "x")
    output = runner('cat; echo "$LC_ALL $PATH"; env | grep -c SOMEBODY; echo oops >&2; exit 3').run(["probe"], 60)
    assert output.text == f"C.UTF-8 {':'.join(commands.PATH)}\n0\n"
    assert (output.stderr, output.exit) == (b"oops\n", 3)


def test_a_command_has_a_session_of_its_own(runner: Callable[[str], CommandRunner]) -> None:
    pid, session = runner("cut -d' ' -f6 /proc/$$/stat; echo $$").run(["probe"], 60).text.split()
    assert pid == session != str(os.getsid(0))


def test_a_signal_is_a_negative_exit(runner: Callable[[str], CommandRunner]) -> None:
    assert runner("kill -9 $$").run(["probe"], 60).exit == -9


@pytest.mark.parametrize(
    "argv",
    [["rm", "x"], ["probe", "--option"], ["probe", "a", "b"], ["probe", "a b"], ["probe", ""], ["probe", "$(x)"], []],
)
def test_what_is_not_on_the_list_is_refused(runner: Callable[[str], CommandRunner], argv: list[str]) -> None:
    with pytest.raises(Failed, match="no active collector declares this command"):
        runner("echo ran").run(argv, 60)


def test_a_missing_program_is_absent() -> None:
    with pytest.raises(Absent, match="probe is not installed"):
        CommandRunner([Command(("probe",), "test")], ["/nonexistent"]).run(["probe"], 60)


def test_a_program_that_may_not_be_executed_is_denied(tmp_path: Path) -> None:
    (tmp_path / "probe").write_text("#!/bin/sh\n")
    with pytest.raises(Denied, match=r"/probe: permission denied$"):
        CommandRunner([Command(("probe",), "test")], [str(tmp_path)]).run(["probe"], 60)


def test_a_program_that_is_none_fails(tmp_path: Path) -> None:
    (tmp_path / "probe").write_bytes(b"\x7fELF")
    (tmp_path / "probe").chmod(0o755)
    with pytest.raises(Failed, match="cannot be started"):
        CommandRunner([Command(("probe",), "test")], [str(tmp_path)]).run(["probe"], 60)


def test_a_command_that_hangs_is_ended(runner: Callable[[str], CommandRunner]) -> None:
    with pytest.raises(TimedOut, match=r"timed out after 0\.2 s \(S, sleeping.*ended by SIGTERM"):
        runner(f"exec sleep {LONG}").run(["probe"], 0.2)


def test_a_command_deaf_to_sigterm_is_killed(runner: Callable[[str], CommandRunner]) -> None:
    with pytest.raises(TimedOut, match="ended by SIGKILL"):
        runner(f"trap '' TERM; while :; do sleep {LONG}; done").run(["probe"], 0.2)


def test_a_grandchild_that_holds_the_output_delays_nobody_and_ends(
    runner: Callable[[str], CommandRunner], tmp_path: Path
) -> None:
    output = runner(f"sleep {LONG} & echo $! >{tmp_path}/pid; echo done").run(["probe"], 60)
    assert output.stdout == b"done\n"
    until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_a_hanging_command_takes_its_group_with_it(runner: Callable[[str], CommandRunner], tmp_path: Path) -> None:
    with pytest.raises(TimedOut):
        runner(f"sleep {LONG} & echo $! >{tmp_path}/pid; wait").run(["probe"], 0.5)
    until(lambda: gone(int((tmp_path / "pid").read_text())))


def test_long_output_is_cut(runner: Callable[[str], CommandRunner]) -> None:
    output = runner(f"head -c {LARGEST + 4096} /dev/zero; echo end >&2").run(["probe"], 60)
    assert (len(output.stdout), output.stderr, output.exit) == (LARGEST, b"end\n", 0)


def test_endless_output_is_ended(runner: Callable[[str], CommandRunner], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "RUNAWAY", LARGEST)
    with pytest.raises(Failed, match="output exceeded 4 MiB"):
        runner("exec cat /dev/zero").run(["probe"], 60)


def test_what_cannot_be_killed_is_abandoned_and_twice_is_enough(
    runner: Callable[[str], CommandRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = runner(f"exec sleep {LONG}")
    left: list[int] = []
    spawn = os.posix_spawn

    def noted(*args: Any, **more: Any) -> int:
        left.append(spawn(*args, **more))
        return left[-1]

    with monkeypatch.context() as deaf:  # as in uninterruptible sleep: no signal arrives
        deaf.setattr(os, "killpg", lambda *_: None)
        deaf.setattr(os, "posix_spawn", noted)
        for _ in range(commands.MOST_ABANDONED):
            with pytest.raises(TimedOut, match=r"process \d+ cannot be killed: S, sleeping"):
                one.run(["probe"], 0.1)
        with pytest.raises(Failed, match="probe disabled after 2 runs that hang and cannot be killed"):
            one.run(["probe"], 0.1)
    assert len(left) == commands.MOST_ABANDONED
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
    until(lambda: all(gone(pid) for pid in left))
    with pytest.raises(TimedOut, match="ended by SIGTERM"):  # they did end after all
        one.run(["probe"], 0.1)


def declaring(*needs: Need | Command) -> Collector:
    return Collector("c", "Title", lambda _: (), (), needs)


def test_what_is_declared_twice_is_allowed_once() -> None:
    probe = Command(("probe", "-l"), "a test")
    again = Command(("probe", "-l"), "another reason")
    assert commands_of([declaring(probe, Need("cmd:probe *", "recorded")), declaring(again)]) == (probe,)


def test_two_that_keep_different_lines_of_one_command_are_refused() -> None:
    with pytest.raises(ValueError, match="cmd:probe: declared twice"):
        commands_of([declaring(Command(("probe",), "a test")), declaring(Command(("probe",), "a test", keep="a"))])


def test_no_command_of_the_list_can_be_given_an_option() -> None:
    for command in commands_of(sdstop.collectors.BUILTIN):
        assert command.why
        for word in ("-x", "--delete", "", "a\nb", ";", "../x y"):
            assert not command.allows([word if part == "*" else part for part in (*command.argv, "*")])
            assert "*" not in command.argv or not command.allows([word if p == "*" else p for p in command.argv])


LEFT = "python3 -c 'import os, sys, time; {leave}; open(sys.argv[1], \"w\").write(str(os.getpid())); time.sleep(600)'"
LEAVERS = {
    "a session of its own": "os.setsid()",
    "forked twice": "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0)",
    "forked twice, without its environment": (
        "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
        'os.environ.get("AGAIN") or os.execve(sys.executable, [sys.executable, "-c", '
        '"import os, sys, time; open(sys.argv[1], chr(119)).write(str(os.getpid())); time.sleep(600)", '
        "sys.argv[1]], {})"
    ),
}

WORKER = """
import sys, time
from pathlib import Path
from sdstop.core.collector import Command
from sdstop.core.host import TimedOut, Failed
from sdstop.node.commands import CommandRunner

folder, seconds = sys.argv[1:]
runner = CommandRunner([Command(("probe",), "test")], [folder], 0.3)
runner.adopts = True
try:
    print(runner.run(["probe"], float(seconds)).text, end="")
except TimedOut as error:
    print("timed out")
"""
"""A process as the sampler's, which runs a command."""


@pytest.mark.parametrize("leave", LEAVERS.values(), ids=LEAVERS)
@pytest.mark.parametrize("hangs", [False, True])
def test_what_left_the_group_and_the_session_ends_with_its_command(leave: str, *, hangs: bool, tmp_path: Path) -> None:
    said = tmp_path / "pid"
    program = tmp_path / "probe"
    wait = f"while ! [ -s {said} ]; do sleep 0.01; done"
    left = LEFT.format(leave=leave)
    program.write_text(f"#!/bin/sh\n{left} {said} &\n{wait}\necho done\n{'sleep 600' if hangs else ''}\n")
    program.chmod(0o755)
    stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        argv = [sys.executable, "-c", WORKER, str(tmp_path), "2" if hangs else "60"]
        ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
        assert ended.stdout == ("timed out\n" if hangs else "done\n")
        until(lambda: gone(int(said.read_text())))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_children_of_other_parts_of_the_process_are_left_alone(runner: Callable[[str], CommandRunner]) -> None:
    """Without having adopted orphans, only what bears the mark of an ended command is ended."""
    other = subprocess.Popen(["sleep", "600"])
    try:
        assert runner("echo done").run(["probe"], 60).text == "done\n"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_the_process_starts_by_itself_is_no_orphan_of_its_commands(tmp_path: Path) -> None:
    """Without ldconfig, which pyudev runs, libudev is not found, and hot-plug is not noticed."""
    script = """
import subprocess, sys
from sdstop.core.collector import Command
from sdstop.node.commands import CommandRunner
runner = CommandRunner([Command(("probe",), "test")], [sys.argv[1]], 0.3)
runner.adopts = True
runner.run(["probe"], 60)
own = subprocess.Popen(["sleep", "600"], env={})
try:
    print(runner.run(["probe"], 60).text.strip(), own.poll())
finally:
    own.kill()
"""
    (tmp_path / "probe").write_text("#!/bin/sh\necho done\n")
    (tmp_path / "probe").chmod(0o755)
    argv = [sys.executable, "-c", script, str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "done None\n"


def test_a_command_that_runs_meanwhile_keeps_what_it_started(tmp_path: Path) -> None:
    script = """
import sys, threading, time
from sdstop.core.collector import Command
from sdstop.node.commands import CommandRunner
runner = CommandRunner([Command(("long",), "test"), Command(("short",), "test")], [sys.argv[1]], 0.3)
runner.adopts = True
found = []
thread = threading.Thread(target=lambda: found.append(runner.run(["long"], 60).text))
thread.start()
while thread.is_alive():
    runner.run(["short"], 60)
print(found[0], end="")
"""
    for name, text in {
        "short": "true",
        "long": f"(setsid sh -c 'sleep 1; echo kept > {tmp_path}/kept' &) ; sleep 2; cat {tmp_path}/kept",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    argv = [sys.executable, "-c", script, str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "kept\n"
