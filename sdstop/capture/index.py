"""Index: a line of JSON for each piece of evidence, and for each frame when it was whole.

    {"frame": 2, "kind": "file", "key": "/proc/mdstat", "member": "frames/0002/proc/mdstat", "sha256": "9f..",
     "outcome": "ok", "taken": 1790000001.2, "monotonic": 816.4, "duration": 0.0002}
    {"frame": 2, "kind": "frame", "taken": 1790000001.3, "monotonic": 816.5, "ran": {"mdraid": [816.4, 0.001]}}

`member` is null where there are no data, and one of an earlier frame where it was read again and had not
changed. `detail`, `exit` and `stderr` (a member) stand where there are such. A folder has the first kind in
`index.jsonl` and the second in `frames.jsonl`. An archive, which can only be appended to, has both after each
frame in `index/0001.jsonl`, and gets an `index.jsonl` in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sdstop.capture.layout import as_outcome, parse_json, usable_key
from sdstop.capture.manifest import Moment, number, read_moment
from sdstop.core.evidence import Evidence

_PART = re.compile(r"index/([0-9]{1,9})\.jsonl")
_LONGEST_LINE = 1 << 20
_MOST_LINES = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of evidence, without its data, and where those stand."""

    frame: int
    evidence: Evidence
    member: str | None
    stderr: str | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Index:
    """The lines in order, and the frames that were whole."""

    lines: list[Line] = field(default_factory=list)
    moments: dict[int, Moment] = field(default_factory=dict)


def read_index(files: Mapping[str, bytes], notes: list[str]) -> Index:
    """Read what there is of the index; lines that are not understood are left out and noted."""
    index = Index()
    bad = count = 0
    for data in _parts(files, index):
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            count += 1
            if count > _MOST_LINES:
                notes.append(f"the index has more than {_MOST_LINES} lines: the rest was left out")
                return index
            if end > start:
                bad += not _take(index, data[start : min(end, start + _LONGEST_LINE)])
            start = end + 1
    if bad:
        notes.append(f"lines of the index not understood: {bad}")
    return index


def _parts(files: Mapping[str, bytes], index: Index) -> Iterator[bytes]:
    yield files.get("frames.jsonl", b"")
    yield files.get("index.jsonl", b"")
    done = {line.frame for line in index.lines}
    numbered = ((int(match[1]), name) for name in files if (match := _PART.fullmatch(name)))
    for frame, name in sorted(numbered):
        if frame not in done:
            yield files[name]


def _take(index: Index, text: bytes) -> bool:
    try:
        entry = parse_json(text)
    except ValueError:
        return False
    frame = entry.get("frame") if isinstance(entry, dict) else None
    if not isinstance(frame, int) or not 0 <= frame < 1_000_000_000:
        return False
    if entry.get("kind") == "frame":
        index.moments[frame] = read_moment(entry)
        return True
    line = _line(frame, entry)
    if line is not None:
        index.lines.append(line)
    return line is not None


def _line(frame: int, entry: Mapping[str, Any]) -> Line | None:
    key, word, detail, status = (entry.get(n) for n in ("key", "outcome", "detail", "exit"))
    outcome = as_outcome(word)
    if outcome is None or not usable_key(key) or not isinstance(detail, str | None):
        return None
    evidence = Evidence(
        str(key),
        outcome,
        detail=detail or "",
        taken=number(entry.get("taken")),
        monotonic=number(entry.get("monotonic")),
        duration=number(entry.get("duration")),
        exit=status if isinstance(status, int) and abs(status) < 1 << 31 else None,
    )
    member, stderr, sha256 = (v if isinstance(v := entry.get(n), str) else None for n in ("member", "stderr", "sha256"))
    return Line(frame, evidence, member, stderr, sha256)
