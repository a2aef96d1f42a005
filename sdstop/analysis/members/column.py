"""Stripe columns of an array over one interval: member activity and the thresholds for judging it."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Hashable, Sequence
from itertools import islice, repeat
from typing import Any, TypeVar, cast

from msgspec import Struct

from sdstop.core.columns import Columns, value_of
from sdstop.core.model import Rows
from sdstop.core.rule import Threshold
from sdstop.core.text import added

V = TypeVar("V")


class StripeMember(Struct, frozen=True, gc=False):
    """One member disk over one interval, with the figures of `iostat -x` in base units.

    `queue` is the mean number of outstanding requests (aqu-sz), `busy` is 0..1 (util), rates are per second,
    `read_wait` and `write_wait` are in seconds (await), None if no request completed. `any_wait` is the wait of all
    requests from a source that does not print those of reads and of writes; without their rates either, these are in
    proportion to the bytes moved.
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
    any_wait: float | None = None

    @property
    def wait(self) -> float | None:
        """Mean wait of the completed requests in seconds, None if none completed or part of it is unknown."""
        if self.any_wait is not None:
            return self.any_wait
        if (self.reads and self.read_wait is None) or (self.writes and self.write_wait is None):
            return None
        ios = self.reads + self.writes
        return (self.reads * (self.read_wait or 0.0) + self.writes * (self.write_wait or 0.0)) / ios if ios else None


class StripeColumn(Struct, frozen=True, gc=False):
    """One stripe column: a disk, or the present legs of one mirror.

    `capacity` is the column's share of the array's address space relative to an even one (1.0 when all members have the
    same size); in RAID0 with members of different sizes some columns carry more by design.
    """

    members: tuple[StripeMember, ...]
    capacity: float = 1.0

    @property
    def name(self) -> str:
        """The members' names, joined by `+`."""
        return "+".join(member.name for member in self.members)

    @property
    def queue(self) -> float:
        """Mean queue of the legs, because a write waits on all of them but counts once."""
        return added([member.queue for member in self.members]) / len(self.members)

    @property
    def ios(self) -> float:
        """Requests per second of the column: reads of all legs, and each write once."""
        return added([member.reads for member in self.members]) + max([member.writes for member in self.members])


class MemberColumns(Struct, frozen=True, gc=False):
    """All members of a group over one interval: the fields of StripeMember, each as one sequence.

    `any_waits` is None if it is of all of them.
    """

    names: tuple[str, ...]
    queues: Sequence[float]
    busy: Sequence[float]
    reads: Sequence[float]
    writes: Sequence[float]
    read_bytes: Sequence[float]
    write_bytes: Sequence[float]
    read_waits: Sequence[float | None]
    write_waits: Sequence[float | None]
    any_waits: Sequence[float | None] | None = None

    @classmethod
    def of(cls, members: Sequence[StripeMember]) -> MemberColumns:
        """Return the figures of members."""
        fields = [tuple([getattr(member, name) for member in members]) for name in StripeMember.__struct_fields__]
        return cls.in_order(fields, None if all(wait is None for wait in fields[-1]) else fields[-1])

    @classmethod
    def in_order(cls, fields: Sequence[Any], any_waits: Sequence[float | None] | None) -> MemberColumns:
        """Return members by their fields, in the order of StripeMember."""
        names, queues, busy, reads, writes, read_bytes, write_bytes, read_waits, write_waits = fields[:9]
        return cls(names, queues, busy, reads, writes, read_bytes, write_bytes, read_waits, write_waits, any_waits)

    @classmethod
    def read(cls, names: tuple[str, ...], rows: Rows) -> MemberColumns | None:
        """Return the members with these names in rows of DiskActivity, None if one is missing or its queue unknown."""
        if isinstance(rows, Columns):
            figures = rows.picked(names, _FIGURES)
            if figures is None:
                return None
        else:
            found = [row for name in names if (row := rows.get(name)) is not None]
            if len(found) < len(names):
                return None
            figures = [tuple([getattr(row, name) for row in found]) for name in _FIGURES]
        if None in figures[0] or None in figures[1]:
            return None
        any_waits = _any_waits(names, rows, figures[-2], figures[-1]) if None in figures[-2] else None
        return cls.in_order([names, *map(_slim, figures)], any_waits)

    def each(self) -> tuple[StripeMember, ...]:
        """Return the members."""
        any_waits = repeat(None) if self.any_waits is None else self.any_waits
        figures = (self.queues, self.busy, self.reads, self.writes, self.read_bytes, self.write_bytes)
        return tuple(map(StripeMember, self.names, *figures, self.read_waits, self.write_waits, any_waits))


