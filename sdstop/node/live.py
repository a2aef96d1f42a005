"""The live node: its files, directories, links and commands, data from psutil and udev, and its cluster's gateway.

Only this package reads the node. On a failing node any read can hang indefinitely, so only the sampler's child process
uses it. The only change that sdstop makes to a node, on request, is in sdstop.node.tracing.
"""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from sdstop.core.collector import Collector, commands_of, questions_of
from sdstop.core.evidence import GATEWAY, command_key, http_key
from sdstop.core.host import LARGEST, Absent, Denied, Failed, Host, LogPart, Output, Reply, TimedOut, Unreadable
from sdstop.node import folders
from sdstop.node.answers import answers
from sdstop.node.commands import CommandRunner
from sdstop.node.kmsg import KMSG, KmsgReader

if TYPE_CHECKING:
    from sdstop.node.gateway.client import GatewayClient

_CHUNK = 1 << 16
"""Bytes read at once."""
_ATTRIBUTE = 4096
"""Bytes of a page: a shorter attribute of sysfs is whole after one read."""
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY  # no O_NONBLOCK: it can change the result of a read
_FOLDER = _FILE | os.O_DIRECTORY
_MOST_LINKS = 40
"""Maximum symbolic links in a path, as in Linux (ELOOP)."""
_MOST_RESTING = 1024
"""Number of sources that rest from which those whose rest is over are forgotten."""

_ABSENT = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.ENAMETOOLONG: "no such file",
    errno.ENODEV: "no such device",
    errno.ENXIO: "no such device",
    errno.ESRCH: "no such process",
}


def unreadable(key: str, error: OSError | ValueError) -> Unreadable:
    """Return the exception that a host raises for an error of the operating system."""
    number = error.errno if isinstance(error, OSError) else None
    if number in _ABSENT:
        return Absent(key, _ABSENT[number])
    if number in {errno.EACCES, errno.EPERM}:
        if os.geteuid() == 0:
            return Denied(key, "denied even to root (container, kernel lockdown or security module)")
        privilege = "root, or the capability CAP_DAC_READ_SEARCH" if number == errno.EACCES else "root"
        return Denied(key, f"requires {privilege}; run with sudo")
    if isinstance(error, OSError):
        return Failed(key, error.strerror or str(error))
    return Failed(key, "invalid path")


