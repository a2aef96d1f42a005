"""Cache counters for rules: growth in the window or, while that is too small, totals since the cache was loaded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.aoe.mtu_change import mtu_changed
from sdstop.collectors.aoe.readings import AoeExport
from sdstop.core import format as human
from sdstop.core.history import Moment, Window
from sdstop.readings.cache import COUNTERS, Cache, counted, share
from sdstop.readings.iosize import RequestSizes, between, not_whole

SECONDS = 60.0
"""Length of the window over which counters are compared."""
SETTLED = 10.0
"""Seconds of samples after which a cache without requests counts as idle, so its totals are only history."""

FLASHCACHE = "flashcache"

_ONE_WAY = {"writearound": "reads", "writecache": "writes"}
"""Modes that cache only reads or only writes."""


class CacheSteps(Struct, frozen=True):
    """Growth of a cache's known counters over `seconds`; None: since the cache was loaded."""

    seconds: float | None
    steps: Mapping[str, int]

    def sum(self, *names: str) -> int | None:
        """Return the sum of the known counters among `names`, None if none is known."""
        known = [self.steps[name] for name in names if name in self.steps]
        return sum(known) if known else None

    @property
    def hits(self) -> int | None:
        """Number of hits."""
        return self.sum("read_hits", "write_hits")

    @property
    def bypassed(self) -> int | None:
        """Number of requests that bypassed the cache."""
        return self.sum("bypassed_reads", "bypassed_writes")

    @property
    def came(self) -> int | None:
        """Number of requests received; if not counted, the sum of hits, misses and bypassed requests."""
        requests = self.sum("reads", "writes")
        return self.sum(*_ANSWERED) if requests is None else requests

    def rate(self, name: str) -> float | None:
        """Return the growth of a counter per second, None if the counter or the time span is unknown."""
        step = self.steps.get(name)
        return step / self.seconds if step is not None and self.seconds else None

    def spared(self, way: str) -> float | None:
        """Return the bypassed requests per second (`way`: read, write) that the cache would have answered.

        This is the bypass rate times the hit rate of cacheable requests; None if either is unknown.
        """
        past, hits = self.rate(f"bypassed_{way}s"), self.hit_share(way)
        return None if past is None or hits is None else past * hits

    def hit_share(self, *ways: str) -> float | None:
        """Return the hit rate of cacheable requests; `ways`: read, write or both."""
        hits = self.sum(*(f"{way}_hits" for way in ways))
        misses = self.sum(*(f"{way}_misses" for way in ways))
        return None if hits is None or misses is None else share(hits, hits + misses)

    @property
    def read_hits(self) -> float | None:
        """Hit rate of all reads."""
        return share(self.sum("read_hits"), self.sum("reads"))

    @property
    def promise(self) -> str:
        """Hit rate of all reads compared to cacheable reads; "" unless the latter is at least twice as high.

        `it answers 14.9 % of the reads, and 63.2 % of those that may be cached`
        """
        could, now = self.hit_share("read"), self.read_hits
        if could is None or now is None or could < 2 * now:
            return ""
        return f"it answers {human.percent(now)}% of the reads, and {human.percent(could)}% of those that may be cached"

    @property
    def when(self) -> str:
        """Time span of the counters, in words."""
        return "since load" if self.seconds is None else f"in {human.duration(self.seconds)}"


_ANSWERED = ("read_hits", "write_hits", "read_misses", "write_misses", "bypassed_reads", "bypassed_writes")


class CacheAnalysis(Struct, frozen=True):
    """A cache now, at the start of the window, and its counter growth in the window and since it was loaded.

    `recent` is None with one sample, or if the counters were reset after the previous sample.
    """

    cache: Cache
    earlier: Cache
    recent: CacheSteps | None
    ever: CacheSteps

    def judged(self, least: float) -> CacheSteps | None:
        """Return the counters to judge: those of the window or, while these are too few, those since load.

        None if too few requests were received.
        """
        recent = self.recent
        if recent is not None and (recent.came or 0) >= least:
            return recent
        if recent is not None and (recent.seconds or 0.0) >= SETTLED:
            return None
        return self.ever if (self.ever.came or 0) >= least else None

    @property
    def way(self) -> str | None:
        """Requests that the cache handles by its kind and mode: reads or writes; None: both."""
        return "writes" if self.cache.kind == "dm-writecache" else _ONE_WAY.get(self.cache.mode or "")

    @property
    def what(self) -> str:
        """Unit of the counters, limited to cacheable requests: requests, reads, writes or blocks."""
        return self.cache.counts if self.way is None or self.cache.counts != "requests" else self.way

    def past(self, course: CacheSteps) -> tuple[int | None, int | None]:
        """Return (bypassed, total) requests, without those that the cache's mode always bypasses."""
        way = self.way
        if way is not None and f"bypassed_{way}" in course.steps and way in course.steps:
            return course.steps[f"bypassed_{way}"], course.steps[way]
        return course.bypassed, course.came

    def bypass_share(self, course: CacheSteps) -> float | None:
        """Return the share of requests that bypassed the cache, without those that its mode always bypasses."""
        return share(*self.past(course))

    def grown(self, field: str) -> int | None:
        """Return the increase of a gauge in the window, None if unknown."""
        before, after = getattr(self.earlier, field), getattr(self.cache, field)
        return None if self.recent is None or before is None or after is None else after - before


def cachings(window: Window) -> list[CacheAnalysis]:
    """Return the window's caches by name."""
    return window.once("cachings", lambda: list(_cachings(recent(window))))


