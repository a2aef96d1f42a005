"""Storage functions and their PCI Express links from recorded output of `lspci -vv` (pciutils 3.0 to 3.13).

    03:00.0 Serial Attached SCSI controller: Broadcom / LSI SAS3008 PCI-Express Fusion-MPT SAS-3 (rev 02)
            NUMA node: 1
            Capabilities: [68] Express (v2) Endpoint, MSI 00
                    LnkCap: Port #0, Speed 8GT/s, Width x8, ASPM L0s, Exit Latency L0s <64ns
                    LnkSta: Speed 8GT/s (ok), Width x4 (downgraded)
            Kernel driver in use: mpt3sas

Without root, capabilities are `<access denied>`: links are unknown. The port above a function is the bridge whose
secondary bus is the function's bus.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_HEAD = expression(
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<place>[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+"
    r"(?P<name>[A-Z][^:\[]*?)(?: \[(?P<class>[0-9a-f]{4})\])?: (?P<device>.*)"
)
_IDS = expression(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]")
_KINDS = {
    "SCSI storage controller": "scsi", "IDE interface": "ide", "RAID bus controller": "raid",
    "ATA controller": "ata", "SATA controller": "sata", "Serial Attached SCSI controller": "sas",
    "Non-Volatile memory controller": "nvme", "Mass storage controller": "storage", "Fibre Channel": "storage",
}  # fmt: skip
"""Kind of storage functions by their class in pci.ids."""
_LINK = expression(r"Speed (\S+?)(?: \([^)]*\))?, Width x(\d{1,3})(?: \([^)]*\))?(?:,.*|\s.*)?")
_SPEED = expression(r"(\d{1,3}(?:\.\d)?)GT/s")


class PciFunction(Struct):
    """A function: its address, class, and lines by label (`LnkSta`, `NUMA node`); the first of equal labels counts."""

    address: str
    name: str
    ids: str | None
    said: dict[str, str] = field(default_factory=dict)

    def link(self, label: str) -> tuple[float | None, int | None]:
        """Return speed (transfers per second and lane) and width of a link; None for each if unknown."""
        found = _LINK.match(self.said.get(label, "").rpartition("Port #")[2].partition(", ")[2]
                            if "Port #" in self.said.get(label, "") else self.said.get(label, ""))  # fmt: skip
        if found is None:
            return None, None
        speed, width = _SPEED.fullmatch(found[1]), int(found[2])
        return float(speed[1]) * 1e9 if speed else None, width if 0 < width <= 32 else None

    @property
    def kind(self) -> str | None:
        """Kind of a storage function, as that of an HBA; None for any other function."""
        return _KINDS.get(self.name)

    @property
    def node(self) -> int | None:
        """NUMA node."""
        return whole(self.said.get("NUMA node", ""), 4)

    @property
    def driver(self) -> str | None:
        """Kernel driver."""
        return self.said.get("Kernel driver in use") or None

    @property
    def secondary(self) -> str | None:
        """Bus below a bridge, with its domain."""
        found = re.search(r"secondary=([0-9a-f]{2})", self.said.get("Bus", ""))
        return f"{self.address.rpartition(':')[0].rpartition(':')[0]}:{found[1]}" if found is not None else None


def parse(text: str) -> list[PciFunction]:
    """Parse the output into its functions. Raises Malformed for text without one, such as that of `lspci -t`."""
    found: list[PciFunction] = []
    for line in text.splitlines():
        head = _HEAD.fullmatch(line.rstrip()) if line[:1] not in {"\t", " "} else None
        if head is not None:
            ids = _IDS.findall(head["device"])
            address = f"{head['domain'] or '0000'}:{head['place']}"
            found.append(PciFunction(address, head["name"].strip(), ids[-1] if ids else None))
        elif found and ":" in line:
            label, _, value = line.strip().partition(":")
            found[-1].said.setdefault(label, value.strip())
    if not found:
        raise Malformed(f"no function of lspci: {text.strip()[:60]!r}")
    return found


def above(function: PciFunction, bridges: Mapping[str, PciFunction]) -> list[PciFunction]:
    """Return the bridges above a function, the nearest first; `bridges` by the bus below each."""
    found: list[PciFunction] = []
    bus = function.address.rpartition(":")[0]
    while (bridge := bridges.get(bus)) is not None and bridge not in found:
        found.append(bridge)
        bus = bridge.address.rpartition(":")[0]
    return found


FORM = Form(
    key="cmd:lspci -vv",
    first=r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [A-Z][^:\n]*: ",
    reads="storage functions, PCI Express links, drivers, NUMA nodes",
    versions="pciutils 3.0 and later; links with -vv, as root",
    goes_on=r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] .*|(?:\t| {4,}).*",
)
