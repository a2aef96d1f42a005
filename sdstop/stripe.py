"""Is the load of a striped array spread over its members? Pure statistics over per-second member rates.

The unit is the *stripe column*: the places among which consecutive chunks go round. The legs of a mirror carry the
same writes and make one column; on RAID0, 5 and 6 each disk is one. Per second, with L the requests outstanding on
all columns (aqu-sz), B how many columns were busy (sum of util) and N columns:

* deficit D = 1 - B/E with E = N*L/(N+L-1), the columns that L requests keep busy when they are spread by chance over
  equal servers (closed product-form network). Random load keeps as many or more busy: D <= 0. While the array itself
  was idle for part of the second (its own util A < 1, as between write-back bursts) L and B are taken per busy time.
* top share T = N * max(L_i) / L: 1 when the queue is even, N when all of it stands at one column.

A convoy - sequential streams that queue on one column together and move on together - is a deficit and a top share
at once, in most seconds, with a top that changes. It must be looked for second by second and only then summarised:
over five seconds or more its counters are as even as those of a healthy array. A queue that stays at one column is a
hot member (it is asked for more) or a slow one (it is asked for the same and takes longer), or stays unclear.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sdstop.laggard import Wait, slowest

__all__ = ["Column", "Kind", "Member", "Second", "StripeLimits", "Verdict", "Wait", "judge", "slowest"]


@dataclass(frozen=True, slots=True)
class Member:
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


@dataclass(frozen=True, slots=True)
class Column:
    """One stripe column: a disk, or the legs of one mirror that are present.

    `capacity` is the column's share of the array's address space relative to an even one (1.0 when members are of
    one size); RAID0 with members of several sizes has columns that rightly carry more.
    """

    members: tuple[Member, ...]
    capacity: float = 1.0

    @property
    def name(self) -> str:
        """The members' names, joined by `+`."""
        return "+".join(member.name for member in self.members)

    @property
    def queue(self) -> float:
        """The queue of the fuller leg: a write waits on both, and counts once."""
        return max(member.queue for member in self.members)

    @property
    def busy(self) -> float:
        """The busier leg's busy time, at most 1."""
        return min(1.0, max(member.busy for member in self.members))

    @property
    def ios(self) -> float:
        """Requests per second for the column: reads of all legs, and writes once."""
        return sum(member.reads for member in self.members) + max(member.writes for member in self.members)


@dataclass(frozen=True, slots=True)
class Second:
    """All columns over the same interval, always in the same order.

    `busy` is the array's own util 0..1; None where the kernel does not count it (md before 5.12).
    """

    columns: tuple[Column, ...]
    busy: float | None = None


@dataclass(frozen=True, slots=True)
class StripeLimits:
    """What is compared with what. The defaults were fitted on simulated arrays; tests/test_detection.py measures them."""

    columns: float = 4
    """Fewest stripe columns of which a convoy or a hot column is claimed."""
    seconds: float = 8
    """Fewest seconds to judge."""
    queue: float = 4.0
    """Requests outstanding in the array, below which a second is a sample too small."""
    ios: float = 40.0
    """Requests per second, likewise."""
    active: float = 0.5
    """Share of the seconds that must be no smaller than that."""
    deficit: float = 0.05
    """Deficit of a crowded second, rotational members."""
    deficit_flash: float = 0.2
    """Deficit of a crowded second, other members: one that serves several requests at once is busy for less time."""
    top_share: float = 3.0
    """Top share of a crowded second where there are many columns."""
    top_share_slope: float = 0.25
    """Where they are few: 1 + this much for each."""
    crowded: float = 0.5
    """Share of the seconds that must be crowded."""
    moving: float = 0.6
    """Share of the crowded seconds with the same top column, below which the crowd moves."""
    fixed: float = 0.8
    """The same, from which it stands."""
    hot_ios: float = 2.5
    """Requests of the top column, times the median of the others, that make it hot."""
    equal_ios: float = 1.5
    """Up to here the share of I/O is equal."""
    slow_wait: float = 3.0
    """Wait of a slow disk, times the median of its peers."""
    slow_service: float = 2.0
    """Busy time that it spends on each request, times the median of its peers."""
    slow_excess: float = 0.005
    """Seconds by which it must wait longer, rotational members."""
    slow_excess_flash: float = 0.0005
    """Seconds by which it must wait longer, other members."""
    slow_ios: float = 2.0
    """Fewest requests per second by which a disk's wait is judged."""
    unequal: float = 1.25
    """Largest column's capacity, times the smallest, from which the load cannot be even."""


