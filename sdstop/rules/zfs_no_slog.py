"""ZFS intent logs on rotating disks: each synchronous wait takes a rotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.pooling import PoolAnalysis, disk_of, pool_analyses, rotates
from sdstop.collectors.zfs.readings import (
    Dataset,
    DatasetActivity,
    DatasetSettings,
    IntentLog,
    PoolState,
    Vdev,
    VdevLoad,
)
from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import operand
from sdstop.core.text import added

SECONDS = 60.0
"""Time span over which commits are averaged."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    pools = pool_analyses(window)
    for whole in pools:
        if whole.pool is None:
            yield Unchecked("which devices the pool has is not known: zpool status has not answered", whole.name)
            continue
        rate, whose = _commits(window, whole, len(pools))
        logs = whole.group("logs")
        if rate is None:
            yield Unchecked(f"needs {limits['seconds']:g} s of what the intent log counts", whole.name)
        elif rate < limits["commits"]:
            yield RuledOut(whole.name, f"{human.number(rate)} waits for the intent log a second")
        elif logs and any(v.state == "ONLINE" for v in logs):
            yield RuledOut(
                whole.name, f"{human.number(rate)} waits for the intent log a second; it is on {_names(logs)}"
            )
        else:
            yield _judge(window, whole, rate, whose)


def _commits(window: Window, whole: PoolAnalysis, pools: int) -> tuple[float | None, str]:
    """Return waits per second, and their scope: by dataset since OpenZFS 2.2, otherwise all pools together."""
    recent = window.last(SECONDS)
    own: dict[str, list[float]] = {}
    for moment in recent.moments(DatasetActivity):
        for row in moment.rows.values():
            if row.pool == whole.name and row.commits is not None:
                own.setdefault(row.dataset, []).append(row.commits)
    if own:
        means = {name: added(rates) / len(rates) for name, rates in own.items()}
        return added(means.values()), max(means, key=lambda name: means[name])
    moments = [(m.started, log) for m in recent.moments(IntentLog) if (log := m.rows.get("zil"))]
    told = [(started, log.commits) for started, log in moments if log.commits is not None]
    if pools > 1 or len(told) < 2 or told[-1][0] - told[0][0] < _LEAST or told[-1][1] < told[0][1]:
        return None, ""
    return (told[-1][1] - told[0][1]) / (told[-1][0] - told[0][0]), ""


_LEAST = 9.5
"""Minimum seconds between counter samples."""


def _judge(window: Window, whole: PoolAnalysis, rate: float, whose: str) -> Verdict:
    disks = [v for v in whole.leaves if v.group == "data"]
    slow = rotates(window, disks)
    if slow is None:
        return Unchecked("whether the pool's disks rotate is not known", whole.name)
    if not slow:
        return RuledOut(whole.name, f"{human.number(rate)} waits a second, and none of its {len(disks)} disks rotates")
    load = window.get(VdevLoad, (whole.name, whole.name))
    queued = load.sync_writes if load is not None else None
    broken = [v for v in whole.group("logs") if v.state != "ONLINE"]
    lacks = f"its log device {_names(broken)} is {broken[0].state}" if broken else "it has no log device"
    by = f", most of them by {whose}" if whose else ""
    log = next(iter(window.rows(IntentLog).values()), None)
    counted = next((d for d in window.where(Dataset, "pool", whole.name) if d.dataset == whose), None)
    forced = [s.dataset for s in window.where(DatasetSettings, "pool", whole.name) if s.sync == "always"]
    disk = next((d for v in disks if (d := disk_of(window, v.device)) is not None and d.rotational), None)
    wait = load.write_wait / 1e9 if load is not None and load.write_wait is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=whole.name,
        cause=(
            f"applications wait for the intent log {human.number(rate)} times a second{by}, and {lacks}: each wait "
            "takes a "
            f"turn of rotating disks, some {human.quantity(_TURN, 'seconds')} and more when they are busy"
        ),
        values=(
            Value("commits", "waits for the intent log", rate, "per_second"),
            Value("disks", "rotating disks that it is on", len(disks)),
            Value("queued", "writes in the queue that somebody waits for", queued),
            Value("write_wait", "mean time of a write since the import", wait, "seconds"),
            Value("always", "datasets with sync=always", len(forced)),
        ),
        evidence=cites(
            window.cite(counted, "commits") if counted is not None else None,
            window.cite(log, "commits") if log is not None and counted is None else None,
            window.cite(log, "slog_writes") if log is not None and counted is None else None,
            *(window.cite(v) for v in (broken or disks[:1])),
            window.cite(disk, "rotational") if disk is not None else None,
        ),
        advice=(
            (
                f"zpool add {operand(whole.name)} log mirror /dev/disk/by-id/A /dev/disk/by-id/B"
                "   # with power-loss protection"
            ),
            *((f"is sync=always meant? zfs get sync {operand(forced[0])}",) if forced else ()),
            "who writes so? NFS and iSCSI wait for what their clients flush; sync=disabled would lose it",
        ),
        refuted_by="the same wait of the applications with a log device",
        explains=tuple(f"zvol-slow-path:{s.dataset}" for s in _volumes(window, whole, whose)),
    )


_TURN = 0.008
"""Seconds per rotation at 7200 rpm."""


def _volumes(window: Window, whole: PoolAnalysis, whose: str) -> list[DatasetSettings]:
    rows = [row for row in window.where(DatasetSettings, "pool", whole.name) if row.kind == "volume"]
    return [row for row in rows if not whose or row.dataset == whose]


def _names(vdevs: Sequence[Vdev]) -> str:
    return ", ".join(v.vdev for v in vdevs[:3])


ZFS_NO_SLOG = Rule(
    "zfs-no-slog",
    "applications wait for ZFS's intent log on rotating disks, and the pool has no log device",
    Severity.WARNING,
    _check,
    (PoolState,),
    (
        Threshold("commits", 20.0, "waits for the intent log from which it matters", "per_second"),
        Threshold("seconds", 10.0, "that its counters must have been watched", "seconds"),
    ),
)
