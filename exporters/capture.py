"""Capture writer: streams frames of raw evidence into a directory or a `.tar.gz` archive.

sdstop.capture documents and reads the format. An interrupted capture stays readable: a directory's index lists
the complete frames; an archive is written as `NAME.part`, in which each frame can be unpacked without the
following ones, and is renamed when finished. Existing files are never overwritten, the output is readable only
by its owner, and identical frames produce identical bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from sdstop import __version__
from sdstop.capture.contents import LIMITS
from sdstop.capture.layout import MemberNames, SlugTable, lay_out
from sdstop.capture.manifest import SCHEMA
from sdstop.capture.sink import ArchiveSink, FolderSink, Sink
from sdstop.core.evidence import Evidence, Frame, RunMark, dated, slug
from sdstop.core.format import safe, times_in
from sdstop.core.session import Session
from sdstop.core.zone import zone_for
from sdstop.exporters.report.document import document, plain
from sdstop.exporters.report.evidence_log import evidence_log
from sdstop.exporters.report.html import page
from sdstop.exporters.report.postmortem import postmortem
from sdstop.exporters.report.series import ReportSeries, series_of

ARCHIVES = (".tar.gz", ".tgz")
"""Path suffixes that select an archive; any other path becomes a directory."""
MOST_FRAMES = 40_000
"""Maximum frames per capture (eleven hours at one per second); the manifest lists all of them."""

_FOREIGN = (".7z", ".bz2", ".gz", ".sdstop", ".tar", ".xz", ".zip", ".zst")
_MOST_MEMBERS = LIMITS.members * 9 // 10  # leave a margin below the reader's limits
_MOST_BYTES = LIMITS.total * 9 // 10
_KINDS = {"link": "link", "list": "list",
          "cmd": "command", "slug": "command", "answer": "answer",
          "http": "http", "http-slug": "http"}  # fmt: skip


class Unwritable(Exception):  # noqa: N818
    """Raised when a capture cannot be written or continued; one line with the reason and the frames kept."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        """Store the path and the reason; the reason continues the path in the message."""
        super().__init__(f"{safe(os.fspath(path))} {reason}")
        self.path = path
        self.reason = reason


class Conclusions(Struct, frozen=True):
    """Results stored at the end of a capture: findings as JSON data, Markdown postmortem, HTML report.

    All are empty when evidence is only copied; the files are then empty or missing.
    """

    findings: Any = ()
    report: str = ""
    page: str = ""


NOTHING = Conclusions()


class CaptureWriter:
    """Writer of one capture. Methods raise Unwritable; nothing is written after that.

    Context manager: leaving it without `finish` closes the files; the frames written so far stay readable.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        host_name: str,
        *,
        privileged: bool | None = None,
        facts: Mapping[str, str] | None = None,
        collectors: Iterable[str] | None = None,
    ) -> None:
        """Create the capture; the path must not exist.

        `privileged` is whether root read the node, `collectors` are the recorder's collectors; None: unknown.
        """
        self.path = Path(path)
        self._manifest = {
            "schema": SCHEMA,
            "tool": f"sdstop {__version__}",
            "host": host_name,
            "privileged": privileged,
            "facts": dict(facts or {}),
            **({} if collectors is None else {"collectors": sorted(collectors)}),
        }
        self._moments: list[dict[str, Any]] = []
        self._slugs = SlugTable()
        self._stored: dict[str, _StoredEvidence] = {}
        self._members = self._bytes = 0
        self._failure = ""
        if self.path.name.lower().endswith(_FOREIGN) and not _is_archive(self.path):
            raise Unwritable(self.path, "must end in .tar.gz, or be a new directory")
        if "\0" in str(self.path):
            raise Unwritable(self.path, "invalid path")
        top = f"sdstop-{slug(host_name.encode('utf-8', 'replace').decode())[:100]}"
        with self._guarded():
            self._sink: Sink = ArchiveSink(self.path, top) if _is_archive(self.path) else FolderSink(self.path)
        try:
            with self._guarded():
                self._sink.put("manifest.json", self._manifest_text(complete=False))
        except Unwritable:
            self.close()
            raise

    def add(self, frame: Frame) -> None:
        """Write a frame. Raises ValueError unless its number is higher than the previous one."""
        if self._moments and frame.number <= self._moments[-1]["number"]:
            raise ValueError(f"frame {frame.number} after frame {self._moments[-1]['number']}")
        folder = f"frames/{frame.number:04d}"
        latest = {item.key: item for item in frame.evidence}
        prints = {key: _fingerprint(item) for key, item in latest.items()}
        fresh = [
            item for key, item in latest.items()
            if key not in self._stored or self._stored[key].fingerprint != prints[key]
        ]  # fmt: skip
        files, places = lay_out(fresh, self._slugs)
        for key, place in places.items():
            self._stored[key] = _StoredEvidence.at(folder, place, prints[key])
        lines = [_line(frame.number, latest[key], self._stored[key]) for key in sorted(latest)]
        moment = {
            "taken": frame.taken if dated(frame.taken) else None,
            "monotonic": frame.monotonic,
            "ran": _ran(frame.ran),
            **({"fresh": True} if frame.fresh else {}),
            **({"unordered": True} if frame.unordered else {}),
        }
        index, whole = _json_lines(lines), _json_lines([{"frame": frame.number, "kind": "frame", **moment}])
        members = {f"{folder}/{name}": files[name] for name in sorted(files)}
        self._reserve(members, index)
        with self._guarded():
            self._sink.taken = max(frame.taken, 0.0)
            self._sink.frame(frame.number, members, index, whole)
        self._moments.append({"number": frame.number, **moment})

    def finish(self, concluded: Conclusions = NOTHING) -> None:
        """Write the results and mark the capture as complete. Raises Unwritable, also if it has no frame."""
        if not self._moments:
            raise Unwritable(self.path, "would contain no frame")
        with self._guarded():
            self._sink.put("findings.json", _json(concluded.findings))
            self._sink.put("report.md", concluded.report.encode("utf-8", "backslashreplace"))
            if concluded.page:
                self._sink.put("report.html", concluded.page.encode("utf-8", "backslashreplace"))
            self._sink.finish(self._manifest_text(complete=True))

    def close(self) -> None:
        """Close the files, finished or not. A capture without frames is removed."""
        self._sink.close(kept=bool(self._moments))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _manifest_text(self, *, complete: bool) -> bytes:
        return _json({**self._manifest, "complete": complete, "frames": self._moments})

    def _reserve(self, members: Mapping[str, bytes], index: bytes) -> None:
        """Count a frame's members and bytes. Raises Unwritable if the capture would exceed the reader's limits."""
        self._members += len(members) + 2
        self._bytes += sum(map(len, members.values())) + 1024 * len(members) + 2 * len(index)
        full = len(self._moments) >= MOST_FRAMES
        if full or self._members > _MOST_MEMBERS or self._bytes > _MOST_BYTES:
            raise Unwritable(self.path, f"has reached the maximum size of a capture{self._kept()}")

    def _kept(self) -> str:
        count = len(self._moments)
        return f"; its {count} whole frames are kept in {safe(self._sink.where)}" if count else ""

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        if self._failure:
            raise Unwritable(self.path, self._failure)
        try:
            yield
        except FileExistsError as error:
            self._failure = "exists already, and nothing is overwritten"
            raise Unwritable(error.filename or self.path, self._failure) from error
        except OSError as error:
            self._failure = f"cannot be written: {error.strerror}{self._kept()}"
            raise Unwritable(self.path, self._failure) from error


