"""Host: the only thing a collector can ask.

Whatever answers, live node or capture, raises the same few errors.
"""

from __future__ import annotations

import fnmatch
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

LARGEST = 4 << 20
"""Bytes that are kept of one piece of evidence; no source of ours is larger."""
LARGEST_REPLY = 32 << 20
"""Bytes that a gateway may answer: all objects of a cluster are in one reply, some KiB each."""


class Unreadable(Exception):  # noqa: N818  # it is the root of outcomes, not of faults
    """A source gave no content. `key` names the evidence, `detail` says why in one line."""

    def __init__(self, key: str, detail: str = "") -> None:
        """Keep what was asked and why it was not answered."""
        super().__init__(f"{key}: {detail}" if detail else key)
        self.key = key
        self.detail = detail


class Absent(Unreadable):
    """The node has no such file, program or answer; `recorded` is False where a capture simply lacks it."""

    def __init__(self, key: str, detail: str = "no such file", *, recorded: bool = True) -> None:
        """Tell what the node lacks from what nobody recorded."""
        super().__init__(key, detail)
        self.recorded = recorded


class Denied(Unreadable):
    """It needs a privilege, or a command under `--root`."""


class Failed(Unreadable):
    """The read or the command failed."""


class TimedOut(Unreadable):
    """It did not answer in time and may hang still. Collectors never catch this one."""


class Malformed(Exception):  # noqa: N818
    """A parser met text that is not in the format it knows. Says what and where, in one line."""


class Output(Struct, frozen=True):
    """What a command printed, as bytes, and its exit status."""

    stdout: bytes
    stderr: bytes = b""
    exit: int = 0

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 survive as surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape")


class Reply(Struct, frozen=True):
    """What a gateway answered over HTTP: the body as bytes, the status, and the type that it claims for the body."""

    body: bytes
    status: int = 200
    kind: str = ""


class Host(ABC):
    """A node that can be asked for files, folders, links, commands and answers.

    Every method raises Absent, Denied, Failed or TimedOut.
    """

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return a file's content, at most LARGEST bytes."""

    @abstractmethod
    def entries(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""

    @abstractmethod
    def link(self, path: str) -> str:
        """Return a symbolic link's target as written; Failed if the path is no link."""

    @abstractmethod
    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Run a command that a collector declares, without a shell, for at most `deadline` seconds."""

    @abstractmethod
    def answer(self, question: str) -> Any:
        """Return the answer to a question that a collector declares, as JSON data."""

    def holding(self, top: str, files: Sequence[str], most: int = 20_000) -> tuple[list[str], int]:
        """Return the folders, from `top` downwards, in which one of `files` is not empty, and how many there are.

        The paths are relative to `top` and sorted; `top` itself is "/". Raises Failed above `most` folders.
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
        """Ask the cluster's gateway over HTTP, for at most `deadline` seconds; `body` is JSON data.

        An allow-list (sdstop.node.gateway.allowed) permits only requests that read. Each answer is a Reply, also an
        error. Raises Absent where no gateway is configured.
        """
        del body, deadline
        raise Absent(f"http:{method} {path}", "no gateway is configured: [powerflex] gateways in the config file")

    def get(self, path: str, deadline: float = 20.0) -> Reply:
        """Return what a GET of a path gives."""
        return self.request("GET", path, None, deadline)

    def promptly(self, path: str, seconds: float) -> str:
        """Return a file as text; TimedOut if the answer took longer than that, for it is none to rely on."""
        del seconds
        return self.text(path)

    def rests(self, what: str) -> bool:
        """Whether something is to be left alone for now; only a live node remembers that."""
        del what
        return False

    def rest(self, what: str, seconds: float) -> None:
        """Have something left alone for so long; who has evidence alone need not."""
        del what, seconds

    def recorded(self, program: str) -> list[str]:
        """Return the commands (argv joined) of `program` that somebody recorded; a live node has none."""
        del program
        return []

    def recorded_output(self, name: str) -> Output:
        """Return the output of a command that `recorded` named."""
        raise Absent(name, "not recorded", recorded=False)

    def text(self, path: str) -> str:
        """Return a file as text; bytes that are no UTF-8 survive as surrogates."""
        return self.read(path).decode("utf-8", "surrogateescape")

    def maybe(self, path: str) -> str | None:
        """Return a small attribute without surrounding space, None where the node does not say."""
        try:
            return self.text(path).strip()
        except TimedOut:
            raise
        except Unreadable:
            return None

    def number(self, path: str) -> int | None:
        """Return an attribute that holds one whole number (decimal, or hex with 0x), else None."""
        word = self.maybe(path)
        try:
            return int(word, 0) if word and len(word) <= 32 else None
        except ValueError:
            return int(word) if word and word.isdecimal() else None

    def target(self, path: str) -> str | None:
        """Return the last part of a link's target (`../../devices/x/sda` -> `sda`).

        None if there is no link.
        """
        try:
            return posixpath.basename(self.link(path).rstrip("/")) or None
        except TimedOut:
            raise
        except Unreadable:
            return None

    def names(self, path: str) -> list[str]:
        """Return a folder's names, none if there is no such folder."""
        try:
            return self.entries(path)
        except TimedOut:
            raise
        except Unreadable:
            return []

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match, sorted.

        `*`, `?` and `[...]` match within one part; the path is absolute.
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
