"""Sink: the directory or archive that a capture is written to. Complete frames survive any failure.

Existing files are never overwritten, and only the owner may read the output. The methods raise OSError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from sdstop.capture.contents import LIMITS
from sdstop.core.expression import expression
from sdstop.core.output_file import rename_new

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_INDEX = LIMITS.member // 2
_SYNC_SECONDS = 0.5  # avoids a sync per frame when many are written at once
_LATEST_TAR_TIME = 8**11 - 1
"""Unix seconds: the largest number of the eleven octal digits of a tar header."""
_BLOCK = 512
"""Bytes, to a multiple of which tar fills up."""
_LONGEST_USTAR_NAME = 100
"""Bytes of a name in a tar header without an extension."""
_FILE_TAIL, _FOLDER_TAIL = (kind.ljust(101, b"\0") + b"ustar\x0000".ljust(255, b"\0") for kind in (b"0", b"5"))
_FILE_WEIGHT, _FOLDER_WEIGHT = sum(_FILE_TAIL), sum(_FOLDER_TAIL)  # their share of a header's checksum
# Checksums are most of a compressed index, and the final index repeats them. The pattern cannot match in a JSON string.
_SHA256 = expression(rb'"sha256":"[0-9a-f]{64}",')


class Sink(ABC):
    """Target of a capture. `frame` writes the members of a frame so that either all of them count or none."""

    where: Path
    """Path that can be opened before the capture is finished."""

    taken: float = 0.0
    """Modification time (Unix) of members written next."""

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Write a member."""

    @abstractmethod
    def frame(self, number: int, members: Mapping[str, bytes], index: bytes, whole: bytes) -> None:
        """Write a frame's members, then its index lines, and finally the line that marks it as complete."""

    @abstractmethod
    def finish(self, manifest: bytes) -> None:
        """Write the final manifest, which marks the capture as complete."""

    @abstractmethod
    def close(self, *, kept: bool) -> None:
        """Close all files; remove an unfinished capture unless `kept`. Repeated calls have no effect."""


class _GrowingFile:
    """File to which data are appended completely or not at all."""

    def __init__(self, descriptor: int) -> None:
        self.size = 0
        self._descriptor = descriptor
        self._synced = time.monotonic()
        self._open = True

    def append(self, data: bytes) -> None:
        """Append all data; if that fails, remove the partial data."""
        try:
            _write_all(self._descriptor, data)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
                os.lseek(self._descriptor, self.size, os.SEEK_SET)
            raise
        self.size += len(data)
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Flush the written data to disk."""
        os.fsync(self._descriptor)
        self._synced = time.monotonic()

    def close(self) -> bool:
        """Close the file, and return whether it was open."""
        was_open, self._open = self._open, False
        if was_open:
            os.close(self._descriptor)
        return was_open


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _rename_new(source: Path, target: Path) -> None:
    """Rename a file within its directory. Raises FileExistsError if the target exists."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        rename_new(source.name, target.name, folder)
        os.fsync(folder)
    finally:
        os.close(folder)


class FolderSink(Sink):
    """Directory. All files are created relative to the new directory's descriptor, even if its path changes."""

    def __init__(self, path: Path) -> None:
        self.where = path
        path.mkdir(mode=0o700)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._made: set[str] = set()
        self._index = _GrowingFile(self._create("index.jsonl"))
        self._frames = _GrowingFile(self._create("frames.jsonl"))

    def put(self, name: str, data: bytes) -> None:
        """Create a file."""
        self._make(name.rpartition("/")[0])
        descriptor = self._create(name)
        try:
            _write_all(descriptor, data)
            os.utime(descriptor, (self.taken, self.taken))
        finally:
            os.close(descriptor)

    def frame(self, number: int, members: Mapping[str, bytes], index: bytes, whole: bytes) -> None:
        """Create a frame's files, and append its lines."""
        self._make(f"frames/{number:04d}")
        for name, data in members.items():
            self.put(name, data)
        if self._index.size + len(index) > _LONGEST_INDEX:
            self.put(f"index/{number:04d}.jsonl", index)
        else:
            self._index.append(index)
        self._frames.append(whole)

    def finish(self, manifest: bytes) -> None:
        """Replace the manifest."""
        self.put("manifest.json.new", manifest)
        self._index.sync()
        self._frames.sync()
        os.rename("manifest.json.new", "manifest.json", src_dir_fd=self._folder, dst_dir_fd=self._folder)
        os.fsync(self._folder)

    def close(self, *, kept: bool) -> None:
        """Close the index and the directory."""
        if not (self._index.close() and self._frames.close()):
            return
        if not kept:
            with contextlib.suppress(OSError):
                for name in ("frames.jsonl", "index.jsonl", "manifest.json"):
                    os.unlink(name, dir_fd=self._folder)
                self.where.rmdir()
        os.close(self._folder)

    def _create(self, name: str) -> int:
        return os.open(name, _CREATE, 0o600, dir_fd=self._folder)

    def _make(self, folder: str) -> None:
        if folder and folder not in self._made:
            self._make(folder.rpartition("/")[0])
            os.mkdir(folder, 0o700, dir_fd=self._folder)
            self._made.add(folder)