_FIGURES = (
    "queue", "busy", "reads_per_second", "writes_per_second", "read_bytes_per_second", "write_bytes_per_second",
    "read_wait", "write_wait",
)  # fmt: skip
"""Fields of DiskActivity that MemberColumns has, in the order of its fields."""


def _slim(figures: Sequence[Any]) -> Sequence[Any]:
    """Return figures in a third of the memory if all are known."""
    return figures if None in figures else array("d", figures)


def _any_waits(
    names: Sequence[str], rows: Rows, reads: Sequence[float | None], writes: Sequence[float | None]
) -> Sequence[float | None] | None:
    """Return the mean waits of members whose waits of reads and of writes are unknown, None without any."""
    unknown = [read is None and write is None for read, write in zip(reads, writes, strict=True)]
    waits = [
        value_of(rows, name, "wait") if neither and value_of(rows, name, "completed_per_second") else None
        for name, neither in zip(names, unknown, strict=True)
    ]
    return tuple(waits) if any(wait is not None for wait in waits) else None


class Second:
    """All columns over the same interval, always in the same order.

    `busy` is the array's own util 0..1; None if the kernel does not count it (md before 5.12). Not `timed`: the source
    does not report busy times, and those of the members are 0. Not `rated`: it reports waits only, and each member
    counts as completing one request of each type with a known wait. `legs` is the number of members of each column.
    Members are objects only where they are asked for: of a thousand disks, those that may be slow. A second that is not
    the newest reads them again from `rows` of DiskActivity when it is asked: few are.
    """

    __slots__ = ("_members", "_memo", "_rows", "_settled", "busy", "capacities", "legs", "names", "rated", "timed")

    def __init__(
        self,
        members: MemberColumns,
        legs: tuple[int, ...],
        capacities: tuple[float, ...],
        busy: float | None = None,
        *,
        timed: bool = True,
        rated: bool = True,
        rows: Columns | None = None,
    ) -> None:
        """Keep the figures of the members of columns, column by column, and the rows that they were read from."""
        self._members: MemberColumns | None = members
        self._rows, self._settled = rows, False
        self.names, self.legs, self.capacities = members.names, legs, capacities
        self.busy, self.timed, self.rated = busy, timed, rated
        self._memo: dict[Hashable, Any] = {}

    @classmethod
    def of(
        cls, columns: Sequence[StripeColumn], busy: float | None = None, *, timed: bool = True, rated: bool = True
    ) -> Second:
        """Return a second of columns that are objects."""
        members = MemberColumns.of([member for column in columns for member in column.members])
        legs = tuple([len(column.members) for column in columns])
        return cls(members, legs, tuple([column.capacity for column in columns]), busy, timed=timed, rated=rated)

    @property
    def members(self) -> MemberColumns:
        """The figures of all members."""
        members = self._members
        if members is None:  # the rows had them before
            members = self._members = cast("MemberColumns", MemberColumns.read(self.names, cast("Columns", self._rows)))
        return members

    def settle(self) -> bool:
        """Drop figures that can be read again: there is a newer second. Return whether this is the first call.

        Figures that were read again stay: their reader will ask again in the next windows.
        """
        first, self._settled = not self._settled, True
        if first and self._rows is not None:
            self._members = None
        return first

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the result of `make`, cached because each second is judged in several windows."""
        memo = self._memo
        if key not in memo:
            memo[key] = make()
        found: V = memo[key]
        return found

    @property
    def columns(self) -> tuple[StripeColumn, ...]:
        """The columns, made when they are asked for."""
        members = iter(self.members.each())
        return tuple(
            StripeColumn(tuple(islice(members, legs)), capacity)
            for legs, capacity in zip(self.legs, self.capacities, strict=True)
        )

    def by_column(self, figures: Sequence[float]) -> Sequence[Sequence[float]]:
        """Return figures of the members, column by column."""
        left = iter(figures)
        return [tuple(islice(left, legs)) for legs in self.legs]

    @property
    def is_plain(self) -> bool:
        """Whether each column has one member."""
        return len(self.legs) == len(self.names)

    @property
    def queues(self) -> Sequence[float]:
        """Mean queue of the legs of each column, because a write waits on all of them but counts once."""
        queues = self.members.queues
        return queues if self.is_plain else [added(legs) / len(legs) for legs in self.by_column(queues)]

    @property
    def ios(self) -> Sequence[float]:
        """Requests per second of each column: reads of all legs, and each write once."""
        reads, writes = self.members.reads, self.members.writes
        if self.is_plain:
            return list(map(operator.add, reads, writes))
        return [added(a) + max(b) for a, b in zip(self.by_column(reads), self.by_column(writes), strict=True)]

    def busy_times(self, counted: float = 1.0) -> Sequence[float]:
        """Mean busy time of the legs, 0..1, where the kernel counts this share of the time with a long queue.

        A disk with q outstanding requests on average is busy for q of the time at most. Linux 5.0 to 6.9 counts a whole
        jiffy (4 ms) for each request that is alone: up to three times the busy time of flash with few requests.
        """
        members = zip(self.members.busy, self.members.queues, strict=True)
        busy = [min(1.0, busy / counted, queue) for busy, queue in members]
        return busy if self.is_plain else [added(legs) / len(legs) for legs in self.by_column(busy)]


class StripeLimits(Struct, frozen=True):
    """Thresholds for judging stripe columns.

    The defaults were fitted on simulated arrays (`tests/arrays/scenarios.py`), and are measured by
    `tests/analysis/test_detection.py`.
    """

    columns: float = 4
    """Minimum number of stripe columns for a convoy or a hot column."""
    seconds: float = 8
    """Minimum number of seconds to judge."""
    queue: float = 4.0
    """Outstanding requests in the array below which a second is too small a sample."""
    ios: float = 40.0
    """Requests per second below which a second is too small a sample."""
    active: float = 0.7
    """Minimum share of large enough seconds; streams that wait for their responses never pause."""
    deficit: float = 0.05
    """Deficit of a crowded second, rotational members."""
    deficit_flash: float = 0.1
    """Deficit of a crowded second, other members, whose busy time is less accurate."""
    top_share: float = 1.8
    """Top share of a crowded second with four columns."""
    top_share_slope: float = 0.2
    """Increase of `top_share` for each doubling of the number of columns."""
    sharpness: float = 0.1
    """Deficit that a top share of e times its limit offsets, to find a small crowd beside much other load."""
    crowded: float = 0.6
    """Minimum share of crowded seconds."""
    moving: float = 0.55
    """Standing of the crowd below which it moves."""
    fixed: float = 0.8
    """Standing of the crowd above which it stays."""
    hot_ios: float = 2.5
    """Request rate of a hot column, as a multiple of the median of the other columns."""
    hot_busy: float = 0.7
    """Minimum busy time of a hot column."""
    equal_ios: float = 1.5
    """Ratio below which shares of I/O count as equal."""
    slow_wait: float = 3.0
    """Wait of a slow disk, as a multiple of the median of its peers."""
    slow_of_three: float = 4.0
    """Wait of a slow disk with only two peers, as a multiple of the longer of their waits."""
    slow_of_two: float = 4.0
    """Wait for writes of a slow mirror leg or path, as a multiple of the other one's, of two."""
    slow_far: float = 8.0
    """Wait of a slow disk whose busy time proves nothing, as a multiple of the median of its peers, over a minute."""
    slow_sudden: float = 20.0
    """Wait of a disk in each of a few seconds, as a multiple of the median of its peers, that is slow without more."""
    slow_once: float = 10.0
    """Wait of a slow disk, as a multiple of that of each peer, if a single sample is all there is."""
    slow_service: float = 2.0
    """Busy time per request of a slow disk, as a multiple of the median of its peers."""
    slow_seek: float = 0.02
    """Maximum busy time per request, in seconds, that seeks of a rotational disk explain."""
    slow_seeking: float = 2.5
    """Busy time per request that is slow if the peers seek as well, as a multiple of theirs.

    Including the rotation, the longest seeks of a disk take 2.4 times as long as the shortest.
    """
    slow_turn: float = 0.002
    """Minimum time of a seeking request in seconds, without the transfer: half a rotation of the fastest disks."""
    slow_varies: float = 0.5
    """Maximum variance of the peers' requests, in squares of their mean, at which all peers are seeking."""
    slow_samples: float = 16
    """Minimum number of peer readings for that conclusion."""
    slow_excess: float = 0.005
    """Minimum excess wait in seconds, rotational members."""
    slow_excess_flash: float = 0.0005
    """Minimum excess wait in seconds, other members."""
    slow_ios: float = 2.0
    """Minimum number of requests per second for judging a disk's wait."""
    unequal: float = 1.25
    """Ratio of the largest to the smallest column capacity above which the load cannot be even."""


