"""Reader: opens a capture, a recording, a sosreport or pasted text as an origin and its frames.

    contents   files of the directory or archive, within limits           contents.py, archive.py, archive_bytes.py
    manifest, index   description of the frames                           frames.py
    frames     evidence by frame, assembled from all three                frames.py, layout.py

Captures are untrusted. Raw evidence is kept unchanged, and parsed on replay.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from sdstop.capture.archive import first_name, read_archive
from sdstop.capture.contents import CaptureRefused, Contents, folders_of, read_folder
from sdstop.capture.frames import assemble
from sdstop.capture.kind import is_recording, kind_of, unpacked
from sdstop.capture.manifest import read_index, read_manifest
from sdstop.core.collector import Texts
from sdstop.core.evidence import Frame, Origin, dated
from sdstop.core.format import duration, first_of, plural, safe
from sdstop.core.period import USUAL, Period, between
from sdstop.core.timeline import NEAR
from sdstop.core.zone import zone_for
from sdstop.pasted import LONGEST, TextRefused

if TYPE_CHECKING:
    from sdstop.recordings.timeline import StoredTimeline

PACKED = "capture.tar.gz"
"""Name of an archive with the capture of a directory, next to other files such as README.md, as in fixtures."""

Progress = Callable[[float], None]
Opened = list[tuple[Origin, list[Frame]]]
"""Origins with their frames; of a text of several nodes, first the node with most outputs, then all of them."""
NO_TEXTS = Texts((), frozenset())
"""No text is read as pasted output."""
EVERYTHING = Period()
"""All frames, of a recording its last quarter of an hour."""

_ROOT = ("frames", "frames.jsonl", "index", "index.jsonl", "manifest-final.json", "manifest.json", "static")
_NO_CAPTURE = "is not a capture (no frames/ or static/)"
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_LARGEST_PERIOD = 512 << 20
"""Maximum bytes of evidence that are read of a recording at once."""


class OpenError(Exception):
    """Raised if a path cannot be opened as a capture; one line with the reason."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        """Store the path and the reason, which continues after the path."""
        super().__init__(f"{safe(os.fspath(path))} {reason}")
        self.path = path
        self.reason = reason


def open_capture(
    path: str | os.PathLike[str],
    texts: Texts = NO_TEXTS,
    period: Period = EVERYTHING,
) -> tuple[Origin, list[Frame]]:
    """Open a capture, a recording, a sosreport or pasted text; return the origin and at least one frame.

    Of a text of several nodes it is the one with most outputs. See open_nodes.
    """
    return open_nodes(path, texts, period)[0]


def open_nodes(
    path: str | os.PathLike[str],
    texts: Texts = NO_TEXTS,
    period: Period = EVERYTHING,
    progress: Progress | None = None,
) -> Opened:
    """Open a path like open_capture; if it is a text of several nodes, each of them follows.

    `texts` are the texts that can be read (sdstop.core.collector.texts_of); without them, no pasted text is. Of a
    recording, the last quarter of an hour is read unless the period is named. `progress` gets the part of an archive
    that is read. A damaged capture is opened as far as possible: its origin is not complete, and the note has the
    reason. Raises OpenError.
    """
    try:
        if is_recording(path):
            return [_open_recording(path, period)]
        opened = _open_whole(path, texts, progress)
        return [_part(frames, origin, period) for origin, frames in opened]
    except CaptureRefused as reason:
        raise OpenError(path, str(reason)) from reason
    except OSError as error:
        raise OpenError(path, f"cannot be opened: {error.strerror}") from error
    except MemoryError as error:
        raise OpenError(path, "does not fit into memory") from error


def _open_whole(path: str | os.PathLike[str], texts: Texts, progress: Progress | None) -> Opened:
    try:
        contents = _capture_contents(path, progress)
        if contents is None:
            return [_open_sosreport(path)]
        return [read_capture(_without_top(contents), _name(path))]
    except CaptureRefused as refused:
        return _open_text(path, texts, refused)


def holds_recording(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file that begins as a recording does."""
    try:
        return is_recording(path)
    except OSError:
        return False


