"""Folder: a capture's folder, perhaps a hostile one, read into memory; nothing in it leads out of it.

Every part of a path is opened below the folder opened before it, without following links, so a link planted
while it is read leads nowhere either.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection

from sdstop.capture.archive import Contents
from sdstop.capture.bounds import LIMITS, Limits, Refused, fault_of_name
from sdstop.capture.guest import Guest
from sdstop.core.format import safe

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO in its place must not block

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


class _Full(Exception):  # noqa: N818
    """No more fits; the text goes on from "the folder"."""


def read_folder(path: str, names: Collection[str], limits: Limits = LIMITS, guest: Guest | None = None) -> Contents:
    """Read those of a folder's entries that bear one of the names, with all that is below them.

    What may not be read is left out and noted. Raises Refused for anything but files and folders, and OSError
    if the folder itself cannot be opened.
    """
    contents = Contents()
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    walk = _Walk(contents, limits, guest)
    try:
        walk.below(descriptor, "", names)
    except _Full as full:
        contents.notes.append(f"the folder {full}: the rest was left out")
        contents.complete, contents.cut = False, True
    finally:
        os.close(descriptor)
    if walk.left_out:
        contents.notes.append(f"entries of other kinds or sizes left out: {walk.left_out}")
    return contents


class _Walk:
    def __init__(self, contents: Contents, limits: Limits, guest: Guest | None) -> None:
        self.left_out = 0
        self._guest = guest
        self._contents = contents
        self._limits = limits
        self._left = limits.total
        self._seen = 0

    def below(self, folder: int, prefix: str, names: Collection[str] | None = None) -> None:
        """Read an open folder's entries, all or those named, in order."""
        try:
            found = os.listdir(folder)
        except OSError as error:
            self._unread(prefix, error)
            return
        for name in sorted(found if names is None else set(found) & set(names)):
            self._seen += 1
            if self._seen > self._limits.members:
                raise _Full(f"has more than {self._limits.members} entries")
            member = prefix + name
            fault = fault_of_name(member, self._limits)
            if self._guest is not None and (fault or self._let_in(folder, name, member)):
                self.left_out += bool(fault)
                continue
            if fault:
                raise Refused(f"holds an entry whose name {fault}: {safe(member)}")
            try:
                descriptor = self._open(folder, name, member)
            except OSError as error:
                self._unread(member, error)
                continue
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    self._contents.folders.add(member)
                    self.below(descriptor, f"{member}/")
                else:
                    self._contents.files[member] = self._content(descriptor, member)
            except OSError as error:
                self._unread(member, error)
            finally:
                os.close(descriptor)

    def _let_in(self, folder: int, name: str, member: str) -> bool:
        """Take what no capture has out of a guest's tree, or leave it; return whether that is all of it."""
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(mode.st_mode):
                self._contents.links[member] = os.readlink(name, dir_fd=folder)
                return True
        except OSError as error:
            self._unread(member, error)
            return True
        regular = stat.S_ISREG(mode.st_mode)
        wanted = self._guest is None or self._guest.wanted(member)
        if regular and wanted and mode.st_size <= self._limits.member:
            return False
        self.left_out += wanted and not stat.S_ISDIR(mode.st_mode)
        return not stat.S_ISDIR(mode.st_mode)

    def _open(self, folder: int, name: str, member: str) -> int:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device may do something
            raise Refused(f"holds {_KINDS.get(stat.S_IFMT(mode), 'no file')}: {safe(member)}")
        descriptor = os.open(name, _OPEN, dir_fd=folder)
        if stat.S_IFMT(os.fstat(descriptor).st_mode) != stat.S_IFMT(mode):
            os.close(descriptor)
            raise Refused(f"changes while it is read: {safe(member)}")
        return descriptor

    def _content(self, descriptor: int, member: str) -> bytes:
        chunks = []
        size = 0
        while chunk := os.read(descriptor, 1 << 20):
            chunks.append(chunk)
            size += len(chunk)
            if size > self._limits.member:
                raise Refused(f"holds a file of more than {self._limits.member >> 20} MiB: {safe(member)}")
        self._left -= size
        if self._left < 0:
            raise _Full(f"holds more than {self._limits.total >> 20} MiB")
        return b"".join(chunks)

    def _unread(self, member: str, error: OSError) -> None:
        self._contents.notes.append(f"{safe(member)} could not be read: {error.strerror}")
        self._contents.complete = False
