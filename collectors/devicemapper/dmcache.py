"""Device mapper caches from dmsetup: flashcache, dm-cache (LVM's cache) and dm-writecache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper import flashcache_status as flashcache
from sdstop.collectors.devicemapper.cache_status import CUT, UNKNOWN, cache, counts_blocks, writecache
from sdstop.collectors.devicemapper.dmsetup import (
    FLASHCACHES,
    PARTITIONS,
    ROOT,
    STATUS,
    DmsetupOutput,
    MappingNames,
    of_others,
    output,
)
from sdstop.collectors.devicemapper.dmtable import Segment
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Derivation, Reading, Rows
from sdstop.readings.cache import Cache, CacheActivity, activity
from sdstop.readings.iosize import RequestSizes, cumulative

EVERY = 2.0
"""Seconds between runs; starting dmsetup costs more than reading all other caches of a sample."""

SERVES = 10.0
"""Seconds for which the source of other targets uses these runs of the command and makes none of its own."""

MODULES = ("flashcache", "dm_cache", "dm_writecache")
"""Cache modules by their directory names in /sys/module; dmsetup is not run unless one is loaded."""
RELEASE = "/proc/sys/kernel/osrelease"

_Line = tuple[DmsetupOutput, Segment]


def read(host: Host) -> Iterable[Reading]:
    """Return a Cache for each flashcache, dm-cache and dm-writecache, and flashcache's RequestSizes.

    This call only runs the commands: one short command, two if there are flashcaches. Their output is parsed when the
    rows are consumed, using names that other collectors read. Raises Denied without root, Absent without dmsetup,
    Malformed for invalid output.
    """
    if not host.recorded("dmsetup") and not any(host.names(f"/sys/module/{name}") for name in MODULES):
        return ()
    status = output(host, STATUS, "status")
    host.rest(command_key(STATUS), SERVES)
    tables: list[DmsetupOutput] = []
    if any("flashcache" in said.text for said in status):
        tables = _flashcaches(host)
        for path in {path for said in tables for path in flashcache.links(said.text)}:
            host.target(path)
    return _rows(host, status, tables)


def _flashcaches(host: Host) -> list[DmsetupOutput]:
    """Return the tables of flashcaches, which have their contents; empty on failure, as the status alone is useful."""
    try:
        return output(host, FLASHCACHES, "table")
    except Unreadable as error:
        if isinstance(error, TimedOut) and error.key == command_key(FLASHCACHES):
            raise
        return []


def _rows(host: Host, status: Sequence[DmsetupOutput], tables: Sequence[DmsetupOutput]) -> Iterator[Reading]:
    caches = list(_lines(status))
    if not caches:
        return
    names = MappingNames(host)
    known = {(s.name, s.start): (said, s) for said, s in _lines([*of_others(host, TABLE, "table"), *tables])}
    counts = "blocks" if counts_blocks(host.maybe(RELEASE) or "") else "requests"
    seen: set[str] = set()
    for said, segment in caches:
        table = known.get((segment.name, segment.start))
        mapping = names.mappings.get(segment.name)
        name = dmtable.volume(segment.name, mapping.uuid if mapping else None)
        yield _cache(
            f"{name}@{segment.start}" if segment.name in seen else name,
            segment,
            table[1].text if table else "",
            names,
            device=mapping.device if mapping else None,
            where=said.key,
            needle=f"{segment.name}:" if f"{segment.name}:" in said.text else "",
            settings=table[0].key if table else "",
            **({"counts": counts} if segment.target == "writecache" else {}),
        )
        seen.add(segment.name)
    yield from _sizes(known.values())


def _lines(outputs: Iterable[DmsetupOutput]) -> Iterator[_Line]:
    return ((said, segment) for said in outputs for segment in dmtable.caches(said.text, said.name))


def _cache(name: str, segment: Segment, table: str, names: MappingNames, **more: Any) -> Cache:
    """Return the row of a cache; with an unparsable line, it has only its state and names."""
    try:
        if segment.target == "cache":
            return cache(name, segment.text, table, names.device, **more)
        if segment.target == "writecache":
            return writecache(name, segment.text, table, names.device, **more)
        made, state = flashcache.conf(table), CUT if flashcache.cut(segment.text) else None
        more |= {"fast": names.device(made.fast), "slow": names.device(made.slow)}
        return flashcache.cache(name, flashcache.counters(segment.text), made, state, **more)
    except Malformed:
        kind = segment.target if segment.target == "flashcache" else f"dm-{segment.target}"
        return Cache(name, kind, state=UNKNOWN, **more)


def _sizes(tables: Iterable[_Line]) -> Iterator[RequestSizes]:
    """Yield flashcache's request sizes once; every table has the counts of all caches."""
    for said, segment in tables:
        counts = flashcache.sizes(segment.text) if segment.target == "flashcache" else {}
        if counts:
            yield RequestSizes(
                counter="flashcache",
                device="",
                direction="",
                sizes=cumulative(counts),
                where=said.key,
                needle="Size Hist",
            )
            return


def lacks(tables: Mapping[type[Reading], Rows]) -> str:
    """Return a message that lists the caches with truncated or unknown lines, "" if there are none."""
    rows = (row for row in tables.get(Cache, {}).values() if isinstance(row, Cache))
    return "; ".join(f"{row.cache}: its line is {row.state}" for row in rows if row.state in {CUT, UNKNOWN})


DMCACHE = Collector(
    "dmcache",
    "Device mapper caches: flashcache, dm-cache, dm-writecache",
    read,
    (Cache, RequestSizes),
    (
        *(Need(f"list:/sys/module/{name}", "whether such a cache can be there") for name in MODULES),
        Command(STATUS, "hits, misses, bypasses, dirty blocks; metadata is not flushed for it", ROOT, filled=True),
        Command(FLASHCACHES, "contents of a flashcache, and requests by size", ROOT),
        Command(TABLE, "devices, mode and block size", ROOT, filled=True),
        Command(
            INFO,
            "the caches' kernel names, and whether they are LVM's",
            ROOT,
        ),
        Need("cmd:dmsetup *", "fallback in another format, from captures only; never run on a live node"),
        Need("link:/dev/*", "kernel names of the devices of a flashcache"),
        Need(PARTITIONS, "kernel names by major and minor number, as tables have them"),
        Need("list:/sys/block", "kernel names of the devices of a cache, if a capture lacks links"),
        Need("/sys/block/*/dev", "kernel names of the devices of a cache, if a capture lacks links"),
        Need("/sys/block/dm-*/dm/*", "kernel names of the caches, if a capture lacks links"),
        Need(RELEASE, "whether dm-writecache of this kernel counts blocks"),
    ),
    EVERY,
    derives=(Derivation(Cache, CacheActivity, activity),),
    lacks=lacks,
    eager=True,
    devices=r"mapper/.+_w?corig",
)