def open_recording(path: str | os.PathLike[str], period: Period, usual: float = USUAL) -> tuple[Origin, StoredTimeline]:
    """Open a period of a recording, by default its last `usual` seconds; its frames are read when asked for.

    Raises OpenError.
    """
    from sdstop.recordings.database import NoRecording, Recording  # noqa: PLC0415  # needs SQLite
    from sdstop.recordings.timeline import StoredTimeline  # noqa: PLC0415

    try:
        recording = Recording(path)
    except NoRecording as error:
        raise OpenError(path, str(error)) from error
    try:
        newest = recording.runs[-1]
        since, until = _times(period, newest.last, recording.origin(newest), usual)
        if period.at is None and period.until is None:
            until = math.inf  # the newest frame, also of a clock that was set back
        timeline = StoredTimeline(recording, since, until)
        end = timeline.moment(len(timeline) - 1).taken
        if end < since and period.since is None:  # the recorder paused: its last frames say more than the last one
            timeline = StoredTimeline(recording, end - usual, until)
        origin = recording.origin(recording.runs[timeline.newest_run])
        others = len(recording.runs) - len(timeline.starts) - 1
        more = f"{plural(others, 'other run')} of the recorder in this file: --at TIME opens them" if others else ""
        ends = [timeline.moment(each).taken for each in range(max(len(timeline) - 4, 0), len(timeline))]
        return replace(origin, note=more, late=_late(period, ends, since, until)), timeline
    except LookupError as error:
        recording.close()
        raise OpenError(path, f"has {error}") from error
    except (NoRecording, CaptureRefused) as error:
        recording.close()
        raise OpenError(path, str(error)) from error


def _open_recording(path: str | os.PathLike[str], period: Period) -> tuple[Origin, list[Frame]]:
    """Read a period of a recording. Raises OpenError and CaptureRefused."""
    origin, timeline = open_recording(path, period)
    with timeline.recording as recording:
        frames = []
        size = 0
        for index in range(len(timeline)):
            frames.append(timeline.frame(index))
            size += sum(len(item.data) for item in frames[-1].evidence)
            if size > _LARGEST_PERIOD:
                raise CaptureRefused("has too much in this period; choose a shorter one with --since and --until")
        if not any(frame.evidence for frame in frames):
            raise CaptureRefused(f"has no frame that can be read: {first_of(recording.notes)}")
        note = first_of(recording.notes) or origin.note
        return replace(origin, complete=not recording.notes, note=note), frames


def _part(frames: list[Frame], origin: Origin, period: Period) -> tuple[Origin, list[Frame]]:
    """Return the frames of a period. Raises CaptureRefused if there are none."""
    if not period.named:
        return origin, frames
    newest = frames[-1].taken
    if not dated(newest):
        raise CaptureRefused("has no dates, so that no period of it can be chosen")
    since, until = _times(period, newest, origin)
    chosen = between(frames, since, until)
    if not chosen:
        raise CaptureRefused("has no frame before the end of the period")
    return replace(origin, late=_late(period, [frame.taken for frame in chosen[-4:]], since, until)), chosen


