"""Courses of limits: the shares in use of all limits of a source, sample by sample, as columns.

Most limits are far from being reached. That shows in the columns, and nothing is made for them but a line of text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from sdstop.analysis.limits.limit_samples import BANDWIDTH, IOPS, share_of
from sdstop.core.columns import Columns
from sdstop.core.history import Window
from sdstop.core.kept import kept
from sdstop.core.snapshot import Run
from sdstop.readings.limit import CGROUP, Limit, LimitUse, limit_subject, request_weight

READINGS, SECONDS = 5, 10.0
"""Minimum number of samples, and minimum time span in seconds, that are evaluated."""
AT_LIMIT = 0.9
"""Share of a limit at which a sample counts as at the limit; the kernel admits requests in slices of 0.1 s."""
JITTER = 0.5
"""Seconds by which samples may be closer together."""
_KEY = ("volume", "owner", "kind", "direction")
_ENFORCED = ("volume", "owner", "limited", "unheld")


class RunShares(Struct, frozen=True, eq=False):
    """Shares of the limits that were in use between a run and the one before, by row of `used`; and the limits meant.

    None: the use is not the owner's own, or that of a device below counts.
    """

    used: Columns
    shares: Sequence[float | None]
    bindings: Sequence[str]


class LimitCourse(Struct, frozen=True, eq=False, dict=True):
    """Limits of one source at the window's end, and the `runs` in which their use is known, oldest first.

    By row of `limits`: `samples` are the shares in use in the last `count` runs, `share` is their mean, and `highest`
    the largest. Both are None where a sample is unknown.
    """

    limits: Columns
    runs: tuple[Run, ...]
    count: int
    samples: Sequence[Sequence[float | None]]
    share: Sequence[float | None]
    highest: Sequence[float | None]

    @kept
    def close(self) -> AbstractSet[int]:
        """Places of the limits that were reached in a sample, or whose use is unknown in one."""
        return {place for place, share in enumerate(self.highest) if share is None or share >= AT_LIMIT}

    @kept
    def bounds(self) -> Sequence[tuple[str, float | None, float | None]]:
        """Direction of each limit, requests, and bytes per second."""
        return list(zip(*map(self.limits.column, ("direction", "iops", "bandwidth")), strict=True))

    def binding(self, place: int) -> str:
        """Return the limit that was closer to being reached in the sample with the largest share."""
        _, iops, bandwidth = self.bounds[place]
        if not (iops and bandwidth):
            return IOPS if iops else BANDWIDTH
        shares = [sample[place] for sample in self.samples]
        run = self.runs[len(self.runs) - self.count + shares.index(self.highest[place])]
        known = shares_of(run)
        return known.bindings[known.used.index[tuple([self.limits.column(name)[place] for name in _KEY])]]

    def at_limit(self, place: int) -> tuple[float, float]:
        """Return the share of the samples at the limit, and the mean share in use in these, of a limit of known use."""
        near = [share for sample in self.samples if (share := sample[place]) is not None and share >= AT_LIMIT]
        return (len(near) / self.count, math.fsum(near) / len(near)) if near else (0.0, 0.0)


def limit_courses(window: Window) -> Sequence[LimitCourse]:
    """Return the limits of each source, with their course in the window."""
    return window.once("limit courses", lambda: [_course(window, name, table) for name, table in _limits(window)])


def ordered_limits(window: Window) -> list[tuple[LimitCourse, int]]:
    """Return the course and the place of each limit, by volume and owner."""
    courses = limit_courses(window)
    if len(courses) == 1:
        return [(courses[0], place) for place in _places(courses[0].limits)]
    every = [(course, place) for course in courses for place in _places(course.limits)]
    return sorted(every, key=lambda each: tuple(each[0].limits.column(name)[each[1]] for name in _KEY))


def enforced_limits(window: Window) -> Mapping[str, Sequence[tuple[LimitCourse, int]]]:
    """Return the enforced limits by subject; reads and writes of a subject may have separate limits."""
    courses = limit_courses(window)
    if len(courses) == 1:
        course = courses[0]
        return {subject: [(course, place) for place in places] for subject, places in _held(course.limits).items()}
    found: dict[str, list[tuple[LimitCourse, int]]] = {}
    for course, place in ordered_limits(window):
        volume, owner, limited, unheld = (course.limits.column(name)[place] for name in _ENFORCED)
        if is_held(limited, unheld):
            found.setdefault(limit_subject(volume, owner), []).append((course, place))
    return found


def _limits(window: Window) -> Iterator[tuple[str, Columns]]:
    for name, run in window.now.runs.items():
        table = run.tables.get(Limit)
        if isinstance(table, Columns) and table:
            yield name, table


def _places(limits: Columns) -> Sequence[int]:
    """Return the places of the limits by volume and owner."""

    def make(rows: Iterator[Limit]) -> list[int]:
        keys = [(row.volume, row.owner, row.kind, row.direction) for row in rows]
        return sorted(range(len(keys)), key=keys.__getitem__)

    return limits.once("places", make)


def _held(limits: Columns) -> Mapping[str, Sequence[int]]:
    """Return the places of the enforced limits by subject."""

    def make(rows: Iterator[Limit]) -> dict[str, list[int]]:
        subjects = [row.subject if is_held(row.limited, row.unheld) else "" for row in rows]
        found: dict[str, list[int]] = {}
        for place in _places(limits):
            if subjects[place]:
                found.setdefault(subjects[place], []).append(place)
        return found

    return limits.once("held", make)


def is_held(limited: str | None, unheld: str | None) -> bool:
    """Return whether a limit is set and enforced."""
    return limited not in {"none", None} and not unheld


def _course(window: Window, name: str, limits: Columns) -> LimitCourse:
    runs = _runs(window, name)
    count = evaluated([run.seconds or 0.0 for run in runs])
    columns = [_beside(shares_of(run), limits) for run in runs[len(runs) - count :]]
    if not columns:
        nothing = [None] * len(limits)
        return LimitCourse(limits, runs, 0, (), nothing, nothing)
    if any(None in column for column in columns):
        rows = [None if None in row else row for row in zip(*columns, strict=True)]
        share: Sequence[float | None] = [None if row is None else math.fsum(row) / count for row in rows]
        highest = [None if row is None else max(row) for row in rows]
        return LimitCourse(limits, runs, count, columns, share, highest)
    share = [math.fsum(row) / count for row in zip(*columns, strict=True)]
    return LimitCourse(limits, runs, count, columns, share, list(map(max, *columns)) if count > 1 else columns[0])


def _runs(window: Window, name: str) -> tuple[Run, ...]:
    """Return the collector's runs in which use is known, oldest first."""
    found: dict[int, Run] = {}
    for shot in window.snapshots:
        run = shot.runs.get(name)
        if run is not None and run.ok and id(run) not in found and run.tables.get(LimitUse):
            found[id(run)] = run
    return tuple(found.values())


