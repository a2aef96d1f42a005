"""History: the most recent snapshots; Window: a sequence of them, as used by rules and views."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from sdstop.core.columns import Columns
from sdstop.core.evidence import Cite, Evidence, readable
from sdstop.core.excerpt import EXCERPT, beginning, json_excerpt, text_excerpt
from sdstop.core.families import Providers
from sdstop.core.model import Reading, Rows
from sdstop.core.snapshot import GROUPED, LARGE, Run, Snapshot, age, is_derived, replaced, settle
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology

R = TypeVar("R", bound=Reading)
V = TypeVar("V")

_NOTHING: Any = object()
"""Placeholder of a missing result: a result may be None."""
KEEP = 75.0
"""Seconds of snapshots to keep: the longest window of any rule or strip is 60."""
FEWEST = 16
"""Minimum number of snapshots to keep, whatever their age: at slow intervals windows are measured in runs."""
YOUNG = 2
"""Number of newest snapshots that are kept unpacked: rules read all rows of the newest sample, few of older ones."""

_BRIEF = "brief"

REMEMBERED = 2048
"""Runs kept per source of a `remembered` family: hours of a slow source, half an hour at 1 s."""
COURSE = 32
"""Minimum number of these that are used whatever their age: half an hour of a source read once a minute."""


class Moment(Struct, Generic[R], frozen=True):
    """Rows of a family from one run.

    `started` is in monotonic, `taken` in Unix seconds; `seconds` is the time since the previous run.
    """

    started: float
    taken: float
    seconds: float | None
    rows: Mapping[Hashable, R]
    memo: dict[Hashable, Any]

    def brief(self, key: Hashable) -> dict[Hashable, Any]:
        """Return a cache of results that windows of seconds share; it is emptied when FEWEST snapshots are newer."""
        caches: dict[Hashable, dict[Hashable, Any]] = self.memo.setdefault(_BRIEF, {})
        return caches.setdefault(key, {})


class Window(Struct, frozen=True, eq=False):
    """Non-empty sequence of snapshots, oldest first, with access to the raw evidence of the newest."""

    snapshots: tuple[Snapshot, ...]
    evidence: Callable[[str], Evidence | None]
    providers: Providers
    past: Past | None = None
    topologies: Topologies = field(default_factory=Topologies)
    distinct: DistinctRuns = field(default_factory=lambda: DistinctRuns())  # noqa: PLW0108  # defined below
    _memo: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def now(self) -> Snapshot:
        """The newest snapshot."""
        return self.snapshots[-1]

    @property
    def seconds(self) -> float:
        """Time between the oldest and the newest snapshot."""
        return self.now.monotonic - self.snapshots[0].monotonic

    def last(self, seconds: float) -> Window:
        """Return the part that is at most `seconds` old, with half a second of tolerance for jitter."""
        start = self.now.monotonic - seconds - 0.5
        kept = tuple(s for s in self.snapshots if s.monotonic >= start)
        return Window(kept, self.evidence, self.providers, self.past, self.topologies, self.distinct)

    @property
    def topology(self) -> Topology:
        """The graph of things at the window's end; that of a source that fails is from its last successful run."""
        return self.once("topology", lambda: self.topologies.of(_tables(self.now)))

    def topology_of(self, shot: Snapshot) -> Topology:
        """Return the graph of things as of an older snapshot of this window, for what has left since."""
        return self.topologies.earlier(shot.number, _tables(shot))

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the result of `make`, called once per window: rules share expensive results."""
        found: V = self._memo.get(key, _NOTHING)
        if found is _NOTHING:
            found = self._memo[key] = make()
        return found

    def of_run(self, family: type[Reading], key: Hashable, make: Callable[[], V]) -> V:
        """Return the result of `make`, called once per run that produced a family's newest rows.

        For results derived from these rows alone: those of slow sources stay valid for many windows.
        """
        run = self.now.run_of(family)
        if run is None:
            return make()
        found: V = run.memo.get(key, _NOTHING)
        if found is _NOTHING:
            found = run.memo[key] = make()
        return found

    def rows(self, family: type[R]) -> Mapping[Hashable, R]:
        """Return a family's newest rows."""
        return self.snapshots[-1].rows(family)

    def get(self, family: type[R], key: Hashable) -> R | None:
        """Return one of the newest rows, or None if not present."""
        return self.now.get(family, key)

    def where(self, family: type[R], field: str, value: Hashable) -> Sequence[R]:
        """Return the newest rows with this value of a field, in order; rows are grouped by it once per run."""

        def grouped() -> dict[Hashable, tuple[R, ...]]:
            found: dict[Hashable, list[R]] = {}
            for row in self.rows(family).values():
                found.setdefault(getattr(row, field), []).append(row)
            return {each: tuple(rows) for each, rows in found.items()}

        groups: dict[Hashable, dict[Hashable, tuple[R, ...]]] = self.of_run(family, GROUPED, dict)
        known = groups.get((family, field))
        if known is None:
            known = groups[family, field] = grouped()
        return known.get(value, ())

    def moments(self, family: type[R]) -> list[Moment[R]]:
        """Return the family's distinct runs in this window, oldest first.

        A derived family has none for the first run. The list is shared and must not be modified.
        """
        return self.once(("moments", family), lambda: self.distinct.of(family, self.snapshots))

    def courses(self, family: type[R], seconds: float) -> list[list[Moment[R]]]:
        """Return the runs up to now of each collector of a `remembered` family, oldest first.

        These are the runs of the last `seconds`, and at least the last COURSE runs if the source is slow. Successful
        runs without rows are included, failed ones are not.
        """
        if self.past is None:
            return []
        return self.once(("courses", family, seconds), lambda: self._courses(family, seconds))

    def _courses(self, family: type[R], seconds: float) -> list[list[Moment[R]]]:
        now = self.now.monotonic
        past = self.past.courses(family) if self.past is not None else ()
        found = []
        for course in past:
            chosen: list[Moment[R]] = []
            for moment in reversed(course):
                if moment.started > now:
                    continue  # this window ends in the past
                if len(chosen) >= COURSE and moment.started < now - seconds - 0.5:
                    break
                chosen.append(moment)
            found.append(chosen[::-1])
        return found

    def series(self, family: type[R], key: Hashable) -> Iterator[tuple[float, R | None]]:
        """Yield (monotonic, row) of each distinct run; None where the row is missing."""
        return ((moment.started, moment.rows.get(key)) for moment in self.moments(family))

    def lasting(self, family: type[R], key: Hashable, holds: Callable[[R], bool]) -> float:
        """Return for how many seconds something has held for a row in each sample, 0 if only the newest shows it."""
        rows = list(self.series(family, key))
        since = rows[-1][0]
        for time, row in reversed(rows):
            if row is None or not holds(row):
                break
            since = time
        return rows[-1][0] - since

    def cite(self, reading: Reading, field: str = "") -> Cite | None:
        """Quote the raw evidence of a reading of the newest snapshot.

        Return None if there is nothing to show.
        """
        source = reading.source(field)
        return None if source is None else self.quote(source.key, source.needle)

    def quote(self, key: str, needle: str = "") -> Cite | None:
        """Quote the lines of a piece of evidence that contain `needle`, or else its beginning."""
        item = self.evidence(key)
        if item is None:
            return None
        if item.key == key:
            key = item.key  # the string that is held anyway
        if key.startswith("http:"):
            text, mark = json_excerpt(item.data, needle, key)
            shown = beginning(text or readable(item.data[: 2 * EXCERPT], "replace"))
            return Cite(key, self.now.number, shown, mark)
        return Cite(key, self.now.number, text_excerpt(item.data, needle, key), needle)


