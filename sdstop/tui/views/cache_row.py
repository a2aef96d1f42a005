"""A cache as its view and its charts show it."""

from __future__ import annotations

from dataclasses import dataclass

from sdstop.analysis.cache_state import CacheState
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.tui.facts import Thing
from sdstop.tui.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached(CacheState):
    """A cache at a moment, and the scene that it is painted in."""

    scene: Scene

    @property
    def opens(self) -> Thing:
        """What a choice of the row leads to."""
        return Thing(self.cache.cache, ((CacheActivity, self.key), (Cache, self.key)))


def cache_row(state: CacheState, scene: Scene) -> Cached:
    """Return the row of a cache."""
    return Cached(state.cache, state.activity, state.severity, state.bypassed, state.stale, scene=scene)
