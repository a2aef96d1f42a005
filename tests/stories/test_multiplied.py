"""One member's times multiplied, in every story and for every kind of group: the member must be found.

The counters of its reads, writes, discards and flushes stay as they were recorded, and the time that each took becomes
FACTOR times as long; the device's busy time does, too, as far as the interval is long enough.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median

import pytest
from msgspec.structs import replace

from sdstop.analysis.group_columns import device_of
from sdstop.collectors import BUILTIN
from sdstop.core.diagnosis import Diagnosis, judge, providers_of
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import History, Moment, Window
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.core.replay import Replay
from sdstop.readings.disk import DISKSTATS, Disk
from sdstop.readings.rebuild import Rebuild
from sdstop.rules import RULES
from tests.fixtures import every_story, names, opened
from tests.stories.altered import unaltered

FACTOR = 15
LEAST_RATE = 1.0
"""Requests per second that a member must complete."""
LEAST_WAIT = 0.010
"""Seconds that it must wait afterwards."""
LEAST_SPAN = 36.0
"""Seconds that a story must last: a member with one request a second is known after half a minute."""
LEAST_ACTIVE = 24.0
"""Seconds of them in which the member completed requests."""

SHARE = 3.0
"""Largest ratio of a member's reads, and of its writes, to its peers' median while its array is rebuilt.

The member that is rebuilt, and the copy that it is read from, have no peers: the others do not do that work.
"""

SETTLING = 6.0
"""Seconds more of a story that is extended: the first block of seconds may begin late."""

_TIMES = (6, 10, 17, 19)
"""Columns of times in a row of /proc/diskstats: reads, writes, discards, flushes."""
_BUSY, _WEIGHTED = 12, 13
_WRAP = 1 << 32
_NAMING = {"slow-stripe-member", "slow-device", "hot-stripe-member", "rebuild-slow", "device-hung"}
"""Rules whose findings name a member."""

NAMING_RULES = tuple(rule for rule in RULES if rule.id in _NAMING)


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
    told = unaltered(name)
    return members_of(deque(told.windows(told.frames, ()), maxlen=1).pop())


def members_of(window: Window) -> tuple[str, ...]:
    """Return the members that must be found, of the window that ends with a story."""
    moments = window.moments(Disk)
    if len(moments) < 2 or moments[-1].started - moments[0].started < LEAST_SPAN:
        return ()
    found: dict[str, None] = {}
    for group in window.topology.groups():
        waits = {name: wait for name in map(device_of, group.members) if (wait := wait_of(moments, name)) is not None}
        if len(waits) >= fewest(group):
            found.update((name, None) for name, wait in waits.items() if FACTOR * wait >= LEAST_WAIT)
    apart = {name for name in found if is_apart(window, moments, name)}
    return tuple(name for name in found if name not in apart)


def is_apart(window: Window, moments: Sequence[Moment[Disk]], name: str) -> bool:
    """Return whether a rebuild gives a member far more to read or to write than its peers."""
    first, last = moments[0].rows, moments[-1].rows
    for group in window.topology.groups():
        devices = [device for device in map(device_of, group.members) if device in first and device in last]
        upper = group.upper.device if group.upper is not None else None
        if name in devices and any(row.array == upper for row in window.rows(Rebuild).values()):
            for done in (attrgetter("reads"), attrgetter("writes")):
                steps = {device: done(last[device]) - done(first[device]) for device in devices}
                if steps[name] > SHARE * max(median(steps.values()), LEAST_RATE * LEAST_SPAN):
                    return True
    return False


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


def is_named(findings: Iterable[Finding], device: str) -> bool:
    """Return whether a finding above info is about a device, or says that a rebuild waits for it."""
    return any(
        device in finding.subject.rpartition("/")[2].split("+")
        or (finding.rule == "rebuild-slow" and f"{device} is " in finding.summary)
        for finding in findings
        if finding.severity is not Severity.INFO
    )


def is_found(name: str, device: str) -> bool:
    """Return whether a multiplied member is named at the end, or else at any time."""
    told = unaltered(name)
    windows = list(told.windows(list(slowed(told.frames, device)), told.readers(DISKSTATS)))
    if is_named(judge(windows[-1], NAMING_RULES, {}).every, device):
        return True
    diagnosis = Diagnosis(NAMING_RULES)
    return any(is_named(diagnosis.add(window).every, device) for window in windows)


# --- stories that are too short ---------------------------------------------------------------------------


def extended(frames: Sequence[Frame]) -> list[Frame]:
    """Return the frames of a story whose disks do the same again and again until it lasts long enough.

    The counters of disks advance as they did from the first frame that has them; all else stays as in the last frame.
    """
    counted = [(frame, item) for frame in frames for item in frame.evidence if item.key == DISKSTATS and item.data]
    rounds = [(frame.monotonic - counted[0][0].monotonic, counters_of(item)) for frame, item in counted]
    made, (_, total) = list(frames), rounds[-1]
    while made[-1].monotonic - frames[0].monotonic < LEAST_SPAN + SETTLING:
        start = made[-1].monotonic
        for (_, before), (offset, after) in pairwise(rounds):
            total = {name: advanced(total[name], before[name], row) for name, row in after.items() if name in total}
            text = "".join(f" {' '.join(name)} {' '.join(map(str, row))}\n" for name, row in total.items())
            now = start + offset
            item = replace(counted[0][1], data=text.encode())
            ran = {"diskstats": RunMark(now, 0.0)}
            made.append(Frame(made[-1].number + 1, frames[-1].taken + now - frames[-1].monotonic, now, (item,), ran))
    return made


_NAME = 3
_IN_FLIGHT = 8


def counters_of(item: Evidence) -> dict[tuple[str, ...], list[int]]:
    """Return the counters of /proc/diskstats by major, minor and name."""
    words = (line.split() for line in bytes(item.data).decode().splitlines())
    return {tuple(row[:_NAME]): [int(word) for word in row[_NAME:]] for row in words}


def advanced(total: Sequence[int], before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return counters that advance from a total as they did between two frames; requests in flight are no counter."""
    found = [
        now + new - old if new >= old else (now + new - old) % _WRAP
        for now, old, new in zip(total, before, after, strict=True)
    ]
    return [*found[:_IN_FLIGHT], after[_IN_FLIGHT], *found[_IN_FLIGHT + 1 :]]


