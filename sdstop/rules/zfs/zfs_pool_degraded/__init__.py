"""ZFS pools with faults, one module for each kind: bad states, lost redundancy, lost data, device errors."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.space.pooling import GOOD, LOST, PoolAnalysis, pool_analyses
from sdstop.collectors.zfs.readings import Pool, PoolState
from sdstop.core import format as human
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.zfs.zfs_pool_degraded.capacity import nearly_full
from sdstop.rules.zfs.zfs_pool_degraded.data import data_lost, scan_errors
from sdstop.rules.zfs.zfs_pool_degraded.device_errors import device_errors
from sdstop.rules.zfs.zfs_pool_degraded.missing_device import AUXILIARY, missing_device
from sdstop.rules.zfs.zfs_pool_degraded.redundancy import degraded
from sdstop.rules.zfs.zfs_pool_degraded.service import out_of_service
from sdstop.rules.zfs.zfs_pool_degraded.single_device import single_devices


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for whole in pool_analyses(window):
        bad = [*out_of_service(window, whole), *degraded(window, whole), *data_lost(window, whole)]
        more = [
            *_auxiliary(window, whole),
            *scan_errors(window, whole),
            *single_devices(window, whole),
            *nearly_full(window, whole, limits),
        ]
        yield from (*bad, *more)
        errors = list(device_errors(window, whole, limits))
        yield from errors
        if whole.pool is None:
            if not bad:
                yield Unchecked(f"kernel state {whole.state}; {_why(window)}", whole.name)
        elif not bad and not errors:
            yield from (said for said in _beside(window, whole) if not (more and isinstance(said, RuledOut)))


def _why(window: Window) -> str:
    run = window.now.runs.get("zfs")
    if run is None:
        return "waiting for zpool status"
    return f"zpool status: {run.outcome.value}, {run.reason}"


def _beside(window: Window, whole: PoolAnalysis) -> Iterator[Verdict]:
    """Judge a pool without errors: devices that it works without, and unknown states."""
    pool = whole.pool
    out = [v for v in whole.vdevs if v.leaf and v.state in LOST]
    for vdev in out:
        if vdev.group not in AUXILIARY:
            yield missing_device(window, whole, vdev)
    hurt = next((v for v in whole.vdevs if v.state == "DEGRADED" or (not v.leaf and v.state in LOST)), None)
    strange = next((v for v in whole.vdevs if v.state not in GOOD | LOST | {"DEGRADED"}), None)
    if not whole.leaves:
        yield Unchecked("no device tree in zpool status", whole.name, gap=Gap.FAULTY)
    elif pool is not None and pool.state and pool.state != whole.state:
        said = f'state "{human.safe(whole.state, 20)}" in the kernel, "{human.safe(pool.state, 20)}" in zpool status'
        yield Unchecked(said, whole.name, gap=Gap.FAULTY)
    elif whole.state == "ONLINE" and hurt is not None:
        yield Unchecked(f"{hurt.vdev} {hurt.state}, but the pool {whole.state}", whole.name, gap=Gap.FAULTY)
    elif pool is not None and pool.status and not out and not _HARMLESS.match(pool.status):
        yield Unchecked(f'reported: "{human.safe(pool.status, 60)}"', whole.name, gap=Gap.FAULTY)
    elif whole.state != "ONLINE" or strange is not None:
        word = whole.state if strange is None else f"{strange.state} of {strange.vdev}"
        yield Unchecked(f"unknown state: {human.safe(word, 60)}", whole.name, gap=Gap.FAULTY)
    elif not out:
        yield _good(whole)


_HARMLESS = expression(
    r"Some supported (?:and requested )?features are not enabled|The pool is formatted using|"
    r"One or more devices (?:is|are) currently being (?:resilvered|trimmed)|"
    r"One or more devices are configured to use a non-native block size|Mismatch between pool hostid|"
    r"One or more features are enabled on the pool despite not being"
)
"""Problems as ZFS reports them that concern neither data nor service."""


def _auxiliary(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Judge log devices, cache devices and spares, whatever other faults the pool has."""
    for vdev in whole.vdevs:
        if vdev.leaf and vdev.state in LOST and vdev.group in AUXILIARY:
            yield missing_device(window, whole, vdev)


def _good(whole: PoolAnalysis) -> RuledOut:
    least = min((top.tolerates for top in whole.tops if top.tolerates is not None), default=None)
    more = f", {least} more can fail in each group" if least is not None else ""
    return RuledOut(whole.name, f"{whole.state}, {len(whole.leaves)} devices without errors{more}")


ZFS_POOL_DEGRADED = Rule(
    "zfs-pool-degraded",
    "ZFS pool suspended, degraded or full, with lost data or device errors",
    Severity.CRITICAL,
    _check,
    (PoolState,),
    (
        Threshold("many", 10.0, "errors of a device that matter without new ones (zed retires one at 10 in 10 min)"),
        Threshold("slow", 100.0, "slow I/Os of a device that matter without new ones"),
        Threshold("near_full", 0.9, "used share of a pool, warning", "ratio"),
        Threshold("full", 0.95, "used share of a pool, critical", "ratio"),
    ),
    covers=(Covers(PoolState), Covers(Pool)),
    remembers=True,
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Replace the failed disk; defer other load until the rebuild ends.",
)