def _tables(shot: Snapshot) -> dict[type[Reading], Rows]:
    """Return the newest tables by family, without those that were derived from others."""
    found = {family: run.tables[family] for family, run in shot.by_family.items()}
    for run in shot.runs.values():
        for family, rows in (run.last.tables if run.last is not None else {}).items():
            found.setdefault(family, rows)
    return {family: rows for family, rows in found.items() if not is_derived(rows)}


_Course = tuple[Run, Moment[Any], int]
"""A run, its rows, and the number of the last snapshot that has it."""


class DistinctRuns:
    """Distinct runs of families in the successive windows of a history, which share all but their ends."""

    def __init__(self, young: int = YOUNG) -> None:
        """Start without windows; `young` is the number of newest snapshots that are unpacked."""
        self._young = young
        self._since = 0
        self._known: dict[type[Reading], tuple[int, Snapshot, tuple[_Course, ...]]] = {}
        """The number of the oldest snapshot that was read, the newest one, and the runs in them."""

    def forget(self, number: int) -> None:
        """Drop the runs in snapshots before this number only."""
        self._since = number
        for family in [family for family, (_, newest, _) in self._known.items() if newest.number < number]:
            del self._known[family]

    def of(self, family: type[R], snapshots: Sequence[Snapshot]) -> list[Moment[R]]:
        """Return the distinct runs in snapshots, oldest first; any thread may call this."""
        oldest, newest = snapshots[0].number, snapshots[-1]
        first, last, known = self._known.get(family, (oldest, newest, ()))
        at = next((at for at in range(len(snapshots) - 1, -1, -1) if snapshots[at] is last), -1)
        if not known or at < 0 or first > oldest:
            first, at, known = oldest, -1, ()
        gone = next((at for at, each in enumerate(known) if each[2] >= self._since), len(known))
        kept = list(known[gone:])
        unpacked = 0 if len(snapshots) - at > self._young else max(len(kept) - 2 * self._young, 0)
        for place in range(unpacked, len(kept)):
            run, moment, number = kept[place]
            if run.tables[family] is not moment.rows:  # packed since
                kept[place] = run, _moment(run, family), number
        for shot in snapshots[at + 1 :]:
            found = shot.by_family.get(family)
            if found is None:
                continue
            if kept and kept[-1][0] is found:
                kept[-1] = found, kept[-1][1], shot.number
            else:
                kept.append((found, _moment(found, family), shot.number))
        self._known[family] = max(first, self._since), newest, tuple(kept)
        start = next((at for at, each in enumerate(kept) if each[2] >= oldest), len(kept))
        return [moment for _, moment, _ in (kept[start:] if start else kept)]


