"""Caches that most requests bypass."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.caching import BlockAlignment, CacheAnalysis, CacheSteps, block_alignment, cachings
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.cache import Cache, share

_OUT_OF_USE = frozenset({"none", "passthrough"})
"""Modes that serve nothing from the cache."""


_UNCOUNTED = "bypassed requests are not counted"


class _Cause(Struct, frozen=True):
    """Cause of a bypass: description, advice, maximum severity, and refutation."""

    words: str
    advice: tuple[str, ...]
    worst: Severity
    refuted_by: str


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for caching in cachings(window):
        cache = caching.cache
        if cache.state == "no cache" or cache.mode in _OUT_OF_USE:
            yield _out_of_use(window, cache)
            continue
        if "cleaner" in {cache.mode, cache.policy}:
            yield _emptied(window, cache)
            continue
        if cache.mode == "metadata only":  # dm-writecache in this mode bypasses data by design
            yield Unchecked("mode metadata only: data bypasses it by design", cache.cache, calm=True)
            continue
        course = caching.judged(limits["requests"])
        if course is None:
            yield from _idle(window, caching, limits)
            continue
        part = caching.bypass_share(course)
        if part is None:
            yield Unchecked(_UNCOUNTED, cache.cache, calm=True)
        elif part > limits["share"]:
            yield _bypassed(window, caching, course, part, limits)
        else:
            yield RuledOut(
                cache.cache,
                f"{human.percent(part)} % of {human.number(course.came)} {cache.counts} {course.when} went past it",
            )


def _out_of_use(window: Window, cache: Cache) -> Finding:
    name, advice = cache.cache, _mode_advice(cache)
    if cache.state == "no cache":
        field, word = "state", "no cache"
        summary = f"nothing is cached: no cache set is attached to {name}, so it is as slow as the disk behind it"
        advice = (
            "bcache-super-show DEVICE | grep cset.uuid   # of the fast device: the cache set's UUID",
            f"echo UUID > /sys/block/{quoted(cache.device or name)}/bcache/attach",
        )
    else:
        field, word = "mode", cache.mode or ""
        summary = f"nothing is cached: {name} is in mode {word}, so it is as slow as the disk behind it"
    return Finding(
        severity=Severity.WARNING,
        subject=name,
        cause=summary,
        values=(Value(field, field, word),),
        evidence=cites(window.cite(cache, field)),
        advice=advice,
        refuted_by="an owner who wants it so: then the fast device is free for something else",
    )


def _emptied(window: Window, cache: Cache) -> Finding:
    field = "mode" if cache.mode == "cleaner" else "policy"
    return Finding(
        severity=Severity.INFO,
        subject=cache.cache,
        cause="nothing new is cached: it is being emptied (cleaner), as before a cache is taken away",
        values=(Value(field, field, "cleaner"), Value("dirty", "still to be written back", cache.dirty, "bytes")),
        evidence=cites(window.cite(cache, field)),
        advice=(f"lvchange --cachepolicy smq {operand(cache.cache)}   # of a dm-cache that is to stay",)
        if field == "policy"
        else (),
        refuted_by="an owner who knows of nothing that is to be taken away",
    )


def _mode_advice(cache: Cache) -> tuple[str, ...]:
    if cache.kind == "bcache":
        return (f"echo writethrough > /sys/block/{quoted(cache.device or cache.cache)}/bcache/cache_mode",)
    return (f"lvchange --cachemode writethrough {operand(cache.cache)}   # or writeback; of a volume that LVM made",)


def _idle(window: Window, caching: CacheAnalysis, limits: Limits) -> Iterator[Verdict]:
    """Yield the lifetime totals while there are too few recent requests to judge."""
    course = caching.ever
    part = caching.bypass_share(course)
    if part is None or course.came is None:
        yield Unchecked(_UNCOUNTED, caching.cache.cache, calm=True)
        return
    if caching.recent is None or course.came < limits["requests"]:
        reason = f"{human.number(course.came)} requests since it was loaded are too few"
        yield Unchecked(reason, caching.cache.cache, calm=True)
        return
    if part <= limits["share"]:
        yield RuledOut(
            caching.cache.cache,
            f"{human.percent(part)} % of {human.number(course.came)} requests since it was loaded went past it; "
            f"{human.number(caching.recent.came)} came {caching.recent.when}",
        )
        return
    was = _bypassed(window, caching, course, part, limits)
    cause = f"{was.cause}; too little comes now to tell whether it is still so"
    yield replace(was, severity=Severity.INFO, cause=cause)


def _bypassed(window: Window, caching: CacheAnalysis, course: CacheSteps, part: float, limits: Limits) -> Finding:
    cache, pieces = caching.cache, block_alignment(window, caching, course)
    cause = _cause(cache, course, pieces, limits)
    severity = Severity.CRITICAL if part > limits["most"] else Severity.WARNING
    if cache.skips_from and course.sum("sequential_skipped") is None:
        # bcache does not report sequential bypasses, and a copy that bypasses it for a minute is intended.
        lasting = (caching.bypass_share(caching.ever) or 0.0) > limits["most"]
        severity = Severity.WARNING if lasting and part > limits["most"] else Severity.INFO
    severity = min(severity, cause.worst, key=lambda s: s.rank)
    rate = f", {human.number((course.bypassed or 0) / course.seconds)} a second" if course.seconds else ""
    what = caching.what
    to = f" to {cache.slow}" if cache.slow else ""
    return Finding(
        severity=severity,
        subject=cache.cache,
        cause=f"{human.percent(part)} % of {what} went past the cache{to} {course.when}{rate}: {cause.words}"
        f"{f'. The cache itself is good: {course.promise}' if course.promise else ''}",
        values=tuple(_values(course, part, pieces, cache.printed_read_hits, limits)),
        evidence=cites(
            window.cite(cache, "bypassed_reads"),
            window.cite(pieces.row) if pieces is not None else None,
            window.cite(cache, "mode"),
        ),
        advice=cause.advice,
        refuted_by=cause.refuted_by,
        confidence=0.9 if course.seconds is not None else 0.6,
        totals=course.seconds is None,
    )


def _values(
    course: CacheSteps, part: float, pieces: BlockAlignment | None, printed: float | None, limits: Limits
) -> Iterator[Value]:
    yield Value("bypass_share", "went past the cache", part, "ratio", above=limits["share"])
    yield Value("requests", "requests that came", course.came)
    for way in ("read", "write"):
        past = share(course.sum(f"bypassed_{way}s"), course.sum(f"{way}s"))
        if past is not None:
            yield Value(f"bypass_share_{way}s", f"{way}s that went past", past, "ratio")
        hits = course.hit_share(way)
        if hits is not None:
            yield Value(f"cacheable_{way}_hits", f"hits of cacheable {way}s", hits, "ratio")
    hits = share(course.sum("read_hits"), course.sum("reads"))
    if hits is not None:
        yield Value("read_hits", "hits of all reads", hits, "ratio")
    if printed is not None:
        yield Value("printed", "the same as the driver prints it, since it was loaded, cut off", printed, "ratio")
    if pieces is not None:
        yield Value("sub_block", "requests that are no whole block", pieces.sub_block, "ratio")
    sequential = share(course.sum("sequential_skipped"), course.bypassed)
    if sequential is not None:
        yield Value("sequential", "of those that went past, sequential", sequential, "ratio")


def _cause(cache: Cache, course: CacheSteps, pieces: BlockAlignment | None, limits: Limits) -> _Cause:
    sequential = share(course.sum("sequential_skipped"), course.bypassed)
    size = human.quantity(cache.skips_from, "bytes")
    if sequential is not None and sequential > limits["sequential"]:
        return _Cause(
            f"{human.percent(sequential)} % of them are sequential, which it leaves to the disks from {size} on",
            _sequential_advice(cache),
            Severity.INFO,
            "sequential skipping switched off, and as much that goes past",
        )
    errors = course.sum("fast_errors", "slow_errors")
    if errors and course.seconds is not None:
        return _Cause(
            f"there were {human.number(errors)} I/O errors meanwhile (cache-errors)",
            ("dmesg -T | grep -i -E 'error|fail' | tail",),
            Severity.CRITICAL,
            "as much that goes past while no error is counted",
        )
    if (share(course.sum("no_room"), course.bypassed) or 0.0) > limits["crowded"]:
        return _Cause(
            "most of them found no room, only dirty or busy blocks (cache-full-of-dirty)",
            ("iostat -x 5   # are the disks behind it at their limit?",),
            Severity.CRITICAL,
            "as much that goes past while no_room stands still",
        )
    block = human.quantity(cache.block_size, "bytes")
    if pieces is not None and pieces.agrees is not None and pieces.agrees <= limits["apart"]:
        return _Cause(
            f"{human.percent(pieces.sub_block)} % of all requests are no whole block of {block}, and only whole blocks "
            "are cached",
            ("mend what cuts the requests (cache-sub-block-io, mtu-misaligned); the cache needs no other setting",),
            Severity.CRITICAL,
            "requests of whole blocks that go past it as well",
        )
    if pieces is not None and cache.needs_whole_blocks:
        return _Cause(
            f"why is not clear: of the requests to all caches of its driver {human.percent(pieces.sub_block)} % are no "
            f"whole block of {block}, few are sequential",
            ("sysctl -a | grep flashcache   # rules by process (whitelist, blacklist), cache_all",),
            Severity.CRITICAL,
            "the same load, and less that goes past",
        )
    if cache.needs_whole_blocks:
        return _Cause(
            f"few are sequential, so what remains is that they are no whole blocks of {block}, the only ones it caches",
            (
                "parted DEVICE unit s print   # do the partitions of its users begin at multiples of 8 sectors?",
                "sdstop report --io-sizes   # sizes of the requests as they come",
            ),
            Severity.CRITICAL,
            "requests of whole blocks that go past it as well",
        )
    if cache.kind == "bcache":
        return _Cause(
            f"being sequential from {size} on, or coming while the cache device answers slowly; it does not tell which"
            if cache.skips_from
            else "sequential ones are not skipped, so the cache device answers too slowly, or is full of dirty data",
            _bcache_advice(cache),
            Severity.CRITICAL,
            "as much that goes past with sequential_cutoff and the congested thresholds at 0",
        )
    return _Cause(
        "it does not tell why",
        ("dmsetup table; dmsetup status --noflush   # mode, policy, dirty blocks",),
        Severity.CRITICAL,
        "the same load, and less that goes past",
    )


def _sequential_advice(cache: Cache) -> tuple[str, ...]:
    if cache.kind == "bcache":
        return (
            (
                f"echo 0 > /sys/block/{quoted(cache.device or cache.cache)}/bcache/sequential_cutoff"
                "   # to cache these too"
            ),
        )
    return ("sysctl -a | grep skip_seq_thresh_kb   # 0 caches these too",)


def _bcache_advice(cache: Cache) -> tuple[str, ...]:
    return (
        *(_sequential_advice(cache) if cache.skips_from else ()),
        "grep . /sys/fs/bcache/*/congested*   # above 0: it goes past since the cache device is slow",
        "echo 0 | tee /sys/fs/bcache/*/congested_*_threshold_us   # never for that reason",
    )


CACHE_BYPASSED = Rule(
    "cache-bypassed",
    "many requests go past a cache, or nothing is cached at all",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (
        Threshold("share", 0.2, "share of requests that go past it", "ratio"),
        Threshold("most", 0.5, "share from which on it is critical", "ratio"),
        Threshold("requests", 500.0, "requests in a minute that it takes to judge"),
        Threshold("sequential", 0.5, "share of these, sequential, from which on it is as it was set", "ratio"),
        Threshold("crowded", 0.5, "share of these, that found no room, from which on that is the cause", "ratio"),
        Threshold("apart", 0.1, "difference to the share of requests that are no whole block, at most", "ratio"),
    ),
)
