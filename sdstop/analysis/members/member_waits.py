"""Waits of the members of a peer group by type of request, in each second."""

from __future__ import annotations

import math
import operator
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any, cast

from msgspec import Struct

from sdstop.analysis.members.column import MemberColumns, Second, StripeMember
from sdstop.core.averages import median


class RequestType(Struct, frozen=True):
    """A request type: its name, accessors for a member's figures, and for those of all members."""

    name: str
    rate: Callable[[StripeMember], float]
    moved: Callable[[StripeMember], float]
    wait: Callable[[StripeMember], float | None]
    rates: Callable[[MemberColumns], Sequence[float]]
    waits: Callable[[MemberColumns], Sequence[float | None]]

    def size(self, member: StripeMember) -> float:
        """Return the mean size of a member's completed requests."""
        return self.moved(member) / self.rate(member)


def requests_of(member: StripeMember) -> float:
    """Return the requests per second of a member."""
    return member.reads + member.writes


def _all_rates(members: MemberColumns) -> Sequence[float]:
    return list(map(operator.add, members.reads, members.writes))


def _all_waits(members: MemberColumns) -> Sequence[float | None]:
    """Return the mean wait of all requests of each member, as `StripeMember.wait` does."""
    if members.any_waits is not None:
        return [member.wait for member in members.each()]
    figures = zip(members.reads, members.writes, members.read_waits, members.write_waits, strict=True)
    waits: list[Any] = [
        None
        if (reads and read_wait is None) or (writes and write_wait is None) or not reads + writes
        else (reads * (read_wait or 0.0) + writes * (write_wait or 0.0)) / (reads + writes)
        for reads, writes, read_wait, write_wait in figures
    ]
    return waits if None in waits else array("d", waits)


READS = RequestType(
    "reads", attrgetter("reads"), attrgetter("read_bytes"), attrgetter("read_wait"),
    attrgetter("reads"), attrgetter("read_waits"),
)  # fmt: skip
WRITES = RequestType(
    "writes", attrgetter("writes"), attrgetter("write_bytes"), attrgetter("write_wait"),
    attrgetter("writes"), attrgetter("write_waits"),
)  # fmt: skip
SEPARATE = (WRITES, READS)
"""Types that a kernel counts apart, the one that is compared first in front."""
ALL = RequestType(
    "requests", requests_of, lambda member: member.read_bytes + member.write_bytes, attrgetter("wait"),
    _all_rates, _all_waits,
)  # fmt: skip


def median_without(values: Iterable[float], own: float) -> float:
    """Return the median of the values without one that equals `own`: half of a group may be as slow as that.

    Raises ValueError if no value equals it, or without any other.
    """
    others = list(values)
    others.remove(own)
    return median(others)


UNKNOWN = -math.inf
"""Place of a wait that a member does not have."""


