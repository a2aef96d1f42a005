"""Dirty data of a cache over time: its share of the cache, with the share above which it is full."""

from __future__ import annotations

from sdstop.analysis.latest import past_rows
from sdstop.core.finding import Finding
from sdstop.core.format import bytes_, percent
from sdstop.readings.cache import Cache
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import stretched
from sdstop.tui.views.cache_row import CacheRow
from sdstop.tui.views.cause import ROLES
from sdstop.tui.widgets.graph import Axis, plot
from sdstop.tui.widgets.palette import OTHER, Line, text
from sdstop.tui.widgets.roles import role

_GUTTER = 12
"""Cells."""


def dirty_picture(cached: CacheRow, finding: Finding) -> Picture | None:
    """Return the course of a cache's dirty data, None if it has none or its size is unknown."""
    cache, palette = cached.cache, cached.scene.palette
    if not cache.dirty or not cache.size:
        return None
    size = cache.size
    course = [
        None if row.dirty is None else row.dirty / size
        for _, _, row in past_rows(cached.scene.window, Cache, cached.key)
    ]
    full = next((value.above for value in finding.values if value.name == "dirty" and value.above is not None), None)
    accused = ROLES.get(finding.severity) if finding.rule == "cache-full-of-dirty" else None
    style = role(accused) if accused is not None else OTHER
    axis = Axis(_share, ("dirty", ""), (style, OTHER), top=1.0, limit=full, gutter=_GUTTER)
    facts = f" {bytes_(cache.dirty)} of {bytes_(size)} dirty"
    facts += f"; full above {percent(full)}%" if full is not None else ""

    def draw(width: int, height: int) -> list[Line]:
        shown = stretched(course, axis.room(width), palette)
        return [text((facts, role("dim"))), *plot(shown, width, max(height - 1, 2), palette, axis)]

    name = palette.word(cache.cache, 40)
    return Picture(f"{name}: dirty data of the cache", draw, tuple(range(4, 9)))


def _share(value: float | None) -> str:
    return f"{percent(value)}%"
