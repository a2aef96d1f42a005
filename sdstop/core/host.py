"""Host: the only interface through which collectors read.

Live nodes and captures raise the same few errors.
"""

from __future__ import annotations

import fnmatch
import posixpath
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

LARGEST = 4 << 20
"""Maximum size of one piece of evidence in bytes; larger than any supported source."""
LARGEST_REPLY = 32 << 20
"""Maximum size of a gateway reply in bytes: one reply has all objects of a cluster, a few KiB each."""


class Unreadable(Exception):  # noqa: N818  # base of outcomes, not of errors
    """Raised when a source returns no content. `key` is the evidence key, `detail` a one-line reason."""

    def __init__(self, key: str, detail: str = "") -> None:
        """Keep the evidence key and the reason."""
        super().__init__(f"{key}: {detail}" if detail else key)
        self.key = key
        self.detail = detail


class Absent(Unreadable):
    """Raised if the node has no such file, program or answer; `recorded` is False if only the capture lacks it."""

    def __init__(self, key: str, detail: str = "no such file", *, recorded: bool = True) -> None:
        """Keep whether the absence was recorded, or the evidence was not."""
        super().__init__(key, detail)
        self.recorded = recorded


class Denied(Unreadable):
    """Raised if a privilege is missing, or for commands under `--root`."""


class Failed(Unreadable):
    """Raised if a read or command failed."""


class TimedOut(Unreadable):
    """Raised if a source did not respond in time and may still hang. Collectors never catch this error."""


class Malformed(Exception):  # noqa: N818
    """Raised by parsers for text in an unknown format; the one-line message has the content and location."""


E = TypeVar("E", bound=Exception)


def again(error: E) -> E:
    """Return an equal error without frames, to be kept or raised.

    An error has the frames that it went through. If one of them keeps it, this is a cycle of garbage, with all that the
    frames have: evidence, hosts and tables of a run. So a source keeps a copy of an error, and raises a copy of that.
    """
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    return made


class Output(Struct, frozen=True):
    """Output of a command, as bytes, its exit status, and why it may be incomplete ("" if it is whole)."""

    stdout: bytes
    stderr: bytes = b""
    exit: int = 0
    fault: str = ""

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are preserved as surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def error(self) -> str:
        """First line of standard error."""
        return self.stderr.decode("utf-8", "replace").strip().partition("\n")[0]

    @property
    def failure(self) -> str:
        """Why the command failed, as the reason of a source: `exit 1: cannot open 'tank': no such pool`."""
        return f"exit {self.exit}: {self.error[:200]}"


class Reply(Struct, frozen=True):
    """HTTP response of a gateway: the body as bytes, the status, and the declared content type."""

    body: bytes
    status: int = 200
    kind: str = ""


class LogRecord(Struct, frozen=True, gc=False):
    """Record of the kernel's log: its number, seconds since boot (without suspend), and text.

    Numbers of successive records differ by 1. The text is empty if a program wrote the record. `level` is 3 for errors,
    less for worse and more for other messages (syslog(2)).
    """

    number: int
    seconds: float
    text: str
    level: int = 6


class LogPart(Struct, frozen=True):
    """New records of the kernel's log, oldest first; `more` if not all were read.

    `boot` is the Unix time at 0 seconds if the node was never suspended; it was for `suspended` seconds.
    """

    records: tuple[LogRecord, ...]
    more: bool
    boot: float
    suspended: float = 0.0


