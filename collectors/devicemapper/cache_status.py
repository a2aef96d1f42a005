"""What dm-cache and dm-writecache say (drivers/md/dm-cache-target.c, dm-writecache.c of the kernel)."""

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
    """What dm-cache says. Blocks and counters as printed, sizes of blocks in bytes; None where it does not say."""

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
"""The state of a cache whose line ends too early."""
UNKNOWN = "not understood"
"""The state of a cache whose line is in no known format."""
_MODES = ("writeback", "writethrough", "passthrough")


def cache_status(text: str) -> CacheStatus:
    """Read the status of the target `cache`.

        8 12/2048 128 35/1600 185 72 1 25 0 35 1 2 metadata2 writeback 2 migration_threshold 2048 smq 0 rw -

    size of a metadata block in sectors, used/all of them; size of a block in sectors, used/all; read hits, misses,
    write hits, misses, demotions, promotions, dirty blocks; number of features, features; number of arguments,
    arguments; policy, number of its arguments, arguments; rw or ro (3.16), needs_check or - (4.2). Before 3.13 it
    has no sizes, and the used blocks stand after the promotions. `Fail` and `Error` are all that a broken one says.
    What is missing in a line that was cut is None; unknown features are kept. Raises Malformed for any other text.
    """
    words = text.split()
    if words[:1] in (["Fail"], ["Error"]):
        return CacheStatus("failed")
    reader = _Words(words)
    try:
        return _cache_status(reader)
    except IndexError:
        return CacheStatus(CUT, **reader.known)  # type: ignore[arg-type]  # names are those of fields


class _Words:
    """Words of a line, taken one after the other; numbers are kept under a name."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._place = 0
        self.known: dict[str, object] = {}

    def word(self) -> str:
        """Return the next one; IndexError at the end."""
        self._place += 1
        return self._words[self._place - 1]

    @property
    def ahead(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else ""

    def number(self) -> int:
        word = self.word()
        if not word.isascii() or not word.isdigit() or len(word) > 20:
            raise Malformed(f"{word[:40]!r} where a number should be: {' '.join(self._words)[:80]!r}")
        if self._place == len(self._words):  # the line goes on after it, so nobody knows how long it was
            raise IndexError
        return int(word)

    def keep(self, *names: str) -> None:
        for name in names:
            self.known[name] = self.number()

    def pair(self, one: str, other: str) -> None:
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


def _cache_status(words: _Words) -> CacheStatus:
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
    """Return the mode among the features; None for one that is not known."""
    return next((word for word in features if word in _MODES), None)


class CacheTable(Struct, frozen=True):
    """Of what a dm-cache or dm-writecache is made: devices as the table has them, bytes of a block, mode."""

    fast: tuple[str, ...]
    slow: str
    block: int | None
    mode: str | None
    policy: str | None = None


def cache_table(text: str) -> CacheTable:
    """Read the table of the target `cache`: metadata, cache and origin device, sectors of a block, features, policy.

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
    """Read the table of the target `writecache`: p (persistent memory) or s, origin, cache, bytes of a block, options.

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
    """What dm-writecache says: its state, blocks, and its counters by name, none before 5.15."""

    state: str
    total: int | None = None
    free: int | None = None
    counters: tuple[tuple[str, int], ...] = ()


_WRITECACHE = (
    "reads", "read_hits", "writes", "hits_uncommitted", "hits_committed", "around", "allocate", "blocked", "flushes",
    "discards",
)  # fmt: skip


def writecache_status(text: str) -> WritecacheStatus:
    """Read the status of the target `writecache`.

        0 254200 253815 0 8837 0 385 0 0 0 385 0 0 0

    error number; all, free and just written blocks; since 5.15 reads, read hits, writes, hits of what was not yet and
    of what was committed, writes past it, writes of new blocks, writes that waited for a free block, flushes,
    discards. Raises Malformed for any other text.
    """
    words = text.split()
    if words[:1] == ["Fail"]:
        return WritecacheStatus("failed")
    negative = words[0].removeprefix("-") if words else ""
    numbers = list(_numbers([negative, *words[1:]]))
    state = "ok" if numbers[:1] == [0] else "failed"
    if 4 < len(numbers) < 14 or len(numbers) < 4:
        numbers = numbers[:-1]  # nobody knows how long the last one was
        state = CUT if state == "ok" else state
    total, free = (numbers[1], numbers[2]) if len(numbers) > 2 else (None, None)
    return WritecacheStatus(state, total, free, tuple(zip(_WRITECACHE, numbers[4:], strict=False)))


def _numbers(words: Sequence[str]) -> Iterator[int]:
    for word in words:
        if not word.isascii() or not word.isdigit() or len(word) > 20:
            raise Malformed(f"{word[:40]!r} where a number should be: {' '.join(words)[:80]!r}")
        yield int(word)


Named = Callable[[str], str | None]
"""Gives the kernel name of a device as a table has it."""


def cache(name: str, status: str, table: str, named: Named = str, **more: Any) -> Cache:
    """Return a dm-cache's row; `more` are fields that neither text says. Raises Malformed for another status.

    Hits and misses are of bios, and wrap at 2^32. Whatever is asked of it can be cached, so nothing is bypassed.
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
    """Return a dm-writecache's row; `more` are fields that neither text says. Raises Malformed for another status.

    It caches writes alone: a block is free again as soon as it is written back, so all that is used is dirty, and a
    read that finds nothing there is no miss. A write of a block that was not there is what it is for: a promotion.
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
    """Whether dm-writecache of a kernel (`6.1.0-17-amd64`) counts blocks, as all do that are maintained.

    It began to count in 5.15, bios at first; 6.0 put that right, and so did 5.15.61, 5.18.18 and 5.19.2. What a
    distribution calls 5.15.0-91 has it as well.
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