class ArchiveSink(Sink):
    """Tar archive of two gzip streams; deflate is flushed after each frame, so that all written frames can be unpacked.

    The first stream contains the first frame with every file: megabytes, compressed fast. Later frames, for a minute
    or for days, are small and compressed well.
    """

    def __init__(self, path: Path, top: str) -> None:
        self.where = path.with_name(f"{path.name}.part")
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "", path)
        self._path = path
        self._top = top
        self._deflate = _gzip(1)
        self._first = True
        self._file = _GrowingFile(os.open(self.where, _CREATE, 0o600))
        self._index: list[bytes] = []
        self._index_size = 0

    def put(self, name: str, data: bytes) -> None:
        """Append a member."""
        self._file.append(self._member(name, data) + self._deflate.flush(zlib.Z_SYNC_FLUSH))

    def frame(self, number: int, members: Mapping[str, bytes], index: bytes, whole: bytes) -> None:
        """Append a frame's members and its part of the index with one write."""
        pieces = [self._member(name, data) for name, data in members.items()]
        if not members:  # also store a frame without changes
            pieces.append(self._member(f"frames/{number:04d}", None))
        pieces.append(self._member(f"index/{number:04d}.jsonl", _SHA256.sub(b"", index) + whole))
        if self._first:
            pieces.append(self._deflate.flush())
            self._deflate, self._first = _gzip(4), False
        else:
            pieces.append(self._deflate.flush(zlib.Z_SYNC_FLUSH))
        self._file.append(b"".join(pieces))
        if self._index_size + len(index) <= _LONGEST_INDEX:
            self._index_size += len(index)
            self._index.append(index)

    def finish(self, manifest: bytes) -> None:
        """Append the complete index and the final manifest, and rename the archive to its final name."""
        pieces = [
            self._member("index.jsonl", b"".join(self._index)),
            self._member("manifest-final.json", manifest),
            self._deflate.compress(bytes(2 * _BLOCK)),
            self._deflate.flush(),
        ]
        self._file.append(b"".join(pieces))
        self._file.sync()
        _rename_new(self.where, self._path)

    def close(self, *, kept: bool) -> None:
        """Close the archive."""
        if self._file.close() and not kept:
            self.where.unlink(missing_ok=True)

    def _member(self, name: str, data: bytes | None) -> bytes:
        """Return the compressed member for a file, or for a directory if `data` is None."""
        header = tar_header(f"{self._top}/{name}", None if data is None else len(data), int(self.taken))
        data = data or b""
        return self._deflate.compress(b"".join((header, data, bytes(-len(data) % _BLOCK))))


def _gzip(level: int) -> zlib._Compress:
    """Return a compressor for a gzip stream without name and time."""
    return zlib.compressobj(level, zlib.DEFLATED, 31)


def tar_header(path: str, size: int | None, taken: int) -> bytes:
    """Return the tar header of a file of `size` bytes, or of a directory (None), readable only by its owner.

    Most paths and all sizes fit into a ustar header (POSIX.1-1988), which is built here: a first frame has thousands of
    members, and tarfile takes five times as long for each. tarfile builds the headers of other paths. `taken` is the
    Unix time of the member.
    """
    mtime = max(0, min(taken, _LATEST_TAR_TIME))
    folder = size is None
    name = f"{path}/" if folder and not path.endswith("/") else path
    if len(name) > _LONGEST_USTAR_NAME or not name.isascii() or "\0" in name:
        import tarfile  # noqa: PLC0415  # slow to import, and rarely needed

        info = tarfile.TarInfo(path)
        info.mtime, info.mode, info.size = mtime, 0o700 if folder else 0o600, size or 0
        info.type = tarfile.DIRTYPE if folder else tarfile.REGTYPE
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    mode, tail, weight = ("0000700", _FOLDER_TAIL, _FOLDER_WEIGHT) if folder else ("0000600", _FILE_TAIL, _FILE_WEIGHT)
    fields = "\0".join((mode, "0000000", "0000000", f"{size or 0:011o}", f"{mtime:011o}", ""))
    head = name.encode("ascii").ljust(_LONGEST_USTAR_NAME, b"\0") + fields.encode("ascii")
    summed = sum(head) + weight + 8 * 0x20  # the checksum field counts as eight spaces
    return head + f"{summed:06o}\0 ".encode("ascii") + tail
