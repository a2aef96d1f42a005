"""Demand: when pages are asked for, so that what only they show is made shortly before, and not all the time."""

from __future__ import annotations

from collections import deque

_SAME = 1.0
"""Seconds within which two requests are one: each of two servers, or a retry."""


class Demand:
    """Times of requests for pages. Servers scrape regularly, so that the next one is known from the last ones."""

    def __init__(self) -> None:
        """Start without requests."""
        self._last: float | None = None
        self._gaps: deque[float] = deque(maxlen=2)

    def note(self, now: float) -> None:
        """Note a request (monotonic seconds)."""
        if self._last is not None and now - self._last >= _SAME:
            self._gaps.append(now - self._last)
        self._last = now

    def expects(self, now: float, within: float) -> bool:
        """Return whether the next request is expected `within` seconds, or is late, or its time is unknown."""
        last = self._last
        return last is None or not self._gaps or not last <= now < last + min(self._gaps) - within
