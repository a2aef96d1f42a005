"""SCSI hosts and devices from recorded output of lsscsi (0.27 to 0.33), with any options.

[0:0:30:0]   enclosu NEWISYS  NDS-4602-CS      0112  -          /dev/sg30
[1:0:8:0]    disk    TOSHIBA  MG07SCA14TA      0101  /dev/sdi   /dev/sg8   14.0TB
[1:0:8:0]    disk    sas:0x5000039a1b2c3d4e          /dev/sdi            with -t
  dir: /sys/bus/scsi/devices/1:0:8:0  [/sys/devices/pci0000:80/0000:82:00.0/host1/...]    with -v
[1]    mpt3sas                                                           with -H
"""

from __future__ import annotations

import re

from msgspec import Struct

from sdstop.collectors.fabric.place import parse_place
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed

_DEVICE = expression(r"\[(?P<host>\d{1,5}):(?P<rest>\d{1,5}:\d{1,10}:\d{1,10})\]\s+(?P<type>[a-z]\S*)\s+(?P<more>\S.*)")
_NVME = expression(r"\[N:\d+:\d+(?::\d+)?\].*")
_HOST = expression(r"\[(?P<host>\d{1,5})\]\s+(?P<driver>[a-z][\w-]*)(?:\s.*)?")
_FOLDER = expression(r"\s*(?:device )?dir:.*?(?P<path>/sys/devices/[^\]\s]+)\]?")
_NODE = expression(r"(?:^|\s)/dev/(?!sg\d|bsg/|ng\d)(\S+)")
_TRANSPORT = expression(r"(?:sas|sata|fc|spi|iscsi|ata|usb|sbp|fcoe|srp|pcie):|iqn\.|eui\.|naa\.")
_TYPES = {"disk": 0, "enclosu": 13}


class ScsiNode(Struct):
    """A SCSI device: host number, type as lsscsi prints it, kernel name of a disk, vendor and model, PCI function."""

    host: int
    type: str
    hctl: str
    device: str | None
    model: str | None
    function: str | None = None


class ScsiHost(Struct):
    """A SCSI host: number, driver, and the PCI function of the HBA, if shown."""

    number: int
    driver: str | None
    function: str | None = None


def parse(text: str) -> tuple[list[ScsiNode], list[ScsiHost]]:
    """Parse the output into devices and hosts; NVMe devices and attributes are skipped. Raises Malformed."""
    devices: list[ScsiNode] = []
    hosts: list[ScsiHost] = []
    last: ScsiNode | ScsiHost | None = None
    nvme = False
    for line in (each.rstrip() for each in text.splitlines()):
        if (device := _DEVICE.fullmatch(line)) is not None:
            last = _device(device)
            devices.append(last)
        elif (host := _HOST.fullmatch(line)) is not None:
            last = ScsiHost(int(host["host"]), host["driver"])
            hosts.append(last)
        elif _NVME.fullmatch(line):
            last, nvme = None, True
        elif last is not None and (folder := _FOLDER.match(line)) is not None:
            functions = parse_place(folder["path"]).functions
            last.function = last.function or (functions[-1] if functions else None)
    if not devices and not hosts and not nvme:
        raise Malformed(f"no device of lsscsi: {text.strip()[:60]!r}")
    return devices, hosts


def _device(found: re.Match[str]) -> ScsiNode:
    more = found["more"]
    node = _NODE.search(more)
    words = (more[: node.start()] if node is not None else more.partition(" - ")[0]).split()
    model = None if not words or _TRANSPORT.match(words[0]) or len(words) < 2 else " ".join(words[:-1])
    hctl = f"{found['host']}:{found['rest']}"
    return ScsiNode(int(found["host"]), found["type"], hctl, node[1] if node is not None else None, model)


FORM = Form(
    key="cmd:lsscsi",
    first=r"\[(?:N:)?\d+:\d+:\d+(?::\d+)?\] +[a-z]\S* +\S|\[\d+\] +[a-z][\w-]* *$",
    reads="disks and enclosures of each SCSI host, drivers",
    versions="lsscsi 0.27 and later",
    goes_on=r"\[[N\d:]+\] .*|  +(?:(?:device )?dir:|[a-z_]+=).*",
)
