"""One member's times multiplied, in every story and for every kind of group: the member must be found.

The counters of its reads, writes, discards and flushes stay as they were recorded, and the time that each took becomes
FACTOR times as long; the device's busy time does, too, as far as the interval is long enough.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from sdstop.analysis.peer_groups import device_of
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Severity
from sdstop.core.joins import GroupKind
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.core.topology import PeerGroup
from sdstop.readings.disk import DISKSTATS, Disk
from sdstop.rules import RULES
from tests.fixtures import names, opened

FACTOR = 15
LEAST_RATE = 1.0
"""Requests per second that a member must complete."""
LEAST_WAIT = 0.010
"""Seconds that it must wait afterwards."""
LEAST_SPAN = 30.0
"""Seconds that a story must last: a member with one request a second is known after half a minute."""

_TIMES = (6, 10, 17, 19)
"""Columns of times in a row of /proc/diskstats: reads, writes, discards, flushes."""
_BUSY, _WEIGHTED = 12, 13
_NAMING = {"slow-stripe-member", "slow-device", "hot-stripe-member", "rebuild-slow", "device-hung"}
"""Rules whose findings name a member."""

_RULES = tuple(rule for rule in RULES if rule.id in _NAMING)


@functools.cache
def recorded(story: str) -> tuple[Origin, Sequence[Frame]]:
    origin, frames = opened(story)
    return origin, Retention(BUILTIN).frames(frames)


def judged(origin: Origin, frames: Sequence[Frame]) -> Session:
    session = Session(origin, BUILTIN, _RULES)
    session.feed_all(frames)
    return session


def slowed(frames: Sequence[Frame], device: str) -> Iterator[Frame]:
    """Yield the frames in which the times of a device advance FACTOR times as fast as they were recorded."""
    before: list[int] | None = None
    shown: list[int] = []
    since = 0.0

    def row(line: str, now: float) -> str:
        nonlocal before, shown, since
        words = line.split()
        if len(words) < _WEIGHTED + 1 or words[2] != device:
            return line
        values = [int(word) for word in words[3:]]
        if before is None:
            shown = list(values)
        else:
            for column, value in enumerate(values):
                step = value - before[column]
                if column + 3 in {*_TIMES, _WEIGHTED}:
                    step *= FACTOR
                elif column + 3 == _BUSY:
                    step = max(step, min(FACTOR * step, round((now - since) * 1000)))
                shown[column] = value if column + 3 == _BUSY - 1 else shown[column] + step
        before, since = values, now
        return " ".join([*words[:3], *map(str, shown)])

    for frame in frames:
        items = []
        for item in frame.evidence:
            if item.key == DISKSTATS and item.data:
                lines = (row(line, frame.monotonic) for line in bytes(item.data).decode().splitlines())
                items.append(Evidence(item.key, data="".join(f" {line}\n" for line in lines).encode()))
            else:
                items.append(item)
        yield replace(frame, evidence=tuple(items))


def worth(group: PeerGroup) -> bool:
    """Return whether one member of a group can be called slow: three of them, or the legs of a mirror."""
    mirror = group.kind is GroupKind.LEGS or (group.kind is GroupKind.LEAVES and group.traits.layout == "mirror")
    return group.kind is not GroupKind.SLAVES and len(group.members) >= (2 if mirror else 3)


@functools.cache
def members(story: str) -> tuple[str, ...]:
    """Return the members of a story that must be found if their times are multiplied."""
    origin, frames = recorded(story)
    window = judged(origin, frames).head().window
    moments = window.moments(Disk)
    if len(moments) < 2 or moments[-1].started - moments[0].started < LEAST_SPAN:
        return ()
    first, last = moments[0], moments[-1]
    found = []
    for group in window.topology.groups():
        for member in group.members if worth(group) else ():
            name = device_of(member)
            old, new = first.rows.get(name), last.rows.get(name)
            if old is None or new is None:
                continue
            requests = new.reads - old.reads + new.writes - old.writes
            waited = new.read_time - old.read_time + new.write_time - old.write_time
            often = requests >= LEAST_RATE * (last.started - first.started)
            if often and FACTOR * waited >= LEAST_WAIT * 1000 * requests:
                found.append(name)
    return tuple(dict.fromkeys(found))


def is_named(session: Session, device: str) -> bool:
    """Return whether a finding above info was ever about a device, or says that a rebuild waits for it."""
    findings = [episode.finding for episode in session.episodes() if episode.finding.severity is not Severity.INFO]
    return any(
        device in finding.subject.rpartition("/")[2].split("+")
        or (finding.rule == "rebuild-slow" and f"{device} is " in finding.summary)
        for finding in findings
    )


def missed(story: str, chosen: Sequence[str]) -> list[str]:
    origin, frames = recorded(story)
    return [name for name in chosen if not is_named(judged(origin, list(slowed(frames, name))), name)]
