"""SAS phys as files, at one moment: what the collector and the rules about links are shown."""

from __future__ import annotations

from dataclasses import dataclass

from sdstop.collectors.fabric.sas import DEVICES, EXPANDERS, PHYS, PORTS

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
            files |= {
                f"{base}/invalid_dword_count": f"{self.invalid}\n",
                f"{base}/running_disparity_error_count": f"{self.disparity}\n",
                f"{base}/loss_of_dword_sync_count": f"{self.lost}\n",
                f"{base}/phy_reset_problem_count": f"{self.resets}\n",
            }
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
