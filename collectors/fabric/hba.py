"""HBAs, the disks attached to them, and both ends of each HBA's PCI Express link."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from msgspec.structs import replace

from sdstop.collectors.fabric import lspci
from sdstop.collectors.fabric.locality import FIRMWARE, functions, node_cpus, node_of
from sdstop.collectors.fabric.place import PciePath, enclosure_of, parse_place
from sdstop.collectors.fabric.readings import BLOCK, NODES, PCI, SAS_DEVICES, DiskPath, Hba
from sdstop.core.collector import QUIET, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import FormOutput, outputs
from sdstop.core.host import Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.readings.disk import device_name

SCSI_HOSTS = "/sys/class/scsi_host"

_FIRMWARE = {
    "mpt2sas": "version_fw", "mpt3sas": "version_fw", "mpi3mr": "version_fw", "hpsa": "firmware_revision",
    "smartpqi": "firmware_version", "qla2xxx": "fw_version", "lpfc": "fwrev",
}  # fmt: skip
"""Attribute of the SCSI host with the HBA's firmware version, by driver (mpt3sas_ctl.c...)."""
_HOST = expression(r"host\d+")


_SPEED = expression(r"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?")
_KINDS = {0x00: "scsi", 0x01: "ide", 0x04: "raid", 0x05: "ata", 0x06: "sata", 0x07: "sas", 0x08: "nvme"}


def link_speed(said: str | None) -> float | None:
    """Parse `8.0 GT/s PCIe` (`8 GT/s` before Linux 5.x) into transfers per second; None for `Unknown`."""
    match = _SPEED.fullmatch(said or "")
    return float(match[1]) * 1e9 if match else None


def link_width(said: int | None) -> int | None:
    """Return the number of lanes; None for 0 and 255, which the kernel reports without a link."""
    return said if said is not None and 0 < said <= 32 else None


def kind_of(pci_class: int | None) -> str | None:
    """Return the kind of a storage PCI function from its class (`0x010700`: SAS); None for any other function."""
    if pci_class is None or pci_class >> 16 != 1:
        return None
    return _KINDS.get(pci_class >> 8 & 0xFF, "storage")


def _place(host: Host, path: str) -> PciePath:
    try:
        return parse_place(host.link(path))
    except TimedOut:
        raise
    except Unreadable:
        return PciePath()


def _path(host: Host, entry: str, place: PciePath) -> DiskPath:
    end = place.end_device or None
    base = f"{SAS_DEVICES}/{end}"
    enclosure = (host.maybe(f"{base}/enclosure_identifier") or None) if end else None
    known = end and (enclosure is None or enclosure_of(enclosure))
    return DiskPath(
        device=device_name(entry),
        hba=place.functions[-1],
        host=place.host or None,
        port=place.ports[0] if place.ports else None,
        expander=place.expanders[-1] if place.expanders else None,
        end_device=end,
        enclosure=enclosure_of(enclosure),
        bay=host.number(f"{base}/bay_identifier") if known else None,  # without an enclosure the bay is a meaningless 0
    )


def _ids(host: Host, address: str) -> str | None:
    words = [host.maybe(f"{PCI}/{address}/{name}") for name in ("vendor", "device")]
    return ":".join(word.removeprefix("0x") for word in words if word) if all(words) else None


def _firmware(host: Host, address: str, driver: str | None) -> str | None:
    attribute = _FIRMWARE.get(driver or "")
    if attribute is None:
        return None
    hosts = sorted(name for name in host.names(f"{PCI}/{address}") if _HOST.fullmatch(name))
    said = (host.maybe(f"{SCSI_HOSTS}/{name}/{attribute}") for name in hosts)
    return next((version for version in said if version), None)


