"""One member's times multiplied, in every story and for every kind of group: the member must be found.

The counters of its reads, writes, discards and flushes stay as they were recorded, and the time that each took becomes
FACTOR times as long; the device's busy time does, too, as far as the interval is long enough.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.collector import providers_of
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.history import History, Window
from sdstop.core.judgement import judge
from sdstop.core.replay import Replay
from sdstop.readings.disk import DISKSTATS, WRAP
from sdstop.readings.rebuild import Rebuild
from tests.fixtures import each_of, every_story, names, opened, third
from tests.stories.altered import unaltered
from tests.stories.multiplied import LEAST_SPAN, NAMING_RULES, SETTLING, is_named, members, members_of, slowed


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
        now + new - old if new >= old else (now + new - old) % WRAP
        for now, old, new in zip(total, before, after, strict=True)
    ]
    return [*found[:_IN_FLIGHT], after[_IN_FLIGHT], *found[_IN_FLIGHT + 1 :]]


def is_short(frames: Sequence[Frame]) -> bool:
    """Return whether a story has disk counters and is too short; with them, a rebuild would stop."""
    counted = [frame for frame in frames if any(item.key == DISKSTATS and item.data for item in frame.evidence)]
    return len(counted) > 2 and frames[-1].monotonic - frames[0].monotonic < LEAST_SPAN


def going_on(frames: Sequence[Frame]) -> Iterator[Window]:
    """Yield the windows of a story that was extended."""
    history = History(providers_of(BUILTIN))
    replay = Replay(BUILTIN)
    for frame in frames:
        history.add(replay.feed(frame))
        window = history.window(replay.host.evidence)
        assert window is not None
        yield window


PILING = frozenset({"vm-md-raid5-limited"})
"""Stories whose members all wait 30 times as long as their peers for seconds, in turns: a host limits each of them."""


@functools.cache
def short_members(name: str) -> tuple[str, ...]:
    """Return the members that must be found if a story goes on; none of one that is long enough."""
    frames = opened(name)[1]
    if name in PILING or not is_short(frames):
        return ()
    window = deque(going_on(extended(frames)), maxlen=1).pop()
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
@pytest.mark.parametrize("name", names())
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


@each_of(third(0))
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
