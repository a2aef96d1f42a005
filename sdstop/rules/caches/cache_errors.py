"""Caches with faults: I/O errors, a non-working state, or nearly full metadata."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sdstop.analysis.caches.counters import FLASHCACHE, CacheAnalysis, cachings
from sdstop.collectors.bcache.readings import BcacheSuperblock, BcacheWaiting
from sdstop.collectors.devicemapper.cache_status import CUT, UNKNOWN
from sdstop.collectors.system.readings import Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.cache import Cache, share

_FAILED = ("CACHE FAILED", "Cached data and the backing device are inaccessible.", Damage.AVAILABILITY)
_STATES = {
    "failed": _FAILED,
    "error": _FAILED,
    "needs check": (
        "CACHE METADATA DAMAGED", "The metadata must be checked before the cache is used again.", Damage.AVAILABILITY,
    ),
    "read-only": (
        "CACHE READ-ONLY", "Nothing new is cached; dirty data may not be written back.", Damage.REDUNDANCY,
    ),
    "inconsistent": ("DIRTY DATA LOST", "Data on the backing device is incomplete.", Damage.DATA),
}  # fmt: skip
"""States in which a cache does not work: title, impact and damage."""
_WORKING = frozenset({"ok", "clean", "dirty", "no cache"})
_SIDES = {"fast_errors": "the cache device", "slow_errors": "the backing device"}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    yield from _without_cache(window)
    for row in window.rows(BcacheSuperblock).values():
        yield _of_superblock(window, row)
    for caching in cachings(window):
        cache = caching.cache
        said = [*_state(window, cache), *_errors(window, caching), *_metadata(window, cache, limits)]
        if cache.state in {CUT, UNKNOWN} and all(each.severity is Severity.INFO for each in said):
            yield Unchecked(f"line {cache.state}", cache.cache, gap=Gap.FAULTY)
        elif said:
            yield _joined(said)
        elif cache.state is not None and cache.state not in _WORKING:
            yield Unchecked(f'unknown state "{human.safe(cache.state, 40)}"', cache.cache, gap=Gap.FAULTY)
        elif cache.state is not None or caching.ever.sum(*_SIDES) is not None:
            yield RuledOut(cache.cache, _good(caching))
        elif cache.kind == FLASHCACHE:
            yield Unchecked("this version reports neither state nor I/O errors", cache.cache, calm=True)
        else:
            yield Unchecked("neither state nor I/O errors are reported", cache.cache, calm=True)


_BOOT = 120.0
"""Seconds after the start of the node in which devices of a cache may still appear."""


def _without_cache(window: Window) -> Iterator[Verdict]:
    """Judge backing devices of bcache that wait for their cache set: they have no bcache device."""
    uptime = next((node.uptime for node in window.rows(Node).values()), None)
    for row in window.rows(BcacheWaiting).values():
        if uptime is not None and uptime < _BOOT:
            yield Unchecked("waits for its cache since the start of the node", row.device, gap=Gap.EARLY)
            continue
        dirty = row.state in {"dirty", "inconsistent"}
        yield Finding(
            severity=Severity.CRITICAL,
            subject=row.device,
            title="CACHE MISSING: device not started",
            cause=f"The backing device is registered and waits for its cache; state {row.state or 'unknown'}.",
            impact=(
                "The volume is missing, and its newest data is only in the cache."
                if dirty
                else "The bcache device on it does not exist, nor anything built on it."
            ),
            values=(Value("state", "state", row.state), Value("running", "running", 0)),
            evidence=cites(window.cite(row), window.cite(row, "state")),
            advice=(
                "Find the cache device: it failed, is missing, or was not registered.",
                run("lsblk", "-o", "NAME,FSTYPE,SIZE,MODEL", note="type bcache"),
                run("echo", "/dev/CACHE", into="/sys/fs/bcache/register", note="if it is there"),
                run(
                    "echo", "1", into=f"/sys/block/{row.folder}/bcache/running",
                    note="without the cache: loses dirty data" if dirty else "without the cache",
                ),
            ),
            refuted_by=f"1 in /sys/block/{row.folder}/bcache/running",
            damage=Damage.DATA if dirty else Damage.AVAILABILITY,
        )  # fmt: skip


def _of_superblock(window: Window, row: BcacheSuperblock) -> Verdict:
    """Judge a superblock that bcache-super-show printed."""
    if row.damage == "sb.magic":
        return Unchecked("not a device of bcache, or its superblock was overwritten", row.device, gap=Gap.FAULTY)
    if row.damage is None and row.state != "inconsistent":
        known = row.state is None or row.state in _STORED
        said = f"superblock valid, {row.state or row.kind}"
        return RuledOut(row.device, said) if known else Unchecked(said, row.device, gap=Gap.FAULTY)
    dirty = row.mode == "writeback"
    if row.damage is not None:
        title, cause, damage = "SUPERBLOCK DAMAGED", f"{row.damage} of the superblock is invalid.", Damage.AVAILABILITY
        impact = "The kernel refuses the device; volumes built on it are missing."
    else:
        title, cause, damage = "STARTED WITHOUT ITS CACHE", "The backing device was started without its cache.", None
        impact = "Dirty data of the cache is lost." if dirty else "The cache is stale; all reads go to the device."
    return Finding(
        severity=Severity.CRITICAL if dirty or row.damage else Severity.WARNING,
        subject=row.device,
        title=title,
        cause=cause,
        impact=impact,
        values=(Value("state", "state", row.state), Value("mode", "mode", row.mode)),
        evidence=cites(window.cite(row)),
        advice=(
            "Save an image of the device before you repair or reformat it.",
            run("journalctl", "-k").pipe("grep", "-i", "bcache"),
        ),
        refuted_by="[match] in all lines of bcache-super-show, and the state clean",
        damage=damage or (Damage.DATA if dirty else Damage.SPEED),
    )


_STORED = frozenset({"detached", "clean", "dirty"})


def _good(caching: CacheAnalysis) -> str:
    errors = caching.ever.sum(*_SIDES)
    words = [f"state {caching.cache.state}"] if caching.cache.state is not None else []
    words.append("no counter of I/O errors" if errors is None else f"{human.number(errors)} I/O errors")
    full = share(caching.cache.metadata_used, caching.cache.metadata_size)
    words += [] if full is None else [f"metadata {human.percent(full)}% full"]
    return ", ".join(words)


def _joined(said: list[Finding]) -> Finding:
    """Return one finding for all faults of a cache, with the worst severity; the worst fault is first."""
    said.sort(key=lambda finding: -finding.severity.rank)
    worst, *others = said
    also = (
        (Value("also", "also found", "; ".join(f"{other.title}: {other.cause}" for other in others)),) if others else ()
    )
    return replace(
        worst,
        values=(*also, *(value for finding in said for value in finding.values)),
        evidence=cites(*(cite for finding in said for cite in finding.evidence)),
        advice=tuple(dict.fromkeys(advice for finding in said for advice in finding.advice)),
    )


def _state(window: Window, cache: Cache) -> Iterator[Finding]:
    known = _STATES.get(cache.state or "")
    if known is None:
        return
    title, impact, damage = known
    yield Finding(
        severity=Severity.CRITICAL,
        subject=cache.cache,
        title=title,
        cause=f"The cache reports the state {cache.state}.",
        impact=impact,
        values=(Value("state", "state", cache.state),),
        evidence=cites(window.cite(cache, "state")),
        advice=(
            "Find the first error in the kernel log.",
            run("dmesg", "-T").pipe("grep", "-i", "-E", "cache|error").pipe("tail", "-50"),
            *_repair(cache),
        ),
        refuted_by="a different state in the cited line",
        damage=damage,
    )


def _repair(cache: Cache) -> Iterator[Advice]:
    if cache.kind == "dm-cache":
        note = "inactive volume only; back up its metadata first"
        yield run("lvconvert", "--repair", *operands(cache.cache), note=note)
    elif cache.kind == "bcache":
        folder = f"/sys/block/{cache.device or cache.cache}/bcache"
        yield run("cat", f"{folder}/state", f"{folder}/dirty_data", note="before mounting")


def _errors(window: Window, caching: CacheAnalysis) -> Iterator[Finding]:
    cache = caching.cache
    total, new = caching.ever.sum(*_SIDES), None
    if caching.recent is not None:
        new = caching.recent.sum(*_SIDES)
    if not total and not new:
        return
    sides = [words for name, words in _SIDES.items() if caching.ever.sum(name)]
    where = f" on {' and '.join(sides)}" if sides else ""
    one = where if len(sides) < 2 else ""
    values = (
        Value("new", "new I/O errors", new, "", above=0.0 if new else None),
        *(Value(name, f"I/O errors{where}", total) for name, where in _named(caching)),
    )
    evidence = cites(*(window.cite(cache, name) for name, _ in _named(caching)))
    devices = [device for device in (cache.fast, cache.slow) if device] or ["DEVICE"]
    advice: tuple[Advice, ...] = (
        "Check the devices of the cache and their cables.",
        *(run("smartctl", "-x", f"/dev/{device}") for device in devices),
        run("dmesg", "-T").pipe("grep", "-i", "I/O error").pipe("tail"),
    )
    if new:
        when = caching.recent.when if caching.recent is not None else ""
        harmless = cache.kind == "l2arc"  # the pool still has the data
        yield Finding(
            severity=Severity.WARNING if harmless else Severity.CRITICAL,
            subject=cache.cache,
            title=f"CACHE I/O ERRORS: {human.number(new)} new",
            cause=f"{human.number(new)} I/O errors{one} {when}, {human.number(total)} in total.",
            impact=(
                "The pool still has the data; these reads go to its disks."
                if harmless
                else "Requests to the cache fail, and dirty data on it can be lost."
            ),
            values=values,
            evidence=evidence,
            advice=advice,
            refuted_by="error counters unchanged under the same load",
            damage=Damage.SPEED if harmless else None,
        )
        return
    # Old errors are informational; one sample cannot date them.
    yield Finding(
        severity=Severity.INFO,
        subject=cache.cache,
        title=f"OLD CACHE I/O ERRORS: {human.number(total)}",
        cause=f"{human.number(total)} I/O errors{one} since load.",
        impact="No error is new." if new is not None else "A second sample shows whether they grow.",
        values=values,
        evidence=evidence,
        advice=advice,
        refuted_by="a counter reset between the samples",
    )


def _named(caching: CacheAnalysis) -> list[tuple[str, str]]:
    return [(name, f" on {words}") for name, words in _SIDES.items() if caching.ever.sum(name)]


def _metadata(window: Window, cache: Cache, limits: Limits) -> Iterator[Finding]:
    full = share(cache.metadata_used, cache.metadata_size)
    if full is None or full < limits["metadata"] or cache.kind != "dm-cache":
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=cache.cache,
        title=f"CACHE METADATA {human.percent(full)}% FULL",
        cause=f"{human.percent(full)}% of the metadata space is used.",
        impact="A cache that cannot write its metadata turns read-only.",
        values=(Value("metadata", "metadata used", full, "ratio", above=limits["metadata"]),),
        evidence=cites(window.cite(cache, "metadata_used")),
        advice=(
            "Enlarge the metadata of the cache pool.",
            run("lvs", "-a", "-o", "name,metadata_percent,lv_metadata_size", *operands(cache.cache.partition("/")[0])),
        ),
        refuted_by=f"less than {human.percent(limits['metadata'])}% of the metadata used",
        harmless_if="the level has not changed for years; it depends on the size of the cache",
        damage=Damage.CAPACITY,
    )


CACHE_ERRORS = Rule(
    "cache-errors",
    "cache with I/O errors, failed, missing, or short of metadata space",
    Severity.CRITICAL,
    _check,
    (Cache,),
    (Threshold("metadata", 0.9, "used share of the metadata of dm-cache", "ratio"),),
    instead=(BcacheWaiting, BcacheSuperblock),
    covers=(Covers(Cache), Covers(BcacheWaiting, "{device}"), Covers(BcacheSuperblock, "{device}")),
    explains=(
        "cache-bypassed",
        "cache-full-of-dirty",
        "cache-ineffective",
    ),
    damage=Damage.AVAILABILITY,
    view="caches",
    advice="Find the first error of the cache in the kernel log.",
)
