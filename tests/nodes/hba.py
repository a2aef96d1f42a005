"""HBAs with disks as files, at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from sdstop.collectors.fabric.readings import BLOCK, PCI

ABOVE = "0000:80:02.0"


@dataclass
class Card:
    """An HBA in the slot of a port, with disks behind an expander. `number` is its bus and its SCSI host."""

    number: int = 0x82
    disks: tuple[str, ...] = ("sda", "sdb")
    link: tuple[str, str] = ("8.0 GT/s PCIe", "8")
    can: tuple[str, str] = ("8.0 GT/s PCIe", "8")
    port: tuple[str, str] = ("8.0 GT/s PCIe", "16")
    port_vendor: str = "0x8086"
    node: int = 0
    pci_class: str = "0x010700"
    ids: tuple[str, str] = ("0x1000", "0x0097")
    model: str = "MG07SCA14TA"
    rotates: bool = True
    firmware: str = ""

    @property
    def address(self) -> str:
        return f"0000:{self.number:02x}:00.0"

    def files(self) -> dict[str, str]:
        above = f"0000:80:{self.number % 32:02x}.0"
        base, root = f"{PCI}/{self.address}", f"../../../devices/pci0000:80/{above}/{self.address}"
        found = {
            f"{base}/class": f"{self.pci_class}\n",
            f"{base}/vendor": f"{self.ids[0]}\n",
            f"{base}/device": f"{self.ids[1]}\n",
            f"{base}/numa_node": f"{self.node}\n",
            f"{base}/current_link_speed": f"{self.link[0]}\n",
            f"{base}/current_link_width": f"{self.link[1]}\n",
            f"{base}/max_link_speed": f"{self.can[0]}\n",
            f"{base}/max_link_width": f"{self.can[1]}\n",
            f"{PCI}/{above}/max_link_speed": f"{self.port[0]}\n",
            f"{PCI}/{above}/max_link_width": f"{self.port[1]}\n",
            f"{PCI}/{above}/class": "0x060400\n",
            f"{PCI}/{above}/vendor": f"{self.port_vendor}\n",
            f"{PCI}/{above}/device": "0x2f04\n",
            f"link:{base}": root,
            f"link:{base}/driver": "../../../../bus/pci/drivers/mpt3sas",
        }
        host = self.number
        if self.firmware:
            found[f"{base}/host{host}/scsi_host/host{host}/unique_id"] = "0\n"
            found[f"/sys/class/scsi_host/host{host}/version_fw"] = f"{self.firmware}\n"
        for n, disk in enumerate(self.disks):
            end = f"port-{host}:0/expander-{host}:0/port-{host}:0:{n}/end_device-{host}:0:{n}"
            scsi = f"target{host}:0:{n}/{host}:0:{n}:0"
            found |= {
                f"link:{BLOCK}/{disk}": f"{root[6:]}/host{host}/{end}/{scsi}/block/{disk}",
                f"link:{BLOCK}/{disk}/device": f"../../../{host}:0:{n}:0",
                f"{BLOCK}/{disk}/dev": f"8:{n}\n",
                f"{BLOCK}/{disk}/device/model": f"{self.model}\n",
                f"{BLOCK}/{disk}/queue/rotational": f"{int(self.rotates)}\n",
            }
        return found


def files(*cards: Card) -> dict[str, str]:
    return {path: text for card in cards for path, text in card.files().items()}
