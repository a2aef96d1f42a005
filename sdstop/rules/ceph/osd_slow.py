"""OSDs of Ceph that commit writes far more slowly than their peers, whatever Ceph's own health is."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.ceph_effect import explained
from sdstop.analysis.clusters.osd import disk_advice, is_osd, subject_of, words_of
from sdstop.collectors.ceph.readings import UNPLACED
from sdstop.core import format as human
from sdstop.core.averages import median
from sdstop.core.finding import (
    Damage,
    Finding,
    Gap,
    RuledOut,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.shell import phrase
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.disk import DiskActivity

_FEWEST = 2
"""Fewest peers with writes for a comparison; for a latency that is critical one of them is enough."""
_ODD = 0.1
"""Largest share of OSDs whose class is unknown that are slow; more of them may be the rotating ones."""
_RESOLUTION = 0.001
"""Seconds: latencies are reported in milliseconds."""


def _is_measured(device: ClusterDevice) -> bool:
    return is_osd(device) and device.write_wait is not None and "down" not in words_of(device)


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    groups: dict[tuple[str, str | None, str], list[ClusterDevice]] = {}
    for device in window.rows(ClusterDevice).values():
        if _is_measured(device):
            groups.setdefault((device.cluster, device.pool, device.medium), []).append(device)
    for group in groups.values():
        calm = [device for device in group if (device.write_wait or 0.0) < limits["least"]]
        longest = max((device.write_wait or 0.0 for device in calm), default=0.0)
        yield from passed(map(subject_of, calm), f"commits in at most {human.wait(longest)} ms")
        others = [device for device in group if (device.write_wait or 0.0) >= limits["least"]]
        if len(others) > max(1, len(group) * _ODD) and all(device.node == UNPLACED for device in group):
            names = [subject_of(device) for device in others]
            yield from unchecked(names, "slow, or of another class: ceph osd tree shows the classes", gap=Gap.FAULTY)
            continue
        for device in others:
            yield _judged(window, device, group, limits)


def _judged(window: Window, device: ClusterDevice, group: list[ClusterDevice], limits: Limits) -> Verdict:
    wait, name = device.write_wait or 0.0, subject_of(device)
    active = [row.write_wait for row in group if row is not device and row.write_wait]
    if not active and wait >= limits["critical"]:
        return _found(window, device, None, 0, limits)
    if not active or (len(active) < _FEWEST and wait < limits["critical"]):
        return Unchecked(f"commits in {human.wait(wait)} ms; too few peers with writes to compare", name, calm=True)
    usual = max(median(active), _RESOLUTION)
    if wait < limits["times"] * usual:
        return RuledOut(name, f"commits in {human.wait(wait)} ms, its peers in {human.wait(usual)} ms")
    return _found(window, device, usual, len(active), limits)


def _found(window: Window, device: ClusterDevice, usual: float | None, peers: int, limits: Limits) -> Finding:
    """Return the finding. Without peers that write, a latency that is critical beside peers is a warning."""
    wait = device.write_wait or 0.0
    severity = Severity.CRITICAL if usual is not None and wait >= limits["critical"] else Severity.WARNING
    disk = window.get(DiskActivity, device.local) if device.local else None
    name, node = human.safe(device.device, 20), human.safe(device.node, 40)
    here = f" on {human.safe(device.local, 20)} here" if device.local else "" if node == UNPLACED else f" of {node}"
    beside = f", its peers in {human.wait(usual)} ms" if usual is not None else ""
    said = f"commits in {human.wait(wait)} ms{beside}."
    times = wait / usual if usual is not None else None
    return Finding(
        severity=severity,
        subject=subject_of(device),
        title=f"SLOW OSD: {human.number(times)}x its peers" if times is not None else "SLOW OSD",
        cause=fitting(f"{name}{here} {said}", f"{name} {said}"),
        impact=f"Every write to its placement groups waits {human.wait(wait)} ms for it.",
        values=(
            Value("wait", "commit latency", wait, "seconds"),
            Value("peers", f"median of {peers} peers", usual, "seconds"),
            Value("times", "times its peers' latency", times, "", above=limits["times"]),
            Value("disk", "disk on this node", device.local),
            Value("busy", "disk busy", disk.busy if disk is not None else None, "ratio"),
        ),
        evidence=cites(window.cite(device, "write_wait"), window.cite(disk) if disk is not None else None),
        advice=(
            f"Check the disk of {phrase(name)}; take a failing one out of the cluster.",
            *disk_advice(device),
        ),
        refuted_by="similar latencies of all OSDs of its class in ceph osd perf",
        harmless_if=f"{name} is recovering or scrubbing and clients are not slow",
        explains=explained(window, device.cluster, ("SLOW_OPS", "REQUEST_SLOW"), severity),
        view_subject=device.device,
    )


OSD_SLOW = Rule(
    "osd-slow",
    "OSD of Ceph that commits writes far more slowly than its peers",
    Severity.CRITICAL,
    _check,
    (ClusterDevice,),
    (
        Threshold("times", 10, "commit latency that is slow, as a multiple of the peers' median"),
        Threshold("least", 0.1, "commit latency below which no OSD counts as slow", "seconds"),
        Threshold("critical", 1.0, "commit latency that is critical", "seconds"),
    ),
    covers=(Covers(ClusterDevice, subject="{cluster}/{node}/{device}", where=_is_measured),),
    explains=("slow-device", "slow-stripe-member"),
    many="are slow",
    damage=Damage.SPEED,
    view="cluster",
    advice="Check the disk of the OSD; take a failing one out of the cluster.",
)