def recent(window: Window) -> Window:
    """Return the last minute or, if the MTU of an AoE serving interface changed in it, the time since that change.

    Rules judge the current setting. If the change is too recent to judge, the full minute is returned.
    """
    return window.once("recent", lambda: _since_change(window.last(SECONDS)))


def _since_change(window: Window) -> Window:
    changes = [change for name in _served_on(window) if (change := mtu_changed(window, name)) is not None]
    since = window.now.monotonic - max(changes) if changes else 0.0
    return window.last(since - _GRACE) if since >= SETTLED else window


_GRACE = 0.5
"""Tolerance in seconds that is added to a requested window."""


def _served_on(window: Window) -> set[str]:
    return {export.interface for export in window.rows(AoeExport).values()}


def _cachings(window: Window) -> Iterable[CacheAnalysis]:
    moments = window.moments(Cache)
    counted_by = _counted(moments)
    for key, cache in sorted(window.rows(Cache).items(), key=lambda item: item[1].cache):
        last = counted_by[-1].get(key) if counted_by else None
        begun = next(
            (place for place, m in enumerate(moments) if last and key in m.rows and m.started >= last.begun), -1
        )
        if last is None or begun < 0:
            yield CacheAnalysis(cache, cache, None, CacheSteps(None, _ever(cache)))
            continue
        first = counted_by[begun][key].grown
        steps = {name: grown - first.get(name, 0) for name, grown in last.grown.items()}
        known = {name: step for name, step in steps.items() if getattr(cache, name) is not None}
        seconds = moments[-1].started - moments[begun].started
        recent = CacheSteps(seconds, known) if seconds > 0 else None
        yield CacheAnalysis(cache, moments[begun].rows[key], recent, CacheSteps(None, _ever(cache)))


class _CounterSpan(Struct, frozen=True):
    """Growth of a cache's counters since its unbroken series of readings began at the monotonic time `begun`."""

    begun: float
    grown: Mapping[str, int]


def _counted(moments: Sequence[Moment[Cache]]) -> list[Mapping[Hashable, _CounterSpan]]:
    """Return the growth of all counters for each moment, cached per moment because windows overlap."""
    found: list[Mapping[Hashable, _CounterSpan]] = []
    before: Moment[Cache] | None = None
    for moment in moments:
        made = moment.memo.get(_COUNTED)
        if made is None or (before is not None and made[0] != before.started):
            made = (before.started if before is not None else None, _grown(before, found[-1] if found else {}, moment))
            moment.memo[_COUNTED] = made
        found.append(made[1])
        before = moment
    return found


_COUNTED = "counters of caches"


def _grown(
    before: Moment[Cache] | None, so_far: Mapping[Hashable, _CounterSpan], moment: Moment[Cache]
) -> dict[Hashable, _CounterSpan]:
    made = {}
    for key, row in moment.rows.items():
        old = before.rows.get(key) if before is not None else None
        steps = counted(old, row) if old is not None else None
        if steps is None:  # first reading, counter reset, or a different cache of that name
            made[key] = _CounterSpan(moment.started, {})
            continue
        grown = dict(so_far[key].grown)
        for name, step in steps.items():
            if step is not None:
                grown[name] = grown.get(name, 0) + step
        made[key] = _CounterSpan(so_far[key].begun, grown)
    return made


def _ever(cache: Cache) -> dict[str, int]:
    totals = {name: getattr(cache, name) for name in COUNTERS}
    return {name: total for name, total in totals.items() if total is not None}


class BlockAlignment(Struct, frozen=True):
    """Sizes of the requests to a cache that stores whole blocks only.

    The driver counts all its caches together. `bypass_share` is the share of requests that bypassed these caches,
    without those that their modes always bypass; compare it to `sub_block`, the share of requests that are not whole
    blocks.
    """

    row: RequestSizes
    counts: Mapping[int, int]
    sub_block: float
    bypass_share: float | None

    @property
    def agrees(self) -> float | None:
        """Difference between the two shares, None if one is unknown."""
        return None if self.bypass_share is None else abs(self.sub_block - self.bypass_share)


def block_alignment(window: Window, caching: CacheAnalysis, course: CacheSteps) -> BlockAlignment | None:
    """Return the sizes of requests to a cache over the time span of `course`, None if not counted."""
    cache, ever = caching.cache, course.seconds is None
    if not cache.needs_whole_blocks or not cache.block_size or cache.kind != FLASHCACHE:
        return None
    arrived = window.once(("flashcache sizes", ever), lambda: _arrived(window, ever=ever))
    if arrived is None:
        return None
    row, counts, bypass_share = arrived
    sub_block = not_whole(counts, cache.block_size)
    return None if sub_block is None else BlockAlignment(row, counts, sub_block, bypass_share)


def _arrived(window: Window, *, ever: bool) -> tuple[RequestSizes, Mapping[int, int], float | None] | None:
    """Return flashcache's histogram, its counts in the window (`ever`: in total), and the bypassed share."""
    row = next((r for r in window.rows(RequestSizes).values() if r.counter == FLASHCACHE), None)
    if row is None:
        return None
    counts: Mapping[int, int] | None = row.counts
    if not ever:
        moments = recent(window).moments(RequestSizes)
        rows = [r for m in moments for r in m.rows.values() if r.counter == FLASHCACHE]
        counts = between(rows[0], rows[-1]) if rows else None
    caches = [(c, c.ever if ever else c.recent) for c in cachings(window) if c.cache.kind == FLASHCACHE]
    shares = [c.past(course) for c, course in caches if course is not None]
    bypassed = [past for past, _ in shares if past is not None]
    came = [of for _, of in shares if of is not None]
    return None if not counts else (row, counts, share(sum(bypassed), sum(came)))
