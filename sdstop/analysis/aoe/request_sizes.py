"""Histograms of recent request sizes, compared to how AoE frames split requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from sdstop.analysis.disks.recent_activity import PAST
from sdstop.analysis.latest import past_rows, rows_of_all_runs
from sdstop.collectors.aoe.readings import AoeExport, AoeTarget, payload, pieces
from sdstop.collectors.network.readings import Interface
from sdstop.core.format import natural
from sdstop.core.history import Window
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes, between, not_whole

LENGTH = 128 << 10
"""Bytes of a long request that frames are assumed to split: the size of read-ahead."""

_APART = 4096
"""Maximum size that is shown individually; longer ones are grouped into ranges."""
_DATA = frozenset({"", "read", "write"})
"""Directions that transfer data; the size of a discard is not a transfer size."""


class SizeHistogram(Struct, frozen=True):
    """Requests by size of one device (or module), all directions combined.

    `seconds` is the time span of the requests; None: since the counter began. `idle`: without recent requests, so
    these are totals. `whole` is the scope: one device, or a whole module.
    """

    counter: str
    device: str
    counts: Mapping[int, int]
    rows: Sequence[RequestSizes]
    seconds: float | None = None
    idle: bool = False
    stale: bool = False

    @property
    def exact(self) -> bool:
        """Whether bounds are exact request sizes."""
        return all(row.exact for row in self.rows)

    @property
    def larger(self) -> int:
        """Requests above the largest bound, since the counter began."""
        return sum(row.larger or 0 for row in self.rows)

    @property
    def lost(self) -> int:
        """Requests that were not counted because the counter's table was full."""
        return sum(row.lost or 0 for row in self.rows)

    def not_whole(self, block: int | None) -> float | None:
        """Return the share of requests that are not a whole number of blocks; None if unknown."""
        return not_whole(self.counts, block) if block and self.exact else None


def size_histograms(window: Window, since: float = 0.0) -> list[SizeHistogram]:
    """Return the request sizes of every counted device and module, by counter and name.

    The requests are those of the last minute; any from before `since` (monotonic) are excluded.
    """
    return window.once(("request sizes", since), lambda: _sized(window, since))


def _sized(window: Window, since: float) -> list[SizeHistogram]:
    groups: dict[tuple[str, str], list[tuple[RequestSizes, bool]]] = {}
    for latest in rows_of_all_runs(window, RequestSizes).values():
        sizes = cast("RequestSizes", latest.row)
        if sizes.direction in _DATA:
            groups.setdefault((sizes.counter, sizes.device), []).append((sizes, latest.stale))
    found = []
    for (counter, device), members in sorted(groups.items(), key=lambda g: (g[0][0], natural(g[0][1]))):
        rows = [row for row, _ in members]
        recent = recent_counts(window, rows, since)
        counts, seconds = recent if recent is not None and recent[0] else (_total(row.counts for row in rows), None)
        found.append(
            SizeHistogram(counter, device, counts, rows, seconds, recent is not None and not recent[0],
                  any(stale for _, stale in members))
        )  # fmt: skip
    return found


def recent_counts(window: Window, rows: Iterable[RequestSizes], since: float) -> tuple[dict[int, int], float] | None:
    """Return requests by size over the last minute of a window, or since a moment, and the time span in seconds.

    None with fewer than two readings, or if a counter was reset.
    """
    parts, seconds = [], 0.0
    for row in rows:
        key = (row.counter, row.device, row.direction)
        runs = [(ends, reading) for ends, _, reading in past_rows(window, RequestSizes, key)]
        late = [run for run in runs if run[0] >= max(window.now.monotonic - PAST - 0.5, since)]
        runs = late if len(late) > 1 else runs[-2:]
        part = between(runs[0][1], runs[-1][1]) if len(runs) > 1 else None
        if part is None:
            return None
        parts.append(part)
        seconds = max(seconds, runs[-1][0] - runs[0][0])
    return (_total(parts), seconds) if parts else None


