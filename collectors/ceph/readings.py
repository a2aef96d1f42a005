"""Readings specific to Ceph: health checks, RADOS pools, and the daemons of this node."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

KIND = "ceph"
"""Kind of a cluster of Ceph, in the families of sdstop.readings.cluster."""
NO_QUORUM = "no quorum"
"""State of a cluster whose monitors have no quorum, according to one of this node."""
NO_ANSWER = "monitors do not answer"
"""State of a cluster whose monitors do not answer this node: no quorum, or no way to them."""
DAEMONS = "ceph.daemons"
"""Question for the daemons of this node that run."""
UNPLACED = "unknown"
"""Node of OSDs whose latencies alone were recorded."""
_CLUSTER = Label("Cluster", "Name of the cluster", names=Name.VOLUME)
_ORIGIN = Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)


class CephCheck(Reading, frozen=True, kw_only=True):
    """Active health check of a cluster. `details` has a line for each affected thing, at most 60.

    `muted` is 1 if an administrator muted it: Ceph's overall health then leaves it out.
    """

    family: ClassVar[str] = "ceph_check"
    title: ClassVar[str] = "Ceph health checks"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {"cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER)}

    cluster: Annotated[str, _CLUSTER]
    code: Annotated[str, Label("Check", "Code of the check: OSD_DOWN, PG_DEGRADED ...", plain=True)]
    severity: Annotated[str, State("Severity", "Severity assigned by Ceph: HEALTH_WARN or HEALTH_ERR")]
    muted: Annotated[int, Metric("Muted", "Whether an administrator muted it (1 = yes)")]
    harmless: Annotated[int, Metric("Harmless", "Whether it concerns neither data nor service (1 = yes)")]
    affected: Annotated[int | None, Metric("Affected", "Number of affected things, as reported by Ceph")]
    message: Annotated[str, Fact("Message", "Message of the check", export=False, names=Name.TEXT)]
    details: Annotated[str | None, Fact("Details", "A line for each thing", export=False, names=Name.TEXT)] = None
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def name(self) -> str:
        """Name used in findings: `cluster/code`."""
        return f"{self.cluster}/{self.code}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The message and the lines of the details."""
        return (self.message, *(self.details or "").splitlines())


class CephPool(Reading, frozen=True, kw_only=True):
    """RADOS pool: copies, the failure domains that hold them, quotas and use.

    `copies` is the size of the pool: copies, or pieces of erasure coding. Below `least` the pool serves no I/O; below
    `needed` data is lost. `domains` is the number of failure domains of the kind `domain` that its CRUSH rule can use.
    """

    family: ClassVar[str] = "ceph_pool"
    title: ClassVar[str] = "Ceph pools"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", '"{pool}"')
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
    }
    joins = (Join("pool", "cluster", Relation.PART),)

    cluster: Annotated[str, _CLUSTER]
    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    number: Annotated[
        int, Metric("Number", "Number of the pool, first part of its placement groups", exact=True, detail=True)
    ]
    kind: Annotated[str, Fact("Kind", "replicated or erasure", plain=True)]
    copies: Annotated[
        int | None, Metric("Copies", "Configured copies, or pieces of erasure coding", setting=True, detail=True)
    ]
    least: Annotated[
        int | None,
        Metric("Least", "Copies or pieces below which the pool serves no I/O (min_size)", setting=True, detail=True),
    ]
    needed: Annotated[int | None, Metric("Needed", "Copies or pieces below which data is lost", setting=True)]
    root: Annotated[str | None, Fact("Root", "CRUSH root of its rule", names=Name.VOLUME)]
    media: Annotated[str | None, Fact("Media", "Device class of its rule", plain=True)]
    domain: Annotated[str | None, Fact("Domain", "Kind of failure domain: host, rack, osd", plain=True)]
    domains: Annotated[
        int | None, Metric("Domains", "Failure domains that its rule can use", setting=True, detail=True)
    ]
    domains_up: Annotated[int | None, Metric("Domains up", "Those of them with an OSD that is up")]
    full: Annotated[int, Metric("Full", "Whether the pool refuses writes because it is full (1 = yes)", setting=True)]
    objects: Annotated[int | None, Metric("Objects", "Number of objects", detail=True)]
    objects_limit: Annotated[
        int | None, Metric("Objects limit", "Quota of objects; absent without one", setting=True, detail=True)
    ]
    stored: Annotated[int | None, Metric("Stored", "Bytes stored by clients, without copies", "bytes")]
    stored_limit: Annotated[
        int | None, Metric("Stored limit", "Quota of bytes; absent without one", "bytes", setting=True)
    ]
    used: Annotated[int | None, Metric("Used", "Raw bytes in use, all copies counted", "bytes")]
    free: Annotated[int | None, Metric("Free", "Bytes that clients can still store, as estimated by Ceph", "bytes")]
    origin: Annotated[str, _ORIGIN] = ""

    @property
    def name(self) -> str:
        """Name used in findings: `cluster/pool`."""
        return f"{self.cluster}/{self.pool}"


