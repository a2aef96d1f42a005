"""Effect of AoE frames on requests in a window: requested sizes, received sizes, and caches in between."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from msgspec import Struct

from sdstop.analysis.aoe.jumbo import BLOCK
from sdstop.analysis.caches.counters import FLASHCACHE, CacheAnalysis, CacheSteps, block_alignment, cachings, recent
from sdstop.collectors.aoe.readings import SECTOR, AoeExport, pieces, whole_share
from sdstop.core.history import Moment, Window
from sdstop.core.text import added
from sdstop.readings.disk import Disk
from sdstop.readings.iosize import RequestSizes, between, counts_increase, not_whole

_COUNTERS = ("queue", "issue")  # "queue" is preferred: an elevator may merge the parts of a split request


class RequestMix(Struct, frozen=True):
    """Requests to an AoE disk by size before frames split them; mean sizes if sizes were not counted.

    The requests were made in `seconds`; None: since the counter began.
    """

    counts: Mapping[int, float]
    row: RequestSizes | Disk
    mean: bool
    seconds: float | None

    @property
    def bytes_per_second(self) -> float | None:
        """Requested bytes per second, None if the time span is unknown."""
        total = sum(size * count for size, count in self.counts.items())
        return total / self.seconds if self.seconds else None

    def lost(self, payload: int) -> float:
        """Return the share of bytes that would arrive in whole blocks if frames did not split them."""
        total = sum(size * count for size, count in self.counts.items())
        lost = added(size * count * _lost(payload, size) for size, count in self.counts.items())
        return lost / total if total else 0.0


_LONGEST = 1 << 20
"""Bytes of a request from which the share of whole blocks does not change any more."""


@lru_cache(maxsize=8192)
def _lost(payload: int, size: int) -> float:
    size = min(size, _LONGEST)  # the size may be bogus
    return whole_share(BLOCK, size, BLOCK) - whole_share(payload, size, BLOCK)


def initiator_sizes(window: Window, devices: Collection[str]) -> RequestMix | None:
    """Return the recent requests to AoE disks, None without requests or data."""
    window = recent(window)
    devices = frozenset(devices)
    # The "queue" counter attributes requests to partitions (since Linux 5.12); a driver gets all requests for the disk.
    parts = devices.union(*(window.topology.partitions(device) for device in devices))
    for counter in _COUNTERS:
        found = _counted(window, counter, parts)
        if found is not None and found.counts:
            return RequestMix(found.counts, found.row, mean=False, seconds=found.seconds)
    return _mean(window, devices)


class _DeviceCounts(Struct, frozen=True):
    """Counts of some devices, both directions, over `seconds`; None: since one of the counters began."""

    counts: Mapping[int, int]
    row: RequestSizes
    seconds: float | None


def _counted(window: Window, counter: str, devices: Collection[str]) -> _DeviceCounts | None:
    """Return the requests to devices, None if the counter has none of them."""
    keys = tuple(key for device in devices for key in _keys(window).get((counter, device), ()))
    if not keys:
        return None
    rows, moments = window.rows(RequestSizes), window.moments(RequestSizes)
    together = _grown(moments, keys)
    if together is not None:
        return _DeviceCounts(together, rows[keys[0]], moments[-1].started - moments[0].started)
    total: dict[int, int] = {}
    spans: list[float | None] = []
    for key in keys:
        counts, seconds = _lately(window, key, rows[key])
        spans.append(seconds)
        for size, count in counts.items():
            total[size] = total.get(size, 0) + count
    known = [span for span in spans if span is not None]
    return _DeviceCounts(total, rows[keys[0]], max(known) if len(known) == len(spans) else None)


def _grown(moments: Sequence[Moment[RequestSizes]], keys: tuple[Hashable, ...]) -> dict[int, int] | None:
    """Return the combined growth of the counters, None if one of them started later or was reset.

    In that case the caller evaluates each counter. Hosts can have hundreds of disks, so the sums of a run are cached
    with the run and reused by all windows of the next minute.
    """
    if len(moments) < 2 or any(key not in moments[0].rows for key in keys):
        return None
    old, new = _summed(moments[0], keys), _summed(moments[-1], keys)
    if any(before > after for before, after in zip(old.each, new.each, strict=True)):
        return None
    return counts_increase(old.counts, new.counts)


class _CombinedCounts(Struct, frozen=True):
    """Combined requests by size of several counters, and the total of each counter."""

    counts: Mapping[int, int]
    each: Sequence[int]


def _summed(moment: Moment[RequestSizes], keys: tuple[Hashable, ...]) -> _CombinedCounts:
    made = moment.memo.get((_COUNTS, keys))
    if made is None:
        total: dict[int, int] = {}
        each = []
        for key in keys:
            counts = moment.rows[key].counts
            each.append(sum(counts.values()))
            for size, count in counts.items():
                total[size] = total.get(size, 0) + count
        made = moment.memo[_COUNTS, keys] = _CombinedCounts(total, each)
    return cast("_CombinedCounts", made)


_COUNTS = "requests by size"


def _keys(window: Window) -> Mapping[tuple[str, str], Sequence[Hashable]]:
    """Return the keys of data-carrying rows, by counter and device."""
    return window.once("keys of sizes", lambda: _keyed(window))


def _keyed(window: Window) -> dict[tuple[str, str], list[Hashable]]:
    found: dict[tuple[str, str], list[Hashable]] = {}
    for key, row in window.rows(RequestSizes).items():
        if row.direction in {"read", "write", ""}:
            found.setdefault((row.counter, row.device), []).append(key)
    return found


def _lately(window: Window, key: Hashable, row: RequestSizes) -> tuple[Mapping[int, int], float | None]:
    """Return the requests by size in the window, and the time span in seconds.

    For a counter that has just started or was reset: its totals and None.
    """
    moments = window.moments(RequestSizes)
    first = next((moment for moment in moments if key in moment.rows), moments[-1])
    counts = between(first.rows[key], row) if first is not moments[-1] else None
    return (row.counts, None) if counts is None else (counts, moments[-1].started - first.started)


def _mean(window: Window, devices: Collection[str]) -> RequestMix | None:
    moments = window.moments(Disk)
    counts: dict[int, float] = {}
    busiest: tuple[int, Disk] | None = None
    for device in devices if len(moments) > 1 else ():
        before, after = moments[0].rows.get(device), moments[-1].rows.get(device)
        if before is None or after is None:
            continue
        came = 0
        for way in ("read", "write"):
            count = getattr(after, f"{way}s") - getattr(before, f"{way}s")
            total = (getattr(after, f"{way}_sectors") - getattr(before, f"{way}_sectors")) * SECTOR
            if count > 0 and total > 0:
                size = _rounded(total / count)
                counts[size] = counts.get(size, 0) + count
                came += count
        if came and (busiest is None or came > busiest[0]):
            busiest = came, after
    seconds = moments[-1].started - moments[0].started if moments else None
    return None if busiest is None else RequestMix(counts, busiest[1], mean=True, seconds=seconds)


def _rounded(size: float) -> int:
    unit = BLOCK if size > BLOCK else SECTOR
    return max(round(size / unit), 1) * unit


class TargetSizes(Struct, frozen=True):
    """Requests by size as they reached the device that an AoE target serves.

    `small` is the share that is not a whole number of blocks. They were received in `seconds`, None: since the counter
    began; then `lately` is False, except for a counter that was started manually.
    """

    row: RequestSizes
    counts: Mapping[int, int]
    small: float
    lately: bool
    seconds: float | None

    def pieces(self, block: int) -> tuple[float, float] | None:
        """Return requests per second that are not whole blocks, and their bytes; None without a time span."""
        if not self.seconds:
            return None
        cut = {size: count for size, count in self.counts.items() if size % block}
        return sum(cut.values()) / self.seconds, sum(s * count for s, count in cut.items()) / self.seconds

    def frame(self, carried: int, block: int, least: float) -> int | None:
        """Return the apparent frame payload if requests are smaller than frames of `carried` bytes explain.

        This is the largest frequent size below a block. None if requests are not smaller, if at most `least` of them
        are not whole blocks, or if no size can be a frame payload.
        """
        if not self.lately or self.small <= max(least, max_partial_share(carried, block) + _APART):
            return None
        total = sum(self.counts.values())
        often = (size for size, count in self.counts.items() if count >= _OFTEN * total)
        return max((s for s in often if 2 * SECTOR <= s < min(block, carried) and s % SECTOR == 0), default=None)


_OFTEN = 0.03
"""Share of all requests from which a size is frequent."""
_APART = 0.1
"""Least share of partial blocks beyond the one that the frames explain."""


@lru_cache(maxsize=1024)
def max_partial_share(carried: int, block: int) -> float:
    """Return the largest share of partial blocks that frames produce from whole-block requests."""
    if carried < block:
        return 1.0
    found = [pieces(carried, blocks * block, block) for blocks in (1, 2, 4, 8, 16, 32, 64, 128)]
    return max(1 - cut.get(block, 0) / sum(cut.values()) for cut in found)


def target_sizes(
    window: Window, devices: Sequence[str], caches: Sequence[tuple[CacheAnalysis, CacheSteps]]
) -> TargetSizes | None:
    """Return the sizes of requests to served devices or the caches in front of them; None if not counted."""
    for caching, course in caches:
        pieces = block_alignment(window, caching, course) if caching.cache.kind == FLASHCACHE else None
        if pieces is not None:
            lately = course.seconds is not None
            return TargetSizes(pieces.row, pieces.counts, pieces.sub_block, lately, course.seconds)
    window = recent(window)
    for device in devices:
        for counter in _COUNTERS:
            found = _exactly(window, counter, device)
            if found is not None:
                return found
    return None


def _exactly(window: Window, counter: str, device: str) -> TargetSizes | None:
    found = _counted(window, counter, (device,))
    small = not_whole(found.counts, BLOCK) if found is not None and found.row.exact else None
    if found is None or small is None:
        return None
    return TargetSizes(found.row, found.counts, small, lately=True, seconds=found.seconds)


def caches_below(window: Window, exports: Iterable[AoeExport]) -> list[CacheAnalysis]:
    """Return the whole-block caches that requests to the exports pass through."""
    known = [caching for caching in cachings(window) if caching.cache.needs_whole_blocks]
    found: dict[str, CacheAnalysis] = {}
    for export in exports if known else ():
        devices = window.topology.devices(export.kernel) if export.kernel is not None else ()
        for caching in known:
            cache = caching.cache
            # Without udev's links only the name identifies the mapping.
            if cache.device in devices or (not devices and export.device.endswith(f"/{cache.cache}")):
                found[cache.cache] = caching
    return list(found.values())
