"""Caches without room for new data because of dirty data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.analysis.caches.counters import CacheAnalysis, cachings
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
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
            yield _finding(window, caching, dirty, refused, _DirtyTrend(trend, eta, wait), limits)
        else:
            room = "" if refused is None else f", {human.number(refused)} requests without room"
            drains = f", {_drains(cache, trend)}" if trend is not None and trend < 0 and dirty >= _MUCH else ""
            yield RuledOut(cache.cache, f"{human.percent(dirty)}% dirty{room}{drains}")


_MUCH = 0.05
"""Share of dirty data from which it matters when the cache will be clean: on detach, or before maintenance."""


def _drains(cache: Cache, trend: float) -> str:
    """Return how fast the dirty data gets less, the limit if that is the reason, and when none is left."""
    rate = cache.write_back_rate
    held = f", limited to {human.quantity(rate, 'bytes_per_second')}" if _is_held(cache, trend) else ""
    return (
        f"drains at {human.quantity(-trend, 'bytes_per_second')}{held}, "
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
    size, to = human.quantity(cache.dirty, "bytes"), human.safe(cache.slow or "the disk", 16)
    fast = human.safe(cache.fast or "the cache device", 16)
    grows = trend is not None and trend > 0
    return Finding(
        severity=Severity.WARNING if grows or dirty >= limits["held"] else Severity.INFO,
        subject=cache.cache,
        title=f"WRITE-BACK OFF: {size} dirty",
        cause=f"Write-back is off; {size} of dirty data {'and more ' if grows else ''}stay on {fast}.",
        impact=f"{to} lacks this data: a failure of {fast} loses it.",
        values=(
            Value("dirty", "dirty", dirty, "ratio", above=limits["held"] if dirty >= limits["held"] else None),
            Value("trend", "change of the dirty data", trend, "bytes_per_second"),
        ),
        evidence=cites(window.cite(cache, "writes_back"), window.cite(cache, "dirty")),
        advice=(
            "Switch write-back on.",
            run("echo", "1", into=f"/sys/block/{cache.device or cache.cache}/bcache/writeback_running"),
        ),
        refuted_by="1 in writeback_running",
        harmless_if="a backup switched it off for a while",
        damage=Damage.DATA,
    )


class _DirtyTrend(Struct, frozen=True):
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
"""Seconds of growth by which the rest is estimated."""
_LATELY = 10.0
"""Seconds over which the trend of the dirty data and the duration of a write are measured."""
_MOSTLY = 0.5
"""Share of bypassed requests for want of room."""


def _finding(
    window: Window, caching: CacheAnalysis, dirty: float, refused: int | None, now: _DirtyTrend, limits: Limits
) -> Finding:
    cache, recent = caching.cache, caching.recent
    size, to = human.quantity(cache.dirty, "bytes"), human.safe(cache.slow or "the disks", 16)
    grown = caching.grown("dirty")
    if now.trend is not None and now.trend < 0:
        held = ", limited by writeback_rate" if _is_held(cache, now.trend) else ""
        cause = f"{size} dirty; drains to {to} at {human.quantity(-now.trend, 'bytes_per_second')}{held}."
    elif now.eta is not None and dirty < 1:
        cause = f"{size} still to be written to {to}; all dirty in about {human.duration(now.eta)}."
    else:
        still = "" if now.trend is None else "; not shrinking"
        cause = f"{size} still to be written to {to}{still}."
    if now.wait is not None and now.wait >= limits["wait"]:
        behind = _write_wait(window, cache.slow) if cache.slow else None
        disk = f" ({human.quantity(behind, 'seconds')} on {to})" if behind is not None else ""
        impact = f"A write takes {human.quantity(now.wait, 'seconds')}{disk}."
    elif refused:
        impact = f"{human.number(refused)} requests found no room {recent.when if recent is not None else ''}."
    else:
        impact = f"Writes can slow down to the speed of {to}."
    full, soon = limits["cutoff" if cache.kind == "bcache" else "share"], _soon(now.eta, limits)
    cleaned = recent.sum("cleaned") if recent is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title=f"CACHE {'FULL' if dirty >= full else 'CLOGGED'}: {human.percent(dirty)}% dirty",
        cause=cause,
        impact=impact,
        values=(
            Value("dirty", "dirty", dirty, "ratio", above=full if dirty >= full else None),
            Value("no_room", "requests without room", refused, "", above=limits["refusals"] if refused else None),
            Value("wait", "wait of a write", now.wait, "seconds", above=_exceeded(now.wait, limits["wait"])),
            Value("eta", "time until all is dirty", now.eta, "seconds", below=limits["soon"] if soon else None),
            Value("clean", "time until none is dirty", _clean_in(cache, now.trend), "seconds"),
            Value("rate_limit", "writeback_rate", cache.write_back_rate, "bytes_per_second"),
            Value("grown", "growth of dirty data", grown, "bytes"),
            Value("cleaned", "blocks written back", cleaned),
        ),
        evidence=cites(window.cite(cache, "dirty"), window.cite(cache, "no_room")),
        advice=tuple(_advice(cache, held=_is_held(cache, now.trend))),
        refuted_by="dirty data that shrinks under the same write load",
        explains=(f"cache-bypassed:{cache.cache}",) if _sends_past(caching) else (),
    )


def _exceeded(value: float | None, threshold: float) -> float | None:
    return threshold if value is not None and value >= threshold else None


def _sends_past(caching: CacheAnalysis) -> bool:
    """Return whether most bypasses are caused by lack of room."""
    course = caching.recent
    return course is not None and (share(course.sum("no_room"), course.bypassed) or 0.0) > _MOSTLY


def _advice(cache: Cache, *, held: bool) -> Iterator[Advice]:
    yield "Check the backing disks; if they are full, the load exceeds them."
    yield run("iostat", "-x", "5")
    folder = f"/sys/block/{cache.device or cache.cache}/bcache"
    match cache.kind:
        case "bcache":
            if held:
                yield run("echo", "0", into=f"{folder}/writeback_percent", note="without a limit; afterwards 10")
            names = ("percent", "rate", "running", "delay")
            shown = tuple(f"{folder}/writeback_{name}" for name in names)
            yield run("grep", ".", *shown, note="running 0: write-back is off")
        case "dm-cache":
            setting = "migration_threshold=16384"
            yield run("lvchange", "--cachesettings", setting, *operands(cache.cache), note="larger write-back batches")
        case "dm-writecache":
            yield run("dmsetup", "message", *operands(cache.cache), "0", "flush", note="when idle: flushes everything")
        case "flashcache":
            yield run("sysctl", "-a").pipe("grep", "-E", "flashcache.*(dirty_thresh_pct|max_clean_ios|fallow)")
        case _:
            pass


CACHE_FULL_OF_DIRTY = Rule(
    "cache-full-of-dirty",
    "cache so full of dirty data that new writes find no room",
    Severity.WARNING,
    _check,
    (Cache,),
    (
        Threshold("share", 0.9, "dirty share of a full cache", "ratio"),
        Threshold("cutoff", 0.65, "dirty share of a full bcache, which takes no more writes at 70%", "ratio"),
        Threshold("crowded", 0.5, "dirty share if requests find no room or it is full soon", "ratio"),
        Threshold("refused", 0.01, "share of requests without room", "ratio"),
        Threshold("refusals", 10.0, "requests without room in a minute"),
        Threshold("wait", 0.5, "mean time of a write to a cache with much dirty data", "seconds"),
        Threshold("held", 0.4, "dirty share above which bcache sends writes to the disk", "ratio"),
        Threshold("soon", 600.0, "time until all is dirty at the present rate", "seconds"),
    ),
    view="caches",
    advice="Check the backing disks; if they are full, the load exceeds them.",
)
