"""Rest: a node whose devices and interfaces do almost nothing is read less often.

The sources that notice work (`Collector.stirs`: disks and interfaces) are read every WATCH seconds, and their samples
are kept. As long as none of them has noticed any for SETTLED seconds, all other sources wait for a round every
`seconds`. With the first work they are read at once, and then at every interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Outcome

SETTLED = 10.0
"""Seconds without work after which a node is at rest."""
WATCH = 2.0
"""Seconds between two looks for work; an interval if that is longer. Each costs 0.2 ms, mostly of waking up."""


class Rest:
    """Whether a node is at rest."""

    def __init__(self) -> None:
        """Start awake."""
        self.seconds = 0.0
        """Seconds between the rounds of all sources at rest, 0: the node never rests."""
        self.allowed = True
        """Whether the node may rest; not while a dashboard shows every sample."""
        self._last: dict[str, tuple[float, bytes]] = {}
        self._woke = math.inf
        """Time of the last work (monotonic), infinite before the first sample."""

    def at(self, now: float) -> bool:
        """Return whether the node is at rest."""
        return self.allowed and self.seconds > 0 and now - self._woke >= SETTLED

    def wake(self, now: float) -> None:
        """Note something else that counts as work."""
        self._woke = now

    def noticed(self, collector: Collector, started: float, evidence: Mapping[str, Evidence]) -> bool:
        """Note a sample of a source; return whether it shows work.

        A sample that is lacking or unreadable counts as work.
        """
        stirs = collector.stirs
        if stirs is None:
            return False
        item = evidence.get(collector.needs[0].what)
        before = self._last.pop(collector.name, None)
        if item is not None and item.outcome is Outcome.OK:
            self._last[collector.name] = started, item.data
            seconds = started - before[0] if before is not None else 0.0
            if before is not None and (item.data == before[1] or not stirs(before[1], item.data, seconds)):
                return False
        self._woke = started
        return True
