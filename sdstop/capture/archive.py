"""Archive: a tar file, perhaps a hostile one, read into memory; nothing is ever extracted.

Only regular files and folders are taken, what unpacks is counted while it unpacks, and a header's word for a size is
believed only within the limits. Of another tool's tree (`Guest`) links are kept, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from sdstop.capture.bounds import LIMITS, Ended, Limits, Refused, fault_of_name, folded
from sdstop.capture.guest import Body, Guest, Left, Link, take
from sdstop.capture.tarheader import BLOCK, LONGEST, MORE, extend, parse_header, parse_size
from sdstop.capture.unpacking import Source
from sdstop.core.format import safe

_KINDS: Mapping[bytes, str] = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"S": "a sparse file",
}


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


def read_archive(stream: BinaryIO, limits: Limits = LIMITS, guest: Guest | None = None) -> Contents:
    """Read a tar archive. One that is cut off or damaged gives what came before that.

    Raises Refused, and OSError if nothing can be read at all.
    """
    source = Source(stream, limits)
    contents = Contents(notes=source.notes)
    taken: set[str] = set()
    left_out = 0
    try:
        for name, data in _members(source, limits, guest):
            if isinstance(data, Left):
                left_out += 1
            elif isinstance(data, Link):
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
    except Ended as end:
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


def _let_in(contents: Contents, name: str, link: Link) -> None:
    if not link.hard:
        contents.links.setdefault(name, link.target)
    elif (data := contents.files.get(link.target)) is not None:
        contents.files.setdefault(name, data)


def first_name(stream: BinaryIO) -> str:
    """Return the name of an archive's first member, "" if it is no archive. Raises OSError."""
    extended: dict[str, str] = {}
    try:
        source = Source(stream, LIMITS)
        for _ in range(8):
            header = parse_header(source.take(BLOCK))
            if header is None:
                break
            name, size, kind, _target = header
            if kind not in MORE or size > LONGEST:
                return extended.get("path", name).removeprefix("./")
            extend(extended, kind, source.body(size))
    except (Ended, Refused):
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


def _members(source: Source, limits: Limits, guest: Guest | None) -> Iterator[tuple[str, Body]]:
    """Yield every member's name and content, None for a folder, until the archive's end."""
    extended: dict[str, str] = {}
    for number in range(limits.members):
        try:
            block = source.take(BLOCK)
        except Ended as end:
            if number == 0:
                raise Refused(f"is no tar archive: it {end}") from end
            raise
        if not block.strip(b"\0"):
            return
        header = parse_header(block)
        if header is None:
            if number == 0:
                raise Refused("is no tar archive")
            raise Ended(f"is damaged after {number} members")
        name, size, kind, target = header
        if kind in MORE and (guest is not None or kind != b"K"):
            if size > LONGEST:
                raise Refused(f"has a header of {size} bytes")
            extend(extended, kind, source.body(size))
            continue
        name = extended.get("path", name)
        size = parse_size(extended["size"]) if "size" in extended else size
        target = extended.get("linkpath", target)
        extended = {}
        found = (
            _member(source, name, size, kind, limits)
            if guest is None
            else take(guest, source, name, size, kind, target, limits)
        )
        if found is not None:
            yield found
    raise Ended(f"has more than {limits.members} members: the rest was left out")


def _member(source: Source, name: str, size: int, kind: bytes, limits: Limits) -> tuple[str, bytes | None] | None:
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
    data = source.body(size)
    return name, None if folder else data
