"""Caches of slower storage, and their activity between two samples, for all implementations.

flashcache, dm-cache, dm-writecache, bcache and ZFS's ARC and L2ARC count different things. A field is set only if
the source reports it as defined here, and is None otherwise: a hit ratio can only be computed from counted requests.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State
from sdstop.core.text import total

_COUNTER = Kind.COUNTER
WRAP = 1 << 32
"""Value at which dm-cache's hit and miss counters wrap (drivers/md/dm-cache-target.c: `%u` of an atomic_t)."""


class Cache(Reading, frozen=True):
    """Devices, contents and settings of a cache, and its counters since it was loaded.

    `reads` and `writes` are all requests received, cacheable or not. A hit is a read served from, or a write to, cached
    blocks; a miss is a cacheable request for blocks not cached; bypassed requests were not cacheable and went directly
    to the backing device. `evicted_by_bypass` are cached blocks dropped because a bypassing request touched them.
    `counts` is the unit of the counters.
    """

    family: ClassVar[str] = "cache"
    title: ClassVar[str] = "Caches"
    joined: ClassVar[bool] = True
    things: ClassVar = {
        "cache": Identity(
            ThingKind.CACHE, Naming.DEV, "{device}", aliases=(("{cache}", Naming.LINK), ("mapper/{cache}", Naming.LINK))
        ),
        "fast": Identity(None, Naming.DEV, many=True),
        "slow": Identity(None, Naming.DEV, many=True),
    }
    joins = (
        Join("cache", "fast", Relation.CACHED),
        Join("cache", "slow", Relation.STORED),
    )

    cache: Annotated[
        str,
        Label("Cache", "Name: vg/volume, a mapping, bcache0, arc, l2arc", names=Name.VOLUME),
    ]
    kind: Annotated[str, Label("Kind", "flashcache, dm-cache, dm-writecache, bcache, arc or l2arc", plain=True)]
    device: Annotated[
        str | None, Fact("Device", "Kernel name of the cached device, as dm-3 or bcache0", names=Name.DEVICE)
    ] = None
    fast: Annotated[
        str | None, Fact("Fast", "Kernel names of its cache devices, separated by commas", names=Name.DEVICE)
    ] = None
    slow: Annotated[str | None, Fact("Slow", "Kernel name of its backing device", names=Name.DEVICE)] = None
    counts: Annotated[str, Fact("Counts", "Unit of its counters: requests, or blocks", plain=True)] = "requests"
    mode: Annotated[
        str | None,
        State("Mode", "Mode of the cache: writeback, writethrough, writearound, passthrough, none", detail=True),
    ] = None
    state: Annotated[
        str | None,
        State(
            "State", "State of the cache: ok, clean, dirty, no cache, read-only, needs check, failed ...", detail=True
        ),
    ] = None
    policy: Annotated[str | None, Fact("Policy", "Replacement policy: smq, mq, fifo, lru ...", plain=True)] = None
    size: Annotated[int | None, Metric("Size", "Cache capacity", "bytes", setting=True, detail=True)] = None
    used: Annotated[int | None, Metric("Used", "Cached data", "bytes", detail=True)] = None
    dirty: Annotated[int | None, Metric("Dirty", "Dirty data not yet written back", "bytes")] = None
    block_size: Annotated[
        int | None, Metric("Block", "Cache block size", "bytes", exact=True, setting=True, detail=True)
    ] = None
    metadata_size: Annotated[
        int | None, Metric("Metadata", "Metadata capacity of the cache", "bytes", setting=True, detail=True)
    ] = None
    metadata_used: Annotated[
        int | None, Metric("Metadata used", "Metadata of the cache in use", "bytes", detail=True)
    ] = None
    skips_from: Annotated[
        int | None, Metric("Skips from", "Sequential bypass threshold; 0: never", "bytes", setting=True, detail=True)
    ] = None
    reads: Annotated[int | None, Metric("Reads", "Read requests", kind=_COUNTER)] = None
    writes: Annotated[int | None, Metric("Writes", "Write requests", kind=_COUNTER)] = None
    read_hits: Annotated[int | None, Metric("Read hits", "Read hits", kind=_COUNTER)] = None
    write_hits: Annotated[int | None, Metric("Write hits", "Write hits", kind=_COUNTER)] = None
    read_misses: Annotated[
        int | None, Metric("Read misses", "Read misses that could have been hits", kind=_COUNTER, detail=True)
    ] = None
    write_misses: Annotated[
        int | None, Metric("Write misses", "Write misses that could have been hits", kind=_COUNTER, detail=True)
    ] = None
    bypassed_reads: Annotated[int | None, Metric("Bypassed reads", "Reads that bypassed the cache", kind=_COUNTER)] = (
        None
    )
    bypassed_writes: Annotated[
        int | None, Metric("Bypassed writes", "Writes that bypassed the cache", kind=_COUNTER)
    ] = None
    sequential_skipped: Annotated[
        int | None, Metric("Sequential", "Requests bypassed as sequential", kind=_COUNTER, detail=True)
    ] = None
    evicted_by_bypass: Annotated[
        int | None, Metric("Evicted", "Cached blocks invalidated by bypassing requests", kind=_COUNTER, detail=True)
    ] = None
    promotions: Annotated[
        int | None, Metric("Promotions", "Blocks promoted into the cache", kind=_COUNTER, detail=True)
    ] = None
    demotions: Annotated[
        int | None, Metric("Demotions", "Blocks evicted from the cache", kind=_COUNTER, detail=True)
    ] = None
    no_room: Annotated[
        int | None,
        Metric(
            "No room", "Requests not cached because all candidate blocks were dirty or busy", kind=_COUNTER, detail=True
        ),
    ] = None
    cleaned: Annotated[int | None, Metric("Cleaned", "Dirty blocks written back", kind=_COUNTER, detail=True)] = None
    fast_errors: Annotated[
        int | None, Metric("Errors", "I/O errors of the cache device", kind=_COUNTER, detail=True)
    ] = None
    slow_errors: Annotated[
        int | None, Metric("Slow errors", "I/O errors of the backing device", kind=_COUNTER, detail=True)
    ] = None
    write_back_rate: Annotated[
        int | None, Metric("Writeback rate", "Target rate of writing dirty data back", "bytes_per_second", detail=True)
    ] = None
    writes_back: Annotated[int | None, Metric("Writes back", "Whether writeback is running", detail=True)] = None
    printed_read_hits: Annotated[
        float | None,
        Metric("Printed", "Read hit ratio as printed by the driver, truncated to whole percents", "ratio",
               export=False),
    ] = None  # fmt: skip
    needs_whole_blocks: Annotated[
        int | None, Metric("Whole blocks", "Whether only requests of exactly one block can be cached", export=False)
    ] = None
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""
    settings: Annotated[
        str, Fact("Settings", "Evidence of the settings, if not the same", export=False, names=Name.EVIDENCE)
    ] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the file or command that reports the cache, or its `field`."""
        if not self.where:
            return None
        if self.kind == "bcache":
            folder = self.where.rpartition("/")[0]
            return Source(f"{folder}/{_FILES[field]}" if field in _FILES else self.where)
        if self.settings and field in _SETTINGS:
            words = _IN_TABLE.get(field, "") if self.kind == "flashcache" else self.needle
            return Source(self.settings, words)
        word = _PRINTED.get(self.kind, {}).get(field or "reads")
        value = getattr(self, field or "reads")
        if word is None or value is None:
            return Source(self.where, self.needle)
        if self.kind in {"arc", "l2arc"}:
            return Source(self.where, f"{word:<31} 4    {value}")
        if self.where.startswith("/proc"):
            return Source(self.where, f"{word.replace(' ', '_')}={value}")
        return Source(self.where, f"{word}({value})")


_FILES = {
    "mode": "cache_mode", "dirty": "dirty_data", "skips_from": "sequential_cutoff", "slow_errors": "io_errors",
    "read_hits": "stats_total/cache_hits", "read_misses": "stats_total/cache_misses",
    "bypassed_reads": "stats_total/cache_bypass_misses", "write_back_rate": "writeback_rate",
    "writes_back": "writeback_running",
}  # fmt: skip
"""Files of the fields in the sysfs directory of bcache."""
_SETTINGS = ("fast", "slow", "mode", "size", "used", "dirty", "block_size", "skips_from")
"""Fields of flashcache, dm-cache and dm-writecache that are read from a table."""
_IN_TABLE = {
    "fast": "ssd dev", "slow": "disk dev", "mode": "cache mode", "size": "total blocks", "used": "cached blocks",
    "dirty": "dirty blocks", "block_size": "block size", "skips_from": "skip sequential thresh",
}  # fmt: skip
_PRINTED = {
    "flashcache": {
        "reads": "reads", "writes": "writes", "read_hits": "read hits", "write_hits": "write hits",
        "bypassed_reads": "uncached reads", "bypassed_writes": "uncached writes", "no_room": "no room",
        "cleaned": "cleanings",
    },
    "arc": {"reads": "hits", "read_hits": "hits", "read_misses": "misses", "size": "c_max", "used": "size"},
    "l2arc": {"reads": "l2_hits", "read_hits": "l2_hits", "read_misses": "l2_misses", "used": "l2_asize"},
}  # fmt: skip
"""Name under which a source prints the unmodified value of a field."""


class CacheActivity(Reading, frozen=True, kw_only=True):
    """Activity of a cache between two samples; a share is None without requests."""

    family: ClassVar[str] = "cache_activity"
    title: ClassVar[str] = "Cache activity"
    joined: ClassVar[bool] = True
    exported: ClassVar[bool] = False  # Prometheus computes rates from the counters
    rows_of = Source("{where}", "{needle}")
    things: ClassVar = {
        "cache": Identity(ThingKind.CACHE, Naming.LINK, aliases=(("mapper/{cache}", Naming.LINK),)),
    }

    cache: Annotated[str, Label("Cache", "See the cache", names=Name.VOLUME)]
    kind: Annotated[str, Label("Kind", "See the cache", plain=True)]
    reads: Annotated[float | None, Metric("Reads", "Read requests", "per_second")]
    writes: Annotated[float | None, Metric("Writes", "Write requests", "per_second")]
    hits: Annotated[float | None, Metric("Hits", "Requests that hit", "per_second")]
    misses: Annotated[float | None, Metric("Misses", "Cacheable requests that missed", "per_second")]
    bypassed: Annotated[float | None, Metric("Bypassed", "Requests that bypassed the cache", "per_second")]
    hit_share: Annotated[float | None, Metric("Hit", "Hits per request", "ratio")]
    read_hit_share: Annotated[float | None, Metric("Read hit", "Read hits per read request", "ratio")]
    write_hit_share: Annotated[float | None, Metric("Write hit", "Write hits per write request", "ratio")]
    cacheable_hit_share: Annotated[float | None, Metric("Hit of cacheable", "Hits per cacheable request", "ratio")]
    bypass_share: Annotated[float | None, Metric("Bypass", "Share of requests that bypassed the cache", "ratio")]
    evicted: Annotated[float | None, Metric("Evicted", "Blocks dropped by bypassing requests", "per_second")]
    promotions: Annotated[float | None, Metric("Promotions", "Blocks promoted into the cache", "per_second")]
    demotions: Annotated[float | None, Metric("Demotions", "Blocks evicted from the cache", "per_second")]
    cleaned: Annotated[float | None, Metric("Cleaned", "Dirty blocks written back", "per_second")]
    no_room: Annotated[float | None, Metric("No room", "Requests not cached for lack of room", "per_second")]
    errors: Annotated[float | None, Metric("Errors", "I/O errors of cache and backing device", "per_second")]
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


def activity(before: Cache, after: Cache, seconds: float) -> CacheActivity | None:
    """Return the activity of a cache between two samples, or None if its counters were reset in between.

    dm-cache's counters wrap at 2^32. Small decreases are ignored: flashcache counts without a lock.
    """
    steps = counted(before, after) if seconds > 0 else None
    if steps is None:
        return None
    hits = total((steps["read_hits"], steps["write_hits"]))
    misses = total((steps["read_misses"], steps["write_misses"]))
    bypassed = total((steps["bypassed_reads"], steps["bypassed_writes"]))
    came = total((steps["reads"], steps["writes"]))
    rate = {name: None if step is None else step / seconds for name, step in steps.items()}
    return CacheActivity(
        cache=after.cache,
        kind=after.kind,
        reads=rate["reads"],
        writes=rate["writes"],
        hits=total((rate["read_hits"], rate["write_hits"])),
        misses=total((rate["read_misses"], rate["write_misses"])),
        bypassed=total((rate["bypassed_reads"], rate["bypassed_writes"])),
        hit_share=share(hits, came),
        read_hit_share=share(steps["read_hits"], steps["reads"]),
        write_hit_share=share(steps["write_hits"], steps["writes"]),
        cacheable_hit_share=share(hits, hits + misses) if hits is not None and misses is not None else None,
        bypass_share=share(bypassed, came),
        evicted=rate["evicted_by_bypass"],
        promotions=rate["promotions"],
        demotions=rate["demotions"],
        cleaned=rate["cleaned"],
        no_room=rate["no_room"],
        errors=total((rate["fast_errors"], rate["slow_errors"])),
        where=after.where,
        needle=after.needle,
    )


def counted(before: Cache, after: Cache) -> dict[str, int | None] | None:
    """Return the increase of each counter of a cache, None for unknown ones; None if the counters were reset."""
    if (before.device, before.size) != (after.device, after.size):
        return None
    wrap = WRAP if after.kind == "dm-cache" else 0
    steps = {name: _step(getattr(before, name), getattr(after, name), wrap) for name in COUNTERS}
    if after.kind == "flashcache":
        # Misses are computed as requests minus hits and bypasses, so a request that waits and then hits reduces them.
        for came, missed in (("reads", "read_misses"), ("writes", "write_misses")):
            if (steps[missed] or 0) < 0 <= (steps[came] or 0):
                steps[missed] = 0
    return None if any(step is not None and step < 0 for step in steps.values()) else steps


def share(part: float | None, whole: float | None) -> float | None:
    """Return `part` as a share of `whole`, at most 1; None if either is unknown or `whole` is 0."""
    return None if part is None or not whole else min(part / whole, 1.0)


COUNTERS = (
    "reads", "writes", "read_hits", "write_hits", "read_misses", "write_misses", "bypassed_reads", "bypassed_writes",
    "sequential_skipped", "evicted_by_bypass", "promotions", "demotions", "no_room", "cleaned", "fast_errors",
    "slow_errors",
)  # fmt: skip
"""Fields of a cache that only increase until they are reset."""
_SLACK = 16
"""A decrease by less is not a reset."""


def _step(before: int | None, after: int | None, wrap: int) -> int | None:
    """Return the increase of a counter; negative if it was reset, None if unknown."""
    if before is None or after is None:
        return None
    step = after - before
    if step >= 0:
        return step
    if step > -_SLACK:
        return 0
    return step + wrap if wrap and step + wrap < wrap // 2 else step
