"""Cache activity of the last minute: stacked shares of hits, misses and bypassed requests, and dirty data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style

from sdstop.analysis.caches.state import RequestSplit, split
from sdstop.analysis.disks.recent_activity import PAST
from sdstop.analysis.latest import past_rows
from sdstop.core.format import bytes_, number, percent
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.tui.views.cache_row import CacheRow
from sdstop.tui.views.cells import block_of
from sdstop.tui.widgets.graph import layers, samples, stacked, step
from sdstop.tui.widgets.palette import FAINT, OTHER, PLAIN, READ, Line, text
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.strip import Sample, cells, spark

_AXIS = 6
"""Cells to the left of a chart."""
_LEGEND = 27
"""Cells of the legend beside a chart."""
HIGHEST = 20
"""Maximum lines of a stacked chart."""
_CHART = 3
"""Minimum lines of a chart."""
_NAMES = ("hit", "miss", "bypass")


def styles(cached: CacheRow) -> tuple[Style, Style, Style]:
    """Return the styles of hits, misses and bypassed requests; a fault is drawn in the color of its severity."""
    wrong = cached.bypassed
    return READ, OTHER, FAINT if wrong is None else cached.scene.palette.severity(wrong)


def mixed(parts: RequestSplit | None, width: int, cached: CacheRow) -> Line:
    """Return one bar of hits, misses and bypassed requests."""
    if parts is None:
        return ()
    glyphs = layers(ascii=cached.scene.palette.ascii)
    taken = stacked(parts.shares, width)
    return text(*((glyph * count, style) for glyph, count, style in zip(glyphs, taken, styles(cached), strict=True)))


def mixture_rows(cached: CacheRow, width: int, height: int) -> list[Row]:
    """Return the rows of the pane: facts if there is room, stacked chart with legend, dirty data, incoming requests.

    Too few lines for a chart show the shares of the last sample as one bar.
    """
    seconds = chart_width(width)
    if height < _CHART:
        return [words(line) for line in _now(cached, width, height)]
    tail = [_strip(title, cached, seconds, read, shown) for title, read, shown in _TAIL]
    lead = [_facts(cached)] if height >= 9 else []
    while tail and height - len(lead) - len(tail) < 3:
        tail.pop()
    room = max(height - len(lead) - len(tail), 1)
    return [words(line) for line in (*lead, *_stack(cached, seconds, min(room, HIGHEST), width), *tail)]


def _now(cached: CacheRow, width: int, height: int) -> list[Line]:
    """Return one bar of the last sample with its legend, and dirty data if there is room."""
    did = cached.activity
    parts = split(did) if did is not None else None
    if did is None or parts is None:
        return [text((" no requests in the last seconds", FAINT))]
    glyphs = layers(ascii=cached.scene.palette.ascii)
    legend = [
        (f"  {glyphs[at]} {_NAMES[at]} {percent(parts.shares[at])}%", styles(cached)[at])
        for at in (2, 1, 0)
        if parts.shares[at]
    ]
    head = f" {number(_flow(did))}/s "
    room = max(width - len(head) - sum(len(said) for said, _ in legend) - 1, 8)
    lines: list[Line] = [(*text((head, FAINT)), *mixed(parts, room, cached), *text(*legend))]
    return lines + [_strip(title, cached, chart_width(width), read, said) for title, read, said in _TAIL[: height - 1]]


def mixture_title(cached: CacheRow) -> str:
    """Return the cache's name, mode and block size."""
    cache, word = cached.cache, cached.scene.palette.word
    facts = [word(f, 40) for f in (cache.cache, cache.mode) if f]
    if cache.block_size:
        facts.append(f"{block_of(cache.block_size)}s")
    return f" {cached.scene.palette.dot} ".join(facts)


def chart_width(width: int) -> int:
    """Return the number of seconds that a chart shows in a pane of this width."""
    return max(min(width - _AXIS - _LEGEND - 3, PAST), 8)


def _facts(cached: CacheRow) -> Line:
    cache, word = cached.cache, cached.scene.palette.word
    facts = [word(f, 40) for f in (cache.kind, cache.policy) if f]
    if cache.fast or cache.slow:
        facts.append(f"{word(cache.fast or '-', 40)} before {word(cache.slow or '-', 40)}")
    if cache.skips_from is not None:
        facts.append(
            f"sequential bypass above {bytes_(cache.skips_from)}" if cache.skips_from else "sequential bypass off"
        )
    if cache.counts != "requests":
        facts.append(f"counts {word(cache.counts, 20)}")
    return text((" " + f" {cached.scene.palette.dot} ".join(facts), FAINT))


