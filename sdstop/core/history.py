"""History: the last snapshots; Window: a run of them, as rules and views see it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct, field

from sdstop.core.evidence import Cite, Evidence, json_excerpt, readable
from sdstop.core.model import Reading, Rows
from sdstop.core.snapshot import Packed, Run, Snapshot, age

R = TypeVar("R", bound=Reading)
V = TypeVar("V")

KEEP = 75.0
"""Seconds of snapshots that are kept: the longest window of any rule or strip is 60."""
FEWEST = 16
"""Snapshots that are kept however old: at slow intervals a window is counted in runs."""
YOUNG = 4
"""Snapshots, the newest ones, of which all is kept as it was made: rules look at the last three readings."""

REMEMBERED = 2048
"""Runs of a source of which the rows of a `remembered` family are kept: hours of a slow one, half an hour at 1 s."""
COURSE = 32
"""Of these, as many are looked at however old: what is read once a minute is seen over half an hour."""

EXCERPT = 400
"""Characters of raw evidence that a finding quotes at most."""


class Moment(Struct, Generic[R], frozen=True):
    """A family's rows as one run brought them.

    `started` monotonic, `taken` Unix, `seconds` since the run before.
    """

    started: float
    taken: float
    seconds: float | None
    rows: Mapping[Hashable, R]
    memo: dict[Hashable, Any]


class Window(Struct, frozen=True, eq=False):
    """Successive snapshots, oldest first, never empty, and a look at the raw evidence of the newest."""

    snapshots: tuple[Snapshot, ...]
    evidence: Callable[[str], Evidence | None]
    providers: Mapping[type[Reading], tuple[str, ...]]
    past: Past | None = None
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
        """Return the part that is at most `seconds` (with half a second's grace for jitter) old."""
        start = self.now.monotonic - seconds - 0.5
        kept = tuple(s for s in self.snapshots if s.monotonic >= start)
        return Window(kept, self.evidence, self.providers, self.past)

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return what `make` gives, asking it once per window: rules share what is costly to work out."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast("V", self._memo[key])

    def of_run(self, family: type[Reading], key: Hashable, make: Callable[[], V]) -> V:
        """Return what `make` gives, asking it once for the run that brought a family's newest rows.

        For what follows from these rows alone: slow sources keep theirs for many windows.
        """
        run = self.now.run_of(family)
        if run is None:
            return make()
        if key not in run.memo:
            run.memo[key] = make()
        return cast("V", run.memo[key])

    def rows(self, family: type[R]) -> Mapping[Hashable, R]:
        """Return a family's newest rows."""
        return self.now.rows(family)

    def get(self, family: type[R], key: Hashable) -> R | None:
        """Return one of the newest rows, None if it is not there."""
        return self.now.get(family, key)

    def moments(self, family: type[R]) -> list[Moment[R]]:
        """Return the family's distinct runs in this window, oldest first.

        A derived family has none for the first run. The list is everybody's: nobody changes it.
        """
        return self.once(("moments", family), lambda: self._moments(family))

    def _moments(self, family: type[R]) -> list[Moment[R]]:
        found: list[Moment[R]] = []
        seen: Run | None = None
        for shot in self.snapshots:
            run = shot.by_family.get(family)
            if run is None or run is seen:
                continue
            seen = run
            rows = cast("Mapping[Hashable, R]", run.tables[family])
            found.append(Moment(run.started, run.taken, run.seconds, rows, run.memo))
        return found

    def courses(self, family: type[R], seconds: float) -> list[list[Moment[R]]]:
        """Return, of each collector that brings a `remembered` family, its runs up to now, oldest first.

        Those of the last `seconds` and in any case the last COURSE, however slow the source is. A good run that
        brought no row is among them; one that failed is not.
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
                    continue  # this window looks back
                if len(chosen) >= COURSE and moment.started < now - seconds - 0.5:
                    break
                chosen.append(moment)
            found.append(chosen[::-1])
        return found

    def series(self, family: type[R], key: Hashable) -> Iterator[tuple[float, R | None]]:
        """Yield (monotonic, row) of each distinct run; None where the row is missing."""
        return ((moment.started, moment.rows.get(key)) for moment in self.moments(family))

    def cite(self, reading: Reading, field: str = "") -> Cite | None:
        """Quote the raw evidence that a reading of the newest snapshot came from.

        None if nothing can be shown.
        """
        source = reading.source(field)
        return None if source is None else self.quote(source.key, source.needle)

    def quote(self, key: str, needle: str = "") -> Cite | None:
        """Quote the lines of an evidence that hold `needle`, or its beginning."""
        item = self.evidence(key)
        if item is None:
            return None
        if key.startswith("http:"):
            text, mark = json_excerpt(item.data, needle)
            return Cite(key, self.now.number, _begun(text or readable(item.data[: 2 * EXCERPT], "replace")), mark)
        text = readable(item.data[: 1 << 20], "replace")
        if needle:
            lines = [line for line in text.splitlines() if needle in line]
            text = "\n".join(lines[:4]) or text
            return Cite(key, self.now.number, _around(text, needle), needle)
        return Cite(key, self.now.number, _begun(text.strip("\n")), needle)


_ENDS = " ,\t\n"


def _around(text: str, needle: str) -> str:
    """Return the part of a text that holds the needle; JSON may be one long line, of which it is the middle."""
    at = text.find(needle)
    if len(text) > EXCERPT and at + len(needle) > EXCERPT:
        start = at + len(needle) - 3 * EXCERPT // 4
        word = min((found + 1 for end in _ENDS if 0 <= (found := text.find(end, start)) < at), default=start)
        text = text[max(min(word, at), 0) :]
    text = text.strip("\n")
    return _begun(text, max(text.find(needle), 0) + len(needle))


def _begun(text: str, least: int = 0) -> str:
    """Return the beginning of a text, no more than may be quoted: it ends with a line or a word, not within.

    It has no less than `least` characters, nor than half of what may be.
    """
    if len(text) <= EXCERPT:
        return text
    kept, least = text[:EXCERPT], max(least, EXCERPT // 2)
    line, word = kept.rfind("\n"), max(map(kept.rfind, _ENDS))
    ends = line if line >= least else word
    return kept[:ends].rstrip() if ends >= least else kept


class Past:
    """What `remembered` families said, by collector, for longer than windows are: slow sources say little in these.

    Looks back into the past share it with the present.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self._courses: dict[tuple[type[Reading], str], deque[Moment[Any]]] = {}
        self._seen: dict[str, Run] = {}

    def add(self, shot: Snapshot) -> None:
        """Take over what a newer snapshot has of such families."""
        for name, run in shot.runs.items():
            if self._seen.get(name) is run:
                continue
            self._seen[name] = run
            for family, rows in run.tables.items():
                if not family.remembered:
                    continue
                course = self._courses.setdefault((family, name), deque(maxlen=REMEMBERED))
                if not course or run.started > course[-1].started:
                    if not rows and course and not course[-1].rows:
                        course.pop()  # that there was nothing for long is said once
                    course.append(Moment(run.started, run.taken, run.seconds, rows, {}))

    def courses(self, family: type[R]) -> list[deque[Moment[R]]]:
        """Return the runs by collector, oldest first."""
        return [course for (of, _), course in self._courses.items() if of is family]


class History:
    """A ring of snapshots, enough for every window."""

    def __init__(
        self, providers: Mapping[type[Reading], tuple[str, ...]], keep: float = KEEP, past: Past | None = None
    ) -> None:
        """Start empty; `providers` says which collectors bring a family.

        `past` is that of another history, which adds to it, for one that looks back into it.
        """
        self._providers = providers
        self._adds = past is None
        self.past = Past() if past is None else past
        self._keep = keep
        self._ring: deque[Snapshot] = deque()
        self._packed: dict[str, Sequence[tuple[Rows, Packed]]] = {}

    def add(self, shot: Snapshot) -> None:
        """Append a snapshot, let go of the ones nobody will ask for, and of older ones keep less."""
        self._ring.append(shot)
        if self._adds:
            self.past.add(shot)
        while len(self._ring) > FEWEST and shot.monotonic - self._ring[0].monotonic > self._keep:
            self._ring.popleft()
        if len(self._ring) > YOUNG:
            self._age(self._ring[-1 - YOUNG], self._ring[-YOUNG])

    def still(self) -> History:
        """Return one that keeps what this one has now."""
        copied = History(self._providers, self._keep, self.past)
        copied._ring.extend(self._ring)
        return copied

    def _age(self, old: Snapshot, newer: Snapshot) -> None:
        for name, run in old.runs.items():
            if newer.runs.get(name, run) is not run:
                self._packed[name] = age(run, newer.runs[name], self._packed.get(name, ()))

    def window(self, evidence: Callable[[str], Evidence | None]) -> Window | None:
        """Return all that is kept as one window, None while there is nothing."""
        return Window(tuple(self._ring), evidence, self._providers, self.past) if self._ring else None
