"""QEMU limits on the drives of virtual machines, from its command line and libvirt's files.

References: QEMU docs/throttle.txt and qapi/block-core.json (ThrottleLimits); libvirt docs/formatdomain.rst, iotune.
Limits set while a machine runs are in libvirt's state, not on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import is_whole, json_text
from sdstop.readings.limit import QEMU, READ, TOTAL, WRITE, Limit, limited

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

_WAYS = {TOTAL: "", READ: "_rd", WRITE: "_wr"}
_QAPI = {"total": "", "read": "_rd", "write": "_wr"}
_LIBVIRT = expression(r"(?P<way>total|read|write)_(?P<unit>bytes|iops)_sec(?P<burst>_max(?:_length)?)?")
_NEW = expression(r"(?P<unit>bps|iops)-(?P<way>total|read|write)(?P<burst>-max(?:-length)?)?")
_OLD = expression(r"(?:bps|iops)(?:_rd|_wr)?(?:_max(?:_length)?)?|iops_size")
_LARGEST = 1 << 62
"""Numbers of QEMU are below it."""


class QemuDrive(Struct, frozen=True):
    """A drive of a virtual machine: its name, its storage, and QEMU's limits by short name.

    `limits`: iops, bps, each also with _rd and _wr, with _max and _max_length for bursts, and iops_size; 0: unlimited.
    """

    machine: str
    name: str
    source: str | None
    limits: Mapping[str, int] = field(default_factory=dict)
    group: str | None = None

    @property
    def is_limited(self) -> bool:
        """Whether any limit is set."""
        return any(self.limits.get(f"{unit}{way}") for unit in ("iops", "bps") for way in _WAYS.values())


def parse_domain(text: str) -> list[QemuDrive]:
    """Parse a libvirt domain, as configured or from the status file of a running one (/run/libvirt/qemu/NAME.xml).

        <domain type='kvm'><name>web</name><devices>
          <disk type='block' device='disk'><source dev='/dev/vg/web'/><target dev='vda' bus='virtio'/>
            <iotune><total_iops_sec>500</total_iops_sec><total_iops_sec_max>2000</total_iops_sec_max>
              <total_iops_sec_max_length>60</total_iops_sec_max_length><size_iops_sec>4096</size_iops_sec>
              <group_name>web</group_name></iotune></disk></devices></domain>

    Raises Malformed.
    """
    domain = _domain(text)
    return [_disk(domain.findtext("name") or "", disk) for disk in domain.findall("devices/disk")]


def _domain(text: str) -> ET.Element:
    """Return a libvirt domain that has a name. Raises Malformed."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # libvirt never writes them; entities could expand without bound
        raise Malformed("a domain of libvirt with a document type")
    import xml.etree.ElementTree as ET  # noqa: PLC0415  # few nodes have any, and it takes time to import

    try:
        root = ET.fromstring(text)  # noqa: S314  # without entities it can only be as large as it is
    except (ET.ParseError, ValueError) as error:
        raise Malformed(f"a domain of libvirt: {error}") from error
    domain = root if root.tag == "domain" else root.find("domain")
    if domain is None or not domain.findtext("name"):
        raise Malformed("no domain of libvirt with a name")
    return domain


_SOURCE = ("dev", "file", "protocol", "name", "pool", "volume")


def kept_domain(data: bytes) -> bytes:
    """Return the parts of a domain that `parse_domain` reads, b"" if invalid; other parts contain console passwords."""
    try:
        domain = _domain(data.decode("utf-8", "replace"))
    except Malformed:
        return b""
    import xml.etree.ElementTree as ET  # noqa: PLC0415

    made = ET.Element("domain")
    ET.SubElement(made, "name").text = domain.findtext("name")
    devices = ET.SubElement(made, "devices")
    for disk in domain.findall("devices/disk"):
        kept = ET.SubElement(devices, "disk")
        for name, attributes in (("source", _SOURCE), ("target", ("dev",))):
            if (item := disk.find(name)) is not None:
                ET.SubElement(kept, name, {key: item.get(key, "") for key in attributes if key in item.attrib})
        if (tune := disk.find("iotune")) is not None:
            limits = ET.SubElement(kept, "iotune")
            for item in tune:
                ET.SubElement(limits, item.tag).text = item.text
    text: bytes = ET.tostring(made, encoding="utf-8")
    return text


def _disk(machine: str, disk: ET.Element) -> QemuDrive:
    limits: dict[str, int] = {}
    tune = disk.find("iotune")
    for item in tune if tune is not None else ():
        known = _LIBVIRT.fullmatch(item.tag)
        number = _whole(item.text or "")
        if known and number is not None:
            unit = "bps" if known["unit"] == "bytes" else "iops"
            limits[f"{unit}{_QAPI[known['way']]}{known['burst'] or ''}"] = number
        elif item.tag == "size_iops_sec" and number is not None:
            limits["iops_size"] = number
    target = disk.find("target")
    group = tune.findtext("group_name") if tune is not None else None
    name = target.get("dev") if target is not None else None
    return QemuDrive(machine, name or "?", _source(disk.find("source")), limits, group or None)


def _source(source: ET.Element | None) -> str | None:
    if source is None:
        return None
    if source.get("protocol"):
        return f"{source.get('protocol')}:{source.get('name') or '?'}"
    pool, volume = source.get("pool"), source.get("volume")
    return source.get("dev") or source.get("file") or (f"{pool}/{volume}" if pool and volume else None)


