"""Caches: hit rates, bypassed requests and request sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from sdstop.analysis.aoe.mtu_change import CacheSide, PayloadChange, PayloadHistory
from sdstop.analysis.aoe.request_sizes import Framing, SizeHistogram, framings, size_histograms, sizes_of
from sdstop.analysis.caches.state import caches, complete_split, split
from sdstop.core.format import bytes_, duration, number, percent, utc, whole
from sdstop.readings.cache import Cache, CacheActivity
from sdstop.readings.disk import DiskActivity
from sdstop.readings.iosize import RequestSizes
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import FindingEntry, Scene
from sdstop.tui.views.cache_row import CacheRow, cache_row
from sdstop.tui.views.cells import bar_cell, severity_name
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.histogram import histogram_note, histogram_rows, histogram_title
from sdstop.tui.views.mixture import HIGHEST, chart_width, mixed, mixture_rows, mixture_title
from sdstop.tui.views.view import Listing, View
from sdstop.tui.why import why_rows
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import FAINT, PLAIN, READ, STRONG, WRITE, Line, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import PERCENT, Cell, LineTable, TableColumn


class SizesRow(Struct, frozen=True):
    """A device other than a cache whose request sizes are counted."""

    sizes: SizeHistogram

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        parts = tuple((RequestSizes, (r.counter, r.device, r.direction)) for r in self.sizes.rows)
        return FactSubject(self.sizes.device or self.sizes.counter, parts)


def _name(item: CacheRow, _: int) -> Line:
    return severity_name(item.cache.cache, item.severity, item.scene.palette, stale=item.stale)


def _word(field: str) -> Callable[[CacheRow, int], Cell]:
    def cell(item: CacheRow, _: int) -> Cell:
        value = getattr(item.cache, field)
        return item.scene.palette.word(value, 40) if value is not None else text(("-", FAINT))

    return cell


def _state(item: CacheRow, _: int) -> Cell:
    style = FAINT if item.cache.state in {None, "ok", "clean"} else PLAIN
    return text((item.scene.palette.word(item.cache.state or "-", 40), style))


def _part(field: str) -> dict[str, Any]:
    """Return column arguments for a share of the cache's size, painted with a bar if the column is wide enough."""

    def value(item: CacheRow) -> float | None:
        part, size = getattr(item.cache, field), item.cache.size
        return part / size if part is not None and size else None

    def cell(item: CacheRow, width: int) -> Cell:
        found = value(item)
        return text(("-".rjust(5), FAINT)) if found is None else bar_cell(found, width, item.scene.palette)

    return {"cell": cell, "value": value, "scale": PERCENT}


def _figure(read: Callable[[CacheRow], float | None], shown: Callable[[float | None], str]) -> dict[str, Any]:
    def cell(item: CacheRow, _: int) -> Cell:
        said = shown(read(item))
        return text((said, FAINT)) if item.stale or said in {"0", "-"} else said

    return {"cell": cell, "value": read, "right": True}


def _did(field: str) -> Callable[[CacheRow], float | None]:
    def read(item: CacheRow) -> float | None:
        found: float | None = getattr(item.activity, field) if item.activity is not None else None
        return found

    return read


def _share(at: int) -> Callable[[CacheRow], float | None]:
    def read(item: CacheRow) -> float | None:
        return complete_split(item.activity).shares[at] if item.activity is not None else None

    return read


def _bypass(item: CacheRow, _: int) -> Cell:
    said = percent(_share(2)(item))
    if item.bypassed is not None and said != "-":
        return text((said, item.scene.palette.severity(item.bypassed)))
    return text((said, FAINT)) if item.stale or said in {"0", "-"} else said


def _errors(item: CacheRow, _: int) -> Cell:
    count = item.errors
    style = item.scene.palette.severity(item.severity) if count and item.severity else PLAIN if count else FAINT
    return text((number(count), style))


def _mix(item: CacheRow, width: int) -> Cell:
    return mixed(split(item.activity) if item.activity is not None else None, width, item)


