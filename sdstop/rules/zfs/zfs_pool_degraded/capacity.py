"""Pools that are full, or nearly."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.filling import filling
from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.collectors.zfs.readings import Pool
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits


def nearly_full(window: Window, whole: PoolAnalysis, limits: Limits) -> Iterator[Finding]:
    """Yield the finding of a pool with little free space."""
    pool = whole.pool
    if pool is None or pool.used is None or pool.used < limits["near_full"]:
        return
    samples = [(at, float(row.allocated)) for at, row in window.series(Pool, whole.name) if row and row.allocated]
    known = filling(samples, float(pool.size or 0))
    words = known.words if known is not None else ""
    critical = pool.used >= limits["full"]
    yield Finding(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        subject=f"{whole.name}/space",
        title=f"POOL {'FULL' if critical else 'NEARLY FULL'}: {human.percent(pool.used)}%",
        cause=fitting(
            f"{human.percent(pool.used)}% of the pool is used{_free(pool)}{words}.",
            f"{human.percent(pool.used)}% of the pool is used{words or _free(pool)}.",
        ),
        impact=(
            "Writes are refused, or soon will be."
            if critical
            else "Writes can become slow, and are refused once the pool is full."
        ),
        values=(
            Value("filled", "filled", pool.used, "ratio", above=limits["full" if critical else "near_full"]),
            Value("free", "free", pool.free, "bytes"),
            Value("full_in", "full at this rate in", known.full_in if known is not None else None, "seconds"),
            Value("fragmentation", "fragmentation of the free space", pool.fragmentation, "ratio"),
        ),
        evidence=cites(window.cite(pool, "allocated")),
        advice=(
            "Delete data or snapshots, or add vdevs.",
            run("zfs", "list", "-o", "space", "-r", *operands(whole.name), note="snapshots hold deleted data"),
        ),
        refuted_by=f"less than {human.percent(limits['near_full'])}% used",
        damage=Damage.CAPACITY,
        view_subject=whole.name,
    )


def _free(pool: Pool) -> str:
    return f"; {human.quantity(pool.free, 'bytes')} is free" if pool.free is not None else ""
