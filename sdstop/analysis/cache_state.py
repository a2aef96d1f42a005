"""Caches with what each did of late, whichever collector brought it, and how bad it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from msgspec import Struct

from sdstop.analysis.latest import rows_of_all_runs
from sdstop.core.finding import Finding, Severity, worst_by_subject, worst_of
from sdstop.core.history import Window
from sdstop.readings.cache import Cache, CacheActivity, share


class CacheState(Struct, frozen=True):
    """A cache at a moment."""

    cache: Cache
    activity: CacheActivity | None
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
    def errors(self) -> int | None:
        """I/O errors of both sides since its counters began."""
        known = [e for e in (self.cache.fast_errors, self.cache.slow_errors) if e is not None]
        return sum(known) if known else None


def caches(window: Window, findings: Sequence[Finding]) -> list[CacheState]:
    """Return every cache, in the order in which collectors bring them; `findings` are those in force."""
    return window.once("cache states", lambda: _caches(window, findings))


def _caches(window: Window, findings: Sequence[Finding]) -> list[CacheState]:
    activities = rows_of_all_runs(window, CacheActivity)
    worst = worst_by_subject(findings)
    past_it = {f.subject: f.severity for f in findings if f.rule in _PAST_IT}
    found = []
    for key, (row, stale) in rows_of_all_runs(window, Cache).items():
        cache = cast("Cache", row)
        activity = activities.get(key)
        names = [name for name in (cache.cache, cache.device) if name]
        found.append(
            CacheState(
                cache,
                cast("CacheActivity", activity.row) if activity is not None else None,
                worst_of(worst.get(n) for n in names),
                worst_of(past_it.get(n) for n in names),
                stale,
            )
        )
    return found


_PAST_IT = frozenset({"cache-bypassed", "cache-sub-block-io", "mtu-misaligned"})
"""Rules that speak of requests that go past a cache."""


class RequestSplit(NamedTuple):
    """Which shares of what came hit, missed, and went past; None where that is not counted."""

    hit: float | None
    miss: float | None
    bypass: float | None


def split(activity: CacheActivity) -> RequestSplit | None:
    """Return how requests were split; None if none came, or none is counted.

    What came is what the source says, or where it says nothing, all parts that it counts.
    """
    parts = (activity.hits, activity.misses, activity.bypassed)
    counted = [part for part in parts if part is not None]
    came = sum(flow for flow in (activity.reads, activity.writes) if flow is not None)
    whole = max(came, sum(counted))
    if not counted or not whole:
        return None
    return RequestSplit(*(share(part, whole) for part in parts))


def complete_split(activity: CacheActivity) -> RequestSplit:
    """Return the shares of all that came; None where not all of it is counted."""
    found = split(activity)
    if found is not None and None not in found:
        return found
    return RequestSplit(activity.hit_share, None, activity.bypass_share)
