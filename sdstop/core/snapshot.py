"""Snapshot: the latest run of every collector at one point in time, as tables of readings."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core.columns import Columns
from sdstop.core.evidence import Defect, Outcome
from sdstop.core.key_set import KeySets
from sdstop.core.model import Derivation, Reading, Rows

R = TypeVar("R", bound=Reading)

LARGE = 64
"""Minimum rows of a table that is packed when its run is old."""
_AGAIN = 8
"""Derived rows of such a table that are cached again: each takes a kilobyte; rules that read many keep figures."""
REPLAYED = 512
"""The same of a capture, which is replayed in a moment: rules read each old row once, and packing costs more."""
GROUPED = "grouped"
"""Key of the groups of rows by a field among the results of a run; a run that is old has none."""


class DerivedRows(Mapping[Hashable, Reading]):
    """Lazily derived rows of two runs. Only rows present in both runs can be derived."""

    def __init__(self, derivation: Derivation, before: Rows, after: Rows, seconds: float) -> None:
        """Keep both tables; `seconds` is the time between the two reads."""
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
        """Return a row, or `default` if it cannot be derived."""
        made = self._made
        if key in made:
            row = made[key]
        else:
            before, after = self._before.get(key), self._after.get(key)
            row = None if before is None or after is None else self._make(before, after, self._seconds)
            if not self._aged or len(made) < _AGAIN:
                made[key] = row
        return default if row is None else row

    def __iter__(self) -> Iterator[Hashable]:
        made, get = self._made, self.get
        return (key for key in self._after if (made[key] if key in made else get(key)) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Return whether there are any rows; derives at most the rows up to the first one."""
        return any(True for _ in self)

    @property
    def most(self) -> int:
        """Maximum number of rows."""
        return len(self._after)

    def age(self, packed: Sequence[tuple[Rows, Columns]]) -> None:
        """Drop the derived rows, and replace source tables by their packed form where available."""
        self._aged = True
        self._made = {}
        for rows, small in packed:
            self._before = small if self._before is rows else self._before
            self._after = small if self._after is rows else self._after


def derived(derivation: Derivation, before: Rows, after: Rows, seconds: float) -> Rows:
    """Return the rows derived from two runs that were `seconds` apart."""
    if derivation.source.numerous:
        made: Rows = derivation.make(before, after, seconds)
        return made
    return DerivedRows(derivation, before, after, seconds)


def is_derived(rows: Rows) -> bool:
    """Return whether rows follow from two runs of another family, of which they state nothing new."""
    return isinstance(rows, DerivedRows) or (isinstance(rows, Columns) and rows.derived)


