"""Runner for the commands that collectors declare; a hanging command does not delay anything else."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from sdstop.core.collector import Command
from sdstop.core.evidence import command_key
from sdstop.core.host import LARGEST, Absent, Denied, Failed, Output, TimedOut
from sdstop.node.descendants import (
    MARK,
    adopt_orphans,
    end_descendants,
    end_orphans,
    in_other_session,
    reap,
    signal_descendants,
)

PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Directories that are searched for programs, regardless of the caller's PATH."""
ENVIRONMENT = {"PATH": ":".join(PATH), "LC_ALL": "C.UTF-8", "HOME": "/"}
RUNAWAY = 16 * LARGEST
"""Bytes of output above which a command is ended, because it would fill the memory."""
GRACE = 1.0
"""Seconds that a command has to end after SIGTERM, and after SIGKILL."""
MOST_ABANDONED = 2
"""Number of unkillable hanging commands of one program after which the program is no longer started."""

_DEFAULTED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ)


class CommandRunner:
    """Runner for allow-listed commands that tracks those that hang and cannot be killed. Thread-safe.

    In a process that `adopts` orphans, descendants of commands are ended even if they hide their environment.
    """

    adopts = False
    """Whether this process becomes the parent of orphans before it runs the first command."""

    def __init__(self, allowed: Iterable[Command] = (), path: Sequence[str] = PATH, grace: float = GRACE) -> None:
        """Start with no command running."""
        self._allowed = tuple(allowed)
        self._path = tuple(path)
        self._grace = grace
        self._running: set[int] = set()
        self._marks: dict[int, str] = {}
        self._active: set[str] = set()
        self.prefix = f"{os.getpid()}-{id(self):x}-"
        """Beginning of the marks of its commands, which are in their environment."""
        self._started = itertools.count(1)
        self._orphans: set[int] = set()
        self._adopted = False
        self._abandoned: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str], deadline: float) -> Output:
        """Run a command for at most `deadline` seconds, plus twice GRACE if it does not end on SIGTERM.

        The command gets a new session, no input, a fixed environment, and in-memory files for its output: with pipes,
        a process that inherited them could keep sdstop waiting. Processes that it leaves behind are killed, even if
        they left its process group and session. Output beyond LARGEST is cut off; the exit status is negative for a
        signal.

        Raises Absent if the program is not installed, Denied if it may not be executed, TimedOut, and Failed if the
        command is not on the list, cannot be started, or was abandoned too often.
        """
        key = command_key(argv)
        command = next((command for command in self._allowed if command.allows(argv)), None)
        if command is None:
            raise Failed(key, "no active collector declares this command")
        program = self._find(argv[0])
        if program is None:
            raise Absent(key, f"{argv[0]} is not installed")
        if len(self._hanging(program)) >= MOST_ABANDONED:
            raise Failed(key, f"{argv[0]} disabled after {MOST_ABANDONED} runs that hang and cannot be killed")
        stdout, stderr = os.memfd_create("stdout"), os.memfd_create("stderr")
        try:
            pid = self._start(key, program, argv, stdout, stderr)
            status = self._wait(key, program, pid, deadline, (stdout, stderr))
            return Output(command.kept(_content(stdout)), _content(stderr), os.waitstatus_to_exitcode(status))
        finally:
            os.close(stdout)
            os.close(stderr)

    def close(self) -> None:
        """Kill all running commands and what others left behind without waiting; for a process that is about to end."""
        locked = self._lock.acquire(timeout=0.1)
        for pid in tuple(self._running):
            _signal_tree(pid, signal.SIGKILL)
        if self._adopted:
            end_descendants(os.getpid())
        if locked:
            self._lock.release()

    def lacks(self, program: str) -> bool:
        """Return whether a program is not installed."""
        return self._find(program) is None

    def _find(self, name: str) -> str | None:
        places = (Path(folder, name) for folder in self._path)
        return next((str(place) for place in places if place.is_file()), None)

    def _start(self, key: str, program: str, argv: Sequence[str], stdout: int, stderr: int) -> int:
        mark = f"{self.prefix}{next(self._started)}"
        with self._lock:
            self._active.add(mark)
            if self.adopts and not self._adopted:
                self._adopted = adopt_orphans()
        try:
            pid = os.posix_spawn(
                program,
                list(argv),
                {**ENVIRONMENT, MARK: mark},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, stdout, 1),
                    (os.POSIX_SPAWN_DUP2, stderr, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=_DEFAULTED,
            )
        except PermissionError as error:
            self._active.discard(mark)
            raise Denied(key, f"{program}: permission denied") from error
        except (OSError, ValueError) as error:
            self._active.discard(mark)
            raise Failed(key, f"{program} cannot be started: {error}") from error
        with self._lock:
            self._running.add(pid)
            self._marks[pid] = mark
        return pid

    def _wait(self, key: str, program: str, pid: int, deadline: float, files: tuple[int, ...]) -> int:
        """Return the wait status, or end the command and raise TimedOut or Failed with the reason."""
        if self._ended(pid, deadline, files):
            return self._reap(pid)
        too_much = _runs_away(files)
        doing = _doing(pid)
        for number in (signal.SIGTERM, signal.SIGKILL):
            _signal_tree(pid, number)
            if self._ended(pid, self._grace):
                self._reap(pid)
                if too_much:
                    raise Failed(key, f"output exceeded {RUNAWAY >> 20} MiB; killed")
                raise TimedOut(key, f"timed out after {deadline:g} s ({doing}); ended by {number.name}")
        with self._lock:
            self._running.discard(pid)
            self._abandoned.setdefault(program, set()).add(pid)
        raise TimedOut(key, f"timed out after {deadline:g} s; process {pid} cannot be killed: {_doing(pid)}")

    def _ended(self, pid: int, seconds: float, files: tuple[int, ...] = ()) -> bool:
        """Wait for the end, but keep the zombie: while it exists, its process group number is not reused."""
        end = time.monotonic() + seconds
        pause = 0.0005
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            left = end - time.monotonic()
            if left <= 0 or _runs_away(files):
                return False
            pause = min(pause * 2, left, 0.02)
            time.sleep(pause)
        return True

    def _reap(self, pid: int) -> int:
        with self._lock:
            _signal_tree(pid, signal.SIGKILL)
            self._running.discard(pid)
            self._active.discard(self._marks.pop(pid, ""))
            status = os.waitpid(pid, 0)[1]
            self._orphans = {pid for pid in self._orphans if not reap(pid)}
            known = self._running.union(self._orphans, *self._abandoned.values())
            self._orphans |= end_orphans(known, self._active, self.prefix, self._left_behind)
            return status

    def _left_behind(self, pid: int) -> bool:
        """Return whether a child without a mark was left behind by a command, not by one that still runs."""
        return self._adopted and not self._active and in_other_session(pid)

    def _hanging(self, program: str) -> set[int]:
        """Return the abandoned commands of a program that still hang, and reap those that have ended."""
        with self._lock:
            pids = self._abandoned.get(program, set())
            pids -= {pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]}
            return pids


def _content(fd: int) -> bytes:
    return os.pread(fd, LARGEST, 0)


def _runs_away(files: tuple[int, ...]) -> bool:
    return any(os.fstat(fd).st_size > RUNAWAY for fd in files)


def _signal_tree(pid: int, number: signal.Signals) -> None:
    """Send a signal to a command that was not reaped yet, to its process group, and to its other descendants."""
    signal_descendants(pid, number)
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


_STATES = {
    "R": "running", "S": "sleeping", "D": "in uninterruptible sleep", "T": "stopped", "t": "traced", "Z": "a zombie"
}  # fmt: skip


def _doing(pid: int) -> str:
    """Describe the state of a process, from /proc/PID/stat (after the last parenthesis) and /proc/PID/wchan."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
        where = Path(f"/proc/{pid}/wchan").read_text("ascii", "replace").strip()
    except (OSError, IndexError):
        return "state unknown"
    words = f"{state}, {_STATES.get(state, 'state unknown')}"
    return words if where in {"", "0"} else f"{words}, waiting in {where}"