def _hba(host: Host, address: str, kind: str, bridges: tuple[str, ...], nodes: Mapping[int, frozenset[int]]) -> Hba:
    base = f"{PCI}/{address}"
    driver = host.target(f"{base}/driver")
    above = bridges[-1] if bridges else None
    node, node_by = node_of(host, address, bridges, nodes)

    def speed(where: str | None, name: str) -> float | None:
        return link_speed(host.maybe(f"{PCI}/{where}/{name}")) if where is not None else None

    def width(where: str | None, name: str) -> int | None:
        return link_width(host.number(f"{PCI}/{where}/{name}")) if where is not None else None

    return Hba(
        hba=address,
        kind=kind,
        device_id=_ids(host, address),
        driver=driver,
        firmware=_firmware(host, address, driver),
        port=above,
        port_device_id=_ids(host, above) if above is not None else None,
        node=node,
        speed=speed(address, "current_link_speed"),
        width=width(address, "current_link_width"),
        max_speed=speed(address, "max_link_speed"),
        max_width=width(address, "max_link_width"),
        port_max_speed=speed(above, "max_link_speed"),
        port_max_width=width(above, "max_link_width"),
        node_by=node_by,
        bridges=",".join(bridges[:-1]) or None,
    )


def read(host: Host) -> Iterable[Reading]:
    """Yield the path to every disk, then every storage PCI function."""
    ways: dict[str, tuple[str, ...]] = {}
    for entry in host.names(BLOCK):
        place = _place(host, f"{BLOCK}/{entry}")
        if place.functions:
            ways[place.functions[-1]] = place.functions[:-1]
            yield _path(host, entry, place)
    nodes = node_cpus(host)
    described = {each.address: (each, output.key) for output in outputs(host, lspci.FORM) for each in _parsed(output)}
    for address in sorted({*host.names(PCI), *ways}):
        kind = kind_of(host.number(f"{PCI}/{address}/class"))
        if kind is None and address not in ways:
            continue
        bridges = functions(host, address)[:-1] or ways.get(address, ())
        row = _hba(host, address, kind or "storage", bridges, nodes)
        yield row if row.width is not None else _described(row, described)


def _parsed(output: FormOutput) -> list[lspci.PciFunction]:
    try:
        return lspci.parse(output.text)
    except Malformed:
        return []


def _described(row: Hba, described: Mapping[str, tuple[lspci.PciFunction, str]]) -> Hba:
    """Return a function with the link that recorded output of lspci has, where a tree of files lacks its attributes."""
    each, key = described.get(row.hba, (None, ""))
    if each is None or row.max_width is not None:
        return row
    port = described.get(row.port or "", (None, ""))[0]
    speed, width = each.link("LnkSta")
    most, widest = each.link("LnkCap")
    port_most, port_widest = port.link("LnkCap") if port is not None else (None, None)
    return replace(
        row,
        device_id=row.device_id or each.ids,
        driver=row.driver or each.driver,
        node=each.node if row.node is None else row.node,
        speed=speed,
        width=width,
        max_speed=most,
        max_width=widest,
        port_max_speed=port_most,
        port_max_width=port_widest,
        node_by=row.node_by if row.node is not None or each.node is None else FIRMWARE,
        told=key,
    )


def fingerprint(host: Host) -> Hashable:
    """Return the disks' names, which change on hot-plug."""
    return tuple(host.names(BLOCK))


HBA = Collector(
    "hba",
    "HBAs, their PCI Express links and attached disks",
    read,
    (Hba, DiskPath),
    (
        Need(f"list:{BLOCK}", "which disks there are"),
        Need(f"link:{BLOCK}/*", "the way to a disk: PCI function, SCSI host, SAS port, expander"),
        Need(f"{SAS_DEVICES}/*/*", "enclosure and bay of a SAS disk"),
        Need(f"list:{PCI}", "which PCI functions there are"),
        Need(
            f"{PCI}/*/*",
            "class, numbers, NUMA node, speed and width of the link, now and at most",
            filled=("class", "vendor", "device", "numa_node", "*_link_speed", "*_link_width"),
        ),
        Need(f"link:{PCI}/*", "the port and bridges above a PCI function"),
        Need(f"list:{NODES}", "which NUMA nodes there are"),
        Need(f"{NODES}/*/cpulist", "CPUs of a NUMA node, the only source of a function's node on some kernels"),
        Need(f"link:{PCI}/*/driver", "driver of a PCI function"),
        Need(f"list:{PCI}/*", "the SCSI host of an HBA whose driver reports its firmware"),
        Need(f"{SCSI_HOSTS}/*/*", "the HBA's firmware"),
        Need("cmd:lspci*", "the links, from captures without sysfs's attributes; never run"),
    ),
    30.0,
    deadline=15.0,
    fingerprint=fingerprint,
    quiet=QUIET / 2,
)
