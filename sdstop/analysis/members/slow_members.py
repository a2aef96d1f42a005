"""Slow members of a peer group: for how long a member must be slow, and how severe that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.hysteresis import is_above
from sdstop.analysis.members.column import Second, StripeLimits
from sdstop.analysis.members.group_columns import device_of
from sdstop.analysis.members.judged_group import JudgedGroup, Laggard
from sdstop.analysis.members.laggard import Wait, extent, slowest, sudden, times
from sdstop.analysis.members.neighbor import Neighbor, neighbor
from sdstop.analysis.members.peer_samples import SECONDS, recent, seconds_of
from sdstop.core.history import Window
from sdstop.core.joins import CONTAINS
from sdstop.core.thing import Thing

STAYS = 30.0
"""Seconds for which a member must be slow: a crowd of seeking streams on one disk may last longer than SECONDS.

The more its work on each request exceeds its peers', the fewer seconds suffice; a crowd does not lengthen that work.
"""
SIGNS = 16.0
"""Seconds needed of a member whose work on each request is so long that its first SECONDS are a sign: 6 times."""
SUDDEN = 5
"""Samples in which an extremely slow member is known."""
CRITICAL = 3.0
"""Wait of a member that makes its slowness critical, as a multiple of the threshold."""
MOST = 3
"""Maximum number of slow members that are named of one group."""
PAST = 20
"""Seconds before now in which a severity that was reached is remembered."""


FEWEST_PASTED = 3
"""Minimum number of samples of pasted rates: each may be the mean of many seconds."""


def slow_members(
    window: Window, judged: JudgedGroup, seconds: tuple[Second, ...], limits: StripeLimits, early: tuple[Laggard, ...]
) -> tuple[Sequence[Second], tuple[Laggard, ...], str, str]:
    """Return the members that are slow in the last seconds and were for long enough, with these longer samples.

    `early` are extremely slow, and named without more. The last strings are the reason why it is too early to judge a
    member that is slow only lately, and this member if its work on requests is a sign already; else empty.
    """
    now = _slowest(judged, seconds, limits)
    if not now:
        return seconds, early, "", ""
    longest = seconds_of(judged.layout, recent(window, STAYS, limits.seconds))
    found: list[Laggard] = []
    needs: list[float] = []
    for wait in now:
        needed = _needed(judged, seconds, wait, limits)
        longer = longest if needed >= STAYS else seconds_of(judged.layout, recent(window, needed, limits.seconds))
        if any(other.disk == wait.disk for other in _slowest(judged, longer, limits)):
            found.append(laggard_of(window, judged, wait, longest, len(seconds), limits))
        needs.append(needed)
    known = {laggard.member for laggard in found}
    found.extend(laggard for laggard in early if laggard.member not in known)
    if found:
        return longest, tuple(found), "", ""
    lately = f"collecting data: needs {needs[0]:g} s; {now[0].disk} slower than its peers lately"
    return longest, (), lately, now[0].disk if needs[0] <= SIGNS else ""


def _needed(judged: JudgedGroup, seconds: Sequence[Second], wait: Wait, limits: StripeLimits) -> float:
    """Return for how many seconds a member must be slow: STAYS at the threshold, fewer far above it."""
    multiple = extent(seconds, wait, limits, rotational=judged.rotational is True)
    return float(round(max(SECONDS, STAYS * min(1.0, limits.slow_wait / multiple))))


def sudden_members(
    window: Window, judged: JudgedGroup, seconds: tuple[Second, ...], limits: StripeLimits
) -> tuple[Laggard, ...]:
    """Return the members that are extremely slow in the last few samples; warnings until they stay so."""
    found: list[Laggard] = []
    last = seconds[-SUDDEN:]
    while len(last) == SUDDEN and judged.group is not None and len(found) < MOST:
        without = frozenset(laggard.member for laggard in found)
        rotational, mirrored = judged.rotational is True, judged.mirrored
        wait = sudden(last, limits, rotational=rotational, mirrored=mirrored, without=without)
        if wait is None:
            break
        found.append(replace(laggard_of(window, judged, wait, last, SUDDEN, limits), critical=False))
    return tuple(found)


def _slowest(judged: JudgedGroup, seconds: Sequence[Second], limits: StripeLimits) -> list[Wait]:
    """Return the slow members, the worst first."""
    rotational, mirrored = judged.rotational is True, judged.mirrored
    found: list[Wait] = []
    while len(found) < MOST:
        without = frozenset(wait.disk for wait in found)
        wait = slowest(seconds, limits, rotational=rotational, mirrored=mirrored, without=without)
        if wait is None:
            break
        found.append(wait)
    return found


def laggard_of(
    window: Window, judged: JudgedGroup, wait: Wait, seconds: Sequence[Second], count: int, limits: StripeLimits
) -> Laggard:
    """Return a slow member with its severity; `count` of the `seconds` are those in which it was found."""
    thing = thing_of(judged, wait.disk)
    near = neighbor_of(window, judged, thing)

    def earlier() -> Iterator[float | None]:
        for back in range(1, PAST + 1):
            part = seconds[max(len(seconds) - back - count, 0) : len(seconds) - back]
            yield times(part, wait, limits) if len(part) >= min(count, FEWEST_PASTED) else None

    critical = judged.group is not None and near is None
    if critical and not judged.striped:
        critical = wait.seconds >= limits.slow_seek
    critical = critical and is_above(wait.times, CRITICAL * StripeLimits().slow_wait, earlier)
    return Laggard(wait.disk, thing, wait, None, near, critical, device_below(window, thing))


def device_below(window: Window, thing: Thing | None) -> str:
    """Return the only device below a mapping, "" for other members."""
    if thing is None or thing.device is None or not thing.device.startswith("dm-"):
        return ""
    below = [other.device for other, how in window.topology.lower(thing).items() if how in CONTAINS and other.device]
    return below[0] if len(below) == 1 else ""


def neighbor_of(window: Window, judged: JudgedGroup, thing: Thing | None) -> Neighbor | None:
    """Return the other load on the disk of a member that explains its waits, None if there is none."""
    if thing is None or judged.group is None:
        return None
    peers = [other for other in judged.group.members if other is not thing]
    return neighbor(window, thing, peers, judged.group.upper, recent(window, SECONDS, FEWEST_PASTED))


def thing_of(judged: JudgedGroup, member: str) -> Thing | None:
    """Return the thing of a member, None in an inferred group."""
    members = judged.group.members if judged.group is not None else ()
    return next((thing for thing in members if device_of(thing) == member), None)