def conclusions(session: Session, series: ReportSeries | None = None, kept: int | None = None) -> Conclusions:
    """Return the results of a session; without `series`, plots cover its last window only.

    `kept` is the number of frames in the capture, None for all; a note reports missing ones. Raises LookupError
    before the first frame.
    """
    gone = session.frames_seen - kept if kept is not None else 0
    note = f"this is of {session.frames_seen} frames, and the capture has the last {kept} of them" if gone > 0 else ""
    findings = plain(document(session, readings=False, note=note))
    drawn = series if series is not None else series_of(session.head().window)
    ran = evidence_log(session.remembered())
    with times_in(zone_for("node", session.origin.facts)):  # not the zone of the writer
        return Conclusions(findings, postmortem(session, note, ran), page(session, drawn, note, ran))


class _StoredEvidence(Struct, frozen=True):
    """Latest state of a key, and the archive members that hold it."""

    fingerprint: tuple[object, ...]
    member: str | None
    stderr: str | None

    @classmethod
    def at(cls, folder: str, place: MemberNames, fingerprint: tuple[object, ...]) -> Self:
        """Return the entry for evidence stored in a frame's directory."""
        data, stderr = (name and f"{folder}/{name}" for name in (place.data, place.stderr))
        return cls(fingerprint, data, stderr)


def _fingerprint(item: Evidence) -> tuple[object, ...]:
    """Return a key that is equal for identical evidence; the checksum of the data is its first element."""
    data = hashlib.sha256(item.data).hexdigest()
    stderr = hashlib.sha256(item.stderr).digest() if item.stderr else b""
    return data, item.outcome, item.detail, item.exit, stderr, item.fault


def _line(frame: int, item: Evidence, stored: _StoredEvidence) -> dict[str, Any]:
    """Return the index line of a piece of evidence; optional fields are left out if unset."""
    line = {
        "frame": frame,
        "kind": _KINDS.get(item.key.partition(":")[0], "file" if item.key.startswith("/") else "other"),
        "key": item.key,
        "member": stored.member,
        "sha256": stored.fingerprint[0] if stored.member else None,
        "outcome": item.outcome,
        "taken": _micro(item.taken),
        "monotonic": _micro(item.monotonic),
        "duration": _micro(item.duration),
    }
    rare = {"detail": item.detail or None, "stderr": stored.stderr, "exit": item.exit, "fault": item.fault or None}
    return line | {name: value for name, value in rare.items() if value is not None}


def _micro(seconds: float | None) -> float | None:
    """Return seconds rounded to microseconds; finer digits are noise that does not compress."""
    return None if seconds is None or not math.isfinite(seconds) else round(seconds, 6)


def _ran(ran: Mapping[str, RunMark] | None) -> dict[str, list[float | None]] | None:
    return None if ran is None else {name: [ran[name].started, ran[name].duration] for name in sorted(ran)}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode("ascii") + b"\n"


def _json_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{_COMPACT(line)}\n" for line in lines).encode("ascii")


_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ARCHIVES)
