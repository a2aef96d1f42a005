"""Partial-block requests to whole-block caches: they bypass the cache and evict the blocks that they touch."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.caching import FLASHCACHE, BlockAlignment, CacheAnalysis, CacheSteps, block_alignment, cachings
from sdstop.analysis.jumbo import BLOCK, aligned_mtus
from sdstop.collectors.aoe.readings import AoeExport
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.readings.cache import Cache, share

_SHOWN = 3


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for caching in cachings(window):
        cache = caching.cache
        course = caching.judged(limits["requests"])
        past = caching.bypass_share(course) if course is not None else None
        if not cache.needs_whole_blocks:
            yield Unchecked(f"not applicable: {cache.kind} caches partial blocks", cache.cache, calm=True)
            continue
        if course is None or past is None:
            yield Unchecked(f"fewer than {limits['requests']:g} requests in a minute", cache.cache, calm=True)
            continue
        pieces = block_alignment(window, caching, course)
        if pieces is None and past <= limits["share"]:
            yield RuledOut(cache.cache, f"{human.percent(past)} % of {caching.what} {course.when} went past it")
            continue
        if pieces is None:
            yield Unchecked("the sizes of requests are not known", cache.cache, calm=cache.kind != FLASHCACHE)
            continue
        if _is_cause(course, past, pieces, limits):
            yield _finding(window, caching, course, past, pieces, limits)
        else:
            yield RuledOut(
                cache.cache,
                f"{human.percent(past)} % of {caching.what} {course.when} went past it; of those to all "
                f"caches of its driver {human.percent(pieces.sub_block)} % were no whole block",
            )


def _is_cause(course: CacheSteps, past: float, pieces: BlockAlignment, limits: Limits) -> bool:
    sequential = share(course.sum("sequential_skipped"), course.bypassed) or 0.0
    return (
        past > limits["share"]
        and pieces.sub_block > limits["share"]
        and sequential <= limits["sequential"]
        and pieces.agrees is not None
        and pieces.agrees <= limits["apart"]
    )


def _finding(
    window: Window, caching: CacheAnalysis, course: CacheSteps, past: float, pieces: BlockAlignment, limits: Limits
) -> Finding:
    cache, what = caching.cache, caching.what
    block = human.quantity(cache.block_size, "bytes")
    total = sum(pieces.counts.values())
    often = sorted(
        ((size, count) for size, count in pieces.counts.items() if size % (cache.block_size or 1)),
        key=lambda item: -item[1],
    )[:_SHOWN]
    sizes = ", ".join(f"{size} B {human.percent(count / total)} %" for size, count in often)
    evicted = course.sum("evicted_by_bypass")
    also = f", and they threw {human.number(evicted)} blocks out of it" if evicted else ""
    return Finding(
        severity=Severity.CRITICAL if past > limits["most"] else Severity.WARNING,
        subject=cache.cache,
        cause=(
            f"{human.percent(pieces.sub_block)} % of requests {course.when} are no whole block of {block} ({sizes}); "
            "only "
            f"whole blocks are cached, so {human.percent(past)} % {f'of {what} ' if caching.way else ''}went past "
            f"it{also}"
        ),
        values=(
            Value("sub_block", "requests that are no whole block", pieces.sub_block, "ratio", above=limits["share"]),
            Value("bypass_share", f"{what} that went past the cache", past, "ratio", above=limits["share"]),
            Value("apart", "difference (of all caches of the driver)", pieces.agrees, "ratio", above=limits["apart"]),
            Value("evicted", "blocks evicted by them", evicted),
            Value("cacheable", "requests that could be cached", (course.came or 0) - (course.bypassed or 0)),
            Value("block_size", "block of the cache", cache.block_size, "bytes"),
        ),
        evidence=cites(
            window.cite(pieces.row), window.cite(cache, "evicted_by_bypass"), window.cite(cache, "block_size")
        ),
        advice=tuple(_advice(window, cache)),
        refuted_by=(
            "requests of whole blocks that go past the cache as well, or a bypass that stays when the sizes are mended"
        ),
        confidence=0.9 if course.seconds is not None else 0.6,
        explains=(f"cache-bypassed:{cache.cache}",),
        totals=course.seconds is None,
    )


def _advice(window: Window, cache: Cache) -> Iterator[str]:
    known = window.now.run_of(AoeExport) is not None
    if not known or window.rows(AoeExport):
        asked = "" if known else "if they come by ATA over Ethernet: "
        right = " or ".join(f"{low}-{high}" for low, high in aligned_mtus(cache.block_size or BLOCK))
        yield f"ip link show   # {asked}the MTU of both ends must be within {right}"
    yield "parted DEVICE unit s print   # on the clients: partitions begin at multiples of 8 sectors?"
    yield "blockdev --getss --getpbsz --getbsz DEVICE   # on the clients: file systems with blocks of 4096?"


CACHE_SUB_BLOCK_IO = Rule(
    "cache-sub-block-io",
    "requests come in pieces smaller than the blocks of a cache that caches whole blocks only",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (
        Threshold("share", 0.2, "share of requests that are no whole block, and of those that go past", "ratio"),
        Threshold("most", 0.5, "share that goes past from which on it is critical", "ratio"),
        Threshold("apart", 0.1, "difference of these shares, at most", "ratio"),
        Threshold("sequential", 0.5, "share of what goes past, sequential, from which on that is the cause", "ratio"),
        Threshold("requests", 500.0, "requests in a minute that it takes to judge"),
    ),
)
