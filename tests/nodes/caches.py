"""A node with caches, as rows: a test's own collectors bring what it says of them, second by second."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sdstop.collectors.aoe.readings import AoeExport, AoeTarget, payload, pieces
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.network.interfaces import INTERFACES
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Reading
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.readings.cache import Cache, CacheActivity, activity
from sdstop.readings.iosize import RequestSizes, cumulative
from tests.nodes.block import STARTED

BLOCK = 4096
Row = Mapping[str, Any]

_KINDS: dict[str, type[Reading]] = {
    "cache": Cache, "sizes": RequestSizes, "export": AoeExport, "target": AoeTarget,
}  # fmt: skip


def _told(name: str) -> Callable[[Host], Iterator[Reading]]:
    def read(host: Host) -> Iterator[Reading]:
        for row in json.loads(host.read(f"/told/{name}")):
            values = dict(row)
            made = _KINDS[values.pop("is")]
            if made is RequestSizes:
                values["sizes"] = {int(size): count for size, count in values["sizes"].items()}
            yield made(**values)

    return read


COLLECTORS: tuple[Collector, ...] = (
    DISKSTATS,
    INTERFACES,
    Collector(
        "told", "Caches, as a test tells them", _told("caches"), (Cache, RequestSizes), (),
        derives=(Derivation(Cache, CacheActivity, activity),),
    ),
    Collector(
        "second", "More caches", _told("more"), (Cache,), (), derives=(Derivation(Cache, CacheActivity, activity),)
    ),
    Collector("paths", "AoE", _told("aoe"), (AoeExport, AoeTarget), ()),
)  # fmt: skip


@dataclass
class CacheNode:
    """A node that is looked at once a second. `caches`, `more`, `aoe` and `files` say what it tells in which second."""

    caches: Callable[[int], Sequence[Row]] | None = None
    more: Callable[[int], Sequence[Row]] | None = None
    aoe: Callable[[int], Sequence[Row]] | None = None
    files: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})
    later: Mapping[int, Sequence[Evidence]] = field(default_factory=dict)

    def frames(self, seconds: int) -> list[Frame]:
        """Return a frame at the beginning and one after every second."""
        found = []
        known: dict[str, str] = {}
        for second in range(seconds + 1):
            texts = dict(self.files(second))
            for name, told in (("caches", self.caches), ("more", self.more), ("aoe", self.aoe)):
                if told is not None:
                    texts[f"/told/{name}"] = json.dumps(told(second))
            changed = [
                Evidence(key, data=said.encode(), taken=STARTED + second)
                for key, said in texts.items()
                if known.get(key) != said
            ]
            known = texts
            changed.extend(self.later.get(second, ()))
            found.append(Frame(second + 1, STARTED + second, 1000.0 + second, tuple(changed)))
        return found

    def session(self, seconds: int = 5, rules: Sequence[Rule] = (), *, name: str = "node-1") -> Session:
        """Return a session that was fed all frames."""
        session = Session(Origin(name), COLLECTORS, rules)
        session.feed_all(self.frames(seconds))
        return session


def flashcache(second: int, mtu: Callable[[int], int], **more: object) -> Row:
    """Return a cache of whole 4K blocks that gets 100 requests a second of what frames at an MTU make of them."""
    row: dict[str, Any] = dict.fromkeys(
        ("reads", "writes", "read_hits", "write_hits", "read_misses", "write_misses", "bypassed_reads",
         "bypassed_writes", "evicted_by_bypass"), 0,
    )  # fmt: skip
    for at in range(second):
        whole = round(100 * _whole(mtu(at)))
        row["reads"] += 20
        row["writes"] += 80
        row["read_hits"] += whole * 20 // 100 * 6 // 10
        row["read_misses"] += whole * 20 // 100 - whole * 20 // 100 * 6 // 10
        row["write_hits"] += whole * 80 // 100 * 7 // 10
        row["write_misses"] += whole * 80 // 100 - whole * 80 // 100 * 7 // 10
        row["bypassed_reads"] += 20 - whole * 20 // 100
        row["bypassed_writes"] += 80 - whole * 80 // 100
        row["evicted_by_bypass"] += (100 - whole) // 10
    return {
        "is": "cache", "cache": "cachedev", "kind": "flashcache", "device": "dm-0", "fast": "sda", "slow": "md2",
        "mode": "writeback", "state": "ok", "policy": "fifo", "size": 57018 << 20, "used": 14227 << 20,
        "dirty": (140 + second) << 20, "block_size": BLOCK, "skips_from": 0, "fast_errors": 0, "slow_errors": 0,
        "needs_whole_blocks": 1, "where": "/told/caches", "needle": "cachedev",
    } | row | more  # fmt: skip


def histogram(second: int, mtu: Callable[[int], int], **more: object) -> Row:
    """Return the sizes of these requests, after many years at an MTU of 4000."""
    counts = {size: count * 1_000_000 for size, count in _cut(4000).items()}
    for at in range(second):
        for size, count in _cut(mtu(at)).items():
            counts[size] = counts.get(size, 0) + count
    return {
        "is": "sizes", "counter": "flashcache", "device": "", "direction": "", "sizes": cumulative(counts),
        "where": "/told/caches", "needle": "sizes",
    } | more  # fmt: skip


@functools.cache
def _cut(mtu: int) -> Mapping[int, int]:
    return pieces(payload(mtu), 128 << 10)


def _whole(mtu: int) -> float:
    cut = _cut(mtu)
    return cut.get(BLOCK, 0) / sum(cut.values())


def dm_cache(second: int, **more: object) -> Row:
    """Return a healthy cache, which counts neither what goes past it nor what comes."""
    return {
        "is": "cache", "cache": "vg/home", "kind": "dm-cache", "device": "dm-3", "mode": "writethrough",
        "state": "ok", "policy": "smq", "size": 10 << 30, "used": 9 << 30, "dirty": 0, "block_size": 256 << 10,
        "read_hits": 90 * second, "read_misses": 10 * second, "write_hits": 40 * second, "write_misses": 10 * second,
        "promotions": 2 * second, "demotions": 2 * second, "where": "/told/caches", "needle": "vg/home",
    } | more  # fmt: skip


def served(interface: str = "p1p1") -> Row:
    """Return an export by AoE."""
    return {"is": "export", "shelf": 0, "slot": 1, "interface": interface, "device": "/dev/mapper/cachedev",
            "direct": 1, "pid": 77, "where": "/told/aoe"}  # fmt: skip


def mtu_files(mtu: int, interface: str = "p1p1") -> dict[str, str]:
    """Return what sysfs has of an interface."""
    base = f"/sys/class/net/{interface}"
    return {f"{base}/mtu": f"{mtu}\n", f"{base}/operstate": "up\n", f"{base}/type": "1\n", f"{base}/flags": "0x1003\n"}


def story(change: int = 10_000, before: int = 4000, after: int = 8700) -> CacheNode:
    """Return a target whose MTU was one that cuts blocks, and in second `change` becomes another."""

    def mtu(second: int) -> int:
        return before if second < change else after

    return CacheNode(
        lambda second: [flashcache(second, mtu), dm_cache(second), histogram(second, mtu)],
        aoe=lambda _: [served()],
        files=lambda second: mtu_files(mtu(second)),
    )
