"""Manifest and index: the description of a capture, its frames and its evidence.

The manifest, `manifest.json`, describes the capture and lists its frames. All fields but the schema are optional:

    {"schema": "sdstop.capture/1", "tool": "sdstop 0.1.0", "host": "node7", "complete": true,
     "privileged": true, "facts": {"kernel": "6.1.0"}, "collectors": ["diskstats", "mdraid"],
     "frames": [{"number": 1, "taken": 1790000000.25, "monotonic": 815.5, "ran": {"diskstats": [815.4, 0.002]}}]}

`collectors` are those of the recorder, whether they ran or not. `taken` is Unix time and `monotonic` the node's clock,
in seconds; `ran` has the start and the duration of each collector that ran (null: it was still hanging). A frame that
is `fresh` begins a further run of the recorder: it has all that is known, and nothing of the frames before it holds.
One that is `unordered` may be older than those before it.

The index has a line of JSON for each piece of evidence, and one for each complete frame:

    {"frame": 2, "kind": "file", "key": "/proc/mdstat", "member": "frames/0002/proc/mdstat", "sha256": "9f..",
     "outcome": "ok", "taken": 1790000001.2, "monotonic": 816.4, "duration": 0.0002}
    {"frame": 2, "kind": "frame", "taken": 1790000001.3, "monotonic": 816.5, "ran": {"mdraid": [816.4, 0.001]}}

`member` is null without data, and refers to an earlier frame if the evidence was read again and had not changed.
`detail`, `exit`, `stderr` (a member) and `fault` (why the data may differ from that of the node) are optional. A
member that is missing, or whose checksum differs, is damaged: what rests on it is not judged good.

A directory has the first kind in `index.jsonl` and the second in `frames.jsonl`. An archive, which can only be appended
to, has both after each frame in `index/0001.jsonl`, and an `index.jsonl` at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from sdstop.capture.contents import CaptureRefused
from sdstop.capture.layout import as_outcome, parse_json, usable_key
from sdstop.core.evidence import Evidence, Outcome, RunMark
from sdstop.core.expression import expression
from sdstop.core.format import safe

SCHEMA = "sdstop.capture/1"
NAMES = ("manifest.json", "manifest-final.json")
"""Names of the manifest; the later one replaces the earlier, because an archive can only be appended to."""
MOST_FRAMES = 100_000
"""Maximum number of frames that are opened; more than a day at one per second."""
_LATEST = 253_402_300_800.0  # the year 10000
_MOST_FACTS = 100
"""Maximum facts, and names of collectors."""
_PART = expression(r"index/([0-9]{1,9})\.jsonl")
_LONGEST_LINE = 1 << 20
"""Bytes."""
_MOST_LINES = 1_000_000
"""Maximum lines of an index."""
_MOST_FRAMES = 1_000_000_000
"""Number that those of frames stay below."""


class FrameTime(Struct, frozen=True):
    """Time of a frame and runs of its collectors, as far as known. `fresh` and `unordered` as in Frame."""

    taken: float | None = None
    monotonic: float | None = None
    ran: Mapping[str, RunMark] | None = None
    fresh: bool = False
    unordered: bool = False

    def or_else(self, other: FrameTime) -> FrameTime:
        """Return a copy with missing time and runs taken from another."""
        timed = self if (self.taken, self.monotonic) != (None, None) else other
        return FrameTime(
            timed.taken,
            timed.monotonic,
            other.ran if self.ran is None else self.ran,
            self.fresh or other.fresh,
            self.unordered or other.unordered,
        )


class Manifest(Struct, frozen=True):
    """Description of a capture; `moments` are the times of its frames by number."""

    host: str = ""
    complete: bool = True
    privileged: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    collectors: frozenset[str] | None = None
    moments: Mapping[int, FrameTime] = field(default_factory=dict)


def read_manifest(files: Mapping[str, bytes], notes: list[str]) -> Manifest:
    """Read the manifest; a damaged one counts as missing and is noted.

    Raises CaptureRefused for an unsupported schema.
    """
    table: dict[str, Any] = {}
    for name in NAMES:
        if name in files:
            try:
                found = parse_json(files[name])
            except ValueError as error:
                notes.append(f"{name} is damaged: {safe(error, 80)}")
                continue
            if isinstance(found, dict):
                table = found
            else:
                notes.append(f"{name} is not a table")
    schema = table.get("schema", SCHEMA)
    if schema != SCHEMA and not str(schema).startswith(f"{SCHEMA}."):
        raise CaptureRefused(f"has the unsupported capture schema {safe(schema, 80)} (supported: {SCHEMA})")
    host, complete, privileged = (table.get(name) for name in ("host", "complete", "privileged"))
    facts = table.get("facts")
    texts = {k: v for k, v in facts.items() if isinstance(v, str)} if isinstance(facts, dict) else {}
    names = table.get("collectors")
    listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return Manifest(
        host=host[:253] if isinstance(host, str) else "",
        complete=complete is not False,
        privileged=privileged if isinstance(privileged, bool) else None,
        facts=dict(list(texts.items())[:_MOST_FACTS]),
        collectors=frozenset(names[:_MOST_FACTS]) if listed and names is not None else None,
        moments=_frame_times(table.get("frames"), notes),
    )


def _frame_times(frames: Any, notes: list[str]) -> dict[int, FrameTime]:
    if frames is None:
        return {}
    if not isinstance(frames, list) or not all(isinstance(entry, dict) for entry in frames):
        notes.append("unrecognized frames in the manifest")
        return {}
    moments = {}
    for position, entry in enumerate(frames[: MOST_FRAMES + 1], start=1):
        number = entry.get("number", position)
        if isinstance(number, int) and 0 <= number < 1_000_000_000:
            moments[number] = read_frame_time(entry)
    return moments


def read_frame_time(entry: Mapping[str, Any]) -> FrameTime:
    """Return the time of a frame from an entry of the manifest or the index."""
    taken, ran = finite(entry.get("taken")), entry.get("ran")
    marks: dict[str, RunMark] | None = None
    if isinstance(ran, dict):
        marks = {}
        for name, mark in ran.items():
            if isinstance(mark, list) and len(mark) == 2 and (started := finite(mark[0])) is not None:
                marks[name] = RunMark(started, finite(mark[1]))
    if taken is not None and not 0 <= taken < _LATEST:
        taken = None
    return FrameTime(
        taken, finite(entry.get("monotonic")), marks, entry.get("fresh") is True, entry.get("unordered") is True
    )


def finite(value: object) -> float | None:
    """Return a finite number of a JSON document as a float, None for anything else."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


