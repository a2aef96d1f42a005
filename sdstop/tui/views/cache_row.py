"""Row of a cache, shared by the view of caches and its charts."""

from __future__ import annotations

from sdstop.analysis.caches.state import CacheState
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene


class CacheRow(CacheState, frozen=True, kw_only=True):
    """State of a cache and the scene in which it is painted."""

    scene: Scene

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        return FactSubject(self.cache.cache, ((CacheActivity, self.key), (Cache, self.key)))


def cache_row(state: CacheState, scene: Scene) -> CacheRow:
    """Return the row of a cache."""
    return CacheRow(state.cache, state.activity, state.severity, state.bypassed, state.stale, scene=scene)
