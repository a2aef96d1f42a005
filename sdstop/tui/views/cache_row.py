"""A cache as its view and its charts show it."""

from __future__ import annotations

from sdstop.analysis.cache_state import CacheState
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene


class CacheRow(CacheState, frozen=True, kw_only=True):
    """A cache at a moment, and the scene that it is painted in."""

    scene: Scene

    @property
    def opens(self) -> FactSubject:
        """What a choice of the row leads to."""
        return FactSubject(self.cache.cache, ((CacheActivity, self.key), (Cache, self.key)))


def cache_row(state: CacheState, scene: Scene) -> CacheRow:
    """Return the row of a cache."""
    return CacheRow(state.cache, state.activity, state.severity, state.bypassed, state.stale, scene=scene)
