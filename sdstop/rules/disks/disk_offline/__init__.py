"""Disks that the kernel took offline, holds back, or refuses to write to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from sdstop.analysis.disks.presence import gone
from sdstop.collectors.aoe.readings import AoeTarget
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.devicemapper.multipath import ACTIVE, MAP_UUID
from sdstop.collectors.devicemapper.readings import MultipathPath
from sdstop.core import format as human
from sdstop.core.advice import operands, run
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
from sdstop.core.history import Window
from sdstop.core.joins import CONTAINS, Naming
from sdstop.core.memory import FORGOTTEN
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.snapshot import Snapshot
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk
from sdstop.rules.disks.disk_offline.capacity import (
    beyond,
    cut,
    cut_member,
    empty,
    member_beyond,
    shrunk,
    shrunk_finding,
    users,
)
from sdstop.rules.disks.disk_offline.unplugged import identities, unplugged
from sdstop.rules.disks.disk_offline.writing import DELETED, holder_of, refuses, unlinked

_GOOD = frozenset({"running", "live"})
_FAILS = "Every request to the disk fails."
_BAD = {
    "offline": (Severity.CRITICAL, "DISK OFFLINE", _FAILS),
    "transport-offline": (Severity.CRITICAL, "DISK OFFLINE: port gone", _FAILS),
    "cancel": (Severity.CRITICAL, "DISK BEING REMOVED", "Requests to the disk fail."),
    "deleted": (Severity.CRITICAL, "DISK REMOVED", _FAILS),
    "dead": (Severity.CRITICAL, "CONTROLLER DEAD", _FAILS),
    "blocked": (Severity.WARNING, "DISK BLOCKED: transport gone", "Requests to the disk wait for its transport."),
    "created-blocked": (Severity.WARNING, "DISK BLOCKED: transport gone", "The disk is not set up yet."),
    "quiesce": (Severity.WARNING, "DISK HELD BACK by its driver", "Requests to the disk wait."),
}
"""States (kernel drivers/scsi/scsi_sysfs.c: sdev_states) in which a disk serves nothing: severity, title, impact."""
_ELSEWHERE = frozenset({"new", "resetting", "connecting", "deleting", "deleting (no IO)"})
"""States of NVMe controllers that session-down judges by how long they last."""
_HAS_SIZE = frozenset({"disk", "nvme", "mmc", "pmem", "dm"})
"""Kinds that have a capacity as long as they work; a loop device has none without a file."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each run of disks, and of mounts, once: nothing changes between runs, and disks are many."""
    run = window.now.run_of(MountPoint)
    key = ("disk-offline", None if run is None else run.started, *limits.values())
    verdicts = window.of_run(BlockDevice, key, lambda: list(_said(window)))
    found = [verdict.subject for verdict in verdicts if isinstance(verdict, Finding)]
    offline = {name for name in found if (row := window.get(BlockDevice, name)) is not None and row.state in _BAD}
    others = _other_paths(window, offline) if offline else {}
    for verdict in verdicts:
        if isinstance(verdict, Finding) and verdict.subject in others:
            yield _as_path(verdict, others[verdict.subject])
        else:
            yield verdict
    for target in window.rows(AoeTarget).values():
        yield _aoe(window, target)
    lost, mounted = _lost(window), _lost_below_mounts(window)
    for name, above in lost.items():
        yield _gone(window, name, above)
    for name, mounts in mounted.items():
        yield _unmounted(window, name, mounts)
    yield from unplugged(window, {*lost, *mounted})


def _lost(window: Window) -> dict[str, list[str]]:
    """Return the devices that are gone while others are still built on them, with these.

    Only device mapper is judged: array-degraded judges members of md, volume-degraded the images of LVM's raids. Of a
    device with several below it, such as a multipath map, all must be gone.
    """
    links = window.topology.once("below mappings", lambda: _below(window))
    found: dict[str, list[str]] = {}
    for upper, below in links.items():
        if below and len(lost := gone(window, below, (upper,))) == len(below):
            for name in lost:
                found.setdefault(name, []).append(upper)
    return found


def _lost_below_mounts(window: Window) -> dict[str, list[MountPoint]]:
    """Return the disks and partitions that are gone while a file system on them is mounted.

    The table of mounts must have been read after they were last seen: it is read less often.
    """
    run = window.now.run_of(MountPoint)
    mounts: dict[str, list[MountPoint]] = {}
    for row in window.rows(MountPoint).values():
        if row.kernel is not None:
            mounts.setdefault(row.kernel, []).append(row)
    if run is None or not mounts:
        return {}
    seen = {name: moment.started for moment in window.moments(Disk) for name in mounts if name in moment.rows}
    lost = gone(
        window, [name for name in mounts if seen.get(name, -1.0) < run.started], [*map(str, window.rows(BlockDevice))]
    )
    return {name: mounts[name] for name in lost}


