"""Rebuilds held back by a speed limit: md's own, DRBD's, or a cluster policy."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.rebuilds.rebuilding import (
    BUSY,
    LEAST,
    NEAR,
    REPAIRS,
    RebuildAnalysis,
    SpeedLimit,
    active_throttle,
    rebuild_analyses,
)
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.disk import DiskActivity
from sdstop.readings.rebuild import Rebuild

_HELD = REPAIRS | {"rebalance"}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for known in rebuild_analyses(window):
        pace, row = known.pace, known.rebuild
        if row.state != "running" or row.operation not in _HELD or known.stands:
            yield Unchecked(known.not_judged, known.name, calm=True)
            continue
        limit = active_throttle(known, limits["near"], limits["least"], limits["busy"])
        if row.speed_max is None and row.speed_min is None:
            # ZFS has no speed limits; its throttles are shares of queues
            none = row.kind == "zfs"
            yield Unchecked("ZFS has no speed limits" if none else "speed limits unavailable", known.name,
                            calm=none)  # fmt: skip
        elif pace is None or pace.rate is None or pace.seconds < limits["seconds"]:
            yield Unchecked(
                f"collecting data: the speed needs {limits['seconds']:g} s of progress", known.name, gap=Gap.EARLY
            )
        elif not known.loads and (row.kind == "md" or row.devices):
            yield Unchecked("member load unavailable", known.name)
        elif limit is not None:
            yield _throttled(window, known, limit, _severity(known, limits))
        else:
            yield RuledOut(known.name, _good(known, pace.rate))


def _good(known: RebuildAnalysis, rate: float) -> str:
    row, busiest = known.rebuild, known.busiest
    load = f", busiest member {busiest.device} {human.percent(busiest.busy)}%" if busiest is not None else ""
    limits = [human.quantity(limit, "bytes_per_second") for limit in (row.speed_min, row.speed_max)]
    words = f"limits {limits[0]} and {limits[1]}" if row.kind == "md" else f"limit {limits[1]}"
    return f"{human.quantity(rate, 'bytes_per_second')}; {words}{load}"


def _severity(known: RebuildAnalysis, limits: Limits) -> Severity:
    """Return warning if redundancy depends on the rebuild for more than moments."""
    waits = known.array is None or known.array.degraded is None or known.array.degraded > 0
    waits = waits and known.rebuild.operation in REPAIRS
    remaining = known.pace.eta if known.pace is not None else None
    return Severity.WARNING if waits and (remaining or 0.0) >= limits["worth"] else Severity.INFO


def _throttled(window: Window, known: RebuildAnalysis, limit: SpeedLimit, severity: Severity) -> Finding:
    rate = (known.pace.rate if known.pace is not None else None) or 0.0
    busiest = known.busiest
    busy = busiest.busy if busiest is not None else None
    device = busiest.device if busiest is not None else ""
    shown = human.quantity(rate, "bytes_per_second")
    bound = human.quantity(limit.limit, "bytes_per_second")
    what = "REBALANCE" if known.rebuild.operation == "rebalance" else "REBUILD"
    if limit.which == "max":
        title = f"{what} THROTTLED to {bound}"
        cause = f"Limited to {bound} by {human.safe(limit.setting, 28)}; {shown} now."
        room = rate / busy if busy else None
    else:
        title = f"{what} YIELDS to other I/O"
        cause = f"Yields to other I/O: {shown}, guaranteed minimum {bound}."
        room = None
    only = f"; {human.safe(device, 12)} is only {human.percent(busy)}% busy" if device and limit.which == "max" else ""
    row = window.get(DiskActivity, device) if device else None
    return Finding(
        severity=severity,
        subject=known.name,
        title=title,
        cause=cause,
        impact=f"{known.soon if only else known.end}{only}.",
        values=(
            Value("rate", "speed measured", rate, "bytes_per_second", of=float(limit.limit)),
            Value("limit", f"speed limit ({limit.which})", limit.limit, "bytes_per_second"),
            Value("set_by", "limit set by", limit.set_by),
            Value("busy", f"busy time of {device}" if device else "busy time", busy, "ratio"),
            Value("room", "possible speed of the members", room, "bytes_per_second"),
            Value("foreground", "other I/O on the array", known.own.bytes if known.own else None, "bytes_per_second"),
        ),
        evidence=cites(
            window.cite(known.rebuild),
            window.cite(known.rebuild, f"speed_{limit.which}"),
            window.cite(row) if row is not None else None,
        ),
        advice=_advice(limit, known, rate),
        refuted_by="an unchanged speed after raising the limit",
        confidence=known.pace.confidence if known.pace is not None else None,
        explains=(f"rebuild-slow:{known.name}",),
        damage=known.damage,
        view=known.view,
    )


def _advice(limit: SpeedLimit, known: RebuildAnalysis, rate: float) -> tuple[Advice, ...]:
    if not limit.path:
        return known.lines(*known.advice.faster)
    kib = max(int(max(limit.limit, rate) * 4) // 1024, 4 * 1024)
    less = "; other users get less" if limit.which == "min" else ""
    return (
        f"Raise the {'minimum' if limit.which == 'min' else 'maximum'} speed until the rebuild is done{less}.",
        run("echo", str(kib), into=limit.path, note="KiB/s, for this array until it stops"),
        run("sysctl", f"{limit.sysctl}={kib}", note="for every array of the node"),
        run("echo", "system", into=limit.path, note="back to the limit of the node"),
    )


REBUILD_THROTTLED = Rule(
    "rebuild-throttled",
    "rebuild held back by a speed limit",
    Severity.WARNING,
    _check,
    (Rebuild,),
    (
        Threshold("near", NEAR, "distance to the upper limit of a throttled rebuild", "ratio"),
        Threshold("least", LEAST, "speed of a yielding rebuild, as a multiple of the lower limit"),
        Threshold("busy", BUSY, "busy time of a member above which the disks are the limit", "ratio"),
        Threshold("worth", 600.0, "remaining time below which it is info", "seconds"),
        Threshold("seconds", 10.0, "time of progress observed", "seconds"),
    ),
    view="disks",
    advice="Raise the maximum speed until the rebuild is done.",
)