class LiveHost(Host):
    """The live node, or a tree of its files: all paths are resolved below the root.

    Symbolic links are resolved as if the root were `/`, and never lead out of it. Thread-safe.
    """

    def __init__(
        self,
        root: str = "/",
        collectors: Sequence[Collector] = (),
        *,
        runner: CommandRunner | None = None,
        gateway: Callable[[], GatewayClient] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the node below a root; a root that does not exist has no files.

        Only the commands that `collectors` declare are run, by `runner` if one is given, and only their questions and
        those of psutil and udev are answered. `gateway` creates the client of the cluster's gateway. Queries rest by
        the monotonic seconds of `clock`.
        """
        self._root = "" if root == "/" else os.path.abspath(root)  # keeps bytes that are not UTF-8
        self._inside = os.path.realpath(root).rstrip("/")
        self._runner = runner or CommandRunner(commands_of(collectors))
        self._questions = questions_of(collectors)
        self._libraries = answers()
        self._answers: dict[str, tuple[float, Any]] = {}
        self._gateway = gateway
        self._client: GatewayClient | None = None
        self._clock = clock
        self._resting: dict[str, tuple[float, Hashable]] = {}
        self._left_resting = 0
        self._log: KmsgReader | None = None

    def read(self, path: str) -> bytes:
        """Return a file's content, at most LARGEST bytes; a file of /proc can need several reads."""
        try:
            fd = self._open(path, _FILE)
            try:
                data = os.read(fd, _CHUNK)
                # An attribute of sysfs has at most one page, and is returned by one read.
                if data and not (len(data) < _ATTRIBUTE and path.startswith("/sys/")):
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
        """Return the names in a directory, sorted."""
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
        """Return a symbolic link's target as written. Raises Failed for anything else, and as `text` does."""
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
                raise Failed(f"link:{path}", "not a symbolic link") from error
            raise unreadable(f"link:{path}", error) from error

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Run a command that a collector declares, for at most `deadline` seconds. Raises Denied below `--root`."""
        if self._root:
            raise Denied(command_key(argv), "commands are not run with --root")
        return self._runner.run(argv, deadline)

    def answer(self, question: str) -> Any:
        """Answer a question. Raises Absent if its library is not usable, and Denied below `--root`.

        Raises Failed if no active collector declares it, and the errors of the files that it reads.
        """
        key = f"answer:{question}"
        if question == GATEWAY:
            if self._client is None:
                raise Absent(key, "no gateway queried yet")
            return self._client.state()
        declared = self._questions.get(question)
        own = declared.answer if declared is not None else None
        if own is None and question not in self._libraries:
            raise Failed(key, "no active collector declares this query")
        if self._root:
            raise Denied(key, "not available with --root")
        now = time.monotonic()
        taken, said = self._answers.get(question, (-math.inf, None))
        if declared is not None and now - taken < declared.holds:
            return said
        try:
            said = own(self) if own is not None else self._libraries[question]()
        except ImportError as error:
            if own is not None:  # part of sdstop
                raise Failed(key, str(error)) from error
            raise Absent(key, f"library not usable: {error}") from error
        except OSError as error:
            raise unreadable(key, error) from error
        except Unreadable as error:  # of one of the files that the answer is derived from
            raise type(error)(key, error.detail) from error
        self._answers[question] = now, said
        return said

    def holding(self, top: str, files: Sequence[str], most: int = 20_000) -> tuple[list[str], int]:
        """Return the directories in which one of `files` is not empty, and the number of all directories."""
        if self._root:
            return super().holding(top, files, most)
        try:
            return folders.folders_with(_absolute(top), files, most)
        except (OSError, ValueError) as error:
            raise unreadable(f"list:{top}", error) from error

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        """Send a request to the cluster's gateway. Raises Absent if none is configured, and Denied below `--root`."""
        if self._gateway is None:
            return super().request(method, path, body, deadline)
        if self._root:
            raise Denied(http_key(method, path, body), "gateways are not queried with --root")
        if self._client is None:
            self._client = self._gateway()
        return self._client.request(method, path, body, deadline)

    def promptly(self, path: str, seconds: float) -> str:
        """Return a file as text. Raises TimedOut afterwards if it took longer: a read cannot be interrupted."""
        began = time.monotonic()
        text = self.text(path)
        took = time.monotonic() - began
        if took > seconds:
            raise TimedOut(path, f"took {took:.0f} s (limit {seconds:g} s)")
        return text

    def log_part(self) -> LogPart:
        """Return the new records of the kernel's log. Raises Denied below `--root`, and for an ordinary user."""
        if self._root:
            raise Denied(KMSG, "not available with --root")
        try:
            if self._log is None:
                self._log = KmsgReader()
            return self._log.take()
        except OSError as error:
            raise unreadable(KMSG, error) from error

    def lacks(self, what: str) -> bool:
        """Return whether a program or a gateway (`http`) is missing; below `--root` neither is asked."""
        return bool(self._root) or (self._gateway is None if what == "http" else self._runner.lacks(what))

    def rests(self, what: str, of: Hashable = None) -> bool:
        """Return whether something is not to be queried for now."""
        until, known = self._resting.get(what, (0.0, None))
        return self._clock() < until and known == of

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        """Suspend queries of something for a number of seconds; a current suspension in that state is not extended."""
        if not self.rests(what, of):
            if len(self._resting) >= max(_MOST_RESTING, 2 * self._left_resting):
                now = self._clock()
                self._resting = {each: kept for each, kept in self._resting.items() if kept[0] > now}
                self._left_resting = len(self._resting)
            self._resting[what] = self._clock() + seconds, of

    def rouse(self) -> None:
        """End all suspensions."""
        self._resting = {}

    def close(self) -> None:
        """Kill all running commands without waiting."""
        self._runner.close()

    def adopt(self, mark: str) -> None:
        """Make this process the parent of the orphans of its commands, which ends them together with these.

        The marks of its commands begin with `mark`, by which others end them if this process is killed.
        """
        self._runner.adopts, self._runner.prefix = True, mark

    def _open(self, path: str, flags: int) -> int:
        return self._open_below(_absolute(path), flags) if self._root else os.open(_absolute(path), flags)

    def _open_below(self, path: str, flags: int) -> int:
        """Open a path below the root.

        The kernel resolves links relative to the real `/`, which is correct for relative links that stay inside the
        root, nearly all of them. If the result is outside or missing, links are resolved relative to the root.
        """
        try:
            fd = self._reopened(path, flags, os.O_PATH)
        except FileNotFoundError:
            fd = None
        if fd is None:
            fd = self._reopened(self._walk(path), flags, os.O_PATH | os.O_NOFOLLOW)
        if fd is None:
            raise OSError(errno.ELOOP, "a link leads outside the root")
        return fd

    def _reopened(self, path: str, flags: int, find: int) -> int | None:
        """Open a path's target, None if it is outside the root; O_PATH checks it first, without side effects."""
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
