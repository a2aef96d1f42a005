"""Histogram of request sizes that marks the cache's block size and the pieces of requests split into AoE frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style

from sdstop.analysis.aoe.jumbo import aligned_mtus
from sdstop.analysis.aoe.request_sizes import LENGTH, Framing, SizeBin, SizeHistogram, binned
from sdstop.analysis.disks.recent_activity import PAST
from sdstop.core.format import bytes_, duration, number, percent
from sdstop.tui.scene import Scene
from sdstop.tui.views.cache_row import CacheRow
from sdstop.tui.views.cells import block_of
from sdstop.tui.why import Quote
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, OTHER, PLAIN, STRONG, Line, Palette, pairs, text, width_of
from sdstop.tui.widgets.pane import Row, words

_WIDEST = 48
"""Maximum cells of a bar."""
_BESIDE = 28
"""Cells taken by a size, a share and a count."""


def histogram_title(sizes: SizeHistogram, palette: Palette) -> str:
    """Return the title of the pane, which names the device or devices."""
    if sizes.counter == "flashcache":
        return "Request sizes, all flashcaches together"
    return f"Request sizes of {palette.word(sizes.device or 'all devices', 40)}"


def histogram_note(sizes: SizeHistogram, since: float) -> str:
    """Return the time range of the requests; `since` is nonzero if only those after a payload change are counted."""
    if sizes.seconds is None:
        return "totals: no recent requests" if sizes.idle else "totals since the counter started"
    whole = sizes.seconds > PAST - 1
    return f"{'since the change' if since and not whole else 'last'} {duration(sizes.seconds)}"


def histogram_rows(
    sizes: SizeHistogram, cached: CacheRow | None, framings: Sequence[Framing], scene: Scene, width: int,
    *, widest: int = _WIDEST, pieces: bool = True,
) -> list[Row]:  # fmt: skip
    """Return the lines of the pane; bars have at most `widest` cells.

    `pieces` adds how many pieces of a size a split request has, which the heading explains.
    """
    block = cached.cache.block_size if cached is not None else None
    chosen = list({framing.payload: framing for framing in framings}.values())[:2]
    bins = binned(sizes, block, [framing.payload for framing in chosen])
    total = sum(b.count for b in bins)
    rows = [words(line) for line in _heading(sizes, cached, chosen, scene.palette, width)]
    if not total:
        rows.append(words(text((" no requests counted", FAINT))))
    ticks = _ticks(bins, chosen)
    scale = max(
        (share for b, tick in zip(bins, ticks, strict=True) for share in (_seen(b, total), tick or 0.0)), default=0
    )
    room = max(min(width - _BESIDE - (21, 21, 40)[len(chosen)] + 5 * (not pieces), widest), 6)
    bad = cached.bypassed if cached is not None else None
    for b, tick in zip(bins, ticks, strict=True):
        style = PLAIN if bad is None or not block or b.low % block == 0 else scene.palette.severity(bad)
        line = text(
            (f"{_label(b, sizes, scene.palette):>11} ", STRONG if b.block else PLAIN),
            *pairs(
                bar(
                    _seen(b, total) / (scale or 1.0),
                    room,
                    scene.palette,
                    OTHER if style is PLAIN else style,
                    mark=None if tick is None else tick / (scale or 1.0),
                )
            ),
            f" {percent(b.count / total if total else None):>5}%",
            (f" {number(b.count):>7}", FAINT),
            *_marks(b, chosen if pieces else (), scene.palette),
        )
        rows.append(words(line, ("size", b.high), _quote(sizes, b, scene)))
    if sizes.larger and sizes.seconds is None:
        rows.append(words(text((f"{'larger':>11} ", PLAIN), (f"{number(sizes.larger)} requests", FAINT))))
    return rows


def _seen(b: SizeBin, total: int) -> float:
    return b.count / total if total else 0.0


def _ticks(bins: Sequence[SizeBin], framings: Sequence[Framing]) -> list[float | None]:
    """Return the share of each range if all requests were pieces of split long ones; None for ranges without pieces.

    The pieces made from the frames of an initiator are visible only at the target.
    """
    if len(framings) != 1 or not framings[0].here:
        return [None] * len(bins)
    cut = [b.cut.get(framings[0].payload, 0) for b in bins]
    return [count / sum(cut) if count else None for count in cut]


def _heading(
    sizes: SizeHistogram, cached: CacheRow | None, framings: Sequence[Framing], palette: Palette, width: int
) -> Iterator[Line]:
    block = cached.cache.block_size if cached is not None else None
    share = sizes.not_whole(block)
    if share is not None and block:
        worst = cached.bypassed if cached is not None else None
        style = STRONG if worst is None or not share else palette.severity(worst)
        yield text((f" {percent(share)}%", style), f" of requests are not a whole {block_of(block)} of the cache")
    for framing in framings:
        name = palette.word(framing.where, 30)
        said = f" {name}: "
        if framing.mtu is not None:
            right = aligned_mtus(block)[:1] if block and framing.payload % block else []
            better = "".join(f" ({low}-{high} fit)" for low, high in right)
            said = f" MTU {framing.mtu} of {name}{better}: "
        cut = f" split {bytes_(LENGTH)} requests as marked" + ("" if framing.here else ", at the target")
        line = text((said, FAINT), f"frames of {framing.payload} bytes", (cut, FAINT))
        yield line if width_of(line) <= width else line[:-1]
    if sizes.lost:
        said = f" {number(sizes.lost)} requests not counted: the counter's table was full"
        yield text((said, palette.severity(None)))


def _label(b: SizeBin, sizes: SizeHistogram, palette: Palette) -> str:
    if not sizes.exact:
        return f"to {bytes_(b.high)}" if palette.ascii else f"≤ {bytes_(b.high)}"
    return _size(b.low) if b.low == b.high else f"{_size(b.low)}-{_size(b.high)}"


def _size(value: int) -> str:
    """Return a size that stays distinct from neighboring sizes: 3584, but 64K."""
    return str(value) if value < 10_000 or value % 1024 else bytes_(value)


def _marks(b: SizeBin, framings: Sequence[Framing], palette: Palette) -> list[str | tuple[str, Style]]:
    marks: list[str | tuple[str, Style]] = []
    if b.block:
        marks.append((f"  {palette.back} cache block", STRONG))
    for framing in framings:
        count = b.cut.get(framing.payload)
        if count:
            of = f" of {framing.payload}" if len(framings) > 1 else ""
            marks.append((f"  {palette.times}{count}{of}", PLAIN))
    return marks


def _quote(sizes: SizeHistogram, b: SizeBin, scene: Scene) -> Quote | None:
    source = sizes.rows[0].source("sizes")
    if source is None:
        return None
    return Quote(source.key, scene.now.number, f"{b.high}:" if sizes.counter == "flashcache" else source.needle)
