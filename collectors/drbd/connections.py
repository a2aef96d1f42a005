"""DRBD connections by side: the state of this node, and the state of its peer as known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from sdstop.collectors.drbd.status import Resource
from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.readings.mismatch import Mismatch


class DrbdConnection(Reading, frozen=True, kw_only=True):
    """Replication of one volume to one peer.

    `connection`, `role` and `disk` are this node's own; `peer_role` and `peer_disk` are those of the peer
    as known here: Unknown and DUnknown while it is not connected, or Outdated after fencing.
    """

    family: ClassVar[str] = "drbd_connection"
    title: ClassVar[str] = "DRBD connections"
    rows_of = Source("{origin}", "{needle}")
    fields_of: ClassVar = {"out_of_sync": Source("{origin}", "{counted}")}
    things: ClassVar = {
        "connection_name": Identity(ThingKind.SESSION, Naming.SESSION, "{name}"),
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
    }
    joins = (Join("device", "connection_name", Relation.SERVED),)

    resource: Annotated[
        str, Label("Resource", "Name of the resource; drbdN where version 8 shows none", names=Name.VOLUME)
    ]
    peer: Annotated[str, Label("Peer", "Name of the peer", names=Name.HOST)]
    volume: Annotated[int, Label("Volume", "Number of the volume")]
    version: Annotated[int, Metric("DRBD", "Major version of the source: 8 or 9", export=False)]
    device: Annotated[str | None, Fact("Device", "Kernel name here", names=Name.DEVICE)]
    connection: Annotated[
        str,
        State(
            "Connection",
            "Connection state of this node: Connected, StandAlone, Connecting ...",
            name="sdstop_drbd_connection_state",
        ),
    ]
    replication: Annotated[
        str | None, State("Replication", "Replication state while connected: Established, SyncSource, VerifyS ...")
    ]
    role: Annotated[str | None, State("Role", "Role of this node: Primary or Secondary")]
    disk: Annotated[str | None, State("Disk", "State of the data on this node")]
    peer_role: Annotated[str | None, State("Peer's role", "Role of the peer, as known on this node", detail=True)]
    peer_disk: Annotated[str | None, State("Peer's disk", "State of the data on the peer, as known on this node")]
    out_of_sync: Annotated[int | None, Metric("Out of sync", "Bytes that are or may be out of sync", "bytes")]
    suspended: Annotated[int | None, Metric("Suspended", "Whether all I/O of the resource is suspended")]
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""
    counted: Annotated[str, Fact("Counted", "Text that marks its number", export=False, names=Name.EVIDENCE)] = ""

    @property
    def name(self) -> str:
        """Name used in findings: the resource, with the peer and volume where there are several."""
        return f"{self.resource}/{self.volume}/{self.peer}" if self.volume else f"{self.resource}/{self.peer}"

    @property
    def argument(self) -> str:
        """Name that drbdadm takes: minor-N where the source has no names."""
        return resource_argument(self.resource)


_EIGHT = 8
_OF_MINOR = expression(r"drbd(\d+)")


def resource_argument(resource: str) -> str:
    """Return what drbdadm takes for a resource: version 8 shows no names, so it is called by its minor number."""
    found = _OF_MINOR.fullmatch(resource)
    return f"minor-{found[1]}" if found else resource


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