def _below(window: Window) -> dict[str, list[str]]:
    """Return the devices below each mapping that is not one of several below another device."""
    topology = window.topology
    found: dict[str, list[str]] = {}
    for row in window.rows(BlockDevice).values():
        thing = topology.named(Naming.DEV, row.device) if row.kind == "dm" else None
        if thing is None:
            continue
        above = [other for other, how in topology.upper(thing).items() if how in CONTAINS and other.device]
        if all(len(_directly_below(topology, other)) == 1 for other in above):
            found[row.device] = _directly_below(topology, thing)
    return found


def _directly_below(topology: Topology, thing: Thing) -> list[str]:
    return [other.device for other, how in topology.lower(thing).items() if how in CONTAINS and other.device]


def _gone(window: Window, name: str, above: Sequence[str]) -> Finding:
    upper = window.get(BlockDevice, above[0])
    known = human.safe((upper.dm_name if upper is not None else None) or above[0], 24)
    return Finding(
        severity=Severity.CRITICAL,
        subject=above[0],
        title="DISK GONE, still in use",
        cause=f"{known} is built on {human.safe(name, 16)}, and the node has no such device.",
        impact=f"Every request of {known} to it fails.",
        values=(Value("device", "missing device", name), Value("above", "built on it", human.listed(above))),
        evidence=cites(window.cite(upper) if upper is not None else None),
        advice=(
            "Find out why the disk disappeared: slot, cable, HBA or enclosure.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(name.rpartition("/")[2])).pipe("tail", "-40"),
            run("lsblk", "-s", f"/dev/{above[0]}"),
        ),
        refuted_by=f"a line of {human.safe(name, 20)} in /proc/diskstats",
    )


def _unmounted(window: Window, name: str, mounts: Sequence[MountPoint]) -> Finding:
    first, points = mounts[0], [row.point for row in mounts]
    return Finding(
        severity=Severity.CRITICAL,
        subject=name,
        title="DISK GONE, still mounted",
        cause=f"A file system on {human.safe(name, 16)} is mounted, and the node has no such device.",
        impact=f"Every access to {human.safe(first.point, 40)} that is not cached fails.",
        values=(
            Value("mounts", "mounted on", human.listed(points, limit=120)),
            Value("filesystem", "file system", first.filesystem),
        ),
        evidence=cites(window.cite(first)),
        advice=(
            "Find out why the disk disappeared: slot, cable, HBA or enclosure.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40"),
            run("umount", "-l", first.point, note="before the disk is put back: it gets another name"),
        ),
        refuted_by=f"a line of {human.safe(name, 20)} in /proc/diskstats",
    )


def _said(window: Window) -> Iterator[Verdict]:
    good: list[str] = []
    elsewhere: list[str] = []
    for row in window.rows(BlockDevice).values():
        if row.state in _BAD:
            yield _found(window, row, *_BAD[row.state])
        elif row.state in _ELSEWHERE:
            elsewhere.append(row.device)
        elif row.state is not None and row.state not in _GOOD:
            yield Unchecked(f'unknown state "{human.safe(row.state, 40)}"', row.device, gap=Gap.FAULTY)
        elif row.size == 0 and row.kind in _HAS_SIZE and (above := users(window, row)):
            yield empty(window, row, above)
        elif (less := shrunk(window, row)) > 0:
            yield shrunk_finding(window, row, less)
        elif (more := beyond(window, row)) > 0:
            yield cut(window, row, more)
        elif (outside := member_beyond(window, row)) is not None:
            yield cut_member(window, row, *outside)
        elif row.kind == "loop" and (row.backing_file or "").endswith(DELETED) and (holder := holder_of(window, row)):
            yield unlinked(window, row, holder)
        elif row.read_only and _is_lowest(window, row) and (holder := holder_of(window, row)):
            yield refuses(window, row, holder)
        elif row.state is not None:
            good.append(row.device)
    yield from passed(good, f"{human.plural(len(good), 'disk')} running")
    yield from unchecked(elsewhere, "controller judged by session-down", calm=True)


def _is_lowest(window: Window, row: BlockDevice) -> bool:
    """Return whether a device is read-only by itself: a partition is so with its disk, an array with its members."""
    disk = window.get(BlockDevice, row.parent) if row.parent is not None else None
    return row.kind != "md" and (disk is None or disk.read_only != 1)


