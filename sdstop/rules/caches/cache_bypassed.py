"""Caches that most requests bypass."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.analysis.caches.counters import BlockAlignment, CacheAnalysis, CacheSteps, block_alignment, cachings
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cache import Cache, share

_OUT_OF_USE = frozenset({"none", "passthrough"})
"""Modes that serve nothing from the cache."""


_UNCOUNTED = "no counter of bypassed requests"


class _Cause(Struct, frozen=True):
    """Cause of a bypass: description, advice, maximum severity, and refutation."""

    words: str
    advice: tuple[Advice, ...]
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
            yield Unchecked("mode metadata only: data bypasses the cache by design", cache.cache, calm=True)
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
                f"{human.percent(part)}% of {human.number(course.came)} {cache.counts} bypassed it {course.when}",
            )


def _out_of_use(window: Window, cache: Cache) -> Finding:
    detached = cache.state == "no cache"
    field, word = ("state", "no cache") if detached else ("mode", cache.mode or "")
    return Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title="NO CACHE ATTACHED" if detached else f"CACHE OFF: mode {human.safe(word, 20)}",
        cause=(
            "No cache set is attached to the device."
            if detached
            else f"The cache is in mode {human.safe(word, 20)}, which caches nothing."
        ),
        impact="Nothing is cached: requests run at the speed of the backing disk.",
        values=(Value(field, field, word),),
        evidence=cites(window.cite(cache, field)),
        advice=tuple(_attach(cache) if detached else _mode_advice(cache)),
        refuted_by="an attached cache set" if detached else "a mode that caches",
        harmless_if="intended; then the cache device can be reused",
        standing=True,
    )


def _attach(cache: Cache) -> Iterator[Advice]:
    yield "Attach the cache set by the UUID of the cache device."
    yield run("bcache-super-show", "DEVICE", note="UUID of the cache set").pipe("grep", "cset.uuid")
    yield run("echo", "UUID", into=f"/sys/block/{cache.device or cache.cache}/bcache/attach")


def _emptied(window: Window, cache: Cache) -> Finding:
    field = "mode" if cache.mode == "cleaner" else "policy"
    keep = (
        "Set another policy if the cache is to stay.",
        run("lvchange", "--cachepolicy", "smq", *operands(cache.cache)),
    )
    return Finding(
        severity=Severity.INFO,
        subject=cache.cache,
        title="CACHE BEING EMPTIED: cleaner",
        cause=f"The {field} is cleaner: all dirty data is written back.",
        impact="Nothing new is cached.",
        values=(Value(field, field, "cleaner"), Value("dirty", "still to be written back", cache.dirty, "bytes")),
        evidence=cites(window.cite(cache, field)),
        advice=keep if field == "policy" else (),
        refuted_by="a policy other than cleaner",
        harmless_if="a planned removal of the cache",
    )


def _mode_advice(cache: Cache) -> Iterator[Advice]:
    yield "Switch the cache on: mode writethrough or writeback."
    if cache.kind == "bcache":
        yield run("echo", "writethrough", into=f"/sys/block/{cache.device or cache.cache}/bcache/cache_mode")
    else:
        yield run("lvchange", "--cachemode", "writethrough", *operands(cache.cache), note="for a volume made by LVM")


def _idle(window: Window, caching: CacheAnalysis, limits: Limits) -> Iterator[Verdict]:
    """Yield the lifetime totals while there are too few recent requests to judge."""
    course = caching.ever
    part = caching.bypass_share(course)
    if part is None or course.came is None:
        yield Unchecked(_UNCOUNTED, caching.cache.cache, calm=True)
        return
    if caching.recent is None or course.came < limits["requests"]:
        reason = f"too few requests since load ({human.number(course.came)})"
        yield Unchecked(reason, caching.cache.cache, calm=True)
        return
    if part <= limits["share"]:
        yield RuledOut(
            caching.cache.cache,
            f"{human.percent(part)}% of {human.number(course.came)} requests bypassed it since load; "
            f"{human.number(caching.recent.came)} requests {caching.recent.when}",
        )
        return
    was = _bypassed(window, caching, course, part, limits)
    impact = f"{was.impact.removesuffix('.')}; too few now to judge."
    yield replace(was, severity=Severity.INFO, impact=impact)


def _bypassed(window: Window, caching: CacheAnalysis, course: CacheSteps, part: float, limits: Limits) -> Finding:
    cache, pieces = caching.cache, block_alignment(window, caching, course)
    cause = _cause(cache, course, pieces, limits)
    severity = Severity.CRITICAL if part > limits["most"] else Severity.WARNING
    if cache.skips_from and course.sum("sequential_skipped") is None:
        # bcache does not report sequential bypasses, and a copy that bypasses it for a minute is intended.
        lasting = (caching.bypass_share(caching.ever) or 0.0) > limits["most"]
        severity = Severity.WARNING if lasting and part > limits["most"] else Severity.INFO
    severity = min(severity, cause.worst, key=lambda s: s.rank)
    past, came = (count or 0 for count in caching.past(course))
    unit = "/s" if course.seconds else " since load"
    over = course.seconds or 1
    to = human.safe(cache.slow or "the backing device", 18)
    return Finding(
        severity=severity,
        subject=cache.cache,
        title=f"CACHE BYPASSED by {human.percent(part)}% of {caching.what}",
        cause=f"{cause.words}.",
        impact=(
            f"{human.number(past / over)} of {human.number(came / over)} {caching.what}{unit} go to {to} instead"
            f"{'; the cache itself works' if course.promise and course.seconds else ''}."
        ),
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
    yield Value("bypass_share", "bypassed the cache", part, "ratio", above=limits["share"])
    yield Value("requests", "requests received", course.came)
    yield Value("seconds", "measured over", course.seconds, "seconds")
    for way in ("read", "write"):
        past = share(course.sum(f"bypassed_{way}s"), course.sum(f"{way}s"))
        if past is not None:
            yield Value(f"bypass_share_{way}s", f"{way}s that bypassed", past, "ratio")
        hits = course.hit_share(way)
        if hits is not None:
            yield Value(f"cacheable_{way}_hits", f"hits of cacheable {way}s", hits, "ratio")
    hits = share(course.sum("read_hits"), course.sum("reads"))
    if hits is not None:
        yield Value("read_hits", "hits of all reads", hits, "ratio")
    if printed is not None:
        yield Value("printed", "hits since load, by the driver", printed, "ratio")
    if pieces is not None:
        yield Value("sub_block", "requests not of whole blocks", pieces.sub_block, "ratio")
    sequential = share(course.sum("sequential_skipped"), course.bypassed)
    if sequential is not None:
        yield Value("sequential", "sequential share of the bypass", sequential, "ratio")


def _cause(cache: Cache, course: CacheSteps, pieces: BlockAlignment | None, limits: Limits) -> _Cause:
    """Return why most requests bypass a cache: the reason that it counts, otherwise one that fits its blocks."""
    sequential = share(course.sum("sequential_skipped"), course.bypassed)
    size = human.quantity(cache.skips_from, "bytes")
    if sequential is not None and sequential > limits["sequential"]:
        return _Cause(
            f"{human.percent(sequential)}% of these are sequential requests above {size}",
            _sequential_advice(cache),
            Severity.INFO,
            "an unchanged bypass rate with sequential bypass disabled",
        )
    errors = course.sum("fast_errors", "slow_errors")
    if errors and course.seconds is not None:
        return _Cause(
            f"{human.number(errors)} I/O errors in the same time (see cache-errors)",
            (
                "Find the failing device (see cache-errors).",
                run("dmesg", "-T").pipe("grep", "-i", "-E", "error|fail").pipe("tail"),
            ),
            Severity.CRITICAL,
            "an unchanged bypass rate with no new errors",
        )
    if (share(course.sum("no_room"), course.bypassed) or 0.0) > limits["crowded"]:
        return _Cause(
            "Most found only dirty or busy blocks (see cache-full-of-dirty)",
            ("Check whether the backing disks are full.", run("iostat", "-x", "5")),
            Severity.CRITICAL,
            "an unchanged bypass rate while no_room does not grow",
        )
    return _uncounted_cause(cache, pieces, limits)


def _uncounted_cause(cache: Cache, pieces: BlockAlignment | None, limits: Limits) -> _Cause:
    """Return the cause of requests that the cache counts under no reason."""
    size = human.quantity(cache.skips_from, "bytes")
    block = human.quantity(cache.block_size, "bytes")
    if pieces is not None and pieces.agrees is not None and pieces.agrees <= limits["apart"]:
        return _Cause(
            f"{human.percent(pieces.sub_block)}% are not whole {block} blocks; only whole blocks are cached",
            ("Fix what splits the requests (cache-sub-block-io, mtu-misaligned).",),
            Severity.CRITICAL,
            "whole-block requests that also bypass the cache",
        )
    if pieces is not None and cache.needs_whole_blocks:
        return _Cause(
            f"Cause unknown: {human.percent(pieces.sub_block)}% are not whole blocks, few are sequential",
            (
                "Check the rules by process (whitelist, blacklist) and cache_all.",
                run("sysctl", "-a").pipe("grep", "flashcache"),
            ),
            Severity.CRITICAL,
            "a lower bypass rate under the same load",
        )
    if cache.needs_whole_blocks:
        return _Cause(
            "Few are sequential, which leaves requests that are not whole blocks",
            (
                "Check the alignment of partitions of the clients: multiples of 8 sectors.",
                run("parted", "DEVICE", "unit", "s", "print"),
                run("sdstop", "report", "--io-sizes", note="sizes of the requests received"),
            ),
            Severity.CRITICAL,
            "whole-block requests that also bypass the cache",
        )
    if cache.kind == "bcache":
        return _Cause(
            f"Sequential above {size}, or sent while the cache device was slow"
            if cache.skips_from
            else "The cache device is slow or full of dirty data",
            _bcache_advice(cache),
            Severity.CRITICAL,
            "an unchanged bypass rate with sequential_cutoff and the congested thresholds at 0",
        )
    return _Cause(
        "Cause unknown: this cache reports no reason",
        (
            "Check mode, policy and dirty blocks.",
            run("dmsetup", "table"),
            run("dmsetup", "status", "--noflush"),
        ),
        Severity.CRITICAL,
        "a lower bypass rate under the same load",
    )


def _sequential_advice(cache: Cache) -> tuple[Advice, ...]:
    first = "Cache sequential requests too, if they are reused."
    if cache.kind == "bcache":
        return first, run("echo", "0", into=f"/sys/block/{cache.device or cache.cache}/bcache/sequential_cutoff")
    return first, run("sysctl", "-a", note="0 caches these too").pipe("grep", "skip_seq_thresh_kb")


def _bcache_advice(cache: Cache) -> tuple[Advice, ...]:
    return (
        *(_sequential_advice(cache) if cache.skips_from else ()),
        "Set the congested thresholds to 0: never bypass a slow cache device.",
        run("grep", "-r", ".", "/sys/fs/bcache", "--include=congested*", note="above 0: bypassed because it was slow"),
        run("echo", "0", into="/sys/fs/bcache/UUID/congested_read_threshold_us"),
        run("echo", "0", into="/sys/fs/bcache/UUID/congested_write_threshold_us"),
    )


CACHE_BYPASSED = Rule(
    "cache-bypassed",
    "cache bypassed by many requests, or not caching at all",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (
        Threshold("share", 0.2, "share of requests that bypass the cache", "ratio"),
        Threshold("most", 0.5, "share of requests that bypass the cache, critical", "ratio"),
        Threshold("requests", 500.0, "requests in a minute needed to judge"),
        Threshold("sequential", 0.5, "sequential share of the bypass that is intended", "ratio"),
        Threshold("crowded", 0.5, "share of the bypass without room that is the cause", "ratio"),
        Threshold("apart", 0.1, "largest difference to the share of requests not of whole blocks", "ratio"),
    ),
    view="caches",
    advice="Fix what splits the requests, or change the limit of the cache.",
)
