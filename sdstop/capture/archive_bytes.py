"""Archive bytes: data of a possibly hostile archive, plain or compressed with gzip (RFC 1952), xz or bzip2.

They are counted during decompression: an archive that expands beyond the limits is refused, or ends there.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from sdstop.capture.contents import ArchiveEnded, CaptureRefused, ReadLimits

if TYPE_CHECKING:
    import bz2
    import lzma

BLOCK = 512
"""Size of a tar header in bytes; a member's content is padded to a multiple of it."""

_CHUNK = 1 << 16
"""Bytes that are read or decompressed at once."""
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\0"
_BZIP2 = b"BZh"
_XZ_MEMORY = 192 << 20
"""Maximum bytes of memory of the xz decompressor: twice the need of xz -9."""
_MOST_STREAMS = 100_000
"""Maximum number of concatenated streams: a block-wise compressor makes one for each 64 KiB."""


class ArchiveBytes:
    """Decompressed data of an archive, taken in order; `notes` has the faults that did not end it."""

    def __init__(self, stream: BinaryIO, limits: ReadLimits, read: Callable[[int], None] | None = None) -> None:
        """Read the first bytes, which show the compression; `read` gets the number of bytes read so far.

        Raises OSError, here and later, if the stream cannot be read.
        """
        self.notes: list[str] = []
        self._stream = stream
        self._limits = limits
        self._buffer = b""
        self._at = 0
        """Number of bytes taken from the buffer."""
        self._in = self._out = 0
        """Bytes read, and bytes after decompression."""
        self._heard = read
        first = self._read()
        if first.startswith(_XZ):
            import lzma  # noqa: PLC0415  # 1 ms, for few captures

            self._chunks = self._unpack(
                first, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), lzma.LZMAError
            )
        elif first.startswith(_BZIP2):
            import bz2  # noqa: PLC0415  # the same

            self._chunks = self._unpack(first, bz2.BZ2Decompressor)
        else:
            self._chunks = self._inflate(first) if first.startswith(_GZIP) else self._plain(first)

    def take(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises ArchiveEnded if there are fewer."""
        end = self._at + size
        if end > len(self._buffer):
            self._fill(size)
            end = size
        data = self._buffer[self._at : end]
        self._at = end
        return data

    def _fill(self, size: int) -> None:
        """Have at least `size` bytes in the buffer. Raises ArchiveEnded if there are fewer."""
        pieces = [self._buffer[self._at :]]
        there = len(pieces[0])
        while there < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._buffer, self._at = b"".join(pieces), 0
                raise ArchiveEnded("is cut off")
            self._count(len(chunk))
            pieces.append(chunk)
            there += len(chunk)
        self._buffer, self._at = b"".join(pieces), 0

    def body(self, size: int) -> bytes:
        """Return a member's content and skip its padding."""
        padding = -size % BLOCK
        return self.take(size + padding)[:size] if padding else self.take(size)

    def drain(self) -> None:
        """Read to the end of the stream, which verifies its checksum; add a note if there is more than padding."""
        rest = bool(self._buffer[self._at :].strip(b"\0"))
        for chunk in self._chunks:
            self._count(len(chunk))
            rest = rest or bool(chunk.strip(b"\0"))
        if rest:
            self.notes.append("data after the end of the archive ignored")

    def _count(self, size: int) -> None:
        self._out += size
        if self._out > self._limits.ratio_from and self._out > self._limits.ratio * self._in:
            raise CaptureRefused(f"expands to more than {self._limits.ratio} times its size: refused")
        if self._out > self._limits.total:
            raise ArchiveEnded(f"contains more than {self._limits.total >> 20} MiB: rest ignored")

    def _read(self) -> bytes:
        data = self._stream.read(_CHUNK)
        self._in += len(data)
        if self._heard is not None:
            self._heard(self._in)
        return data

    def _plain(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield data
            data = self._read()

    def skip(self, size: int) -> None:
        """Skip `size` bytes."""
        while size > 0:
            size -= len(self.take(min(size, 1 << 20)))

    def _unpack(
        self,
        data: bytes,
        make: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor],
        broken: type[Exception] = OSError,
    ) -> Iterator[bytes]:
        for _ in range(_MOST_STREAMS):
            unpacker = make()
            while not unpacker.eof:
                try:
                    chunk = unpacker.decompress(data, _CHUNK)
                except (broken, OSError, EOFError) as error:
                    raise ArchiveEnded("is corrupt: rest unreadable") from error
                data = b""
                if chunk:
                    yield chunk
                elif unpacker.needs_input and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise ArchiveEnded("is cut off")
            data = unpacker.unused_data or self._read()
            if not data.strip(b"\0"):
                return
        raise CaptureRefused(f"has more than {_MOST_STREAMS} compressed streams")

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        for _ in range(_MOST_STREAMS):
            unpacker = zlib.decompressobj(wbits=31)
            while not unpacker.eof:
                before = unpacker.copy()
                try:
                    chunk = unpacker.decompress(data, _CHUNK)
                except zlib.error as error:
                    yield from _sound(before, data)
                    raise ArchiveEnded("is corrupt: rest unreadable") from error
                data = unpacker.unconsumed_tail
                if chunk:
                    yield chunk
                elif not data and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise ArchiveEnded("is cut off")
            data = unpacker.unused_data
            while len(data) < len(_GZIP) and (more := self._read()):
                data += more
            if not data.startswith(_GZIP):
                yield from self._plain(data)
                return
        raise CaptureRefused(f"has more than {_MOST_STREAMS} gzip streams")


def _sound(unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield the data before the damage byte by byte, because a call that reaches the damage returns nothing."""
    for at in range(len(data)):
        try:
            chunk = unpacker.decompress(data[at : at + 1])
        except zlib.error:
            return
        if chunk:
            yield chunk
