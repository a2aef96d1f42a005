"""Caches without room for new data because of dirty data."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.analysis.caching import CacheAnalysis, cachings
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.cache import Cache, share
from sdstop.readings.disk import Disk


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for caching in cachings(window):
        cache = caching.cache
        dirty = share(cache.dirty, cache.size)
        if dirty is None:
            yield Unchecked("amount of dirty data unknown", cache.cache, calm=True)
            continue
        refused = caching.recent.sum("no_room") if caching.recent is not None else None
        part = share(refused, caching.recent.came) if caching.recent is not None else None
        crowded = (
            (refused or 0) >= limits["refusals"]
            and (part is None or part > limits["refused"])
            and dirty >= limits["crowded"]
        )
        full = dirty >= limits["cutoff" if cache.kind == "bcache" else "share"]
        trend = _trend(window, cache)
        eta = _full_in(caching, dirty) if cache.kind not in _FILLS_HALF and (trend is None or trend > 0) else None
        wait = _write_wait(window, cache.device or cache.cache)
        held = dirty >= limits["held" if cache.kind == "bcache" else "crowded"] and (wait or 0.0) >= limits["wait"]
        if crowded or full or held or (dirty >= limits["crowded"] and _soon(eta, limits)):
            yield _finding(window, caching, dirty, refused, _Now(trend, eta, wait), limits)
        else:
            room = "" if refused is None else f", {human.number(refused)} requests found no room"
            yield RuledOut(cache.cache, f"{human.percent(dirty)} % of it is dirty{room}")


class _Now(Struct, frozen=True):
    """Change of the dirty data in bytes per second, seconds until all is dirty, and mean wait of a write in seconds."""

    trend: float | None
    eta: float | None
    wait: float | None


def _trend(window: Window, cache: Cache) -> float | None:
    """Return how fast the dirty data has grown lately, in bytes per second; negative while it drains."""
    rows = [(at, row.dirty) for at, row in window.last(_LATELY).series(Cache, (cache.cache, cache.kind)) if row]
    known = [(at, dirty) for at, dirty in rows if dirty is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])


def _write_wait(window: Window, device: str) -> float | None:
    """Return the mean time of the writes to a device that completed lately, in seconds; None if there are none."""
    rows = [row for _, row in window.last(_LATELY).series(Disk, device) if row is not None]
    if len(rows) < 2:
        return None
    writes, spent = rows[-1].writes - rows[0].writes, rows[-1].write_time - rows[0].write_time
    return spent / 1000 / writes if writes > 0 and spent >= 0 else None


def _soon(eta: float | None, limits: Limits) -> bool:
    return eta is not None and eta <= limits["soon"]


def _full_in(caching: CacheAnalysis, dirty: float) -> float | None:
    """Return the seconds until the cache is all dirty at the window's pace; None if dirty data is not growing."""
    grown, recent, size = caching.grown("dirty"), caching.recent, caching.cache.size
    if recent is None or recent.seconds is None or recent.seconds < _LONG_ENOUGH or not grown or grown < 0 or not size:
        return None
    return size * (1 - dirty) / (grown / recent.seconds)


_FILLS_HALF = frozenset({"dm-writecache"})
"""Kinds that start write-back only when half full of dirty data (high_watermark); filling up to that is normal."""
_LONG_ENOUGH = 10.0
_LATELY = 10.0
"""Seconds over which the trend of the dirty data and the duration of a write are measured."""
_MOSTLY = 0.5


