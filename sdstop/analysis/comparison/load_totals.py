"""Load of a node over a whole capture: totals and distributions of latency by device, in bounded memory."""

from __future__ import annotations

import math
from typing import TypeVar

from msgspec import Struct, field

from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.core.model import Reading
from sdstop.core.snapshot import Run, Snapshot
from sdstop.readings.cache import CacheActivity
from sdstop.readings.disk import DiskActivity

R = TypeVar("R", bound=Reading)

_STEPS = 8
"""Steps of a distribution for each doubling: a quantile is within 5% of its true value."""


class WaitDistribution(Struct):
    """Requests by latency, in steps of a twelfth of their value; `counts` is the number of requests by step.

    The kernel counts the sum of all latencies of a device between two samples, so that requests of one device and
    sample all have their mean.
    """

    counts: dict[int, float] = field(default_factory=dict)

    def add(self, seconds: float, requests: float) -> None:
        """Add requests that took `seconds` each."""
        step = round(math.log2(max(seconds, 1e-7)) * _STEPS)
        self.counts[step] = self.counts.get(step, 0.0) + requests

    def join(self, other: WaitDistribution) -> None:
        """Add all requests of another distribution."""
        for step, requests in other.counts.items():
            self.counts[step] = self.counts.get(step, 0.0) + requests

    @property
    def requests(self) -> float:
        """Number of requests."""
        return math.fsum(self.counts.values())

    def quantile(self, share: float) -> float | None:
        """Return the latency in seconds that this share of the requests does not exceed, None without requests."""
        least = self.requests * share
        passed = 0.0
        for step in sorted(self.counts):
            passed += self.counts[step]
            if passed >= least:
                return float(2 ** (step / _STEPS))
        return None


class DeviceTotals(Struct):
    """Load of one block device: seconds watched, requests and bytes, and seconds in which it was busy.

    `timed` are the watched seconds for which the kernel counted busy time.
    """

    seconds: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    busy: float = 0.0
    timed: float = 0.0
    read_waits: WaitDistribution = field(default_factory=WaitDistribution)
    write_waits: WaitDistribution = field(default_factory=WaitDistribution)

    def add(self, row: DiskActivity, seconds: float) -> None:
        """Add the activity of `seconds`."""
        self.seconds += seconds
        if row.busy is not None:
            self.busy += row.busy * seconds
            self.timed += seconds
        if not row.completed_per_second:
            return
        reads, writes = row.reads_per_second * seconds, row.writes_per_second * seconds
        self.reads += reads
        self.writes += writes
        self.read_bytes += row.read_bytes_per_second * seconds
        self.written_bytes += row.write_bytes_per_second * seconds
        if reads and row.read_wait is not None:
            self.read_waits.add(row.read_wait, reads)
        if writes and row.write_wait is not None:
            self.write_waits.add(row.write_wait, writes)


class PortTotals(Struct):
    """Load of one interface: seconds watched, bytes, and packets with errors or dropped."""

    seconds: float = 0.0
    received: float = 0.0
    sent: float = 0.0
    lost: float = 0.0

    def add(self, row: InterfaceActivity, seconds: float) -> None:
        """Add the activity of `seconds`."""
        self.seconds += seconds
        self.received += row.rx_bytes_per_second * seconds
        self.sent += row.tx_bytes_per_second * seconds
        lost = row.rx_errors_per_second + row.tx_errors_per_second
        self.lost += (lost + row.rx_dropped_per_second + row.tx_dropped_per_second) * seconds


class CacheTotals(Struct):
    """Requests of one cache, None of a kind that it does not count: all, those that hit, and those that bypassed it."""

    requests: float = 0.0
    hits: float | None = None
    bypassed: float | None = None

    def add(self, row: CacheActivity, seconds: float) -> None:
        """Add the activity of `seconds`."""
        self.requests += ((row.reads or 0.0) + (row.writes or 0.0)) * seconds
        if row.hits is not None:
            self.hits = (self.hits or 0.0) + row.hits * seconds
        if row.bypassed is not None:
            self.bypassed = (self.bypassed or 0.0) + row.bypassed * seconds


class LoadTotals(Struct):
    """Load of a node over all frames added. Empty without two samples of a source."""

    devices: dict[str, DeviceTotals] = field(default_factory=dict)
    ports: dict[str, PortTotals] = field(default_factory=dict)
    caches: dict[tuple[str, str], CacheTotals] = field(default_factory=dict)
    _seen: dict[type[Reading], float] = field(default_factory=dict)

    def add(self, shot: Snapshot) -> None:
        """Add the activity that the newest frame shows."""
        for disk, seconds in self._new(shot, DiskActivity):
            self.devices.setdefault(disk.device, DeviceTotals()).add(disk, seconds)
        for port, seconds in self._new(shot, InterfaceActivity):
            self.ports.setdefault(port.interface, PortTotals()).add(port, seconds)
        for cache, seconds in self._new(shot, CacheActivity):
            self.caches.setdefault((cache.cache, cache.kind), CacheTotals()).add(cache, seconds)

    def _new(self, shot: Snapshot, family: type[R]) -> list[tuple[R, float]]:
        """Return the rows of a family, with their seconds, unless they are those of an earlier frame."""
        run: Run | None = shot.run_of(family)
        if run is None or self._seen.get(family) == run.started:
            return []
        self._seen[family] = run.started
        return [(row, run.seconds or 1.0) for row in shot.rows(family).values()]
