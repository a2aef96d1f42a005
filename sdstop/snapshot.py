"""Snapshot: every collector's latest run at one moment, as tables of readings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from sdstop.evidence import Outcome
from sdstop.model import Derivation, Reading, Rows

R = TypeVar("R", bound=Reading)


class Derived(Mapping[Hashable, Reading]):
    """Rows that follow from two runs, made when asked for. Only rows that both runs have can be derived."""

    def __init__(self, derivation: Derivation, before: Rows, after: Rows, seconds: float) -> None:
        """Keep both tables; `seconds` lie between the two reads."""
        self._make = derivation.make
        self._before = before
        self._after = after
        self._seconds = seconds
        self._made: dict[Hashable, Reading | None] = {}

    def __getitem__(self, key: Hashable) -> Reading:
        made = self._made
        if key not in made:
            before, after = self._before.get(key), self._after.get(key)
            made[key] = None if before is None or after is None else self._make(before, after, self._seconds)
        row = made[key]
        if row is None:
            raise KeyError(key)
        return row

    def __iter__(self) -> Iterator[Hashable]:
        return (key for key in self._after if self.get(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def forget(self) -> None:
        """Drop what was made; it is made again if somebody looks back."""
        self._made.clear()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a collector.

    `started` is monotonic, `taken` and `since` (when this outcome began) Unix seconds; `duration` None: not
    known, or still hanging. `seconds` lie between this run and the good one before it, None for the first.
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
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    """What others worked out of this run alone, kept while a window may ask for it again."""

    @property
    def ok(self) -> bool:
        """Whether the run brought readings."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The node at one frame.

    `taken` is Unix time, `monotonic` seconds; `runs` holds the latest run of each collector by name.
    A collector that has not finished its first run is not among them.
    """

    number: int
    taken: float
    monotonic: float
    runs: Mapping[str, Run]
    by_family: Mapping[type[Reading], Run] = field(repr=False, default_factory=dict)

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


def snapshot(number: int, taken: float, monotonic: float, runs: Mapping[str, Run]) -> Snapshot:
    """Make a snapshot; a family that two collectors bring is taken from the first that has rows."""
    by_family: dict[type[Reading], Run] = {}
    for run in runs.values():
        for family, rows in run.tables.items():
            if family not in by_family or (not by_family[family].tables[family] and rows):
                by_family[family] = run
    return Snapshot(number, taken, monotonic, runs, by_family)
