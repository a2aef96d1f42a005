"""Caches that handle requests with a low hit rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sdstop.analysis.caches.counters import CacheAnalysis, CacheSteps, cachings
from sdstop.collectors.system.readings import Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
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
            yield Unchecked("out of use: caches nothing new", cache.cache, calm=True)
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
            yield Unchecked("no counters of hits and misses", cache.cache, calm=True)
            continue
        # One minute may be a full copy; also judge the lifetime hit rate.
        ever = caching.ever.hit_share(*ways)
        if hit >= limits["share"] or (ever is not None and ever >= limits["share"]):
            yield RuledOut(cache.cache, f"{_words(hit, ways, course)}{_longer(ever, course)}")
        elif warming := _warming(caching, limits):
            yield RuledOut(cache.cache, f"{_words(hit, ways, course)}, warming up: {warming}")
        elif young := _young(window, caching, ways, limits):
            said = f"{_words(hit, ways, course)}, too short a history to judge: {young}"
            yield Unchecked(said, cache.cache, calm=True)
        else:
            yield _finding(window, caching, course, hit, ways, limits)


def _asked(course: CacheSteps, ways: tuple[str, ...]) -> int:
    return course.sum(*(f"{way}_{end}" for way in ways for end in ("hits", "misses"))) or 0


def _words(hit: float, ways: tuple[str, ...], course: CacheSteps) -> str:
    what = "reads" if ways == _WAYS[:1] else "requests"
    return f"{human.percent(hit)}% of {human.number(_asked(course, ways))} cacheable {what} hit {course.when}"


def _longer(ever: float | None, course: CacheSteps) -> str:
    return "" if ever is None or course.seconds is None else f", {human.percent(ever)}% since load"


def _young(window: Window, caching: CacheAnalysis, ways: tuple[str, ...], limits: Limits) -> str:
    """Return why the lifetime counters are too young to judge, "" if they are not; the boot time limits the age."""
    up = next((node.uptime for node in window.rows(Node).values()), None)
    if up is not None and up < limits["age"]:
        return f"uptime {human.duration(up)}"
    asked = _asked(caching.ever, ways)
    return "" if asked >= limits["ever"] else f"{human.number(asked)} cacheable requests since load"


def _warming(caching: CacheAnalysis, limits: Limits) -> str:
    """Return how full a cache that is still filling is, "" if it is not filling."""
    cache = caching.cache
    full = share(cache.used, cache.size)
    if full is None:
        brought = (caching.ever.sum("read_misses") or 0) * _LEAST
        return "" if brought >= limits["full"] * (cache.size or math.inf) else "content unknown"
    if full >= limits["full"]:
        return ""
    taken = caching.recent.sum("promotions") if caching.recent is not None else None
    if taken or (caching.grown("used") or 0) > 0:
        return f"{human.percent(full)}% full and growing"
    # One sample cannot show whether the cache is filling.
    return f"{human.percent(full)}% full" if caching.recent is None else ""


def _finding(
    window: Window, caching: CacheAnalysis, course: CacheSteps, hit: float, ways: tuple[str, ...], limits: Limits
) -> Finding:
    cache = caching.cache
    full = share(cache.used, cache.size)
    missed = course.sum(*(f"{way}_misses" for way in ways))
    what = "reads" if ways == _WAYS[:1] else "requests"
    part = f"{human.percent(hit)}% of {human.number(_asked(course, ways))}"
    size = f"{human.quantity(cache.size, 'bytes')} " if cache.size else ""
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title=f"CACHE INEFFECTIVE: {human.percent(hit)}% hits",
        cause=(
            f"The cache is {human.percent(full)}% full and takes nothing in."
            if full is not None and full < limits["full"]
            else f"The working set exceeds the {size}cache, or data is read only once."
        ),
        impact=(
            f"{human.number((missed or 0) / course.seconds)} cacheable {what}/s go to the disks; {part} hit."
            if course.seconds
            else f"{part} cacheable {what} hit since load."
        ),
        values=(
            Value("hit_share", "hits of cacheable requests", hit, "ratio", below=limits["share"]),
            Value("ever", "hits since load", caching.ever.hit_share(*ways), "ratio", below=limits["share"]),
            Value("bypass_share", "bypassed the cache", caching.bypass_share(course), "ratio"),
            Value("full", "used", full, "ratio"),
            Value("size", "size", cache.size, "bytes"),
            Value("promotions", "blocks promoted", course.sum("promotions")),
            Value("demotions", "blocks evicted", course.sum("demotions")),
        ),
        evidence=cites(window.cite(cache, "read_hits"), window.cite(cache, "used")),
        advice=tuple(_advice(cache, full, limits)),
        refuted_by="a hit rate that rises over time under the same load (still warming up)",
        confidence=0.7 if course.seconds is not None else 0.5,
        totals=course.seconds is None,
    )


def _advice(cache: Cache, full: float | None, limits: Limits) -> Iterator[Advice]:
    if full is not None and full < limits["full"] and cache.kind == "dm-cache":
        yield "Check migration_threshold: with 0 the cache promotes nothing."
        yield run("dmsetup", "status", "--noflush")
    else:
        yield "Check the backing disks; if they are not busy, ignore this."
    yield run("iostat", "-x", "5", note="load of the backing disks")
    size = ("lvs", "-o", "name,cache_total_blocks,cache_used_blocks") if cache.kind == "dm-cache" else ("lsblk",)
    yield run(*size, note="a larger cache helps only if a day's working set fits")


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
    heads = f"{human.quantity(headers, 'bytes')} of memory"
    hits = f"{human.percent(ever)}% of {human.number(asked)} ARC misses since boot hit the L2ARC"
    said = f"{hits}; headers take {heads}"
    if ever >= limits["tiny"] or now >= limits["tiny"] or headers < limits["headers"]:
        yield RuledOut(cache.cache, said)
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title=f"L2ARC INEFFECTIVE: {human.percent(ever)}% hits",
        cause=f"{hits}.",
        impact=f"The L2ARC headers take {heads} from the ARC.",
        values=(
            Value("hit_share", "hits since boot", ever, "ratio", below=limits["tiny"]),
            Value("recent", "hits lately", recent, "ratio", below=limits["tiny"]),
            Value("headers", "memory for headers", headers, "bytes", above=limits["headers"]),
            Value("size", "size", cache.size, "bytes"),
        ),
        evidence=cites(window.cite(cache, "read_hits"), window.cite(cache, "metadata_used")),
        advice=(
            "Remove the cache device; it can be added again at any time.",
            run("zpool", "iostat", "-v", "5", note="pool of the cache device"),
            run("zpool", "remove", "POOL", "DEVICE"),
        ),
        refuted_by=f"a hit rate above {human.percent(limits['tiny'])}%",
        harmless_if="the cache is meant for another workload",
        confidence=0.8,
    )


CACHE_INEFFECTIVE = Rule(
    "cache-ineffective",
    "cache that is used but rarely hit",
    Severity.WARNING,
    _check,
    (Cache,),
    (
        Threshold("share", 0.1, "hits of cacheable requests, in a minute and since load", "ratio"),
        Threshold("requests", 1000.0, "cacheable requests in a minute needed to judge"),
        Threshold("age", 86_400.0, "time since boot needed to judge the lifetime of a cache", "seconds"),
        Threshold("ever", 1e5, "cacheable requests since load needed to judge"),
        Threshold("full", 0.9, "used share of a cache that is no longer warming up", "ratio"),
        Threshold("tiny", 0.05, "L2ARC: hits of ARC misses", "ratio"),
        Threshold("lifetime", 1e6, "L2ARC: reads since boot needed to judge"),
        Threshold("headers", float(1 << 30), "L2ARC: memory for its headers", "bytes"),
    ),
    view="caches",
    advice="Check the backing disks; if they are not busy, ignore this.",
)
