"""Rates of all disks between two samples, as columns: each worked out when first read, a row when asked for.

A node has a thousand disks, of which each rule reads a few figures. A row is defined by
`sdstop.readings.disk.activity`; a column has the same figures, to the last bit. Rows that are not plain (a counter that
was reset, a time that wrapped) are made by that function alone.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import compress, count, repeat
from typing import Any

from sdstop.core import lanes
from sdstop.core.columns import Columns, Places, fields_of
from sdstop.core.model import Reading
from sdstop.readings.disk import DISKSTATS, SECTOR, DiskActivity, activity

_COUNTS = ("reads", "reads_merged", "read_sectors", "writes", "writes_merged", "write_sectors")
_TIMES = ("read_time", "write_time", "io_time", "weighted_time")
_DISCARDS = ("discards", "discards_merged", "discard_sectors", "discard_time")
_FLUSHES = ("flushes", "flush_time")
_MANY = 256
"""Rows asked for one by one, after which all are made from columns: it takes as long."""


class DiskRates(Columns):
    """Activity of the devices in two samples that is known; see the module."""

    __slots__ = (
        "_after", "_aged", "_before", "_every", "_kept", "_made", "_odd", "_seconds", "_settled", "_sorted", "_steps",
        "_untimed",
    )  # fmt: skip

    def __init__(self, before: Columns, after: Columns, seconds: float) -> None:
        """Keep both samples of counters, taken `seconds` apart."""
        self.family = DiskActivity
        self.derived = True
        self._memo = {}
        self._columns = {}
        self._before, self._after, self._seconds = before, after, seconds
        self._made: dict[Hashable, DiskActivity | None] = {}
        self._every: Sequence[DiskActivity] | None = None
        self._steps: _Steps | None = None
        self._settled = self._aged = self._sorted = False

    def __getattr__(self, name: str) -> Any:
        """Find out which rows there are, and which are not plain, when that is first asked. Raises AttributeError."""
        if name not in {"index", "_kept", "_odd", "_untimed"}:
            raise AttributeError(name)
        steps = self._stepped()
        odd = {place: self._derived(key) for place, key in steps.odd()}
        self._odd: Mapping[int, DiskActivity | None] = odd
        self._untimed: Sequence[int] = steps.untimed()
        unknown = [place for place, row in odd.items() if row is None]
        index: Mapping[Hashable, int] = steps.index
        self._kept: Sequence[bool] | None = None
        if unknown:
            kept = [True] * len(index)
            for place in unknown:
                kept[place] = False
            self._kept = kept
            index = Places(zip(compress(index, kept), count()))
        self.index = index
        self._sorted = True
        return getattr(self, name)

    @property
    def most(self) -> int:
        """Number of devices in the later sample."""
        return len(self._after.index)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a field, in the order of the rows. Raises KeyError."""
        known = self._columns.get(name)
        if known is None:
            kept, odd, untimed = self._kept, self._odd, self._untimed
            known = _COLUMNS[name](self._stepped())
            if untimed and name in _TIMED:
                known = list(known)
                for place in untimed:
                    known[place] = None
            if odd:
                known = list(known)
                for place, row in odd.items():
                    known[place] = getattr(row, name, None)
            if kept is not None:
                known = list(compress(known, kept))
            if not self._aged:
                self._columns[name] = known = _slim(name, known) if self._settled else known
        return known

    _cells = column

    def _stepped(self) -> _Steps:
        steps = self._steps
        if steps is None:
            steps = _Steps(self._before, self._after, self._seconds)
            if not self._settled:
                self._steps = steps
        return steps

    def value(self, key: Hashable, name: str) -> Any:
        """Return a field of a row, None without such a row; of an old sample no column is made for it."""
        if self._aged and self._every is None:
            row = self.get(key)
            return None if row is None else getattr(row, name)
        return super().value(key, name)

    def at(self, keys: Sequence[Hashable], names: Sequence[str]) -> list[list[Any]]:
        """Return fields of the rows with these keys, field by field; None without such a row."""
        if self._aged and len(keys) * len(names) < _MANY and self._every is None:
            return fields_of([self.get(key) for key in keys], names)
        return super().at(keys, names)

    def picked(self, keys: tuple[Hashable, ...], names: Sequence[str]) -> Sequence[Sequence[Any]] | None:
        """Return fields of these rows, field by field; of an old sample no column is kept for it."""
        if not self._aged:
            return super().picked(keys, names)
        if len(keys) >= _MANY:
            return self.young().picked(keys, names)
        if self._are_plain(keys):
            steps = _Steps(self._before, self._after, self._seconds, keys)
            return [_COLUMNS[name](steps) for name in names]
        rows = [self.get(key) for key in keys]
        return None if any(row is None for row in rows) else fields_of(rows, names)

    def _are_plain(self, keys: Sequence[Hashable]) -> bool:
        """Return whether the rows with these keys are there and known to be plain."""
        if not self._sorted or self._kept is not None:
            return False
        places = set(map(self.index.get, keys))
        return None not in places and places.isdisjoint(self._odd) and places.isdisjoint(self._untimed)

    def __getitem__(self, key: Hashable) -> Reading:
        row: Reading | None = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return a row, or `default` without one."""
        made, every = self._made, self._every
        if every is not None:
            place = self.index.get(key)
            return default if place is None else every[place]
        if key in made:
            row = made[key]
        elif len(made) >= _MANY:
            self.every()
            return self.get(key, default)
        else:
            row = self._derived(key)
            if not self._aged:
                made[key] = row
        return default if row is None else row

    def _derived(self, key: Hashable) -> DiskActivity | None:
        """Return what two rows of counters say of a device, None if nothing or without one of them."""
        before, after = self._before.get(key), self._after.get(key)
        return None if before is None or after is None else activity(before, after, self._seconds)

    def row(self, place: int) -> Reading:
        """Return the row at a place."""
        return self._rows()[place]

    def every(self) -> Iterable[Reading]:
        """Return the rows in order."""
        return self._rows()

    def _rows(self) -> Sequence[DiskActivity]:
        every = self._every
        if every is None:
            every = list(map(DiskActivity, *map(self.column, DiskActivity.__struct_fields__)))
            if not self._aged:
                self._every = every
        return every

    def settle(self) -> None:
        """Keep the columns in a third of the memory, and not the differences that they were made from."""
        if not self._settled:
            self._settled, self._steps, self._every = True, None, None
            self._columns = {name: _slim(name, column) for name, column in list(self._columns.items())}

    def age(self) -> None:
        """Drop columns and rows, which follow from the counters."""
        self._settled = self._aged = True
        self._made, self._columns, self._steps, self._every = {}, {}, None, None

    def aged(self) -> Columns:
        """Return the same rows in a table that keeps no results."""
        found = DiskRates(self._before, self._after, self._seconds)
        found.index, found._kept, found._odd, found._untimed = self.index, self._kept, self._odd, self._untimed
        found._sorted = True
        found.age()
        return found

    def young(self) -> Columns:
        """Return the same rows in a table that keeps its results."""
        return DiskRates(self._before, self._after, self._seconds) if self._aged else self


_OTHERS = frozenset({"device", "in_flight", "origin"})
"""Fields that are not fractions."""


def _slim(name: str, column: Sequence[Any]) -> Sequence[Any]:
    """Return a column of fractions that are all known in its smallest form."""
    return array("d", column) if name not in _OTHERS and type(column) is list and None not in column else column


class _Steps:
    """Differences of the counters of the devices that are in both samples, in the order of the later one."""

    def __init__(self, before: Columns, after: Columns, seconds: float, of: Sequence[Hashable] | None = None) -> None:
        """Take the devices, or these `of` them; differences of a counter are worked out when they are first asked."""
        self.seconds = seconds
        self._before, self._after, self._of = before, after, of
        self._old: Sequence[int] | None = None
        self._new: Sequence[int] | None = None
        self.index: Mapping[Hashable, int] = after.index
        if of is not None:
            self.index = Places(zip(of, count()))
        elif seconds <= 0:
            self.index, self._old, self._new = {}, (), ()
        elif before.index is not after.index:
            keys = [key for key in after.index if key in before.index]
            self._old = [before.index[key] for key in keys]
            self._new = [after.index[key] for key in keys]
            self.index = Places(zip(keys, count()))
        self._known: dict[str, Sequence[Any]] = {}
        self._counts: dict[Sequence[str], bool] = {}
        self._back = set[int]()
        """Places of the devices of which a counter went back."""

    def old(self, name: str) -> Sequence[Any]:
        """Return a counter of the earlier sample."""
        if self._of is not None:
            return self._before.at(self._of, (name,))[0]
        column = self._before.column(name)
        return column if self._old is None else [column[place] for place in self._old]

    def new(self, name: str) -> Sequence[Any]:
        """Return a counter of the later sample."""
        if self._of is not None:
            return self._after.at(self._of, (name,))[0]
        column = self._after.column(name)
        return column if self._new is None else [column[place] for place in self._new]

    def by(self, name: str) -> Sequence[int]:
        """Return the differences of a counter; where it went back, 0."""
        found = self._known.get(name)
        if found is None:
            old, new = self.old(name), self.new(name)
            found = lanes.differences(new, old)
            self._known[name] = found = self._one_by_one(old, new) if found is None else found
        return found

    def _one_by_one(self, old: Sequence[int], new: Sequence[int]) -> Sequence[int]:
        """Return the differences of two columns, and note where one went back."""
        found = [0] * len(new) if old is new else list(map(operator.sub, new, old))
        if found and min(found) < 0:
            self._back.update(place for place, step in enumerate(found) if step < 0)
            found = [max(step, 0) for step in found]
        return found

    def counts(self, optional: Sequence[str]) -> bool:
        """Return whether counters that only some kernels have are known of all devices."""
        found = self._counts.get(optional)
        if found is None:
            columns = (column(name) for column in (self.old, self.new) for name in optional)
            found = self._counts[optional] = all(map(_is_whole, columns))
        return found

    @property
    def completed(self) -> Sequence[int]:
        """Requests that were completed."""
        return self._summed("completed", "reads", "writes", "discards")

    @property
    def moved(self) -> Sequence[int]:
        """Bytes that were read, written or discarded."""
        found = self._known.get("moved")
        if found is None:
            sectors = self._summed("sectors", "read_sectors", "write_sectors", "discard_sectors")
            found = self._known["moved"] = [each * SECTOR for each in sectors]
        return found

    @property
    def took(self) -> Sequence[int]:
        """Milliseconds that the requests took, added up."""
        return self._summed("took", "read_time", "write_time", "discard_time")

    def _summed(self, key: str, reads: str, writes: str, discards: str) -> Sequence[int]:
        found = self._known.get(key)
        if found is None:
            columns = [self.by(reads), self.by(writes), *([self.by(discards)] if self.counts(_DISCARDS) else [])]
            found = lanes.sums(columns)
            self._known[key] = found = list(map(sum, zip(*columns, strict=True))) if found is None else found
        return found

    def odd(self) -> Iterable[tuple[int, Hashable]]:
        """Return the places and keys of the devices whose differences do not say all."""
        odd = set[int]()
        names: list[str] = [*_COUNTS, *_TIMES]
        for optional in (_DISCARDS, _FLUSHES):
            if self.counts(optional):
                names += optional
            elif not all(_is_unknown(column(name)) for column in (self.old, self.new) for name in optional):
                return list(enumerate(self.index))
        for name in names:
            self.by(name)
        odd |= self._back
        for name in ("major", "minor"):
            old, new = self.old(name), self.new(name)
            if old is not new:
                odd.update(compress(range(len(new)), map(operator.ne, old, new)))
        keys = list(self.index)
        return [(place, keys[place]) for place in sorted(odd)]

    def untimed(self) -> Sequence[int]:
        """Return the places of devices with requests whose times never advanced (md before kernel 5.12)."""
        busy = self.new("io_time")
        if 0 not in busy:
            return ()
        others = list(map(self.new, ("weighted_time", "read_time", "write_time")))
        done = list(map(self.new, ("reads", "writes")))
        return [
            place
            for place, time in enumerate(busy)
            if not time and any(column[place] for column in done) and not any(column[place] for column in others)
        ]


def _is_whole(column: Sequence[Any]) -> bool:
    """Return whether every value is known."""
    return isinstance(column, array) or None not in column


def _is_unknown(column: Sequence[Any]) -> bool:
    """Return whether no value is known."""
    return not isinstance(column, array) and all(value is None for value in column)


_Column = Callable[[_Steps], Sequence[Any]]


def _rate(name: str) -> _Column:
    """Return how a counter becomes a rate."""
    return lambda steps: [each / steps.seconds for each in steps.by(name)]


def _bytes(name: str) -> _Column:
    """Return how sectors become bytes per second."""
    return lambda steps: [each * SECTOR / steps.seconds for each in steps.by(name)]


def _seconds(name: str) -> _Column:
    """Return how milliseconds become a share of the time."""
    return lambda steps: [each / 1000 / steps.seconds for each in steps.by(name)]


def _merged(merged: str, requests: str) -> _Column:
    """Return how merged and issued requests become a share."""

    def made(steps: _Steps) -> Sequence[float | None]:
        pairs = zip(steps.by(merged), steps.by(requests), strict=True)
        return [each / (each + issued) if each or issued else None for each, issued in pairs]

    return made


def _wait(time: str, requests: str) -> _Column:
    """Return how milliseconds and requests become the seconds of one."""

    def made(steps: _Steps) -> Sequence[float | None]:
        pairs = zip(steps.by(time), steps.by(requests), strict=True)
        return [spent / done / 1000 if done else None for spent, done in pairs]

    return made


def _size(sectors: str, requests: str) -> _Column:
    """Return how sectors and requests become the bytes of one."""

    def made(steps: _Steps) -> Sequence[float | None]:
        pairs = zip(steps.by(sectors), steps.by(requests), strict=True)
        return [each * SECTOR / done if done else None for each, done in pairs]

    return made


def _counted(names: Sequence[str], column: _Column) -> _Column:
    """Return a column that is unknown where the kernel does not count its requests."""
    return lambda steps: column(steps) if steps.counts(names) else [None] * len(steps.index)


def _mean_wait(steps: _Steps) -> Sequence[float | None]:
    pairs = zip(steps.took, steps.completed, strict=True)
    return [spent / done / 1000 if done else None for spent, done in pairs]


_TIMED = frozenset({"read_wait", "write_wait", "discard_wait", "flush_wait", "queue", "busy", "wait"})
"""Fields that are unknown of a device whose times are not counted."""
_COLUMNS: Mapping[str, _Column] = {
    "device": lambda steps: steps.new("device"),
    "reads_per_second": _rate("reads"),
    "read_bytes_per_second": _bytes("read_sectors"),
    "reads_merged_per_second": _rate("reads_merged"),
    "reads_merged_ratio": _merged("reads_merged", "reads"),
    "read_wait": _wait("read_time", "reads"),
    "read_size": _size("read_sectors", "reads"),
    "writes_per_second": _rate("writes"),
    "write_bytes_per_second": _bytes("write_sectors"),
    "writes_merged_per_second": _rate("writes_merged"),
    "writes_merged_ratio": _merged("writes_merged", "writes"),
    "write_wait": _wait("write_time", "writes"),
    "write_size": _size("write_sectors", "writes"),
    "discards_per_second": _counted(_DISCARDS, _rate("discards")),
    "discard_bytes_per_second": _counted(_DISCARDS, _bytes("discard_sectors")),
    "discards_merged_per_second": _counted(_DISCARDS, _rate("discards_merged")),
    "discards_merged_ratio": _counted(_DISCARDS, _merged("discards_merged", "discards")),
    "discard_wait": _counted(_DISCARDS, _wait("discard_time", "discards")),
    "discard_size": _counted(_DISCARDS, _size("discard_sectors", "discards")),
    "flushes_per_second": _counted(_FLUSHES, _rate("flushes")),
    "flush_wait": _counted(_FLUSHES, _wait("flush_time", "flushes")),
    "queue": _seconds("weighted_time"),
    "busy": _seconds("io_time"),
    "completed_per_second": lambda steps: [each / steps.seconds for each in steps.completed],
    "wait": _mean_wait,
    "size": lambda steps: [
        each / done if done else None for each, done in zip(steps.moved, steps.completed, strict=True)
    ],
    "in_flight": lambda steps: steps.new("in_flight"),
    "origin": lambda steps: list(repeat(DISKSTATS, len(steps.index))),
}
"""How each field follows from the counters; in whole, `sdstop.readings.disk.activity`."""
