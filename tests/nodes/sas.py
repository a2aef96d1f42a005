"""SAS as files of sysfs: phys of one expander, and HBAs with expanders and drives; and what smp_utils, sg_map print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdstop.collectors.fabric.port_readings import DEVICES, EXPANDERS, PHYS, PORTS
from sdstop.collectors.fabric.readings import PCI
from sdstop.core.evidence import slug
from tests.nodes.block import disk_name

COUNTERS = (
    "invalid_dword_count", "running_disparity_error_count", "loss_of_dword_sync_count", "phy_reset_problem_count"
)  # fmt: skip
"""Files of a phy."""
ROOT = "../../devices/pci0000:80/0000:80:02.0/0000:82:00.0/host1"


@dataclass
class Phy:
    """A phy of expander-1:0, with a drive attached unless told; counters in the order of sysfs's names."""

    number: int
    invalid: int = 0
    disparity: int = 0
    lost: int = 0
    resets: int = 0
    state: str = "12.0 Gbit"
    counted: bool = True
    address: str = ""

    def files(self) -> dict[str, str]:
        base = f"{PHYS}/phy-1:0:{self.number}"
        port = f"port-1:0:{self.number}"
        files = {
            f"{base}/negotiated_linkrate": f"{self.state}\n",
            f"{base}/maximum_linkrate_hw": "12.0 Gbit\n",
            f"{base}/phy_identifier": f"{self.number}\n",
        }
        if self.counted:
            counts = (self.invalid, self.disparity, self.lost, self.resets)
            files |= {f"{base}/{name}": f"{count}\n" for name, count in zip(COUNTERS, counts, strict=True)}
        if self.state.endswith("Gbit"):
            end = f"end_device-1:0:{self.number}"
            files |= {
                f"link:{base}/device/port": f"../../{port}",
                f"{PORTS}/{port}/num_phys": "1\n",
                f"{DEVICES}/{end}/device_type": "end device\n",
                f"{DEVICES}/{end}/sas_address": f"{self.address or hex(0x5000C500 + self.number)}\n",
                f"{DEVICES}/{end}/enclosure_identifier": "0x500093d0016c0000\n",
                f"{DEVICES}/{end}/bay_identifier": f"{self.number}\n",
                f"link:{DEVICES}/{end}": f"{ROOT}/port-1:0/expander-1:0/{port}/{end}/sas_device/{end}",
            }
        return files


EXPANDER = {
    f"{DEVICES}/expander-1:0/device_type": "edge expander\n",
    f"link:{DEVICES}/expander-1:0": f"{ROOT}/port-1:0/expander-1:0/sas_device/expander-1:0",
    f"{EXPANDERS}/expander-1:0/vendor_id": "NEWISYS \n",
    f"{EXPANDERS}/expander-1:0/product_id": "NDS-4602-CS     \n",
    f"{PORTS}/port-1:0/num_phys": "4\n",
}


def files(*phys: Phy) -> dict[str, str]:
    found = dict(EXPANDER)
    for phy in phys:
        found |= phy.files()
    return found


_LANES = 8
ERRORS = {52: (168, 172, 5, 0), 53: (6, 6, 0, 0), 54: (267, 270, 4, 0), 55: (127, 131, 5, 0)}
"""What the owners saw on phys of one expander: years old, and few."""


@dataclass(frozen=True, slots=True)
class Ioc:
    """An HBA in a slot of its own: SCSI host, PCI address and the port above, NUMA node, first interrupt."""

    host: int
    address: str
    above: str
    node: int
    irq: int

    @property
    def bus(self) -> str:
        """The root that both hang on."""
        return f"pci{self.above[:7]}"

    @property
    def folder(self) -> str:
        """Its folder below /sys/devices."""
        return f"/sys/devices/{self.bus}/{self.above}/{self.address}"


IOCS = (
    Ioc(0, "0000:02:00.0", "0000:00:01.0", 0, 40),
    Ioc(1, "0000:03:00.0", "0000:00:02.0", 0, 50),
    Ioc(4, "0000:81:00.0", "0000:80:01.0", 1, 60),
    Ioc(10, "0000:82:00.0", "0000:80:02.0", 1, 70),
)


@dataclass(frozen=True, slots=True)
class Zoning:
    """Which drives each HBA sees: numbers of disks by SCSI host, through expander HOST:0."""

    drives: Mapping[int, Sequence[int]]

    def files(self) -> dict[str, str]:
        """Return what is in sysfs; of the phys of expanders only smp_utils tell here."""
        found: dict[str, str] = {}
        for ioc in IOCS:
            found |= _card(ioc) | _lanes(ioc)
            for disk in self.drives.get(ioc.host, ()):
                base = f"/sys/block/{disk_name(disk)}"
                found |= {f"{base}/queue/rotational": "1\n", f"{base}/device/model": "MG07SCA14TA\n"}
        return found

    def links(self) -> dict[str, str]:
        """Return its links."""
        found: dict[str, str] = {}
        for ioc in IOCS:
            found |= _card_links(ioc, self.drives.get(ioc.host, ()))
        return found

    def sg_map(self) -> str:
        """Return what `sg_map -i -x` prints: the drives, then an enclosure of each HBA."""
        lines, sg = [], 0
        for ioc in IOCS:
            for disk in self.drives.get(ioc.host, ()):
                lines.append(
                    f"/dev/sg{sg}  {ioc.host} 0 {disk} 0  0  /dev/{disk_name(disk)}  TOSHIBA   MG07SCA14TA       0101"
                )
                sg += 1
            lines.append(f"/dev/sg{sg}  {ioc.host} 0 {sg} 0  13  NEWISYS   NDS-4602-CS       0112")
            sg += 1
        return "\n".join(lines) + "\n"


