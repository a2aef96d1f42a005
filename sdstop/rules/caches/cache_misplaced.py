"""A volume or file system on the bare disk underneath its own cache: nothing that it reads or writes is cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.joins import Naming, Relation, ThingKind
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.text import added
from sdstop.core.thing import Thing
from sdstop.readings.cache import Cache

_USES = frozenset({Relation.STORED, Relation.MEMBER})


def _has_disk(row: Cache) -> bool:
    return row.kind not in {"arc", "l2arc"}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for cache in window.rows(Cache).values():
        if not _has_disk(cache):
            continue
        if cache.slow is None or cache.device is None:
            yield Unchecked("backing device unknown", cache.cache)
            continue
        users = _users(window, cache.slow, cache.device)
        if users:
            yield _finding(window, cache, users)
        else:
            yield RuledOut(cache.cache, f"only the cache uses its backing device {human.safe(cache.slow, 20)}: all")


def _users(window: Window, slow: str, device: str) -> list[Thing]:
    """Return the file systems, volumes and arrays on the backing device itself, beside the cache."""
    topology = window.topology
    thing = topology.named(Naming.DEV, slow)
    if thing is None:
        return []
    return [
        other
        for other, how in topology.upper(thing).items()
        if how in _USES and ThingKind.CACHE not in other.kinds and other.device != device
    ]


def _finding(window: Window, cache: Cache, users: Sequence[Thing]) -> Finding:
    counts = [count for count in (cache.reads, cache.writes) if count is not None]
    idle = bool(counts) and not any(counts)
    by, slow = human.safe(users[0].label, 20), human.safe(cache.slow or "", 14)
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    verb = "use" if len(users) > 1 else "uses"
    disk = window.get(BlockDevice, cache.slow)
    dirty = cache.mode == "writeback"
    return Finding(
        severity=Severity.CRITICAL if dirty and not idle else Severity.WARNING,
        subject=cache.cache,
        title="VOLUME BELOW ITS OWN CACHE",
        cause=fitting(f"{by}{more} {verb} {slow} itself, not the cache on top of it.",
                      f"{human.plural(len(users), 'volume')} below the cache, on its backing device."),
        impact=(
            "The cache has received no request since it was loaded."
            if idle
            else "Two writers to one disk: blocks of the cache can be stale or overwrite data."
        ),
        values=(
            Value("requests", "requests since load", added(counts) if counts else None),
            Value("users", "below the cache", ", ".join(user.label for user in users[:4])),
            Value("slow", "backing device", cache.slow),
            Value("mode", "mode", cache.mode),
        ),
        evidence=cites(
            window.cite(cache, "reads"),
            window.cite(cache, "slow"),
            window.cite(disk) if disk is not None else None,
        ),
        advice=tuple(_advice(cache, users)),
        refuted_by="a table of the volume that names the cache in dmsetup table",
        damage=Damage.DATA if dirty and not idle else None,
    )  # fmt: skip


def _advice(cache: Cache, users: Sequence[Thing]) -> Iterator[Advice]:
    yield "Stop the users, then activate the volume on the cache."
    yield run("lsblk", "-s", f"/dev/{users[0].device or cache.slow}", note="devices below the volume")
    yield "Let LVM ignore the backing device: global_filter in lvm.conf, and in the initramfs."
    yield run("dmsetup", "deps", "-o", "devname", *operands(cache.cache))


CACHE_MISPLACED = Rule(
    "cache-misplaced",
    "volume on the backing device underneath its own cache",
    Severity.CRITICAL,
    _check,
    (Cache,),
    covers=(Covers(Cache, where=_has_disk),),
    explains=("cache-ineffective",),
    standing=True,
    view="caches",
    advice="Stop the users, then activate the volume on the cache.",
)
