"""ScaleIO pools without zero padding: unwritten blocks expose old data."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for pool in window.rows(ScaleioPool).values():
        if pool.zero_padding is None:
            yield Unchecked("whether it is on is not told", pool.name)
        elif pool.zero_padding == "on":
            yield RuledOut(pool.name, "zero padding is on")
        else:
            yield _found(window, pool)


def _found(window: Window, pool: ScaleioPool) -> Finding:
    thin = pool.thin_volumes
    concerns = "" if not thin else f" of {thin} thin volume{'' if thin == 1 else 's'}"
    return Finding(
        severity=Severity.WARNING if thin != 0 else Severity.INFO,
        subject=pool.name,
        cause=(
            f"zero padding is off: a block{concerns} that was never written, or was discarded, may read as old data of "
            "another volume"
        ),
        values=(
            Value("zero_padding", "zero padding", pool.zero_padding),
            Value("thin_volumes", "thin volumes and snapshots", thin, "", above=0),
            Value("devices", "devices in the pool", pool.devices, "", above=0),
        ),
        evidence=cites(window.cite(pool, "zero_padding")),
        advice=(
            (
                "it can be switched on only while a pool has no devices: make a new pool with zero padding, move the "
                "volumes, then the devices"
            ),
            "first writes are up to 15 % slower with it; until then overwrite volumes before they are given to others",
        ),
        refuted_by="a pool whose volumes all belong to one who may see all of it",
    )


ZERO_PADDING_OFF = Rule(
    "zero-padding-off",
    "a ScaleIO pool hands out space without zeroing it",
    Severity.WARNING,
    _check,
    (ScaleioPool,),
)
