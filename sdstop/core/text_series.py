"""Text series: successive versions of one piece of evidence, as a text and the differences of its numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from threading import Lock

import msgspec

from sdstop.core.growing_versions import GrowingVersions
from sdstop.core.versions import Versions

LENGTH = 24
"""Versions in a series: reading one of them reads all."""


class TextSeries:
    """Successive versions of one piece of evidence. One thread appends while others read."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        """Bytes that a timeline counts for it: those of the first version, then those of all."""
        self._first: bytes | None = None
        self._growing: GrowingVersions | None = None
        self._packed = b""
        self._lock = Lock()

    def add(self, text: bytes) -> None:
        """Append a version."""
        with self._lock:
            if self._first is None and self._growing is None:
                self._first = zlib.compress(text, 1)
                self.size = len(self._first)
            else:
                if self._growing is None:
                    self._growing = GrowingVersions()
                    self._growing.add(zlib.decompress(self._first or b""))
                    self._first = None
                self._growing.add(text)
            self.count += 1
            if self.count == LENGTH and self._growing is not None:
                self._packed = zlib.compress(msgspec.msgpack.encode(self._growing.packed()), 6)
                self._growing = None
                self.size = len(self._packed)

    def reader(self) -> tuple[int, Callable[[int], bytes]]:
        """Return the number of versions added so far, and what returns one of them."""
        texts = self._texts()
        return len(texts), texts.__getitem__

    def _texts(self) -> list[bytes]:
        with self._lock:
            if self._first is not None:
                return [zlib.decompress(self._first)]
            if self._growing is not None:
                versions = self._growing.packed()
            else:
                versions = msgspec.msgpack.decode(zlib.decompress(self._packed), type=list[Versions])
        return [text for run in versions for text in run.texts()]
