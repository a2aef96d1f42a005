"""Kernel names of disks that messages name by SCSI address, ATA port, NVMe controller or number."""

from __future__ import annotations

from msgspec import Struct, field

from sdstop.collectors.kernel.message import LogPlace
from sdstop.core.expression import expression
from sdstop.core.host import Host

_ATA = expression(r"(ata\d+)(?:\.(\d\d))?")
_HOST = expression(r"host\d+")
_TARGET = expression(r"target\d+:(\d+):\d+")
_ADDRESS = expression(r"\d+:\d+:\d+:\d+")
_NAMESPACE = expression(r"(nvme\d+)(?:c\d+)?(n\d+)")
_PARTITION = expression(r"(?P<plain>(?:sd|vd|hd|xvd)[a-z]+)\d+|(?P<numbered>.*\d)p\d+")


def disk_of(device: str) -> str:
    """Return the whole disk of a partition by its name (`sda1`, `nvme0n1p2`), or the name itself."""
    found = _PARTITION.fullmatch(device)
    return (found["plain"] or found["numbered"]) if found is not None else device


class DiskNames(Struct):
    """Kernel names of disks; `known` are those by the name in a message, at first those that the log itself shows."""

    host: Host
    known: dict[str, str] = field(default_factory=dict)

    def name(self, place: str, device: str) -> str:
        """Return the kernel name of a disk, or the name in the message if it is unknown."""
        if place in {
            LogPlace.DISK,
            LogPlace.MAPPED,
            LogPlace.NODE,
            LogPlace.PCI,
            LogPlace.CONTROLLER,
            LogPlace.SERVER,
            LogPlace.SESSION,
            LogPlace.USB,
        }:
            return device
        if place == LogPlace.AOE:
            return f"etherd/e{device.removeprefix('e')}"
        found = self.known.get(device)
        if found is None:
            found = self.known[device] = self._looked_up(place, device) or device
        return found

    def _looked_up(self, place: str, device: str) -> str | None:
        match place:
            case LogPlace.SCSI:
                return self._only(self.host.names(f"/sys/bus/scsi/devices/{device}/block"))
            case LogPlace.NUMBER:
                return self.host.target(f"/sys/dev/block/{device}")
            case LogPlace.NVME:
                names = map(_NAMESPACE.fullmatch, self.host.names(f"/sys/class/nvme/{device}"))
                return self._only(sorted({found[1] + found[2] for found in names if found is not None}))
            case LogPlace.ATA:
                return self._on_port(device)
            case LogPlace.POOL:
                return device.rpartition("/")[2] if device.startswith("/dev/") else None
        return None

    def _on_port(self, device: str) -> str | None:
        """Return the only disk on an ATA port; behind a port multiplier its number is the SCSI channel."""
        found = _ATA.fullmatch(device)
        if found is None:
            return None
        folder = f"/sys/class/ata_port/{found[1]}/device"
        disks: dict[int, list[str]] = {}
        for host in filter(_HOST.fullmatch, self.host.names(folder)):
            for target in self.host.names(f"{folder}/{host}"):
                if (channel := _TARGET.fullmatch(target)) is None:
                    continue
                for address in filter(_ADDRESS.fullmatch, self.host.names(f"{folder}/{host}/{target}")):
                    names = self.host.names(f"{folder}/{host}/{target}/{address}/block")
                    disks.setdefault(int(channel[1]), []).extend(names)
        every = [name for names in disks.values() for name in names]
        return self._only(every) or (self._only(disks.get(int(found[2]), [])) if found[2] else None)

    @staticmethod
    def _only(names: list[str]) -> str | None:
        return names[0] if len(names) == 1 else None
