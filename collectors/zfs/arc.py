"""ZFS caches shared by all pools: ARC in memory, L2ARC on cache devices (module/zfs/arc.c)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host, Malformed
from sdstop.core.model import Derivation, Reading
from sdstop.readings.cache import Cache, CacheActivity, activity

ARCSTATS = "/proc/spl/kstat/zfs/arcstats"
_ROW = expression(r"^(\w+) +[34] +(\d{1,20})$", re.MULTILINE | re.ASCII)
_L2 = ("l2_hits", "l2_misses", "l2_feeds", "l2_size", "l2_asize", "l2_write_bytes")


def parse(text: str) -> dict[str, int]:
    """Return the values of a kstat by name; raises Malformed if hits, misses or size are missing.

        9 1 0x01 147 39984 5266997922 97951858082072
        name                            type data
        hits                            4    8772
        misses                          4    604

    Negative values and an unterminated last line are skipped.
    """
    whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
    found = {name: int(value) for name, value in _ROW.findall(whole)}
    if not {"hits", "misses", "size"} <= found.keys():
        raise Malformed(f"{ARCSTATS}: no hits, misses and size")
    return found


def read(host: Host) -> Iterable[Reading]:
    """Yield the Cache `arc`, and `l2arc` if a pool has or had a cache device. Only reads are counted.

    Requests for data already being read (`iohits`, since 2.2) are neither hits nor misses. L2ARC reads are the reads
    that missed the ARC. Raises Absent without ZFS.
    """
    found = parse(host.text(ARCSTATS))
    hits, misses = found["hits"], found["misses"]
    yield Cache(
        "arc",
        "arc",
        size=found.get("c_max"),
        used=found["size"],
        metadata_used=found.get("arc_meta_used"),
        reads=hits + misses + found.get("iohits", 0),
        read_hits=hits,
        read_misses=misses,
        where=ARCSTATS,
    )
    if any(found.get(name) for name in _L2):
        found_there, not_there = found.get("l2_hits"), found.get("l2_misses")
        errors = [found[name] for name in ("l2_cksum_bad", "l2_io_error", "l2_writes_error") if name in found]
        yield Cache(
            "l2arc",
            "l2arc",
            used=found.get("l2_asize"),
            metadata_used=found.get("l2_hdr_size"),
            reads=None if found_there is None or not_there is None else found_there + not_there,
            read_hits=found_there,
            read_misses=not_there,
            fast_errors=sum(errors) if errors else None,
            where=ARCSTATS,
        )


ARC = Collector(
    "arc",
    "ZFS ARC and L2ARC",
    read,
    (Cache,),
    (Need(ARCSTATS, "hits, misses and sizes of both", filled=True),),
    LIVE,
    derives=(Derivation(Cache, CacheActivity, activity),),
)
