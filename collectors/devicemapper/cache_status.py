"""Status and table lines of dm-cache and dm-writecache (kernel drivers/md/dm-cache-target.c, dm-writecache.c)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from sdstop.collectors.devicemapper.dmtable import SECTOR
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole
from sdstop.readings.cache import Cache


class CacheStatus(Struct, frozen=True):
    """dm-cache status; blocks and counters as printed, block sizes in bytes, None for missing values."""

    state: str
    metadata_block: int | None = None
    metadata_used: int | None = None
    metadata_total: int | None = None
    block: int | None = None
    used: int | None = None
    total: int | None = None
    read_hits: int | None = None
    read_misses: int | None = None
    write_hits: int | None = None
    write_misses: int | None = None
    demotions: int | None = None
    promotions: int | None = None
    dirty: int | None = None
    features: tuple[str, ...] = ()
    policy: str | None = None


CUT = "cut off"
"""State of a cache whose line is truncated."""
UNKNOWN = "not understood"
"""State of a cache whose line has an unknown format."""
_MODES = ("writeback", "writethrough", "passthrough")


def cache_status(text: str) -> CacheStatus:
    """Parse the status line of the target `cache`.

        8 12/2048 128 35/1600 185 72 1 25 0 35 1 2 metadata2 writeback 2 migration_threshold 2048 smq 0 rw -

    Fields: metadata block size in sectors, metadata blocks used/total; block size in sectors, blocks used/total; read
    hits, read misses, write hits, write misses, demotions, promotions, dirty blocks; number of features, features;
    number of arguments, arguments; policy, number of policy arguments, arguments; rw or ro (3.16), needs_check or -
    (4.2). Versions before 3.13 omit sizes; the used blocks follow the promotions. A failed cache prints only `Fail`
    or `Error`. Values missing from a truncated line are None; unknown features are kept. Raises Malformed for any
    other text.
    """
    words = text.split()
    if words[:1] in (["Fail"], ["Error"]):
        return CacheStatus("failed")
    reader = _WordReader(words)
    try:
        return _cache_status(reader)
    except IndexError:
        return CacheStatus(CUT, **reader.known)  # type: ignore[arg-type]  # names are those of fields


class _WordReader:
    """Sequential reader of the words of a line; stores numbers by name."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._place = 0
        self.known: dict[str, object] = {}

    def word(self) -> str:
        """Return the next word. Raises IndexError at the end."""
        self._place += 1
        return self._words[self._place - 1]

    @property
    def ahead(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else ""

    def number(self) -> int:
        """Return the next word as a number. Raises Malformed, and IndexError at the end."""
        word = self.word()
        if not word.isascii() or not word.isdigit() or len(word) > 20:
            raise Malformed(f"{word[:40]!r} where a number should be: {' '.join(self._words)[:80]!r}")
        if self._place == len(self._words):  # a number is never the last word, so this one may be truncated
            raise IndexError
        return int(word)

    def keep(self, *names: str) -> None:
        """Keep the next numbers by these names. Raises Malformed, and IndexError at the end."""
        for name in names:
            self.known[name] = self.number()

    def pair(self, one: str, other: str) -> None:
        """Keep the two numbers of `used/all` by these names. Raises Malformed, and IndexError at the end."""
        word = self.word()
        if self._place == len(self._words):
            raise IndexError
        found = re.fullmatch(r"(\d{1,20})/(\d{1,20})", word, re.ASCII)
        if found is None:
            raise Malformed(f"{word[:40]!r} where used/all should be: {' '.join(self._words)[:80]!r}")
        self.known |= {one: int(found[1]), other: int(found[2])}

    def several(self) -> tuple[str, ...]:
        count = self.number()
        return tuple(self.word() for _ in range(min(count, len(self._words))))


def _cache_status(words: _WordReader) -> CacheStatus:
    old = "/" in words.ahead
    if not old:
        words.known["metadata_block"] = words.number() * SECTOR
    words.pair("metadata_used", "metadata_total")
    if old:
        words.known["metadata_block"] = 8 * SECTOR
    else:
        words.known["block"] = words.number() * SECTOR
        words.pair("used", "total")
    words.keep("read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions")
    words.keep(*(("used", "dirty") if old else ("dirty",)))
    words.known["features"] = words.several()
    words.several()
    if words.ahead and not _short(words.ahead):
        words.known["policy"] = words.word()
    if not words.ahead:
        return CacheStatus("ok" if old else CUT, **words.known)  # type: ignore[arg-type]
    if words.ahead == "0" and old:
        return CacheStatus("ok", **words.known)  # type: ignore[arg-type]
    for _ in range(int(words.word()) if _short(words.ahead) else 0):
        words.word()
    mode, check = words.ahead and words.word(), words.ahead
    if mode == "Fail":
        state = "failed"
    elif check == "needs_check":
        state = "needs check"
    else:
        state = {"ro": "read-only", "rw": "ok", "": "ok"}.get(mode, CUT)
    return CacheStatus(state, **words.known)  # type: ignore[arg-type]


def _short(word: str) -> bool:
    return is_whole(word, 3)


def cache_mode(features: Sequence[str]) -> str | None:
    """Return the cache mode among the features, None without a known one."""
    return next((word for word in features if word in _MODES), None)


class CacheTable(Struct, frozen=True):
    """Composition of a dm-cache or dm-writecache: devices as in the table, block size in bytes, mode, policy."""

    fast: tuple[str, ...]
    slow: str
    block: int | None
    mode: str | None
    policy: str | None = None


def cache_table(text: str) -> CacheTable:
    """Parse a `cache` table: metadata, cache and origin device, block size in sectors, features, policy.

        253:2 253:1 253:3 128 2 metadata2 writeback smq 0

    Raises Malformed if the devices are missing.
    """
    words = text.split()
    if len(words) < 4:
        raise Malformed(f"no table of a cache: {text[:80]!r}")
    count = _small(words[4]) if len(words) > 4 else 0
    features = words[5 : 5 + count]
    policy = words[5 + count] if len(words) > 5 + count else None
    block = int(words[3]) * SECTOR if is_whole(words[3], 11) else None
    return CacheTable(tuple(dict.fromkeys((words[1], words[0]))), words[2], block, cache_mode(features), policy)


def writecache_table(text: str) -> CacheTable:
    """Parse a `writecache` table: p (persistent memory) or s (SSD), origin, cache, block size in bytes, options.

        s 254:0 254:16 4096 2 high_watermark 60

    Raises Malformed if the devices are missing.
    """
    words = text.split()
    if len(words) < 4 or words[0] not in {"p", "s"}:
        raise Malformed(f"no table of a writecache: {text[:80]!r}")
    mode = next((word.replace("_", " ") for word in ("cleaner", "metadata_only") if word in words[5:]), "writeback")
    return CacheTable((words[2],), words[1], _small(words[3]) or None, mode)


def _small(word: str) -> int:
    return int(word) if is_whole(word, 7) else 0


class WritecacheStatus(Struct, frozen=True):
    """dm-writecache status: state, blocks, and counters by name, which are missing before 5.15."""

    state: str
    total: int | None = None
    free: int | None = None
    counters: tuple[tuple[str, int], ...] = ()


_WRITECACHE = (
    "reads", "read_hits", "writes", "hits_uncommitted", "hits_committed", "around", "allocate", "blocked", "flushes",
    "discards",
)  # fmt: skip


def writecache_status(text: str) -> WritecacheStatus:
    """Parse the status line of the target `writecache`.

        0 254200 253815 0 8837 0 385 0 0 0 385 0 0 0

    Fields: error number; total and free blocks, blocks under writeback; since 5.15 reads, read hits, writes, write
    hits on uncommitted blocks, write hits on committed blocks, writes that bypass the cache, writes that allocate a
    block, writes blocked waiting for a free block, flushes, discards. Raises Malformed for any other text.
    """
    words = text.split()
    if words[:1] == ["Fail"]:
        return WritecacheStatus("failed")
    negative = words[0].removeprefix("-") if words else ""
    numbers = list(_numbers([negative, *words[1:]]))
    state = "ok" if numbers[:1] == [0] else "failed"
    if 4 < len(numbers) < 14 or len(numbers) < 4:
        numbers = numbers[:-1]  # the last number may be truncated
        state = CUT if state == "ok" else state
    total, free = (numbers[1], numbers[2]) if len(numbers) > 2 else (None, None)
    return WritecacheStatus(state, total, free, tuple(zip(_WRITECACHE, numbers[4:], strict=False)))


def _numbers(words: Sequence[str]) -> Iterator[int]:
    for word in words:
        if not word.isascii() or not word.isdigit() or len(word) > 20:
            raise Malformed(f"{word[:40]!r} where a number should be: {' '.join(words)[:80]!r}")
        yield int(word)


Named = Callable[[str], str | None]
"""Maps a device as printed in a table to its kernel name."""


def cache(name: str, status: str, table: str, named: Named = str, **more: Any) -> Cache:
    """Return the row of a dm-cache; `more` has fields from other sources. Raises Malformed for an invalid status.

    Hits and misses count bios and wrap at 2^32. All requests can be cached, so none bypasses the cache.
    """
    said, made = cache_status(status), cache_table(table) if table.strip() else CacheTable((), "", None, None)
    block = said.block or made.block
    return Cache(
        cache=name,
        kind="dm-cache",
        fast=_names(made.fast, named),
        slow=named(made.slow) if made.slow else None,
        mode=cache_mode(said.features) or made.mode,
        state=said.state,
        policy=said.policy or made.policy,
        size=_of(said.total, block),
        used=_of(said.used, block),
        dirty=_of(said.dirty, block),
        block_size=block,
        metadata_size=_of(said.metadata_total, said.metadata_block),
        metadata_used=_of(said.metadata_used, said.metadata_block),
        reads=_both(said.read_hits, said.read_misses),
        writes=_both(said.write_hits, said.write_misses),
        read_hits=said.read_hits,
        write_hits=said.write_hits,
        read_misses=said.read_misses,
        write_misses=said.write_misses,
        promotions=said.promotions,
        demotions=said.demotions,
        **more,
    )


def writecache(name: str, status: str, table: str, named: Named = str, **more: Any) -> Cache:
    """Return the row of a dm-writecache; `more` has fields from other sources. Raises Malformed for an invalid status.

    Only writes are cached. A block is freed as soon as it is written back, so all used blocks are dirty, and a read
    that finds no block is not a miss. A write to an uncached block, the normal case, counts as a promotion.
    """
    said = writecache_status(status)
    made = writecache_table(table) if table.strip() else CacheTable((), "", None, None)
    found = dict(said.counters)
    used = said.total - said.free if said.total is not None and said.free is not None else None
    return Cache(
        cache=name,
        kind="dm-writecache",
        fast=_names(made.fast, named),
        slow=named(made.slow) if made.slow else None,
        mode=made.mode,
        state=said.state,
        size=_of(said.total, made.block),
        used=_of(used, made.block),
        dirty=_of(used, made.block),
        block_size=made.block,
        reads=found.get("reads"),
        writes=found.get("writes"),
        read_hits=found.get("read_hits"),
        write_hits=_both(found.get("hits_uncommitted"), found.get("hits_committed")),
        bypassed_writes=found.get("around"),
        promotions=found.get("allocate"),
        no_room=found.get("blocked"),
        **more,
    )


def counts_blocks(release: str) -> bool:
    """Return whether dm-writecache of a kernel release (`6.1.0-17-amd64`) counts blocks rather than bios.

    The counters were added in 5.15 and counted bios until 6.0, 5.15.61, 5.18.18 and 5.19.2; all maintained kernels
    count blocks. A distribution's 5.15.0-91 has the fix as well.
    """
    found = re.match(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(-)?", release, re.ASCII)
    if found is None:
        return True
    version, patch = (int(found[1]), int(found[2])), int(found[3] or 0)
    mended = {(5, 15): 61, (5, 18): 18, (5, 19): 2}.get(version)
    if version in {(5, 16), (5, 17)}:
        return False
    return mended is None or patch >= mended or (patch == 0 and found[4] is not None)


def _names(devices: Sequence[str], named: Named) -> str | None:
    return ",".join(filter(None, map(named, devices))) or None


def _of(blocks: int | None, size: int | None) -> int | None:
    return None if blocks is None or size is None else blocks * size


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
