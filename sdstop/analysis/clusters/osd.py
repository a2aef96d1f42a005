"""OSDs of Ceph among the devices of clusters: their names, states and disks."""

from __future__ import annotations

from sdstop.collectors.ceph.readings import UNPLACED
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.readings.cluster import ClusterDevice


def is_osd(device: ClusterDevice) -> bool:
    """Return whether a device of a cluster is an OSD."""
    return device.device.startswith("osd.")


def subject_of(device: ClusterDevice) -> str:
    """Return the name of an OSD in findings: `cluster/node/osd.3`."""
    return f"{device.cluster}/{device.node}/{device.device}"


def words_of(device: ClusterDevice) -> frozenset[str]:
    """Return the words of an OSD's state: up or down, out, nearfull ..."""
    return frozenset((device.state or "").split())


def _place(device: ClusterDevice) -> str:
    return "on its node" if device.node == UNPLACED else f"on {human.safe(device.node, 40)}"


def disk_advice(device: ClusterDevice) -> tuple[Advice, ...]:
    """Return the next steps for the disk of an OSD, on this node or on that of the OSD."""
    name = device.device.removeprefix("osd.")
    if device.local is None:
        return (
            run("ceph", "device", "ls-by-daemon", device.device, note="its disk"),
            run("journalctl", "-u", f"ceph-osd@{name}", "-n", "50", note=_place(device)),
        )
    return (
        run("smartctl", "-x", f"/dev/{device.local}"),
        run("journalctl", "-k").pipe("grep", device.local),
        run("journalctl", "-u", f"ceph-osd@{name}", "-n", "50"),
    )