def _other_paths(window: Window, offline: AbstractSet[str]) -> dict[str, str]:
    """Return the impact of each offline disk that is a path of a multipath map with other paths.

    The kernel notices a lost path with its next request, so a path without its disk does not count, whatever its state.
    Until the map's paths are read, or without the right to read them, the disks below the map count.
    """
    paths: dict[str, list[MultipathPath]] = {}
    for row in window.rows(MultipathPath).values():
        paths.setdefault(row.mapping, []).append(row)
    found: dict[str, str] = {}
    for mapping, rows in paths.items():
        left = sum(row.state == ACTIVE and row.path not in offline for row in rows)
        words = f"{human.safe(mapping, 24)} uses its other paths: {left} of {len(rows)} are active."
        found |= {row.path: words if left else "" for row in rows if row.path is not None and row.path in offline}
    for device, disks in _disks_of_maps(window, offline).items():
        left = sum(disk not in offline for disk in disks)
        words = f"{human.safe(device, 24)} has other disks below it: {left} of {len(disks)} run."
        found = {disk: words for disk in disks if left and disk in offline} | found
    return {disk: words for disk, words in found.items() if words}


def _disks_of_maps(window: Window, offline: AbstractSet[str]) -> dict[str, list[str]]:
    """Return the disks below each multipath map above these disks, by the map's name."""
    found: dict[str, list[str]] = {}
    for disk in offline:
        thing = window.topology.named(Naming.DEV, disk)
        for upper in window.topology.upper(thing) if thing is not None else ():
            above = window.get(BlockDevice, upper.device) if upper.device is not None else None
            if above is not None and (above.dm_uuid or "").startswith(MAP_UUID):
                below = (each.device for each in window.topology.lower(upper))
                found[above.dm_name or above.device] = [name for name in below if name is not None]
    return found


def _as_path(finding: Finding, impact: str) -> Finding:
    """Return the finding for a disk that is one path of several: its requests take another one."""
    return replace(finding, severity=Severity.WARNING, impact=impact, damage=Damage.REDUNDANCY)


def _aoe(window: Window, target: AoeTarget) -> Verdict:
    """Judge an AoE disk, which the driver calls down after minutes without an answer."""
    words = set((target.state or "").split(","))
    if words == {"up"}:
        return RuledOut(target.device, f"target up, {target.payload or '?'} bytes a frame")
    if not words & {"up", "down"}:
        said = human.safe(target.state or "", 40)
        reason = f'unknown state "{said}"' if said else "state not readable"
        return Unchecked(reason, target.device, gap=Gap.FAULTY if said else Gap.OPEN)
    return Finding(
        severity=Severity.CRITICAL,
        subject=target.device,
        title="AOE TARGET DOWN",
        cause=f"The driver reports {human.safe(target.state or '', 30)}: the target does not answer.",
        impact="Requests to the disk fail or wait.",
        values=(
            Value("state", "state", target.state),
            Value("target", "target", target.mac),
            Value("interfaces", "interfaces", target.interfaces),
        ),
        evidence=cites(window.cite(target, "state")),
        advice=(
            "Check the target, and the network to it.",
            run("aoe-stat", note="interfaces that reach each target"),
            run("journalctl", "-k").pipe("grep", "-i", "aoe").pipe("tail", "-40"),
        ),
        refuted_by="the state up",
    )


def _found(window: Window, row: BlockDevice, severity: Severity, title: str, impact: str) -> Finding:
    name = row.device.rpartition("/")[2]
    return Finding(
        severity=severity,
        subject=row.device,
        title=title,
        cause=f"The kernel reports the state {row.state}.",
        impact=impact,
        values=(Value("state", "state", row.state), Value("model", "model", row.model)),
        evidence=cites(window.cite(row, "state")),
        advice=(
            "Find out whether the disk, its cable or its port failed.",
            run("journalctl", "-k").pipe("grep", "-w", *operands(name)).pipe("tail", "-40"),
            run("smartctl", "-x", f"/dev/{row.device}"),
        ),
        refuted_by="the state running or live",
    )


def _roles(shot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    return {row.device: (row.device, *identities(row)) for row in shot.rows(BlockDevice).values()}


DISK_OFFLINE = Rule(
    "disk-offline",
    "disk offline, gone or of 0 bytes while in use, AoE target down, write-protected disk in use",
    Severity.CRITICAL,
    _check,
    (BlockDevice,),
    instead=(AoeTarget,),
    covers=(Covers(BlockDevice, where=lambda row: row.state is not None),),
    remembers=True,
    forgets=FORGOTTEN,
    roles=_roles,
    explains=("path-failed", "disk-unused", "ceph-daemon-down", "osd-down", "osd-slow"),
    many="are offline",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Find out whether the disk, its cable or its port failed.",
)
