"""Reader: a capture is opened whole, as far as it goes.

Nothing of it is taken on trust; raw evidence is kept as it is, and parsed when it is replayed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from sdstop.capture import sosreport
from sdstop.capture.archive import Contents, first_name, folders_of, read_archive
from sdstop.capture.assembly import assemble
from sdstop.capture.bounds import Refused
from sdstop.capture.folder import read_folder
from sdstop.capture.index import read_index
from sdstop.capture.manifest import read_manifest
from sdstop.capture.pasted import LONGEST, read_pasted
from sdstop.core.evidence import Frame, Origin
from sdstop.core.format import safe

PACKED = "capture.tar.gz"
"""A folder may hold its capture in this one file, beside a README.md for instance, as fixtures do."""

_ROOT = ("frames", "frames.jsonl", "index", "index.jsonl", "manifest-final.json", "manifest.json", "static")
_NO_CAPTURE = "is no capture: it holds neither frames/ nor static/"
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_NOTES = 5


class Unopenable(Exception):  # noqa: N818
    """A path cannot be opened as a capture. One line that says why."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        """Keep which path, and the reason, which goes on from its name."""
        super().__init__(f"{safe(os.fspath(path))} {reason}")
        self.path = path
        self.reason = reason


def open_capture(path: str | os.PathLike[str]) -> tuple[Origin, list[Frame]]:
    """Read a capture or a sosreport, folder or archive: where it is from, and its frames in order, at least one.

    A damaged capture opens as far as it goes: the origin says that it is not complete, and its note why.
    Raises Unopenable.
    """
    try:
        contents = _contents(path)
        if contents is None:
            return _sosreport(path)
        contents = _rooted(contents)
        manifest = read_manifest(contents.files, contents.notes)
        index = read_index(contents.files, contents.notes)
        frames = assemble(contents, manifest, index)
    except Refused as refused:
        text = _pasted(path)
        if text is not None:
            return text
        raise Unopenable(path, str(refused)) from refused
    except OSError as error:
        raise Unopenable(path, f"cannot be opened: {error.strerror}") from error
    except MemoryError as error:
        raise Unopenable(path, "does not fit into memory") from error
    origin = Origin(
        manifest.host or _name(path),
        complete=contents.complete and manifest.complete,
        note=_note(contents.notes),
        privileged=manifest.privileged,
        facts=manifest.facts,
        collectors=_ran(frames) if manifest.collectors is None else manifest.collectors,
    )
    return origin, frames


def _ran(frames: Sequence[Frame]) -> frozenset[str] | None:
    """Return the collectors that ran in any of the frames, None if nobody noted it."""
    noted = [frame.ran for frame in frames if frame.ran is not None]
    return frozenset(name for ran in noted for name in ran) if noted else None


def open_pasted(stream: BinaryIO) -> tuple[Origin, list[Frame]]:
    """Read text that somebody copied from a terminal. Raises Unopenable."""
    try:
        return read_pasted(stream.read(LONGEST + 1))
    except Refused as refused:
        raise Unopenable("what was pasted", str(refused)) from refused
    except OSError as error:
        raise Unopenable("standard input", f"cannot be read: {error.strerror}") from error


def _pasted(path: str | os.PathLike[str]) -> tuple[Origin, list[Frame]] | None:
    """Read a file as pasted text, None if it is no text, or nothing of it is known."""
    target = Path(path)
    if not target.is_file():
        return None
    with os.fdopen(os.open(target, _OPEN), "rb", buffering=0) as stream:
        data = stream.read(LONGEST + 1)
    if b"\0" in data:
        return None
    try:
        return read_pasted(data, _name(path))
    except Refused:
        return None


def _sosreport(path: str | os.PathLike[str]) -> tuple[Origin, list[Frame]]:
    """Read what is no capture as a sosreport. Raises Refused if it is none either."""
    target = Path(path)
    if target.is_dir():
        contents = read_folder(os.fspath(target), sosreport.ROOT, sosreport.LIMITS, sosreport.guest(topped=False))
    else:
        with os.fdopen(os.open(target, _OPEN), "rb", buffering=0) as stream:
            contents = _topped(read_archive(stream, sosreport.LIMITS, sosreport.guest(topped=True)))
    if not sosreport.is_sosreport(contents):
        raise Refused(_NO_CAPTURE)
    return sosreport.read_sosreport(contents, _name(path))


def _topped(contents: Contents) -> Contents:
    """Take off the folder around everything; what links lead to is as it was on the node."""
    tops = {name.partition("/")[0] for name in (*contents.files, *contents.links)}
    if len(tops) == 1:
        top = f"{tops.pop()}/"
        contents.files = {name.removeprefix(top): data for name, data in contents.files.items()}
        contents.links = {name.removeprefix(top): target for name, target in contents.links.items()}
        contents.folders = {name.removeprefix(top) for name in contents.folders if name.startswith(top)}
    return contents


def _contents(path: str | os.PathLike[str]) -> Contents | None:
    """Return what a path holds, None if it has what a sosreport has and no capture."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL, or what no file system can encode
        raise Refused("is no path") from error
    if not stat.S_ISDIR(mode):
        return None if _of_sos(path) else _unpacked(path, _OPEN)
    names = {entry.name for entry in path.iterdir()}
    beside = sorted({"frames", "static"} & names)
    if not beside:
        if PACKED in names:
            return _unpacked(path / PACKED, _OPEN | os.O_NOFOLLOW)
        if "sos_commands" in names:
            return None
        raise Refused(_NO_CAPTURE)
    if PACKED in names:
        raise Refused(f"holds two captures: {PACKED} and {beside[0]}/; remove one of them")
    return read_folder(os.fspath(path), _ROOT)


def _of_sos(path: Path) -> bool:
    """Whether an archive's first member is called as sos calls it."""
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with os.fdopen(os.open(path, _OPEN), "rb", buffering=0) as stream:
        return first_name(stream).startswith("sosreport")


def _unpacked(path: Path, flags: int) -> Contents:
    if not stat.S_ISREG(path.stat().st_mode):
        raise Refused("is neither a file nor a folder")
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as stream:
        return read_archive(stream)


def _rooted(contents: Contents) -> Contents:
    """Take off the one folder that an archive may have around everything."""
    folders = folders_of(contents)
    tops = {name.partition("/")[0] for name in (*contents.files, *folders)}
    if tops.isdisjoint({"frames", "static"}) and len(tops) == 1:
        top = f"{tops.pop()}/"
        folders = {name.removeprefix(top) for name in folders if name.startswith(top)}
        contents.files = {name.removeprefix(top): data for name, data in contents.files.items()}
    if folders.isdisjoint({"frames", "static"}):
        raise Refused(_NO_CAPTURE if contents.complete else f"{_NO_CAPTURE} ({contents.notes[-1]})")
    contents.folders = folders
    return contents


def _name(path: str | os.PathLike[str]) -> str:
    name = Path(path).resolve().name
    for ending in (".part", ".gz", ".tgz", ".tar"):
        name = name.removesuffix(ending)
    return name or "capture"


def _note(notes: Sequence[str]) -> str:
    more = len(notes) - _MOST_NOTES
    return "; ".join(notes[:_MOST_NOTES]) + (f"; and {more} more" if more > 0 else "")
