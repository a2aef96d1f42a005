"""Nearly full cluster pools; for ScaleIO, relative to the capacity without the spare."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.ceph_effect import explained
from sdstop.analysis.clusters.osd import is_osd, subject_of
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterPool

_FILL_CHECKS = (
    "OSD_NEARFULL", "POOL_NEARFULL", "OSD_BACKFILLFULL", "POOL_BACKFILLFULL", "OSD_FULL", "POOL_FULL",
)  # fmt: skip
"""Ceph's health checks for full OSDs and pools."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for cluster in window.rows(Cluster).values():
        yield from _whole(window, cluster, limits)
    yield from _devices(window)
    for pool in window.rows(ClusterPool).values():
        near, full = pool.near_full or limits["near_full"], pool.full or limits["full"]
        if pool.filled is None:
            yield Unchecked("pool usage unavailable", pool.name)
            continue
        spare = f" ({human.quantity(pool.spare, 'bytes')} spare excluded)" if pool.spare else ""
        told = f"{human.percent(pool.filled)}% of usable capacity in use{spare}"
        if pool.filled < near:
            yield RuledOut(pool.name, f"{told}, warning above {human.percent(near)}%")
            continue
        critical = pool.filled >= full
        severity = Severity.CRITICAL if critical else Severity.WARNING
        title, impact = "POOL NEARLY FULL", "Writes are refused once the pool is full."
        if pool.kind == "ceph":
            told = f"The fullest OSD is {human.percent(pool.filled)}% full"
            title = "OSD FULL" if critical else "OSD NEARLY FULL"
            impact = (
                "Pools with data on it refuse writes."
                if critical
                else "Pools with data on it refuse writes once it is full."
            )
        elif critical:
            impact = "Writes will be refused soon."
        yield Finding(
            severity=severity,
            subject=pool.name,
            title=title,
            cause=f"{told}.",
            impact=impact,
            values=(
                Value("filled", "use", pool.filled, "ratio", above=full if critical else near),
                Value("used", "space used", pool.used, "bytes"),
                Value("capacity", "raw capacity", pool.capacity, "bytes"),
                Value("spare", "spare", pool.spare, "bytes"),
            ),
            evidence=cites(window.cite(pool, "used"), window.cite(pool)),
            advice=_advice(pool),
            refuted_by=f"use below {human.percent(near)}%",
            explains=explained(window, pool.cluster, _FILL_CHECKS, severity),
        )


def _whole(window: Window, cluster: Cluster, limits: Limits) -> Iterator[Finding]:
    """Judge a Ceph cluster as a whole: if it is full, so is an OSD, whatever is known of each."""
    if cluster.kind != "ceph" or not cluster.capacity or cluster.used is None:
        return
    filled = cluster.used / cluster.capacity
    if filled < limits["full"]:
        return
    yield Finding(
        severity=Severity.CRITICAL,
        subject=cluster.cluster,
        title="CLUSTER NEARLY FULL",
        cause=f"{human.percent(filled)}% of the cluster's capacity is in use.",
        impact="Writes will be refused soon: one full OSD stops its pools.",
        values=(Value("filled", "use", filled, "ratio", above=limits["full"]),),
        evidence=cites(window.cite(cluster)),
        advice=_CEPH,
        refuted_by=f"use below {human.percent(limits['full'])}%",
    )


_NEAR, _FULL = 0.85, 0.95
"""Use of an OSD at which Ceph warns, and at which it refuses writes, unless it is configured otherwise."""


def _devices(window: Window) -> Iterator[Verdict]:
    """Judge OSDs by themselves where no pool is known, as in the output of `ceph osd df`."""
    for device in window.rows(ClusterDevice).values():
        known = device.capacity and device.used is not None and is_osd(device)
        if not known or any(window.where(ClusterPool, "cluster", device.cluster)):
            continue
        filled = (device.used or 0) / (device.capacity or 1)
        if filled < _NEAR:
            yield RuledOut(subject_of(device), f"{human.percent(filled)}% full")
            continue
        full = filled >= _FULL
        yield Finding(
            severity=Severity.CRITICAL if full else Severity.WARNING,
            subject=subject_of(device),
            title="OSD FULL" if full else "OSD NEARLY FULL",
            cause=f"{human.safe(device.device, 20)} is {human.percent(filled)}% full.",
            impact=f"Pools with data on it refuse writes{'' if full else ' once it is full'}.",
            values=(
                Value("filled", "use", filled, "ratio", above=_FULL if full else _NEAR),
                Value("used", "space used", device.used, "bytes"),
                Value("capacity", "capacity", device.capacity, "bytes"),
            ),
            evidence=cites(window.cite(device, "used"), window.cite(device)),
            advice=_CEPH,
            refuted_by=f"use below {human.percent(_NEAR)}% in ceph osd df",
        )


_CEPH = (
    "Delete data or add OSDs; one full OSD stops the pool.",
    run("ceph", "df"),
    run("ceph", "osd", "df", "tree"),
)


def _advice(pool: ClusterPool) -> tuple[Advice, ...]:
    if pool.kind == "ceph":
        return _CEPH
    return (
        "Delete unused volumes and snapshots, or add devices.",
        "Thin volumes return discarded space in whole MiB.",
        "Do not reduce the spare (see spare-below-fault-set).",
    )


CAPACITY_NEAR_FULL = Rule(
    "capacity-near-full",
    "cluster pool nearly full",
    Severity.CRITICAL,
    _check,
    (ClusterPool,),
    (
        Threshold("near_full", 0.8, "use that is a warning, for pools without a threshold", "ratio"),
        Threshold("full", 0.9, "use that is critical, for pools without a threshold", "ratio"),
    ),
    instead=(ClusterDevice,),
    damage=Damage.CAPACITY,
    view="cluster",
    advice="Delete unused volumes and snapshots, or add devices.",
)