_COLUMNS = (
    TableColumn("cache", "CACHE", 11, _name, lambda i: i.cache.cache, widest=28, rising=True),
    TableColumn("kind", "KIND", 11, _word("kind"), lambda i: i.cache.kind, keep=8, rising=True, widest=13),
    TableColumn("mode", "MODE", 12, _word("mode"), lambda i: i.cache.mode or "", keep=4, rising=True),
    TableColumn("state", "STATE", 7, _state, lambda i: i.cache.state or "", keep=6, rising=True, widest=12),
    TableColumn("size", "SIZE", 5, keep=5, **_figure(lambda i: i.cache.size, bytes_)),
    TableColumn("used", "%USED", 5, keep=7, widest=16, **_part("used")),
    TableColumn("dirty", "%DIRTY", 6, keep=9, widest=16, **_part("dirty")),
    TableColumn("block", "BLOCK", 5, keep=3, **_figure(lambda i: i.cache.block_size, bytes_)),
    TableColumn("reads", "r/s", 6, keep=2, style=READ, **_figure(_did("reads"), whole)),
    TableColumn("writes", "w/s", 6, keep=2, style=WRITE, **_figure(_did("writes"), whole)),
    TableColumn("hit", "%HIT", 5, scale=PERCENT, **_figure(_share(0), percent)),
    TableColumn("cacheable", lambda w: "%HIT CACHEABLE" if w >= 13 else "%CACHBL", 7, widest=13, scale=PERCENT,
                **_figure(_did("cacheable_hit_share"), percent)),
    TableColumn("bypass", "%BYPASS", 7, _bypass, _share(2), right=True, scale=PERCENT),
    TableColumn("mix", "HIT MISS BYPASS", 15, _mix, keep=1, widest=24),
    TableColumn("evicted", "EVICT/s", 7, keep=7, **_figure(_did("evicted"), whole)),
    TableColumn("promoted", "PROMO/s", 7, keep=5, **_figure(_did("promotions"), whole)),
    TableColumn("errors", "ERR", 4, _errors, lambda i: i.errors, right=True, keep=9),
)  # fmt: skip


