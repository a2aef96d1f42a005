"""Stripe columns of an array over one interval: what their disks did, and what that is held against."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar, cast

from msgspec import Struct

from sdstop.core.text import added

V = TypeVar("V")


class StripeMember(Struct, frozen=True):
    """One disk of the array over one interval, as `iostat -x` tells it, in base units.

    `queue` requests outstanding on average (aqu-sz), `busy` 0..1 (util), rates per second, `read_wait` and
    `write_wait` seconds (await), None when none completed.
    """

    name: str
    queue: float
    busy: float
    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    read_wait: float | None
    write_wait: float | None


class StripeColumn(Struct, frozen=True):
    """One stripe column: a disk, or the legs of one mirror that are present.

    `capacity` is the column's share of the array's address space relative to an even one (1.0 when members are of
    one size); RAID0 with members of several sizes has columns that rightly carry more.
    """

    members: tuple[StripeMember, ...]
    capacity: float = 1.0

    @property
    def name(self) -> str:
        """The members' names, joined by `+`."""
        return "+".join(member.name for member in self.members)

    @property
    def queue(self) -> float:
        """The mean queue of its legs: a write waits on all of them, and counts once."""
        return added([member.queue for member in self.members]) / len(self.members)

    @property
    def busy(self) -> float:
        """The mean busy time of its legs, each at most 1."""
        return added([min(1.0, member.busy) for member in self.members]) / len(self.members)

    @property
    def ios(self) -> float:
        """Requests per second for the column: reads of all legs, and writes once."""
        return added([member.reads for member in self.members]) + max([member.writes for member in self.members])


class Second(Struct, frozen=True, dict=True):
    """All columns over the same interval, always in the same order.

    `busy` is the array's own util 0..1; None where the kernel does not count it (md before 5.12).
    """

    columns: tuple[StripeColumn, ...]
    busy: float | None = None

    @cached_property
    def _memo(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return what `make` gives, asking it once: a second is judged in each of the windows that it is part of."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast("V", self._memo[key])


class StripeLimits(Struct, frozen=True):
    """What is compared with what.

    The defaults were fitted on simulated arrays (`tests/arrays/scenarios.py`), and are measured by
    `tests/analysis/test_detection.py`.
    """

    columns: float = 4
    """Fewest stripe columns of which a convoy or a hot column is claimed."""
    seconds: float = 8
    """Fewest seconds to judge."""
    queue: float = 4.0
    """Requests outstanding in the array, below which a second is a sample too small."""
    ios: float = 40.0
    """Requests per second, likewise."""
    active: float = 0.7
    """Share of the seconds that must be no smaller than that: streams that wait for their answers never pause."""
    deficit: float = 0.05
    """Deficit of a crowded second, rotational members."""
    deficit_flash: float = 0.1
    """The same, other members: their busy time is counted less exactly."""
    top_share: float = 1.8
    """Top share of a crowded second of four columns..."""
    top_share_slope: float = 0.2
    """...and this much more for each time that there are twice as many."""
    sharpness: float = 0.1
    """A top share of e times its limit makes up for this much deficit: a small crowd beside much other load."""
    crowded: float = 0.6
    """Share of the seconds that must be crowded."""
    moving: float = 0.55
    """Standing of the crowd, below which it moves."""
    fixed: float = 0.8
    """The same, from which it stays."""
    hot_ios: float = 2.5
    """Requests of the top column, times the median of the others, that make it hot."""
    hot_busy: float = 0.7
    """Busy time of a hot column."""
    equal_ios: float = 1.5
    """Up to here the share of I/O is equal."""
    slow_wait: float = 3.0
    """Wait of a slow disk, times the median of its peers."""
    slow_of_three: float = 4.0
    """The same where there are but two peers, times the wait of the one that waits longer."""
    slow_service: float = 2.0
    """Busy time that it spends on each request, times the median of its peers."""
    slow_seek: float = 0.02
    """Seconds of busy time on each request that are no more than a rotational disk needs to seek for each."""
    slow_seeking: float = 2.5
    """Busy time on each request, times the peers', that is slow where these seek as well: turn included, the longest
    seeks of a disk take 2.4 times what the shortest do."""
    slow_turn: float = 0.002
    """Seconds, beside the transfer, that a request takes at least which seeks: half a turn of the fastest disks."""
    slow_varies: float = 0.5
    """Largest variance of the peers' requests, in squares of their mean, that says that they all seek."""
    slow_samples: float = 16
    """Fewest readings of peers by which that is said."""
    slow_excess: float = 0.005
    """Seconds by which it must wait longer, rotational members."""
    slow_excess_flash: float = 0.0005
    """Seconds by which it must wait longer, other members."""
    slow_ios: float = 2.0
    """Fewest requests per second by which a disk's wait is judged."""
    unequal: float = 1.25
    """Largest column's capacity, times the smallest, from which the load cannot be even."""
