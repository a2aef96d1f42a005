"""OSDs of Ceph that are down, with the disk on this node if it has one."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.ceph_effect import explained
from sdstop.analysis.clusters.osd import disk_advice, is_osd, subject_of, words_of
from sdstop.collectors.ceph.readings import CephCheck, CephDaemon
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, Value, Verdict, cites, passed, unchecked
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.shell import phrase
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterPool

_FOLLOWS = ("OSD_DOWN", "OSD_HOST_DOWN", "PG_DEGRADED")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    devices = [row for row in window.rows(ClusterDevice).values() if is_osd(row)]
    ended = {row.name for row in window.rows(CephDaemon).values() if row.running == 0}
    up = [subject_of(row) for row in devices if row.state and "down" not in words_of(row)]
    yield from passed((name for name in up if name not in ended), "up")
    # OSDs report each other: if the last ones end together, Ceph counts them as up for a quarter of an hour.
    yield from unchecked((name for name in up if name in ended), "counted as up; its process does not run here")
    yield from unchecked(
        (subject_of(row) for row in devices if not row.state), "state in the cluster unavailable", calm=True
    )
    for device in devices:
        if "down" in words_of(device):
            yield _found(window, device)


def _found(window: Window, device: ClusterDevice) -> Finding:
    out = "out" in words_of(device)
    lacking = any(row.code == "PG_DEGRADED" for row in window.where(CephCheck, "cluster", device.cluster))
    known = any(row.healthy is not None for row in window.where(Cluster, "cluster", device.cluster))
    severity = Severity.INFO if out and known and not lacking else Severity.WARNING
    impact = "Data on it has one copy fewer until it returns or is rebuilt."
    if out:
        impact = "Data has its copies elsewhere; capacity is reduced."
        if lacking:
            impact = "Copies are missing until the rebuild on other OSDs ends."
        elif not known:
            impact = "Copies can be missing: no health of the cluster was recorded."
    muted = next(
        (
            " (muted in Ceph)" for row in window.where(CephCheck, "cluster", device.cluster)
            if row.code == "OSD_DOWN" and row.muted
        ), "",
    )  # fmt: skip
    name, node = human.safe(device.device, 20), human.safe(device.node, 40)
    here = f"; its disk here is {human.safe(device.local, 24)}" if device.local else ""
    peers = [
        row for row in window.where(ClusterDevice, "node", device.node)
        if row.cluster == device.cluster and is_osd(row)
    ]  # fmt: skip
    state = "down and out" if out else "down"
    return Finding(
        severity=severity,
        subject=subject_of(device),
        title="OSD DOWN AND OUT" if out else "OSD DOWN",
        cause=fitting(
            f"{name} of {node} is {state}{here}{muted}.",
            f"{name} is {state}{here}{muted}.",
            f"{name} is {state}{muted}.",
        ),
        impact=impact,
        values=(
            Value("state", "state", device.state),
            Value("used", "data on it", device.used, "bytes", of=device.capacity),
            Value("disk", "disk on this node", device.local),
            Value(
                "host", f"OSDs of {node} that are up", sum("up" in words_of(row) for row in peers), "", of=len(peers)
            ),
        ),
        evidence=cites(
            window.cite(device),
            *(window.cite(row) for row in window.where(ClusterPool, "cluster", device.cluster)),
        ),
        advice=(
            f"Find out why {phrase(name)} is down, then start or replace it.",
            run("systemctl", "status", f"ceph-osd@{device.device.removeprefix('osd.')}", note=f"on {node}"),
            *disk_advice(device),
        ),
        refuted_by=f"{name} up in ceph osd tree",
        explains=explained(window, device.cluster, _FOLLOWS, severity),
        view_subject=device.device,
    )  # fmt: skip


OSD_DOWN = Rule(
    "osd-down",
    "OSD of Ceph that is down",
    Severity.WARNING,
    _check,
    (ClusterDevice,),
    covers=(Covers(ClusterDevice, subject="{cluster}/{node}/{device}", where=is_osd),),
    many="are down",
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Find out why the OSD is down, then start or replace it.",
)
