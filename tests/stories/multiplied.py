"""One member's times multiplied: frames of a story, the members that must be found, and whether one is named."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median

from msgspec.structs import replace

from sdstop.analysis.members.group_columns import device_of
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import Moment, Window
from sdstop.core.joins import GroupKind
from sdstop.core.peer_group import PeerGroup
from sdstop.readings.disk import DISKSTATS, Disk
from sdstop.readings.rebuild import Rebuild
from sdstop.rules import RULES
from tests.fixtures import opened
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
