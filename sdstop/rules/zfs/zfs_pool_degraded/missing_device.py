"""Devices that are gone while the pool works without them: log and cache devices, spares, some data devices."""

from __future__ import annotations

from sdstop.analysis.space.pooling import PoolAnalysis
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.advice import operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value, cites
from sdstop.core.history import Window
from sdstop.rules.zfs.zfs_pool_degraded.device import device_note, device_steps

_DEVICE = "device", "The pool has one device less.", Damage.REDUNDANCY
AUXILIARY = {
    "logs": ("log device", "Synchronous writes can be slower: data disks take the log.", Damage.SPEED),
    "cache": ("cache device", "Reads that it would serve go to the data disks.", Damage.SPEED),
    "spares": ("spare", "This spare cannot replace a failed device.", Damage.REDUNDANCY),
}
"""Uses of devices that a pool works without: name, impact and damage if they are gone."""


def missing_device(window: Window, whole: PoolAnalysis, vdev: Vdev) -> Finding:
    """Return the finding about a device that is gone, by the use that the pool had for it."""
    use, impact, damage = AUXILIARY.get(vdev.group, _DEVICE)
    return Finding(
        severity=Severity.WARNING,
        subject=f"{whole.name}/{vdev.vdev}",
        title=f"{use.upper()} {vdev.state}",
        cause=f"The {use} is {vdev.state}{device_note(vdev)}; the pool works without it.",
        impact=impact,
        values=(Value("state", "state", vdev.state), Value("note", "note of zpool status", vdev.note)),
        evidence=cites(window.cite(vdev)),
        advice=(
            f"Find why the {use} is {vdev.state}, then replace it.",
            *device_steps(vdev),
            run("zpool", "status", "-v", *operands(whole.name)),
        ),
        refuted_by=f"the state ONLINE or AVAIL of {vdev.vdev}",
        damage=damage,
        view_subject=vdev.device or whole.name,
    )
