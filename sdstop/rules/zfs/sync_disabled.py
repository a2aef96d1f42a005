"""ZFS datasets with sync=disabled: writes are reported as stored before they are."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.zfs.datasets import DatasetSettings
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

_SHOWN = 3
"""Datasets cited."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    pools: dict[str, list[DatasetSettings]] = {}
    for row in window.rows(DatasetSettings).values():
        pools.setdefault(row.pool, []).append(row)
    for pool, rows in pools.items():
        known = [row for row in rows if row.sync is not None]
        off = [row for row in known if row.sync == "disabled"]
        if off:
            yield _finding(window, pool, off, len(known))
        elif known:
            yield RuledOut(pool, f"sync not disabled: {human.plural(len(known), 'dataset')}")
        else:
            yield Unchecked("property sync not recorded", pool)


def _finding(window: Window, pool: str, off: list[DatasetSettings], count: int) -> Finding:
    names = human.listed([row.dataset for row in off], 2, 22)
    return Finding(
        severity=Severity.WARNING,
        subject=pool,
        title=f"SYNC DISABLED: {human.plural(len(off), 'dataset')}",
        cause=f"sync=disabled: {names}.",
        impact="A crash loses up to 5 s of writes that were reported as stored.",
        values=(
            Value("disabled", "datasets with sync=disabled", len(off), "", of=count),
            Value("datasets", "datasets", ", ".join(row.dataset for row in off[:8])),
            Value("used", "data in these datasets", max((row.used or 0 for row in off), default=None) or None, "bytes"),
        ),
        evidence=cites(*(window.cite(row, "sync") for row in off[:_SHOWN])),
        advice=(
            "Restore sync unless this data may be lost; add a log device for speed.",
            run("zfs", "get", "-r", "-s", "local", "sync", *operands(pool), note="where it was set"),
            run("zfs", "inherit", "sync", *operands(off[0].dataset), note="back to standard"),
        ),
        refuted_by="standard or always in zfs get sync",
        harmless_if="the data is scratch data, or databases on it are rebuilt after a crash",
    )


SYNC_DISABLED = Rule(
    "sync-disabled",
    "ZFS datasets that report synchronous writes as stored before they are",
    Severity.WARNING,
    _check,
    (DatasetSettings,),
    covers=(Covers(DatasetSettings, "{pool}"),),
    damage=Damage.DATA,
    standing=True,
    view="disks",
    advice="Restore sync unless this data may be lost; add a log device for speed.",
)
