"""Readings of storage clusters: managers, nodes, failure domains, pools, devices, volumes and clients.

ScaleIO/PowerFlex, Ceph, GlusterFS, DRBD, LINSTOR and Pacemaker have separate collectors but share these families, so
that rules and views work for all of them. Capacities are raw bytes (every copy counted) unless a field states
otherwise. States are the cluster's own terms; `healthy` is their interpretation: 1 healthy, 0 not, None if not
reported.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec.structs import replace

from sdstop.core.joins import GroupKind, Identity, Join, Naming, Peers, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

_KIND = Fact("Kind", "powerflex, ceph, gluster, drbd, linstor or pacemaker", plain=True)
_CLUSTER = Label("Cluster", "Name of the cluster, or its id where it has none", names=Name.VOLUME)
_HEALTHY = Metric("Healthy", "Whether the state is healthy (1 = yes)")
_ORIGIN = Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)
_IDENT = Fact("Id", "Its id", names=Name.IDENTIFIER)

_READS = Metric("r/s", "Client reads per second, as reported by the cluster", "per_second")
_WRITES = Metric("w/s", "Client writes per second, as reported by the cluster", "per_second")
_READ = Metric("Read", "Bytes read by clients per second, as reported by the cluster", "bytes_per_second")
_WRITE = Metric("Write", "Bytes written by clients per second, as reported by the cluster", "bytes_per_second")
_READS_DETAIL, _WRITES_DETAIL, _READ_DETAIL, _WRITE_DETAIL = (
    replace(mark, detail=True) for mark in (_READS, _WRITES, _READ, _WRITE)
)
_READ_WAIT = Metric("r_await", "Mean read latency, as seen by clients", "seconds")
_WRITE_WAIT = Metric("w_await", "Mean write latency, as seen by clients", "seconds")


class Cluster(Reading, frozen=True, kw_only=True):
    """State of a cluster: quorum of its managers and redundancy of its data.

    `managers` vote on the leader: MDMs and tie-breakers, or Ceph monitors. `degraded` is data with fewer copies than
    required, counted once; `failed` is data that is not reachable at all. `epoch` grows with each new leader or map.
    """

    family: ClassVar[str] = "cluster"
    title: ClassVar[str] = "Clusters"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    things: ClassVar = {
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
    }

    cluster: Annotated[str, _CLUSTER]
    kind: Annotated[str, _KIND]
    ident: Annotated[str | None, _IDENT]
    version: Annotated[str | None, Fact("Version", "Software of the cluster", plain=True)]
    state: Annotated[
        str | None,
        State("State", "Cluster state as reported by the cluster: ClusteredNormal, HEALTH_WARN ...", detail=True),
    ]
    healthy: Annotated[int | None, _HEALTHY]
    leader: Annotated[str | None, Fact("Leader", "Leader: master MDM, first monitor", names=Name.HOST)]
    managers: Annotated[int | None, Metric("Managers", "Configured managers", setting=True, detail=True)]
    managers_up: Annotated[int | None, Metric("Managers up", "Managers online")]
    replicas: Annotated[
        int | None, Metric("Replicas", "Configured copies of the cluster's own records", setting=True, detail=True)
    ]
    replicas_up: Annotated[int | None, Metric("Replicas up", "Copies of the cluster's own records online", detail=True)]
    tolerates: Annotated[
        int | None, Metric("Tolerates", "Number of further manager failures tolerated in the worst case", detail=True)
    ]
    nodes: Annotated[int | None, Metric("Nodes", "Configured data nodes", setting=True, detail=True)]
    nodes_up: Annotated[int | None, Metric("Nodes up", "Data nodes online")]
    capacity: Annotated[int | None, Metric("Capacity", "Raw capacity of the cluster", "bytes")]
    used: Annotated[int | None, Metric("Used", "Raw capacity in use", "bytes")]
    spare: Annotated[int | None, Metric("Spare", "Raw capacity reserved for rebuilds", "bytes", detail=True)]
    degraded: Annotated[int | None, Metric("Degraded", "Data with fewer copies than configured", "bytes")]
    failed: Annotated[int | None, Metric("Failed", "Unavailable data (no reachable copy)", "bytes")]
    reads: Annotated[float | None, _READS_DETAIL] = None
    writes: Annotated[float | None, _WRITES_DETAIL] = None
    read: Annotated[float | None, _READ_DETAIL] = None
    write: Annotated[float | None, _WRITE_DETAIL] = None
    epoch: Annotated[
        int | None, Metric("Epoch", "Epoch: increases with each new leader or map", exact=True, detail=True)
    ] = None
    says: Annotated[
        str | None, Fact("Says", "Problems that the cluster itself reports", export=False, names=Name.TEXT)
    ] = None
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""


class ClusterNode(Reading, frozen=True, kw_only=True):
    """Role of a node in a cluster, one row per role.

    `role`: mdm (manager that may lead), tiebreaker, standby, sds (holds data), mon, mgr, osd (a host with OSDs), peer
    (DRBD).
    """

    family: ClassVar[str] = "cluster_node"
    title: ClassVar[str] = "Cluster nodes"
    joined: ClassVar[bool] = True
    rows_of = Source(
        "{origin}",
        "{needle|ident|node}",
        ("sdsState", "membershipState", "mdmConnectionState", "maintenanceState", "status", "role"),
    )
    things: ClassVar = {
        "node": Identity(ThingKind.NODE, Naming.NODE, "{cluster}/{node}"),
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
        "domain": Identity(ThingKind.FAULT_SET, Naming.FAULT_SET, "{cluster}/{domain}"),
    }
    joins = (
        Join("cluster", "node", Relation.MEMBER),
        Join("node", "domain", Relation.LOCATED),
    )

    cluster: Annotated[str, _CLUSTER]
    role: Annotated[str, Label("Role", "mdm, tiebreaker, standby, sds, mon, mgr, osd, peer", plain=True)]
    node: Annotated[str, Label("Node", "Its name in the cluster, or its id", names=Name.HOST)]
    ident: Annotated[str | None, _IDENT]
    address: Annotated[str | None, Fact("Address", "Addresses, separated by spaces", names=Name.IDENTIFIER)]
    area: Annotated[str | None, Fact("Area", "Protection domain, CRUSH root", names=Name.VOLUME)]
    domain: Annotated[
        str | None, Fact("Domain", "Failure domain: fault set, rack, or the node itself", names=Name.VOLUME)
    ]
    state: Annotated[str | None, State("State", "State as reported by the cluster, problems first")]
    healthy: Annotated[int | None, _HEALTHY]
    maintenance: Annotated[str | None, Fact("Maintenance", "Current maintenance, if any", plain=True)]
    leads: Annotated[bool, Fact("Leads", "Whether it is the leader", export=False)]
    devices: Annotated[int | None, Metric("Devices", "Number of devices of the node", setting=True)]
    capacity: Annotated[int | None, Metric("Capacity", "Raw capacity", "bytes")]
    used: Annotated[int | None, Metric("Used", "Raw capacity in use", "bytes")]
    version: Annotated[str | None, Fact("Version", "Its software", plain=True)]
    local: Annotated[bool, Fact("Here", "Whether it is the node that this data is from", export=False)] = False
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""


_NUMBERS = (
    "maxCapacityInKb", "capacityInUseInKb", "spareCapacityInKb", "degradedHealthyCapacityInKb",
    "degradedFailedCapacityInKb", "failedCapacityInKb",
)  # fmt: skip


class ClusterPool(Reading, frozen=True, kw_only=True):
    """Pool of cluster devices: fill level, and capacity of its largest failure domain.

    `filled` is the ratio that the pool's alerts are based on; for ScaleIO the used share of all capacity except spare.
    `domains` is the number of failure domains (fault set, host, rack); `largest` is the capacity of the largest one in
    this pool.
    """

    family: ClassVar[str] = "cluster_pool"
    title: ClassVar[str] = "Cluster pools"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{ident|pool}", ("sparePercentage", "capacityAlertHighThreshold"))
    fields_of = dict.fromkeys(
        ("capacity", "used", "spare", "degraded", "failed", "filled"), Source("{statistics}", "{ident|pool}", _NUMBERS)
    )
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
    }
    joins = (Join("pool", "cluster", Relation.PART),)

    cluster: Annotated[str, _CLUSTER]
    pool: Annotated[
        str, Label("Pool", "Name, after that of its protection domain if there are several", names=Name.VOLUME)
    ]
    kind: Annotated[str, _KIND]
    ident: Annotated[str | None, _IDENT]
    area: Annotated[str | None, Fact("Area", "Protection domain, CRUSH root", names=Name.VOLUME)]
    copies: Annotated[
        int | None, Metric("Copies", "Number of copies; absent for erasure coding", setting=True, detail=True)
    ]
    capacity: Annotated[int | None, Metric("Capacity", "Raw capacity", "bytes")]
    used: Annotated[int | None, Metric("Used", "Raw capacity in use", "bytes")]
    spare: Annotated[
        int | None, Metric("Spare", "Raw capacity reserved for rebuilds; absent if not supported", "bytes")
    ]
    spare_ratio: Annotated[
        float | None, Metric("Spare set", "Configured share of spare capacity", "ratio", setting=True, detail=True)
    ]
    filled: Annotated[float | None, Metric("Filled", "Used share of the usable capacity", "ratio")]
    near_full: Annotated[
        float | None, Metric("Near full", "Fill level at which the cluster warns", "ratio", setting=True)
    ]
    full: Annotated[
        float | None,
        Metric("Full", "Fill level at which the cluster alarms or refuses writes", "ratio", setting=True, detail=True),
    ]
    domains: Annotated[int | None, Metric("Domains", "Number of failure domains", detail=True)]
    largest: Annotated[
        int | None, Metric("Largest", "Raw capacity of its largest failure domain", "bytes", detail=True)
    ]
    largest_domain: Annotated[
        str | None, Fact("Largest domain", "Name of the largest failure domain", names=Name.VOLUME)
    ]
    degraded: Annotated[int | None, Metric("Degraded", "Data with fewer copies than configured", "bytes")]
    failed: Annotated[int | None, Metric("Failed", "Unavailable data (no reachable copy)", "bytes")]
    reads: Annotated[float | None, _READS_DETAIL] = None
    writes: Annotated[float | None, _WRITES_DETAIL] = None
    read: Annotated[float | None, _READ_DETAIL] = None
    write: Annotated[float | None, _WRITE_DETAIL] = None
    rebuilds: Annotated[
        int | None,
        Metric(
            "Rebuilds", "Raw data copied to other failure domains after the loss of the largest", "bytes", detail=True
        ),
    ] = None
    origin: Annotated[str, _ORIGIN] = ""
    statistics: Annotated[
        str, Fact("Statistics", "Key of the evidence of its numbers", export=False, names=Name.EVIDENCE)
    ] = ""

    @property
    def name(self) -> str:
        """Name used in findings: `cluster/pool`."""
        return f"{self.cluster}/{self.pool}"


class FailureDomain(Reading, frozen=True, kw_only=True):
    """Failure domain, per pool: a fault set or a node without one; for Ceph a host or rack."""

    family: ClassVar[str] = "failure_domain"
    title: ClassVar[str] = "Failure domains"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle|domain}", ("faultSetId", "protectionDomainId"))
    things: ClassVar = {
        "domain": Identity(ThingKind.FAULT_SET, Naming.FAULT_SET, "{cluster}/{domain}"),
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
    }
    joins = (Join("pool", "domain", Relation.MEMBER),)

    cluster: Annotated[str, _CLUSTER]
    pool: Annotated[str, Label("Pool", "Name of the pool", names=Name.VOLUME)]
    domain: Annotated[str, Label("Domain", "Fault set, node, host or rack", names=Name.HOST)]
    of: Annotated[str, Fact("Is a", "fault set, node, host, rack", plain=True)]
    nodes: Annotated[int | None, Metric("Nodes", "Number of nodes with devices in this pool")]
    devices: Annotated[int | None, Metric("Devices", "Number of devices in this pool")]
    capacity: Annotated[int | None, Metric("Capacity", "Raw capacity of these devices", "bytes")]
    used: Annotated[int | None, Metric("Used", "Used raw capacity of these devices", "bytes")]
    nodes_down: Annotated[int | None, Metric("Down", "Number of unhealthy nodes in the failure domain")]
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""


class ClusterDevice(Reading, frozen=True, kw_only=True):
    """Device that a node contributes to a cluster: an SDS device, an OSD, the backing disk of a DRBD resource."""

    family: ClassVar[str] = "cluster_device"
    title: ClassVar[str] = "Cluster devices"
    joined: ClassVar[bool] = True
    rows_of = Source(
        "{origin}",
        "{needle|ident|device}",
        ("deviceOriginalPathName", "deviceCurrentPathName", "deviceState", "errorState", "mediaType"),
    )
    things: ClassVar = {
        "device": Identity(
            ThingKind.OSD,
            Naming.OSD,
            "{cluster}/{place}/{device}",
            aliases=(("{cluster}/{node}/{device}", Naming.OSD),),
        ),
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
        "node": Identity(ThingKind.NODE, Naming.NODE, "{cluster}/{node}"),
        "local": Identity(ThingKind.DEVICE, Naming.DEV, "{backing}"),
    }
    joins = (
        Join("pool|cluster", "device", Relation.MEMBER),
        Join("device", "node", Relation.LOCATED),
        Join("device", "local", Relation.STORED),
    )
    peers = (
        Peers(
            kind=GroupKind.DEVICES,
            upper="pool",
            member="device",
            by=("medium",),
            only=Stated("healthy", {"0": False}, True),  # noqa: FBT003
            weight="capacity",
        ),
    )

    cluster: Annotated[str, _CLUSTER]
    node: Annotated[str, Label("Node", "Node of the device, by its name in the cluster", names=Name.HOST)]
    device: Annotated[str, Label("Device", "Path of the device as known to the cluster, or its name", names=Name.PATH)]
    ident: Annotated[str | None, _IDENT]
    pool: Annotated[str | None, Fact("Pool", "Pool that it belongs to", names=Name.VOLUME)]
    name: Annotated[str | None, Fact("Name", "Name given by an administrator", names=Name.VOLUME)]
    path: Annotated[str | None, Fact("Path now", "Path at which its node last found it", names=Name.PATH)]
    original: Annotated[str | None, Fact("Path added", "Path under which it was added", names=Name.PATH)]
    state: Annotated[str | None, State("State", "State as reported by the cluster, problems first")]
    healthy: Annotated[int | None, _HEALTHY]
    media: Annotated[str | None, Fact("Media", "HDD, SSD, NVMe ...", plain=True)]
    model: Annotated[str | None, Fact("Model", "Model, as registered in the cluster", plain=True)]
    serial: Annotated[str | None, Fact("Serial", "Serial number, as registered in the cluster", names=Name.SERIAL)]
    capacity: Annotated[int | None, Metric("Capacity", "Capacity of the device for the cluster", "bytes")]
    used: Annotated[int | None, Metric("Used", "Used capacity of the device", "bytes")]
    read_wait: Annotated[float | None, Metric("r_await", "Mean read latency of the device", "seconds")]
    write_wait: Annotated[float | None, Metric("w_await", "Mean write latency of the device", "seconds")]
    local: Annotated[
        str | None, Fact("Here", "Kernel name, if it is in this node", export=False, names=Name.DEVICE)
    ] = None
    origin: Annotated[str, _ORIGIN] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def place(self) -> str:
        """Node in the name of the thing: an OSD's is short, as its daemon may know the host by another form.

        OSDs have one number in their cluster, so hosts with the same short name do no harm.
        """
        return self.node.partition(".")[0] if self.device.startswith("osd.") else self.node

    @property
    def backing(self) -> str | None:
        """Kernel name of the device below; None for a DRBD device whose backing device is unknown."""
        itself = self.local is not None and self.local.startswith("drbd") and self.device == f"/dev/{self.local}"
        return None if itself else self.local

    @property
    def medium(self) -> str:
        """Medium or device class, "" if unknown: devices of one medium in a pool are peers."""
        return self.media or ""


class ClusterVolume(Reading, frozen=True, kw_only=True):
    """Volume of a cluster: a ScaleIO volume or an rbd image; numbers are totals of all its clients."""

    family: ClassVar[str] = "cluster_volume"
    title: ClassVar[str] = "Cluster volumes"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{ident|volume}", ("volumeType", "sizeInKb", "mappedSdcInfo"))
    things: ClassVar = {
        "volume": Identity(
            ThingKind.VOLUME,
            Naming.VOLUME,
            "{cluster}/{volume}",
            aliases=(("{volume}", Naming.VOLUME), ("{local}", Naming.DEV)),
        ),
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
        "cluster": Identity(ThingKind.CLUSTER, Naming.CLUSTER),
    }
    joins = (Join("volume", "pool|cluster", Relation.STORED),)

    cluster: Annotated[str, _CLUSTER]
    volume: Annotated[str, Label("Volume", "Its name, or its id where it has none", names=Name.VOLUME)]
    ident: Annotated[str | None, _IDENT]
    pool: Annotated[str | None, Fact("Pool", "Pool of the volume", names=Name.VOLUME)]
    provisioning: Annotated[str | None, Fact("Kind", "thin, thick or snapshot", plain=True)]
    size: Annotated[int | None, Metric("Size", "Size of the volume", "bytes", setting=True)]
    clients: Annotated[
        int | None, Metric("Clients", "Number of clients that the volume is mapped to", setting=True, detail=True)
    ]
    mapped: Annotated[str | None, Fact("Mapped to", "Names of the first clients", export=False, names=Name.EVIDENCE)]
    reads: Annotated[float | None, _READS] = None
    writes: Annotated[float | None, _WRITES] = None
    read: Annotated[float | None, _READ] = None
    write: Annotated[float | None, _WRITE] = None
    read_wait: Annotated[float | None, _READ_WAIT] = None
    write_wait: Annotated[float | None, _WRITE_WAIT] = None
    local: Annotated[str | None, Fact("Here", "Kernel name, if this node has it", export=False, names=Name.DEVICE)] = (
        None
    )
    origin: Annotated[str, _ORIGIN] = ""


class ClusterClient(Reading, frozen=True, kw_only=True):
    """Client of a cluster, an SDC. Numbers are totals of all its volumes."""

    family: ClassVar[str] = "cluster_client"
    title: ClassVar[str] = "Cluster clients"
    joined: ClassVar[bool] = True
    rows_of = Source("{origin}", "{ident|client}", ("mdmConnectionState", "sdcIp", "sdcApproved"))
    fields_of = dict.fromkeys(
        ("reads", "writes", "read", "write"),
        Source("{statistics}", "{ident|client}", ("userDataReadBwc", "userDataWriteBwc")),
    )
    things: ClassVar = {
        "client": Identity(
            ThingKind.CLIENT,
            Naming.CLIENT,
            "{cluster}/{client}",
            aliases=(("{client}", Naming.CLIENT), ("{address}", Naming.ADDRESS)),
        ),
    }

    cluster: Annotated[str, _CLUSTER]
    client: Annotated[str, Label("Client", "Its name, or its address, or its id", names=Name.HOST)]
    ident: Annotated[str | None, _IDENT]
    address: Annotated[str | None, Fact("Address", "Its address", names=Name.IDENTIFIER)]
    state: Annotated[str | None, State("State", "State as reported by the cluster", detail=True)]
    healthy: Annotated[int | None, _HEALTHY]
    volumes: Annotated[int | None, Metric("Volumes", "Number of mapped volumes", detail=True)]
    version: Annotated[str | None, Fact("Version", "Its software", plain=True)]
    reads: Annotated[float | None, _READS] = None
    writes: Annotated[float | None, _WRITES] = None
    read: Annotated[float | None, _READ] = None
    write: Annotated[float | None, _WRITE] = None
    read_wait: Annotated[float | None, _READ_WAIT] = None
    write_wait: Annotated[float | None, _WRITE_WAIT] = None
    local: Annotated[bool, Fact("Here", "Whether it is the node that this data is from", export=False)] = False
    origin: Annotated[str, _ORIGIN] = ""
    statistics: Annotated[
        str, Fact("Statistics", "Key of the evidence of its numbers", export=False, names=Name.EVIDENCE)
    ] = ""
