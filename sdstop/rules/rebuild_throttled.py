"""Rebuilds held back by a speed limit: md's own, DRBD's, or a cluster policy."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.rebuilding import (
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
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted
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
            yield Unchecked("ZFS has no speed limits" if none else "its speed limits are not known", known.name,
                            calm=none)  # fmt: skip
        elif pace is None or pace.rate is None or pace.seconds < limits["seconds"]:
            yield Unchecked(f"needs {limits['seconds']:g} s of progress to know its speed", known.name)
        elif not known.loads and (row.kind == "md" or row.devices):
            yield Unchecked("the load of its members is not known", known.name)
        elif limit is not None:
            yield _throttled(window, known, limit, _severity(known, limits))
        else:
            yield RuledOut(known.name, _good(known, pace.rate))


def _good(known: RebuildAnalysis, rate: float) -> str:
    row, busiest = known.rebuild, known.busiest
    load = f", busiest member {busiest.device} {human.percent(busiest.busy)} %" if busiest is not None else ""
    limits = [human.quantity(limit, "bytes_per_second") for limit in (row.speed_min, row.speed_max)]
    words = f"its limits are {limits[0]} and {limits[1]}" if row.kind == "md" else f"its limit is {limits[1]}"
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
    if limit.which == "max":
        summary = f"{known.what} goes at {shown}, held by its limit of {bound} ({limit.set_by})"
        if device:
            summary += f", while the busiest member, {device}, is {human.percent(busy)} % busy"
        room = rate / busy if busy else None
    else:
        summary = (
            f"{known.what} yields to other I/O on {known.name}: {shown}, near the {bound} below which md yields to "
            f"nobody ({limit.set_by})"
        )
        room = None
    row = window.get(DiskActivity, device) if device else None
    return Finding(
        severity=severity,
        subject=known.name,
        cause=summary,
        values=(
            Value("rate", "speed seen", rate, "bytes_per_second", above=float(limit.limit)),
            Value("limit", f"speed limit ({limit.which})", limit.limit, "bytes_per_second"),
            Value("busy", f"busy time of {device}" if device else "busy time", busy, "ratio"),
            Value("room", "what the members might do", room, "bytes_per_second"),
            Value("foreground", "other I/O on the array", known.own.bytes if known.own else None, "bytes_per_second"),
        ),
        evidence=cites(
            window.cite(known.rebuild),
            window.cite(known.rebuild, f"speed_{limit.which}"),
            window.cite(row) if row is not None else None,
        ),
        advice=_advice(limit, known, rate),
        refuted_by="a speed that stays the same when the limit is raised",
        confidence=known.pace.confidence if known.pace is not None else None,
        explains=(f"rebuild-slow:{known.name}",),
    )


def _advice(limit: SpeedLimit, known: RebuildAnalysis, rate: float) -> tuple[str, ...]:
    if not limit.path:
        return known.lines(*known.advice.faster)
    kib = max(int(max(limit.limit, rate) * 4) // 1024, 4 * 1024)
    first = f"echo {kib} > {quoted(limit.path)}   # KiB/s, this array alone, until it is stopped"
    back = f"echo system > {quoted(limit.path)}   # back to the node's limit when it is done"
    node = f"sysctl {quoted(limit.sysctl)}={kib}   # every array of the node"
    if limit.which == "min":
        return (first, node, f"what uses {quoted(known.name)} now gets less; take it back when that hurts: {back}")
    return (first, node, back)


REBUILD_THROTTLED = Rule(
    "rebuild-throttled",
    "a rebuild is held back by a speed limit",
    Severity.WARNING,
    _check,
    (Rebuild,),
    (
        Threshold("near", NEAR, "as near to the upper limit counts as held by it", "ratio"),
        Threshold("least", LEAST, "up to so many times the lower limit counts as yielding to other I/O"),
        Threshold("busy", BUSY, "busy time of a member from which the disks, not the limit, hold it", "ratio"),
        Threshold("worth", 600.0, "remaining time below which it is only mentioned", "seconds"),
        Threshold("seconds", 10.0, "progress that must have been watched", "seconds"),
    ),
)
