"""flashcache statistics from /proc, for users without access to device mapper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper import flashcache_status as flashcache
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Host, Unreadable
from sdstop.core.model import Derivation, Reading
from sdstop.readings.cache import Cache, CacheActivity, activity
from sdstop.readings.iosize import RequestSizes, cumulative

FOLDER = "/proc/flashcache"
_BLOCK = "/sys/block"


def read(host: Host) -> Iterable[Reading]:
    """Yield a Cache for each directory in /proc/flashcache, and the module's RequestSizes.

    Yields nothing if device mapper, which has more details, already reported flashcaches. Raises Absent without the
    module, Malformed for invalid counters.
    """
    folders = [name for name in host.entries(FOLDER) if host.maybe(f"{FOLDER}/{name}/flashcache_stats") is not None]
    if not folders and "flashcache_version" not in host.names(FOLDER):
        raise Absent(FOLDER, "no flashcache")
    host.maybe(f"{FOLDER}/flashcache_version")
    rows = [_cache(host, name) for name in folders]
    histograms = [f"{FOLDER}/{name}/flashcache_iosize_hist" for name in folders]
    sizes = [(path, flashcache.sizes(f"{host.maybe(path) or ''}\n")) for path in histograms[:1]]
    if _is_in_dmsetup(host):
        return
    yield from rows
    for path, counts in sizes:
        if counts:
            yield RequestSizes(counter="flashcache", device="", direction="", sizes=cumulative(counts), where=path)


def _is_in_dmsetup(host: Host) -> bool:
    """Return whether recorded dmsetup output reports a flashcache."""
    for name in host.recorded("dmsetup"):
        if re.match("dmsetup[ _]status", name):
            try:
                output = host.recorded_output(name)
            except Unreadable:  # the collector that ran the command reports the reason
                continue
            if output.exit == 0 and b" flashcache " in output.stdout:
                return True
    return False


def _cache(host: Host, name: str) -> Cache:
    folder = f"{FOLDER}/{name}"
    found = flashcache.stats(host.text(f"{folder}/flashcache_stats"))
    found |= flashcache.listed(host.maybe(f"{folder}/flashcache_errors") or "")
    row = flashcache.cache(name, found, flashcache.FlashcacheConfig(), where=f"{folder}/flashcache_stats")
    for fast, slow in _pairs(name):
        both = set(host.names(f"{_holders(host, fast)}")) & set(host.names(f"{_holders(host, slow)}"))
        if len(both) == 1:
            device = both.pop()
            mapping = host.maybe(f"{_BLOCK}/{device}/dm/name")
            shown = dmtable.volume(mapping, host.maybe(f"{_BLOCK}/{device}/dm/uuid")) if mapping else name
            return replace(row, cache=shown, device=device, fast=fast, slow=slow)
    return row


def _pairs(name: str) -> Iterator[tuple[str, str]]:
    """Yield the possible (cache device, backing device) pairs of a directory name such as `sda+md2`."""
    parts = name.split("+")
    return (("+".join(parts[:n]), "+".join(parts[n:])) for n in range(1, len(parts)))


def _holders(host: Host, device: str) -> str:
    """Return the holders directory of a device; that of a partition is below the directory of its disk."""
    entry = device.replace("/", "!")
    link = host.target(f"/sys/class/block/{entry}")
    return f"/sys/class/block/{entry}/holders" if link is not None else f"{_BLOCK}/{entry}/holders"


FLASHCACHE = Collector(
    "flashcache",
    "flashcache, without root",
    read,
    (Cache, RequestSizes),
    (
        Need(f"list:{FOLDER}", "which caches there are"),
        Need(f"{FOLDER}/flashcache_version", "the module's version"),
        Need(f"{FOLDER}/*/flashcache_stats", "hits, bypasses, evictions", filled=True),
        Need(f"{FOLDER}/*/flashcache_errors", "I/O errors of both sides", filled=True),
        Need(f"{FOLDER}/*/flashcache_iosize_hist", "requests by size"),
        Need("link:/sys/class/block/*", "kernel name of a cache device"),
        Need("list:/sys/*/holders", "which mapping is made of the cache's devices"),
        Need("/sys/block/dm-*/dm/*", "the mapping's name"),
        Need("cmd:dmsetup *", "whether the capture has the cache from dmsetup; not run for this"),
    ),
    LIVE,
    derives=(Derivation(Cache, CacheActivity, activity),),
)
