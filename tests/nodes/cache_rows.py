"""Caches made by hand, as rules see them: rows without any collector's parser, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from sdstop.collectors.aoe.readings import AoeExport
from sdstop.core.collector import Collector
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Reading, schema
from sdstop.core.rule import Rule
from sdstop.readings.cache import Cache, CacheActivity, activity
from sdstop.readings.iosize import RequestSizes, cumulative
from tests.nodes.frames import Judged

KEY = "cmd:dmsetup status"

FLASHCACHE = Cache(
    "cachedev", "flashcache", "dm-0", "sda", "md2", mode="writeback", state="ok", size=1000 << 20, used=950 << 20,
    dirty=20 << 20, block_size=4096, needs_whole_blocks=1, skips_from=0, reads=0, writes=0, read_hits=0, write_hits=0,
    read_misses=0, write_misses=0, bypassed_reads=0, bypassed_writes=0, sequential_skipped=0, evicted_by_bypass=0,
    no_room=0, where=KEY,
)  # fmt: skip
DM_CACHE = Cache(
    "vg0/vol", "dm-cache", "dm-3", "dm-1", "dm-2", mode="writeback", state="ok", size=1000 << 20, used=990 << 20,
    dirty=20 << 20, block_size=65536, metadata_size=8 << 20, metadata_used=1 << 20, read_hits=0, write_hits=0,
    read_misses=0, write_misses=0, promotions=0, demotions=0, where=KEY,
)  # fmt: skip
BCACHE = Cache(
    "bcache0", "bcache", "bcache0", "vdc", "vda", mode="writeback", state="dirty", size=1000 << 20, dirty=1 << 20,
    skips_from=4 << 20, read_hits=0, read_misses=0, bypassed_reads=0, fast_errors=0,
    where="/sys/block/bcache0/bcache/state",
)  # fmt: skip
L2ARC = Cache(
    "l2arc", "l2arc", size=900 << 30, used=900 << 30, metadata_used=3 << 30, read_hits=0, read_misses=0, where=KEY
)


@dataclass
class Node:
    """What a node shows in each of its frames; the rows are handed out as they are."""

    frames: list[list[Reading]] = field(default_factory=list)

    def read(self, host: Host) -> Iterable[Reading]:
        return self.frames[int(host.text(KEY).split()[0])]

    def files(self, second: int) -> dict[str, str]:
        """Return the evidence, with what the rows say they were read from."""
        files = {KEY: f"{second}\n"}
        for row in self.frames[second]:
            for column in schema(type(row)).columns:
                source = row.source(column.name)
                if source is not None:
                    files[source.key] = f"{files.get(source.key, '')}{source.needle or 'said'}\n"
        return files


def judged(
    rules: Sequence[Rule],
    frames: Sequence[Iterable[Reading]],
    families: tuple[type[Reading], ...] = (Cache, RequestSizes, AoeExport),
    **config: float,
) -> Judged:
    """Let rules judge frames that are a second apart."""
    node = Node([list(frame) for frame in frames])
    derives = (Derivation(Cache, CacheActivity, activity),)
    source = Collector("caches", "Caches", node.read, families, (), 1.0, derives=derives)
    shown = [(float(second), node.files(second)) for second in range(len(node.frames))]
    return Judged([source], rules, shown, {rule.id: config for rule in rules} if config else None)


def run(
    cache: Cache,
    seconds: int,
    each: Mapping[str, float],
    before: Mapping[str, int] | None = None,
    gauges: Mapping[str, Sequence[int]] | None = None,
) -> list[list[Reading]]:
    """Let a cache count so much a second, over what it counted before; gauges by the second."""
    frames: list[list[Reading]] = []
    for second in range(seconds + 1):
        now: dict[str, Any] = {name: (before or {}).get(name, 0) for name in {*each, *(before or {})}}
        for name, step in each.items():
            now[name] += round(step * second)
        now |= {name: values[second] for name, values in (gauges or {}).items()}
        frames.append([replace(cache, **now)])
    return frames


def sizes(counts: Mapping[int, int]) -> RequestSizes:
    return RequestSizes(counter="flashcache", device="", direction="", sizes=cumulative(counts), where=KEY)


def sized(frames: list[list[Reading]], each: Mapping[int, float], before: Mapping[int, int]) -> list[list[Reading]]:
    """Add the module's histogram to frames: so many of each size a second, over what it counted before."""
    for second, frame in enumerate(frames):
        names = {*each, *before}
        frame.append(sizes({size: before.get(size, 0) + round(each.get(size, 0) * second) for size in names}))
    return frames
