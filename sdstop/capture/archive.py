"""Archive: a tar file, perhaps a hostile one, read into memory; nothing is ever extracted.

The format is POSIX.1-1988 ustar with pax headers (POSIX.1-2001) and GNU long names, plain or in gzip
(RFC 1952), xz or bzip2. Only regular files and folders are taken, what unpacks is counted while it unpacks,
and a header's word for a size is believed only within the limits. The standard library's reader is not used:
it follows pax headers without bound, and Debian 12's Python 3.11.2 has no extraction filters.
"""

from __future__ import annotations

import bz2
import lzma
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from sdstop.format import safe

_BLOCK = 512
_CHUNK = 1 << 16
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\0"
_BZIP2 = b"BZh"
_XZ_MEMORY = 192 << 20  # what xz -9 needs, twice
_LONGEST_HEADER = 1 << 16
_MOST_STREAMS = 100_000  # concatenated gzip streams: a block-wise compressor makes one for each 64 KiB

_KINDS: Mapping[bytes, str] = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"S": "a sparse file",
}


class Refused(Exception):  # noqa: N818  # the archive is at fault, not we
    """It is no tar archive, or one that nobody honest makes. The text goes on from its name."""


class _Ended(Exception):  # noqa: N818
    """The archive stops here, before its end; the text goes on from "the archive"."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most: bytes in all and of one member, members, and the shape of their names.

    More than `ratio` bytes out of one byte in, once `ratio_from` bytes have come out, is a bomb.
    """

    total: int = 1 << 30
    member: int = 64 << 20
    members: int = 200_000
    ratio: int = 200
    ratio_from: int = 16 << 20
    part: int = 200
    parts: int = 32


LIMITS = Limits()


@dataclass(slots=True)
class Contents:
    """Files by their name within the archive or folder, and what was wrong on the way."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    cut: bool = False
    """Whether what comes last may be missing, or in part."""
    links: dict[str, str] = field(default_factory=dict)
    """Targets of symbolic links, where they are let in; nobody ever follows them on this machine."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A tree that another tool made: it has links and other things that no capture has, and far more than is wanted.

    `wanted` says of a name whether its content is kept; what cannot be taken is left out and counted.
    """

    wanted: Callable[[str], bool]


def fault_of_name(name: str, limits: Limits = LIMITS) -> str:
    """Say what is wrong with a member's name, "" if nothing is."""
    parts = name.split("/")
    if name.startswith("/"):
        return "is an absolute path"
    if ".." in parts:
        return "leads out of the archive"
    if "" in parts or "." in parts:
        return "has an empty part"
    if len(parts) > limits.parts:
        return f"has more than {limits.parts} parts"
    if not name.isprintable():
        return "has characters that cannot be printed"
    if max(map(len, parts)) > limits.part:
        return f"has a part of more than {limits.part} characters"
    return ""


def folded(name: str) -> str:
    """Return what two names share if some file system takes them for one."""
    return unicodedata.normalize("NFC", name).casefold()


def read_archive(stream: BinaryIO, limits: Limits = LIMITS, guest: Guest | None = None) -> Contents:
    """Read a tar archive. One that is cut off or damaged gives what came before that.

    Raises Refused, and OSError if nothing can be read at all.
    """
    source = _Source(stream, limits)
    contents = Contents(notes=source.notes)
    taken: set[str] = set()
    left_out = 0
    try:
        for name, data in _members(source, limits, guest):
            if isinstance(data, _Left):
                left_out += 1
            elif isinstance(data, _Link):
                _let_in(contents, name, data)
            elif data is None:
                contents.folders.add(name)
            elif guest is not None:
                contents.files.setdefault(name, data)
            elif folded(name) in taken:
                raise Refused(f"holds {safe(name)} twice")
            else:
                taken.add(folded(name))
                contents.files[name] = data
        source.drain()
    except _Ended as end:
        contents.notes.append(f"the archive {end}")
        contents.cut = True
    except OSError as error:
        contents.notes.append(f"the archive could not be read further: {error.strerror}")
        contents.cut = True
    contents.complete = not contents.cut
    if left_out:
        contents.notes.append(f"entries of other kinds or sizes left out: {left_out}")
    if both := folders_of(contents) & contents.files.keys():
        raise Refused(f"holds {safe(min(both))} as a file and as a folder")
    return contents


@dataclass(frozen=True, slots=True)
class _Link:
    """A link of a guest's tree; a hard one is another name of a file that came before."""

    target: str
    hard: bool


class _Left:
    """An entry of a guest's tree that is left out."""


def _let_in(contents: Contents, name: str, link: _Link) -> None:
    if not link.hard:
        contents.links.setdefault(name, link.target)
    elif (data := contents.files.get(link.target)) is not None:
        contents.files.setdefault(name, data)


def first_name(stream: BinaryIO) -> str:
    """Return the name of an archive's first member, "" if it is no archive. Raises OSError."""
    extended: dict[str, str] = {}
    try:
        source = _Source(stream, LIMITS)
        for _ in range(8):
            header = _header(source.take(_BLOCK))
            if header is None:
                break
            name, size, kind, _target = header
            if kind not in {b"x", b"g", b"L", b"K"} or size > _LONGEST_HEADER:
                return extended.get("path", name).removeprefix("./")
            _extend(extended, kind, _body(source, size))
    except (_Ended, Refused):
        pass
    return ""


