"""Parsers for flashcache status, table and /proc (1.x to 3.x, src/flashcache_conf.c, flashcache_procfs.c).

`dmsetup status` and `dmsetup table` print `name(value)`, several per line; /proc/flashcache prints `name=value`.
Commas and line ends differ between versions and get lost in mails, so both are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole, total, whole
from sdstop.readings.cache import Cache

_LISTED = expression(r"(\w+)=(\d{1,20})(?!\d)", re.ASCII)
_SIZE = expression(r"(\d{1,9}):\s?(\d{1,20})(?=\s)", re.ASCII)
LARGEST = 16384
"""Largest request size in bytes that flashcache counts by size."""
_UNITS = {"": 1, "b": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_MODES = {
    "WRITE_BACK": "writeback",
    "WRITE_THROUGH": "writethrough",
    "WRITE_AROUND": "writearound",
    "WRITE_CACHE": "writecache",
}


def said(text: str) -> dict[str, str]:
    r"""Return the values of a status or table by name (lower case, spaces for underscores).

        stats: \n\treads(75), writes(12)\n\tread hits(3), read hit percent(4)\n\twrite hits(2) write hit percent(1)
        conf:\n\tssd dev (/dev/sdb), disk dev (/dev/md0) cache mode(WRITE_BACK)\n\tcapacity(512M), associativity(512)

    A truncated value is skipped.
    """
    found = {}
    for part in " ".join(text.split()).split(")")[:-1]:
        name, _, value = part.rpartition("(")
        found[name.rpartition(":")[2].strip(" ,").lower().replace("_", " ")] = value.strip()
    return found


def counters(text: str) -> dict[str, int]:
    """Return the counters of a status by name. Raises Malformed if reads or writes are missing."""
    found = {}
    for part in " ".join(text.lower().replace("_", " ").split()).split(")")[:-1]:
        name, _, value = part.rpartition("(")
        if is_whole(value.strip()):
            found[name.rpartition(":")[2].strip(" ,")] = int(value)
    return _checked(found, text)


def listed(text: str) -> dict[str, int]:
    """Return the numbers in /proc/flashcache/NAME/flashcache_stats or flashcache_errors, named as in a status.

    reads=75 writes=12
    read_hits=3 read_hit_percent=4 write_hits=2 write_hit_percent=1 uncached_IO_requeue=0
    """
    return {name.lower().replace("_", " "): int(value) for name, value in _LISTED.findall(f"{text} ")}


def stats(text: str) -> dict[str, int]:
    """Return the numbers in flashcache_stats by name. Raises Malformed if reads or writes are missing."""
    return _checked(listed(text), text)


def _checked(found: dict[str, int], text: str) -> dict[str, int]:
    if not {"reads", "writes"} <= found.keys():
        raise Malformed(f"no counters of flashcache: {text.strip()[:80]!r}")
    return found


def sizes(text: str) -> dict[int, int]:
    """Return request counts by size, from `Size Hist: 512:75 1024:12 4096:8` in a table or flashcache_iosize_hist.

    The counts are module-wide: all caches since the module was loaded. Sizes without requests are omitted. The last
    count is skipped if no whitespace follows, because it may be truncated.
    """
    found = re.search(r"Size Hist:", text)
    rest = text[found.end() :] if found is not None else text
    ended = rest if rest[-1:].isspace() else re.sub(r"\S+\Z", "", rest)
    counts = {int(size): int(count) for size, count in _SIZE.findall(f"{ended} ")}
    return {size: count for size, count in counts.items() if count and 0 < size <= LARGEST}


class FlashcacheConfig(Struct, frozen=True):
    """Settings and contents of a cache in bytes; devices as configured."""

    fast: str | None = None
    slow: str | None = None
    mode: str | None = None
    size: int | None = None
    block: int | None = None
    skips_from: int | None = None
    used: int | None = None
    dirty: int | None = None
    metadata_block: int | None = None


def conf(text: str) -> FlashcacheConfig:
    """Parse a table; values missing from old versions or truncated tables are None."""
    found = said(text)
    block = _bytes(found.get("data block size") or found.get("block size"))
    blocks = {name: whole(found.get(f"{name} blocks")) for name in ("total", "cached", "dirty")}

    def of_blocks(name: str) -> int | None:
        count = blocks[name]
        return None if count is None or block is None else count * block

    mode = found.get("cache mode")
    return FlashcacheConfig(
        fast=found.get("ssd dev") or None,
        slow=found.get("disk dev") or None,
        mode=_MODES.get(mode, mode.lower()) if mode else None,
        size=of_blocks("total") or _bytes(found.get("capacity")),
        block=block,
        skips_from=_bytes(found.get("skip sequential thresh")),
        used=of_blocks("cached"),
        dirty=of_blocks("dirty"),
        metadata_block=_bytes(found.get("metadata block size")),
    )


def links(table: str) -> list[str]:
    """Return the device paths in a table that are links, not kernel names: /dev/mapper/x, /dev/disk/by-id/x."""
    found = re.findall(r"dev ?\((/dev/[^\s()/]+/[^\s()]+)\)", table)
    return [path for path in found if "/../" not in path]


def cut(status: str) -> bool:
    """Return whether a status ends within a value."""
    return status.count("(") != status.count(")")


def _bytes(value: str | None) -> int | None:
    found = re.fullmatch(r"(\d{1,18})([bBKMG]?)", value or "", re.ASCII)
    return int(found[1]) * _UNITS[found[2]] if found is not None else None


def cache(name: str, found: Mapping[str, int], made: FlashcacheConfig, state: str | None = None, **more: Any) -> Cache:
    """Return the row of a cache; `found` has counters by name, `more` other fields such as device names.

    `reads` and `writes` count all requests; partial-block requests are never looked up. Requests that were neither a
    hit nor `uncached` are misses; a request that waits for a busy block is not counted as any of these yet.
    Invalidations affect blocks touched by bypassed requests; write-around has a single counter for all of them.
    """
    reads, writes = found["reads"], found["writes"]
    past_reads, past_writes = found.get("uncached reads"), found.get("uncached writes")
    hits, write_hits = found.get("read hits"), found.get("write hits")
    dropped = [found[key] for key in ("read invalidates", "write invalidates", "invalidates") if key in found]
    sequential = [found[f"uncached sequential {way}"] for way in ("reads", "writes")
                  if f"uncached sequential {way}" in found]  # fmt: skip
    return Cache(
        cache=name,
        kind="flashcache",
        mode=made.mode,
        state=state,
        size=made.size,
        used=made.used,
        dirty=made.dirty if made.dirty is not None else _clean(made.mode),
        block_size=made.block,
        skips_from=made.skips_from,
        reads=reads,
        writes=writes,
        read_hits=hits,
        write_hits=write_hits,
        read_misses=_missed(reads, hits, past_reads),
        write_misses=_missed(writes, write_hits, past_writes),
        bypassed_reads=past_reads,
        bypassed_writes=past_writes,
        sequential_skipped=sum(sequential) if sequential else None,
        evicted_by_bypass=sum(dropped) if dropped else None,
        demotions=total((found.get("replacement"), found.get("write replacement"))),
        no_room=found.get("no room"),
        cleaned=found.get("cleanings"),
        fast_errors=total((found.get("ssd read errors"), found.get("ssd write errors"))),
        slow_errors=total((found.get("disk read errors"), found.get("disk write errors"))),
        printed_read_hits=_printed(found.get("read hit percent")),
        needs_whole_blocks=1,
        **more,
    )


def _printed(percent: int | None) -> float | None:
    """Return a share printed as a whole percentage, rounded down: 14 for 14.86."""
    return percent / 100 if percent is not None and percent <= _ALL else None


_ALL = 100
"""Percent."""


def _clean(mode: str | None) -> int | None:
    """Return 0 dirty bytes for modes that never have any, None for other modes."""
    return 0 if mode in {"writethrough", "writearound"} else None


def _missed(came: int, hits: int | None, past: int | None) -> int | None:
    return None if hits is None or past is None else max(came - hits - past, 0)
