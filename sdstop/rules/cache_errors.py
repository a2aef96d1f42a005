"""Caches with faults: I/O errors, a non-working state, or nearly full metadata."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.caching import FLASHCACHE, CacheAnalysis, cachings
from sdstop.collectors.devicemapper.cache_status import CUT, UNKNOWN
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted
from sdstop.readings.cache import Cache, share

_STATES = {
    "failed": "the cache has failed: what it holds and the disks behind it cannot be reached through it",
    "error": "the cache has failed: what it holds and the disks behind it cannot be reached through it",
    "needs check": "its metadata are damaged and must be checked before it is used again",
    "read-only": "its metadata can no longer be written, so nothing new is cached and dirty data may stay where it is",
    "inconsistent": "dirty data was lost with the cache device: what is on the disk behind it is not whole",
}
"""States in which a cache does not work, and their meaning."""
_WORKING = frozenset({"ok", "clean", "dirty", "no cache"})
_SIDES = {"fast_errors": "what it caches on", "slow_errors": "what it caches"}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for caching in cachings(window):
        cache = caching.cache
        said = [*_state(window, cache), *_errors(window, caching), *_metadata(window, cache, limits)]
        if said:
            yield _joined(said)
        elif cache.state in {CUT, UNKNOWN}:
            yield Unchecked(f"its line is {cache.state}", cache.cache, gap=Gap.FAULTY)
        elif cache.state is not None and cache.state not in _WORKING:
            yield Unchecked(f'state "{human.safe(cache.state, 40)}" is not known', cache.cache, gap=Gap.FAULTY)
        elif cache.state is not None or caching.ever.sum(*_SIDES) is not None:
            yield RuledOut(cache.cache, _good(caching))
        elif cache.kind == FLASHCACHE:
            yield Unchecked("it tells no state, and this version counts no I/O errors", cache.cache, calm=True)
        else:
            yield Unchecked("neither state nor I/O errors are reported", cache.cache, calm=True)


def _good(caching: CacheAnalysis) -> str:
    errors = caching.ever.sum(*_SIDES)
    words = [f"state {caching.cache.state}"] if caching.cache.state is not None else []
    words.append("its I/O errors are not counted" if errors is None else f"{human.number(errors)} I/O errors")
    full = share(caching.cache.metadata_used, caching.cache.metadata_size)
    words += [] if full is None else [f"metadata {human.percent(full)} % full"]
    return ", ".join(words)


def _joined(said: list[Finding]) -> Finding:
    """Return one finding for all faults of a cache, with the worst severity; the worst fault is first."""
    said.sort(key=lambda finding: -finding.severity.rank)
    worst = said[0]
    return Finding(
        severity=worst.severity,
        subject=worst.subject,
        cause="; ".join(finding.summary for finding in said),
        values=tuple(value for finding in said for value in finding.values),
        evidence=cites(*(cite for finding in said for cite in finding.evidence)),
        advice=tuple(dict.fromkeys(advice for finding in said for advice in finding.advice)),
        refuted_by=worst.refuted_by,
    )


def _state(window: Window, cache: Cache) -> Iterator[Finding]:
    meaning = _STATES.get(cache.state or "")
    if meaning is None:
        return
    yield Finding(
        severity=Severity.CRITICAL,
        subject=cache.cache,
        cause=f"state {cache.state}: {meaning}",
        values=(Value("state", "state", cache.state),),
        evidence=cites(window.cite(cache, "state")),
        advice=("dmesg -T | grep -i -E 'cache|error' | tail -50   # what happened, and when", *_repair(cache)),
        refuted_by="another state in the same evidence",
    )


def _repair(cache: Cache) -> Iterator[str]:
    if cache.kind == "dm-cache":
        yield (
            f"lvconvert --repair {operand(cache.cache)}   # of a volume that is not in use; first keep a copy "
            "of its metadata"
        )
    elif cache.kind == "bcache":
        yield (
            f"cat /sys/block/{quoted(cache.device or cache.cache)}/bcache/{{state,dirty_data}}"
            "   # before anything is mounted"
        )


def _errors(window: Window, caching: CacheAnalysis) -> Iterator[Finding]:
    cache = caching.cache
    total, new = caching.ever.sum(*_SIDES), None
    if caching.recent is not None:
        new = caching.recent.sum(*_SIDES)
    if not total and not new:
        return
    sides = [words for name, words in _SIDES.items() if caching.ever.sum(name)]
    where = f" of {' and '.join(sides)}" if sides else ""
    values = (
        Value("new", "I/O errors in the window", new, "", above=0.0),
        *(Value(name, f"I/O errors{where}, in all", total) for name, where in _named(caching)),
    )
    evidence = cites(*(window.cite(cache, name) for name, _ in _named(caching)))
    devices = ",".join(filter(None, (cache.fast, cache.slow))) or "DEVICE"
    advice = (
        f"smartctl -x /dev/{quoted(devices.split(',')[0])}   # and of the others: {quoted(devices)}",
        "dmesg -T | grep -i 'I/O error' | tail",
    )
    if new:
        when = caching.recent.when if caching.recent is not None else ""
        harmless = cache.kind == "l2arc"  # the pool still has the data
        yield Finding(
            severity=Severity.WARNING if harmless else Severity.CRITICAL,
            subject=cache.cache,
            cause=f"{human.number(new)} I/O errors{where} {when}, {human.number(total)} in all",
            values=values,
            evidence=evidence,
            advice=advice,
            refuted_by="a counter that stands still under the same load",
        )
        return
    # Old errors are informational; one sample cannot date them.
    since = "none of them new" if new is not None else "a second frame tells whether they grow"
    yield Finding(
        severity=Severity.INFO,
        subject=cache.cache,
        cause=f"{human.number(total)} I/O errors{where} since it was loaded, {since}",
        values=values,
        evidence=evidence,
        advice=advice,
        refuted_by="a counter that was reset meanwhile",
    )


def _named(caching: CacheAnalysis) -> list[tuple[str, str]]:
    return [(name, f" of {words}") for name, words in _SIDES.items() if caching.ever.sum(name)]


def _metadata(window: Window, cache: Cache, limits: Limits) -> Iterator[Finding]:
    full = share(cache.metadata_used, cache.metadata_size)
    if full is None or full < limits["metadata"] or cache.kind != "dm-cache":
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        cause=f"its metadata are {human.percent(full)} % full; a cache that cannot write them becomes read-only",
        values=(Value("metadata", "metadata in use", full, "ratio", above=limits["metadata"]),),
        evidence=cites(window.cite(cache, "metadata_used")),
        advice=(
            (
                f"lvs -a -o name,metadata_percent,lv_metadata_size {operand(cache.cache.partition('/')[0])}"
                "   # then a larger pool"
            ),
        ),
        refuted_by="metadata that are this full since years and stay so: they depend on the size of the cache alone",
    )


CACHE_ERRORS = Rule(
    "cache-errors",
    "a cache has I/O errors, is in a state in which it does not work, or runs out of metadata",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (Threshold("metadata", 0.9, "share of dm-cache's metadata in use", "ratio"),),
    explains=(
        "cache-bypassed",
        "cache-full-of-dirty",
        "cache-ineffective",
    ),
)
