"""Simulated days: the frames of a story as an incident of a node that is idle before and after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.exporters.recording import RecordingLimits, RecordingWriter

ENDLESS = RecordingLimits(1e9, 1 << 40)


def day(
    story: Sequence[Frame], ends: float, *, incident: float, hours: float = 24.0, every: float = 30.0
) -> Iterator[Frame]:
    """Yield the frames of `hours` that end at a Unix time; the story begins at `incident` hours after the start.

    Before it the node is as in the story's first frame, after it as in its last one; a frame is taken `every` so many
    seconds, and every second while the story lasts, as by a recorder whose node was asked for more.
    """
    start, idle = ends - hours * 3600, 1000.0
    begins = idle + incident * 3600
    moments = [idle + n * every for n in range(int(incident * 3600 / every))]
    first = replace(story[0], evidence=tuple(map(_idle, story[0].evidence)))
    newest: dict[str, Evidence] = {}
    number = 0
    for at in moments:
        number += 1
        yield _moved(first if number == 1 else replace(first, evidence=()), number, at, start + at - idle)
    if moments:
        story = [replace(story[0], evidence=_loads(story[0])), *story[1:]]
    for frame in story:
        number += 1
        at = begins + frame.monotonic - first.monotonic
        yield _moved(frame, number, at, start + at - idle)
        newest.update((item.key, item) for item in frame.evidence)
    rest = at + every
    calm = tuple(_idle(newest[key]) for key in _LOADS if key in newest)
    while rest - idle < hours * 3600:
        number += 1
        yield _moved(replace(first, evidence=calm), number, rest, start + rest - idle)
        calm = ()
        rest += every


_LOADS = ("/proc/diskstats", "/proc/stat", "/proc/loadavg", "/proc/pressure/io")


def _loads(frame: Frame) -> tuple[Evidence, ...]:
    """Return the evidence that an idle node lacks."""
    return tuple(item for item in frame.evidence if item.key in _LOADS)


def _idle(item: Evidence) -> Evidence:
    """Return evidence of a node without requests in flight, blocked tasks or pressure."""
    data = item.data
    match item.key:
        case "/proc/diskstats":
            rows = [line.split() for line in data.splitlines()]
            data = b"".join(b" ".join([*row[:11], b"0", *row[12:]]) + b"\n" for row in rows)
        case "/proc/stat":
            data = re.sub(rb"procs_blocked \d+", b"procs_blocked 0", data)
        case "/proc/loadavg":
            data = re.sub(rb"^\S+ \S+ \S+", b"0.10 0.10 0.10", data)
        case "/proc/pressure/io":
            data = re.sub(rb"avg(\d+)=[\d.]+", rb"avg\1=0.00", data)
    return item.holding(data, item.stderr)


def record(path: Path, origin: Origin, *runs: Iterator[Frame]) -> None:
    """Write runs of a recorder to one file."""
    for frames in runs:
        with RecordingWriter(path, origin, ENDLESS) as writer:
            for frame in frames:
                writer.add(frame)


def _moved(frame: Frame, number: int, monotonic: float, taken: float) -> Frame:
    ran = frame.ran
    if ran is not None:
        ran = {name: RunMark(monotonic + mark.started - frame.monotonic, mark.duration) for name, mark in ran.items()}
    evidence = tuple(_taken(item, frame, monotonic, taken) for item in frame.evidence)
    return Frame(number, taken, monotonic, evidence, ran)


def _taken(item: Evidence, frame: Frame, monotonic: float, taken: float) -> Evidence:
    if item.taken is None or item.monotonic is None:
        return item
    return replace(item, taken=taken + item.taken - frame.taken, monotonic=monotonic + item.monotonic - frame.monotonic)
