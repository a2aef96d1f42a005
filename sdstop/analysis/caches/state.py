"""State of each cache: its recent activity, from any collector, and its severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from sdstop.analysis.latest import rows_of_all_runs
from sdstop.core.finding import Finding, Severity, worst_by_subject, worst_of
from sdstop.core.history import Window
from sdstop.readings.cache import Cache, CacheActivity, share


class CacheState(Struct, frozen=True):
    """State of a cache at one moment."""

    cache: Cache
    activity: CacheActivity | None
    severity: Severity | None = None
    bypassed: Severity | None = None
    """Worst severity of the findings about requests that bypass the cache."""
    stale: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Key of the cache's readings."""
        return self.cache.cache, self.cache.kind

    @property
    def names(self) -> tuple[str, ...]:
        """Names that findings use for the cache."""
        return tuple(name for name in (self.cache.cache, self.cache.device) if name)

    @property
    def errors(self) -> int | None:
        """I/O errors of both devices since the counters began."""
        known = [e for e in (self.cache.fast_errors, self.cache.slow_errors) if e is not None]
        return sum(known) if known else None


def caches(window: Window, findings: Sequence[Finding]) -> list[CacheState]:
    """Return every cache, in collector order; `findings` are the active ones."""
    return window.once("cache states", lambda: _caches(window, findings))


def _caches(window: Window, findings: Sequence[Finding]) -> list[CacheState]:
    activities = rows_of_all_runs(window, CacheActivity)
    worst = worst_by_subject(findings)
    past_it = {f.subject: f.severity for f in findings if f.rule in _PAST_IT}
    found = []
    for key, latest in rows_of_all_runs(window, Cache).items():
        cache = cast("Cache", latest.row)
        activity = activities.get(key)
        names = [name for name in (cache.cache, cache.device) if name]
        found.append(
            CacheState(
                cache,
                cast("CacheActivity", activity.row) if activity is not None else None,
                worst_of(worst.get(n) for n in names),
                worst_of(past_it.get(n) for n in names),
                latest.stale,
            )
        )
    return found


_PAST_IT = frozenset({"cache-bypassed", "cache-sub-block-io", "mtu-misaligned"})
"""Rules about requests that bypass a cache."""


class RequestSplit(Struct, frozen=True):
    """Shares of requests that hit, missed and bypassed the cache; None for uncounted shares."""

    hit: float | None
    miss: float | None
    bypass: float | None

    @property
    def shares(self) -> tuple[float | None, float | None, float | None]:
        """Hit, miss and bypass, in this order."""
        return self.hit, self.miss, self.bypass


def split(activity: CacheActivity) -> RequestSplit | None:
    """Return how requests were split; None without requests or counters.

    The total is the request count of the source or, if that is larger, the sum of all counted parts.
    """
    parts = (activity.hits, activity.misses, activity.bypassed)
    counted = [part for part in parts if part is not None]
    came = sum(flow for flow in (activity.reads, activity.writes) if flow is not None)
    whole = max(came, sum(counted))
    if not counted or not whole:
        return None
    return RequestSplit(*(share(part, whole) for part in parts))


def complete_split(activity: CacheActivity) -> RequestSplit:
    """Return the shares of all requests; None for shares that are not fully counted."""
    found = split(activity)
    if found is not None and None not in found.shares:
        return found
    return RequestSplit(activity.hit_share, None, activity.bypass_share)
