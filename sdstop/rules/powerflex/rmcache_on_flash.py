"""ScaleIO's RAM read cache in front of flash, where it costs more than it saves."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule
from sdstop.readings.cluster import ClusterDevice

_FLASH = frozenset({"SSD", "NVMe", "NVME"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for pool in window.rows(ScaleioPool).values():
        media = pool.media or _seen(window, pool)
        if pool.rmcache == "off":
            yield RuledOut(pool.name, "the RAM read cache is off for this pool")
        elif pool.rmcache is None:
            yield Unchecked("RAM read cache setting unavailable", pool.name)
        elif media is None:
            yield Unchecked("media type unavailable", pool.name)
        elif media not in _FLASH:
            yield RuledOut(pool.name, f"all devices are {media}: read cache appropriate")
        elif pool.rmcache_nodes == 0:
            yield RuledOut(pool.name, "the RAM read cache is off on all of its nodes")
        else:
            yield _found(window, pool, media)


def _seen(window: Window, pool: ScaleioPool) -> str | None:
    """Return the media of the pool's local devices from the kernel, for clusters that do not report it."""
    devices = (d for d in window.where(ClusterDevice, "pool", pool.pool) if d.cluster == pool.cluster)
    known = (window.get(BlockDevice, d.local) for d in devices if d.local is not None)
    kinds = {row.rotational for row in known if row is not None and row.rotational is not None}
    return {0: "SSD", 1: "HDD"}.get(next(iter(kinds))) if len(kinds) == 1 else None


def _found(window: Window, pool: ScaleioPool, media: str) -> Finding:
    nodes = pool.rmcache_nodes
    where = "" if nodes is None else f" on {human.plural(nodes, 'node')}"
    memory = f" ({human.quantity(pool.rmcache_size, 'bytes')} in total)" if pool.rmcache_size else ""
    area = pool.pool.rpartition("/")[2]
    return Finding(
        severity=Severity.WARNING,
        subject=pool.name,
        title="RAM READ CACHE ON FLASH",
        cause=f"RAM read cache enabled{where}{memory}; devices are {media}.",
        impact="A full RAM cache can slow I/O (observed: about 10% of IOPS).",
        values=(
            Value("rmcache", "RAM read cache of the pool", pool.rmcache),
            Value("nodes", "nodes with it", nodes, "", above=0),
            Value("media", "devices", media),
            Value("memory", "memory of the cache", pool.rmcache_size, "bytes"),
        ),
        evidence=cites(window.cite(pool, "rmcache")),
        advice=(
            "Turn off the RAM read cache for this pool.",
            run(
                "scli",
                "--set_rmcache_usage",
                "--protection_domain_name",
                "DOMAIN",
                "--storage_pool_name",
                area,
                "--dont_use_rmcache",
            ),
            "Measure before and after under the same load for several minutes.",
            "The loss shows once the cache is full.",
        ),
        refuted_by="a workload that is slower without the cache",
    )


RMCACHE_ON_FLASH = Rule(
    "rmcache-on-flash",
    "ScaleIO RAM read cache enabled on flash",
    Severity.WARNING,
    _check,
    (ScaleioPool,),
    standing=True,
    view="cluster",
    advice="Turn off the RAM read cache for this pool.",
)