class CephDaemon(Reading, frozen=True, kw_only=True):
    """Daemon whose data directory is on this node. `running` is None if the processes could not be listed.

    `device` is the name of an OSD among the devices of its cluster.
    """

    family: ClassVar[str] = "ceph_daemon"
    title: ClassVar[str] = "Ceph daemons of this node"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "device": Identity(
            Stated("kind", {"osd": ThingKind.OSD}, ThingKind.NODE),
            Stated("kind", {"osd": Naming.OSD}, Naming.NODE),
            "{cluster}/{place}/{daemon}",
            aliases=(("{cluster}/{node}/{daemon}", Naming.OSD),),
        ),
        "local": Identity(ThingKind.DEVICE, Naming.DEV),
    }
    joins = (Join("device", "local", Relation.STORED),)

    cluster: Annotated[str, _CLUSTER]
    kind: Annotated[str, Label("Kind", "osd, mon, mgr, mds or rgw", plain=True)]
    number: Annotated[int | None, Label("Number", "Number of an OSD")]
    ident: Annotated[str, Label("Id", "Id of a daemon other than an OSD, often a host name", names=Name.HOST)]
    daemon: Annotated[str, Fact("Daemon", "Kind and id: osd.3, mon.a", names=Name.EVIDENCE)]
    node: Annotated[str, Fact("Node", "Host name of this node", names=Name.HOST)]
    running: Annotated[int | None, Metric("Running", "Whether its process runs (1 = yes)")]
    folder: Annotated[str, Fact("Directory", "Its data directory", names=Name.EVIDENCE)]
    local: Annotated[str | None, Fact("Device", "Block device that it stores on", names=Name.DEVICE)] = None
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def place(self) -> str:
        """Node in the name of the thing; that of an OSD is short, as CRUSH names hosts."""
        return self.node.partition(".")[0] if self.kind == "osd" else self.node

    @property
    def name(self) -> str:
        """Name used in findings."""
        return f"{self.cluster}/{self.node}/{self.daemon}"


class CephBlocker(Reading, frozen=True, kw_only=True):
    """OSD without which placement groups cannot finish peering, so that they serve no I/O."""

    family: ClassVar[str] = "ceph_blocker"
    title: ClassVar[str] = "OSDs that block placement groups"
    rows_of = Source("{origin}", "num_blocked")
    things: ClassVar = {"cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER)}

    cluster: Annotated[str, Label("Cluster", "Name of the cluster", names=Name.VOLUME)]
    number: Annotated[int, Label("OSD", "Number of the OSD")]
    blocked: Annotated[int, Metric("Blocked", "Placement groups that wait for the OSD")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def osd(self) -> str:
        """`osd.3`."""
        return f"osd.{self.number}"
