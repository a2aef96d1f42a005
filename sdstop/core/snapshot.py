"""Snapshot: every collector's latest run at one moment, as tables of readings."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.evidence import Outcome
from sdstop.core.model import Derivation, Reading, Rows, schema

R = TypeVar("R", bound=Reading)

LARGE = 64
"""Rows from which on a table of an old run is packed, and of which it keeps as many as were asked for again."""


class Derived(Mapping[Hashable, Reading]):
    """Rows that follow from two runs, made when asked for. Only rows that both runs have can be derived."""

    def __init__(self, derivation: Derivation, before: Rows, after: Rows, seconds: float) -> None:
        """Keep both tables; `seconds` lie between the two reads."""
        self._make = derivation.make
        self._before = before
        self._after = after
        self._seconds = seconds
        self._made: dict[Hashable, Reading | None] = {}
        self._aged = False

    def __getitem__(self, key: Hashable) -> Reading:
        row: Reading | None = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return a row, `default` if it cannot be derived."""
        made = self._made
        if key in made:
            row = made[key]
        else:
            before, after = self._before.get(key), self._after.get(key)
            row = None if before is None or after is None else self._make(before, after, self._seconds)
            if not self._aged or len(made) < LARGE:
                made[key] = row
        return default if row is None else row

    def __iter__(self) -> Iterator[Hashable]:
        made, get = self._made, self.get
        return (key for key in self._after if (made[key] if key in made else get(key)) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether there are any rows, which takes one of them."""
        return any(True for _ in self)

    @property
    def large(self) -> bool:
        """Whether there are as many rows as `age` packs."""
        return len(self._after) >= LARGE

    def age(self, packed: Sequence[tuple[Rows, Packed]]) -> None:
        """Let go of the rows that were made, and of tables that were packed keep the packed form."""
        self._aged = True
        self._made = {}
        for rows, small in packed:
            self._before = small if self._before is rows else self._before
            self._after = small if self._after is rows else self._after


class Packed(Mapping[Hashable, Reading]):
    """Rows as columns of plain numbers: a fifth of their size. Each row is made when it is asked for."""

    def __init__(self, family: type[Reading], rows: Rows, like: Packed | None = None) -> None:
        """Pack rows; what is the same in `like` is shared with it."""
        self.family = family
        self.index: Mapping[Hashable, int] = {key: place for place, key in enumerate(rows)}
        known: Sequence[Sequence[Any] | None] = [None] * len(schema(family).columns)
        if like is not None and list(like.index) == list(rows):
            self.index, known = like.index, like.columns
        self._names = tuple(column.name for column in schema(family).columns)
        getters = [operator.attrgetter(name) for name in self._names]
        self.columns: list[Sequence[Any]] = [
            _packed(list(map(get, rows.values())), old) for get, old in zip(getters, known, strict=True)
        ]

    def __getitem__(self, key: Hashable) -> Reading:
        place = self.index[key]
        make: Any = self.family
        row: Reading = make(**{name: column[place] for name, column in zip(self._names, self.columns, strict=True)})
        return row

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)


class Joined(Mapping[Hashable, Reading]):
    """Rows of one family that several runs brought, in the runs' order; of equal keys the first run's row."""

    def __init__(self, family: type[Reading], runs: Sequence[Run]) -> None:
        """Keep the runs, not their tables: these are packed when they are old."""
        self._family = family
        self._runs = tuple(runs)

    def of(self, runs: Sequence[Run]) -> bool:
        """Whether these are the runs whose rows it has."""
        return len(runs) == len(self._runs) and all(map(operator.is_, runs, self._runs))

    def __getitem__(self, key: Hashable) -> Reading:
        for run in self._runs:
            row = run.tables[self._family].get(key)
            if row is not None:
                return row
        raise KeyError(key)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(dict.fromkeys(key for run in self._runs for key in run.tables[self._family]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether there are any rows."""
        return any(run.tables[self._family] for run in self._runs)


def _packed(values: list[Any], known: Sequence[Any] | None) -> Sequence[Any]:
    """Return a column in its smallest form, `known` if that is the same."""
    column: Sequence[Any] = values
    if type(values[0]) is int:
        for width in ("I", "q"):  # 32 bits hold most counts and all times
            try:
                column = array(width, values)
                break
            except OverflowError:
                continue
            except TypeError:  # None among the numbers
                break
    return known if known is not None and known == column else column


class Run(Struct, frozen=True, eq=False):
    """One run of a collector.

    `started` and `began` (when this outcome did) are monotonic, `taken` and `since` (the same as `began`) Unix
    seconds; `duration` None: not known, or still hanging. `seconds` lie between this run and the good one before
    it, None for the first. `reason` says why the run was not good, or what a good one lacks.
    `tables` hold the readings by family; `last` is the last good run where this one is not.
    """

    collector: str
    outcome: Outcome
    reason: str
    started: float
    taken: float
    since: float
    duration: float | None = None
    seconds: float | None = None
    tables: Mapping[type[Reading], Rows] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    last: Run | None = None
    recorded: bool = True
    began: float = 0.0
    memo: dict[Hashable, Any] = field(default_factory=dict)
    """What others worked out of this run alone, kept while a window may ask for it again."""

    @property
    def ok(self) -> bool:
        """Whether the run brought readings."""
        return self.outcome is Outcome.OK

    @property
    def partial(self) -> bool:
        """Whether it brought readings, and lacks what was denied; `reason` says what."""
        return self.ok and bool(self.reason)

    @property
    def word(self) -> str:
        """The outcome as people are told it: what lacks something is not called ok."""
        return "partly" if self.partial else self.outcome.value


class Snapshot(Struct, frozen=True, eq=False):
    """The node at one frame.

    `taken` is Unix time, `monotonic` seconds; `runs` holds the latest run of each collector by name.
    A collector that has not finished its first run is not among them.
    """

    number: int
    taken: float
    monotonic: float
    runs: Mapping[str, Run]
    by_family: Mapping[type[Reading], Run] = field(default_factory=dict)

    def run_of(self, family: type[Reading]) -> Run | None:
        """Return the good run that has this family's rows, None if no collector brought any."""
        return self.by_family.get(family)

    def rows(self, family: type[R]) -> Mapping[Hashable, R]:
        """Return a family's rows by identity, empty where there are none (ask `run_of` why)."""
        run = self.by_family.get(family)
        return cast("Mapping[Hashable, R]", run.tables[family]) if run is not None else {}

    def get(self, family: type[R], key: Hashable) -> R | None:
        """Return one row, None if it is not there."""
        return self.rows(family).get(key)


def age(run: Run, newer: Run, before: Sequence[tuple[Rows, Packed]]) -> Sequence[tuple[Rows, Packed]]:
    """Pack the large tables of a run that is seldom looked at from now on, but for those that `newer` has too.

    Return them with their packed form; `before` is what was returned for the run before.
    """
    tables = cast("dict[type[Reading], Rows]", run.tables)
    done: list[tuple[Rows, Packed]] = []
    for family, rows in tables.items():
        if isinstance(rows, dict) and len(rows) >= LARGE and newer.tables.get(family) is not rows:
            like = next((packed for _, packed in before if packed.family is family), None)
            done.append((rows, Packed(family, rows, like)))
    tables.update((packed.family, packed) for _, packed in done)
    for table in tables.values():
        if isinstance(table, Derived) and table.large:
            table.age([*before, *done])
    return done or before


def snapshot(
    number: int,
    taken: float,
    monotonic: float,
    runs: Mapping[str, Run],
    before: Mapping[type[Reading], Run] | None = None,
) -> Snapshot:
    """Make a snapshot; a family that two collectors bring is taken from the first that has rows, unless it is joined.

    `before` is `by_family` of the snapshot before: as long as the same runs are joined, what they make is the same run.
    """
    by_family: dict[type[Reading], Run] = {}
    several: dict[type[Reading], list[Run]] = {}
    for run in runs.values():
        for family, rows in run.tables.items():
            if family.joined and rows:
                several.setdefault(family, []).append(run)
            if family not in by_family or (not by_family[family].tables[family] and rows):
                by_family[family] = run
    for family, found in several.items():
        if len(found) > 1:
            by_family[family] = _join(family, found, (before or {}).get(family))
    return Snapshot(number, taken, monotonic, runs, by_family)


def _join(family: type[Reading], runs: Sequence[Run], before: Run | None) -> Run:
    """Return a run with the rows of all, which counts as begun with the newest; `before` if that is the same."""
    rows = before.tables[family] if before is not None else None
    if before is not None and isinstance(rows, Joined) and rows.of(runs):
        return before
    newest = max(runs, key=lambda run: run.started)
    keys = frozenset[str]().union(*(run.keys for run in runs))
    return replace(newest, tables={family: Joined(family, runs)}, keys=keys, memo={})
