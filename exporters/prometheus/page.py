"""A page of metrics: the parts that are requested, and its pieces put together, plain or as a gzip file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.exporters.prometheus.series import Text

FINDINGS, PROCESS = "findings", "process"
"""`collect[]` names of the page parts that do not belong to a collector."""


class PageSelection(Struct, frozen=True):
    """Requested parts of the page: collector names, FINDINGS and PROCESS. None: all."""

    names: frozenset[str] | None = None

    def __contains__(self, name: str) -> bool:
        """Return whether a part is requested."""
        return self.names is None or name in self.names


WHOLE = PageSelection()


PageParts = Iterable[bytes | Text]
"""Pieces of a page in order: lines of families, and other lines."""


def _flat(pieces: PageParts, *, openmetrics: bool) -> Iterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Text):
            yield from piece.pieces(openmetrics=openmetrics)
        else:
            yield piece


def plain(pieces: PageParts, *, openmetrics: bool) -> bytes:
    """Return the page without compression."""
    return b"".join(_flat(pieces, openmetrics=openmetrics))


_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\x04\xff"
"""Header of a gzip file without name and time, fastest compression (RFC 1952)."""
_END = b"\x03\0"
"""Final empty block of a deflate stream (RFC 1951)."""


def gzip(pieces: PageParts, *, openmetrics: bool) -> bytes:
    """Return the page as a gzip file (RFC 1952); texts of families keep their compressed form from page to page."""
    found, checksum, size = [_HEAD], 0, 0
    for piece in pieces:
        for part in piece.pieces(openmetrics=openmetrics) if isinstance(piece, Text) else (piece,):
            checksum = zlib.crc32(part, checksum)
            size += len(part)
        if isinstance(piece, Text):
            found.append(piece.packed(openmetrics=openmetrics))
        else:
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            found += [packer.compress(piece), packer.flush(zlib.Z_FULL_FLUSH)]
    return b"".join([*found, _END, struct.pack("<II", checksum, size & 0xFFFFFFFF)])
