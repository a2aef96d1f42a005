"""Unpacking: the bytes of an archive, plain or packed with gzip (RFC 1952), xz or bzip2, counted while they come."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from sdstop.capture.bounds import Ended, Limits, Refused
from sdstop.capture.tarheader import BLOCK

_CHUNK = 1 << 16
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\0"
_BZIP2 = b"BZh"
_XZ_MEMORY = 192 << 20  # what xz -9 needs, twice
_MOST_STREAMS = 100_000  # concatenated gzip streams: a block-wise compressor makes one for each 64 KiB


class Source:
    """The archive's bytes, unpacked and counted."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self.notes: list[str] = []
        self._stream = stream
        self._limits = limits
        self._buffer = bytearray()
        self._in = self._out = 0
        first = self._read()
        if first.startswith(_XZ):
            self._chunks = self._unpack(first, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))
        elif first.startswith(_BZIP2):
            self._chunks = self._unpack(first, bz2.BZ2Decompressor)
        else:
            self._chunks = self._inflate(first) if first.startswith(_GZIP) else self._plain(first)

    def take(self, size: int) -> bytes:
        """Return exactly so many bytes. Raises Ended if there are fewer."""
        buffer = self._buffer
        while len(buffer) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise Ended("ends early")
            self._count(len(chunk))
            buffer += chunk
        data = bytes(buffer[:size])
        del buffer[:size]
        return data

    def body(self, size: int) -> bytes:
        """Return a member's content, and pass over what fills it up."""
        data = self.take(size)
        self.take(-size % BLOCK)
        return data

    def drain(self) -> None:
        """Read what follows the archive's end, so that its checksum is checked; padding is expected."""
        rest = bool(self._buffer.strip(b"\0"))
        for chunk in self._chunks:
            self._count(len(chunk))
            rest = rest or bool(chunk.strip(b"\0"))
        if rest:
            self.notes.append("what follows the archive's end was ignored")

    def _count(self, size: int) -> None:
        self._out += size
        if self._out > self._limits.ratio_from and self._out > self._limits.ratio * self._in:
            raise Refused(f"unpacks to more than {self._limits.ratio} times its size")
        if self._out > self._limits.total:
            raise Ended(f"holds more than {self._limits.total >> 20} MiB: the rest was left out")

    def _read(self) -> bytes:
        data = self._stream.read(_CHUNK)
        self._in += len(data)
        return data

    def _plain(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield data
            data = self._read()

    def skip(self, size: int) -> None:
        """Pass over so many bytes."""
        while size > 0:
            size -= len(self.take(min(size, 1 << 20)))

    def _unpack(self, data: bytes, make: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor]) -> Iterator[bytes]:
        for _ in range(_MOST_STREAMS):
            unpacker = make()
            while not unpacker.eof:
                try:
                    chunk = unpacker.decompress(data, _CHUNK)
                except (lzma.LZMAError, OSError, EOFError) as error:
                    raise Ended("is damaged and does not unpack further") from error
                data = b""
                if chunk:
                    yield chunk
                elif unpacker.needs_input and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise Ended("ends early")
            data = unpacker.unused_data or self._read()
            if not data.strip(b"\0"):
                return
        raise Refused(f"is made of more than {_MOST_STREAMS} packed streams")

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        for _ in range(_MOST_STREAMS):
            unpacker = zlib.decompressobj(wbits=31)
            while not unpacker.eof:
                before = unpacker.copy()
                try:
                    chunk = unpacker.decompress(data, _CHUNK)
                except zlib.error as error:
                    yield from _sound(before, data)
                    raise Ended("is damaged and does not unpack further") from error
                data = unpacker.unconsumed_tail
                if chunk:
                    yield chunk
                elif not data and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise Ended("ends early")
            data = unpacker.unused_data
            while len(data) < len(_GZIP) and (more := self._read()):
                data += more
            if not data.startswith(_GZIP):
                yield from self._plain(data)
                return
        raise Refused(f"is made of more than {_MOST_STREAMS} gzip streams")


def _sound(unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield what unpacks before the damage: a call that meets it gives nothing."""
    for at in range(len(data)):
        try:
            chunk = unpacker.decompress(data[at : at + 1])
        except zlib.error:
            return
        if chunk:
            yield chunk
