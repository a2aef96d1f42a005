"""Waits of the members of a peer group by type of request, in each second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

from msgspec import Struct

from sdstop.analysis.members.column import Second, StripeMember
from sdstop.core.averages import median


class RequestType(Struct, frozen=True):
    """A request type: its name and accessors for a member's figures."""

    name: str
    rate: Callable[[StripeMember], float]
    moved: Callable[[StripeMember], float]
    wait: Callable[[StripeMember], float | None]

    def size(self, member: StripeMember) -> float:
        """Return the mean size of a member's completed requests."""
        return self.moved(member) / self.rate(member)


def requests_of(member: StripeMember) -> float:
    """Return the requests per second of a member."""
    return member.reads + member.writes


READS = RequestType("reads", attrgetter("reads"), attrgetter("read_bytes"), attrgetter("read_wait"))
WRITES = RequestType("writes", attrgetter("writes"), attrgetter("write_bytes"), attrgetter("write_wait"))
SEPARATE = (WRITES, READS)
"""Types that a kernel counts apart, the one that is compared first in front."""
ALL = RequestType("requests", requests_of, lambda member: member.read_bytes + member.write_bytes, attrgetter("wait"))


def median_without(values: Iterable[float], own: float) -> float:
    """Return the median of the values without one that equals `own`: half of a group may be as slow as that.

    Raises ValueError if no value equals it, or without any other.
    """
    others = list(values)
    others.remove(own)
    return median(others)


class SecondWaits(Struct, frozen=True, gc=False):
    """Waits of the members that completed enough requests of one type in one second; the shortest and the longest."""

    requests: RequestType
    disks: dict[str, StripeMember]
    waits: tuple[float, ...]
    names: tuple[str, ...]
    shortest: float
    longest: float

    def ratio(self, disk: str) -> float | None:
        """Return a member's wait as a multiple of the median of the others, None if it has none."""
        if disk not in self.disks or len(self.disks) < 2:
            return None
        own = self.requests.wait(self.disks[disk]) or 0.0
        middle = median_without(self.waits, own)
        return own / middle if middle else None


def answered(second: Second, requests: RequestType, least: float, without: AbstractSet[str]) -> SecondWaits:
    """Return the members that completed enough requests in this second, cached because ten windows share a second."""
    if without:
        return _answered(second, requests, least, without)
    return second.once(("answered", requests.name, least), lambda: _answered(second, requests, least, without))


def _answered(second: Second, requests: RequestType, least: float, without: AbstractSet[str]) -> SecondWaits:
    members = [member for column in second.columns for member in column.members]
    disks = {
        m.name: m
        for m in members
        if (rate := requests.rate(m)) and rate >= least and requests.wait(m) is not None and m.name not in without
    }
    waits = tuple([requests.wait(member) or 0.0 for member in disks.values()])
    return SecondWaits(requests, disks, waits, tuple(disks), min(waits, default=0.0), max(waits, default=0.0))


def are_even(rows: Sequence[SecondWaits], times: float, excess: float) -> bool:
    """Return whether no member can wait `times` as long as another, or longer by `excess` seconds, in the median.

    In each second every wait lies between the shortest and the longest, and so do the medians of the members.
    """
    names = rows[0].names if rows else ()
    if any(row.names != names for row in rows):
        return False
    longest, shortest = median([row.longest for row in rows]), median([row.shortest for row in rows])
    return longest < times * shortest or longest < shortest + excess


def ratios_of(rows: Iterable[SecondWaits], disk: str) -> list[float]:
    """Return a member's wait as a multiple of the median, for each second that has one."""
    return [ratio for row in rows if (ratio := row.ratio(disk)) is not None]


def waits_of(rows: Sequence[SecondWaits]) -> dict[str, Sequence[float]]:
    """Return the waits of each member in the seconds in which it has one."""
    names = list(rows[0].disks)
    if all(list(row.disks) == names for row in rows):
        return dict(zip(names, zip(*(row.waits for row in rows), strict=True), strict=True))
    found: dict[str, list[float]] = {}
    for row in rows:
        for disk, wait in zip(row.disks, row.waits, strict=True):
            found.setdefault(disk, []).append(wait)
    return dict(found)
