"""Partial-block requests to whole-block caches: they bypass the cache and evict the blocks that they touch."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.aoe.jumbo import BLOCK, aligned_mtus
from sdstop.analysis.caches.counters import (
    FLASHCACHE,
    BlockAlignment,
    CacheAnalysis,
    CacheSteps,
    block_alignment,
    cachings,
)
from sdstop.collectors.aoe.readings import AoeExport
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cache import Cache, share

_SHOWN = 3
"""Programs listed."""


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
            yield RuledOut(cache.cache, f"{human.percent(past)}% of {caching.what} bypassed it {course.when}")
            continue
        if pieces is None:
            yield Unchecked("request sizes unavailable", cache.cache, calm=cache.kind != FLASHCACHE)
            continue
        if _is_cause(course, past, pieces, limits):
            yield _finding(window, caching, course, past, pieces, limits)
        else:
            yield RuledOut(
                cache.cache,
                f"{human.percent(past)}% of {caching.what} bypassed it {course.when}; of all caches of its driver "
                f"{human.percent(pieces.sub_block)}% were not whole blocks",
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
    sizes = [f"{size} B {human.percent(count / total)}%" for size, count in often]
    evicted = course.sum("evicted_by_bypass")
    also = f", evicting {human.number(evicted)} blocks" if evicted else ""
    return Finding(
        severity=Severity.CRITICAL if past > limits["most"] else Severity.WARNING,
        subject=cache.cache,
        title=f"SUB-BLOCK I/O: {human.percent(pieces.sub_block)}% not cacheable",
        cause=f"{human.percent(pieces.sub_block)}% of requests are not whole {block} blocks ({', '.join(sizes[:1])}).",
        impact=f"{human.percent(past)}% of {what}{'' if course.seconds else ' since load'} bypassed the cache{also}.",
        values=(
            Value("sub_block", "requests not of whole blocks", pieces.sub_block, "ratio", above=limits["share"]),
            Value("sizes", "most frequent sizes", ", ".join(sizes)),
            Value("bypass_share", f"{what} that bypassed the cache", past, "ratio", above=limits["share"]),
            Value("apart", "difference of these shares", pieces.agrees, "ratio", below=limits["apart"]),
            Value("evicted", "blocks evicted by the bypass", evicted),
            Value("cacheable", "cacheable requests", (course.came or 0) - (course.bypassed or 0)),
            Value("block_size", "block of the cache", cache.block_size, "bytes"),
        ),
        evidence=cites(
            window.cite(pieces.row), window.cite(cache, "evicted_by_bypass"), window.cite(cache, "block_size")
        ),
        advice=tuple(_advice(window, cache)),
        refuted_by="whole-block requests that also bypass the cache, or an unchanged bypass rate with fixed sizes",
        confidence=0.9 if course.seconds is not None else 0.6,
        explains=(f"cache-bypassed:{cache.cache}",),
        totals=course.seconds is None,
    )


def _advice(window: Window, cache: Cache) -> Iterator[Advice]:
    known = window.now.run_of(AoeExport) is not None
    if not known or window.rows(AoeExport):
        asked = "" if known else " (if they use AoE)"
        right = " or ".join(f"{low}-{high}" for low, high in aligned_mtus(cache.block_size or BLOCK))
        yield f"Set the MTU of both ends to {right}{asked}."
        yield run("ip", "link", "show")
    yield "Check partitions and file systems of the clients for alignment."
    yield run("parted", "DEVICE", "unit", "s", "print", note="partition starts: multiples of 8 sectors")
    yield run("blockdev", "--getss", "--getpbsz", "--getbsz", "DEVICE", note="file system block size: 4096")


CACHE_SUB_BLOCK_IO = Rule(
    "cache-sub-block-io",
    "requests that are not whole blocks, to a cache that caches whole blocks only",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (
        Threshold("share", 0.2, "share of requests not of whole blocks, and of those that bypass", "ratio"),
        Threshold("most", 0.5, "share of requests that bypass the cache, critical", "ratio"),
        Threshold("apart", 0.1, "largest difference of these shares", "ratio"),
        Threshold("sequential", 0.5, "sequential share of the bypass that is the cause instead", "ratio"),
        Threshold("requests", 500.0, "requests in a minute needed to judge"),
    ),
    view="caches",
    advice="Set the MTU of both ends so that a request fits whole blocks.",
)
