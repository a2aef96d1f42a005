"""HBAs, expanders and drives of a made-up node in sysfs, and what smp_utils and sg_map print of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdstop.core.evidence import slug
from tests.stories.disks import disk_name

PCI = "/sys/bus/pci/devices"
SAS = "/sys/class"
COUNTERS = (
    "invalid_dword_count", "running_disparity_error_count", "loss_of_dword_sync_count", "phy_reset_problem_count"
)  # fmt: skip
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
        f"{SAS}/sas_port/port-{host}:0/num_phys": f"{_LANES}\n",
        f"{SAS}/sas_device/expander-{host}:0/device_type": "edge expander\n",
        f"{SAS}/sas_expander/expander-{host}:0/vendor_id": "NEWISYS \n",
        f"{SAS}/sas_expander/expander-{host}:0/product_id": "NDS-4602-CS     \n",
    }
    for n in range(_LANES):
        phy = f"{SAS}/sas_phy/phy-{host}:{n}"
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
        f"{SAS}/sas_device/expander-{host}:0": f"{up[3:]}/{fabric}/sas_device/expander-{host}:0",
    }
    for n in range(_LANES):
        found[f"{SAS}/sas_phy/phy-{host}:{n}/device/port"] = f"../port-{host}:0"
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
