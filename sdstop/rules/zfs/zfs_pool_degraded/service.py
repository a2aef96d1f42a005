"""Pools that serve no data: suspended, unavailable, faulted."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.collectors.zfs.readings import PoolSettings, PoolState
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window

_OUT = {
    "SUSPENDED": ("POOL SUSPENDED: all I/O waits", "All I/O to the pool waits, and so do zpool commands about it."),
    "UNAVAIL": ("POOL UNAVAILABLE: data inaccessible", "The data of the pool is inaccessible."),
    "FAULTED": ("POOL FAULTED: data inaccessible", "The data of the pool is inaccessible."),
}
"""States in which a pool serves nothing: title and impact."""
_FAILING = (
    "POOL SUSPENDED: writes fail",
    "New writes get errors (failmode=continue); older ones wait.",
)
"""The same of a suspended pool whose requests do not wait (zpoolprops(7))."""


def out_of_service(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Yield the finding of a pool whose state denies all I/O."""
    if whole.state not in _OUT:
        return
    title, impact = _OUT[whole.state]
    settings = window.get(PoolSettings, whole.name)
    if whole.state == "SUSPENDED" and settings is not None and settings.failmode == "continue":
        title, impact = _FAILING
    said = whole.pool.status if whole.pool is not None else None
    state = window.get(PoolState, whole.name)
    if whole.state == "SUSPENDED":
        advice: tuple[Advice, ...] = (
            "Restore the missing disks, HBA, cable or enclosure first.",
            run("journalctl", "-k"),
            run("zpool", "clear", *operands(whole.name), note="resumes I/O once the devices are back"),
        )
    else:
        advice = (
            "Find the missing devices.",
            run("zpool", "status", "-v", *operands(whole.name)),
            run("zpool", "import"),
        )
    yield Finding(
        severity=Severity.CRITICAL,
        subject=whole.name,
        title=title,
        cause=f"The pool is {whole.state}.",
        impact=impact,
        values=(Value("state", "state", whole.state), Value("status", "reported by ZFS", said)),
        evidence=cites(
            window.cite(state) if state is not None else None,
            window.cite(whole.pool, "state") if whole.pool is not None else None,
        ),
        advice=advice,
        refuted_by="the state ONLINE or DEGRADED",
        damage=Damage.AVAILABILITY,
    )
