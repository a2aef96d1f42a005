r"""Archive: reads a possibly hostile tar file into memory. Nothing is ever extracted.

Headers are those of POSIX.1-1988 (ustar), with pax headers (POSIX.1-2001) and GNU long names; their sizes are accepted
only within the limits. A capture contains regular files and directories; a foreign tree may also contain links. The
standard library's reader is not used: it follows pax headers without limit, and Debian 12's Python 3.11.2 has no
extraction filters. `ArchiveBytes` decompresses the data.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from struct import Struct
from typing import BinaryIO

from sdstop.capture.archive_bytes import BLOCK, ArchiveBytes
from sdstop.capture.contents import (
    LIMITS,
    ArchiveEnded,
    Body,
    CaptureRefused,
    Contents,
    ForeignTree,
    ReadLimits,
    SkippedEntry,
    TreeLink,
    fault_of_name,
    folded,
    folders_of,
)
from sdstop.core.format import safe

LONGEST = 1 << 16
"""Maximum size of an extended header in bytes."""

_EXTENDED = frozenset({b"x", b"g", b"L", b"K"})
"""Kinds of members that describe the next one: pax headers, GNU long names and targets of links."""
_KINDS: Mapping[bytes, str] = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"S": "a sparse file",
}


def read_archive(
    stream: BinaryIO,
    limits: ReadLimits = LIMITS,
    foreign: ForeignTree | None = None,
    read: Callable[[int], None] | None = None,
) -> Contents:
    """Read a tar archive; a truncated or damaged one is read up to the fault, which is added to the notes.

    `foreign` is set for another tool's tree; `read` gets the number of bytes read so far. Raises CaptureRefused, and
    OSError if nothing can be read.
    """
    source = ArchiveBytes(stream, limits, read)
    contents = Contents(notes=source.notes)
    taken: set[str] = set()
    left_out = 0
    try:
        for name, data in _members(source, limits, foreign):
            if isinstance(data, SkippedEntry):
                left_out += 1
            elif isinstance(data, TreeLink):
                _add_link(contents, name, data)
            elif data is None:
                contents.folders.add(name)
            elif foreign is not None:
                contents.files.setdefault(name, data)
            elif (same := folded(name)) in taken:
                raise CaptureRefused(f"contains {safe(name)} twice")
            else:
                taken.add(same)
                contents.files[name] = data
        source.drain()
    except ArchiveEnded as end:
        contents.notes.append(f"the archive {end}")
        contents.cut = True
    except OSError as error:
        contents.notes.append(f"the archive became unreadable: {error.strerror}")
        contents.cut = True
    contents.complete = not contents.cut
    if left_out:
        contents.notes.append(f"skipped entries of other kinds or sizes: {left_out}")
    if both := folders_of(contents) & contents.files.keys():
        raise CaptureRefused(f"contains {safe(min(both))} both as a file and as a directory")
    return contents


def first_name(stream: BinaryIO) -> str:
    """Return the name of an archive's first member, "" if the stream is not an archive. Raises OSError."""
    extended: dict[str, str] = {}
    try:
        source = ArchiveBytes(stream, LIMITS)
        for _ in range(8):
            header = _parse_header(source.take(BLOCK))
            if header is None:
                break
            name, size, kind, _target = header
            if kind not in _EXTENDED or size > LONGEST:
                return extended.get("path", name).removeprefix("./")
            _extend(extended, kind, source.body(size))
    except (ArchiveEnded, CaptureRefused):
        pass
    return ""


def _add_link(contents: Contents, name: str, link: TreeLink) -> None:
    if not link.hard:
        contents.links.setdefault(name, link.target)
    elif (data := contents.files.get(link.target)) is not None:
        contents.files.setdefault(name, data)


def _members(source: ArchiveBytes, limits: ReadLimits, foreign: ForeignTree | None) -> Iterator[tuple[str, Body]]:
    """Yield every member's name and content (None for a directory) until the archive's end."""
    extended: dict[str, str] = {}
    for number in range(limits.members):
        try:
            block = source.take(BLOCK)
        except ArchiveEnded as end:
            if number == 0:
                raise CaptureRefused(f"is not a tar archive: it {end}") from end
            raise
        if not block[0] and not block.strip(b"\0"):
            return
        header = _parse_header(block)
        if header is None:
            if number == 0:
                raise CaptureRefused("is not a tar archive")
            raise ArchiveEnded(f"is damaged after {number} members")
        name, size, kind, target = header
        if kind in _EXTENDED and (foreign is not None or kind != b"K"):
            if size > LONGEST:
                raise CaptureRefused(f"has a header of {size} bytes")
            _extend(extended, kind, source.body(size))
            continue
        name = extended.get("path", name)
        size = _parse_size(extended["size"]) if "size" in extended else size
        target = extended.get("linkpath", target)
        extended = {}
        found = (
            _member(source, name, size, kind, limits)
            if foreign is None
            else _foreign_member(foreign, source, name, size, kind, target, limits)
        )
        if found is not None:
            yield found
    raise ArchiveEnded(f"has more than {limits.members} members: rest ignored")


