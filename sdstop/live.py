"""The live node: its files, folders, links and commands, and what psutil and udev say.

Only this module and the two it calls, sdstop.commands and sdstop.answers, read the node. Whatever they do may
hang for ever on a sick one: only the sampler's child uses them. What sdstop changes, where it is told to, is in
sdstop.tracing alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import Any

from sdstop.answers import PROCESSES, QUESTIONS, Processes
from sdstop.commands import CommandRunner
from sdstop.evidence import command_key
from sdstop.host import LARGEST, Absent, Denied, Failed, Host, Output, Unreadable
from sdstop.throttled import LIMITED, ControlGroups

_CHUNK = 1 << 16
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY  # without O_NONBLOCK: what it would give is not what a file holds
_FOLDER = _FILE | os.O_DIRECTORY
_MOST_LINKS = 40

_ABSENT = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.ENAMETOOLONG: "no such file",
    errno.ENODEV: "no such device",
    errno.ENXIO: "no such device",
    errno.ESRCH: "no such process",
}


def unreadable(key: str, error: OSError | ValueError) -> Unreadable:
    """Return what a host raises for an error of the operating system."""
    number = error.errno if isinstance(error, OSError) else None
    if number in _ABSENT:
        return Absent(key, _ABSENT[number])
    if number in {errno.EACCES, errno.EPERM}:
        if os.geteuid() == 0:
            return Denied(key, "refused even to root: a container, kernel lockdown or a security module keeps it")
        privilege = "root, or the capability CAP_DAC_READ_SEARCH" if number == errno.EACCES else "root"
        return Denied(key, f"needs {privilege}: start sdstop with sudo")
    if isinstance(error, OSError):
        return Failed(key, error.strerror or str(error))
    return Failed(key, "is no path")


class LiveHost(Host):
    """The node, or a tree of its files: with a root other than `/` all paths are looked up below it.

    Below such a root symbolic links mean what they would mean if it were `/`, and never lead out of it.
    Threads may share a host.
    """

    def __init__(self, root: str = "/", runner: CommandRunner | None = None) -> None:
        """Look at a root; a root that does not exist has no files."""
        self._root = "" if root == "/" else os.path.abspath(root)  # keeps bytes that are no UTF-8
        self._inside = os.path.realpath(root).rstrip("/")
        self._runner = runner or CommandRunner()
        self._remembering: dict[str, Callable[[], Any]] = {PROCESSES: Processes().look, LIMITED: ControlGroups().look}

    def read(self, path: str) -> bytes:
        """Return a file's content, at most LARGEST bytes; a file of /proc comes in many pieces."""
        try:
            fd = self._open(path, _FILE)
            try:
                data = os.read(fd, _CHUNK)
                if data:
                    pieces = [data]
                    left = LARGEST - len(data)
                    while left > 0 and (piece := os.read(fd, min(left, _CHUNK))):
                        pieces.append(piece)
                        left -= len(piece)
                    data = b"".join(pieces)
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
        return data

    def entries(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        try:
            if not self._root:
                return sorted(os.listdir(_absolute(path)))
            fd = self._open(path, _FOLDER)
            try:
                return sorted(os.listdir(fd))
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            raise unreadable(f"list:{path}", error) from error

    def link(self, path: str) -> str:
        """Return a symbolic link's target as written."""
        try:
            if not self._root:
                return os.readlink(_absolute(path))
            folder, name = os.path.split(_absolute(path))
            fd = self._open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return os.readlink(name, dir_fd=fd)
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.EINVAL:
                raise Failed(f"link:{path}", "is no link") from error
            raise unreadable(f"link:{path}", error) from error

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Run a command of the allow-list."""
        if self._root:
            raise Denied(command_key(argv), "a command cannot be asked of --root, only of the node itself")
        return self._runner.run(argv, deadline)

    def answer(self, question: str) -> Any:
        """Answer one of QUESTIONS; Absent where the library for it does not work."""
        key = f"answer:{question}"
        if question not in QUESTIONS:
            raise Failed(key, "is none of the questions that sdstop asks")
        if self._root:
            raise Denied(key, "cannot be asked of --root, only of the node itself")
        try:
            return self._remembering.get(question, QUESTIONS[question].ask)()
        except ImportError as error:
            raise Absent(key, f"library not usable: {error}") from error
        except OSError as error:
            raise unreadable(key, error) from error

    def close(self) -> None:
        """Kill the commands that are running, without waiting for anything."""
        self._runner.close()

    def _open(self, path: str, flags: int) -> int:
        return self._open_below(_absolute(path), flags) if self._root else os.open(_absolute(path), flags)

    def _open_below(self, path: str, flags: int) -> int:
        """Open a path below the root.

        The kernel follows links as if `/` were the root, which is right for relative ones that stay inside:
        nearly all. Where that leads out, or nowhere, the path is walked again with links as the root means them.
        """
        try:
            fd = self._reopened(path, flags, os.O_PATH)
        except FileNotFoundError:
            fd = None
        if fd is None:
            fd = self._reopened(self._walk(path), flags, os.O_PATH | os.O_NOFOLLOW)
        if fd is None:
            raise OSError(errno.ELOOP, "a link leads out of the root")
        return fd

    def _reopened(self, path: str, flags: int, find: int) -> int | None:
        """Open what a path leads to, None if that lies outside: found first (which does nothing), then opened."""
        found = os.open(self._root + path, find | os.O_CLOEXEC)
        try:
            itself = f"/proc/self/fd/{found}"
            place = os.readlink(itself)
            if place != self._inside and not place.startswith(f"{self._inside}/"):
                return None
            return os.open(itself, flags)
        finally:
            os.close(found)

    def _walk(self, path: str) -> str:
        todo = [part for part in path.split("/") if part][::-1]
        done = ""
        hops = 0
        while todo:
            part = todo.pop()
            if part in {".", ".."}:
                done = done.rpartition("/")[0] if part == ".." else done
                continue
            step = f"{done}/{part}"
            try:
                target = os.readlink(self._root + step)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                done = step
                continue
            hops += 1
            if hops > _MOST_LINKS:
                raise OSError(errno.ELOOP, "too many links")
            if target.startswith("/"):
                done = ""
            todo.extend(reversed([part for part in target.split("/") if part]))
        return done or "/"


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(path)
    return path