def _card(ioc: Ioc) -> dict[str, str]:
    base, above = f"{PCI}/{ioc.address}", f"{PCI}/{ioc.above}"
    found = {
        f"{base}/class": "0x010700\n", f"{base}/vendor": "0x1000\n", f"{base}/device": "0x0097\n",
        f"{base}/numa_node": f"{ioc.node}\n",
        f"{base}/current_link_speed": "8.0 GT/s PCIe\n", f"{base}/current_link_width": "8\n",
        f"{base}/max_link_speed": "8.0 GT/s PCIe\n", f"{base}/max_link_width": "8\n",
        f"{above}/class": "0x060400\n", f"{above}/vendor": "0x8086\n", f"{above}/device": "0x6f04\n",
        f"{above}/max_link_speed": "8.0 GT/s PCIe\n", f"{above}/max_link_width": "8\n",
    }  # fmt: skip
    for n in range(2):
        found[f"{base}/msi_irqs/{ioc.irq + n}"] = "msix\n"
        found[f"/proc/irq/{ioc.irq + n}/effective_affinity_list"] = f"{ioc.node * 8 + n}\n"
    return found


def _lanes(ioc: Ioc) -> dict[str, str]:
    """Return the HBA's own phys, all of one wide port to its expander, and that."""
    host = ioc.host
    found = {
        f"{PORTS}/port-{host}:0/num_phys": f"{_LANES}\n",
        f"{DEVICES}/expander-{host}:0/device_type": "edge expander\n",
        f"{EXPANDERS}/expander-{host}:0/vendor_id": "NEWISYS \n",
        f"{EXPANDERS}/expander-{host}:0/product_id": "NDS-4602-CS     \n",
    }
    for n in range(_LANES):
        phy = f"{PHYS}/phy-{host}:{n}"
        found[f"{phy}/negotiated_linkrate"] = "12.0 Gbit\n"
        found |= {f"{phy}/{name}": "0\n" for name in COUNTERS}
    return found


def _card_links(ioc: Ioc, drives: Sequence[int]) -> dict[str, str]:
    host, up = ioc.host, f"../../..{ioc.folder.removeprefix('/sys')}"
    fabric = f"host{host}/port-{host}:0/expander-{host}:0"
    found = {
        f"{PCI}/{ioc.address}": f"../../..{ioc.folder.removeprefix('/sys')}",
        f"{PCI}/{ioc.above}": f"../../../devices/{ioc.bus}/{ioc.above}",
        f"{PCI}/{ioc.address}/driver": "../../../../bus/pci/drivers/mpt3sas",
        f"{DEVICES}/expander-{host}:0": f"{up[3:]}/{fabric}/sas_device/expander-{host}:0",
    }
    for n in range(_LANES):
        found[f"{PHYS}/phy-{host}:{n}/device/port"] = f"../port-{host}:0"
    for bay, disk in enumerate(drives):
        name, port, end = disk_name(disk), f"port-{host}:0:{bay}", f"end_device-{host}:0:{bay}"
        place = f"{up[3:]}/{fabric}/{port}/{end}"
        scsi = f"target{host}:0:{bay}/{host}:0:{bay}:0"
        found[f"/sys/block/{name}"] = f"{place.removeprefix('../')}/{scsi}/block/{name}"
        found[f"/sys/block/{name}/device"] = f"../../../{host}:0:{bay}:0"
    return found


def smp_logs(expander: str = "expander-1:0") -> dict[str, str]:
    """Return what was printed for phys 0 to 64, as they asked for one after the other; 56 and up are vacant."""
    found: dict[str, str] = {}
    for n in range(65):
        base = f"commands/{slug(f'smp_rep_phy_err_log -p {n} /dev/bsg/{expander}')}"
        if n >= 56:
            found |= {
                f"{base}/stderr": "Report phy error log result: Phy vacant\n",
                f"{base}/exit": "22\n",
            }  # fmt: skip
            continue
        invalid, disparity, lost, resets = ERRORS.get(n, (0, 0, 0, 0))
        found[f"{base}/stdout"] = (
            "Report phy error log response:\n  Expander change count: 567\n"
            f"  phy identifier: {n}\n  invalid dword count: {invalid}\n"
            f"  running disparity error count: {disparity}\n"
            f"  loss of dword synchronization count: {lost}\n  phy reset problem count: {resets}\n"
        )
    return found


LOG = """Report phy error log response:
  Expander change count: 567
  phy identifier: 52
  invalid dword count: 168
  running disparity error count: 172
  loss of dword synchronization count: 5
  phy reset problem count: 0
"""


GENERAL = """Report general response:
  expander change count: 567
  expander route indexes: 0
  long response: 1
  number of phys: 65
  table to table supported: 1
  zone configuring: 0
  enclosure logical identifier (hex): 500093d0016c0000
  SSP connect time limit: 10 (100 usec units)
  number of zone groups: 1 (0->128, 1->256)
  zoning enabled: 1
"""