_PLAIN = frozenset({b"0", b"\0", b"5"})
"""Files and directories."""


def _member(
    source: ArchiveBytes, name: str, size: int, kind: bytes, limits: ReadLimits
) -> tuple[str, bytes | None] | None:
    """Read a member of a capture; return None for the top-level directory."""
    if kind not in _PLAIN:
        raise CaptureRefused(f"contains {_KINDS.get(kind, 'a member of unknown kind')}: {safe(name)}")
    folder = kind == b"5" or (name.endswith("/") and not size)
    while name.startswith("./"):
        name = name[2:]
    if folder:
        name = name.rstrip("/") if name != "/" else name
    if folder and name in {"", "."}:
        return None
    if fault := fault_of_name(name, limits):
        raise CaptureRefused(f"contains a member whose name {fault}: {safe(name)}")
    if size > limits.member:
        raise CaptureRefused(f"contains a member of more than {limits.member >> 20} MiB: {safe(name)}")
    data = source.body(size)
    return name, None if folder else data


def _foreign_member(
    foreign: ForeignTree, source: ArchiveBytes, name: str, size: int, kind: bytes, target: str, limits: ReadLimits
) -> tuple[str, Body] | None:
    """Read or skip a member of a foreign tree. Raises CaptureRefused if its path leads out of the tree."""
    name = name.removeprefix("./").rstrip("/")
    if name in {"", "."}:
        return None
    fault = fault_of_name(name, limits)
    if fault and (name.startswith("/") or ".." in name.split("/")):
        raise CaptureRefused(f"contains a member whose name {fault}: {safe(name)}")
    if kind in {b"1", b"2"} and not fault:
        return name, TreeLink(target.removeprefix("./") if kind == b"1" else target, kind == b"1")
    if kind == b"5" and not fault:
        return name, None
    kept = kind in {b"0", b"\0"} and not fault and foreign.wanted(name) and size <= limits.member
    if kept:
        return name, source.body(size)
    source.skip(size + -size % BLOCK)
    return (name, SkippedEntry()) if fault or kind not in {b"0", b"\0"} or foreign.wanted(name) else None


def _parse_header(block: bytes) -> tuple[str, int, bytes, str] | None:
    """Return a member's name, size, kind and link target, None if the block is not a header."""
    name, length, checked, kind, target, magic, prefix = _HEADER.unpack(block)
    stored = _octal(checked)
    if stored is None or stored != _sum(block) - sum(checked) + 8 * 0x20:
        return None
    large = length[0] == 0x80  # GNU tar writes sizes of 8 GiB and above as a binary number
    size = int.from_bytes(length[1:], "big") if large else _octal(length)
    if size is None:
        return None
    name = name.partition(b"\0")[0]
    if magic == b"ustar\0" and prefix[0]:
        name = prefix.partition(b"\0")[0] + b"/" + name
    return _text(name), size, kind, _text(target.partition(b"\0")[0]) if target[0] else ""


_HEADER = Struct("100s24x12s12x8sc100s6s82x155s12x")
"""Name, size, checksum, kind, target of a link, magic, prefix of the name (POSIX.1-1988, ustar)."""


def _sum(block: bytes) -> int:
    """Return the sum of the bytes of a header, at a tenth of the time of `sum`.

    The lower half of Adler-32 (RFC 1950) is the sum of all bytes modulo 65521, which 257 bytes are needed to exceed.
    """
    half = BLOCK // 2
    return (zlib.adler32(block[:half], 0) & 0xFFFF) + (zlib.adler32(block[half:], 0) & 0xFFFF)


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    if not digits.isdigit():
        return None if digits else 0
    try:
        return int(digits, 8)
    except ValueError:  # 8 or 9
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _parse_size(digits: str) -> int:
    """Return the size in a pax header. Raises CaptureRefused."""
    if not re.fullmatch(r"[0-9]{1,18}", digits):
        raise CaptureRefused("has a pax header with an invalid size")
    return int(digits)


def _extend(extended: dict[str, str], kind: bytes, body: bytes) -> None:
    """Store the fields of a pax header or a GNU long name for the next member. Raises CaptureRefused."""
    if kind in {b"L", b"K"}:
        extended["path" if kind == b"L" else "linkpath"] = _text(body.partition(b"\0")[0])
        return
    while body:
        length, _, _ = body.partition(b" ")
        if not re.fullmatch(rb"[0-9]{1,5}", length) or not len(length) + 2 < int(length) <= len(body):
            raise CaptureRefused("has a malformed pax header")
        record, body = body[len(length) + 1 : int(length)], body[int(length) :]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise CaptureRefused("has a malformed pax header")
        if key.startswith(b"GNU.sparse"):
            raise CaptureRefused("contains a sparse file")
        if key in {b"path", b"size", b"linkpath"}:
            if kind == b"g":
                raise CaptureRefused("sets one name or size for all members")
            extended[key.decode()] = _text(value)
