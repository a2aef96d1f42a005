"""Manifest: what a capture says of itself, and when its frames were taken.

    {"schema": "sdstop.capture/1", "tool": "sdstop 0.1.0", "host": "node7", "complete": true,
     "privileged": true, "facts": {"kernel": "6.1.0"}, "collectors": ["diskstats", "mdraid"],
     "frames": [{"number": 1, "taken": 1790000000.25, "monotonic": 815.5, "ran": {"diskstats": [815.4, 0.002]}}]}

Everything but the schema may be missing. `collectors` are those that the recorder had, whether they ran or not.
`taken` is Unix time and `monotonic` the node's clock, in seconds; `ran` tells which collectors ran, when each began and
how long it took (null: it was still hanging).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sdstop.capture.bounds import Refused
from sdstop.capture.layout import parse_json
from sdstop.core.evidence import UNDATED, Evidence, Frame, RunMark, dated
from sdstop.core.format import safe

SCHEMA = "sdstop.capture/1"
NAMES = ("manifest.json", "manifest-final.json")
"""The later one replaces the earlier: an archive can only be appended to."""
MOST_FRAMES = 100_000
"""Frames that are opened at most, more than a day at one a second."""

_LATEST = 253_402_300_800.0  # the year 10000
_MOST_FACTS = 100


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known of when a frame was taken, and of who ran."""

    taken: float | None = None
    monotonic: float | None = None
    ran: Mapping[str, RunMark] | None = None

    def or_else(self, other: Moment) -> Moment:
        """Fill in from the other one what this one does not say of the time, and of who ran."""
        timed = self if (self.taken, self.monotonic) != (None, None) else other
        return Moment(timed.taken, timed.monotonic, other.ran if self.ran is None else self.ran)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a capture says of itself; `moments` by the frame's number."""

    host: str = ""
    complete: bool = True
    privileged: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    collectors: frozenset[str] | None = None
    moments: Mapping[int, Moment] = field(default_factory=dict)


def read_manifest(files: Mapping[str, bytes], notes: list[str]) -> Manifest:
    """Read the manifest; a damaged one counts as missing and is noted.

    Raises Refused for a schema that is not ours.
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
                notes.append(f"{name} is no table")
    schema = table.get("schema", SCHEMA)
    if schema != SCHEMA and not str(schema).startswith(f"{SCHEMA}."):
        raise Refused(f"is of schema {safe(schema, 80)}, and this version opens {SCHEMA}")
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
        moments=_moments(table.get("frames"), notes),
    )


def _moments(frames: Any, notes: list[str]) -> dict[int, Moment]:
    if frames is None:
        return {}
    if not isinstance(frames, list) or not all(isinstance(entry, dict) for entry in frames):
        notes.append("the manifest's frames are not understood")
        return {}
    moments = {}
    for position, entry in enumerate(frames[: MOST_FRAMES + 1], start=1):
        number = entry.get("number", position)
        if isinstance(number, int) and 0 <= number < 1_000_000_000:
            moments[number] = read_moment(entry)
    return moments


def read_moment(entry: Mapping[str, Any]) -> Moment:
    """Read when a frame was taken, as a manifest or an index says it."""
    taken, ran = number(entry.get("taken")), entry.get("ran")
    marks: dict[str, RunMark] | None = None
    if isinstance(ran, dict):
        marks = {}
        for name, mark in ran.items():
            if isinstance(mark, list) and len(mark) == 2 and (started := number(mark[0])) is not None:
                marks[name] = RunMark(started, number(mark[1]))
    return Moment(taken if taken is None or 0 <= taken < _LATEST else None, number(entry.get("monotonic")), marks)


def number(value: object) -> float | None:
    """Return a finite number of a JSON document as a float, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def clocked(
    moments: Iterable[tuple[int, Moment]], evidence: Mapping[int, tuple[Evidence, ...]], notes: list[str]
) -> list[Frame]:
    """Make frames whose clock goes forward; 1 s for each number where nobody says, without a date if no frame has one.

    A frame whose own clock does not go forward gets such a time too, and loses its marks of who ran.
    """
    frames: list[Frame] = []
    backward = 0
    for this, moment in moments:
        last = frames[-1] if frames else Frame(this - 1, UNDATED - 1, -1.0)
        step = float(this - last.number)
        monotonic, ran = moment.monotonic, moment.ran
        begins = moment.taken is not None and not dated(last.taken)
        if frames and monotonic is None and begins:
            monotonic = last.monotonic + step
        elif frames and monotonic is None and moment.taken is not None and moment.taken > last.taken:
            monotonic = last.monotonic + (moment.taken - last.taken)
        elif frames and (moment.taken is not None if monotonic is None else monotonic <= last.monotonic):
            backward += 1
            monotonic, ran = None, None
        if monotonic is None:
            monotonic = last.monotonic + step
        taken = moment.taken
        if taken is None:
            taken = last.taken + (monotonic - last.monotonic if frames else step)
        frames.append(Frame(this, taken, monotonic, evidence[this], ran))
    first = next((frame for frame in frames if dated(frame.taken)), None)
    if first is not None and not dated(frames[0].taken):  # of those before it the date follows from its own
        frames = [
            frame if dated(frame.taken) else replace(frame, taken=first.taken - (first.monotonic - frame.monotonic))
            for frame in frames
        ]
    if backward:
        notes.append(f"frames whose clock does not go forward, taken as 1 s apart: {backward}")
    return frames