def parse_command_line(argv: Sequence[str]) -> list[QemuDrive]:
    """Return the limited drives of a QEMU command line; a separate throttle group counts as a drive of that name.

        qemu-system-x86_64 -name guest=web -drive file=/dev/vg/web,if=virtio,id=d0,throttling.iops-total=500
        -object throttle-group,id=g0,x-iops-total=100 -blockdev {"driver":"throttle","throttle-group":"g0",...}

    With a filter node (driver throttle) the limits are those of the group; its file, if named in the same option, is
    the source.
    """
    machine = "?"
    drives: list[QemuDrive] = []
    groups: dict[str, dict[str, int]] = {}
    filters: dict[str, list[str | None]] = {}
    for option, value in _options(argv):
        said = _words(value)
        if option == "-name":
            machine = str(said.get("guest") or value.partition(",")[0])
        elif option == "-drive":
            limits = _limits(said)
            group = said.get("throttling.group") or said.get("group")
            name = str(said.get("id") or said.get("if") or "drive")
            drives.append(QemuDrive("", name, json_text(said.get("file")), limits, json_text(group)))
        elif option == "-object" and (said.get("qom-type") or said.get("")) == "throttle-group":
            groups[str(said.get("id"))] = _limits(said)
        elif option == "-blockdev" and said.get("driver") == "throttle":
            filters.setdefault(str(said.get("throttle-group")), []).append(_file(said))
    for group, limits in groups.items():
        drives += [QemuDrive("", group, source, limits, group) for source in filters.get(group, [None])]
    return [QemuDrive(machine, d.name, d.source, d.limits, d.group) for d in drives if d.is_limited]


def _options(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    for option, value in pairwise(argv):
        name = option[1:] if option.startswith("--") else option
        if name in {"-name", "-drive", "-object", "-blockdev"}:
            yield name, value


def _words(value: str) -> dict[str, Any]:
    """Return an option's values, from JSON or `first,key=value`, flattened: nested keys with dots; `,,` is a comma."""
    if value.startswith("{"):
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):
            return {}
        return dict(_flat(said, "")) if isinstance(said, dict) else {}
    found: dict[str, Any] = {}
    for place, word in enumerate(value.replace(",,", "\0").split(",")):
        key, equals, rest = word.replace("\0", ",").partition("=")
        if equals:
            found[key] = rest
        elif not place:
            found[""] = key
    return found


def _flat(said: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in said.items():
        if isinstance(value, dict) and before.count(".") < 8:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _limits(said: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in said.items():
        word = key.removeprefix("throttling.").removeprefix("limits.").removeprefix("x-")
        number = _whole(str(value))
        new = _NEW.fullmatch(word)
        if number is None:
            continue
        if new:
            burst = (new["burst"] or "").replace("-", "_")
            found[f"{new['unit']}{_QAPI[new['way']]}{burst}"] = number
        elif word == "iops-size" or _OLD.fullmatch(word):
            found[word.replace("-", "_")] = number
    return found


def _file(said: Mapping[str, Any]) -> str | None:
    return json_text(said.get("file.filename") or said.get("file.file.filename") or said.get("file"))


def _whole(text: str) -> int | None:
    word = text.strip()
    return int(word) if is_whole(word, 19) and int(word) < _LARGEST else None


def limits_of(drives: Sequence[QemuDrive], devices: Mapping[str, str], origin: str) -> list[Limit]:
    """Return a row for each limited drive and direction; drives of one throttle group of a machine share a row.

    `devices` maps sources that are block devices to kernel names. Usage is counted only for these devices; it is
    unknown for drives stored in files or on the network.
    """
    rows = []
    for members in _grouped(drives):
        drive = members[-1]  # the limits of the group's last member apply
        below = [devices.get(member.source or "") for member in members]
        known = ",".join(dict.fromkeys(name for name in below if name)) if all(below) else None
        alone = len(members) == 1
        volume = (drive.source or f"{drive.machine}/{drive.name}") if alone else f"{drive.machine}/{drive.group}"
        for direction, way in _WAYS.items():
            row = _row(drive, volume, direction, way, known, origin)
            if row is not None:
                rows.append(row)
    return rows


def _grouped(drives: Sequence[QemuDrive]) -> list[list[QemuDrive]]:
    found: dict[tuple[str, str], list[QemuDrive]] = {}
    for place, drive in enumerate(drives):
        if drive.is_limited:
            found.setdefault((drive.machine, drive.group or f"\0{place}"), []).append(drive)
    return list(found.values())


def _row(drive: QemuDrive, volume: str, direction: str, way: str, device: str | None, origin: str) -> Limit | None:
    said = drive.limits
    iops, moved = said.get(f"iops{way}") or None, said.get(f"bps{way}") or None
    if iops is None and moved is None:
        return None
    bursts = {unit: said.get(f"{unit}{way}_max") or None for unit in ("iops", "bps")}
    lengths = {unit: said.get(f"{unit}{way}_max_length") or 1 for unit in bursts}
    return Limit(
        volume, drive.machine, QEMU, direction, limited(iops, moved), iops, moved,
        iops_burst=bursts["iops"] if iops else None,
        iops_burst_length=lengths["iops"] if iops and bursts["iops"] else None,
        bandwidth_burst=bursts["bps"] if moved else None,
        bandwidth_burst_length=lengths["bps"] if moved and bursts["bps"] else None,
        iops_size=said.get("iops_size") or None, group=drive.group, device=device, origin=origin, needle=drive.machine,
    )  # fmt: skip
