"""Caches that handle requests with a low hit rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sdstop.analysis.caching import CacheAnalysis, CacheSteps, cachings
from sdstop.collectors.system.node import Node
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.readings.cache import Cache, share

_ABSORBS = frozenset({"flashcache", "bcache"})
"""Kinds whose writeback mode absorbs every cacheable write, so write misses are harmless."""
_TAKES_NOTHING = frozenset({"none", "passthrough", "cleaner"})
"""Modes and policies that cache nothing new, as configured."""
_WAYS = ("read", "write")
_LEAST = 4096
"""Minimum number of bytes that a miss brings into a cache, for caches that do not report their content."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for caching in cachings(window):
        cache = caching.cache
        # dm-writecache exists for writes and absorbs them all; ARC misses are not a fault.
        if cache.kind in {"dm-writecache", "arc"}:
            yield Unchecked(f"{cache.kind}: misses are not a fault", cache.cache, calm=True)
            continue
        # reported by cache-bypassed
        if cache.state == "no cache" or not _TAKES_NOTHING.isdisjoint({cache.mode, cache.policy}):
            yield Unchecked("out of use: takes nothing in", cache.cache, calm=True)
            continue
        if cache.kind == "l2arc":
            yield from _l2arc(window, caching, limits)
            continue
        ways = _WAYS[:1] if cache.kind in _ABSORBS and cache.mode in {"writeback", "writearound"} else _WAYS
        least = limits["requests"]
        course = caching.judged(least)
        if course is None or _asked(course, ways) < least:
            yield Unchecked(f"fewer than {least:g} cacheable requests in a minute", cache.cache, calm=True)
            continue
        hit = course.hit_share(*ways)
        if hit is None:
            yield Unchecked("hits and misses are not counted", cache.cache, calm=True)
            continue
        # One minute may be a full copy; also judge the lifetime hit rate.
        ever = caching.ever.hit_share(*ways)
        if hit >= limits["share"] or (ever is not None and ever >= limits["share"]):
            yield RuledOut(cache.cache, f"{_words(hit, ways, course)}{_longer(ever, course)}")
        elif warming := _warming(caching, limits):
            yield RuledOut(cache.cache, f"{_words(hit, ways, course)}, but it is still warming up: {warming}")
        elif young := _young(window, caching, ways, limits):
            said = f"{_words(hit, ways, course)}{_longer(ever, course)}, but {young}: a backup may be all that it saw"
            yield Unchecked(said, cache.cache, calm=True)
        else:
            yield _finding(window, caching, course, hit, ways, limits)


def _asked(course: CacheSteps, ways: tuple[str, ...]) -> int:
    return course.sum(*(f"{way}_{end}" for way in ways for end in ("hits", "misses"))) or 0


def _words(hit: float, ways: tuple[str, ...], course: CacheSteps) -> str:
    what = "reads" if ways == _WAYS[:1] else "requests"
    return f"{human.percent(hit)} % of {human.number(_asked(course, ways))} cacheable {what} {course.when} hit"


def _longer(ever: float | None, course: CacheSteps) -> str:
    return "" if ever is None or course.seconds is None else f", {human.percent(ever)} % since it was loaded"


def _young(window: Window, caching: CacheAnalysis, ways: tuple[str, ...], limits: Limits) -> str:
    """Return why the lifetime counters are too young to judge, "" if they are not; the boot time limits the age."""
    up = next((node.uptime for node in window.rows(Node).values()), None)
    if up is not None and up < limits["age"]:
        return f"the node is up for {human.duration(up)} only"
    asked = _asked(caching.ever, ways)
    return "" if asked >= limits["ever"] else f"only {human.number(asked)} cacheable ones came since it was loaded"


def _warming(caching: CacheAnalysis, limits: Limits) -> str:
    """Return how full a cache that is still filling is, "" if it is not filling."""
    cache = caching.cache
    full = share(cache.used, cache.size)
    if full is None:
        brought = (caching.ever.sum("read_misses") or 0) * _LEAST
        return "" if brought >= limits["full"] * (cache.size or math.inf) else "it does not tell what it holds"
    if full >= limits["full"]:
        return ""
    taken = caching.recent.sum("promotions") if caching.recent is not None else None
    if taken or (caching.grown("used") or 0) > 0:
        return f"{human.percent(full)} % full, and filling"
    # One sample cannot show whether the cache is filling.
    return f"{human.percent(full)} % full" if caching.recent is None else ""


