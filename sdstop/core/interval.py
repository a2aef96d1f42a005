"""Intervals: recorded output that reports several in succession, one frame each.

    $ iostat -x 1 3             $ zpool iostat -vly 1 3             $ sar -d 1 3

A capture made elsewhere, or pasted text, holds such output as one piece of evidence of its only frame. Each
interval becomes a frame, so that windows, time travel and rules see them in their order and distance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.collector import Collector, Interval, Need
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark, dated, slug
from sdstop.core.format import safe

MOST = 3600
"""Maximum number of intervals that become frames; of more, the newest."""
LONG = 60.0
"""Seconds above which intervals beside other evidence stay one frame: it would be hours older than the last."""
ASSUMED = 1.0
"""Seconds between frames where neither the output nor its command shows the interval."""


class _Series(Struct, frozen=True):
    """Intervals of one piece of evidence, and the collectors that read it."""

    item: Evidence
    collectors: tuple[str, ...]
    intervals: Sequence[Interval]

    def at(self, place: int, of: int) -> Interval | None:
        """Return the interval of frame `place` of `of`; all series end with the last frame."""
        mine = place - of + len(self.intervals)
        return self.intervals[mine] if mine >= 0 else None


def unrolled(origin: Origin, frames: list[Frame], collectors: Sequence[Collector]) -> tuple[Origin, list[Frame]]:
    """Return the frames of a capture; the only frame of one becomes a frame for each recorded interval.

    All other evidence is in the first of them, and only collectors of the intervals run in the others: counters that
    were read once are not taken for idle ones. The last frame has the capture's time. A capture of several frames is
    returned unchanged. The origin's note lists assumptions and omissions.
    """
    if len(frames) != 1:
        return origin, frames
    only = frames[0]
    found = {item.key: each for item in only.evidence if (each := _series(item, collectors)) is not None}
    if len(only.evidence) > len(found):
        found = {key: each for key, each in found.items() if all((i.seconds or 0) <= LONG for i in each.intervals)}
    if not found:
        return origin, frames
    notes = [
        f"of {safe(key, 80)} only the last {MOST} intervals" for key, s in found.items() if len(s.intervals) > MOST
    ]
    series = [_Series(each.item, each.collectors, each.intervals[-MOST:]) for each in found.values()]
    count = max(len(each.intervals) for each in series)
    steps = [_step(series, place, count) for place in range(1, count)]
    if None in steps:
        notes.append(f"the interval of {safe(series[0].item.key, 80)} is not shown: {ASSUMED:.0f} s is assumed")
    offsets = [0.0, *accumulate(ASSUMED if step is None else step for step in steps)]
    start = only.taken - offsets[-1] if dated(only.taken) and only.taken >= offsets[-1] else only.taken
    made = []
    for place, offset in enumerate(offsets):
        changed = {s.item.key: s.item.holding(i.data) for s in series if (i := s.at(place, count)) is not None}
        ran: Mapping[str, RunMark] | None = {
            name: RunMark(only.monotonic + offset, 0.0)
            for s in series
            if s.item.key in changed
            for name in s.collectors
        }
        evidence = tuple(changed.values())
        if not place:
            evidence = (*(item for item in only.evidence if item.key not in found), *evidence)
            ran = None if only.ran is None else {**only.ran, **(ran or {})}
        made.append(Frame(only.number + place, start + offset, only.monotonic + offset, evidence, ran))
    note = "; ".join(filter(None, (origin.note, *notes)))
    return replace(origin, note=note), made


def _step(series: Sequence[_Series], place: int, count: int) -> float | None:
    """Return the seconds before a frame: those of the first series that knows them."""
    known = (s.at(place, count) for s in series)
    return next((each.seconds for each in known if each is not None and each.seconds), None)


def _series(item: Evidence, collectors: Sequence[Collector]) -> _Series | None:
    kind, _, command = item.key.partition(":")
    if item.outcome is not Outcome.OK or kind not in {"cmd", "slug"}:
        return None
    for split, pattern, names in _splits(collectors):
        if pattern.fullmatch(item.key):
            intervals = split(command, item.data)
            return _Series(item, names, intervals) if len(intervals) > 1 else None
    return None


_Split = tuple[Callable[[str, bytes], Sequence[Interval]], re.Pattern[str], tuple[str, ...]]


def _splits(collectors: Sequence[Collector]) -> list[_Split]:
    found: dict[str, tuple[Need, list[str]]] = {}
    for collector in collectors:
        for need in collector.needs:
            if isinstance(need, Need) and need.split is not None:
                found.setdefault(need.what, (need, []))[1].append(collector.name)
    return [
        (need.split, re.compile(_pattern(what)), tuple(names))
        for what, (need, names) in found.items()
        if need.split is not None
    ]


def _pattern(what: str) -> str:
    """Return the pattern of a command with any arguments; it may be recorded by its slug only."""
    words = what.removeprefix("cmd:").rstrip("*").rstrip()
    return rf"(?s:cmd:{re.escape(words)}(?: .*)?|slug:{re.escape(slug(words))}(?:_.*)?)"
