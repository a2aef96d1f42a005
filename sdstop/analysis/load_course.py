"""Load course: reads and writes of a node over all frames that a session keeps.

They are those of its disks; of a node without disks, those of the cluster that it reports, or its network traffic.
"""

from __future__ import annotations

import enum
from collections import deque
from itertools import takewhile

from msgspec import Struct

from sdstop.analysis.disks.recent_activity import DiskTotals, totals, whole_names
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core.guard import Part
from sdstop.core.history import Window
from sdstop.core.session import Look, Session
from sdstop.readings.cluster import ClusterPool

Sample = tuple[float, float, DiskTotals]
"""End and length of a time in seconds (monotonic), and the totals of it."""


MOST = 20_000
"""Samples that are kept; of more, older ones are merged."""
_MERGED = 10
"""Samples of the older half that become one."""


def _joined(first: LoadSample, second: LoadSample) -> LoadSample:
    """Return the mean of two samples that follow each other; waits are weighed by requests."""
    seconds = first.seconds + second.seconds
    one, other = first.total, second.total

    def mean(a: float, b: float) -> float:
        return (a * first.seconds + b * second.seconds) / seconds

    def wait(a: float | None, b: float | None, requests: float, others: float) -> float | None:
        if a is None or b is None:
            return b if a is None else a
        weights = requests * first.seconds, others * second.seconds
        return (a * weights[0] + b * weights[1]) / sum(weights) if sum(weights) else a

    total = DiskTotals(
        mean(one.read_bytes, other.read_bytes), mean(one.write_bytes, other.write_bytes),
        mean(one.reads, other.reads), mean(one.writes, other.writes),
        wait(one.read_wait, other.read_wait, one.reads, other.reads),
        wait(one.write_wait, other.write_wait, one.writes, other.writes),
    )  # fmt: skip
    return LoadSample(second.ends, seconds, total)


class LoadOf(enum.IntEnum):
    """Source of a load; the highest that a node has counts."""

    NOTHING = 0
    NETWORK = 1
    CLUSTER = 2
    DISKS = 3


class LoadMetric(enum.StrEnum):
    """Numbers of a load that a graph shows."""

    THROUGHPUT = "throughput"
    REQUESTS = "requests"
    LATENCY = "latency"

    def read(self, total: DiskTotals) -> tuple[tuple[float, float | None], tuple[float, float | None]]:
        """Return (weight, value in base units) of reads and of writes; None if unknown or without requests.

        Waits are weighed by requests, so that the mean of a time is that of its requests.
        """
        match self:
            case LoadMetric.THROUGHPUT:
                return (1.0, total.read_bytes), (1.0, total.write_bytes)
            case LoadMetric.REQUESTS:
                return (1.0, total.reads), (1.0, total.writes)
            case LoadMetric.LATENCY:
                return (total.reads, total.read_wait), (total.writes, total.write_wait)


class LoadSample(Struct, frozen=True):
    """Totals over the `seconds` that end at `ends` (monotonic seconds)."""

    ends: float
    seconds: float
    total: DiskTotals


def _of_cluster(window: Window) -> list[Sample]:
    """Return the totals of the pools of a cluster, per run of their source."""
    found = []
    for moment in window.moments(ClusterPool):
        rows = [row for row in moment.rows.values() if row.read is not None or row.write is not None]
        if rows:
            total = DiskTotals(
                sum(row.read or 0.0 for row in rows), sum(row.write or 0.0 for row in rows),
                sum(row.reads or 0.0 for row in rows), sum(row.writes or 0.0 for row in rows),
            )  # fmt: skip
            found.append((moment.started, moment.seconds or 0.0, total))
    return found


def _of_network(window: Window) -> list[Sample]:
    """Return the totals of the physical interfaces, or of all but the loopback one if none is known as such."""
    known = latest_rows(window, Interface)[0]
    physical = {name for name, row in known.items() if row.kind == "physical"}
    found = []
    for moment in window.moments(InterfaceActivity):
        rows = [row for name, row in moment.rows.items() if (name in physical if physical else name != "lo")]
        if rows:
            total = DiskTotals(
                sum(row.rx_bytes_per_second for row in rows), sum(row.tx_bytes_per_second for row in rows),
                sum(row.rx_packets_per_second for row in rows), sum(row.tx_packets_per_second for row in rows),
            )  # fmt: skip
            found.append((moment.started, moment.seconds or 0.0, total))
    return found


class LoadCourse:
    """Totals of a node, one sample per run of their source, oldest first.

    A window holds about a minute; this has the range of the session's timeline. It is extended by each frame that the
    session judges, in the thread that judges; others may read it at the same time.
    """

    def __init__(self, session: Session) -> None:
        """Follow a session; of frames that it has judged already, take the samples of its newest window."""
        self._session = session
        self._samples: deque[LoadSample] = deque()
        self.of = LoadOf.NOTHING
        session.listeners.append(self._heard)
        if session.latest is not None:
            self._heard(session.latest)

    @property
    def samples(self) -> tuple[LoadSample, ...]:
        """All samples, oldest first."""
        return tuple(self._samples)

    def _heard(self, look: Look) -> None:
        self._session.guard.call(Part.VIEW, "load course", lambda: self.add(look.window), lambda _: None)

    def add(self, window: Window) -> None:
        """Add the samples of a window that are newer than the last one, and drop those of forgotten frames."""
        known = self._known(window)
        last = self._samples[-1].ends if self._samples else float("-inf")
        newer = takewhile(lambda sample: sample[0] > last, reversed(known))
        self._samples.extend(LoadSample(*sample) for sample in reversed([*newer]) if sample[1] > 0)
        frames = self._session.timeline.frames
        while self._samples and frames and self._samples[0].ends < frames[0].monotonic:
            self._samples.popleft()
        if len(self._samples) > MOST:
            self._thin()

    def _thin(self) -> None:
        """Merge samples of the older half that follow each other, ten into one, so that days take little memory."""
        samples, merged = tuple(self._samples), list[LoadSample]()
        count = 0
        for sample in samples[: MOST // 2]:
            last = merged[-1] if count % _MERGED else None
            if last is not None and sample.ends - sample.seconds <= last.ends + sample.seconds / 2:
                merged[-1] = _joined(last, sample)
                count += 1
            else:
                merged.append(sample)
                count = 1
        self._samples = deque((*merged, *samples[MOST // 2 :]))

    def _known(self, window: Window) -> list[Sample]:
        """Return the samples of a window; a better source than the one before replaces its samples."""
        for of, samples in ((LoadOf.DISKS, totals), (LoadOf.CLUSTER, _of_cluster), (LoadOf.NETWORK, _of_network)):
            if of < self.of:
                break
            found = samples(window)
            if of is self.of or (found and (of is not LoadOf.DISKS or whole_names(window))):
                if of is not self.of:
                    self.of = of
                    self._samples.clear()
                return found
        return []
