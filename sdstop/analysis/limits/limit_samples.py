"""Samples of a limit's use, from the source of the limit or from the block devices below it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from sdstop.core.averages import fmean
from sdstop.readings.disk import DiskActivity
from sdstop.readings.limit import QEMU, READ, WRITE, Limit, LimitUse

IOPS, BANDWIDTH = "IOPS", "bandwidth"
"""Names of a volume's limits."""


class Sample(Struct, frozen=True):
    """One sample of a limit's use: rates per second, waits in seconds, queue in requests.

    `low` and `high` are the minimum and maximum share of the limit that the owner can have used (equal where the use is
    the owner's own), `binding` is the limit that they refer to. None: unknown.
    """

    started: float
    seconds: float
    requests: float | None
    bytes: float | None
    low: float
    high: float
    binding: str
    wait: float | None
    disk_wait: float | None
    stalled: float | None

    @property
    def size(self) -> float | None:
        """Mean size of a request, in bytes."""
        return self.bytes / self.requests if self.requests and self.bytes is not None else None

    @property
    def queue(self) -> float | None:
        """Mean requests outstanding, by Little's law."""
        return self.wait * self.requests if self.wait is not None and self.requests is not None else None


def by_source(row: Limit, at: float, seconds: float, use: LimitUse, below: DiskActivity | None) -> Sample:
    """Return a sample from the limit's source, with the wait of the device below."""
    wait = None if below is None else _wait(row, below)
    disk_wait = use.disk_wait if use.disk_wait is not None else wait
    return _make(
        row, at, seconds, (use.requests_per_second, use.bytes_per_second), use.sharers, use.wait, disk_wait, use.stalled
    )


def by_devices(row: Limit, at: float, seconds: float, done: Sequence[DiskActivity]) -> Sample:
    """Return a sample from device counters.

    Requests that QEMU holds back have not reached the devices; those that a PowerFlex client holds back have.
    """
    used = [_done(row, one) for one in done]
    wait = weighted([(_wait(row, one), requests) for one, (requests, _) in zip(done, used, strict=True)])
    within, under = (None, wait) if row.kind == QEMU else (wait, row.disk_wait)
    together = math.fsum(requests for requests, _ in used), math.fsum(moved for _, moved in used)
    return _make(row, at, seconds, together, 1, within, under, None)


def _done(row: Limit, done: DiskActivity) -> tuple[float, float]:
    if row.direction == READ:
        return done.reads_per_second, done.read_bytes_per_second
    if row.direction == WRITE:
        return done.writes_per_second, done.write_bytes_per_second
    return (
        done.reads_per_second + done.writes_per_second,
        done.read_bytes_per_second + done.write_bytes_per_second,
    )


def _wait(row: Limit, done: DiskActivity) -> float | None:
    return done.read_wait if row.direction == READ else done.write_wait if row.direction == WRITE else done.wait


def _make(
    row: Limit,
    at: float,
    seconds: float,
    used: tuple[float | None, float | None],
    sharers: int,
    wait: float | None,
    disk_wait: float | None,
    stalled: float | None,
) -> Sample:
    requests, moved = used
    size = moved / requests if requests and moved is not None else None
    share, binding = share_of(row.iops, row.bandwidth, requests, moved, row.weight(size))
    high = min(share, 1.0) if sharers > 1 else share
    return Sample(at, seconds, requests, moved, share / sharers, high, binding, wait, disk_wait, stalled)


def share_of(
    iops: float | None, bandwidth: float | None, requests: float | None, moved: float | None, weight: float
) -> tuple[float, str]:
    """Return the share of the limit that is closer to being reached, and which one that is.

    `requests` and `moved` are per second; a request counts as `weight` of them.
    """
    share, binding = -1.0, ""
    if iops and requests is not None:
        share, binding = requests * weight / iops, IOPS
    if bandwidth and moved is not None:
        other = moved / bandwidth
        if other >= share:
            share, binding = other, BANDWIDTH
    return (share, binding) if binding else (0.0, IOPS if iops else BANDWIDTH)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, None if a value is missing: a partial mean would cover a different time span."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def weighted(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Return the weighted mean of the values, None if the total weight is zero."""
    known = [(value, weight) for value, weight in pairs if value is not None and weight]
    total = math.fsum(weight for _, weight in known)
    return math.fsum(value * weight for value, weight in known) / total if total else None
