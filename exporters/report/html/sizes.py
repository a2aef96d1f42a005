"""Charts of request sizes, with marks at the cache's block size and at sizes split by AoE frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sdstop.collectors.aoe.readings import AoeExport, AoeTarget, payload, pieces
from sdstop.collectors.network.readings import Interface
from sdstop.core.averages import fmean
from sdstop.core.format import bytes_, number, percent, safe
from sdstop.core.history import Window
from sdstop.core.text import added
from sdstop.exporters.report.html import drawing
from sdstop.exporters.report.html.markup import Markup
from sdstop.exporters.report.series import DATA, ReportSeries
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes, between, not_whole

MOST = 24
"""Number of most frequent sizes drawn, in addition to marked ones."""
MOST_COUNTERS = 24
"""Maximum counters drawn, those with the most requests; a node may have hundreds of disks."""
MOST_OVER_TIME = 12
"""Maximum counters drawn over time, and sizes of each in addition to marked ones."""
COLUMNS = 60
"""Maximum time steps of a chart over time; limits the elements, so that the page can be sent by mail."""
_LONG = 128 << 10
"""Size in bytes of the long request assumed to be split into frames: a read-ahead request."""


def sizes(window: Window) -> Iterator[tuple[str, str, Markup]]:
    """Yield (title, caption, drawing) for each counter of requests by size."""
    last = window.moments(RequestSizes)
    first = last[0].rows if last else {}
    groups: dict[tuple[str, str], dict[int, int]] = {}
    since: dict[tuple[str, str], bool] = {}
    for key, row in window.rows(RequestSizes).items():
        if row.direction not in DATA or not row.exact:
            continue
        whose = (row.counter, row.device)
        old = first.get(key)
        came = between(old, row) if old is not None and old is not row else None
        since[whose] = since.get(whose, True) and not came
        total = groups.setdefault(whose, {})
        for size, count in (came or row.counts).items():
            total[size] = total.get(size, 0) + count
    busy = sorted((whose for whose in groups if groups[whose]), key=lambda whose: (-sum(groups[whose].values()), whose))
    for whose in sorted(busy[:MOST_COUNTERS]):
        yield _drawn(window, whose, groups[whose], ever=since[whose], rest=len(busy) - MOST_COUNTERS)


def _drawn(
    window: Window, whose: tuple[str, str], counts: dict[int, int], *, ever: bool, rest: int
) -> tuple[str, str, Markup]:
    counter, device = whose
    total = sum(counts.values())
    caches = _caches(window, counter, device)
    block = _block(caches)
    marks = _marks(window, caches, device)
    often = sorted(counts, key=lambda size: -counts[size])[:MOST]
    rows = []
    most = max(counts.values())
    for size in sorted({*often, *marks}):
        count = counts.get(size, 0)
        said = f"{percent(count / total):>5}%  {', '.join(marks.get(size, ()))}"
        rows.append((_size(size), count / most, said[:60], size in marks))
    told = f"{number(total)} requests {'since the counter started' if ever else 'in the last minute'}"
    small = not_whole(counts, block) if block else None
    if small is not None:
        told += f"; {percent(small)}% are not whole blocks of {bytes_(block)}"
    if len(counts) > len(often):
        told += f"; {len(counts) - len(often)} rarer sizes omitted"
    if rest > 0:
        told += f"; {rest} counters with fewer requests omitted"
    title = _title(counter, device)
    return title, told, drawing.bars(rows, title=title)


def sizes_over_time(
    series: ReportSeries, window: Window, axis: drawing.DiagramAxis
) -> Iterator[tuple[str, str, Markup]]:
    """Yield (title, caption, drawing) for each counter: requests per second by size over time."""
    counters = series.of("size")
    came = {whose: {int(size): _sum(values) for size, values in counters[whose].items()} for whose in counters}
    busy = sorted((whose for whose in came if _sum(came[whose].values())), key=lambda w: (-_sum(came[w].values()), w))
    bounds = [at * len(series.times) // COLUMNS for at in range(COLUMNS + 1)]
    bounds = sorted(set(bounds)) if len(series.times) < COLUMNS else bounds
    thin = drawing.DiagramAxis([axis.at[end - 1] for end in bounds[1:]], axis.labels)
    for whose in sorted(busy[:MOST_OVER_TIME]):
        counter, _, device = whose.partition(" ")
        sums, by_size = came[whose], _read(counters[whose])
        caches = _caches(window, counter, device)
        marks = _marks(window, caches, device)
        often = sorted(sums, key=lambda size: (-sums[size], size))[:MOST_OVER_TIME]
        shown = sorted((size for size in {*often, *marks} if size in sums), reverse=True)
        rows = [
            (f"{MARKED if size in marks else ''}{_size(size)}", _thinned(by_size[str(size)], bounds)) for size in shown
        ]
        top = max(value for _, values in rows for value in values if value is not None)
        said = f"requests per second of each size; darkest is {number(top)}/s"
        if len(sums) > len(shown):
            said += f"; {len(sums) - len(shown)} rarer sizes omitted"
        if len(busy) > MOST_OVER_TIME:
            said += f"; {len(busy) - MOST_OVER_TIME} counters with fewer requests omitted"
        title = f"{_title(counter, device)}, over time"
        told: dict[str, list[str]] = {}
        for size in reversed(shown):
            for mark in marks.get(size, ()):
                told.setdefault(mark, []).append(_size(size))
        notes = [f"{MARKED}{', '.join(of)}: {mark}" for mark, of in told.items()]
        drawn = drawing.heat(rows, top, thin, title=title, shown=lambda v: f"{number(v)}/s", notes=notes)
        yield title, said, drawn


def _read(by_size: Mapping[str, Sequence[float | None]]) -> dict[str, list[float | None]]:
    """Return the values of each size from first to last sample; a value covers the time since the previous one.

    A size missing from a sample counts as 0.
    """
    columns = list(zip(*by_size.values(), strict=True))
    read = [at for at, column in enumerate(columns) if any(value is not None for value in column)]
    found: dict[str, list[float | None]] = {}
    for size, values in by_size.items():
        known: list[float | None] = [None] * len(values)
        for before, at in pairwise([read[0] - 1, *read]):
            known[before + 1 : at + 1] = [values[at] or 0.0] * (at - before)
        found[size] = known
    return found


def _thinned(values: Sequence[float | None], bounds: Sequence[int]) -> list[float | None]:
    """Return the mean of each drawn time step."""
    stretches = ([v for v in values[start:end] if v is not None] for start, end in pairwise(bounds))
    return [fmean(known) if known else None for known in stretches]


def _sum(values: Iterable[float | None]) -> float:
    return added(value for value in values if value is not None)


MARKED = "\u25b8 "
"""Prefix of a size that is a cache's block size or results from splitting by frames."""


