"""Readings of storage over the network: sessions, paths, exports, clients and servers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, Unplaced, recorded

BLOCK = "/sys/block"
ISCSI = "/sys/class/iscsi_session"
NVME = "/sys/class/nvme"
SUBSYSTEMS = "/sys/class/nvme-subsystem"
LIVE_STATE = "live"
ACCESSIBLE = frozenset({"optimized", "non-optimized"})
"""Access states in which a controller serves requests."""
PORTS = {2049: "nfs", 445: "smb", 139: "smb", 3260: "iscsi", 10809: "nbd", 4420: "nvme-tcp"}
ASK_CLIENTS = tuple(
    f"ss -tinO state established ( {' or '.join(f'sport = :{port}' for port in sorted(PORTS))} )".split()
)
CLIENTS_KEY = command_key(ASK_CLIENTS)
SERVED = {2049: "nfs", 445: "smb", 3260: "iscsi", 4420: "nvme-tcp", 10809: "nbd", 3300: "ceph", 6789: "ceph",
          24007: "gluster"}  # fmt: skip
"""Ports of a server that this node is a client of."""
REPLICATED = {(7788, 7799): "drbd", (6800, 7568): "ceph"}
"""Ranges of ports between nodes of a cluster: either end may have such a port."""
_RANGES = " or ".join(
    f"( {end} >= :{low} and {end} <= :{high} )" for low, high in REPLICATED for end in ("dport", "sport")
)
ASK_SERVERS = tuple(
    f"ss -tinO state established ( {' or '.join(f'dport = :{port}' for port in sorted(SERVED))} or {_RANGES} )".split()
)
SERVERS_KEY = command_key(ASK_SERVERS)


def bracketed(address: str) -> str:
    """Return an address as ss prints it."""
    return f"[{address}]" if ":" in address else address


class StorageSession(Reading, frozen=True):
    """A session with remote storage.

    TCP segments a byte stream, and the target reassembles it before storing it. Unlike with AoE frames, the MTU
    therefore does not affect the request size at the target.
    """

    family: ClassVar[str] = "storage_session"
    title: ClassVar[str] = "Storage sessions"
    things: ClassVar = {
        "session": Identity(ThingKind.SESSION, Naming.SESSION),
        "devices": Identity(ThingKind.DEVICE, Naming.DEV, many=True),
        "paths": Identity(None, Naming.DEV, many=True),
        "target": Identity(ThingKind.TARGET, Naming.TARGET),
        "peer": Identity(ThingKind.PEER, Naming.ADDRESS),
    }
    joins = (
        Join("devices", "session", Relation.SERVED),
        Join("paths", "session", Relation.SERVED),
        Join("session", "target", Relation.SERVED),
        Join("target|session", "peer", Relation.SERVED),
    )

    session: Annotated[str, Label("Session", "Its name in sysfs: session1, nvme0, nbd0", plain=True)]
    transport: Annotated[str, Fact("Transport", "iscsi, nvme-tcp, nvme-rdma, nvme-fc or nbd", plain=True)]
    devices: Annotated[
        str | None, Fact("Devices", "Kernel names of the session's disks, separated by commas", names=Name.DEVICE)
    ]
    peer: Annotated[str | None, Fact("Peer", "Address and port of the other end", names=Name.IDENTIFIER)]
    target: Annotated[str | None, Fact("Target", "Requested target: an IQN, an NQN", names=Name.IDENTIFIER)]
    state: Annotated[
        str | None,
        State("State", "State of the session: LOGGED_IN, FAILED ... (iSCSI), live, connecting ... (NVMe), connected"),
    ]
    max_request: Annotated[
        int | None,
        Metric(
            "Largest request", "Largest request of the disk that supports the least", "bytes", exact=True, setting=True
        ),
    ]
    max_receive: Annotated[
        int | None,
        Metric(
            "Receives", "iSCSI: largest data segment to this node (max_recv_dlength)", "bytes", exact=True, setting=True
        ),
    ] = None
    max_send: Annotated[
        int | None,
        Metric(
            "Sends", "iSCSI: largest data segment from this node (max_xmit_dlength)", "bytes", exact=True, setting=True
        ),
    ] = None
    first_burst: Annotated[
        int | None,
        Metric("First burst", "iSCSI: largest unsolicited data (first_burst_len)", "bytes", exact=True, setting=True),
    ] = None
    max_burst: Annotated[
        int | None, Metric("Burst", "iSCSI: largest data of one burst", "bytes", exact=True, setting=True)
    ] = None
    paths: Annotated[
        str | None,
        Fact("Paths", "Kernel names of an NVMe controller's paths to its disks", export=False, plain=True),
    ] = None
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the attribute of a field (by default the state), or the line of an output."""
        if self.told is not None:
            return Source(self.told, self.needle)
        match self.transport:
            case "iscsi":
                names = {"target": "targetname", "first_burst": "first_burst_len", "max_burst": "max_burst_len"}
                return Source(f"{ISCSI}/{self.session}/{names.get(field, 'state')}")
            case "nbd":
                return Source(f"{BLOCK}/{self.session}/pid")
        names = {"peer": "address", "target": "subsysnqn", "transport": "transport"}
        return Source(f"{NVME}/{self.session}/{names.get(field, 'state')}")


