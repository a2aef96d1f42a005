"""Sizes of the requests that came, drawn: the cache's block and what frames of AoE cut are marked."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.framing import below
from sdstop.collectors.network import Interface
from sdstop.exporters.html import drawing
from sdstop.exporters.html.markup import Markup
from sdstop.format import bytes_, number, percent, safe
from sdstop.history import Window
from sdstop.readings.aoe import AoeExport, AoeTarget, payload, pieces
from sdstop.readings.cache import Cache
from sdstop.readings.iosize import RequestSizes, between, not_whole

MOST = 24
"""Sizes that are drawn: the most frequent ones, and those that are marked."""
_LONG = 128 << 10
"""Bytes of the long request that frames are thought to cut: what read-ahead asks for."""
_DATA = frozenset({"", "read", "write"})


def sizes(window: Window) -> Iterator[tuple[str, str, Markup]]:
    """Yield (title, what is said of it, drawing) for each counter of requests by size."""
    last = window.moments(RequestSizes)
    first = last[0].rows if last else {}
    groups: dict[tuple[str, str], dict[int, int]] = {}
    since: dict[tuple[str, str], bool] = {}
    for key, row in window.rows(RequestSizes).items():
        if row.direction not in _DATA or not row.exact:
            continue
        whose = (row.counter, row.device)
        old = first.get(key)
        came = between(old, row) if old is not None and old is not row else None
        since[whose] = since.get(whose, True) and not came
        total = groups.setdefault(whose, {})
        for size, count in (came or row.counts).items():
            total[size] = total.get(size, 0) + count
    for whose, counts in sorted(groups.items()):
        if sum(counts.values()):
            yield _drawn(window, whose, counts, ever=since[whose])


def _drawn(window: Window, whose: tuple[str, str], counts: dict[int, int], *, ever: bool) -> tuple[str, str, Markup]:
    counter, device = whose
    total = sum(counts.values())
    caches = _caches(window, counter, device)
    block = min((cache.block_size for cache in caches if cache.block_size), default=None)
    frames = _frames(window, caches, device)
    marks: dict[int, list[str]] = {}
    for cache in caches:
        if cache.block_size:
            marks.setdefault(cache.block_size, []).append(f"block of {safe(cache.cache, 30)}")
    for carried, where in frames.items():
        for size in pieces(carried, _LONG, block or _LONG):
            marks.setdefault(size, []).append(f"cut by frames of {carried} ({where})")
    often = sorted(counts, key=lambda size: -counts[size])[:MOST]
    rows = []
    most = max(counts.values())
    for size in sorted({*often, *marks}):
        count = counts.get(size, 0)
        said = f"{percent(count / total):>5} %  {', '.join(dict.fromkeys(marks.get(size, ())))}"
        rows.append((str(size) if size < 10_000 else bytes_(size), count / most, said[:60], size in marks))
    told = f"{number(total)} requests {'since the counter began' if ever else 'in the last minute'}"
    small = not_whole(counts, block) if block else None
    if small is not None:
        told += f"; {percent(small)} % are no whole number of blocks of {bytes_(block)}"
    if len(counts) > len(often):
        told += f"; {len(counts) - len(often)} rarer sizes are not drawn"
    title = f"Request sizes, {safe(counter, 40)}{f' of {safe(device, 40)}' if device else ''}"
    return title, told, drawing.bars(rows, title=title)


def _caches(window: Window, counter: str, device: str) -> list[Cache]:
    """Return the caches whose requests are counted: of a module all of its kind, else what stands on the device."""
    found = list(window.rows(Cache).values())
    if not device:
        return [cache for cache in found if cache.kind == counter]
    return [cache for cache in found if device in {cache.device, cache.slow}]


def _frames(window: Window, caches: list[Cache], device: str) -> dict[int, str]:
    """Return what frames carry on the ways of these requests, and where: as measured, or by the interface's MTU."""
    devices = {name for cache in caches for name in (cache.device, cache.slow) if name} | (
        {device} if device else set()
    )
    found: dict[int, str] = {}
    for target in window.rows(AoeTarget).values():
        if target.payload and target.device in devices:
            found.setdefault(target.payload, safe(target.device, 30))
    for export in window.rows(AoeExport).values():
        nic = window.get(Interface, export.interface)
        if nic is None or not nic.mtu or (export.kernel and not devices & set(below(window, export.kernel))):
            continue
        found.setdefault(payload(nic.mtu), f"{safe(export.interface, 20)}, MTU {nic.mtu}")
    return found
