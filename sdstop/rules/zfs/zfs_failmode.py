"""ZFS pools that return errors, or stop the node, when they fail, instead of letting requests wait."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.zfs.readings import PoolSettings
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule

_MODES = {
    "continue": (
        "WRITES FAIL when the pool fails",
        "failmode=continue: new writes get errors when devices fail.",
        "Programs can abort or lose writes after a loss that is short.",
    ),
    "panic": (
        "NODE STOPS when the pool fails",
        "failmode=panic: the kernel panics when devices fail.",
        "All services of the node end after a loss that is short.",
    ),
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(PoolSettings).values():
        if row.failmode in _MODES:
            yield _finding(window, row, row.failmode)
        elif row.failmode == "wait":
            yield RuledOut(row.pool, "failmode=wait: requests wait until all devices return")
        else:
            yield Unchecked(f'unknown failmode "{human.safe(row.failmode or "", 20)}"', row.pool, gap=Gap.FAULTY)


def _finding(window: Window, row: PoolSettings, mode: str) -> Finding:
    title, cause, impact = _MODES[mode]
    return Finding(
        severity=Severity.INFO,
        subject=row.pool,
        title=title,
        cause=cause,
        impact=impact,
        values=(Value("failmode", "failmode", mode),),
        evidence=cites(window.cite(row, "failmode")),
        advice=(
            "Let requests wait for the devices, unless a cluster manager takes over.",
            run("zpool", "set", "failmode=wait", *operands(row.pool)),
        ),
        refuted_by="wait in zpool get failmode",
        harmless_if="a cluster manager moves the services to another node",
    )


ZFS_FAILMODE = Rule(
    "zfs-failmode",
    "ZFS pool whose failure returns errors or stops the node",
    Severity.INFO,
    _check,
    (PoolSettings,),
    damage=Damage.AVAILABILITY,
    standing=True,
    view="disks",
    advice="Let requests wait for the devices, unless a cluster manager takes over.",
)
