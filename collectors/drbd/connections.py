"""DRBD connections by side: the state of this node, and the state of its peer as known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.drbd.status import Resource
from sdstop.readings.mismatch import Mismatch

_EIGHT = 8
"""Major version of DRBD."""


_COMPARED = {"Established": "verify", "VerifyS": "verify", "VerifyT": "verify"}
"""Replication states in which the blocks out of sync are those that a verify found, not those left to resync."""


def mismatches(rows: Iterable[DrbdConnection]) -> Iterator[Mismatch]:
    """Yield the blocks found to differ while both sides are up to date and connected."""
    for row in rows:
        if row.connection == "Connected" and row.disk == row.peer_disk == "UpToDate" and row.replication in _COMPARED:
            yield Mismatch(
                thing=row.name,
                kind="drbd",
                found_by=_COMPARED[row.replication],
                running=row.replication != "Established",
                differ=row.out_of_sync,
                peer=row.peer,
                origin=row.origin,
                needle=row.counted,
            )


def quoted(word: str, key: str) -> str:
    """Return a word as it stands in the evidence with a key: JSON has it in quotes."""
    return f'"{word}"' if "--json" in key else word


def connections(resource: Resource, key: str, marker: str) -> Iterator[DrbdConnection]:
    """Yield a row for each volume and peer of a resource; `marker` marks the resource in its evidence `key`."""
    own = {volume.number: volume for volume in resource.volumes}
    for peer in resource.peers:
        for far in peer.volumes:
            volume = own.get(far.number)
            eight = resource.version == _EIGHT
            yield DrbdConnection(
                resource=resource.name,
                peer=peer.name,
                volume=far.number,
                version=resource.version,
                device=f"drbd{volume.minor}" if volume is not None and volume.minor is not None else None,
                connection=peer.state,
                replication=far.replication if peer.state == "Connected" else None,
                role=resource.role,
                disk=volume.disk if volume is not None else None,
                peer_role=peer.role,
                peer_disk=far.disk,
                out_of_sync=far.out_of_sync,
                suspended=None if resource.suspended is None else int(resource.suspended),
                origin=key,
                needle=marker if eight else quoted(peer.name, key),
                counted=f"oos:{(far.out_of_sync or 0) // 1024}" if eight else quoted("out-of-sync", key),
            )
