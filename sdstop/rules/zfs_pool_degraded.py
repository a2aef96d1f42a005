"""ZFS pools with faults: bad states, lost redundancy, lost data, device errors."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

from sdstop.analysis.pooling import GOOD, LOST, PoolAnalysis, TopVdev, pool_analyses
from sdstop.analysis.rebuilding import REPAIRS, RebuildAnalysis, rebuild_analyses
from sdstop.collectors.zfs.readings import Pool, PoolState, Vdev
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import (
    Covers,
    Damage,
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

_OUT = {
    "SUSPENDED": ("POOL SUSPENDED: all I/O waits", "All I/O to the pool waits, and so do zpool commands about it."),
    "UNAVAIL": ("POOL UNAVAILABLE: data inaccessible", "The data of the pool is inaccessible."),
    "FAULTED": ("POOL FAULTED: data inaccessible", "The data of the pool is inaccessible."),
}
"""States in which a pool serves nothing: title and impact."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for whole in pool_analyses(window):
        bad = [*_out(window, whole), *_degraded(window, whole), *_lost(window, whole)]
        more = [*_aside(window, whole), *_full(window, whole, limits)]
        yield from (*bad, *more)
        leaves = list(_errors(window, whole, limits))
        yield from leaves
        if whole.pool is None:
            if not bad:
                yield Unchecked(f"kernel state {whole.state}; {_why(window)}", whole.name)
        elif not bad and not any(isinstance(said, Finding) for said in leaves):
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
        yield _without(window, whole, vdev)
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
            title=f"SCAN ERRORS: {human.number(pool.scan_errors)} not repaired",
            cause=f"The last scan left {human.plural(pool.scan_errors, 'error')} unrepaired; none is listed now.",
            impact="Files can be damaged without being listed.",
            values=(Value("scan_errors", "errors not repaired", pool.scan_errors, "", above=0),),
            evidence=_cited(window, pool, "last_scan"),
            advice=(
                "Scrub the pool again; restore files that it lists from the backup.",
                run("zpool", "scrub", *operands(whole.name)),
                run("zpool", "status", "-v", *operands(whole.name), note="damaged files"),
            ),
            refuted_by="a later scrub without errors",
            damage=Damage.DATA,
            view_subject=whole.name,
        )


def _full(window: Window, whole: PoolAnalysis, limits: Limits) -> Iterator[Finding]:
    pool = whole.pool
    if pool is None or pool.used is None or pool.used < limits["near_full"]:
        return
    critical = pool.used >= limits["full"]
    yield Finding(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        subject=f"{whole.name}/space",
        title=f"POOL {'FULL' if critical else 'NEARLY FULL'}: {human.percent(pool.used)}%",
        cause=f"{human.percent(pool.used)}% of the pool is used{_free(pool)}.",
        impact=(
            "Writes are refused, or soon will be."
            if critical
            else "Writes can become slow, and are refused once the pool is full."
        ),
        values=(
            Value("filled", "filled", pool.used, "ratio", above=limits["full" if critical else "near_full"]),
            Value("free", "free", pool.free, "bytes"),
            Value("fragmentation", "fragmentation of the free space", pool.fragmentation, "ratio"),
        ),
        evidence=_cited(window, pool, "allocated"),
        advice=(
            "Delete data or snapshots, or add vdevs.",
            run("zfs", "list", "-o", "space", "-r", *operands(whole.name), note="snapshots hold deleted data"),
        ),
        refuted_by=f"less than {human.percent(limits['near_full'])}% used",
        damage=Damage.CAPACITY,
        view_subject=whole.name,
    )


def _free(pool: Pool) -> str:
    return f"; {human.quantity(pool.free, 'bytes')} is free" if pool.free is not None else ""


def _without(window: Window, whole: PoolAnalysis, vdev: Vdev) -> Finding:
    use, impact, damage = _USES.get(vdev.group, _DEVICE)
    return Finding(
        severity=Severity.WARNING,
        subject=f"{whole.name}/{vdev.vdev}",
        title=f"{use.upper()} {vdev.state}",
        cause=f"The {use} is {vdev.state}{_note(vdev)}; the pool works without it.",
        impact=impact,
        values=(Value("state", "state", vdev.state), Value("note", "note of zpool status", vdev.note)),
        evidence=cites(window.cite(vdev)),
        advice=(
            f"Find why the {use} is {vdev.state}, then replace it.",
            *_look(vdev),
            run("zpool", "status", "-v", *operands(whole.name)),
        ),
        refuted_by=f"the state ONLINE or AVAIL of {vdev.vdev}",
        damage=damage,
        view_subject=vdev.device or whole.name,
    )


_DEVICE = "device", "The pool has one device less.", Damage.REDUNDANCY
_USES = {
    "logs": ("log device", "Synchronous writes can be slower: data disks take the log.", Damage.SPEED),
    "cache": ("cache device", "Reads that it would serve go to the data disks.", Damage.SPEED),
    "spares": ("spare", "This spare cannot replace a failed device.", Damage.REDUNDANCY),
}
"""Uses of devices that a pool works without: name, impact and damage if they are gone."""


def _good(whole: PoolAnalysis) -> RuledOut:
    least = min((top.tolerates for top in whole.tops if top.tolerates is not None), default=None)
    more = f", {least} more can fail in each group" if least is not None else ""
    return RuledOut(whole.name, f"{whole.state}, {len(whole.leaves)} devices without errors{more}")


