"""Network storage sessions: iSCSI, NVMe over fabrics and NBD, with their parameters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.readings.disk import sysfs_name

BLOCK = "/sys/block"
ISCSI = "/sys/class/iscsi_session"
CONNECTIONS = "/sys/class/iscsi_connection"
NVME = "/sys/class/nvme"
PACE = 10.0

_NAMESPACE = expression(r"(nvme[0-9]+)(?:c[0-9]+)?(n[0-9]+)")
_NBD = expression(r"nbd[0-9]+")


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


def read(host: Host) -> Iterable[Reading]:
    """Yield all iSCSI, NVMe and NBD sessions."""
    connections = host.names(CONNECTIONS)
    for name in host.names(ISCSI):
        yield _iscsi(host, name, connections)
    for name in host.names(NVME):
        transport = host.maybe(f"{NVME}/{name}/transport")
        if transport and transport != "pcie":
            yield _nvme(host, name, transport)
    for name in _nbds(host):
        # The kernel creates sixteen of them; only connected ones have the file.
        if host.number(f"{BLOCK}/{name}/pid") is not None:
            biggest = _largest(host, [name])
            yield StorageSession(name, "nbd", name, None, host.maybe(f"{BLOCK}/{name}/backend"), "connected", biggest)


def _iscsi(host: Host, name: str, connections: Sequence[str]) -> StorageSession:
    base = f"{ISCSI}/{name}"
    number = name.removeprefix("session")
    first = next((c for c in connections if c.startswith(f"connection{number}:")), None)
    link = f"{CONNECTIONS}/{first}" if first is not None else None
    paths = host.glob(f"{base}/device/target*/*:*:*:*/block/*")
    devices = sorted({path.rpartition("/")[2].replace("!", "/") for path in paths})
    address = host.maybe(f"{link}/address") or host.maybe(f"{link}/persistent_address") if link else None
    port = host.maybe(f"{link}/port") or host.maybe(f"{link}/persistent_port") if link else None
    return StorageSession(
        session=name,
        transport="iscsi",
        devices=",".join(devices) or None,
        peer=_peer(address, port),
        target=host.maybe(f"{base}/targetname") or None,
        state=host.maybe(f"{base}/state") or None,
        max_request=_largest(host, devices),
        max_receive=host.number(f"{link}/max_recv_dlength") if link else None,
        max_send=host.number(f"{link}/max_xmit_dlength") if link else None,
        first_burst=host.number(f"{base}/first_burst_len"),
        max_burst=host.number(f"{base}/max_burst_len"),
    )


def _nvme(host: Host, name: str, transport: str) -> StorageSession:
    base = f"{NVME}/{name}"
    address = parse_address(host.maybe(f"{base}/address") or "")
    matches = [match for entry in host.names(base) if (match := _NAMESPACE.fullmatch(entry))]
    # nvme0c1n1 is the controller's path to nvme0n1, the device that the kernel exposes.
    devices = sorted({match[1] + match[2] for match in matches})
    paths = sorted(match[0] for match in matches if match[0] not in devices)
    return StorageSession(
        session=name,
        transport=f"nvme-{transport}",
        devices=",".join(devices) or None,
        peer=_peer(address.get("traddr"), address.get("trsvcid")),
        target=host.maybe(f"{base}/subsysnqn") or None,
        state=host.maybe(f"{base}/state") or None,
        max_request=_largest(host, devices),
        paths=",".join(paths) or None,
    )


def parse_address(text: str) -> dict[str, str]:
    """Parse an NVMe controller's address (kernel drivers/nvme/host/fabrics.c: nvmf_get_address).

    traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1
    """
    pairs = (part.strip().partition("=") for part in text.split(","))
    return {name: value for name, equals, value in pairs if equals and name and value}


def _peer(address: str | None, port: str | None) -> str | None:
    if not address:
        return None
    shown = f"[{address}]" if ":" in address and not address.startswith("[") else address
    return f"{shown}:{port}" if port else address


def _largest(host: Host, devices: Sequence[str]) -> int | None:
    """Return the smallest of the devices' maximum request sizes, in bytes."""
    limits = [host.number(f"{BLOCK}/{sysfs_name(device)}/queue/max_sectors_kb") for device in devices]
    known = [limit for limit in limits if limit is not None]
    return min(known) * 1024 if known else None


def _nbds(host: Host) -> list[str]:
    return [name for name in host.names(BLOCK) if _NBD.fullmatch(name)]


def fingerprint(host: Host) -> Hashable:
    """Return the sessions and the NBD devices."""
    return tuple(tuple(host.names(folder)) for folder in (ISCSI, NVME)), tuple(_nbds(host))


SESSIONS = Collector(
    "sessions",
    "iSCSI, NVMe and NBD sessions",
    read,
    (StorageSession,),
    (
        Need(f"list:{ISCSI}", "which iSCSI sessions there are"),
        Need(f"{ISCSI}/*", "target, state and bursts of iSCSI sessions", filled=("state",)),
        Need(f"list:{ISCSI}/*", "disks of iSCSI sessions"),
        Need(f"list:{CONNECTIONS}", "connections of iSCSI sessions"),
        Need(f"{CONNECTIONS}/*", "address and limits of a connection"),
        Need(f"list:{NVME}", "which NVMe controllers there are"),
        Need(f"{NVME}/*", "transport, address and state", filled=("state", "transport")),
        Need(f"list:{NVME}/*", "namespaces of NVMe controllers"),
        Need(f"list:{BLOCK}", "which NBDs there are"),
        Need(f"{BLOCK}/nbd*/*", "whether an NBD is served"),
        Need(f"{BLOCK}/*/queue/max_sectors_kb", "the largest request"),
    ),
    PACE,
    deadline=5.0,
    fingerprint=fingerprint,
)