class SecondWaits:
    """Waits of the members that completed enough requests of one type in one second; the shortest and the longest.

    `places` are those of the members among `everyone` of the second, None if it is all of them; waits are in the same
    order. It is kept with its second, which it must therefore not refer to: it would be garbage that is in a cycle.
    """

    __slots__ = ("_middle", "everyone", "longest", "names", "places", "requests", "shortest", "waits")

    def __init__(
        self,
        requests: RequestType,
        everyone: tuple[str, ...],
        places: Sequence[int] | None,
        names: tuple[str, ...],
        waits: Sequence[float],
    ) -> None:
        """Keep names, and waits, which may be those of the second itself."""
        self.requests, self.everyone, self.places = requests, everyone, places
        self.names, self.waits = names, waits
        self.shortest, self.longest = min(waits, default=0.0), max(waits, default=0.0)
        self._middle: float | None = None

    def disks(self, second: Second) -> Mapping[str, StripeMember]:
        """Return the members of its second by name, made at each call: few groups have an outlier; they are large."""
        members = second.members.each()
        kept = members if self.places is None else [members[place] for place in self.places]
        return dict(zip(self.names, kept, strict=True))

    @property
    def padded(self) -> Sequence[float]:
        """The waits of all members of the second, UNKNOWN for the others."""
        if self.places is None:
            return self.waits
        found = [UNKNOWN] * len(self.everyone)
        for place, wait in zip(self.places, self.waits, strict=True):
            found[place] = wait
        return found

    @property
    def middle(self) -> float:
        """A wait that the median of the others does not fall below, whichever of the members is left out."""
        if self._middle is None:
            ranked = sorted(self.waits)
            self._middle = ranked[len(ranked) // 2 - 1] if len(ranked) > 1 else 0.0
        return self._middle

    def far(self, times: float) -> frozenset[str]:
        """Return the members that wait `times` as long as the median of the others."""
        least = times * self.middle
        if len(self.names) < 2 or self.longest < least:
            return _NOBODY
        ratios = ((name, self.ratio(name)) for name, wait in zip(self.names, self.waits, strict=True) if wait >= least)
        return frozenset(name for name, ratio in ratios if ratio is not None and ratio >= times)

    def ratio(self, disk: str) -> float | None:
        """Return a member's wait as a multiple of the median of the others, None if it has none."""
        if disk not in self.names or len(self.names) < 2:
            return None
        own = self.waits[self.names.index(disk)]
        middle = median_without(self.waits, own)
        return own / middle if middle else None


_NOBODY: frozenset[str] = frozenset()


def answered(second: Second, requests: RequestType, least: float, without: AbstractSet[str]) -> SecondWaits:
    """Return the members that completed enough requests in this second, cached because ten windows share a second."""
    if without:
        return _answered(second, requests, least, without)
    return second.once(("answered", requests.name, least), lambda: _answered(second, requests, least, without))


def _answered(second: Second, requests: RequestType, least: float, without: AbstractSet[str]) -> SecondWaits:
    members = second.members
    names, rates, waits = members.names, requests.rates(members), requests.waits(members)
    distinct = second.once("distinct", lambda: len(frozenset(names)) == len(names))
    if not without and least > 0 and distinct and min(rates, default=0.0) >= least and None not in waits:
        return SecondWaits(requests, names, None, names, cast("Sequence[float]", waits))
    found = {
        name: (place, wait)
        for place, (name, rate, wait) in enumerate(zip(names, rates, waits, strict=True))
        if rate and rate >= least and wait is not None and name not in without
    }
    kept = tuple(found.values())
    places, known = [place for place, _ in kept], array("d", [wait for _, wait in kept])
    return SecondWaits(requests, names, places, tuple(found), known)


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
    names = rows[0].names
    if all(row.names == names for row in rows):
        return dict(zip(names, zip(*(row.waits for row in rows), strict=True), strict=True))
    found: dict[str, list[float]] = {}
    for row in rows:
        for disk, wait in zip(row.names, row.waits, strict=True):
            found.setdefault(disk, []).append(wait)
    return dict(found)


def has_outlier(rows: Sequence[SecondWaits], times: float, excess: float, least: float) -> bool:
    """Return whether a member can wait `times` as long as the median of the others, and longer by `excess` seconds.

    The median of a member is that of the seconds in which it has a wait, at least `least`. Without names,
    and thus cheap: nearly all groups have no outlier. Of three members and fewer True, which proves nothing.
    """
    first = rows[0].everyone
    if any(names is not first and names != first for names in (row.everyone for row in rows)):
        return True
    medians = []
    for waits in map(sorted, zip(*(row.padded for row in rows), strict=True)):
        unknown = bisect_right(waits, UNKNOWN) if waits[0] == UNKNOWN else 0
        count = len(waits) - unknown
        if count >= least and count:
            half = unknown + count // 2
            medians.append(waits[half] if count % 2 else (waits[half - 1] + waits[half]) / 2)
    if len(medians) <= _FEW:
        return True
    medians.sort()
    longest, others = medians[-1], medians[:-1]
    half = len(others) // 2
    middle = others[half] if len(others) % 2 else (others[half - 1] + others[half]) / 2
    return bool(longest >= times * middle and longest >= middle + excess)


_FEW = 3
"""Members of which all are named."""