def _stack(cached: CacheRow, seconds: int, height: int, width: int) -> list[Line]:
    """Return the lines of the stacked chart, the highest first, each with its part of the legend."""
    columns = _columns(cached, seconds, height)
    glyphs, painted = layers(ascii=cached.scene.palette.ascii), styles(cached)
    legend = _legend(cached, height)
    beside = width >= _AXIS + seconds + _LEGEND
    lines = []
    for at, level in enumerate(range(height - 1, -1, -1)):
        label = "100%" if not at else "0%" if not level else "50%" if height >= 7 and at == height // 2 else ""
        parts: list[Segment] = [Segment(f"{label:>5} ", FAINT)]
        run, layer = "", -1
        for column in columns:
            part = column[level] if level < len(column) else -1
            if part != layer and run:
                parts.append(Segment(run, painted[layer] if layer >= 0 else PLAIN))
                run = ""
            run, layer = run + (glyphs[part] if part >= 0 else " "), part
        parts.append(Segment(run, painted[layer] if layer >= 0 else PLAIN))
        lines.append((*parts, Segment("  "), *legend[at]) if beside and at < len(legend) else tuple(parts))
    return lines


def _columns(cached: CacheRow, seconds: int, height: int) -> list[list[int]]:
    """Return the layers of each second from bottom to top; an empty list if unknown."""
    runs = past_rows(cached.scene.window, CacheActivity, cached.key)
    if not runs:
        return [[] for _ in range(seconds)]
    samples: list[Sample] = [(ends, lasted, float(at)) for at, (ends, lasted, _) in enumerate(runs)]
    drawn: list[list[int]] = []
    for _, _, row in runs:
        parts = split(row)
        taken = stacked(parts.shares, height) if parts is not None else []
        drawn.append([layer for layer, count in enumerate(taken) for _ in range(count)])
    shown = cells(samples, runs[-1][0], seconds)
    return [[] if at is None else drawn[int(at)] for at in shown]


def _legend(cached: CacheRow, height: int) -> list[Line]:
    """Return the legend: each shade with its current value, the highest part first, then further values that fit."""
    palette, did = cached.scene.palette, cached.activity
    parts = split(did) if did is not None else None
    flows = (did.hits, did.misses, did.bypassed) if did is not None else (None,) * 3
    glyphs = layers(ascii=palette.ascii)
    lines = [
        _entry(
            (glyphs[at], styles(cached)[at]),
            _NAMES[at],
            percent(parts.shares[at] if parts is not None else None),
            flows[at],
        )
        for at in (2, 1, 0)
    ]
    if did is not None:
        lines.append(text(("  cacheable hits   ", FAINT), f"{percent(did.cacheable_hit_share):>5}", ("%", FAINT)))
        lines += [
            text((f"  {title:<17}", FAINT), f"{number(value):>5}", ("/s", FAINT))
            for title, value in (
                ("evicted by bypass", did.evicted), ("promoted", did.promotions), ("demoted", did.demotions),
                ("cleaned", did.cleaned), ("no free block", did.no_room),
            )
            if value is not None
        ]  # fmt: skip
    return lines[:height]


def _entry(mark: tuple[str, Style], name: str, share: str, flow: float | None) -> Line:
    return text(mark, f" {name:<7}{share:>5}", ("%", FAINT), f"{number(flow):>8}", ("/s", FAINT))


def _strip(
    title: str,
    cached: CacheRow,
    seconds: int,
    read: Callable[[CacheRow], list[Sample]],
    shown: Callable[[CacheRow, Sequence[float | None]], tuple[float, str]],
) -> Line:
    known, palette = read(cached), cached.scene.palette
    fit = samples(seconds, palette)
    values = cells(known, known[-1][0], fit, seconds / fit) if known else [None] * fit
    top, said = shown(cached, values)
    return (*text((f"{title:>5} ", FAINT)), *spark(values, seconds, top, palette), *text("  ", said))


def _dirty(cached: CacheRow) -> list[Sample]:
    runs = past_rows(cached.scene.window, Cache, cached.key)
    usual = next((lasted for _, lasted, _ in reversed(runs) if lasted), cached.scene.interval)
    return [(ends, lasted or usual, row.dirty) for ends, lasted, row in runs]


def _dirty_said(cached: CacheRow, values: Sequence[float | None]) -> tuple[float, str]:
    top = step(max((v for v in values if v is not None), default=0.0))
    cache = cached.cache
    if cache.dirty is None:
        return top, "-"
    share = f", {percent(cache.dirty / cache.size)}% of {bytes_(cache.size)}" if cache.size else ""
    return top, f"{bytes_(cache.dirty)}{share}"


def _came(cached: CacheRow) -> list[Sample]:
    return [
        (ends, lasted, _flow(row)) for ends, lasted, row in past_rows(cached.scene.window, CacheActivity, cached.key)
    ]


def _flow(row: CacheActivity) -> float | None:
    flows = [f for f in (row.reads, row.writes) if f is not None]
    if not flows:
        flows = [f for f in (row.hits, row.misses, row.bypassed) if f is not None]
    return sum(flows) if flows else None


def _came_said(cached: CacheRow, values: Sequence[float | None]) -> tuple[float, str]:
    top = step(max((v for v in values if v is not None), default=0.0))
    return top, f"{number(_flow(cached.activity) if cached.activity else None)}/s"


_TAIL = (("dirty", _dirty, _dirty_said), ("reqs", _came, _came_said))