class IndexLine(Struct, forbid_unknown_fields=True):
    """A piece of evidence without its data, and the members that hold them, as a line of the index has them."""

    frame: int
    key: str
    outcome: Outcome
    kind: str = ""
    member: str | None = None
    stderr: str | None = None
    sha256: str | None = None
    taken: float | None = None
    monotonic: float | None = None
    duration: float | None = None
    detail: str | None = None
    exit: int | None = None
    fault: str | None = None

    def holding(self, data: bytes, stderr: bytes, fault: str) -> Evidence:
        """Return the evidence with its data and a fault of these, "" without one."""
        return Evidence(
            self.key, self.outcome, data, self.detail or "", self.taken, self.monotonic, self.duration, stderr,
            self.exit, fault,
        )  # fmt: skip


class CaptureIndex(Struct, frozen=True):
    """Lines of the index in order, and the times of complete frames."""

    lines: list[IndexLine] = field(default_factory=list)
    moments: dict[int, FrameTime] = field(default_factory=dict)


def read_index(files: Mapping[str, bytes], notes: list[str]) -> CaptureIndex:
    """Read the index, as far as it exists; malformed lines are omitted and noted."""
    index = CaptureIndex()
    bad = count = 0
    for data in _parts(files, index):
        usual = _all_usual(data, _MOST_LINES - count)
        if usual is not None:
            index.lines.extend(usual)
            count += len(usual)
            continue
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            count += 1
            if count > _MOST_LINES:
                notes.append(f"the index has more than {_MOST_LINES} lines: rest ignored")
                return index
            if end > start:
                bad += not _take(index, data[start : min(end, start + _LONGEST_LINE)])
            start = end + 1
    if bad:
        notes.append(f"unrecognized lines of the index: {bad}")
    return index


def _parts(files: Mapping[str, bytes], index: CaptureIndex) -> Iterator[bytes]:
    yield files.get("frames.jsonl", b"")
    yield files.get("index.jsonl", b"")
    done = {line.frame for line in index.lines}
    numbered = ((int(match[1]), name) for name in files if (match := _PART.fullmatch(name)))
    for frame, name in sorted(numbered):
        if frame not in done:
            yield files[name]


_USUAL = msgspec.json.Decoder(IndexLine)
"""Reader of lines as sdstop writes them; any other form is left to the slower and more tolerant reader."""


def _usual(text: bytes) -> IndexLine | None:
    """Return the line of a piece of evidence, None for a line with another form or with values that are not usable."""
    if not text.isascii():
        return None
    try:
        line = _USUAL.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return line if _is_usable(line) else None


def _all_usual(data: bytes, most: int) -> list[IndexLine] | None:
    """Return all lines of a part of the index, None unless each of them is usual, and alone on its line."""
    count = data.count(b"\n")
    alone = data.startswith(b"{") and data.endswith(b"}\n") and data.count(b"}\n{") == count - 1
    if not alone or count > most or not data.isascii() or max(map(len, data.split(b"\n"))) > _LONGEST_LINE:
        return None
    try:
        lines = _USUAL.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return lines if len(lines) == count and all(map(_is_usable, lines)) else None


def _is_usable(line: IndexLine) -> bool:
    return (
        line.outcome is not Outcome.UNREAD
        and line.kind != "frame"
        and 0 <= line.frame < _MOST_FRAMES
        and usable_key(line.key)
        and (line.exit is None or abs(line.exit) < 1 << 31)
    )


def _take(index: CaptureIndex, text: bytes) -> bool:
    line = _usual(text)
    if line is not None:
        index.lines.append(line)
        return True
    try:
        entry = parse_json(text)
    except ValueError:
        return False
    frame = entry.get("frame") if isinstance(entry, dict) else None
    if not isinstance(frame, int) or not 0 <= frame < _MOST_FRAMES:
        return False
    if entry.get("kind") == "frame":
        index.moments[frame] = read_frame_time(entry)
        return True
    line = _line(frame, entry)
    if line is not None:
        index.lines.append(line)
    return line is not None


def _line(frame: int, entry: Mapping[str, Any]) -> IndexLine | None:
    get = entry.get
    key, detail, status = get("key"), get("detail"), get("exit")
    outcome = as_outcome(get("outcome"))
    if outcome is None or not usable_key(key) or not isinstance(detail, str | None):
        return None
    return IndexLine(
        frame,
        str(key),
        outcome,
        _word(get("kind")) or "",
        _word(get("member")),
        _word(get("stderr")),
        _word(get("sha256")),
        finite(get("taken")),
        finite(get("monotonic")),
        finite(get("duration")),
        detail,
        status if isinstance(status, int) and abs(status) < 1 << 31 else None,
        _word(get("fault")),
    )


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