def _out(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    if whole.state not in _OUT:
        return
    title, impact = _OUT[whole.state]
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
        evidence=cites(window.cite(state) if state is not None else None, *_cited(window, whole.pool, "state")),
        advice=advice,
        refuted_by="the state ONLINE or DEGRADED",
        damage=Damage.AVAILABILITY,
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
            *_cited(window, whole.pool, "state"),
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
    return f"{vdev.vdev} ({vdev.state}{_note(vdev)})"


def _note(vdev: Vdev) -> str:
    """Return the note of zpool status on a device, without trim and scan status."""
    note = re.sub(r" ?\([^)]*\)", "", vdev.note or "")
    return f", {human.safe(note, 20)}" if note else ""


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
        yield from _look(vdev)
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


def _lost(window: Window, whole: PoolAnalysis) -> Iterator[Finding]:
    pool = whole.pool
    if pool is None or not (pool.data_errors or (pool.errors and pool.data_errors is None)):
        return
    count = f"{human.number(pool.data_errors)} blocks or files" if pool.data_errors else "Some files"
    name = operands(whole.name)
    yield Finding(
        severity=Severity.CRITICAL,
        subject=f"{whole.name}/data",
        title=f"DATA LOST: {count[0].lower()}{count[1:]}",
        cause=f"{count} have no intact copy.",
        impact="Reading them fails until they are restored from a backup.",
        values=(Value("data_errors", "blocks or files lost", pool.data_errors, "", above=0),),
        evidence=_cited(window, pool, "errors"),
        advice=(
            "Restore the damaged files from the backup.",
            run("zpool", "status", "-v", *name, note="damaged files"),
            "Then clear and scrub: the list is emptied after two clean scrubs.",
            run("zpool", "clear", *name),
            run("zpool", "scrub", *name),
        ),
        refuted_by='"No known data errors" after a scrub',
        disproof="errors: No known data errors",
        damage=Damage.DATA,
        view_subject=whole.name,
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
    yield Finding(
        severity=Severity.WARNING if grown or late >= limits["many"] else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        title=f"SLOW I/O: {human.number(grown)} new" if grown else f"OLD SLOW I/O: {human.number(late)}",
        cause=f"{human.number(late)} I/Os took 30 s or longer since the import, {_new(grown)}.",
        impact="Requests to the pool can wait 30 s and longer.",
        values=(
            Value("slow_ios", "slow I/Os", late, "", above=limits["many"]),
            Value("grown", "new while watched", grown, "", above=0),
        ),
        evidence=cites(window.cite(vdev)),
        advice=(
            "Check the disk and its link.",
            *_look(vdev),
            run("zpool", "events", "-v", *operands(vdev.pool), note="ereport.fs.zfs.delay: times and sizes"),
        ),
        refuted_by="no new slow I/Os under load",
        damage=Damage.SPEED,
        view_subject=vdev.device or vdev.pool,
    )


def _new(grown: int) -> str:
    return f"{human.number(grown) if grown else 'none'} new"


def _failing(window: Window, vdev: Vdev, total: int, grown: int, limits: Limits) -> Finding:
    kinds = {"read": vdev.read_errors, "write": vdev.write_errors, "checksum": vdev.checksum_errors}
    listed = ", ".join(f"{human.number(number)} {kind}" for kind, number in kinds.items() if number)
    many = total >= limits["many"]
    cable = vdev.checksum_errors and not vdev.read_errors and not vdev.write_errors
    name = operands(vdev.pool)
    return Finding(
        severity=Severity.WARNING if grown or many else Severity.INFO,
        subject=f"{vdev.pool}/{vdev.vdev}",
        title=f"DEVICE ERRORS: {human.number(grown)} new" if grown else f"OLD DEVICE ERRORS: {human.number(total)}",
        cause=f"{human.number(total)} errors ({listed}), {_new(grown)}.",
        impact=(
            "ZFS can take the device out of service, and redundancy with it."
            if grown
            else "The device is in service; errors are counted since the last clear."
        ),
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
            *_look(vdev),
            run("zpool", "clear", *name, vdev.path or vdev.vdev),
            run("zpool", "scrub", *name, note="errors that return are real"),
        ),
        refuted_by="no new errors after zpool clear and a scrub",
        view_subject=vdev.device or vdev.pool,
    )


def _look(vdev: Vdev) -> Iterator[Advice]:
    if vdev.device:
        yield run("journalctl", "-k").pipe("grep", "-w", *operands(vdev.device))
        yield run("smartctl", "-x", f"/dev/{vdev.device}")
    else:
        yield run("journalctl", "-k")


def _cited(window: Window, pool: Pool | None, field: str) -> tuple[Cite, ...]:
    return cites(window.cite(pool, field)) if pool is not None else ()


ZFS_POOL_DEGRADED = Rule(
    "zfs-pool-degraded",
    "ZFS pool suspended, degraded or full, with lost data or device errors",
    Severity.CRITICAL,
    _check,
    (PoolState,),
    (
        Threshold("many", 100.0, "errors of a device that matter without new ones"),
        Threshold("near_full", 0.9, "used share of a pool, warning", "ratio"),
        Threshold("full", 0.95, "used share of a pool, critical", "ratio"),
    ),
    covers=(Covers(PoolState), Covers(Pool)),
    remembers=True,
    damage=Damage.REDUNDANCY,
    view="disks",
)
