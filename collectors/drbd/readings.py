"""Readings of DRBD."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State


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


_OF_MINOR = expression(r"drbd(\d+)")


def resource_argument(resource: str) -> str:
    """Return what drbdadm takes for a resource: version 8 shows no names, so it is called by its minor number."""
    found = _OF_MINOR.fullmatch(resource)
    return f"minor-{found[1]}" if found else resource