class SessionState(Reading, frozen=True):
    """State of an iSCSI session or NVMe controller (of PCIe too).

    iSCSI: LOGGED_IN, FAILED, FREE (drivers/scsi/scsi_transport_iscsi.c: iscsi_session_state_names). NVMe: new, live,
    resetting, connecting, deleting, deleting (no IO), dead (drivers/nvme/host/sysfs.c: nvme_sysfs_show_state).
    """

    family: ClassVar[str] = "session_state"
    title: ClassVar[str] = "States of storage sessions"
    exported: ClassVar[bool] = False  # of sessions it is exported with them
    things: ClassVar = {
        "session": Identity(None, Naming.SESSION),
    }

    session: Annotated[str, Label("Session", "Its name in sysfs: session1, nvme0", plain=True)]
    state: Annotated[
        str | None,
        State("State", "State of the session: LOGGED_IN, FAILED, FREE; live, connecting, resetting, dead ..."),
    ]
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the state file, or the line of an output."""
        del field
        if self.told is not None:
            return Source(self.told, self.needle)
        return Source(f"{ISCSI if self.session.startswith('session') else NVME}/{self.session}/state")


class NvmePath(Reading, frozen=True):
    """A path of an NVMe namespace that the kernel reaches through several controllers.

    A hidden block device `nvmeXcYnZ`: subsystem X, controller Y, namespace Z (drivers/nvme/host/multipath.c:
    nvme_mpath_set_disk_name). The access state is only there if the controller reports it (asymmetric namespace
    access): optimized, non-optimized, inaccessible, persistent-loss, change.
    """

    family: ClassVar[str] = "nvme_path"
    title: ClassVar[str] = "NVMe paths"
    fields_of: ClassVar = recorded(
        "+- {controller} ",
        {
            "access": Source(f"{BLOCK}/{{path}}/ana_state"),
            "policy": Source(f"{SUBSYSTEMS}/{{subsystem}}/iopolicy"),
        },
    )
    rows_of = (Source("{told}", "+- {controller} "), Source(f"{NVME}/{{controller}}/state"))
    things: ClassVar = {
        "path": Identity(None, Naming.DEV),
    }

    path: Annotated[str, Label("Path", "Kernel name of the hidden device: nvme0c1n1", names=Name.DEVICE)]
    device: Annotated[str, Fact("Device", "Device that unites the paths: nvme0n1", names=Name.DEVICE)]
    controller: Annotated[str, Fact("Controller", "Controller of the path: nvme1", plain=True)]
    subsystem: Annotated[str, Fact("Subsystem", "Its name in sysfs: nvme-subsys0", plain=True)]
    state: Annotated[str | None, State("State", "State of the controller: live, connecting, resetting, dead ...")]
    access: Annotated[
        str | None,
        State("Access", "Access that the controller reports: optimized, non-optimized, inaccessible, persistent-loss"),
    ]
    policy: Annotated[
        str | None, Fact("Policy", "Choice among optimized paths: numa, round-robin, queue-depth", plain=True)
    ]
    told: Annotated[str | None, Fact("Source", "Text that shows it", export=False, names=Name.EVIDENCE)] = None

    @property
    def works(self) -> bool:
        """Whether requests can take the path now."""
        return self.state == LIVE_STATE and (self.access is None or self.access in ACCESSIBLE)

    @property
    def failed(self) -> bool:
        """Whether it is a fault that they cannot: a live controller may be inaccessible while another one serves."""
        return self.state != LIVE_STATE or self.access == "persistent-loss"


class TargetExport(Reading, frozen=True):
    """A target at one portal, as configured in configfs (kernel drivers/target/iscsi, drivers/nvme/target/configfs.c).

    Portals are named `10.0.0.1:3260`. `enabled` is 0 for a target portal group or a namespace that is switched off.
    """

    family: ClassVar[str] = "target_export"
    title: ClassVar[str] = "Exported targets"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}")
    things: ClassVar = {
        "target": Identity(ThingKind.TARGET, Naming.TARGET),
        "devices": Identity(None, Naming.DEV, many=True),
    }
    joins = (Join("target", "devices", Relation.STORED),)

    target: Annotated[str, Label("Target", "Name of the target: an IQN, an NQN", names=Name.IDENTIFIER)]
    portal: Annotated[str, Label("Portal", "Address and port that it is offered at", names=Name.IDENTIFIER)]
    transport: Annotated[str, Fact("Transport", "iscsi, nvme-tcp, nvme-rdma or nvme-fc", plain=True)]
    enabled: Annotated[int | None, Metric("Enabled", "Whether initiators can log in (1 = yes)")]
    devices: Annotated[str | None, Fact("Devices", "Kernel names of its disks, separated by commas", names=Name.DEVICE)]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


class StorageClient(Reading, frozen=True):
    """A client of a storage service: all of its connections to one address of this node.

    Byte counters cover the current connections (tcp_info, Linux 4.1 and later), so they decrease when a connection is
    closed. `interface` is the outgoing interface of responses, None if the routes do not determine it.
    """

    family: ClassVar[str] = "storage_client"
    title: ClassVar[str] = "Clients of this node's storage"
    exported: ClassVar[bool] = False
    things: ClassVar = {
        "client": Identity(ThingKind.CLIENT, Naming.ADDRESS),
        "interface": Identity(None, Naming.NET),
    }
    joins = (Join("client", "interface", Relation.CARRIED),)

    client: Annotated[str, Label("Client", "Address of the client", names=Name.IDENTIFIER)]
    service: Annotated[str, Label("Service", "nfs, smb, iscsi, nbd, nvme-tcp; by the port of this node", plain=True)]
    address: Annotated[str, Label("Address", "Address of this node that the client uses", names=Name.IDENTIFIER)]
    interface: Annotated[str | None, Fact("Interface", "Interface that replies leave by", names=Name.INTERFACE)]
    connections: Annotated[int, Metric("Connections", "Open connections of the client")]
    received: Annotated[int | None, Metric("Received", "Bytes received from the client", "bytes", Kind.COUNTER)]
    sent: Annotated[int | None, Metric("Sent", "Bytes sent to the client", "bytes", Kind.COUNTER)]

    def source(self, field: str = "") -> Source | None:
        """Return the output line of one of the client's connections."""
        del field
        return Source(CLIENTS_KEY, f"{bracketed(self.client)}:")


