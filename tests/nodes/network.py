"""Network interfaces as files, at one moment: what rules about the network are shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdstop.collectors.network.readings import STATISTICS

CLASS = "/sys/class/net"


@dataclass
class Nic:
    """An interface: `kind` as its driver says (physical unless told), counters by the names of sysfs."""

    name: str
    mtu: int = 1500
    kind: str = "physical"
    speed: int = 10_000
    duplex: str = "full"
    up: bool = True
    carrier: bool = True
    master: str = ""
    upper: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_packets: int = 0
    tx_packets: int = 0
    counters: dict[str, int] = field(default_factory=dict)

    def files(self, index: int) -> dict[str, str]:
        base = f"{CLASS}/{self.name}"
        devtype = f"DEVTYPE={self.kind}\n" if self.kind in {"bond", "bridge", "vlan"} else ""
        files = {
            f"{base}/ifindex": f"{index}\n",
            f"{base}/iflink": f"{index}\n",
            f"{base}/mtu": f"{self.mtu}\n",
            f"{base}/flags": "0x1003\n" if self.up else "0x1002\n",
            f"{base}/operstate": "up\n" if self.up and self.carrier else "down\n",
            f"{base}/carrier": f"{int(self.carrier)}\n" if self.up else "",
            f"{base}/type": "772\n" if self.kind == "loopback" else "1\n",
            f"{base}/speed": f"{self.speed}\n",
            f"{base}/duplex": f"{self.duplex}\n",
            f"{base}/uevent": f"{devtype}INTERFACE={self.name}\n",
        }
        if self.kind == "physical":
            files[f"{base}/device/vendor"] = "0x8086\n"
        if self.kind == "tun":
            files[f"{base}/tun_flags"] = "0x1002\n"
        if self.master:
            files[f"link:{base}/master"] = f"../{self.master}"
        files |= {
            f"link:{base}/upper_{name}": f"../{name}" for name in (*self.upper, *([self.master] * bool(self.master)))
        }
        files |= {f"link:{base}/lower_{name}": f"../{name}" for name in self.lower}
        for name in STATISTICS.values():
            files[f"{base}/statistics/{name}"] = f"{self.counters.get(name, 0)}\n"
        return files

    def row(self) -> str:
        c = self.counters.get
        dropped = c("rx_dropped", 0) + c("rx_missed_errors", 0)
        frame = c("rx_length_errors", 0) + c("rx_over_errors", 0) + c("rx_crc_errors", 0) + c("rx_frame_errors", 0)
        return (
            f"{self.name:>6}: {self.rx_bytes} {self.rx_packets} {c('rx_errors', 0)} {dropped} "
            f"{c('rx_fifo_errors', 0)} {frame} 0 0 {self.tx_bytes} {self.tx_packets} {c('tx_errors', 0)} "
            f"{c('tx_dropped', 0)} {c('tx_fifo_errors', 0)} {c('collisions', 0)} {c('tx_carrier_errors', 0)} 0\n"
        )


def files(*nics: Nic, more: dict[str, str] | None = None) -> dict[str, str]:
    """Return the files of a node with these interfaces."""
    found = {
        "/proc/net/dev": "Inter-|   Receive |  Transmit\n face |bytes ...\n" + "".join(nic.row() for nic in nics),
    }
    for index, nic in enumerate(nics, start=2):
        found |= nic.files(index)
    return found | (more or {})
