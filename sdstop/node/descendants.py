"""Processes that commands leave behind: found even if they left the process group and the session of their command.

A process that reaps orphans (PR_SET_CHILD_SUBREAPER, prctl(2)) becomes the parent of every descendant whose own parent
has ended. All of its children that it did not start are therefore left behind by its commands.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path

MOST = 1000
"""Maximum number of descendants that are followed."""
MARK = "SDSTOP_COMMAND"
"""Environment variable by which descendants of a command are recognized."""
_PATIENCE = 0.1
"""Seconds to wait for the end of killed processes, and to look for the orphans they leave in turn."""
_PAUSE = 0.002
"""Seconds between two searches for descendants."""
_LOOKS = (0.0, 0.1, 0.3, 1.0, 3.0)
"""Pauses before the searches through all processes for those to end, in seconds."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""


def adopt_orphans() -> bool:
    """Make this process the parent of orphaned descendants; return whether the kernel agreed."""
    try:
        import ctypes  # noqa: PLC0415  # takes milliseconds, and must not delay the first frame

        return bool(ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def children(pid: int) -> list[int]:
    """Return the children of a process, zombies included, from /proc/PID/task/TID/children.

        4711 4712

    Kernels without CONFIG_PROC_CHILDREN do not have this file; then the parents of all processes are read.
    """
    if not _lists_children():
        every = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
        return [child for child in every if parent_of(child) == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


@functools.cache
def _lists_children() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def descendants(pid: int) -> dict[int, int]:
    """Return the descendants of a process with the parent of each, at most MOST, parents before children."""
    found = {pid: 0}
    todo = deque(found)
    while todo and len(found) <= MOST:
        each = todo.popleft()
        fresh = {child: each for child in children(each) if child not in found}
        found |= fresh
        todo += fresh
    del found[pid]
    return found


def signal_descendants(pid: int, number: signal.Signals) -> None:
    """Send a signal to the descendants of a process that was not reaped yet, parents first.

    The kernel may have given a number to another process by now: a process that is held by a descriptor gets the signal
    if its parent is still the same. Every parent is read before the first signal is sent, because a process whose
    parent has ended gets another one.
    """
    with contextlib.ExitStack() as held:
        handles = []
        for child, parent in descendants(pid).items():
            try:
                handle = os.pidfd_open(child)
            except OSError:
                continue
            held.callback(os.close, handle)
            if parent_of(child) == parent:
                handles.append(handle)
        for handle in handles:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(handle, number)


def end_descendants(pid: int) -> None:
    """Kill the descendants of a process, until a search after the last signal finds no further one, or _PATIENCE ends.

    A child that is being forked while its parent is killed is in no list yet.
    """
    seen = set[int]()
    end = time.monotonic() + _PATIENCE
    while not seen.issuperset(now := descendants(pid)) and time.monotonic() < end:
        signal_descendants(pid, signal.SIGKILL)
        seen |= now.keys()
        time.sleep(_PAUSE)


def parent_of(pid: int) -> int | None:
    """Return the parent of a process, from /proc/PID/stat after the last parenthesis: `4711 (a) b) S 4710 ...`."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def mark_of(pid: int) -> str:
    """Return the mark in a process's environment, "" if there is none or it may not be read."""
    start = f"{MARK}=".encode()
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((word[len(start) :].decode("ascii", "replace") for word in words if word.startswith(start)), "")


def end_orphans(
    known: Collection[int], running: Collection[str], prefix: str, unmarked: Callable[[int], bool]
) -> set[int]:
    """Kill and reap the children of this process that ended commands have left behind.

    Return those that do not end, because they hang in the kernel.

    Children that are `known` are left alone, and those whose mark is that of a `running` command. `prefix` begins all
    marks of this process. A child without a mark is ended if `unmarked` returns True. The kernel does not give
    the number of a child away before it is reaped.
    """
    killed, dying = set[int](), set[int]()
    end = time.monotonic() + _PATIENCE
    while True:
        fresh = [pid for pid in children(os.getpid()) if pid not in known and pid not in killed]
        for pid in fresh:
            mark = mark_of(pid)
            if mark.startswith(prefix) and mark not in running if mark else unmarked(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                killed.add(pid)
                dying.add(pid)
        if killed.isdisjoint(fresh) and not dying:
            return dying
        # The children of a process that ends become those of this one.
        dying = {pid for pid in dying if not reap(pid)}
        if time.monotonic() > end:
            return dying
        if dying:
            time.sleep(_PAUSE)


def end_marked(prefix: str) -> None:
    """Kill the processes with a mark that begins with `prefix`: those left behind by commands of a killed process.

    Each search may miss some: a process may start another one before it is killed, and has no environment while it is
    between two programs (execve(2)), which takes long on a busy node. Waits for as long as the environment of a hanging
    process cannot be read.
    """
    for pause in _LOOKS:
        time.sleep(pause)
        for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]:
            if not mark_of(pid).startswith(prefix):
                continue
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if mark_of(pid).startswith(prefix):  # the number may be that of another process by now
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)


def in_other_session(pid: int) -> bool:
    """Return whether a process is in another session than this one.

    A command gets a session of its own, which its descendants can leave only for a new one. A child in this process's
    session is therefore none of them: this process started it itself, as pyudev starts ldconfig to find libudev.
    """
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def reap(pid: int) -> bool:
    """Reap a child if it has ended; return whether it is gone."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except OSError:
        return True