class StorageClientActivity(Reading, frozen=True):
    """Throughput of a client between two samples."""

    family: ClassVar[str] = "storage_client_activity"
    title: ClassVar[str] = "What clients move"
    exported: ClassVar[bool] = False
    rows_of = Unplaced("it follows from two readings of a client's connections")

    client: Annotated[str, Label("Client", "Address of the client", names=Name.IDENTIFIER)]
    service: Annotated[str, Label("Service", "nfs, smb, iscsi, nbd, nvme-tcp", plain=True)]
    address: Annotated[str, Label("Address", "Address of this node", names=Name.IDENTIFIER)]
    received_per_second: Annotated[float, Metric("Received/s", "Bytes received from the client", "bytes_per_second")]
    sent_per_second: Annotated[float, Metric("Sent/s", "Bytes sent to the client", "bytes_per_second")]


class StoragePeer(Reading, frozen=True):
    """A server or cluster node that this node exchanges data with: all connections of one service to one address.

    Counters are those of the connections that are open now (tcp_info, Linux 4.2 and later): after a reconnect they
    begin again. Connections are recognized by the usual ports of their service.
    """

    family: ClassVar[str] = "storage_peer"
    title: ClassVar[str] = "Storage peers"
    remembered: ClassVar[int] = 64
    rows_of = Source(SERVERS_KEY, "{shown}:")
    things: ClassVar = {
        "peer": Identity(ThingKind.PEER, Naming.ADDRESS, "{shown}", aliases=(("{shown}:{port}", Naming.ADDRESS),)),
    }

    peer: Annotated[str, Label("Peer", "Address of the other end", names=Name.IDENTIFIER)]
    service: Annotated[
        str, Label("Service", "iscsi, nvme-tcp, nfs, smb, nbd, ceph, drbd, gluster; by port", plain=True)
    ]
    port: Annotated[int | None, Metric("Port", "Port of the server, if all connections have one", export=False)]
    connections: Annotated[int, Metric("Connections", "Open connections to the peer")]
    segments: Annotated[int | None, Metric("Segments", "TCP segments sent to the peer", kind=Kind.COUNTER)]
    retransmitted: Annotated[
        int | None, Metric("Retransmitted", "TCP segments sent again to the peer", kind=Kind.COUNTER)
    ]
    round_trip: Annotated[
        float | None, Metric("Round trip", "Longest smoothed round-trip time of the connections", "seconds")
    ]

    @property
    def shown(self) -> str:
        """Address as ss prints it."""
        return bracketed(self.peer)
