"""flashcache as `dmsetup status` and `dmsetup table` print it: the field transcript, and what it counts as it goes on.

The numbers of the transcript are those that an owner recorded; the formulas between them (what is read from the disks
is what was read and did not hit, and so on) hold for the transcript itself, to a thousandth.
"""

from __future__ import annotations

from collections.abc import Mapping

Counts = Mapping[str, float]

NAME = "cachedev"
SECTORS = 2930294784

TRANSCRIPT: Counts = {
    "reads": 85485411, "writes": 379006540, "read hits": 12699803, "write hits": 11805678, "dirty write hits": 4984319,
    "replacement": 144261, "write replacement": 111410, "write invalidates": 2928039, "read invalidates": 8099007,
    "pending enqueues": 2688311, "pending inval": 1374832, "metadata dirties": 11227058, "metadata cleans": 11238715,
    "metadata batch": 3317915, "metadata ssd writes": 19147858, "cleanings": 11238715, "fallow cleanings": 6258765,
    "no room": 27, "front merge": 1919923, "back merge": 1058070, "disk reads": 72786438, "disk writes": 374046436,
    "ssd reads": 23938518, "ssd writes": 42752696, "uncached reads": 65392976, "uncached writes": 362807723,
    "uncached IO requeue": 13388,
}  # fmt: skip
SIZES: Mapping[int, float] = {
    512: 117531108, 1024: 61124866, 1536: 83563623, 2048: 89738119, 2560: 43968876, 3072: 51713913, 3584: 83726471,
    4096: 41667452,
}  # fmt: skip
CAME = TRANSCRIPT["reads"] + TRANSCRIPT["writes"]
COUNTED = sum(SIZES.values())
WRITES = TRANSCRIPT["writes"] / CAME
HITS = {
    way: TRANSCRIPT[f"{way} hits"] / (TRANSCRIPT[f"{way}s"] - TRANSCRIPT[f"uncached {way}s"])
    for way in ("read", "write")
}
"""Share of hits of what could be cached."""


def as_before(rate: float) -> Counts:
    """Return what it counts a second at so many requests a second, in the proportions of the transcript."""
    return {name: count * rate / CAME for name, count in TRANSCRIPT.items()}


def sizes_as_before(rate: float) -> Mapping[int, float]:
    """Return the requests a second by size in the proportions of the transcript."""
    return {size: count * rate / COUNTED for size, count in SIZES.items()}


def counting(rate: float, past: float) -> Counts:
    """Return what it counts a second if a share `past` of the requests is no whole block; it hits as it ever did."""
    t = TRANSCRIPT
    reads, writes = rate * (1 - WRITES), rate * WRITES
    hits, write_hits = reads * (1 - past) * HITS["read"], writes * (1 - past) * HITS["write"]
    read_misses, write_misses = reads * (1 - past) - hits, writes * (1 - past) - write_hits
    cleanings = (write_hits + write_misses) * t["cleanings"] / (t["writes"] - t["uncached writes"])
    metadata = cleanings * t["metadata ssd writes"] / t["cleanings"]
    return dict(as_before(rate * past)) | {
        "reads": reads, "writes": writes, "read hits": hits, "write hits": write_hits,
        "dirty write hits": write_hits * t["dirty write hits"] / t["write hits"],
        "metadata dirties": cleanings, "metadata cleans": cleanings, "metadata ssd writes": metadata,
        "metadata batch": metadata * t["metadata batch"] / t["metadata ssd writes"], "cleanings": cleanings,
        "fallow cleanings": cleanings * t["fallow cleanings"] / t["cleanings"], "no room": 0.0,
        "disk reads": reads - hits, "disk writes": writes * past + cleanings, "ssd reads": hits + cleanings,
        "ssd writes": write_hits + write_misses + read_misses + metadata, "uncached reads": reads * past,
        "uncached writes": writes * past,
    }  # fmt: skip


def after(before: Mapping[str, float], each: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Return the counters so many seconds later."""
    return {name: count + each.get(name, 0.0) * seconds for name, count in before.items()}


def after_sizes(before: Mapping[int, float], each: Mapping[int, float], seconds: float) -> dict[int, float]:
    """Return the histogram so many seconds later."""
    return {size: before.get(size, 0.0) + each.get(size, 0.0) * seconds for size in sorted({*before, *each})}


def status(counts: Counts) -> str:
    """Return what `dmsetup status` prints of the cache."""
    c = {name: round(count) for name, count in counts.items()}

    def percent(part: str, whole: str) -> int:
        return c[part] * 100 // c[whole]

    return (
        f"{NAME}: 0 {SECTORS} flashcache stats: \n"
        f"reads({c['reads']}), writes({c['writes']})\n"
        f"read hits({c['read hits']}), read hit percent({percent('read hits', 'reads')})\n"
        f"write hits({c['write hits']}) write hit percent({percent('write hits', 'writes')})\n"
        f"dirty write hits({c['dirty write hits']}) dirty write hit percent({percent('dirty write hits', 'writes')})\n"
        f"replacement({c['replacement']}), write replacement({c['write replacement']})\n"
        f"write invalidates({c['write invalidates']}), read invalidates({c['read invalidates']})\n"
        f"pending enqueues({c['pending enqueues']}), pending inval({c['pending inval']})\n"
        f"metadata dirties({c['metadata dirties']}), metadata cleans({c['metadata cleans']})\n"
        f"metadata batch({c['metadata batch']}) metadata ssd writes({c['metadata ssd writes']})\n"
        f"cleanings({c['cleanings']}) fallow cleanings({c['fallow cleanings']})\n"
        f"no room({c['no room']}) front merge({c['front merge']}) back merge({c['back merge']})\n"
        f"disk reads({c['disk reads']}), disk writes({c['disk writes']}) ssd reads({c['ssd reads']}) "
        f"ssd writes({c['ssd writes']})\n"
        f"uncached reads({c['uncached reads']}), uncached writes({c['uncached writes']}), "
        f"uncached IO requeue({c['uncached IO requeue']})\n"
        "uncached sequential reads(0), uncached sequential writes(0)\n"
        "pid_adds(0), pid_dels(0), pid_drops(0) pid_expiry(0)\n"
    )


def table(sizes: Mapping[int, float]) -> str:
    """Return what `dmsetup table` prints of the cache."""
    counted = " ".join(f"{size}:{round(count)}" for size, count in sizes.items() if count >= 0.5)
    return (
        f"{NAME}: 0 {SECTORS} flashcache conf:\n"
        "ssd dev (/dev/sda), disk dev (/dev/md2) cache mode(WRITE_BACK)\n"
        "capacity(57018M), associativity(512), data block size(4K) metadata block size(4096b)\n"
        "skip sequential thresh(0K)\n"
        "total blocks(14596608), cached blocks(3642185), cache percent(24)\n"
        "dirty blocks(36601), dirty percent(0)\n"
        "nr_queued(0)\n"
        f"Size Hist: {counted} \n"
    )
