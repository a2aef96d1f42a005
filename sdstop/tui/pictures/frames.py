"""Frames: what an AoE frame carries against the blocks of a cache, where requests go, and the sizes that arrive."""

from __future__ import annotations

from rich.style import Style

from sdstop.analysis.aoe.jumbo import BLOCK
from sdstop.analysis.aoe.request_sizes import framings, size_histograms, sizes_of
from sdstop.analysis.caches.state import caches, split
from sdstop.core.finding import Finding
from sdstop.core.format import number, percent
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.drawing import GROUNDS, block
from sdstop.tui.scene import Scene
from sdstop.tui.views.cache_row import CacheRow, cache_row
from sdstop.tui.views.cause import ROLES
from sdstop.tui.views.histogram import histogram_rows
from sdstop.tui.widgets.graph import joined
from sdstop.tui.widgets.palette import Line, Palette, text
from sdstop.tui.widgets.roles import role

_LABEL = 13
"""Cells."""


def frame_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the picture, None if neither frames nor a cache are known."""
    cached = _cache(finding, scene)
    payload = next((v.value for v in finding.values if v.name == "payload" and isinstance(v.value, int)), None)
    sizes = sizes_of(cached.cache, size_histograms(scene.window)) if cached is not None else None
    framed = framings(scene.window, cached.cache) if cached is not None else []
    if payload is None and framed:
        payload = framed[0].payload
    drawn = cached is not None and cached.activity is not None and split(cached.activity) is not None
    if payload is None and sizes is None and not drawn:
        return None
    size = (cached.cache.block_size if cached is not None else None) or BLOCK
    color = ROLES.get(finding.severity, "text")
    blocks = "cache block" if cached is not None else f"{size >> 10} KiB block"

    def draw(width: int, height: int) -> list[Line]:
        lines = rulers(size, payload, color, scene.palette, width, blocks) if payload else []
        if cached is not None and height > len(lines):
            lines += _ways(cached, color, scene.palette, width)
        if sizes is not None and height - len(lines) >= 3:
            rows = histogram_rows(sizes, cached, framed, scene, width - 1, widest=width, pieces=False)
            bins = [row for row in rows if row.key is not None]
            heads = [row for row in rows if row.key is None][:1] if height - len(lines) > len(bins) else []
            room = height - len(lines) - len(heads)
            while len(bins) > room:  # the rarest size gives way, the last one, a whole block, does not
                bins.remove(min(bins[:-1], key=lambda row: sizes.counts.get(row.key[1], 0)))  # type: ignore[index]
            lines += [row.line(width - 1) for row in (*heads, *bins) if row.line is not None]
        return lines[:height]

    bins = len(sizes.counts) + 1 if sizes is not None else 0
    title = f"Frames against {blocks}s" if payload and payload % size else "Requests of a cache"
    return Picture(title, draw, (3, *range(6, 3 + bins + 2)), whole=3 + bins - 1 if bins else 0)


def _cache(finding: Finding, scene: Scene) -> CacheRow | None:
    """Return the cache that a finding is about or explains, otherwise the first one that is bypassed."""
    known = [cache_row(state, scene) for state in caches(scene.window, scene.in_force)]
    names = {finding.subject, finding.view_subject, *(key.partition(":")[2] for key in finding.explains)}
    named = next((row for row in known if not names.isdisjoint(row.names)), None)
    return named or next((row for row in known if row.bypassed is not None), None)


def rulers(size: int, payload: int, color: str, palette: Palette, width: int, blocks: str) -> list[Line]:
    """Return two rulers of one scale: blocks under their name, and the data of consecutive frames."""
    room = width - _LABEL - 2
    units = (64, 128, 256, 512, 1024, 2048)
    unit = next((unit for unit in units if size / unit <= 16 and room * unit >= 6 * size), units[-1])
    length = max(room * unit // size, 1) * size
    accused = GROUNDS.get(color, _PLAIN) if payload % size else _PLAIN
    return [
        (*text((f" {blocks:<{_LABEL}}", role("dim"))), *_ruler(size, length, unit, _PLAIN, palette)),
        (*text((f" {'frame data':<{_LABEL}}", role("dim"))), *_ruler(payload, length, unit, accused, palette)),
    ]


_PLAIN = ("playfg", "h2")


def _ruler(size: int, length: int, unit: int, kind: tuple[str, str], palette: Palette) -> Line:
    """Return pieces of `size` bytes up to `length`, one cell for `unit` bytes; the last one may be cut."""
    parts: list[tuple[str, Style]] = []
    fore, ground = kind
    for index, begin in enumerate(range(0, length, size)):
        cells = max(min(begin + size, length) // unit - begin // unit, 1)
        label = f"{size:^{cells - 1}}" if cells > len(str(size)) + 1 else ""
        shade = ground if ground not in {"h1", "h2"} else f"h{1 + index % 2}"
        parts.append(block(cells - 1, fore, shade, label, palette))
        parts.append(("▏" if palette.grounds and not palette.ascii else "|", role("bg", shade)))
    return joined(parts)


def _ways(cached: CacheRow, color: str, palette: Palette, width: int) -> list[Line]:
    """Return where the requests of a cache go, as one bar: bypassed, missed, hit."""
    activity = cached.activity
    parts = split(activity) if activity is not None else None
    if activity is None or parts is None:
        return []
    came = sum(v for v in (activity.hits, activity.misses, activity.bypassed) if v is not None)
    hit, miss, bypass = parts.shares
    slow = palette.word(cached.cache.slow or "", 20)
    accused = GROUNDS.get(color, ("playfg", "playbg"))
    named = (
        (bypass, f" bypass {percent(bypass)}%" + (f" to {slow}" if slow else ""), accused),
        (miss, f" miss {percent(miss)}%", ("text", "track")), (hit, f" hit {percent(hit)}%", _PLAIN),
    )  # fmt: skip
    line = list(text((f" {palette.fit(f'{number(came)} req/s', _LABEL)}", role("dim"))))
    left = room = width - _LABEL - 2
    for share, said, kind in named:
        cells = min(max(round((share or 0.0) * room), 1 if share else 0), left)
        left -= cells
        line += text(block(cells, *kind, said if len(said) <= cells else "", palette))
    return [tuple(line)]
