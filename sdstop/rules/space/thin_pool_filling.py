"""Thin pools (dm-thin, VDO) that are full, nearly full, read-only or failed: then writes to all their volumes fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.space.filling import Filling, filling_of
from sdstop.analysis.tasks.stalled import FOLLOWS_WAITS
from sdstop.collectors.devicemapper.thin_pools import UNREAD
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume, ThinPool, ThinVolume
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

_SOURCE = "dm-status"
_VDO = "vdo"


class _Fault(Struct, frozen=True):
    """One fault of a pool."""

    severity: Severity
    title: str
    cause: str
    impact: str
    damage: Damage = Damage.CAPACITY


class _Pool(Struct, frozen=True):
    """A pool, its fillings, and the volumes in it; `promised` is the size of these, None if it is unknown."""

    row: ThinPool
    data: Filling | None
    metadata: Filling | None
    volumes: Sequence[ThinVolume]

    @property
    def promised(self) -> int | None:
        sizes = [volume.size for volume in self.volumes]
        return sum(size or 0 for size in sizes) if sizes and None not in sizes else None

    @property
    def cannot_overflow(self) -> bool:
        """Whether all volumes fit in whole: all allocated space is theirs, and the pool is as large as they are."""
        mapped = [volume.mapped for volume in self.volumes]
        promised, used, size = self.promised, self.row.used, self.row.size
        if promised is None or None in mapped or used is None or size is None:
            return False
        return promised <= size and sum(each or 0 for each in mapped) == used


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(ThinPool).values():
        yield _judged(window, _pool(window, row), limits)
    yield from _volumes(window)
    yield from _unseen(window)


def _unseen(window: Window) -> Iterator[Verdict]:
    """Judge the pools that only LVM's metadata shows: inactive ones, or all if dmsetup could not be run."""
    known = {row.pool for row in window.rows(ThinPool).values()}
    ran = window.now.runs.get(_SOURCE)
    for volume in window.rows(LogicalVolume).values():
        if volume.type != "thin-pool" or volume.volume in known:
            continue
        if ran is not None and ran.ok:
            yield Unchecked("no line in dmsetup status: not active", volume.volume, calm=True)
        elif ran is None or (ran.outcome is Outcome.ABSENT and not ran.recorded):
            yield Unchecked(f"{_SOURCE}: not recorded in this capture", volume.volume, calm=True, gap=Gap.UNRECORDED)
        else:
            gap = Gap.DENIED if ran.outcome is Outcome.DENIED else Gap.FAULTY
            yield Unchecked(f"{_SOURCE}: {ran.outcome.value}, {ran.reason}", volume.volume, gap=gap)


def _volumes(window: Window) -> Iterator[Verdict]:
    """Judge the volumes that fail although their pool does not say so."""
    bad = {row.device for row in window.rows(ThinPool).values() if row.state in {"failed", "error", UNREAD}}
    for row in window.rows(ThinVolume).values():
        if row.state == "ok" or (row.pool_device is not None and row.pool_device in bad):
            continue
        if row.state == UNREAD:
            yield Unchecked("line of dmsetup status not understood", row.volume, gap=Gap.FAULTY)
        else:
            yield Finding(
                severity=Severity.CRITICAL,
                subject=row.volume,
                title="THIN VOLUME FAILED: no I/O",
                cause=f"The kernel reports {'Fail' if row.state == 'failed' else 'Error'} for the volume.",
                impact="Every request to the volume fails.",
                evidence=cites(window.cite(row)),
                advice=("Find out why in the kernel log; then check the pool.", *_log()),
                refuted_by="a number of mapped sectors in dmsetup status",
                damage=Damage.AVAILABILITY,
            )


def _pool(window: Window, row: ThinPool) -> _Pool:
    data = filling_of(window, ThinPool, row.pool, lambda then: then.used, row.size or 0)
    metadata = filling_of(window, ThinPool, row.pool, lambda then: then.metadata_used, row.metadata_size or 0)
    return _Pool(row, data, metadata, window.where(ThinVolume, "pool_device", row.device) if row.device else ())