class Caches(View):
    """Caches above; below, the history and the request sizes of the cache under the cursor."""

    families = (Cache, CacheActivity, RequestSizes)
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _rows(scene))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.scene: Scene | None = None
        self.changes = PayloadHistory()
        self.main = LineTable("Caches", _COLUMNS, id="caches")
        self.mixture = Pane("History", id="cache-mixture", cursor=False)
        self.compared = Pane("Compared", id="cache-compared", cursor=False)
        self.why = Pane("Why", id="cache-why", cursor=False)
        self.sizes = Pane("Request sizes", id="cache-sizes")
        self.left = Vertical(id="cache-left")
        yield self.main
        with Horizontal(id="cache-halves"):
            with self.left:
                yield self.mixture
                yield self.compared
                yield self.why
            yield self.sizes

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        listed = _rows(scene)
        count = len(caches(scene.window, scene.in_force))
        if not any(row.item is not None for row in listed):
            names = [c.name for c in scene.session.collectors if Cache in c.families]
            listed = self.absent(no_cache_reason(scene), scene, names)
        self.main.put(listed, scene.palette, f"{count} cache{'s' * (count != 1)}" if count else "")
        self._show_chosen()

    def moved(self, pane: Pane) -> None:
        """Show details of the row under the cursor."""
        if pane is self.main:
            self._show_chosen()

    def _show_chosen(self) -> None:
        scene = self.scene
        if scene is None:
            return
        row = self.main.chosen
        item = row.item if row is not None else None
        cached = item if isinstance(item, CacheRow) else None
        framed = framings(scene.window, cached.cache if cached is not None else item.sizes) if item is not None else []
        change = (
            self.changes.change(scene.session, scene.look, [f.where for f in framed]) if cached is not None else None
        )
        since = change.monotonic if change is not None else 0.0
        sizes = item.sizes if isinstance(item, SizesRow) else None
        if cached is not None:
            sizes = sizes_of(cached.cache, size_histograms(scene.window, since))
        compared = self._compared(change, cached, sizes, scene)
        wide = self.app.size.width >= 160
        width = self.app.size.width // 2 - 1 if wide else self.app.size.width
        listed = _size_rows(sizes, cached, framed, scene, width)
        entry = _entry_of(cached, scene) if cached is not None else None
        height = self._arrange(cached is not None, len(compared), len(listed), wide=wide)
        self.why.display = entry is not None and wide
        if entry is not None:
            self.why.put(why_rows(entry, scene, width), scene.palette)
        if cached is not None:
            self.mixture.title = mixture_title(cached)
            self.mixture.put(
                mixture_rows(cached, width, max(height - 1, 1)), scene.palette, f"last {chart_width(width)} s"
            )
        self.compared.put(compared, scene.palette)
        self.sizes.title = histogram_title(sizes, scene.palette) if sizes is not None else "Request sizes"
        self.sizes.put(listed, scene.palette, histogram_note(sizes, since) if sizes is not None else "")

    def _compared(
        self, change: PayloadChange | None, cached: CacheRow | None, sizes: SizeHistogram | None, scene: Scene
    ) -> list[Row]:
        if change is None or cached is None:
            return []
        rows = sizes.rows if sizes is not None else ()
        sides = self.changes.sides(change, cached.cache, rows, scene.session, scene.window)
        if sides is None:
            return []
        self.compared.title = _changed(change, scene)
        return [words(line) for line in compared_lines(sides, cached.cache, scene)]

    def _arrange(self, cached: bool, compared: int, sizes: int, *, wide: bool) -> int:  # noqa: FBT001
        """Distribute the lines among the panes; return the number of lines of the chart over time."""
        total = self.room
        top = min(len(self.main.rows) + 2, max(total // 3, 3)) if cached or sizes else total
        rest = total - top
        below = min(compared + 1, max(rest // 3, 5)) if compared else 0
        left = rest - below
        if wide or not cached:
            listed = rest
            over = min(left, _TALLEST) if cached else 0
        else:
            whole = sizes + 1 <= left - _LEAST
            listed = sizes + 1 if whole else left - _LEAST if left < _SMALL else left - _ENOUGH
            listed = 0 if listed < min(sizes + 1, 3) else listed
            over = min(left - listed, _TALLEST)
        for pane, height in ((self.main, top), (self.mixture, over), (self.compared, below), (self.sizes, listed)):
            pane.styles.height = height
            pane.display = height > 0
        self.left.styles.height = rest if wide else over + below
        self.left.display = cached
        return over


_TALLEST = HIGHEST + 4
"""Maximum lines of the chart over time, including title, facts, dirty data and incoming requests."""
_LEAST = 2
"""Lines of the shares of requests, with their title, that leave the others to the request sizes."""
_SMALL = 12
"""Lines for both of them below which the request sizes get all but those."""
_ENOUGH = 6
"""Lines of the chart over time above which the request sizes get their lines first."""


def _rows(scene: Scene) -> list[Row]:
    known = [cache_row(state, scene) for state in caches(scene.window, scene.in_force)]
    listed = [
        Row(c.key, c, None, " ".join(w for w in (c.cache.cache, c.cache.kind, c.cache.mode, c.cache.device) if w))
        for c in known
    ]
    if not listed:
        listed.append(note_row(no_cache_reason(scene), scene))
    counted = size_histograms(scene.window)
    taken = {id(s) for c in known if (s := sizes_of(c.cache, counted)) is not None}
    others = [s for s in counted if id(s) not in taken]
    if others:
        listed.append(words(text(("Request sizes are available for", STRONG), (f"  {len(others)}", FAINT))))
    for s in others:
        name = scene.palette.word(s.device or "all devices", 60)
        counter = scene.palette.word(s.counter, 20)
        line = text(f"{name:<16} ", (f"source {counter}, {number(sum(s.counts.values()))} requests", FAINT))
        listed.append(words(line, ("sizes", s.counter, s.device), SizesRow(s), f"{s.device} {s.counter}"))
    return listed


def no_cache_reason(scene: Scene) -> str:
    """Return in one line why no cache is shown, with incomplete sources; sources without caches are not listed."""
    said = scene.unseen(c.name for c in scene.session.collectors if Cache in c.families)
    return f"no cache found; {said}" if said else "no cache on this node"


def _entry_of(cached: CacheRow, scene: Scene) -> FindingEntry | None:
    """Return the worst finding about a cache, or the finding that explains it."""
    entries = scene.findings()
    worst = next((c for c in entries if not set(cached.names).isdisjoint(c.subjects)), None)
    if worst is None:
        return None
    return next((c for c in entries if c.finding is not None and worst.key in c.finding.explains), worst)


def _size_rows(
    sizes: SizeHistogram | None, cached: CacheRow | None, framed: list[Framing], scene: Scene, width: int
) -> list[Row]:
    if sizes is not None:
        return histogram_rows(sizes, cached, framed, scene, width)
    return [words(text((f" {_average(cached, scene)}", FAINT)))] if cached is not None else []


def _average(cached: CacheRow, scene: Scene) -> str:
    """Return the available data on request sizes if nothing counts them."""
    row = scene.rows(DiskActivity)[0].get(cached.cache.device or "")
    word = scene.palette.word
    pools = [word(s.device, 30) for s in size_histograms(scene.window) if s.counter == "zpool"]
    if pools and cached.cache.kind in _OF_POOLS:
        return f"{word(cached.cache.cache, 30)} reports no sizes; for I/O to the pool see {', '.join(pools)}"
    said = "no request sizes; --io-sizes counts them"
    means = ((name, size) for name, size in (("reads", row.read_size), ("writes", row.write_size))) if row else ()
    shown = ", ".join(f"{name} {bytes_(size)}" for name, size in means if size is not None)
    return f"{said}; mean: {shown}" if shown else said


_OF_POOLS = frozenset({"arc", "l2arc"})
"""Kinds of caches in front of every pool; request sizes are counted below them."""


def _changed(change: PayloadChange, scene: Scene) -> str:
    watched = change.watched
    said = f"{'MTU' if watched.mtu else 'Payload'} of {scene.palette.word(watched.name, 30)}"
    carried = f"; payload {watched.carried(change.old)} -> {watched.carried(change.new)}" if watched.mtu else ""
    return f"{said} {change.old} -> {change.new} at {utc(change.taken)}{carried}"


def compared_lines(sides: tuple[CacheSide, CacheSide], cache: Cache, scene: Scene) -> list[Line]:
    """Return the activity of a cache before and after a change, side by side."""
    heads = [f"{title} {duration(s.seconds)}" for title, s in zip(("before,", "since,"), sides, strict=True)]
    lines: list[Line] = [text((f"{'':<19}{heads[0]:<22}{heads[1]}", FAINT))]
    block = f"not whole {bytes_(cache.block_size)}" if cache.block_size else "not whole blocks"
    for title, read in (
        ("bypassed", _of("bypass_share")),
        ("hit", _of("hit_share")),
        ("cacheable hits", _of("cacheable_hit_share")),
        (block, lambda side: side.not_whole),
    ):
        parts = [(f" {title:<17}", FAINT)]
        line: list[Any] = list(text(*parts))
        for side in sides:
            value = read(side)
            line += [*text(f"{percent(value):>6} "), *bar(value, 12, scene.palette), *text("   ")]
        lines.append(tuple(line))
    evicted = [number(s.activity.evicted if s.activity is not None else None) for s in sides]
    lines.append(text((" evicted per s    ", FAINT), f"{evicted[0]:>6}{'':16}{evicted[1]:>6}"))
    return lines


def _of(field: str) -> Callable[[CacheSide], float | None]:
    def read(side: CacheSide) -> float | None:
        found: float | None = getattr(side.activity, field) if side.activity is not None else None
        return found

    return read
