"""ScaleIO pools without zero padding: unwritten blocks expose old data."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core import format as human
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for pool in window.rows(ScaleioPool).values():
        if pool.zero_padding is None:
            yield Unchecked("zero padding setting unavailable", pool.name)
        elif pool.zero_padding == "on":
            yield RuledOut(pool.name, "zero padding is on")
        else:
            yield _found(window, pool)


def _found(window: Window, pool: ScaleioPool) -> Finding:
    thin = pool.thin_volumes
    concerns = "this pool" if not thin else f"a pool with {human.plural(thin, 'thin volume')}"
    return Finding(
        severity=Severity.WARNING if thin != 0 else Severity.INFO,
        subject=pool.name,
        title="ZERO PADDING OFF",
        cause=f"Zero padding is off for {concerns}.",
        impact="Unwritten or discarded blocks can return old data of other tenants.",
        values=(
            Value("zero_padding", "zero padding", pool.zero_padding),
            Value("thin_volumes", "thin volumes and snapshots", thin, "", above=0),
            Value("devices", "devices in the pool", pool.devices, "", above=0),
        ),
        evidence=cites(window.cite(pool, "zero_padding")),
        advice=(
            "Create a new pool with zero padding and move the volumes to it.",
            "A pool with devices does not accept a change of its zero padding.",
            "Until then, overwrite volumes before handing them to another tenant.",
            "First writes are up to 15% slower with zero padding.",
        ),
        refuted_by="zero padding enabled for the pool (scli --query_storage_pool)",
        harmless_if="all volumes of the pool belong to one tenant",
    )


ZERO_PADDING_OFF = Rule(
    "zero-padding-off",
    "ScaleIO pool without zero padding",
    Severity.WARNING,
    _check,
    (ScaleioPool,),
    damage=Damage.DATA,
    standing=True,
    view="cluster",
    advice="Create a new pool with zero padding and move the volumes to it.",
)
