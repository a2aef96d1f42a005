"""Caches as the screen shows them: each with what it did of late, whichever collector brought it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

from sdstop.core.finding import Severity
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.snapshot import Run
from sdstop.readings.cache import Cache, CacheActivity, share
from sdstop.tui.facts import Thing
from sdstop.tui.scene import Scene

R = TypeVar("R", bound=Reading)


class Known(NamedTuple):
    """A row at a moment; stale: of the last good run of a source that fails now."""

    row: Reading
    stale: bool


@dataclass(frozen=True, slots=True)
class Cached:
    """A cache at a moment."""

    cache: Cache
    activity: CacheActivity | None
    scene: Scene
    severity: Severity | None = None
    bypassed: Severity | None = None
    """What is said of requests that go past it."""
    stale: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The identity of its readings."""
        return self.cache.cache, self.cache.kind

    @property
    def names(self) -> tuple[str, ...]:
        """What findings call it."""
        return tuple(name for name in (self.cache.cache, self.cache.device) if name)

    @property
    def opens(self) -> Thing:
        """What a choice of the row leads to."""
        return Thing(self.cache.cache, ((CacheActivity, self.key), (Cache, self.key)))

    @property
    def errors(self) -> int | None:
        """I/O errors of both sides since its counters began."""
        known = [e for e in (self.cache.fast_errors, self.cache.slow_errors) if e is not None]
        return sum(known) if known else None


def brought(runs: Mapping[str, Run], family: type[Reading]) -> Iterator[tuple[Run, bool]]:
    """Yield the runs that have rows of a family, and whether they are stale: several collectors bring caches."""
    for run in runs.values():
        if family in run.tables:
            yield run, False
        elif run.last is not None and family in run.last.tables:
            yield run.last, True


def known(scene: Scene, family: type[Reading]) -> dict[Hashable, Known]:
    """Return a family's rows out of all runs."""
    found: dict[Hashable, Known] = {}
    for run, stale in brought(scene.now.runs, family):
        for key, row in run.tables[family].items():
            if key not in found or found[key].stale:
                found[key] = Known(row, stale)
    return found


def past(window: Window, family: type[R], key: Hashable) -> list[tuple[float, float, R]]:
    """Return a row as each run of the window brought it, oldest first: (ends, seconds, row)."""
    found = []
    for run in _runs(window, family):
        row = run.tables[family].get(key)
        if row is not None:
            found.append((run.started, run.seconds or 0.0, cast("R", row)))
    return found


def _runs(window: Window, family: type[Reading]) -> list[Run]:
    """Return the distinct runs that brought a family, in the order in which they began."""

    def make() -> list[Run]:
        seen: dict[int, Run] = {}
        for shot in window.snapshots:
            for run in shot.runs.values():
                if family in run.tables:
                    seen.setdefault(id(run), run)
        return sorted(seen.values(), key=lambda run: run.started)

    return window.once(("tui.cached", family), make)


def seen_before(window: Window, family: type[Reading]) -> float:
    """Return when a family was read last (monotonic), the window's end if it never was."""
    runs = _runs(window, family)
    return runs[-1].started if runs else window.now.monotonic


def caches(scene: Scene) -> list[Cached]:
    """Return every cache, in the order in which collectors bring them."""
    return scene.window.once("tui.caches", lambda: _caches(scene))


def _caches(scene: Scene) -> list[Cached]:
    activities = known(scene, CacheActivity)
    worst = scene.worst()
    past_it = {f.subject: f.severity for f in scene.look.judgement.findings if f.rule in _PAST_IT}
    found = []
    for key, (row, stale) in known(scene, Cache).items():
        cache = cast("Cache", row)
        activity = activities.get(key)
        names = [name for name in (cache.cache, cache.device) if name]
        found.append(
            Cached(
                cache,
                cast("CacheActivity", activity.row) if activity is not None else None,
                scene,
                max((worst[n] for n in names if n in worst), key=lambda s: s.rank, default=None),
                max((past_it[n] for n in names if n in past_it), key=lambda s: s.rank, default=None),
                stale,
            )
        )
    return found


_PAST_IT = frozenset({"cache-bypassed", "cache-sub-block-io", "mtu-misaligned"})
"""Rules that speak of requests that go past a cache."""


class Split(NamedTuple):
    """Which shares of what came hit, missed, and went past; None where that is not counted."""

    hit: float | None
    miss: float | None
    bypass: float | None


def split(activity: CacheActivity) -> Split | None:
    """Return how requests were split; None if none came, or none is counted.

    What came is what the source says, or where it says nothing, all parts that it counts.
    """
    parts = (activity.hits, activity.misses, activity.bypassed)
    counted = [part for part in parts if part is not None]
    came = sum(flow for flow in (activity.reads, activity.writes) if flow is not None)
    whole = max(came, sum(counted))
    if not counted or not whole:
        return None
    return Split(*(share(part, whole) for part in parts))


def told(activity: CacheActivity) -> Split:
    """Return the shares of all that came; None where not all of it is counted."""
    found = split(activity)
    if found is not None and None not in found:
        return found
    return Split(activity.hit_share, None, activity.bypass_share)


def why_none(scene: Scene) -> str:
    """Return in one line why no cache is shown: sources that were not seen; what has no such cache is no reason."""
    said = scene.unseen(c.name for c in scene.session.collectors if Cache in c.families)
    return f"no cache is seen; {said}" if said else "no cache is seen on this node"