def _title(counter: str, device: str) -> str:
    return f"Request sizes, {safe(counter, 40)}{f' of {safe(device, 40)}' if device else ''}"


def _size(size: int) -> str:
    return str(size) if size < 10_000 else bytes_(size)


def _block(caches: Sequence[Cache]) -> int | None:
    return min((cache.block_size for cache in caches if cache.block_size), default=None)


def _marks(window: Window, caches: Sequence[Cache], device: str) -> Mapping[int, Sequence[str]]:
    """Return the marks of sizes: block size of a cache, or result of splitting by frames on the path."""
    marks: dict[int, dict[str, None]] = {}
    for cache in caches:
        if cache.block_size:
            marks.setdefault(cache.block_size, {})[f"block of {safe(cache.cache, 30)}"] = None
    block = _block(caches)
    for carried, where in _frames(window, caches, device).items():
        for size in pieces(carried, _LONG, block or _LONG):
            marks.setdefault(size, {})[f"split by frames of {carried} ({where})"] = None
    return {size: list(said) for size, said in marks.items()}


def _caches(window: Window, counter: str, device: str) -> list[Cache]:
    """Return the caches a counter covers: all of a kind for a module's counter, otherwise those on the device."""
    found = list(window.rows(Cache).values())
    if not device:
        return [cache for cache in found if cache.kind == counter]
    return [cache for cache in found if device in {cache.device, cache.slow}]


def _frames(window: Window, caches: Sequence[Cache], device: str) -> dict[int, str]:
    """Return the frame payloads on the paths of these requests and where: measured, or derived from the MTU."""
    devices = {name for cache in caches for name in (cache.device, cache.slow) if name} | (
        {device} if device else set()
    )
    found: dict[int, str] = {}
    for target in window.rows(AoeTarget).values():
        if target.payload and target.device in devices:
            found.setdefault(target.payload, safe(target.device, 30))
    for export in window.rows(AoeExport).values():
        nic = window.get(Interface, export.interface)
        if nic is None or not nic.mtu or (export.kernel and not devices & set(window.topology.devices(export.kernel))):
            continue
        found.setdefault(payload(nic.mtu), f"{safe(export.interface, 20)}, MTU {nic.mtu}")
    return found