@functools.cache
def short_stories() -> tuple[str, ...]:
    """Return the stories with disk counters that are too short, and in which no rebuild would stop with them."""
    found = []
    for name in names():
        frames = opened(name)[1]
        counted = [frame for frame in frames if any(item.key == DISKSTATS and item.data for item in frame.evidence)]
        if len(counted) > 2 and frames[-1].monotonic - frames[0].monotonic < LEAST_SPAN:
            found.append(name)
    return tuple(found)


def going_on(frames: Sequence[Frame]) -> Iterator[Window]:
    """Yield the windows of a story that was extended."""
    history = History(providers_of(BUILTIN))
    replay = Replay(BUILTIN)
    for frame in frames:
        history.add(replay.feed(frame))
        window = history.window(replay.host.evidence)
        assert window is not None
        yield window


@functools.cache
def short_members(name: str) -> tuple[str, ...]:
    """Return the members of a short story that must be found if it goes on."""
    window = deque(going_on(extended(opened(name)[1])), maxlen=1).pop()
    return () if window.rows(Rebuild) else members_of(window)


def missed_later(name: str, chosen: Sequence[str]) -> list[str]:
    found = []
    for member in chosen:
        diagnosis = Diagnosis(NAMING_RULES)
        windows = going_on(list(slowed(extended(opened(name)[1]), member)))
        if not any(is_named(diagnosis.add(window).every, member) for window in windows):
            found.append(member)
    return found


@pytest.mark.parametrize("name", ["vm-md-raid5-even", "vm-md-writers-512k"])
def test_a_member_of_a_short_story_is_found_if_the_story_goes_on(name: str) -> None:
    chosen = short_members(name)
    assert len(chosen) >= 3
    assert missed_later(name, chosen[1:2]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", short_stories())
def test_every_member_of_a_short_story_is_found_if_the_story_goes_on(name: str) -> None:
    assert missed_later(name, short_members(name)) == []


# --- stories as they are ----------------------------------------------------------------------------------


def missed(name: str, chosen: Sequence[str]) -> list[str]:
    return [member for member in chosen if not is_found(name, member)]


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
