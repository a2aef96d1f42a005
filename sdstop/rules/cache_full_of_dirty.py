"""Caches without room for new data because of dirty data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

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
        if cache.writes_back == 0 and dirty and cache.dirty:
            yield _switched_off(window, cache, dirty, trend, limits)
        elif crowded or full or held or (dirty >= limits["crowded"] and _soon(eta, limits)):
            yield _finding(window, caching, dirty, refused, _Now(trend, eta, wait), limits)
        else:
            room = "" if refused is None else f", {human.number(refused)} requests found no room"
            drains = f", {_drains(cache, trend)}" if trend is not None and trend < 0 and dirty >= _MUCH else ""
            yield RuledOut(cache.cache, f"{human.percent(dirty)} % of it is dirty{room}{drains}")


_MUCH = 0.05
"""Share of dirty data from which it matters when the cache will be clean: on detach, or before maintenance."""


def _drains(cache: Cache, trend: float) -> str:
    """Return how fast the dirty data gets less, the limit if that is the reason, and when none is left."""
    rate = cache.write_back_rate
    held = (
        f", held to its writeback_rate of {human.quantity(rate, 'bytes_per_second')}" if _is_held(cache, trend) else ""
    )
    return (
        f"it drains at {human.quantity(-trend, 'bytes_per_second')}{held}, "
        f"clean in about {human.duration(_clean_in(cache, trend) or 0.0)}"
    )


def _clean_in(cache: Cache, trend: float | None) -> float | None:
    """Return the seconds until no dirty data is left; None if it does not get less."""
    return (cache.dirty or 0) / -trend if trend is not None and trend < 0 else None


def _is_held(cache: Cache, trend: float | None) -> bool:
    """Return whether the dirty data gets less at the rate to which bcache limits its write-back, or more slowly."""
    rate = cache.write_back_rate
    return rate is not None and trend is not None and 0 < -trend <= _ABOUT * rate


_ABOUT = 1.25
"""Drain rate, as a multiple of the limit, up to which the limit explains it: the kernel adjusts it every 5 s."""


def _switched_off(window: Window, cache: Cache, dirty: float, trend: float | None, limits: Limits) -> Finding:
    """Return the finding of a cache that writes nothing back: its dirty data stays on the cache device alone."""
    size, to = human.quantity(cache.dirty, "bytes"), cache.slow or "its disk"
    grows = trend is not None and trend > 0
    return Finding(
        severity=Severity.WARNING if grows or dirty >= limits["held"] else Severity.INFO,
        subject=cache.cache,
        cause=f"writing back is switched off: {size} ({human.percent(dirty)} % of the cache) "
        f"{'and more ' if grows else ''}stay on {cache.fast or 'the cache device'} alone, {to} lacks them",
        values=(
            Value("dirty", "dirty", dirty, "ratio", above=limits["held"]),
            Value("trend", "change of the dirty data", trend, "bytes_per_second"),
        ),
        evidence=cites(window.cite(cache, "writes_back"), window.cite(cache, "dirty")),
        advice=(f"echo 1 > /sys/block/{quoted(cache.device or cache.cache)}/bcache/writeback_running",),
        refuted_by="1 in writeback_running; or a backup that switched it off for a while",
    )


class _Now(Struct, frozen=True):
    """Change of the dirty data in bytes per second, seconds until all is dirty, and mean wait of a write in seconds."""

    trend: float | None
    eta: float | None
    wait: float | None


def _trend(window: Window, cache: Cache) -> float | None:
    """Return how fast the dirty data has grown lately, in bytes per second; negative while it drains."""
    coarse = cache.kind == "bcache" and (cache.dirty or 0) >= _COARSE
    recent = window if coarse else window.last(_LATELY)
    rows = [(at, row.dirty) for at, row in recent.series(Cache, (cache.cache, cache.kind)) if row]
    known = [(at, dirty) for at, dirty in rows if dirty is not None]
    if coarse:
        return _by_steps(known)
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])


_COARSE = 1000 << 20
"""Bytes from which bcache prints dirty data in steps of 102 MiB (12.9G; drivers/md/bcache/util.c: bch_hprint)."""


def _by_steps(known: Sequence[tuple[float, int]]) -> float | None:
    """Return the change per second of a number printed in steps: between the last steps in one direction."""
    steps = [now for before, now in pairwise(known) if before[1] != now[1]]
    run, fewest = steps[-1:], 2
    for at, value in steps[-2::-1]:
        if len(run) > 1 and (run[0][1] - value > 0) != (run[1][1] - run[0][1] > 0):
            fewest = 3  # a number at the border of two steps goes to and fro
            break
        run.insert(0, (at, value))
    if len(run) < fewest or known[-1][0] - run[-1][0] > 2 * (run[-1][0] - run[0][0]) + 1:
        return None  # too slow for this window, or over
    return (run[-1][1] - run[0][1]) / (run[-1][0] - run[0][0])


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
        parts.append(_drains(cache, now.trend) if now.trend < 0 else "it gets no less")
    if now.wait is not None and now.wait >= limits["wait"]:
        behind = _write_wait(window, cache.slow) if cache.slow else None
        disk = f" ({human.quantity(behind, 'seconds')} on {cache.slow})" if behind is not None else ""
        parts.append(f"a write takes {human.quantity(now.wait, 'seconds')}{disk}")
    cleaned = recent.sum("cleaned") if recent is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        cause=f"{', '.join(parts)}: writes become as slow as the disks",
        values=(
            Value("dirty", "dirty", dirty, "ratio", above=limits["cutoff" if cache.kind == "bcache" else "share"]),
            Value("no_room", "requests that found no room", refused, "", above=limits["refusals"]),
            Value("wait", "a write takes", now.wait, "seconds", above=limits["wait"]),
            Value("eta", "until all of it is dirty", now.eta, "seconds", above=limits["soon"]),
            Value("clean", "until none of it is dirty", _clean_in(cache, now.trend), "seconds"),
            Value("grown", "more dirty data in the window", grown, "bytes"),
            Value("cleaned", "blocks written back in the window", cleaned),
        ),
        evidence=cites(window.cite(cache, "dirty"), window.cite(cache, "no_room")),
        advice=tuple(_advice(cache, held=_is_held(cache, now.trend))),
        refuted_by="dirty data that gets less while the same is written",
        explains=(f"cache-bypassed:{cache.cache}",) if _sends_past(caching) else (),
    )


def _sends_past(caching: CacheAnalysis) -> bool:
    """Return whether most bypasses are caused by lack of room."""
    course = caching.recent
    return course is not None and (share(course.sum("no_room"), course.bypassed) or 0.0) > _MOSTLY


def _advice(cache: Cache, *, held: bool) -> Iterator[str]:
    yield "iostat -x 5   # are the disks behind it at their limit? then more is written than they can take"
    match cache.kind:
        case "bcache":
            if held:
                yield (
                    f"echo 0 > /sys/block/{quoted(cache.device or cache.cache)}/bcache/writeback_percent"
                    "   # writes all of it back without a limit; afterwards: 10"
                )
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
