"""Nearly full cluster pools; for ScaleIO, relative to the capacity without the spare."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.core import format as human
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.readings.cluster import Cluster, ClusterPool


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for cluster in window.rows(Cluster).values():
        yield from _whole(window, cluster, limits)
    for pool in window.rows(ClusterPool).values():
        near, full = pool.near_full or limits["near_full"], pool.full or limits["full"]
        if pool.filled is None:
            yield Unchecked("how much of it is in use is not told", pool.name)
            continue
        spare = f" (without {human.quantity(pool.spare, 'bytes')} of spare)" if pool.spare else ""
        told = f"{human.percent(pool.filled)} % full{spare}"
        if pool.filled < near:
            yield RuledOut(pool.name, f"{told}, warned from {human.percent(near)} %")
            continue
        critical = pool.filled >= full
        yield Finding(
            severity=Severity.CRITICAL if critical else Severity.WARNING,
            subject=pool.name,
            cause=(
                f"{told}: {'writes will soon be refused' if critical else 'it is time to free space or add devices'}"
            ),
            values=(
                Value("filled", "filled", pool.filled, "ratio", above=full if critical else near),
                Value("used", "in use", pool.used, "bytes"),
                Value("capacity", "raw capacity", pool.capacity, "bytes"),
                Value("spare", "spare", pool.spare, "bytes"),
            ),
            evidence=cites(window.cite(pool, "used"), window.cite(pool)),
            advice=_advice(pool),
            refuted_by=f"less than {human.percent(near)} %",
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
        cause=f"all of it is {human.percent(filled)} % full: writes will soon be refused",
        values=(Value("filled", "filled", filled, "ratio", above=limits["full"]),),
        evidence=cites(window.cite(cluster)),
        advice=("ceph df; ceph osd df tree   # one OSD that is full stops the pool", "delete, or add OSDs"),
        refuted_by=f"less than {human.percent(limits['full'])} %",
    )


def _advice(pool: ClusterPool) -> tuple[str, ...]:
    if pool.kind == "ceph":
        return ("ceph df; ceph osd df tree   # one OSD that is full stops the pool", "delete, or add OSDs")
    return (
        "delete volumes and snapshots that nobody needs; thin volumes give back what was discarded in whole MiB",
        "add devices; do not lower the spare for it: spare-below-fault-set says what it is for",
    )


CAPACITY_NEAR_FULL = Rule(
    "capacity-near-full",
    "a pool of a cluster is nearly full",
    Severity.CRITICAL,
    _check,
    (ClusterPool,),
    (
        Threshold("near_full", 0.8, "share filled that is a warning, where the pool has no such threshold", "ratio"),
        Threshold("full", 0.9, "share filled that is critical, where the pool has no such threshold", "ratio"),
    ),
)
