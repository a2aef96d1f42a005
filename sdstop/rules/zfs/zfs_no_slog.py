"""ZFS intent logs on rotating disks: each synchronous wait takes a rotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.space.pooling import PoolAnalysis, disk_of, pool_analyses, rotates
from sdstop.collectors.zfs.datasets import Dataset, DatasetActivity, DatasetSettings, IntentLog
from sdstop.collectors.zfs.readings import PoolState, Vdev, VdevLoad
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.text import added

SECONDS = 60.0
"""Time span over which commits are averaged."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    pools = pool_analyses(window)
    for whole in pools:
        if whole.pool is None:
            yield Unchecked("devices of the pool unknown: waiting for zpool status", whole.name)
            continue
        rate, whose = _commits(window, whole, len(pools))
        logs = whole.group("logs")
        if rate is None:
            yield Unchecked(
                f"collecting data: needs {limits['seconds']:g} s of intent-log counters", whole.name, gap=Gap.EARLY
            )
        elif rate < limits["commits"]:
            yield RuledOut(whole.name, f"{human.number(rate)} intent-log commits/s")
        elif logs and any(v.state == "ONLINE" for v in logs):
            yield RuledOut(whole.name, f"{human.number(rate)} intent-log commits/s, on {_names(logs)}")
        else:
            yield _judge(window, whole, rate, whose, limits)


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


def _judge(window: Window, whole: PoolAnalysis, rate: float, whose: str, limits: Limits) -> Verdict:
    disks = [v for v in whole.leaves if v.group == "data"]
    slow = rotates(window, disks)
    if slow is None:
        return Unchecked("disk type (rotating or flash) unknown", whole.name)
    if not slow:
        return RuledOut(whole.name, f"{human.number(rate)} intent-log commits/s; none of {len(disks)} disks rotates")
    load = window.get(VdevLoad, (whole.name, whole.name))
    queued = load.sync_writes if load is not None else None
    broken = [v for v in whole.group("logs") if v.state != "ONLINE"]
    fault = f"LOG DEVICE {broken[0].state}" if broken else "NO LOG DEVICE"
    lacks = "the pool has no log device"
    if broken:
        lacks = f"log device {human.safe(_names(broken), 12)} is {broken[0].state}"
    log = next(iter(window.rows(IntentLog).values()), None)
    counted = next((d for d in window.where(Dataset, "pool", whole.name) if d.dataset == whose), None)
    forced = [s.dataset for s in window.where(DatasetSettings, "pool", whole.name) if s.sync == "always"]
    disk = next((d for v in disks if (d := disk_of(window, v.device)) is not None and d.rotational), None)
    wait = load.write_wait / 1e9 if load is not None and load.write_wait is not None else None
    return Finding(
        severity=Severity.WARNING,
        subject=whole.name,
        title=f"{fault}: {human.number(rate)} sync waits/s",
        cause=f"{human.number(rate)} intent-log commits/s on rotating disks; {lacks}.",
        impact=f"Each commit takes a disk rotation, {human.quantity(_TURN, 'seconds')}, and more on busy disks.",
        values=(
            Value("commits", "intent-log commits", rate, "per_second", above=limits["commits"]),
            Value("dataset", "dataset with most commits", whose or None),
            Value("disks", "rotating disks", len(disks)),
            Value("queued", "synchronous writes queued", queued),
            Value("write_wait", "mean write time since the import", wait, "seconds"),
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
            "Add a mirrored log device: SSDs with power-loss protection.",
            run("zpool", "add", *operands(whole.name), "log", "mirror", "/dev/disk/by-id/A", "/dev/disk/by-id/B"),
            *(run("zfs", "get", "sync", *operands(name), note="sync=always may be unintended") for name in forced[:1]),
            "Typical sources: flushes of NFS and iSCSI clients. sync=disabled would lose them.",
        ),
        refuted_by="unchanged application latency after adding a log device",
        explains=tuple(f"zvol-slow-path:{s.dataset}" for s in _volumes(window, whole, whose)),
        standing=not broken,
        cost=float(queued or 0),
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
    "synchronous writes to a rotating ZFS pool without a working log device",
    Severity.WARNING,
    _check,
    (PoolState,),
    (
        Threshold("commits", 20.0, "intent-log commits per second", "per_second"),
        Threshold("seconds", 10.0, "time of counters needed", "seconds"),
    ),
    view="disks",
    advice="Add a mirrored log device: SSDs with power-loss protection.",
)
