"""bcache devices from sysfs (drivers/md/bcache/sysfs.c, stats.c)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host, TimedOut, Unreadable
from sdstop.core.model import Derivation, Reading
from sdstop.core.text import total
from sdstop.readings.cache import Cache, CacheActivity, activity

BLOCK = "/sys/block"
SETS = "/sys/fs/bcache"

_SIZE = expression(r"(\d{1,20}(?:\.\d{1,3})?)([kMGTPEZY]?)", re.ASCII)


def size(text: str | None) -> int | None:
    """Return a human-readable size (`924.5k`, `1.2G`, `0`; powers of 1024) in bytes, None if it is invalid."""
    found = _SIZE.fullmatch((text or "").strip())
    return round(float(found[1]) * 1024 ** " kMGTPEZY".index(found[2] or " ")) if found is not None else None


def chosen(text: str | None) -> str | None:
    """Return the bracketed word of `writethrough [writeback] writearound none`."""
    found = re.search(r"\[([^\]]+)\]", text or "")
    return found[1] if found is not None else None


def read(host: Host) -> Iterable[Reading]:
    """Yield a Cache for each bcache device.

    Only reads are counted; a partial hit counts as a miss. A read meant to bypass the cache whose data is completely
    cached is served from the cache (request.c: cached_dev_read looks up every read), so it is a hit. The counters are
    updated together about every ten seconds and reset by `clear_stats`. The amount of cached data is only in
    `priority_stats`, which is not read because the kernel sorts all buckets for it.
    """
    for name in host.entries(BLOCK):
        if name.startswith("bcache") and name.removeprefix("bcache").isdecimal():
            yield _cache(host, name)


def _cache(host: Host, name: str) -> Cache:
    base = f"{BLOCK}/{name}/bcache"
    stats = f"{base}/stats_total"
    hits = total([host.number(f"{stats}/cache_{what}") for what in ("hits", "bypass_hits")])
    misses, past = host.number(f"{stats}/cache_misses"), host.number(f"{stats}/cache_bypass_misses")
    state = host.maybe(f"{base}/state") or None
    disabled = host.number(f"{base}/io_disable") == 1
    group = host.target(f"{base}/cache") if state != "no cache" else None
    if state == "no cache":  # reads still count as misses for some time after the cache is detached
        hits = misses = past = None
    folder = f"{SETS}/{group}" if group else None
    members = [f"{folder}/{m}" for m in host.names(folder) if re.fullmatch(r"cache\d+", m)] if folder else []
    return Cache(
        cache=name,
        kind="bcache",
        device=name,
        fast=",".join(filter(None, (_owner(host, member) for member in members))) or None,
        slow=host.maybe(f"{base}/backing_dev_name") or _owner(host, base),
        mode=chosen(host.maybe(f"{base}/cache_mode")),
        state="failed" if disabled else state,
        policy=chosen(host.maybe(f"{members[0]}/cache_replacement_policy")) if members else None,
        size=total([_room(host, member) for member in members]),
        dirty=size(host.maybe(f"{base}/dirty_data")),
        block_size=size(host.maybe(f"{folder}/block_size")) if folder else None,
        skips_from=size(host.maybe(f"{base}/sequential_cutoff")),
        reads=total([hits, misses, past]),
        read_hits=hits,
        read_misses=misses,
        bypassed_reads=past,
        fast_errors=total([host.number(f"{member}/io_errors") for member in members]),
        slow_errors=host.number(f"{base}/io_errors"),
        write_back_rate=size(host.maybe(f"{base}/writeback_rate")),
        writes_back=host.number(f"{base}/writeback_running"),
        where=f"{base}/{'io_disable' if disabled else 'state'}",
    )


def _room(host: Host, member: str) -> int | None:
    buckets, bucket = host.number(f"{member}/nbuckets"), size(host.maybe(f"{member}/bucket_size"))
    return None if buckets is None or bucket is None else buckets * bucket


def _owner(host: Host, path: str) -> str | None:
    """Return the device whose directory contains a link's target: `../../../devices/../block/vdb/bcache`."""
    try:
        return posixpath.basename(posixpath.dirname(host.link(path))) or None
    except TimedOut:
        raise
    except Unreadable:
        return None


_ATTRIBUTES = {
    "state": "clean, dirty, no cache, inconsistent",
    "cache_mode": "cache mode",
    "dirty_data": "data only in the cache",
    "sequential_cutoff": "sequential bypass threshold",
    "backing_dev_name": "backing device",
    "io_errors": "errors of the backing device",
    "io_disable": "whether the kernel refuses all I/O because the backing device failed",
    "writeback_rate": "rate at which dirty data is to be written back",
    "writeback_running": "whether writeback runs",
    "stats_total/*": "hits, misses and bypasses",
}

BCACHE = Collector(
    "bcache",
    "bcache",
    read,
    (Cache,),
    (
        Need(f"list:{BLOCK}", "bcache devices"),
        *(Need(f"{BLOCK}/bcache*/bcache/{name}", why, filled=True) for name, why in _ATTRIBUTES.items()),
        Need(f"link:{BLOCK}/bcache*/bcache", "backing device, where the kernel does not name it"),
        Need(f"link:{BLOCK}/bcache*/bcache/cache", "cache set of a bcache device"),
        Need(f"list:{SETS}/*", "devices of the cache set"),
        Need(f"link:{SETS}/*/cache*", "kernel names of the devices of the cache set"),
        Need(f"{SETS}/*/block_size", "smallest cacheable unit", filled=True),
        Need(
            f"{SETS}/*/cache*/*",
            "room, errors, replacement policy",
            filled=("nbuckets", "bucket_size", "io_errors", "cache_replacement_policy"),
        ),
    ),
    LIVE,
    derives=(Derivation(Cache, CacheActivity, activity),),
    devices=r"bcache\d+",
)