class Host(ABC):
    """Node from which files, directories, links, command outputs and answers can be read.

    Every method raises Absent, Denied, Failed or TimedOut.
    """

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the content of a file, at most LARGEST bytes."""

    @abstractmethod
    def entries(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""

    @abstractmethod
    def link(self, path: str) -> str:
        """Return the target of a symbolic link as written. Raises Failed if the path is not a link."""

    @abstractmethod
    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Run a command declared by a collector, without a shell, for at most `deadline` seconds."""

    @abstractmethod
    def answer(self, question: str) -> Any:
        """Return the answer to a question declared by a collector, as JSON data."""

    def holding(self, top: str, files: Sequence[str], most: int = 20_000) -> tuple[list[str], int]:
        """Return the directories from `top` downwards with one of `files` non-empty, and the number of all directories.

        The paths are relative to `top` and sorted; `top` itself is "/". Raises Failed above `most` directories.
        """
        found: list[str] = []
        folders = [top]
        for folder in folders:
            if len(folders) > most:
                raise Failed(f"list:{top}", f"more than {most} folders")
            names = set(self.names(folder))
            if any(name in names and self.maybe(f"{folder}/{name}") for name in files):
                found.append(folder[len(top) :] or "/")
            folders += [f"{folder}/{name}" for name in sorted(names) if self._is_folder(f"{folder}/{name}")]
        return sorted(found), len(folders)

    def _is_folder(self, path: str) -> bool:
        try:
            self.entries(path)
        except TimedOut:
            raise
        except Unreadable:
            return False
        return True

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        """Send an HTTP request to the cluster's gateway, for at most `deadline` seconds; `body` is JSON data.

        An allow-list (sdstop.node.gateway.allowed) permits only requests that read. Every response is returned as a
        Reply, including errors. Raises Absent if no gateway is configured.
        """
        del body, deadline
        raise Absent(f"http:{method} {path}", "no gateway is configured: [powerflex] gateways in the config file")

    def get(self, path: str, deadline: float = 20.0) -> Reply:
        """Return the response to a GET request."""
        return self.request("GET", path, None, deadline)

    def promptly(self, path: str, seconds: float) -> str:
        """Return a file as text. Raises TimedOut if the read took longer than `seconds` and is thus unreliable."""
        del seconds
        return self.text(path)

    def defect(self, key: str, reason: str, subject: str = "", *, contradiction: bool = False) -> None:
        """Note that a piece of evidence is incomplete or contradicts itself (see Defect).

        Parsers' rows count, but nothing that rests on them is ruled out. No effect on a live node, whose evidence is
        parsed again on replay.
        """
        del key, reason, subject, contradiction

    def log_part(self) -> LogPart:
        """Return the records of the kernel's log since the last call, without waiting. Raises Absent in captures."""
        raise Absent("/dev/kmsg", "not recorded", recorded=False)

    def lacks(self, what: str) -> bool:
        """Return whether a live node lacks a program or a gateway (`http`), so that asking it costs nothing."""
        del what
        return False

    def rests(self, what: str, of: Hashable = None) -> bool:
        """Return whether a source must not be queried for now; only live nodes remember that.

        `of` is the state that it must have begun to rest in: values that were read in another one since are wrong.
        """
        del what, of
        return False

    def rest_apart(self, what: str, seconds: float, name: str, of: Hashable = None) -> None:
        """Suspend queries of one of many things for 0.75 to 1.25 times the seconds, depending on its name.

        Things that began to rest together are not all queried again in the same second.
        """
        self.rest(what, seconds * (0.75 + zlib.crc32(name.encode("utf-8", "surrogateescape")) % 64 / 128), of)

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        """Suspend queries of a source for some seconds; no effect on hosts backed by evidence.

        A current suspension is not extended; one in another state (`of`) is replaced.
        """
        del what, seconds, of

    def rouse(self) -> None:  # noqa: B027  # only live nodes remember what rests
        """End all suspensions, as everything is to be read again; no effect on hosts backed by evidence."""

    def recorded(self, program: str) -> list[str]:
        """Return the recorded commands (argv joined) of `program`; a live node has none."""
        del program
        return []

    def recorded_output(self, name: str) -> Output:
        """Return the output of a command listed by `recorded`. Raises Absent, on a live node always."""
        raise Absent(name, "not recorded", recorded=False)

    def recorded_texts(self, program: str, shows: Callable[[str], bool]) -> list[str]:
        """Return the keys of recorded outputs of `program` whose text `shows` accepts; a live node has none."""
        del program, shows
        return []

    def text(self, path: str) -> str:
        """Return a file as text; bytes that are not UTF-8 are preserved as surrogates."""
        return self.read(path).decode("utf-8", "surrogateescape")

    def maybe(self, path: str) -> str | None:
        """Return a small attribute without surrounding whitespace, or None if not readable."""
        try:
            return self.text(path).strip()
        except TimedOut:
            raise
        except Unreadable:
            return None

    def number(self, path: str) -> int | None:
        """Return an attribute that contains a single integer (decimal, or hexadecimal with 0x), else None."""
        word = self.maybe(path)
        try:
            return int(word, 0) if word and len(word) <= 32 else None
        except ValueError:
            return int(word) if word and word.isdecimal() else None

    def target(self, path: str) -> str | None:
        """Return the last component of a link target (`../../devices/x/sda` -> `sda`).

        Return None for anything but a link.
        """
        try:
            return posixpath.basename(self.link(path).rstrip("/")) or None
        except TimedOut:
            raise
        except Unreadable:
            return None

    def names(self, path: str) -> list[str]:
        """Return the names in a directory; empty if it does not exist or is not readable."""
        try:
            return self.entries(path)
        except TimedOut:
            raise
        except Unreadable:
            return []

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match an absolute pattern, sorted.

        `*`, `?` and `[...]` match within one path component.
        """
        return list(self._glob("/", [part for part in pattern.split("/") if part]))

    def _glob(self, folder: str, parts: list[str]) -> Iterator[str]:
        if not parts:
            yield folder.rstrip("/")
            return
        part, rest = parts[0], parts[1:]
        if rest and not any(c in part for c in "*?["):
            yield from self._glob(f"{folder}{part}/", rest)
            return
        for name in self.names(folder.rstrip("/") or "/"):
            if fnmatch.fnmatchcase(name, part):
                yield from self._glob(f"{folder}{name}/", rest)
