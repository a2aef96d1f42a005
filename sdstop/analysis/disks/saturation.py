"""Devices that work at their limit: busy all the time, with requests waiting, and as fast as their peers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from msgspec import Struct

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core.averages import median
from sdstop.core.columns import values_at, values_of
from sdstop.core.history import Moment, Window
from sdstop.core.text import added
from sdstop.readings.disk import DiskActivity

BUSY = 0.95
"""Minimum busy share of a sample for a device to count as saturated."""
PART = 0.8
"""Minimum share of samples in which a device is saturated."""
QUEUE = 2.0
"""Minimum queue length at which requests wait on a rotating disk."""
DEPTH = 32.0
"""Minimum queue length for other devices that do not report a queue depth (SATA: 32)."""
READINGS = 8.0
"""Samples needed to judge, or seconds that at least FEWEST of them cover."""
FEWEST = 3
FAR = 3.0
"""Service time above which a saturated device is not at a healthy limit, as a multiple of its own past or its peers."""
_ALIKE = 2.0
"""Largest ratio between request sizes whose service times are compared."""
_PAST = 5
"""Minimum number of earlier samples that a device is compared with."""
STACKED_KINDS = frozenset({"md", "dm", "bcache", "drbd", "loop", "zvol", "partition", "ram", "zram"})
"""Kinds of devices whose requests are served by others."""


class SaturatedDevice(Struct, frozen=True):
    """A saturated device: medians over the samples. `wait` is seconds, `completed` requests per second."""

    device: str
    busy: float
    queue: float
    wait: float
    completed: float


def suffice(moments: Sequence[Moment[DiskActivity]], readings: float = READINGS) -> bool:
    """Return whether the samples are enough to say which devices are saturated."""
    return len(moments) >= readings or (
        len(moments) >= FEWEST and added(moment.seconds or 0.0 for moment in moments) >= readings
    )


def saturated(
    window: Window, moments: Sequence[Moment[DiskActivity]], busy: float = BUSY, part: float = PART
) -> list[SaturatedDevice]:
    """Return the devices that were saturated in at least a `part` of the samples, by name."""
    if not moments:
        return []
    least = part * len(moments)
    counts: dict[str, int] = {}
    for moment in moments:
        for name in full(moment, busy):
            counts[name] = counts.get(name, 0) + 1
    found = []
    for name in sorted(name for name, count in counts.items() if count >= least):
        device = window.get(BlockDevice, name)
        rows = [row for moment in moments if (row := row_of(moment, name)) is not None]
        if device is None or device.kind in STACKED_KINDS or not rows:
            continue
        queue = median(row.queue or 0.0 for row in rows)
        waits = [row.wait for row in rows if row.wait is not None]
        if waits and sum((row.queue or 0.0) >= depth(device) for row in rows) >= least:
            rate = median(row.completed_per_second for row in rows)
            found.append(SaturatedDevice(name, median(row.busy or 0.0 for row in rows), queue, median(waits), rate))
    return found


def row_of(moment: Moment[DiskActivity], name: str) -> DiskActivity | None:
    """Return a device's row, cached because ten windows use it: a table of an old sample makes it each time."""
    known = moment.brief("saturated rows")
    if name not in known:
        known[name] = moment.rows.get(name)
    row: DiskActivity | None = known[name]
    return row


def times_its_past(window: Window, moments: Sequence[Moment[DiskActivity]], name: str) -> float | None:
    """Return a device's service time as a multiple of the one before these samples, None if that is unknown."""
    every = window.moments(DiskActivity)
    past = every[: len(every) - len(moments)]
    return _times(_services(_caches(moments), name), _services(_caches(past), name), _PAST)


def times_its_peers(moments: Sequence[Moment[DiskActivity]], name: str, peers: Sequence[str]) -> float | None:
    """Return a device's service time as a multiple of its peers' median, None if fewer than two complete requests."""
    caches = _caches(moments)
    others = [found for peer in peers if peer != name and len(found := _services(caches, peer)) >= _PAST]
    every = [service for found in others for service in found]
    return _times(_services(caches, name), every, 2 * _PAST) if len(others) > 1 else None


_Service = tuple[float | None, float]
"""Mean size of requests in bytes, and the busy seconds per request: more load makes requests wait longer, and this
shorter."""


def _times(found: Sequence[_Service], others: Sequence[_Service], fewest: int) -> float | None:
    if not found:
        return None
    size = median(size or 0.0 for size, _ in found)
    alike = [took for of, took in others if size and of and size / _ALIKE <= of <= size * _ALIKE]
    return median(took for _, took in found) / median(alike) if len(alike) >= fewest else None


_Caches = list[tuple[Moment[DiskActivity], dict[Hashable, Any]]]
"""Samples, each with the services that are known of its devices."""


def _caches(moments: Sequence[Moment[DiskActivity]]) -> _Caches:
    return [(moment, moment.brief("services")) for moment in moments]


def _services(caches: _Caches, name: str) -> list[_Service]:
    """Return the samples of a device in which it completed at least one request a second and was busy.

    Cached with each sample, because the windows of the next seconds ask for them: rows of old samples are not.
    """
    found = []
    for moment, known in caches:
        if name not in known:
            figures = values_at(moment.rows, (name,), "completed_per_second", "busy", "size")
            done, busy, size = (figure for (figure,) in figures)
            known[name] = (size, busy / done) if done is not None and done >= 1 and busy else None
        service: _Service | None = known[name]
        if service is not None:
            found.append(service)
    return found


def depth(device: BlockDevice) -> float:
    """Return the number of requests that a device accepts before further ones wait."""
    if device.rotational == 1:
        return QUEUE
    return max(QUEUE, float(device.queue_depth or DEPTH))


def full(moment: Moment[DiskActivity], busy: float) -> Sequence[str]:
    """Return the devices that were busy all through a sample, cached because thirty windows use it."""
    known: tuple[float, Sequence[str]] | None = moment.memo.get("saturated")
    if known is None or known[0] != busy:
        figures = (values_of(moment.rows, name) for name in ("device", "busy", "completed_per_second"))
        rows = zip(*figures, strict=True)
        full = [name for name, share, done in rows if share is not None and share >= busy and done]
        known = moment.memo["saturated"] = busy, tuple(full)
    return known[1]