def _late(period: Period, ends: Sequence[float], since: float, until: float) -> str:
    """Return that the newest of the last frames, taken at `ends`, is not of the period, or does not show its end.

    It does for NEAR seconds, and for three intervals.
    """
    if len(ends) == 1 and ends[-1] < since and period.since is not None:
        return f"no sample in the period: the newest is {duration(since - ends[-1])} older"
    if period.at is None and period.until is None:
        return ""
    steps = sorted(after - before for before, after in pairwise(ends))
    if until - ends[-1] <= max(NEAR, 3 * steps[len(steps) // 2] if steps else 0.0):
        return ""
    what = "at the time chosen" if period.at is not None else "at the end of the period"
    return f"no sample {what}: the newest is {duration(until - ends[-1])} older"


def _times(period: Period, newest: float, origin: Origin, usual: float = math.inf) -> tuple[float, float]:
    """Return the Unix times of a period's ends, by the clock of the node. Raises CaptureRefused."""
    try:
        return period.times(newest, zone_for("node", origin.facts), usual)
    except ValueError as error:
        raise CaptureRefused(f"cannot be opened so: {error}") from error


def read_capture(contents: Contents, name: str) -> tuple[Origin, list[Frame]]:
    """Return the origin and the frames of a capture's files; `name` stands in for its host.

    Raises CaptureRefused for an unsupported schema.
    """
    manifest = read_manifest(contents.files, contents.notes)
    frames = assemble(contents, manifest, read_index(contents.files, contents.notes))
    origin = Origin(
        manifest.host or name,
        complete=contents.complete and manifest.complete,
        note=first_of(contents.notes),
        privileged=manifest.privileged,
        facts=manifest.facts,
        collectors=_ran(frames) if manifest.collectors is None else manifest.collectors,
    )
    return origin, frames


def _ran(frames: Sequence[Frame]) -> frozenset[str] | None:
    """Return the collectors that ran in any of the frames, None if that was not recorded."""
    noted = [frame.ran for frame in frames if frame.ran is not None]
    return frozenset(name for ran in noted for name in ran) if noted else None


def open_pasted(stream: BinaryIO, texts: Texts) -> Opened:
    """Return the origin and the frames of text copied from a terminal, as open_nodes does. Raises OpenError."""
    try:
        return _read_text(stream.read(LONGEST + 1), texts)
    except CaptureRefused as refused:
        raise OpenError("pasted text", str(refused)) from refused
    except OSError as error:
        raise OpenError("standard input", f"cannot be read: {error.strerror}") from error


def _open_text(path: str | os.PathLike[str], texts: Texts, refused: CaptureRefused) -> Opened:
    """Read a file that was `refused` as an archive as pasted text. Raises CaptureRefused with its kind."""
    target = Path(path)
    if not target.is_file():
        raise refused
    with os.fdopen(os.open(target, _OPEN), "rb", buffering=0) as stream:
        data = stream.read(LONGEST + 1)
    if kind_of(data).endswith(("archive", "data")) and unpacked(data, LONGEST) is None:
        raise refused  # its text has the fault of the archive
    return _read_text(data, texts, _name(path))


def _read_text(data: bytes, texts: Texts, name: str = "pasted text") -> Opened:
    """Read a text, unpacked if it is compressed. Raises CaptureRefused with its kind, or if nothing is recognized."""
    from sdstop.pasted.reader import read_nodes  # noqa: PLC0415  # few captures are texts

    kind = kind_of(data)
    text = unpacked(data, LONGEST) if kind else data
    if text is None:
        raise CaptureRefused(f"is {kind}, not a capture, sosreport or text")
    try:
        return read_nodes(text, texts, name)
    except TextRefused as error:
        raise CaptureRefused(str(error)) from error


def _open_sosreport(path: str | os.PathLike[str]) -> tuple[Origin, list[Frame]]:
    """Read a sosreport. Raises CaptureRefused if the path is not one."""
    from sdstop.capture import sosreport  # noqa: PLC0415  # few captures are sosreports

    target = Path(path)
    if target.is_dir():
        contents = read_folder(
            os.fspath(target), sosreport.ROOT, sosreport.LIMITS, sosreport.foreign_tree(topped=False)
        )
    else:
        with os.fdopen(os.open(target, _OPEN), "rb", buffering=0) as stream:
            contents = _without_foreign_top(read_archive(stream, sosreport.LIMITS, sosreport.foreign_tree(topped=True)))
    if not sosreport.is_sosreport(contents):
        raise CaptureRefused(_NO_CAPTURE)
    return sosreport.read_sosreport(contents, _name(path))


def _without_foreign_top(contents: Contents) -> Contents:
    """Remove the top-level directory from all names; targets of links are unchanged."""
    tops = {name.partition("/")[0] for name in (*contents.files, *contents.links)}
    if len(tops) == 1:
        top = f"{tops.pop()}/"
        contents.files = {name.removeprefix(top): data for name, data in contents.files.items()}
        contents.links = {name.removeprefix(top): target for name, target in contents.links.items()}
        contents.folders = {name.removeprefix(top) for name in contents.folders if name.startswith(top)}
    return contents


def _capture_contents(path: str | os.PathLike[str], progress: Progress | None) -> Contents | None:
    """Return the files of a capture, None if the path looks like a sosreport."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL, or a name that cannot be encoded
        raise CaptureRefused("invalid path") from error
    if not stat.S_ISDIR(mode):
        return None if _named_by_sos(path) else _read_archive(path, _OPEN, progress)
    names = {entry.name for entry in path.iterdir()}
    beside = sorted({"frames", "static"} & names)
    if not beside:
        if PACKED in names:
            return _read_archive(path / PACKED, _OPEN | os.O_NOFOLLOW, progress)
        if "sos_commands" in names:
            return None
        raise CaptureRefused(_NO_CAPTURE)
    if PACKED in names:
        raise CaptureRefused(f"holds two captures: {PACKED} and {beside[0]}/; remove one of them")
    return read_folder(os.fspath(path), _ROOT)


def _named_by_sos(path: Path) -> bool:
    """Return whether the name of an archive's first member is one assigned by sos."""
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with os.fdopen(os.open(path, _OPEN), "rb", buffering=0) as stream:
        return first_name(stream).startswith("sosreport")


def _read_archive(path: Path, flags: int, progress: Progress | None) -> Contents:
    if not stat.S_ISREG(path.stat().st_mode):
        raise CaptureRefused("not a file or directory")
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        if progress is None or not size:
            return read_archive(stream)
        return read_archive(stream, read=lambda count: progress(count / size))


def _without_top(contents: Contents) -> Contents:
    """Remove the single top-level directory that an archive may have."""
    folders = folders_of(contents)
    tops = {name.partition("/")[0] for name in (*contents.files, *folders)}
    if tops.isdisjoint({"frames", "static"}) and len(tops) == 1:
        top = f"{tops.pop()}/"
        folders = {name.removeprefix(top) for name in folders if name.startswith(top)}
        contents.files = {name.removeprefix(top): data for name, data in contents.files.items()}
    if folders.isdisjoint({"frames", "static"}):
        raise CaptureRefused(_NO_CAPTURE if contents.complete else f"{_NO_CAPTURE} ({contents.notes[-1]})")
    contents.folders = folders
    return contents


def _name(path: str | os.PathLike[str]) -> str:
    name = Path(path).resolve().name
    for ending in (".part", ".gz", ".tgz", ".tar"):
        name = name.removesuffix(ending)
    return name or "capture"
