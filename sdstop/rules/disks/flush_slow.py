"""Slow flushes of a volatile write cache: each synchronous write waits for one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.health.readings import DiskHealth
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.averages import fmean
from sdstop.core.columns import values_beside, values_of
from sdstop.core.finding import SIGN, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Moment, Window
from sdstop.core.model import Rows
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.text import added
from sdstop.readings.disk import Disk, DiskActivity

_CERTAIN = 0.9
"""Share of the limit below which samples cannot change the verdict: they miss the first interval at most."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments, counted = window.moments(DiskActivity), window.moments(Disk)
    told = _few(counted, limits)
    for device, disk in window.rows(BlockDevice).items():
        if disk.parent is not None or disk.kind not in {"disk", "nvme"}:
            continue
        few = told.get(disk.device)
        if few is not None:
            yield from few
            continue
        rows = [(m.seconds or 0.0, row) for m in moments if (row := m.rows.get(device)) is not None]
        flushing = [(seconds, row) for seconds, row in rows if row.flush_wait is not None and row.flushes_per_second]
        if flushing:
            yield _judge(window, disk, [row for _, row in rows], flushing, added(s for s, _ in rows), limits)


def _few(counted: Sequence[Moment[Disk]], limits: Limits) -> Mapping[Hashable, tuple[Verdict, ...]]:
    """Return the verdicts of the devices whose counters alone show that flushes take little time.

    Most disks flush seldom or never, and a window has dozens of samples of each.
    """
    found: dict[Hashable, tuple[Verdict, ...]] = {}
    if len(counted) < 2:
        return found
    old, new = cast("Rows", counted[0].rows), cast("Rows", counted[-1].rows)
    seconds = counted[-1].started - counted[0].started
    columns = [
        each for name in ("flushes", "flush_time") for each in (values_of(new, name), values_beside(old, new, name))
    ]
    for device, after, before, time, earlier in zip(new, *columns, strict=True):
        if before is None or after is None:
            continue
        count = after - before
        if count == 0:
            found[device] = ()
            continue
        spent = ((time or 0) - (earlier or 0)) / 1000
        if count > 0 and spent >= 0 and seconds >= limits["seconds"] and spent < limits["share"] * seconds * _CERTAIN:
            said = f"{human.number(count / seconds)} flushes/s of {human.quantity(spent / count, 'seconds')}"
            found[device] = (RuledOut(str(device), said),)
    return found


def _judge(
    window: Window,
    disk: BlockDevice,
    rows: Sequence[DiskActivity],
    flushing: Sequence[tuple[float, DiskActivity]],
    seconds: float,
    limits: Limits,
) -> Verdict:
    count = added((row.flushes_per_second or 0.0) * each for each, row in flushing)
    spent = added((row.flushes_per_second or 0.0) * (row.flush_wait or 0.0) * each for each, row in flushing)
    wait, rate, share = spent / count, count / seconds, spent / seconds
    said = f"{human.number(rate)} flushes/s of {human.quantity(wait, 'seconds')}"
    limit = limits["rotating"] if disk.rotational else limits["flash"]
    good = share < limits["share"] or wait < limit
    if seconds + 0.5 < limits["seconds"]:
        span = f"collecting data: {seconds:.0f} of {limits['seconds']:g} s"
        if good or seconds < SIGN:
            return Unchecked(span, disk.device, gap=Gap.EARLY)
        return Unchecked(f"{said}; {span}", disk.device, gap=Gap.SIGNS)
    if good:
        return RuledOut(disk.device, said)
    writes = [row.write_wait for row in rows if row.write_wait is not None]
    write_wait = fmean(writes) if writes else None
    return _finding(window, disk, flushing[-1][1], (rate, wait, share, write_wait, limit), limits)


def _finding(
    window: Window,
    disk: BlockDevice,
    row: DiskActivity,
    measured: tuple[float, float, float, float | None, float],
    limits: Limits,
) -> Finding:
    rate, wait, share, write_wait, limit = measured
    health = window.get(DiskHealth, disk.device)
    protected = health.protected if health is not None else None
    volatile = disk.write_cache == "write back"
    took = human.quantity(wait, "seconds")
    what = "its volatile write cache" if volatile and protected is not True else "its write cache"
    return Finding(
        severity=Severity.WARNING,
        subject=disk.device,
        title=f"SLOW FLUSHES: {took} each",
        cause=f"{human.number(rate)} flushes/s of {what} take {took} each.",
        impact=f"Synchronous writes wait for flushes {human.percent(min(share, 1.0))}% of the time.",
        values=(
            Value("flush_wait", "mean flush latency", wait, "seconds", above=limit),
            Value("share", "flushes in flight, mean", share, "", above=limits["share"]),
            Value("flushes", "flushes", rate, "per_second"),
            Value("write_wait", "mean write latency", write_wait, "seconds"),
            Value("write_cache", "write cache", disk.write_cache),
            Value("protected", "protected against loss of power", {True: "yes", False: "no", None: None}[protected]),
        ),
        evidence=cites(window.cite(row), window.cite(disk, "write_cache")),
        advice=tuple(_advice(disk)),
        refuted_by="an unchanged latency of synchronous writes without flushes",
        cost=share,
    )  # fmt: skip


def _advice(disk: BlockDevice) -> Iterator[Advice]:
    yield "Put logs and databases on a disk with power-loss protection."
    yield run("cat", f"/sys/block/{disk.device}/queue/write_cache", note="write back: flushes are needed")
    yield "Find the programs that call fsync most; each call is a flush."


FLUSH_SLOW = Rule(
    "flush-slow",
    "slow flushes that synchronous writes wait for",
    Severity.WARNING,
    _check,
    (BlockDevice, DiskActivity),
    (
        Threshold("flash", 0.003, "mean flush latency of flash", "seconds"),
        Threshold("rotating", 0.03, "mean flush latency of rotating disks", "seconds"),
        Threshold("share", 0.3, "mean number of flushes in flight"),
        Threshold("seconds", 10.0, "minimum time over which flushes are measured", "seconds"),
    ),
    covers=(),
    many="flush slowly",
    view="disks",
    advice="Put logs and databases on a disk with power-loss protection.",
)
