"""Pools that lack redundancy: failed devices, spares in use, failures still tolerated."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.rebuilds.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.analysis.space.pooling import PoolAnalysis, TopVdev
from sdstop.collectors.zfs.readings import PoolState, Vdev
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.rules.zfs.zfs_pool_degraded.device import device_note, device_steps


def degraded(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Yield the finding of a DEGRADED pool, with failures still tolerated and recovery status."""
    if whole.state != "DEGRADED":
        return
    hurt = [top for top in whole.tops if top.missing or top.replaced or any(_ailing(child) for child in top.children)]
    worst = min((top.tolerates for top in hurt if top.tolerates is not None), default=None)
    missing = [child for top in hurt for child in top.missing]
    replaced = [child for top in hurt for child in top.replaced]
    devices = [v for v in whole.leaves if v.state not in {"ONLINE", "DEGRADED"}] or list(filter(_ailing, whole.leaves))
    doing, running = _doing(window, whole)
    state = window.get(PoolState, whole.name)
    # With an active spare all data is fully redundant, unlike in a pool that lacks devices.
    spared = f"/{replaced[0].vdev}" if replaced and not missing else ""
    yield Finding(
        severity=Severity.CRITICAL if missing and worst is not None and worst <= 0 else Severity.WARNING,
        subject=f"{whole.name}{spared}",
        title=_title(worst, missing, spared=bool(spared)),
        cause=f"{_what(devices)}; {doing}.",
        impact=_risk(hurt, worst, spared=bool(spared)),
        values=(
            Value("missing", "devices without good data", len(missing) if hurt else None, "", above=0),
            Value("spares_in_use", "devices replaced by a spare", len(replaced) if hurt else None),
            Value("tolerates", "failures tolerated, worst vdev", worst, "", below=None if worst else 1),
            Value("state", "state", whole.state),
            Value("devices", "devices out of service", ", ".join(map(_named, devices[:3])) or None),
        ),
        evidence=cites(
            *(window.cite(v) for v in devices[:6]),
            window.cite(whole.pool, "state") if whole.pool is not None else None,
            window.cite(state) if state is not None else None,
        ),
        advice=tuple(_advice(whole, devices, running=running)),
        refuted_by=f"the state ONLINE of {whole.name} and every vdev in zpool status",
        damage=Damage.DATA if missing and worst is not None and worst < 0 else None,
        view_subject=whole.name,
    )


def _ailing(vdev: Vdev) -> bool:
    """Return whether a device has too many errors and still serves its data."""
    return bool(vdev.leaf) and vdev.state == "DEGRADED"


def _title(worst: int | None, missing: list[Vdev], *, spared: bool) -> str:
    if spared:
        return "SPARE IN USE for a failed device"
    if worst is None:
        return "POOL DEGRADED"
    if worst > 0 or not missing:
        return f"POOL DEGRADED: {worst} more can fail"
    return "NO REDUNDANCY left in a vdev" if not worst else "DATA INCOMPLETE: too many devices lost"


def _what(devices: list[Vdev]) -> str:
    if not devices:
        return "Failed device unknown (no zpool status)"
    more = f" and {len(devices) - 1} more" if len(devices) > 1 else ""
    return f"{human.safe(devices[0].vdev, 22)} {devices[0].state}{more}"


def _named(vdev: Vdev) -> str:
    return f"{vdev.vdev} ({vdev.state}{device_note(vdev)})"


def _risk(hurt: list[TopVdev], worst: int | None, *, spared: bool) -> str:
    if worst is None:
        return "The number of further failures without data loss is unknown."
    where = human.safe(next(top.vdev.vdev for top in hurt if top.tolerates == worst), 20)
    if spared:
        return f"A spare has all its data; {worst} more can fail in {where}."
    if worst < 0:
        return f"{where} has lost more devices than it tolerates."
    if worst == 0:
        return f"The next failure in {where} loses data."
    return f"{worst} more can fail in {where} without data loss."


def _doing(window: Window, whole: PoolAnalysis) -> tuple[str, bool]:
    """Return the recovery status, and whether a recovery is under way."""
    known = next((k for k in rebuild_analyses(window) if _of(k, whole) and k.rebuild.operation in REPAIRS), None)
    if known is not None:
        if known.stands:
            return f"{known.what} stalled at {known.done}%", False
        return f"{known.what} running, {known.done}%", True
    spares = sum(v.state == "AVAIL" for v in whole.group("spares"))
    return "no resilver" + (f", {human.plural(spares, 'spare')} free" if spares else ""), False


def _of(known: RebuildAnalysis, whole: PoolAnalysis) -> bool:
    return known.rebuild.kind == "zfs" and known.name.partition("/")[0] == whole.name


def _advice(whole: PoolAnalysis, devices: list[Vdev], *, running: bool) -> Iterator[Advice]:
    name = operands(whole.name)
    if running:
        yield "Let the rebuild finish; defer other load on the pool."
        yield run("zpool", "status", *name)
    elif not devices:
        yield "Find the failed device."
    elif devices[0].state == "OFFLINE":
        yield "Put the device back that an administrator took offline, or replace it."
    else:
        yield f"Find why the device is {devices[0].state}, then replace it."
    for vdev in devices[:2]:
        known = vdev.path or vdev.vdev
        if vdev.state == "OFFLINE":
            yield run("zpool", "online", *name, known)
            continue
        yield from device_steps(vdev)
        if vdev.state in {"REMOVED", "UNAVAIL"}:
            yield run("zpool", "online", *name, known, note="if it is back")
        spare = next((v for v in whole.group("spares") if v.state == "AVAIL"), None)
        if not running and spare is not None:
            taken = spare.path or spare.vdev.partition("/")[2]
            yield run("zpool", "replace", *name, known, taken, note="a free spare")
        else:
            freed = "a spare in use is released at the end"
            yield run("zpool", "replace", *name, known, "/dev/disk/by-id/NEW", note=freed)
    if not devices:
        yield run("zpool", "status", "-v", *name)
