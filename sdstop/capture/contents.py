"""Contents: the files of a capture or another tool's tree in memory, and their reading from a directory.

Captures are untrusted, so their size is limited, and names that only an attacker would write are refused. No path leads
out of a directory: each part of it is opened relative to its open parent without following links, which also protects
against links that are created during the reading. sdstop.capture.archive applies the same limits to archives.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Collection

from msgspec import Struct, field

from sdstop.core.format import safe

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO in its place must not block
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


class CaptureRefused(Exception):  # noqa: N818  # the archive is at fault, not sdstop
    """Raised for a path that is not a capture, or for a hostile one. The text continues after the path's name."""


class ArchiveEnded(Exception):  # noqa: N818
    """Raised where an archive is truncated or damaged. The text continues after "the archive"."""


class _FolderLimit(Exception):  # noqa: N818
    """Raised if a directory exceeds a limit. The text continues after "the folder"."""


class ReadLimits(Struct, frozen=True):
    """Limits for reading: total bytes, bytes of a member, members, and length and number of a name's parts.

    An archive counts as a bomb above `ratio` decompressed bytes per compressed byte, checked above `ratio_from` bytes.
    """

    total: int = 1 << 30
    member: int = 64 << 20
    members: int = 200_000
    ratio: int = 200
    ratio_from: int = 16 << 20
    part: int = 200
    parts: int = 32


LIMITS = ReadLimits()


class ForeignTree(Struct, frozen=True):
    """Reading options for another tool's tree, which can have links, devices and large files, unlike captures.

    Only files whose name is `wanted` are kept. Links are kept as text and never followed on this machine. Entries that
    cannot be kept are counted; an entry that leads out of the tree causes the whole tree to be refused.
    """

    wanted: Callable[[str], bool]


class TreeLink(Struct, frozen=True):
    """Link in a foreign tree; a hard link is another name of an earlier file."""

    target: str
    hard: bool


class SkippedEntry:
    """Marker for an entry of a foreign tree that is not kept."""


Body = bytes | TreeLink | SkippedEntry | None
"""Content of an archive's member; None for a directory."""


class Contents(Struct):
    """Files by name within the archive or directory, and notes about faults.

    `cut`: whether the end may be missing. `links` are the symbolic links of a foreign tree.
    `unreadable` are files that are there and cannot be read, with the reason.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    cut: bool = False
    links: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


def folders_of(contents: Contents) -> set[str]:
    """Return all directories, listed or implied by the name of a file."""
    found = set(contents.folders)
    for name in (*contents.files, *contents.folders):
        parent = name.rpartition("/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return found


def fault_of_name(name: str, limits: ReadLimits = LIMITS) -> str:
    """Return the fault of a member's name, "" if it is safe."""
    parts = name.split("/")
    if name[:1] == "/":
        return "is an absolute path"
    if ".." in parts:
        return "leads outside the archive"
    if "" in parts or "." in parts:
        return "has an empty part"
    if len(parts) > limits.parts:
        return f"has more than {limits.parts} parts"
    if not name.isprintable():
        return "has characters that cannot be printed"
    if len(name) > limits.part and max(map(len, parts)) > limits.part:
        return f"has a part of more than {limits.part} characters"
    return ""


def folded(name: str) -> str:
    """Return the normalized form of a name; equal forms may be the same name on some file system."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def read_folder(
    path: str, names: Collection[str], limits: ReadLimits = LIMITS, foreign: ForeignTree | None = None
) -> Contents:
    """Read the named entries of a directory recursively. Unreadable entries are omitted and noted.

    `foreign` is set for another tool's tree. Raises CaptureRefused for anything but files and directories, and OSError
    if the directory itself cannot be opened.
    """
    contents = Contents()
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    walk = _FolderWalk(contents, limits, foreign)
    try:
        walk.read_entries(descriptor, "", names)
    except _FolderLimit as limit:
        contents.notes.append(f"the directory {limit}: rest ignored")
        contents.complete, contents.cut = False, True
    finally:
        os.close(descriptor)
    if walk.left_out:
        contents.notes.append(f"skipped entries of other kinds or sizes: {walk.left_out}")
    return contents


class _FolderWalk:
    def __init__(self, contents: Contents, limits: ReadLimits, foreign: ForeignTree | None) -> None:
        self.left_out = 0
        self._foreign = foreign
        self._contents = contents
        self._limits = limits
        self._left = limits.total
        self._seen = 0

    def read_entries(self, folder: int, prefix: str, names: Collection[str] | None = None) -> None:
        """Read all or the named entries of an open directory in order. Raises CaptureRefused for an unusable name."""
        try:
            found = os.listdir(folder)
        except OSError as error:
            self._unread(prefix, error)
            return
        for name in sorted(found if names is None else set(found) & set(names)):
            self._seen += 1
            if self._seen > self._limits.members:
                raise _FolderLimit(f"has more than {self._limits.members} entries")
            member = prefix + name
            fault = fault_of_name(member, self._limits)
            if self._foreign is not None and (fault or self._is_done(self._foreign, folder, name, member)):
                self.left_out += bool(fault)
                continue
            if fault:
                raise CaptureRefused(f"contains an entry whose name {fault}: {safe(member)}")
            try:
                descriptor = self._open(folder, name, member)
            except OSError as error:
                self._unread(member, error)
                self._contents.unreadable[member] = str(error.strerror)
                continue
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    self._contents.folders.add(member)
                    self.read_entries(descriptor, f"{member}/")
                else:
                    self._contents.files[member] = self._content(descriptor, member)
            except OSError as error:
                self._unread(member, error)
            finally:
                os.close(descriptor)

    def _is_done(self, foreign: ForeignTree, folder: int, name: str, member: str) -> bool:
        """Store a link of a foreign tree; return whether the entry need not be opened (a link, or left out)."""
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(mode.st_mode):
                self._contents.links[member] = os.readlink(name, dir_fd=folder)
                return True
        except OSError as error:
            self._unread(member, error)
            return True
        regular = stat.S_ISREG(mode.st_mode)
        wanted = foreign.wanted(member)
        if regular and wanted and mode.st_size <= self._limits.member:
            return False
        self.left_out += wanted and not stat.S_ISDIR(mode.st_mode)
        return not stat.S_ISDIR(mode.st_mode)

    def _open(self, folder: int, name: str, member: str) -> int:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device can have side effects
            raise CaptureRefused(f"contains {_KINDS.get(stat.S_IFMT(mode), 'a special file')}: {safe(member)}")
        descriptor = os.open(name, _OPEN, dir_fd=folder)
        if stat.S_IFMT(os.fstat(descriptor).st_mode) != stat.S_IFMT(mode):
            os.close(descriptor)
            raise CaptureRefused(f"changed while being read: {safe(member)}")
        return descriptor

    def _content(self, descriptor: int, member: str) -> bytes:
        chunks = []
        size = 0
        while chunk := os.read(descriptor, 1 << 20):
            chunks.append(chunk)
            size += len(chunk)
            if size > self._limits.member:
                raise CaptureRefused(f"contains a file of more than {self._limits.member >> 20} MiB: {safe(member)}")
        self._left -= size
        if self._left < 0:
            raise _FolderLimit(f"contains more than {self._limits.total >> 20} MiB")
        return b"".join(chunks)

    def _unread(self, member: str, error: OSError) -> None:
        self._contents.notes.append(f"{safe(member)} could not be read: {error.strerror}")
        self._contents.complete = False
