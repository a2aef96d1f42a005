"""Targets that the kernel of this node exports: iSCSI by LIO, and NVMe over fabrics, with their portals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from sdstop.collectors.network.peer_readings import TargetExport
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host, again
from sdstop.core.model import Reading

LIO = "/sys/kernel/config/target/iscsi"
NVMET = "/sys/kernel/config/nvmet"


WILDCARDS = frozenset({"0.0.0.0", "[::]", "::", "[::0]", "::0", "*", ""})  # noqa: S104  # compared, not bound
"""Addresses of portals that listen on all addresses of the node."""


def read(host: Host) -> Iterable[Reading]:
    """Return the targets. Raises Absent if the kernel has neither kind of target."""
    missing = []
    for folder in (LIO, f"{NVMET}/ports"):
        try:
            host.entries(folder)
        except Absent as absent:
            missing.append(again(absent))
    if len(missing) > 1:
        raise again(missing[0])
    return [*_iscsi(host), *_nvme(host)]


def _iscsi(host: Host) -> Iterator[TargetExport]:
    for target in host.names(LIO):
        base = f"{LIO}/{target}"
        for group in (name for name in host.names(base) if name.startswith("tpgt_")):
            where = f"{base}/{group}/enable"
            on = host.number(where)
            for portal in host.names(f"{base}/{group}/np"):
                yield TargetExport(target, portal, "iscsi", on, _luns(host, f"{base}/{group}/lun"), where)


def _luns(host: Host, folder: str) -> str | None:
    """Return the disks behind the LUNs: a LUN has a link to its backstore, which has the path of its disk."""
    found = []
    for link in host.glob(f"{folder}/lun_*/*"):
        store = host.target(link)
        for path in host.glob(f"/sys/kernel/config/target/core/*/{store}/udev_path") if store else ():
            device = (host.maybe(path) or "").removeprefix("/dev/")
            found += [host.target(f"/dev/{device}") or device] if device else []
    return ",".join(dict.fromkeys(found)) or None


def _nvme(host: Host) -> Iterator[TargetExport]:
    for port in host.names(f"{NVMET}/ports"):
        base = f"{NVMET}/ports/{port}"
        address, service, kind = (host.maybe(f"{base}/addr_{name}") for name in ("traddr", "trsvcid", "trtype"))
        for target in host.names(f"{base}/subsystems"):
            folder = f"{NVMET}/subsystems/{target}/namespaces"
            spaces = host.names(folder)
            states = [host.number(f"{folder}/{space}/enable") for space in spaces]
            paths = [host.maybe(f"{folder}/{space}/device_path") or "" for space in spaces]
            devices = [path.removeprefix("/dev/") for path in paths if path.startswith("/dev/")]
            known = [state for state in states if state is not None]
            shown = f"[{address}]" if address and ":" in address else address
            yield TargetExport(
                target,
                f"{shown or '?'}:{service or '?'}",
                f"nvme-{kind or '?'}",
                max(known) if known else None,
                ",".join(host.target(f"/dev/{device}") or device for device in devices) or None,
                f"{base}/addr_traddr",
            )


def fingerprint(host: Host) -> Hashable:
    """Return the targets and the subsystems of each port."""
    ports = host.names(f"{NVMET}/ports")
    return tuple(host.names(LIO)), tuple(tuple(host.names(f"{NVMET}/ports/{port}/subsystems")) for port in ports)


EXPORTS = Collector(
    "exports",
    "Targets exported by the kernel",
    read,
    (TargetExport,),
    (
        Need(f"list:{LIO}", "which iSCSI targets there are"),
        Need(f"list:{LIO}/*", "their target portal groups"),
        Need(f"{LIO}/*/tpgt_*/enable", "whether initiators can log in", "root"),
        Need(f"list:{LIO}/*/tpgt_*/np", "their portals"),
        Need(f"list:{LIO}/*/tpgt_*/lun", "their LUNs"),
        Need(f"list:{LIO}/*/tpgt_*/lun/*", "the backstores of these"),
        Need(f"link:{LIO}/*/tpgt_*/lun/*", "the backstores of these"),
        Need("/sys/kernel/config/target/core/*/*/udev_path", "the disks below"),
        Need(f"list:{NVMET}/ports", "the ports of NVMe targets"),
        Need(f"{NVMET}/ports/*/*", "their addresses"),
        Need(f"list:{NVMET}/ports/*/subsystems", "their subsystems"),
        Need(f"list:{NVMET}/subsystems/*/namespaces", "their namespaces"),
        Need(f"{NVMET}/subsystems/*/namespaces/*/*", "whether a namespace is enabled, and its disk"),
        Need("link:/dev/*", "the kernel names of these disks"),
    ),
    SLOW,
    fingerprint=fingerprint,
)