def _finding(
    window: Window, caching: CacheAnalysis, dirty: float, refused: int | None, now: _Now, limits: Limits
) -> Finding:
    cache, recent = caching.cache, caching.recent
    size, to = human.quantity(cache.dirty, "bytes"), cache.slow or "the disks"
    parts = [f"{human.percent(dirty)} % of the cache ({size}) is still to be written to {to}"]
    if refused:
        parts.append(f"{human.number(refused)} requests found no room {recent.when if recent is not None else ''}")
    if now.eta is not None and dirty < 1:
        parts.append(f"it gets more, and is full in about {human.duration(now.eta)}")
    grown = caching.grown("dirty")
    if now.trend is not None and now.trend <= 0:
        drains = f"it drains at {human.quantity(-now.trend, 'bytes_per_second')}"
        parts.append(drains if now.trend < 0 else "it gets no less")
    if now.wait is not None and now.wait >= limits["wait"]:
        behind = _write_wait(window, cache.slow) if cache.slow else None
        disk = f" ({human.quantity(behind, 'seconds')} on {cache.slow})" if behind is not None else ""
        parts.append(f"a write takes {human.quantity(now.wait, 'seconds')}{disk}")
    cleaned = recent.sum("cleaned") if recent is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        summary=f"{', '.join(parts)}: writes become as slow as the disks",
        values=(
            Value("dirty", "dirty", dirty, "ratio", limits["cutoff" if cache.kind == "bcache" else "share"]),
            Value("no_room", "requests that found no room", refused, "", limits["refusals"]),
            Value("wait", "a write takes", now.wait, "seconds", limits["wait"]),
            Value("eta", "until all of it is dirty", now.eta, "seconds", limits["soon"]),
            Value("grown", "more dirty data in the window", grown, "bytes"),
            Value("cleaned", "blocks written back in the window", cleaned),
        ),
        evidence=cites(window.cite(cache, "dirty"), window.cite(cache, "no_room")),
        advice=tuple(_advice(cache)),
        refuted_by="dirty data that gets less while the same is written",
        explains=(f"cache-bypassed:{cache.cache}",) if _sends_past(caching) else (),
    )


def _sends_past(caching: CacheAnalysis) -> bool:
    """Return whether most bypasses are caused by lack of room."""
    course = caching.recent
    return course is not None and (share(course.sum("no_room"), course.bypassed) or 0.0) > _MOSTLY


def _advice(cache: Cache) -> Iterator[str]:
    yield "iostat -x 5   # are the disks behind it at their limit? then more is written than they can take"
    match cache.kind:
        case "bcache":
            yield (
                f"grep . "
                f"/sys/block/{quoted(cache.device or cache.cache)}/bcache/writeback_{{percent,rate,running,delay}}"
                "   # 0 running: nothing is written back"
            )
        case "dm-cache":
            yield (
                f"lvchange --cachesettings migration_threshold=16384 {operand(cache.cache)}"
                "   # writes back more at a time"
            )
        case "dm-writecache":
            yield (
                f"dmsetup message {operand(cache.cache)} 0 flush   # writes all of it back: while little is asked of it"
            )
        case "flashcache":
            yield "sysctl -a | grep -E 'flashcache.*(dirty_thresh_pct|max_clean_ios|fallow)'   # how early, how much"
        case _:
            pass


CACHE_FULL_OF_DIRTY = Rule(
    "cache-full-of-dirty",
    "a cache is so full of data to be written back that new data finds no room",
    Severity.WARNING,
    _check,
    (Cache,),
    (
        Threshold("share", 0.9, "share of the cache that is dirty", "ratio"),
        Threshold("cutoff", 0.65, "the same of bcache, which takes no more writes at 70 % of its buckets", "ratio"),
        Threshold("crowded", 0.5, "share that is dirty, if besides requests find no room or it is full soon", "ratio"),
        Threshold("refused", 0.01, "share of requests that find no room", "ratio"),
        Threshold("refusals", 10.0, "and at least so many in a minute"),
        Threshold("wait", 0.5, "mean time of a write from which a cache with much dirty data is found", "seconds"),
        Threshold(
            "held",
            0.4,
            "share of a bcache that is dirty from which it sends writes to the disk (bch_cutoff_writeback)",
            "ratio",
        ),
        Threshold("soon", 600.0, "time until all of it is dirty at the pace seen", "seconds"),
    ),
)