class MergedRows(Mapping[Hashable, Reading]):
    """Rows of one family from several runs, in the order of the runs; for equal keys the first run wins."""

    def __init__(self, family: type[Reading], runs: Sequence[Run]) -> None:
        """Keep the runs, not their tables, because tables are replaced when they are packed."""
        self._family = family
        self._runs = tuple(runs)

    def of(self, runs: Sequence[Run]) -> bool:
        """Return whether the rows are from exactly these runs."""
        return len(runs) == len(self._runs) and all(map(operator.is_, runs, self._runs))

    def __getitem__(self, key: Hashable) -> Reading:
        for run in self._runs:
            row = run.tables[self._family].get(key)
            if row is not None:
                return row
        raise KeyError(key)

    @property
    def parts(self) -> list[Rows]:
        """The tables of the runs."""
        return [run.tables[self._family] for run in self._runs]

    def __contains__(self, key: object) -> bool:
        """Return whether there is a row, without making it."""
        return any(key in rows for rows in self.parts)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(dict.fromkeys(key for run in self._runs for key in run.tables[self._family]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Return whether there are any rows."""
        return any(run.tables[self._family] for run in self._runs)


def column_parts(rows: Rows) -> Sequence[Columns]:
    """Return the tables of columns that rows consist of, in order; none if they are others, or share a key."""
    if not isinstance(rows, MergedRows):
        return [rows] if isinstance(rows, Columns) else []
    found = [part for part in rows.parts if isinstance(part, Columns)]
    whole = len(found) == len(rows.parts) and sum(map(len, found)) == len(rows)
    return found if whole else []


class Run(Struct, frozen=True, eq=False):
    """One run of a collector.

    `started` and `began` (the start of the current outcome) are monotonic seconds; `taken` and `since` are the same
    times in Unix seconds. `duration` is None if unknown or still hanging. `seconds` is the time since the previous
    successful run, None for the first. `reason` explains a failed run, or the missing data of a successful one.
    `tables` holds the readings by family; `last` is the last successful run if this one is not. `devices` and
    `is_live` are those of the collector.
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
    keys: AbstractSet[str] = frozenset()
    last: Run | None = None
    recorded: bool = True
    began: float = 0.0
    defects: tuple[Defect, ...] = ()
    """Why nothing good can be concluded from parts of its evidence."""
    devices: str = ""
    is_live: bool = True
    memo: dict[Hashable, Any] = field(default_factory=dict)
    """Cache of results derived from this run alone, kept as long as windows can request them."""

    @property
    def ok(self) -> bool:
        """Whether the run produced readings."""
        return self.outcome is Outcome.OK

    @property
    def partial(self) -> bool:
        """Whether the run produced readings but some data was denied or is in doubt; `reason` has the details."""
        return self.ok and bool(self.reason)

    @property
    def word(self) -> str:
        """The outcome for display; a partial run is not shown as ok."""
        return "partial" if self.partial else self.outcome.value


class Snapshot(Struct, frozen=True, eq=False):
    """The node at one frame.

    `taken` is Unix time, `monotonic` seconds; `runs` holds the latest run of each collector by name.
    Collectors that have not finished their first run are not included. `unread` has the first lines of recorded outputs
    that no collector reads, by key. `shared` are the families that several collectors have.
    """

    number: int
    taken: float
    monotonic: float
    runs: Mapping[str, Run]
    by_family: Mapping[type[Reading], Run] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    shared: AbstractSet[type[Reading]] = frozenset()

    def run_of(self, family: type[Reading]) -> Run | None:
        """Return the successful run with this family's rows, or None if no collector produced any."""
        return self.by_family.get(family)

    def rows(self, family: type[R]) -> Mapping[Hashable, R]:
        """Return a family's rows by identity; empty if there are none (see `run_of` for the cause)."""
        run = self.by_family.get(family)
        rows: Any = {} if run is None else run.tables[family]
        found: Mapping[Hashable, R] = rows
        return found

    def get(self, family: type[R], key: Hashable) -> R | None:
        """Return one row, or None if not present."""
        return self.rows(family).get(key)


def replaced(shot: Snapshot, newer: Snapshot) -> list[str]:
    """Return the collectors whose run in a snapshot is another one in the next."""
    runs = newer.runs
    return [name for name, run in shot.runs.items() if runs.get(name) is not run]


def settle(shot: Snapshot, names: Iterable[str]) -> None:
    """Let the tables of runs that are no longer the newest, those of these collectors, take less memory."""
    for name in names:
        for table in shot.runs[name].tables.values():
            if isinstance(table, Columns):
                table.settle()


def age(
    run: Run, newer: Run, before: Sequence[tuple[Rows, Columns]], large: int = LARGE
) -> Sequence[tuple[Rows, Columns]]:
    """Pack the tables with `large` rows of a run that is now rarely accessed, except those shared with `newer`.

    Return the tables with their packed forms; `before` is the value returned for the previous run.
    """
    run.memo.pop(GROUPED, None)
    tables = cast("dict[type[Reading], Rows]", run.tables)
    done: list[tuple[Rows, Columns]] = []
    for family, rows in tables.items():
        if isinstance(rows, dict) and len(rows) >= large and newer.tables.get(family) is not rows:
            like = next((packed for _, packed in before if packed.family is family), None)
            done.append((rows, Columns.of(family, rows, like)))
    tables.update((packed.family, packed) for _, packed in done)
    for table in tables.values():
        if isinstance(table, DerivedRows) and table.most >= large:
            table.age([*before, *done])
        elif isinstance(table, Columns) and table.most >= large:
            table.age()
    return done or before


def snapshot(
    number: int,
    taken: float,
    monotonic: float,
    runs: Mapping[str, Run],
    before: Snapshot | None = None,
) -> Snapshot:
    """Create a snapshot; a family from two collectors is taken from the first one with rows, unless it is joined.

    Of the snapshot `before`, families are reused whose runs are the same, and runs that join the same ones.
    """
    known = {} if before is None else before.by_family
    places = None if before is None else _unchanged_places(before, runs)
    if before is not None and places is not None:
        by_family, shared = dict(known), before.shared
        by_family.update((family, run) for run in places for family in run.tables if family not in shared)
        again = {family for run in places for family in run.tables if family in shared}
        if again:
            by_family.update(_chosen(runs, again, known)[0])
    else:
        by_family, shared = _chosen(runs, None, known)
    return Snapshot(number, taken, monotonic, runs, by_family, shared=shared)


def _unchanged_places(before: Snapshot, runs: Mapping[str, Run]) -> list[Run] | None:
    """Return the runs that are new since a snapshot, None if collectors or the families of one changed."""
    old = before.runs
    if old.keys() != runs.keys():
        return None
    new = [name for name, run in runs.items() if old[name] is not run]
    is_same = all(old[name].tables.keys() == runs[name].tables.keys() for name in new)
    return [runs[name] for name in new] if is_same else None


def _chosen(
    runs: Mapping[str, Run], of: AbstractSet[type[Reading]] | None, before: Mapping[type[Reading], Run]
) -> tuple[dict[type[Reading], Run], AbstractSet[type[Reading]]]:
    """Return the run that each family is taken from, and which families several have; None: of all families."""
    found: dict[type[Reading], Run] = {}
    several: dict[type[Reading], list[Run]] = {}
    shared = set[type[Reading]]()
    for run in runs.values():
        for family, rows in run.tables.items():
            if of is not None and family not in of:
                continue
            if family.joined and rows:
                several.setdefault(family, []).append(run)
            if family not in found:
                found[family] = run
                continue
            shared.add(family)
            if not found[family].tables[family] and rows:
                found[family] = run
    for family, joined in several.items():
        if len(joined) > 1:
            found[family] = _join(family, joined, before.get(family))
    return found, shared


def _join(family: type[Reading], runs: Sequence[Run], before: Run | None) -> Run:
    """Return a run with the rows of all runs and the start of the newest, or `before` if it joins the same runs."""
    rows = before.tables[family] if before is not None else None
    if before is not None and isinstance(rows, MergedRows) and rows.of(runs):
        return before
    newest = max(runs, key=lambda run: run.started)
    keys = KeySets([run.keys for run in runs])
    return replace(newest, tables={family: MergedRows(family, runs)}, keys=keys, memo={})
