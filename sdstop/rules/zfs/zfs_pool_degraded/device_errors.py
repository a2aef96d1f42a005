"""Errors and slow I/Os of a pool's devices: growing counts, and existing ones, which may be old.

The counts are kept in memory (module/zfs/vdev.c): `zpool clear`, an import and a boot reset them. Each is a request
that failed after its retry, or a block with a wrong checksum; ZFS repairs both from another copy and lists damaged
files separately ("errors:", which data.py judges). A few are therefore information. New ones matter, and the number at
which zed takes a device out of service if it is reached within 600 s: 10 (DEFAULT_IO_N and DEFAULT_CHECKSUM_N in
cmd/zed/agents/zfs_diagnosis.c). Without zed nothing does so at any count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits
from sdstop.rules.zfs.zfs_pool_degraded.device import device_steps
from sdstop.rules.zfs.zfs_pool_degraded.missing_device import AUXILIARY


def device_errors(window: Window, whole: PoolAnalysis, limits: Limits) -> Iterator[Finding]:
    """Yield a finding for each device with errors or slow I/Os."""
    before = [moment.rows for moment in window.moments(Vdev)]
    # RAID-Z and dRAID count checksum errors that no device explains at the vdev.
    inner = [] if any(v.errors for v in whole.leaves) else [v for v in whole.vdevs if not v.leaf and v.errors]
    for vdev in (*whole.leaves, *inner):
        total = vdev.errors
        if not total:
            yield from _late(window, vdev, before, limits)
            continue
        grown = _growth(total, [row.errors for row in _rows(vdev, before)])
        if vdev.state in {"FAULTED", "UNAVAIL", "REMOVED"} and (not grown or vdev.group in AUXILIARY):
            continue  # reported as out of service, with the reason
        yield _failing(window, vdev, total, grown, limits)


def _rows(vdev: Vdev, before: Sequence[Mapping[Hashable, Vdev]]) -> list[Vdev]:
    return [row for moment in before if (row := moment.get((vdev.pool, vdev.vdev))) is not None]


def _growth(total: int, counts: Sequence[int | None]) -> int | None:
    """Return by how much a count exceeds the lowest of several samples; None for one, which shows no growth.

    After a reset the lowest one is 0, and everything since is new.
    """
    return max(total - min(count or 0 for count in counts), 0) if len(counts) > 1 else None


def _late(window: Window, vdev: Vdev, before: Sequence[Mapping[Hashable, Vdev]], limits: Limits) -> Iterator[Finding]:
    """Judge I/Os of a device without errors that took longer than ZFS allows (zio_slow_io_ms, 30 s)."""
    late = vdev.slow_ios or 0
    if not late:
        return
    grown = _growth(late, [row.slow_ios for row in _rows(vdev, before)])
    yield Finding(
        severity=Severity.WARNING if grown or late >= limits["slow"] else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        title=_title("SLOW I/O", late, grown),
        cause=f"{human.number(late)} I/Os took 30 s or longer since the import{_new(grown)}.",
        impact="Requests to the pool can wait 30 s and longer.",
        values=(
            Value("slow_ios", "slow I/Os", late, "", above=limits["slow"]),
            Value("grown", "new while watched", grown, "", above=0),
        ),
        evidence=cites(window.cite(vdev)),
        advice=(
            "Check the disk and its link.",
            *device_steps(vdev),
            run("zpool", "events", "-v", *operands(vdev.pool), note="ereport.fs.zfs.delay: times and sizes"),
        ),
        refuted_by="no new slow I/Os under load",
        damage=Damage.SPEED,
        view_subject=vdev.device or vdev.pool,
    )


def _title(what: str, total: int, grown: int | None) -> str:
    if grown:
        return f"{what}: {human.number(grown)} new"
    return f"{'OLD ' if grown == 0 else ''}{what}: {human.number(total)}"


def _new(grown: int | None) -> str:
    return "" if grown is None else f", {human.number(grown) if grown else 'none'} new"


def _impact(vdev: Vdev, grown: int | None) -> str:
    if grown and vdev.group in AUXILIARY:
        return AUXILIARY[vdev.group][1]
    if grown:
        return "ZFS can take the device out of service, and redundancy with it."
    if grown is None:
        return "Another sample shows whether the errors are new."
    service = "The device is in service; errors" if vdev.state == "ONLINE" else "Errors"
    return f"{service} are counted since the last clear."


def _failing(window: Window, vdev: Vdev, total: int, grown: int | None, limits: Limits) -> Finding:
    kinds = {"read": vdev.read_errors, "write": vdev.write_errors, "checksum": vdev.checksum_errors}
    listed = ", ".join(f"{human.number(number)} {kind}" for kind, number in kinds.items() if number)
    many = total >= limits["many"]
    cable = vdev.checksum_errors and not vdev.read_errors and not vdev.write_errors
    name = operands(vdev.pool)
    return Finding(
        severity=Severity.WARNING if grown or many else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        title=_title("DEVICE ERRORS", total, grown),
        cause=f"{human.number(total)} errors ({listed}){_new(grown) or ' since the last clear'}.",
        impact=_impact(vdev, grown),
        values=(
            Value("errors", "errors since the last clear", total, "", above=limits["many"]),
            Value("grown", "new while watched", grown, "", above=0),
            Value("read", "read errors", vdev.read_errors),
            Value("write", "write errors", vdev.write_errors),
            Value("checksum", "checksum errors", vdev.checksum_errors),
        ),
        evidence=cites(window.cite(vdev)),
        advice=(
            "Suspect cable, backplane, HBA and memory before the disk."
            if cable
            else "Check the disk, its cable and its HBA.",
            *device_steps(vdev),
            run("zpool", "clear", *name, vdev.path or vdev.vdev),
            run("zpool", "scrub", *name, note="errors that return are real"),
        ),
        refuted_by="no new errors after zpool clear and a scrub",
        view_subject=vdev.device or vdev.pool,
    )