def _finding(
    window: Window, caching: CacheAnalysis, course: CacheSteps, hit: float, ways: tuple[str, ...], limits: Limits
) -> Finding:
    cache = caching.cache
    full = share(cache.used, cache.size)
    missed = course.sum(*(f"{way}_misses" for way in ways))
    rate = f"; {human.number((missed or 0) / course.seconds)} a second went to the disks" if course.seconds else ""
    if full is not None and full < limits["full"]:
        why = f"it is {human.percent(full)} % full and takes nothing in"
    else:
        why = "what is asked for is spread wider than it is large, or is asked for once only"
    size = f" of {human.quantity(cache.size, 'bytes')}" if cache.size else ""
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        cause=f"{_words(hit, ways, course)}{rate}: the cache{size} has seldom what is asked for; {why}",
        values=(
            Value("hit_share", "hits of what could be cached", hit, "ratio", above=limits["share"]),
            Value(
                "ever", "the same since it was loaded", caching.ever.hit_share(*ways), "ratio", above=limits["share"]
            ),
            Value("bypass_share", "went past it", caching.bypass_share(course), "ratio"),
            Value("full", "in use", full, "ratio"),
            Value("size", "its size", cache.size, "bytes"),
            Value("promotions", "blocks taken in", course.sum("promotions")),
            Value("demotions", "blocks dropped for others", course.sum("demotions")),
        ),
        evidence=cites(window.cite(cache, "read_hits"), window.cite(cache, "used")),
        advice=tuple(_advice(cache, full, limits)),
        refuted_by="a share of hits that rises with time under the same load: then it was still learning",
        confidence=0.7 if course.seconds is not None else 0.5,
        totals=course.seconds is None,
    )


def _advice(cache: Cache, full: float | None, limits: Limits) -> Iterator[str]:
    if full is not None and full < limits["full"] and cache.kind == "dm-cache":
        yield "dmsetup status --noflush   # migration_threshold: sectors it may move at a time, 0: none"
    yield "iostat -x 5   # are the disks behind it busy at all? if not, nobody suffers"
    yield f"{_resize(cache)}   # a larger one helps if what is used in a day fits into it; else none does"


def _resize(cache: Cache) -> str:
    return "lvs -o name,cache_total_blocks,cache_used_blocks" if cache.kind == "dm-cache" else "lsblk"


def _l2arc(window: Window, caching: CacheAnalysis, limits: Limits) -> Iterator[Verdict]:
    """Judge by memory cost: the headers of L2ARC blocks are stored in the ARC and reduce its size."""
    cache = caching.cache
    headers, asked = cache.metadata_used, _asked(caching.ever, _WAYS)
    ever = caching.ever.hit_share(*_WAYS)
    if headers is None or ever is None or asked < limits["lifetime"]:
        yield Unchecked(f"fewer than {limits['lifetime']:g} reads since boot", cache.cache, calm=True)
        return
    recent = caching.recent.hit_share(*_WAYS) if caching.recent is not None else None
    now = ever if recent is None else recent
    costs = f"its headers take {human.quantity(headers, 'bytes')} of memory from the ARC"
    said = f"{human.percent(ever)} % of {human.number(asked)} reads since boot that the ARC missed hit it, and {costs}"
    if ever >= limits["tiny"] or now >= limits["tiny"] or headers < limits["headers"]:
        yield RuledOut(cache.cache, said)
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        cause=f"{said}: it costs more than it brings",
        values=(
            Value("hit_share", "hits since boot", ever, "ratio", above=limits["tiny"]),
            Value("recent", "hits in the window", recent, "ratio", above=limits["tiny"]),
            Value("headers", "memory for its headers", headers, "bytes", above=limits["headers"]),
            Value("size", "its size", cache.size, "bytes"),
        ),
        evidence=cites(window.cite(cache, "read_hits"), window.cite(cache, "metadata_used")),
        advice=(
            "zpool iostat -v 5   # which pool has the cache device",
            "zpool remove POOL DEVICE   # a cache device can be taken out and added again at any time",
        ),
        refuted_by="a load to come that it was meant for: its share of hits rises above the limit",
        confidence=0.8,
    )


CACHE_INEFFECTIVE = Rule(
    "cache-ineffective",
    "a cache takes requests, and seldom has what they ask for",
    Severity.WARNING,
    _check,
    (Cache,),
    (
        Threshold("share", 0.1, "hits of what could be cached, in a minute and since it was loaded", "ratio"),
        Threshold("requests", 1000.0, "cacheable requests in a minute that it takes to judge"),
        Threshold("age", 86_400.0, "time since boot from which on what a cache ever did tells something", "seconds"),
        Threshold("ever", 1e5, "cacheable requests since it was loaded that it takes to judge"),
        Threshold("full", 0.9, "share of it in use from which on it is no longer warming up", "ratio"),
        Threshold("tiny", 0.05, "L2ARC: hits of what the ARC missed", "ratio"),
        Threshold("lifetime", 1e6, "L2ARC: reads since boot that it takes to judge"),
        Threshold("headers", float(1 << 30), "L2ARC: memory for its headers", "bytes"),
    ),
)