_HELP = {
    "columns": ("fewest stripe columns for a convoy or a hot member", ""),
    "queue": ("requests outstanding in the array, below which a second is not judged", ""),
    "ios": ("requests per second, below which a second is not judged", "per_second"),
    "deficit": ("share of the columns expected busy that were idle, rotational members", "ratio"),
    "deficit_flash": ("share of the columns expected busy that were idle, flash members", "ratio"),
    "top_share": ("longest queue, as a multiple of the mean", ""),
    "crowded": ("share of seconds that must be crowded", "ratio"),
    "moving": ("share of the queue's pattern that stays in each second, below which it moves", "ratio"),
    "fixed": ("share of the queue's pattern that stays in each second, above which it is fixed", "ratio"),
    "hot_ios": ("requests of a hot column, as a multiple of the others' median", ""),
    "equal_ios": ("ratio below which a member's share of I/O equals its peers'", ""),
    "slow_wait": ("wait of a slow disk, as a multiple of its peers' median", ""),
    "slow_of_three": ("wait of a slow disk of three, as a multiple of the longer of the others'", ""),
    "slow_of_two": ("wait for writes of a slow mirror leg or path, as a multiple of the other one's", ""),
    "slow_far": ("wait of a slow disk over a minute without busy times, as a multiple of its peers' median", ""),
    "slow_once": ("wait of a slow disk in a single sample, as a multiple of its peers' longest", ""),
    "slow_service": ("busy time per request of a slow disk, as a multiple of its peers' median", ""),
    "slow_excess": ("wait of a slow disk beyond its peers', rotational members", "seconds"),
    "slow_excess_flash": ("wait of a slow disk beyond its peers', flash members", "seconds"),
}

SLOW = (
    "slow_wait", "slow_of_three", "slow_of_two", "slow_far", "slow_once", "slow_service", "slow_excess",
    "slow_excess_flash", "equal_ios",
)  # fmt: skip
"""Names of the thresholds for slow members."""


def thresholds(*names: str) -> tuple[Threshold, ...]:
    """Return the named limits as configurable thresholds."""
    defaults = StripeLimits()
    return tuple(Threshold(name, getattr(defaults, name), *_HELP[name]) for name in names)