def _moment(run: Run, family: type[R]) -> Moment[R]:
    rows: Any = run.tables[family]
    return Moment(run.started, run.taken, run.seconds, rows, run.memo)


class Past:
    """Long-term history of `remembered` families, by collector, for slow sources with few runs in a window.

    Histories that look back share it with the current one.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._courses: dict[tuple[type[Reading], str], deque[Moment[Any]]] = {}
        self._seen: dict[str, Run] = {}

    def add(self, shot: Snapshot) -> None:
        """Add the runs of `remembered` families in a newer snapshot."""
        for name, run in shot.runs.items():
            if self._seen.get(name) is run:
                continue
            self._seen[name] = run
            for family, rows in run.tables.items():
                if not family.remembered:
                    continue
                most = REMEMBERED if family.remembered is True else family.remembered
                course = self._courses.setdefault((family, name), deque(maxlen=most))
                if not course or run.started > course[-1].started:
                    if not rows and course and not course[-1].rows:
                        course.pop()  # keep only the last of successive runs without rows
                    course.append(Moment(run.started, run.taken, run.seconds, rows, {}))

    def courses(self, family: type[R]) -> list[list[Moment[R]]]:
        """Return the runs by collector, oldest first; unaffected by runs that another thread adds."""
        return [list(course) for (of, _), course in tuple(self._courses.items()) if of is family]


class History:
    """Ring of snapshots, long enough for every window."""

    def __init__(
        self,
        providers: Providers,
        keep: float = KEEP,
        past: Past | None = None,
        large: int = LARGE,
        topologies: Topologies | None = None,
        *,
        young: int = YOUNG,
    ) -> None:
        """Start empty; `providers` are the collectors by family.

        `past` is that of another history, which alone adds to it, for a history that looks back. Tables with `large`
        rows are packed when `young` ones are newer. `topologies` are those of a history of the same node.
        """
        self._providers = providers
        self._adds = past is None
        self.past = Past() if past is None else past
        self._keep = keep
        self._large = large
        self._young = young
        self._ring: deque[Snapshot] = deque()
        self._replaced: deque[Sequence[str]] = deque(maxlen=max(young, FEWEST))
        """The collectors whose run in a snapshot is another one in the next, of the newest snapshots but one."""
        self._packed: dict[str, Sequence[tuple[Rows, Columns]]] = {}
        self.topologies = Topologies() if topologies is None else topologies.copy()
        self._distinct = DistinctRuns(young)

    def add(self, shot: Snapshot) -> None:
        """Append a snapshot, drop the ones no longer needed, and pack older ones."""
        self._ring.append(shot)
        if self._adds:
            self.past.add(shot)
        while len(self._ring) > FEWEST and shot.monotonic - self._ring[0].monotonic > self._keep:
            self._ring.popleft()
        self._distinct.forget(self._ring[0].number)
        if len(self._ring) > 1:
            self._replaced.append(replaced(self._ring[-2], shot))
            settle(self._ring[-2], self._replaced[-1])
        if len(self._ring) > self._young:
            self._age(self._ring[-1 - self._young], self._ring[-self._young], self._replaced[-self._young])
        if len(self._ring) > FEWEST:
            for name in self._replaced[-FEWEST]:
                self._ring[-1 - FEWEST].runs[name].memo.pop(_BRIEF, None)

    def still(self) -> History:
        """Return a copy with the current snapshots."""
        copied = History(self._providers, self._keep, self.past, self._large)
        copied._ring.extend(self._ring)
        copied._replaced.extend(self._replaced)
        return copied

    def elsewhere(self, keep: float, topologies: Topologies) -> History:
        """Return an empty history of other frames of the same node, which keeps `keep` seconds of snapshots.

        `topologies` are those of the history whose frames are probably most similar.
        """
        return History(self._providers, keep, self.past, self._large, topologies)

    def _age(self, old: Snapshot, newer: Snapshot, names: Iterable[str]) -> None:
        for name in names:
            if name in newer.runs:
                self._packed[name] = age(old.runs[name], newer.runs[name], self._packed.get(name, ()), self._large)

    def window(self, evidence: Callable[[str], Evidence | None]) -> Window | None:
        """Return all snapshots as one window, or None if there are none."""
        if not self._ring:
            return None
        return Window(tuple(self._ring), evidence, self._providers, self.past, self.topologies, self._distinct)

    @property
    def numbers(self) -> range:
        """Numbers from that of the oldest frame to that of the newest one."""
        ring = tuple(self._ring)
        return range(ring[0].number, ring[-1].number + 1) if ring else range(0)

    def window_at(self, number: int, seconds: float, evidence: Callable[[str], Evidence | None]) -> Window | None:
        """Return the window of a history that keeps `seconds` and whose newest frame is `number`.

        None if this history does not hold that frame and all earlier ones of the window.
        """
        shots = [shot for shot in tuple(self._ring) if shot.number <= number]
        if not shots or shots[-1].number != number:
            return None
        start = next(at for at, shot in enumerate(shots) if shots[-1].monotonic - shot.monotonic <= seconds)
        start = min(start, max(len(shots) - FEWEST, 0))
        distinct = self._distinct if shots[-1] is self._ring[-1] else DistinctRuns()
        return Window(tuple(shots[start:]), evidence, self._providers, self.past, self.topologies, distinct)
