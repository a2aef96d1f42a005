"""Network storage sessions: iSCSI, NVMe over fabrics and NBD, with their parameters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from sdstop.collectors.network.peer_readings import BLOCK, ISCSI, NVME, StorageSession
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.disk import sysfs_name

CONNECTIONS = "/sys/class/iscsi_connection"
PACE = 10.0
"""Seconds between runs."""

_NAMESPACE = expression(r"(nvme[0-9]+)(?:c[0-9]+)?(n[0-9]+)")
_NBD = expression(r"nbd[0-9]+")


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
