"""One member's times multiplied, in every story and for every kind of group: the member must be found.

The counters of its reads, writes, discards and flushes stay as they were recorded, and the time that each took becomes
FACTOR times as long; the device's busy time does, too, as far as the interval is long enough.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from sdstop.analysis.group_columns import device_of
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Rule, Severity
from sdstop.core.history import Moment
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.readings.disk import DISKSTATS, Disk
from sdstop.rules import RULES
from tests.fixtures import every_story, names, opened, story

FACTOR = 15
LEAST_RATE = 1.0
"""Requests per second that a member must complete."""
LEAST_WAIT = 0.010
"""Seconds that it must wait afterwards."""
LEAST_SPAN = 36.0
"""Seconds that a story must last: a member with one request a second is known after half a minute."""
LEAST_ACTIVE = 24.0
"""Seconds of them in which the member completed requests."""

_TIMES = (6, 10, 17, 19)
"""Columns of times in a row of /proc/diskstats: reads, writes, discards, flushes."""
_BUSY, _WEIGHTED = 12, 13
_WRAP = 1 << 32
_NAMING = {"slow-stripe-member", "slow-device", "hot-stripe-member", "rebuild-slow", "device-hung"}
"""Rules whose findings name a member."""

_RULES = tuple(rule for rule in RULES if rule.id in _NAMING)


@functools.cache
def recorded(name: str) -> tuple[Origin, Sequence[Frame]]:
    origin, frames = opened(name)
    return origin, Retention(BUILTIN).frames(frames)


def judged(origin: Origin, frames: Sequence[Frame], rules: Sequence[Rule] = _RULES) -> Session:
    session = Session(origin, BUILTIN, rules)
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
                    step %= _WRAP
                elif column + 3 == _BUSY:
                    step = max(step, min(FACTOR * step, round((now - since) * 1000)))
                shown[column] = value if column + 3 == _BUSY - 1 else shown[column] + step
                if column + 3 in {*_TIMES, _BUSY, _WEIGHTED}:
                    shown[column] %= _WRAP
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


def fewest(group: PeerGroup) -> int:
    """Return how many members of a group must be at work, so that one of them can be called slow."""
    mirror = group.kind is GroupKind.LEGS or (group.kind is GroupKind.LEAVES and group.traits.layout == "mirror")
    return 2 if mirror else 3


@functools.cache
def members(name: str) -> tuple[str, ...]:
    """Return the members of a story that must be found if their times are multiplied."""
    frames = opened(name)[1]
    if frames[-1].monotonic - frames[0].monotonic < LEAST_SPAN:
        return ()
    window = story(name).session.head().window
    moments = window.moments(Disk)
    if len(moments) < 2 or moments[-1].started - moments[0].started < LEAST_SPAN:
        return ()
    found: dict[str, None] = {}
    for group in window.topology.groups():
        waits = {name: wait for name in map(device_of, group.members) if (wait := wait_of(moments, name)) is not None}
        if len(waits) >= fewest(group):
            found.update((name, None) for name, wait in waits.items() if FACTOR * wait >= LEAST_WAIT)
    return tuple(found)


def wait_of(moments: Sequence[Moment[Disk]], name: str) -> float | None:
    """Return the mean wait of a device in seconds, None if it completes too few requests."""
    rows = [(moment.started, row) for moment in moments if (row := moment.rows.get(name)) is not None]
    if len(rows) < len(moments):
        return None
    (start, first), (end, last) = rows[0], rows[-1]
    requests = last.reads - first.reads + last.writes - first.writes
    steps = [(b - a, new.reads + new.writes - old.reads - old.writes) for (a, old), (b, new) in pairwise(rows)]
    active = sum(seconds for seconds, count in steps if count)
    if requests < LEAST_RATE * (end - start) or active < LEAST_ACTIVE:
        return None
    waited = last.read_time - first.read_time + last.write_time - first.write_time
    return waited / requests / 1000


def is_named(session: Session, device: str) -> bool:
    """Return whether a finding above info was ever about a device, or says that a rebuild waits for it."""
    findings = [episode.finding for episode in session.episodes() if episode.finding.severity is not Severity.INFO]
    return any(
        device in finding.subject.rpartition("/")[2].split("+")
        or (finding.rule == "rebuild-slow" and f"{device} is " in finding.summary)
        for finding in findings
    )


def missed(name: str, chosen: Sequence[str]) -> list[str]:
    origin, frames = recorded(name)
    return [member for member in chosen if not is_named(judged(origin, list(slowed(frames, member))), member)]


def sample(name: str) -> tuple[str, ...]:
    """Return a member of a story: the middle one, or one that differs from story to story."""
    every = members(name)
    place = len(every) // 2 if names().index(name) % 2 else len(name)
    return (every[place % len(every)],) if every else ()


@every_story()
def test_a_member_whose_times_are_multiplied_is_found(name: str) -> None:
    assert missed(name, sample(name)) == []


@pytest.mark.slow
@every_story()
def test_every_member_whose_times_are_multiplied_is_found(name: str) -> None:
    assert missed(name, members(name)) == []


def test_there_are_stories_with_members_of_several_kinds() -> None:
    assert len(members("clone-convoy")) == 46
    assert len(members("draid-one-dimm")) == 57
    assert not members("quiet-node")