def evaluated(seconds: Sequence[float]) -> int:
    """Return how many of the last samples, of these lengths, are evaluated: READINGS, or those that fit in SECONDS."""
    covered, count = 0.0, 0
    for each in reversed(seconds):
        if covered >= SECONDS - JITTER:
            break
        covered += each
        count += 1
    return min(max(READINGS, count), len(seconds))


def shares_of(run: Run) -> RunShares:
    """Return the shares in use between a run and the one before; computed once for a run."""
    known: RunShares | None = run.memo.get("limit shares")
    if known is None:
        known = run.memo["limit shares"] = _shares(run)
    return known


def _shares(run: Run) -> RunShares:
    limits, used = run.tables[Limit], run.tables[LimitUse]
    assert isinstance(limits, Columns)  # noqa: S101  # both are numerous
    assert isinstance(used, Columns)  # noqa: S101
    places = limits.beside(used)
    bounds = [limits.column(name) for name in ("iops", "bandwidth", "iops_size", "kind", "device")]
    if not isinstance(places, range):
        bounds = [[column[at] for at in places if at is not None] for column in bounds]
    uses = [used.column(name) for name in ("requests_per_second", "bytes_per_second", "request_size", "sharers")]
    shares: list[float | None] = []
    bindings: list[str] = []
    for iops, bandwidth, large, kind, device, requests, moved, size, sharers in zip(*bounds, *uses, strict=True):
        weight = 1.0 if large is None else request_weight(size, large)
        share, binding = share_of(iops, bandwidth, requests, moved, weight)
        shares.append(share if sharers == 1 and (kind == CGROUP or device is None) else None)
        bindings.append(binding)
    return RunShares(used, shares, bindings)


def _beside(known: RunShares, limits: Columns) -> Sequence[float | None]:
    """Return the shares of a run in the order of other limits."""
    places = known.used.beside(limits)
    if isinstance(places, range):
        return known.shares
    return [None if at is None else known.shares[at] for at in places]
