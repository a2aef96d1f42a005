"""LVM volumes whose attributes, in recorded output of lvs, show that they do not work as they should."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.devicemapper.volume_readings import LogicalVolume, ThinPool, VolumeSnapshot
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule


class _State(Struct, frozen=True):
    """Consequences of a health of lvs(8)."""

    severity: Severity
    title: str
    cause: str
    impact: str
    damage: Damage
    first: str


_STATES = {
    "failed": _State(
        Severity.CRITICAL, "VOLUME FAILED", "The kernel set the volume to the failed state.",
        "All I/O to it fails.", Damage.AVAILABILITY, "Deactivate the volume, then repair it: lvconvert --repair.",
    ),
    "out of data": _State(
        Severity.CRITICAL, "POOL OUT OF DATA SPACE", "All data blocks of the pool are in use.",
        "Writes to new blocks wait, then fail.", Damage.AVAILABILITY, "Extend the pool, or delete thin volumes.",
    ),
    "read-only metadata": _State(
        Severity.CRITICAL, "POOL METADATA READ-ONLY", "The metadata of the pool cannot be written.",
        "Writes to new blocks fail.", Damage.AVAILABILITY, "Deactivate the pool, then repair it: lvconvert --repair.",
    ),
    "check needed": _State(
        Severity.CRITICAL, "POOL METADATA NEEDS A CHECK", "The metadata of the pool failed and needs a check.",
        "The pool cannot be extended or written to.", Damage.AVAILABILITY,
        "Deactivate the pool, then repair it: lvconvert --repair.",
    ),
    "cache error": _State(
        Severity.CRITICAL, "CACHE ERROR: writes can be lost", "dm-writecache had an I/O error on its cache.",
        "Writes fail; those in the cache can be lost.", Damage.DATA,
        "Detach the cache: lvconvert --splitcache; then check the file system.",
    ),
    "suspended": _State(
        Severity.WARNING, "VOLUME SUSPENDED", "The volume was suspended when lvs ran.",
        "All I/O to it waits until it is resumed.", Damage.AVAILABILITY, "Find the command that suspended it.",
    ),
    "refresh needed": _State(
        Severity.WARNING, "RAID NEEDS A REFRESH", "A member failed for a time and is not in use since.",
        "The next failure can lose data.", Damage.REDUNDANCY, "Find the cause, then let LVM use the member again.",
    ),
    "integrity errors": _State(
        Severity.WARNING, "INTEGRITY ERRORS: corrupt blocks", "A member returned blocks that fail their checksum.",
        "Good copies replaced them; another fault loses data.", Damage.DATA, "Find the disk at fault, and replace it.",
    ),
    "mismatches": _State(
        Severity.INFO, "RAID MISMATCHES", "The last check found differences between the members.",
        "One of the copies is wrong.", Damage.DATA, "Find the disk that is at fault, then repair the volume.",
    ),
}  # fmt: skip


_SYNCING = _State(
    Severity.INFO, "SYNCHRONIZING", "A rebuild, or the first synchronization, has not ended.",
    "Until it ends, a failure can lose data that has one copy.", Damage.REDUNDANCY,
    "Wait for its end, or find the reason for a standstill.",
)  # fmt: skip


def _is_move(row: LogicalVolume) -> bool:
    """Return whether the share in sync is the progress of pvmove."""
    return row.path.partition("/")[2].strip("[]").startswith("pvmove")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    pools = {pool.pool for pool in window.rows(ThinPool).values()}  # thin-pool-filling judges these
    snapshots = {row.snapshot for row in window.rows(VolumeSnapshot).values()}
    for row in window.rows(LogicalVolume).values():
        if row.path in pools:
            continue
        state = _STATES.get(row.health or "")
        if state is not None:
            yield _finding(window, row, state)
        elif row.health == "ok" and row.synced is not None and row.synced < 1 and not _is_move(row):
            title = f"SYNCHRONIZING: {human.percent(row.synced)}%"
            yield replace(_finding(window, row, _SYNCING), title=title, refuted_by="100 in Cpy%Sync of lvs")
        elif row.health in {"ok", "writemostly", "reshaping"}:
            yield RuledOut(row.path, "no fault in the attributes of lvs")
        elif row.health == "partial":
            yield Unchecked("on a missing physical volume", row.path, calm=True)
        elif row.path in snapshots:
            yield Unchecked("judged by snapshot-filling", row.path, calm=True)
        elif row.told is not None:
            yield Unchecked("health of the volume unknown", row.path, calm=row.health is None)


def _finding(window: Window, row: LogicalVolume, state: _State) -> Finding:
    return Finding(
        severity=state.severity,
        subject=row.path,
        title=state.title,
        cause=state.cause,
        impact=state.impact,
        values=(
            Value("health", "health", row.health),
            Value("filled", "data space in use", row.filled, "ratio"),
            Value("metadata", "metadata in use", row.metadata_filled, "ratio"),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            state.first,
            run("lvs", "-a", "-o", "+devices,lv_health_status", *operands(row.group), note="state and devices"),
            run("journalctl", "-k").pipe("grep", "-i", "device-mapper").pipe("tail", "-40"),
        ),
        refuted_by="a hyphen in the ninth place of Attr in lvs",
        damage=state.damage,
    )


VOLUME_UNHEALTHY = Rule(
    "volume-unhealthy",
    "LVM volume that failed, is out of space or needs a refresh",
    Severity.CRITICAL,
    _check,
    (LogicalVolume,),
    covers=(Covers(LogicalVolume, where=lambda row: row.told is not None and row.type != "thin-pool"),),
    many="do not work as they should",
    damage=Damage.AVAILABILITY,
    view="volumes",
    advice="Find the cause, then let LVM use the member again.",
)
