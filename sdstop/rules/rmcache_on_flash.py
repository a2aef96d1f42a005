"""ScaleIO's RAM read cache in front of flash, where it costs more than it saves."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.readings.cluster import ClusterDevice

_FLASH = frozenset({"SSD", "NVMe", "NVME"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for pool in window.rows(ScaleioPool).values():
        media = pool.media or _seen(window, pool)
        if pool.rmcache == "off":
            yield RuledOut(pool.name, "the RAM read cache is off for this pool")
        elif pool.rmcache is None:
            yield Unchecked("whether its RAM read cache is on is not told", pool.name)
        elif media is None:
            yield Unchecked("whether its devices are flash is not told", pool.name)
        elif media not in _FLASH:
            yield RuledOut(pool.name, f"its devices are {media}: a read cache in RAM has its use")
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
    where = "" if nodes is None else f" on {nodes} node{'' if nodes == 1 else 's'}"
    memory = f", {human.quantity(pool.rmcache_size, 'bytes')} in all" if pool.rmcache_size else ""
    area = pool.pool.rpartition("/")[2]
    return Finding(
        severity=Severity.WARNING,
        subject=pool.name,
        cause=(
            f"the RAM read cache is on{where}{memory}, and the devices are {media}: it answers hardly faster, takes "
            "memory "
            "and CPU, and slows down once it is full (seen: about 10 % of IOPS)"
        ),
        values=(
            Value("rmcache", "RAM read cache of the pool", pool.rmcache),
            Value("nodes", "nodes with it", nodes, "", above=0),
            Value("media", "devices", media),
            Value("memory", "memory for it", pool.rmcache_size, "bytes"),
        ),
        evidence=cites(window.cite(pool, "rmcache")),
        advice=(
            (
                f"scli --set_rmcache_usage --protection_domain_name DOMAIN --storage_pool_name {quoted(area)} "
                "--dont_use_rmcache"
            ),
            "measure before and after, with the same load, for some minutes: what is lost shows once the cache is full",
        ),
        refuted_by="a load that is slower without it",
    )


RMCACHE_ON_FLASH = Rule(
    "rmcache-on-flash",
    "ScaleIO's RAM read cache is on in front of flash",
    Severity.WARNING,
    _check,
    (ScaleioPool,),
)