def _total(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for part in parts:
        for size, count in part.items():
            total[size] = total.get(size, 0) + count
    return dict(sorted(total.items()))


def sizes_of(cache: Cache, all_sizes: Iterable[SizeHistogram]) -> SizeHistogram | None:
    """Return the sizes of requests to a cache from the closest counter.

    flashcache counts all its caches together. For others, counters of the cache's own device are preferred to those
    of the backing device, and requests as they arrive ("queue") to requests as they are issued.
    """
    wanted = [("flashcache", "")] if cache.kind == "flashcache" else []
    wanted += [
        (counter, name) for name in (cache.device, cache.slow) if name for counter in ("queue", "issue", "zpool")
    ]
    by_key = {(sizes.counter, sizes.device): sizes for sizes in all_sizes}
    return next((by_key[key] for key in wanted if key in by_key), None)


class Framing(Struct, frozen=True):
    """Frame payload on a path. `here`: this node is the target, so it receives requests as split by frames."""

    payload: int
    where: str
    mtu: int | None
    here: bool


def framings(window: Window, at: Cache | SizeHistogram) -> list[Framing]:
    """Return the frame payloads for requests to a cache or device: from the MTU of a target, measured on an initiator.

    Paths that are known to lead elsewhere are excluded.
    """
    found: dict[tuple[str, bool], Framing] = {}
    interfaces = rows_of_all_runs(window, Interface)
    for latest in rows_of_all_runs(window, AoeExport).values():
        export = cast("AoeExport", latest.row)
        interface = interfaces.get(export.interface)
        mtu = cast("Interface", interface.row).mtu if interface is not None else None
        if mtu is not None and _served(window, export, at):
            found.setdefault((export.interface, True), Framing(payload(mtu), export.interface, mtu, here=True))
    for latest in rows_of_all_runs(window, AoeTarget).values():
        target = cast("AoeTarget", latest.row)
        if target.payload and target.device in _devices(window, at):
            found.setdefault((target.device, False), Framing(target.payload, target.device, None, here=False))
    return list(found.values())


def _served(window: Window, export: AoeExport, at: Cache | SizeHistogram) -> bool:
    if isinstance(at, SizeHistogram):
        return export.kernel == at.device
    if export.kernel is None:  # a file, or the kernel device is unknown
        return export.device.endswith(f"/{at.cache}") or not export.device.startswith("/dev/")
    return at.device in window.topology.devices(export.kernel)


def _devices(window: Window, at: Cache | SizeHistogram) -> list[str]:
    """Return the devices that requests are passed on to."""
    if isinstance(at, SizeHistogram):
        return [at.device]
    return [name for top in (at.device, at.slow) if top for name in window.topology.devices(top)]


class SizeBin(Struct, frozen=True):
    """Requests in a size range. `cut`: number of pieces in this range per long request split by frames, by payload."""

    low: int
    high: int
    count: int
    block: bool
    cut: Mapping[int, int] = field(default_factory=dict)


def binned(sizes: SizeHistogram, block: int | None, payloads: Sequence[int]) -> list[SizeBin]:
    """Return the observed sizes, the cache's block and the sizes of frame pieces, smallest first.

    Small and marked sizes are listed individually; others are grouped by powers of two.
    """
    cuts = {p: pieces(p, LENGTH, block or LENGTH) for p in payloads}
    marked = {size for cut in cuts.values() for size in cut} | ({block} if block else set())
    if not sizes.exact:
        return _ranges(sizes, block, cuts)
    groups: dict[tuple[int, int], list[int]] = {}
    for size in {*sizes.counts, *marked}:
        alone = size <= _APART or size in marked
        groups.setdefault((size, 0) if alone else (1 << (size - 1).bit_length(), 1), []).append(size)
    found = []
    for members in groups.values():
        count = sum(sizes.counts.get(size, 0) for size in members)
        cut = {p: n for p, made in cuts.items() if (n := sum(made.get(size, 0) for size in members))}
        found.append(SizeBin(min(members), max(members), count, block in members, cut))
    return sorted(found, key=lambda b: (b.low, b.high))


def _ranges(sizes: SizeHistogram, block: int | None, cuts: Mapping[int, Mapping[int, int]]) -> list[SizeBin]:
    """Return the counter's own ranges; each begins above the previous one."""
    bounds = sorted({bound for row in sizes.rows for bound in row.sizes})
    found, below = [], 0
    for bound in bounds:
        cut = {
            p: n
            for p, made in cuts.items()
            if (n := sum(count for size, count in made.items() if below < size <= bound))
        }
        holds = block is not None and below < block <= bound
        if sizes.counts.get(bound) or cut or holds:
            found.append(SizeBin(below + 1, bound, sizes.counts.get(bound, 0), holds, cut))
        below = bound
    return found