class Kind(enum.StrEnum):
    """What the seconds show."""

    CONVOY = "convoy"  # the queue stands at one column, and the column changes
    HOT = "hot"  # it stays at one column, which is asked for more than the others
    SLOW = "slow"  # one disk is asked for no more than its peers and answers far slower
    UNCLEAR = "unclear"  # concentrated, but none of these
    EVEN = "even"
    IDLE = "idle"  # too little outstanding to say
    UNEQUAL = "unequal"  # concentrated, but the columns are of unequal size: nothing can be said
    TOO_FEW = "too-few"  # columns or seconds


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and every number that was compared. Numbers are None where there was nothing to compare.

    `seconds` were looked at, `active` of them had enough outstanding, `crowded` of those were past both limits.
    `deficit`, `top_share`, `queue` (requests outstanding), `busy` and `expected` (columns) are medians over the active
    seconds. `persistence` is the share of the crowded seconds in which `top` was the fullest column. `ios_ratio` is
    its I/O against the median of the others, each by its capacity. `wait` is of the slowest disk, if one stands out.
    """

    kind: Kind
    columns: int
    seconds: int
    active: int = 0
    crowded: int = 0
    queue: float | None = None
    busy: float | None = None
    expected: float | None = None
    deficit: float | None = None
    deficit_limit: float | None = None
    top_share: float | None = None
    top_share_limit: float | None = None
    persistence: float | None = None
    top: tuple[str, ...] = ()
    ios_ratio: float | None = None
    wait: Wait | None = None


def judge(seconds: Sequence[Second], *, rotational: bool, limits: StripeLimits | None = None) -> Verdict:
    """Judge the columns of one array over successive seconds (about ten; each an interval of about 1 s).

    The caller leaves out arrays in rebuild or check, dedicated parity disks (RAID4), journals, write-mostly legs and
    members whose kernel counts no statistics. All seconds must have the same columns and members.
    """
    limits = limits or StripeLimits()
    columns = len(seconds[0].columns) if seconds else 0
    if len(seconds) < limits.seconds:
        return Verdict(Kind.TOO_FEW, columns, len(seconds))
    wait = slowest(seconds, limits, rotational=rotational)
    if columns < limits.columns:
        return Verdict(Kind.SLOW if wait else Kind.TOO_FEW, columns, len(seconds), wait=wait)
    return _judge_spread(seconds, wait, rotational=rotational, limits=limits)


def _judge_spread(seconds: Sequence[Second], wait: Wait | None, *, rotational: bool, limits: StripeLimits) -> Verdict:
    columns = len(seconds[0].columns)
    enough = [second for second in seconds if _is_enough(second, limits)]
    if len(enough) < limits.active * len(seconds):
        kind = Kind.SLOW if wait else Kind.IDLE
        return Verdict(kind, columns, len(seconds), len(enough), wait=wait)
    loads = [_load(second) for second in enough]
    deficit_limit = limits.deficit if rotational else limits.deficit_flash
    top_share_limit = min(limits.top_share, 1 + limits.top_share_slope * columns)
    crowded = [load for load in loads if load.deficit >= deficit_limit and load.top_share >= top_share_limit]
    tops = Counter(load.top for load in crowded or loads)
    top, times = tops.most_common(1)[0]
    persistence = times / tops.total()
    ios_ratio = _ios_ratio(enough, top)
    if wait is not None:
        kind = Kind.SLOW
    elif len(crowded) < limits.crowded * len(seconds):
        kind = Kind.EVEN
    else:
        kind = _place(persistence, ios_ratio, _is_unequal(seconds[-1], limits), limits)
    return Verdict(
        kind,
        columns,
        len(seconds),
        len(enough),
        len(crowded),
        queue=median(load.queue for load in loads),
        busy=median(load.busy for load in loads),
        expected=median(load.expected for load in loads),
        deficit=median(load.deficit for load in loads),
        deficit_limit=deficit_limit,
        top_share=median(load.top_share for load in loads),
        top_share_limit=top_share_limit,
        persistence=persistence,
        top=tuple(member.name for member in seconds[-1].columns[top].members),
        ios_ratio=ios_ratio,
        wait=wait,
    )


def _place(persistence: float, ios_ratio: float | None, unequal: bool, limits: StripeLimits) -> Kind:
    """Say what a concentrated queue is, by where it stands."""
    if persistence >= limits.fixed and ios_ratio is not None and ios_ratio >= limits.hot_ios:
        return Kind.HOT
    if unequal:
        return Kind.UNEQUAL
    return Kind.CONVOY if persistence < limits.moving else Kind.UNCLEAR


def _is_enough(second: Second, limits: StripeLimits) -> bool:
    columns = second.columns
    return (
        sum(column.queue for column in columns) >= limits.queue and sum(column.ios for column in columns) >= limits.ios
    )


def _is_unequal(second: Second, limits: StripeLimits) -> bool:
    capacities = [column.capacity for column in second.columns]
    return max(capacities) > limits.unequal * min(capacities)


@dataclass(frozen=True, slots=True)
class _Load:
    """One second's columns in numbers."""

    queue: float
    busy: float
    expected: float
    deficit: float
    top_share: float
    top: int


def _load(second: Second) -> _Load:
    queues = [column.queue for column in second.columns]
    columns, queue, busy = len(queues), sum(queues), sum(column.busy for column in second.columns)
    top = queues.index(max(queues))
    part = 1.0
    if second.busy is not None:
        # No column is busy for longer than the array: where the counters say so, they were read a little apart.
        part = min(1.0, max(second.busy, *(column.busy for column in second.columns)))
    if not part:
        # Answers came, but none was waited for within this second as far as the kernel's clock can tell.
        return _Load(queue, busy, 0.0, 0.0, columns * queues[top] / queue, top)
    expected = part * columns * (queue / part) / (columns + queue / part - 1)
    return _Load(queue, busy, expected, 1 - busy / expected, columns * queues[top] / queue, top)


def _ios_ratio(seconds: Sequence[Second], top: int) -> float | None:
    ratios = []
    for second in seconds:
        rates = [column.ios / column.capacity for column in second.columns]
        others = median(rates[:top] + rates[top + 1 :])
        if others:
            ratios.append(rates[top] / others)
    return median(ratios) if ratios else None