def _judged(window: Window, pool: _Pool, limits: Limits) -> Verdict:
    row = pool.row
    if row.state == UNREAD:
        return Unchecked("line of dmsetup status not understood", row.pool, gap=Gap.FAULTY)
    faults = sorted(_faults(pool, limits), key=lambda fault: -fault.severity.rank)
    if faults:
        return _finding(window, pool, faults, limits)
    if row.state != "ok":
        return Unchecked(f"state {row.state}", row.pool)
    if row.filled is None:
        return Unchecked("fill level unknown", row.pool)
    return RuledOut(row.pool, _good(pool))


def _good(pool: _Pool) -> str:
    row = pool.row
    words = [f"{human.percent(row.filled)}% of the data space used{pool.data.words if pool.data else ''}"]
    if row.metadata_filled is not None:
        words.append(f"metadata {human.percent(row.metadata_filled)}%")
    if pool.cannot_overflow:
        words.append("volumes fit in whole")
    return ", ".join(words)


def _faults(pool: _Pool, limits: Limits) -> Iterator[_Fault]:
    """Yield the faults of a pool, the worst of one severity first."""
    yield from _states(pool)
    yield from _metadata(pool, limits)
    yield from _data(pool, limits)


def _states(pool: _Pool) -> Iterator[_Fault]:
    row = pool.row
    critical, serves = Severity.CRITICAL, Damage.AVAILABILITY
    if row.state in {"failed", "error"}:
        word = "Fail" if row.state == "failed" else "Error"
        yield _Fault(critical, "POOL FAILED: no I/O", f"The kernel reports {word} for the pool.",
                     "Every request to its volumes can fail.", serves)  # fmt: skip
    if row.state == "out of data space":
        fate = {"wait": "wait 60 s (the default), then fail", "fail": "fail"}.get(row.no_space or "", "wait or fail")
        yield _Fault(critical, "POOL OUT OF SPACE: writes stop",
                     f"All {_space(row.size)} is allocated: mode out_of_data_space.",
                     f"Writes to new blocks {fate}.", serves)  # fmt: skip
    if row.state == "read-only":
        why = "its metadata space is used up" if row.metadata_filled == 1 else "a metadata operation failed"
        why = "its metadata needs a check" if row.needs_check else why
        why = "VDO refuses writes after an error" if row.kind == _VDO else why
        yield _Fault(critical, "POOL READ-ONLY: writes fail", f"The pool is read-only: {why}.",
                     "Writes that need a new block fail.", serves)  # fmt: skip
    elif row.needs_check:
        yield _Fault(critical, "POOL METADATA NEEDS CHECK", "A metadata operation failed (needs_check).",
                     "The pool becomes read-only; repair it while it is inactive.", serves)  # fmt: skip


def _metadata(pool: _Pool, limits: Limits) -> Iterator[_Fault]:
    share = pool.row.metadata_filled
    if share is None or share < limits["near_full"]:
        return
    full = share >= limits["full"]
    soon = _when(pool.metadata, share)
    yield _Fault(
        Severity.CRITICAL if full else Severity.WARNING,
        f"METADATA {'FULL' if share >= 1 else 'NEARLY FULL'}: {human.percent(share)}%",
        f"{human.percent(share)}% of {_space(pool.row.metadata_size, 'metadata')} is used{soon}.",
        "Without metadata space the pool becomes read-only and needs repair.",
        Damage.AVAILABILITY if full else Damage.CAPACITY,
    )


def _data(pool: _Pool, limits: Limits) -> Iterator[_Fault]:
    row, share = pool.row, pool.row.filled
    left = pool.data.full_in if pool.data is not None else None
    if share is None or share < limits["near_full"] or pool.cannot_overflow or row.state == "out of data space":
        return
    soon = left is not None and left < limits["soon"]
    yield _Fault(
        Severity.CRITICAL if share >= limits["full"] or soon else Severity.WARNING,
        f"POOL {'FULL' if share >= 1 else 'NEARLY FULL'}: {human.percent(share)}%",
        f"{human.percent(share)}% of {_space(row.size)} is allocated{_when(pool.data, share)}.",
        "Once it is full, writes to all its volumes wait, then fail."
        if row.no_space != "fail"
        else "Once it is full, writes to new blocks of all its volumes fail.",
    )


def _space(size: int | None, what: str = "") -> str:
    """Return a size with its kind, only the kind if the size is unknown."""
    return f"{human.quantity(size, 'bytes')} {what}".rstrip() if size is not None else what or "the data space"


