"""File systems mounted without flushes (nobarrier) on disks with a volatile cache: a power failure damages them."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.filesystem_state import name_of
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule

_VOLATILE, _SAFE = "write back", "write through"


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge those without flushes alone: captures of older versions lack the option."""
    del limits
    for row in window.rows(MountPoint).values():
        if row.unflushed == 1 and row.access == "rw":
            yield _judged(window, row)
        elif row.unflushed == 1:
            yield RuledOut(row.point, "nobarrier, and all writes are refused")


def _judged(window: Window, row: MountPoint) -> Verdict:
    """Judge the caches of the lowest devices: a mapping or an array shows the caches of those below it."""
    top = window.topology.find(name_of(window, row.device or ""))
    below = [top, *window.topology.holders(top)] if top is not None else []
    names = dict.fromkeys(thing.device for thing in below if thing.device is not None)
    caches = {
        name: known.write_cache
        for name in names
        if (known := window.get(BlockDevice, name)) is not None and known.write_cache is not None
    }
    volatile = [name for name, cache in caches.items() if cache == _VOLATILE]
    if volatile:
        return _finding(window, row, volatile)
    lowest = [thing.device for thing in below if not any(each.device for each in window.topology.holders(thing))]
    if not lowest or any(caches.get(name or "") != _SAFE for name in lowest):
        return Unchecked("nobarrier; caches of its disks unknown", row.point)
    return RuledOut(row.point, f"nobarrier, and {human.plural(len(caches), 'device')} without a volatile cache")


def _finding(window: Window, row: MountPoint, volatile: list[str]) -> Finding:
    lowest = volatile[-1]
    known = window.get(BlockDevice, lowest)
    return Finding(
        severity=Severity.WARNING,
        subject=row.point,
        title="FLUSHES OFF, disk cache is volatile",
        cause=f"Mounted with nobarrier; {human.safe(lowest, 16)} has a write-back cache.",
        impact="A power failure can damage the file system and lose synced writes.",
        values=(
            Value("devices", "devices with such a cache", human.listed(volatile, 4)),
            Value("filesystem", "type", row.filesystem),
        ),
        evidence=cites(window.cite(row), window.cite(known, "write_cache") if known is not None else None),
        advice=(
            "Remount with barrier, and remove nobarrier from /etc/fstab.",
            run("mount", "-o", "remount,barrier", *operands(row.point)),
            run("findmnt", "-no", "OPTIONS", *operands(row.point)),
        ),
        refuted_by="no nobarrier or barrier=0 in findmnt, or write through in queue/write_cache",
        harmless_if="the cache has a battery or capacitors",
    )


FLUSH_DISABLED = Rule(
    "flush-disabled",
    "file system that does not flush the volatile caches of its disks (nobarrier)",
    Severity.WARNING,
    _check,
    (MountPoint,),
    covers=(Covers(MountPoint, where=lambda row: row.unflushed == 1),),
    damage=Damage.DATA,
    standing=True,
    view="disks",
    advice="Remount with barrier, and remove nobarrier from /etc/fstab.",
)
