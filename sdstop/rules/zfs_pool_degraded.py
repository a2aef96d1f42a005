"""ZFS pools with faults: bad states, lost redundancy, lost data, device errors."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

from sdstop.analysis.pooling import GOOD, LOST, PoolAnalysis, TopVdev, pool_analyses
from sdstop.analysis.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.collectors.zfs.readings import Pool, PoolState, Vdev
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import (
    Covers,
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted

_OUT = {
    "SUSPENDED": "I/O to the pool is suspended: all that use it wait, and so does every command about it",
    "UNAVAIL": "the pool is not available: its data is out of reach",
    "FAULTED": "the pool is faulted: its data is out of reach",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for whole in pool_analyses(window):
        bad = [*_out(window, whole), *_degraded(window, whole), *_lost(window, whole)]
        more = [*_aside(window, whole), *_full(window, whole, limits)]
        yield from (*bad, *more)
        leaves = list(_errors(window, whole, limits))
        yield from leaves
        if whole.pool is None:
            if not bad:
                yield Unchecked(f"the kernel says {whole.state}; {_why(window)}", whole.name)
        elif not bad and not any(isinstance(said, Finding) for said in leaves):
            yield from (said for said in _beside(window, whole) if not (more and isinstance(said, RuledOut)))


def _why(window: Window) -> str:
    run = window.now.runs.get("zfs")
    if run is None:
        return "zpool status has not answered yet"
    return f"zpool status: {run.outcome.value}, {run.reason}"


def _beside(window: Window, whole: PoolAnalysis) -> Iterator[Verdict]:
    """Judge a pool without errors: devices that it works without, and states that are not known."""
    pool = whole.pool
    out = [v for v in whole.vdevs if v.leaf and v.state in LOST]
    for vdev in out:
        yield _without(window, whole, vdev)
    hurt = next((v for v in whole.vdevs if v.state == "DEGRADED" or (not v.leaf and v.state in LOST)), None)
    strange = next((v for v in whole.vdevs if v.state not in GOOD | LOST | {"DEGRADED"}), None)
    if not whole.leaves:
        yield Unchecked("no device tree in zpool status", whole.name, gap=Gap.FAULTY)
    elif pool is not None and pool.state and pool.state != whole.state:
        said = f'state "{human.safe(whole.state, 20)}" in the kernel, "{human.safe(pool.state, 20)}" in zpool status'
        yield Unchecked(said, whole.name, gap=Gap.FAULTY)
    elif whole.state == "ONLINE" and hurt is not None:
        yield Unchecked(f"{hurt.vdev} is {hurt.state}, the pool {whole.state}", whole.name, gap=Gap.FAULTY)
    elif pool is not None and pool.status and not out and not _HARMLESS.match(pool.status):
        yield Unchecked(f'it reports "{human.safe(pool.status, 60)}"', whole.name, gap=Gap.FAULTY)
    elif whole.state != "ONLINE" or strange is not None:
        word = whole.state if strange is None else f"{strange.state} of {strange.vdev}"
        yield Unchecked(f"state not known: {human.safe(word, 60)}", whole.name, gap=Gap.FAULTY)
    elif not out:
        yield _good(whole)


_HARMLESS = re.compile(
    r"Some supported (?:and requested )?features are not enabled|The pool is formatted using|"
    r"One or more devices (?:is|are) currently being (?:resilvered|trimmed)|"
    r"One or more devices are configured to use a non-native block size|Mismatch between pool hostid|"
    r"One or more features are enabled on the pool despite not being"
)
"""Problems as ZFS reports them that concern neither data nor service."""


def _aside(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    """Judge log devices, cache devices and spares of a pool with other faults, and errors left by the last scan."""
    if whole.state != "ONLINE":
        for vdev in whole.vdevs:
            if vdev.leaf and vdev.state in LOST and vdev.group in _USES:
                yield _without(window, whole, vdev)
    pool = whole.pool
    if pool is not None and pool.scan_errors and not pool.data_errors:
        yield Finding(
            severity=Severity.WARNING,
            subject=f"{whole.name}/scan",
            cause=f"{human.plural(pool.scan_errors, 'error')} not repaired by the last scan, and none is listed now",
            values=(Value("scan_errors", "errors not repaired", pool.scan_errors, "", above=0),),
            evidence=_cited(window, pool, "last_scan"),
            advice=(
                f"zpool status -v {operand(whole.name)}   # which files; restore them from the backup",
                f"zpool scrub {operand(whole.name)}   # are there still any?",
            ),
            refuted_by="a later scrub without errors",
        )


def _full(window: Window, whole: PoolAnalysis, limits: Limits) -> Iterator[Finding]:
    pool = whole.pool
    if pool is None or pool.used is None or pool.used < limits["near_full"]:
        return
    critical = pool.used >= limits["full"]
    yield Finding(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        subject=f"{whole.name}/space",
        cause=(
            f"{human.percent(pool.used)} % full: writes "
            f"{'are refused, or will be soon' if critical else 'become slow, and will be refused'}"
        ),
        values=(
            Value("filled", "filled", pool.used, "ratio", above=limits["full" if critical else "near_full"]),
            Value("free", "free", pool.free, "bytes"),
            Value("fragmentation", "fragmentation of the free space", pool.fragmentation, "ratio"),
        ),
        evidence=_cited(window, pool, "allocated"),
        advice=(
            f"zfs list -o space -r {operand(whole.name)}   # snapshots hold deleted data",
            "delete, or add vdevs: above 96 % only the reserve of ZFS is left",
        ),
        refuted_by=f"less than {human.percent(limits['near_full'])} %",
    )


def _without(window: Window, whole: PoolAnalysis, vdev: Vdev) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=f"{whole.name}/{vdev.vdev}",
        cause=f"{_named(vdev)}: a {_USES.get(vdev.group, 'device')} that the pool works without",
        values=(Value("state", "state", vdev.state),),
        evidence=cites(window.cite(vdev)),
        advice=(_look(vdev), f"zpool status -v {operand(whole.name)}"),
        refuted_by=f"the state ONLINE or AVAIL of {vdev.vdev}",
    )


_USES = {"logs": "log device", "cache": "cache device", "spares": "spare"}


def _good(whole: PoolAnalysis) -> RuledOut:
    least = min((top.tolerates for top in whole.tops if top.tolerates is not None), default=None)
    more = f", {least} more may fail in each group" if least is not None else ""
    return RuledOut(whole.name, f"{whole.state}, {len(whole.leaves)} devices without errors{more}")


def _out(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    if whole.state not in _OUT:
        return
    said = whole.pool.status if whole.pool is not None else None
    advice = {
        "SUSPENDED": (
            "journalctl -k: did disks, HBA, cable or enclosure go away? Bring them back first",
            f"zpool clear {operand(whole.name)}   # lets the pool go on once its devices are there again",
        )
    }
    state = window.get(PoolState, whole.name)
    yield Finding(
        severity=Severity.CRITICAL,
        subject=whole.name,
        cause=_OUT[whole.state] + (f"; {said}" if said else ""),
        values=(Value("state", "state", whole.state),),
        evidence=cites(window.cite(state) if state is not None else None, *_cited(window, whole.pool, "state")),
        advice=advice.get(
            whole.state, (f"zpool status -v {operand(whole.name)}; zpool import: which devices are missing?",)
        ),
        refuted_by="the state ONLINE or DEGRADED again",
    )


def _degraded(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
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
        cause=f"{_what(devices, missing, replaced)}; {_risk(hurt, worst, missing)}; {doing}",
        values=(
            Value("missing", "children of vdevs without good data", len(missing) if hurt else None, "", above=0),
            Value("spares_in_use", "children that a spare stands in for", len(replaced) if hurt else None),
            Value("tolerates", "further failures that lose no data, in the worst vdev", worst, "", above=1),
            Value("state", "state", whole.state),
        ),
        evidence=cites(
            *(window.cite(v) for v in devices[:6]),
            *_cited(window, whole.pool, "state"),
            window.cite(state) if state is not None else None,
        ),
        advice=tuple(_advice(whole, devices, running=running)),
        refuted_by=f"state ONLINE of {whole.name} and all its vdevs in zpool status",
    )


def _ailing(vdev: Vdev) -> bool:
    """Return whether a device has too many errors and still serves its data."""
    return bool(vdev.leaf) and vdev.state == "DEGRADED"


def _what(devices: list[Vdev], missing: list[Vdev], replaced: list[Vdev]) -> str:
    if not devices:
        return "the pool is degraded; which device it is, zpool status has not told yet"
    names = ", ".join(_named(v) for v in devices[:3])
    more = f" and {len(devices) - 3} more" if len(devices) > 3 else ""
    spare = ", a spare has all its data" if replaced and not missing else ""
    return f"{names}{more}{spare}"


def _named(vdev: Vdev) -> str:
    note = re.sub(r" ?\([^)]*\)", "", vdev.note or "")  # remove trim and scan status
    return f"{vdev.vdev} ({vdev.state}{f', {note}' if note else ''})"


def _risk(hurt: list[TopVdev], worst: int | None, missing: list[Vdev]) -> str:
    if worst is None:
        return "how many more may fail is not known"
    where = next(top.vdev.vdev for top in hurt if top.tolerates == worst)
    if worst < 0:
        return f"{where} lacks more than it can spare"
    if worst == 0:
        return f"no redundancy is left in {where}: the next failure there loses data"
    return f"{worst} more may fail in {where}" + ("" if missing else " without loss")


def _doing(window: Window, whole: PoolAnalysis) -> tuple[str, bool]:
    """Return the recovery status, and whether a recovery is under way."""
    known = next((k for k in rebuild_analyses(window) if _of(k, whole) and k.rebuild.operation in REPAIRS), None)
    if known is not None:
        if known.stands:
            return f"the {known.what} stands still at {known.done} %", False
        return f"the {known.what} is running, {known.done} % done", True
    spares = sum(v.state == "AVAIL" for v in whole.group("spares"))
    return "nothing is resilvering" + (f", spares that are free: {spares}" if spares else ""), False


def _of(known: RebuildAnalysis, whole: PoolAnalysis) -> bool:
    return known.rebuild.kind == "zfs" and known.name.partition("/")[0] == whole.name


def _advice(whole: PoolAnalysis, devices: list[Vdev], *, running: bool) -> Iterator[str]:
    name = whole.name
    if running:
        yield f"let it finish: zpool status {operand(name)}; put no other load on {quoted(name)} that can wait"
    for vdev in devices[:2]:
        known = vdev.path or vdev.vdev
        if vdev.state == "OFFLINE":
            yield f"an administrator took it out: zpool online {operand(name)} {quoted(known)}, or replace it"
            continue
        look = (
            f"journalctl -k | grep -w {operand(vdev.device)}; smartctl -x /dev/{quoted(vdev.device)}"
            if vdev.device
            else "journalctl -k"
        )
        yield f"find out why {quoted(vdev.vdev)} is {vdev.state}: {look}"
        if vdev.state in {"REMOVED", "UNAVAIL"}:
            yield f"if it is back: zpool online {operand(name)} {quoted(known)}"
        spare = next((v for v in whole.group("spares") if v.state == "AVAIL"), None)
        if not running and spare is not None:
            yield (
                f"zpool replace {operand(name)} {quoted(known)} "
                f"{quoted(spare.path or spare.vdev.partition('/')[2])}   # a spare is free"
            )
        else:
            yield (
                f"zpool replace {operand(name)} {quoted(known)} /dev/disk/by-id/NEW"
                "   # a spare in use is set free when that is done"
            )
    if not devices:
        yield f"zpool status -v {operand(name)}"


def _lost(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    pool = whole.pool
    if pool is None or not (pool.data_errors or (pool.errors and pool.data_errors is None)):
        return
    count = f"{pool.data_errors} blocks or files" if pool.data_errors else "some files"
    yield Finding(
        severity=Severity.CRITICAL,
        subject=f"{whole.name}/data",
        cause=f"data is lost: of {count} no copy was good",
        values=(Value("data_errors", "blocks or files that are lost", pool.data_errors, "", above=0),),
        evidence=_cited(window, pool, "errors"),
        advice=(
            f"zpool status -v {operand(whole.name)}   # which files; restore them from the backup",
            (
                f"then zpool clear {operand(whole.name)} and zpool scrub {operand(whole.name)}: the list is "
                "emptied after two clean scrubs"
            ),
        ),
        refuted_by="errors: No known data errors, after a scrub",
        disproof="errors: No known data errors",
    )


def _errors(window: Window, whole: PoolAnalysis, limits: Limits) -> Iterator[Verdict]:
    """Judge devices with errors: growing counts, and existing ones, which may be old."""
    before = [moment.rows for moment in window.moments(Vdev)]
    # RAID-Z and dRAID count checksum errors that no device explains at the vdev.
    inner = [] if any(v.errors for v in whole.leaves) else [v for v in whole.vdevs if not v.leaf and v.errors]
    for vdev in (*whole.leaves, *inner):
        total = vdev.errors
        if not total:
            yield from _late(window, vdev, before, limits)
            continue
        first = next((row for rows in before if (row := rows.get((vdev.pool, vdev.vdev))) is not None), None)
        grown = total - (first.errors or 0) if first is not None and len(before) > 1 else 0
        if grown <= 0 and vdev.state in {"FAULTED", "UNAVAIL", "REMOVED"}:
            continue  # reported as out of service, with the reason
        yield _failing(window, vdev, total, max(grown, 0), limits)


def _late(window: Window, vdev: Vdev, before: Sequence[Mapping[Hashable, Vdev]], limits: Limits) -> Iterator[Finding]:
    """Judge I/Os of a device without errors that took longer than ZFS allows (zio_slow_io_ms, 30 s)."""
    late = vdev.slow_ios or 0
    if not late:
        return
    first = next((row for rows in before if (row := rows.get((vdev.pool, vdev.vdev))) is not None), None)
    grown = max(late - (first.slow_ios or 0), 0) if first is not None and len(before) > 1 else 0
    growing = f", {grown} of them in the last minute" if grown else ", none of them while this was watched"
    yield Finding(
        severity=Severity.WARNING if grown or late >= limits["many"] else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        cause=f"{human.plural(late, 'slow I/O')} of {vdev.vdev}, of 30 s or more, since the import{growing}",
        values=(
            Value("slow_ios", "slow I/Os", late, "", above=limits["many"]),
            Value("grown", "of them while this was watched", grown, "", above=0),
        ),
        evidence=cites(window.cite(vdev)),
        advice=(_look(vdev), f"zpool events -v {operand(vdev.pool)}   # ereport.fs.zfs.delay: when, and of which size"),
        refuted_by="no new ones under load",
    )


def _failing(window: Window, vdev: Vdev, total: int, grown: int, limits: Limits) -> Finding:
    kinds = {"read": vdev.read_errors, "write": vdev.write_errors, "checksum": vdev.checksum_errors}
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    many = total >= limits["many"]
    growing = f", {grown} of them in the last minute" if grown else ", none of them while this was watched"
    cable = vdev.checksum_errors and not vdev.read_errors and not vdev.write_errors
    return Finding(
        severity=Severity.WARNING if grown or many else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        cause=f"{human.number(total)} errors of {vdev.vdev} since they were last cleared ({listed}){growing}",
        values=(
            Value("errors", "errors", total, "", above=limits["many"]),
            Value("grown", "of them while this was watched", grown, "", above=0),
            Value("read", "reads that failed", vdev.read_errors),
            Value("write", "writes that failed", vdev.write_errors),
            Value("checksum", "checksum errors", vdev.checksum_errors),
        ),
        evidence=cites(window.cite(vdev)),
        advice=(
            _look(vdev),
            *(("checksum errors alone: suspect cable, backplane, HBA and memory before the disk",) if cable else ()),
            (
                f"zpool clear {operand(vdev.pool)} {quoted(vdev.path or vdev.vdev)}; zpool scrub "
                f"{operand(vdev.pool)}   # do they come back?"
            ),
        ),
        refuted_by="no new errors after zpool clear and a scrub",
    )


def _look(vdev: Vdev) -> str:
    return (
        f"journalctl -k | grep -w {operand(vdev.device)}; smartctl -x /dev/{quoted(vdev.device)}"
        if vdev.device
        else "journalctl -k"
    )


def _cited(window: Window, pool: Pool | None, field: str) -> tuple[Cite, ...]:
    return cites(window.cite(pool, field)) if pool is not None else ()


ZFS_POOL_DEGRADED = Rule(
    "zfs-pool-degraded",
    "a ZFS pool is suspended, lacks devices, has lost data, is full, or its devices count errors",
    Severity.CRITICAL,
    _check,
    (PoolState,),
    (
        Threshold("many", 100.0, "errors of one device from which they matter even if they do not grow"),
        Threshold("near_full", 0.9, "share of a pool filled that is a warning", "ratio"),
        Threshold("full", 0.95, "share of a pool filled that is critical", "ratio"),
    ),
    covers=(Covers(PoolState), Covers(Pool)),
    remembers=True,
)