def folders_of(contents: Contents) -> set[str]:
    """Return the folders that are named or implied."""
    found = set(contents.folders)
    for name in (*contents.files, *contents.folders):
        parent = name.rpartition("/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return found


class _Source:
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
        """Return exactly so many bytes. Raises _Ended if there are fewer."""
        buffer = self._buffer
        while len(buffer) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise _Ended("ends early")
            self._count(len(chunk))
            buffer += chunk
        data = bytes(buffer[:size])
        del buffer[:size]
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
            raise _Ended(f"holds more than {self._limits.total >> 20} MiB: the rest was left out")

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
                    raise _Ended("is damaged and does not unpack further") from error
                data = b""
                if chunk:
                    yield chunk
                elif unpacker.needs_input and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise _Ended("ends early")
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
                    raise _Ended("is damaged and does not unpack further") from error
                data = unpacker.unconsumed_tail
                if chunk:
                    yield chunk
                elif not data and not unpacker.eof:
                    data = self._read()
                    if not data:
                        raise _Ended("ends early")
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


_Body = bytes | _Link | _Left | None


def _members(source: _Source, limits: Limits, guest: Guest | None) -> Iterator[tuple[str, _Body]]:
    """Yield every member's name and content, None for a folder, until the archive's end."""
    extended: dict[str, str] = {}
    for number in range(limits.members):
        try:
            block = source.take(_BLOCK)
        except _Ended as end:
            if number == 0:
                raise Refused(f"is no tar archive: it {end}") from end
            raise
        if not block.strip(b"\0"):
            return
        header = _header(block)
        if header is None:
            if number == 0:
                raise Refused("is no tar archive")
            raise _Ended(f"is damaged after {number} members")
        name, size, kind, target = header
        if kind in {b"x", b"g", b"L", b"K"} and (guest is not None or kind != b"K"):
            if size > _LONGEST_HEADER:
                raise Refused(f"has a header of {size} bytes")
            _extend(extended, kind, _body(source, size))
            continue
        name = extended.get("path", name)
        size = _size(extended["size"]) if "size" in extended else size
        target = extended.get("linkpath", target)
        extended = {}
        found = (
            _member(source, name, size, kind, limits)
            if guest is None
            else _guest(source, name, size, kind, target, guest, limits)
        )
        if found is not None:
            yield found
    raise _Ended(f"has more than {limits.members} members: the rest was left out")


def _member(source: _Source, name: str, size: int, kind: bytes, limits: Limits) -> tuple[str, bytes | None] | None:
    if kind not in {b"0", b"\0", b"5"}:
        raise Refused(f"holds {_KINDS.get(kind, 'a member of unknown kind')}: {safe(name)}")
    folder = kind == b"5" or (name.endswith("/") and not size)
    while name.startswith("./"):
        name = name[2:]
    if folder:
        name = name.rstrip("/") if name != "/" else name
    if folder and name in {"", "."}:
        return None
    if fault := fault_of_name(name, limits):
        raise Refused(f"holds a member whose name {fault}: {safe(name)}")
    if size > limits.member:
        raise Refused(f"holds a member of more than {limits.member >> 20} MiB: {safe(name)}")
    data = _body(source, size)
    return name, None if folder else data


def _guest(
    source: _Source, name: str, size: int, kind: bytes, target: str, guest: Guest, limits: Limits
) -> tuple[str, _Body] | None:
    """Take a member of a guest's tree: what no capture may hold is left out, what leads out of the tree refused."""
    name = name.removeprefix("./").rstrip("/")
    if name in {"", "."}:
        return None
    fault = fault_of_name(name, limits)
    if fault and (name.startswith("/") or ".." in name.split("/")):
        raise Refused(f"holds a member whose name {fault}: {safe(name)}")
    if kind in {b"1", b"2"} and not fault:
        return name, _Link(target.removeprefix("./") if kind == b"1" else target, kind == b"1")
    if kind == b"5" and not fault:
        return name, None
    kept = kind in {b"0", b"\0"} and not fault and guest.wanted(name) and size <= limits.member
    if kept:
        return name, _body(source, size)
    source.skip(size + -size % _BLOCK)
    return (name, _Left()) if fault or kind not in {b"0", b"\0"} or guest.wanted(name) else None


def _body(source: _Source, size: int) -> bytes:
    data = source.take(size)
    source.take(-size % _BLOCK)
    return data


def _header(block: bytes) -> tuple[str, int, bytes, str] | None:
    """Return name, size, kind and what a link leads to; None if this is no header."""
    stored = _octal(block[148:156])
    if stored is None or stored != sum(block) - sum(block[148:156]) + 8 * 0x20:
        return None
    large = block[124] == 0x80  # GNU writes sizes from 8 GiB as a binary number
    size = int.from_bytes(block[125:136], "big") if large else _octal(block[124:136])
    if size is None:
        return None
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    target = _text(block[157:257].partition(b"\0")[0])
    return _text(prefix + b"/" + name if prefix else name), size, block[156:157], target


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _size(digits: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", digits):
        raise Refused("has a pax header with a size that is no number")
    return int(digits)


def _extend(extended: dict[str, str], kind: bytes, body: bytes) -> None:
    """Take over what a pax header or a GNU long name says of the next member."""
    if kind in {b"L", b"K"}:
        extended["path" if kind == b"L" else "linkpath"] = _text(body.partition(b"\0")[0])
        return
    while body:
        length, _, _ = body.partition(b" ")
        if not re.fullmatch(rb"[0-9]{1,5}", length) or not len(length) + 2 < int(length) <= len(body):
            raise Refused("has a malformed pax header")
        record, body = body[len(length) + 1 : int(length)], body[int(length) :]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise Refused("has a malformed pax header")
        if key.startswith(b"GNU.sparse"):
            raise Refused("holds a sparse file")
        if key in {b"path", b"size", b"linkpath"}:
            if kind == b"g":
                raise Refused("gives all its members one name or size")
            extended[key.decode()] = _text(value)
