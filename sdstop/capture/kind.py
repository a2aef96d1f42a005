"""Kind of a file that is neither a capture nor text, by its first bytes."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

MAGIC = b"SQLite format 3\x00"
"""Beginning of a recording, which is an SQLite database."""

_KINDS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"\xfd7zXZ\x00", "xz data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"\x04\x22\x4d\x18", "lz4 data"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\xd4\xc3\xb2\xa1", "a packet capture (pcap)"),
    (0, b"\xa1\xb2\xc3\xd4", "a packet capture (pcap)"),
    (0, b"\x4d\x3c\xb2\xa1", "a packet capture (pcap)"),
    (0, b"\x0a\x0d\x0d\x0a", "a packet capture (pcapng)"),
    (0, b"\x7fELF", "an ELF program or core dump"),
    (0, b"KDUMP   ", "a kernel crash dump"),
    (0, b"makedumpfile", "a kernel crash dump"),
    (0, MAGIC, "an SQLite database"),
    (0, b"LPKSHHRH", "a systemd journal; export it: journalctl --file FILE"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"!<arch>\n", "a Debian package or ar archive"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document or Outlook message"),
    (0, b"{\\rtf", "an RTF document"),
    (0, b"\x96\xd5", "data of sar; convert it: sar -A -f FILE"),
    (0, b"\xd5\x96", "data of sar; convert it: sar -A -f FILE"),
)


def _gzip(data: BytesIO) -> Any:
    import gzip  # noqa: PLC0415  # captures are read by zlib

    return gzip.open(data)


def _xz(data: BytesIO) -> Any:
    import lzma  # noqa: PLC0415  # 1 ms, for few captures

    return lzma.open(data)


def _xz_error() -> type[Exception]:
    import lzma  # noqa: PLC0415  # the same

    return lzma.LZMAError


def _bzip2(data: BytesIO) -> Any:
    import bz2  # noqa: PLC0415  # the same

    return bz2.open(data)


_PACKED: tuple[tuple[bytes, Callable[[BytesIO], Any]], ...] = (
    (b"\x1f\x8b", _gzip),
    (b"\xfd7zXZ\x00", _xz),
    (b"BZh", _bzip2),
)
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_SAMPLE = 1 << 16
"""Bytes at the beginning of a file by which its kind is recognized."""
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x07\x08\x0b\x0c\x1b"))


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as a recording does; other databases do, too. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and os.pread(descriptor, len(MAGIC), 0) == MAGIC
    finally:
        os.close(descriptor)


def is_text(data: bytes) -> bool:
    """Return whether data is text, in any encoding with a byte order mark or in one that has no NUL."""
    head = data[:_SAMPLE]
    if head.startswith(_BOMS):
        return True
    return b"\0" not in data and len(head.translate(None, _CONTROL)) >= len(head) * 0.99


def kind_of(data: bytes) -> str:
    """Return the kind of a file as a noun phrase, "" for text."""
    known = next((kind for at, magic, kind in _KINDS if data[at : at + len(magic)] == magic), "")
    if known:
        return known
    if not data:
        return "an empty file"
    return "" if is_text(data) else "binary data of an unknown kind"


def unpacked(data: bytes, longest: int) -> bytes | None:
    """Return a compressed text, at most one byte more than `longest`; None for anything else, or if it is damaged."""
    opener = next((opener for magic, opener in _PACKED if data.startswith(magic)), None)
    if opener is None:
        return None
    try:
        with opener(BytesIO(data)) as stream:
            found = stream.read(longest + 1)
    except (OSError, EOFError, zlib.error, _xz_error(), ValueError):
        return None
    return found if is_text(found) else None