def _when(known: Filling | None, share: float) -> str:
    return known.words if known is not None and share < 1 else ""


def _finding(window: Window, pool: _Pool, faults: Sequence[_Fault], limits: Limits) -> Finding:
    """Return one finding for all faults of a pool; the worst is its title."""
    row, worst = pool.row, faults[0]
    others = "; ".join(f"{fault.title}: {fault.cause}" for fault in faults[1:])
    share, metadata = row.filled, row.metadata_filled
    return Finding(
        severity=worst.severity,
        subject=row.pool,
        title=worst.title,
        cause=worst.cause,
        impact=worst.impact,
        values=(
            Value("also", "also found", others or None),
            Value("state", "state", row.state),
            Value("data", "data in use", share, "ratio", above=_passed(share, limits)),
            Value("metadata", "metadata in use", metadata, "ratio", above=_passed(metadata, limits)),
            Value("rate", "growth", pool.data.rate if pool.data else None, "bytes_per_second"),
            Value("full_in", "full at this rate in", (pool.data.full_in or None) if pool.data else None, "seconds"),
            Value("size", "size", row.size, "bytes"),
            Value("promised", "size of its active volumes", pool.promised, "bytes"),
            Value("no_space", "without space, writes", row.no_space),
            Value("needs_check", "needs a check", row.needs_check),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row, limits)),
        refuted_by=f"mode rw and less than {human.percent(limits['near_full'])}% in use in dmsetup status",
        damage=worst.damage,
    )


def _passed(share: float | None, limits: Limits) -> float | None:
    """Return the threshold that a share exceeds, None for none."""
    if share is None or share < limits["near_full"]:
        return None
    return limits["full"] if share > limits["full"] else limits["near_full"] if share > limits["near_full"] else None


def _log() -> tuple[Advice, ...]:
    return (run("journalctl", "-k").pipe("grep", "-i", "-e", "device-mapper").pipe("tail", "-40"),)


def _advice(row: ThinPool, limits: Limits) -> Iterator[Advice]:
    name = operands(row.pool)
    if row.kind == _VDO:
        yield "Free space: delete data and discard it, or grow the pool."
        yield run("vdostats", "--human-readable")
        yield from _log()
        return
    if row.state in {"failed", "error"} or row.needs_check:
        yield "Stop its users, deactivate the pool, then repair its metadata."
        yield from _log()
        yield run("lvchange", "-an", *name)
        yield run("lvconvert", "--repair", *name, note="keeps the old metadata in a volume of its own")
        return
    group = row.pool.partition("/")[0]
    vgs = run("vgs", *operands(group), note="free space of the group")
    metadata = run("lvextend", "--poolmetadatasize", "+1G", *name, note="metadata")
    if (row.metadata_filled or 0) >= limits["near_full"] > (row.filled or 0):
        yield "Grow the metadata of the pool now, or remove snapshots that are not needed."
        yield vgs
        yield metadata
    else:
        yield "Grow the pool now; deleting files helps only after a discard."
        yield vgs
        yield run("lvextend", "-L", "+10G", *name, note="data")
        yield metadata
        yield run("fstrim", "-av", note="returns what deleted files used")
    yield run("lvs", "-a", "-o", "name,lv_size,data_percent,metadata_percent", *operands(group))


THIN_POOL_FILLING = Rule(
    "thin-pool-filling",
    "thin pool (dm-thin, VDO) full, nearly full, read-only or failed",
    Severity.CRITICAL,
    _check,
    (ThinPool,),
    (
        Threshold("near_full", 0.8, "share of data or metadata in use, warning (dmeventd warns from it)", "ratio"),
        Threshold("full", 0.95, "share of data or metadata in use, critical", "ratio"),
        Threshold("soon", 3600.0, "time until a nearly full pool is full at its present rate, critical", "seconds"),
    ),
    covers=(
        Covers(ThinPool, subject="{pool}"),
        Covers(LogicalVolume, where=lambda row: row.type == "thin-pool"),
    ),
    instead=(ThinVolume, LogicalVolume),
    explains=(*FOLLOWS_WAITS, "io-stalled", "kernel-io-errors"),
    damage=Damage.CAPACITY,
    view="volumes",
    advice="Grow the pool now; deleting files helps only after a discard.",
)
