"""Simulated days: the frames of a story as an incident of a node that is idle before and after it."""

from __future__ import annotations

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
    first = story[0]
    everything = {item.key: item for item in first.evidence}
    number = 0
    for at in moments:
        number += 1
        yield _moved(first if number == 1 else replace(first, evidence=()), number, at, start + at - idle)
    for frame in story:
        number += 1
        at = begins + frame.monotonic - first.monotonic
        yield _moved(frame, number, at, start + at - idle)
        everything.update((item.key, item) for item in frame.evidence)
    rest = at + every
    while rest - idle < hours * 3600:
        number += 1
        yield _moved(replace(first, evidence=()), number, rest, start + rest - idle)
        rest += every


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
