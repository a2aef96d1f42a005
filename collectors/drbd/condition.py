"""Condition of a resource: its faults, and how much of its data lacks a copy."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.drbd.status import GOOD_DISKS, NAMELESS, PAUSED, SYNCING, VERIFYING, Resource, Volume

_REPLICATING = SYNCING | PAUSED | VERIFYING | frozenset({
    "Established", "StartingSyncS", "StartingSyncT", "WFBitMapS", "WFBitMapT", "WFSyncUUID", "unknown",
})  # fmt: skip
"""States of replication in which peers are connected and data flows, or is about to; unknown: not reported."""
UNCONFIGURED = "Unconfigured"
"""State of a minor of version 8 that exists without a disk and a connection."""
SUSPENDED, FAILS = "I/O is suspended", "I/O fails"
"""Beginnings of faults that stop the I/O of a resource."""
_COMPARED = VERIFYING | {"Established"}
_LOST = frozenset({"Diskless", "Failed", "Detaching"})
"""States of a disk that does not hold the data any more."""


def faults(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield the faults: DRBD's state word and a description."""
    if resource.role is None and not resource.volumes and not resource.peers:
        yield UNCONFIGURED, "neither a disk nor a connection is configured"
    yield from _stopped(resource)
    for volume in resource.volumes:
        if volume.disk not in GOOD_DISKS and not volume.diskless:
            yield volume.disk, f"volume {volume.number} of this node is {volume.disk}"
    for peer in resource.peers:
        name = "the peer" if peer.name == NAMELESS else peer.name
        if peer.state == "StandAlone":
            yield peer.state, f"this node is StandAlone and does not reconnect to {name}"
            continue
        if peer.state != "Connected":
            yield peer.state, f"the connection to {name} is {peer.state}"
            continue
        for far in peer.volumes:
            if far.disk not in GOOD_DISKS and not far.diskless:
                yield far.disk, f"volume {far.number} of {name} is {far.disk}"
            elif not far.diskless and far.replication not in _REPLICATING:
                yield far.replication, f"volume {far.number} of {name}: replication is {far.replication}"


def _stopped(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield the reason for which requests wait or fail, or would."""
    quorum = all(volume.quorum is not False for volume in resource.volumes)
    lost = any(  # of a known size it is counted as data that cannot be reached
        volume.size is None and GOOD_DISKS.isdisjoint(_reachable(resource, volume)) for volume in resource.volumes
    )
    if resource.suspended:
        yield "suspended", f"{SUSPENDED}: {resource.why}" if resource.why else SUSPENDED
    elif resource.failing:
        yield "failing", f"{FAILS}: made Secondary by force while in use"
    elif lost and resource.role == "Primary":
        yield "failing", f"{FAILS}: no disk with current data is reachable"
    elif not quorum and resource.role == "Primary":
        yield "no-quorum", f"{FAILS}: no quorum"
    elif not quorum:
        yield "no-quorum", "no quorum: this node cannot become Primary"


def _reachable(resource: Resource, volume: Volume) -> Iterator[str]:
    """Yield the states of the disks of a volume, here and on connected peers."""
    yield volume.disk
    for peer in resource.peers:
        if peer.state == "Connected":
            yield from (far.disk for far in peer.volumes if far.number == volume.number)


def lacking_bytes(resource: Resource) -> int | None:
    """Return the bytes that lack a copy; the whole volume if a peer that holds a copy is not connected."""
    lacking = 0
    for volume in resource.volumes:
        worst = 0
        if volume.disk in _LOST and not volume.diskless:
            if volume.size is None:
                return None
            worst = volume.size
        for peer in resource.peers:
            far = next((v for v in peer.volumes if v.number == volume.number), None)
            if far is None or far.diskless:
                continue
            if peer.state == "Connected" and volume.disk == far.disk == "UpToDate" and far.replication in _COMPARED:
                continue  # both copies are complete; data-mismatch reports blocks that differ
            missing = far.out_of_sync if peer.state == "Connected" and far.disk != "Diskless" else volume.size
            if missing is None:
                return None
            worst = max(worst, missing)
        lacking += worst
    return lacking


def lost_bytes(resource: Resource) -> int | None:
    """Return the size of the volumes without valid data on any reachable node."""
    lost = 0
    for volume in resource.volumes:
        if GOOD_DISKS.isdisjoint(_reachable(resource, volume)):
            if volume.size is None:
                return None
            lost += volume.size
    return lost
