"""The disks of a made-up node: names, numbers, sysfs and udev's files, and the one that carries the system."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.arrays import ArraySpec, member_name
from tests.arrays import evidence as simulated
from tests.nodes.block import disk_name
from tests.stories.rows import Rows

_MAJORS = (8, 65, 66, 67, 68, 69, 70, 71, 128, 129, 130, 131, 132, 133, 134, 135)
_SIMULATED = re.compile(r"\bsd[a-z]{1,2}\b")


@dataclass(frozen=True, slots=True)
class Model:
    """What a disk says it is."""

    vendor: str
    name: str
    prefix: str  # of its world wide name


SATA = Model("ATA", "ST4000NM0035-1V4", "5000c500")
SAS = Model("SEAGATE", "ST600MP0006", "5000c500")
SSD = Model("ATA", "SAMSUNG MZ7L3960", "50025388")


def disk_number(number: int) -> tuple[int, int]:
    """Return its major and minor."""
    return _MAJORS[number // 16], number % 16 * 16


@dataclass(frozen=True, slots=True)
class Shelf:
    """The disks of one simulated array, as the node names them; `first` is the number of the first one."""

    spec: ArraySpec
    model: Model = SATA
    first: int = 0
    terse: bool = False  # only what the story needs: an array of 46 disks has many files

    @property
    def names(self) -> list[str]:
        """The members, in slot order."""
        return [disk_name(self.first + member) for member in range(self.spec.disks)]

    @property
    def devices(self) -> dict[str, tuple[int, int]]:
        """Members and the array, with major and minor."""
        numbers = {name: disk_number(self.first + i) for i, name in enumerate(self.names)}
        return numbers | {self.spec.name: simulated.array_number(self.spec)}

    def named(self, text: str) -> str:
        """Put the node's names in the place of the simulator's."""
        names = {member_name(member): name for member, name in enumerate(self.names)}
        return _SIMULATED.sub(lambda found: names[found[0]], text)

    def rows(self, found: Rows) -> Rows:
        """Return the simulated rows by the node's names."""
        return {self.named(name): numbers for name, numbers in found.items()}

    def mdstat(self, text: str) -> str:
        """Return the array's part of a simulated mdstat, with the node's names."""
        return self.named("\n".join(text.split("\n")[1:-2]) + "\n")

    def sysfs(self, files: dict[str, str]) -> dict[str, str]:
        """Return the simulated sysfs files that matter here, by the node's names, with what disks add to them."""
        dull = _DULL | (_DULL_TOO if self.terse else frozenset())
        found = {self.named(path): text for path, text in files.items() if path.rsplit("/", 1)[1] not in dull}
        for number, name in enumerate(self.names, start=self.first):
            major, minor = disk_number(number)
            found[f"/sys/block/{name}/dev"] = f"{major}:{minor}\n"
            found[f"/sys/block/{name}/device/model"] = f"{self.model.name:<16}\n"
            if not self.terse:
                found[f"/sys/block/{name}/device/state"] = "running\n"
        return found

    def udev(self, host: str) -> dict[str, str]:
        """Return udev's records of the disks (of the first dozen, when terse): slot, serial number, WWN."""
        found = {}
        for number, _ in list(enumerate(self.names, start=self.first))[: 12 if self.terse else None]:
            major, minor = disk_number(number)
            mark = hashlib.sha256(f"{host} {number}".encode()).hexdigest()
            wwn = f"0x{self.model.prefix}{mark[:8]}"
            place = f"pci-0000:{'3b' if number < 24 else '86'}:00.0-sas-phy{number % 24}-lun-0"
            serial = f"ZC1{mark[8:13].upper()}"
            kind = "ata" if self.model.vendor == "ATA" else "scsi"
            name = self.model.name.replace(" ", "_")
            found[f"/run/udev/data/b{major}:{minor}"] = "".join(
                f"{line}\n"
                for line in (
                    f"S:disk/by-path/{place}",
                    f"S:disk/by-id/wwn-{wwn}",
                    f"S:disk/by-id/{kind}-{name}_{serial}",
                    f"I:{7_100_000 + number * 40_211}",
                    f"E:ID_MODEL={name}",
                    f"E:ID_PATH={place}",
                    f"E:ID_SERIAL={name}_{serial}",
                    f"E:ID_SERIAL_SHORT={serial}",
                    f"E:ID_WWN={wwn}",
                    "E:DEVTYPE=disk",
                    "G:systemd",
                )
            )
        return found

    def links(self) -> dict[str, str]:
        """Return the links between the array and its disks, and the disks' places on the SCSI bus."""
        links = {self.named(path): self.named(target) for path, target in simulated.links(self.spec).items()}
        for number, name in enumerate(self.names, start=self.first):
            links[f"/sys/block/{name}/device"] = f"../../../{number // 24}:0:{number % 24}:0"
        return links


_DULL = frozenset(
    {"ro", "removable", "nr_requests", "scheduler", "logical_block_size", "physical_block_size", "offset", "sync_speed"}
)
_DULL_TOO = frozenset({"errors", "iostats"})


SYSTEM = {"nvme0n1": (259, 0), "nvme0n1p1": (259, 1), "nvme0n1p2": (259, 2)}


class SystemDisk:
    """The disk that carries the system: a few writes a second, seen on the disk and on its second partition."""

    def __init__(self, host: str) -> None:
        """Start with what it counted since boot."""
        self._rng = random.Random(f"system {host}")
        small = [904, 12, 61_204, 310, 44, 9, 410, 61, 0, 288, 371, 0, 0, 0, 0, 0, 0]
        large = [181_204, 22_001, 9_102_246, 40_233, 9_880_214, 7_210_900, 331_884_120, 12_402_331,
                 0, 6_022_908, 12_702_004, 20_113, 0, 402_118_008, 8_044, 0, 0]  # fmt: skip
        self._rows = {
            "nvme0n1": [a + b for a, b in zip(small, large, strict=True)], "nvme0n1p1": small, "nvme0n1p2": large,
        }  # fmt: skip
        self._rows["nvme0n1"][15:] = [1_204_311, 396_004]

    def rows(self) -> Rows:
        """Return the rows, and let the next second pass."""
        now = {name: list(numbers) for name, numbers in self._rows.items()}
        writes = self._rng.randrange(3, 14)
        flushes = self._rng.randrange(2)
        for name in ("nvme0n1", "nvme0n1p2"):
            numbers = self._rows[name]
            more = {4: writes, 5: writes // 2, 6: writes * 24, 7: writes, 9: writes * 2, 10: writes}
            for index, step in more.items():
                numbers[index] += step
        self._rows["nvme0n1"][15] += flushes
        self._rows["nvme0n1"][16] += flushes
        return now

    @staticmethod
    def sysfs() -> dict[str, str]:
        """Return the disk's files."""
        block = "/sys/block/nvme0n1"
        return {
            f"{block}/dev": "259:0\n",
            f"{block}/size": "500118192\n",
            f"{block}/ro": "0\n",
            f"{block}/queue/rotational": "0\n",
            f"{block}/queue/scheduler": "[none] mq-deadline\n",
            f"{block}/queue/iostats": "1\n",
            f"{block}/queue/logical_block_size": "512\n",
            f"{block}/device/model": f"{'INTEL SSDPEKKA256G8':<40}\n",
            f"{block}/device/state": "live\n",
            f"{block}/nvme0n1p1/partition": "1\n",
            f"{block}/nvme0n1p1/dev": "259:1\n",
            f"{block}/nvme0n1p1/start": "2048\n",
            f"{block}/nvme0n1p1/size": "1048576\n",
            f"{block}/nvme0n1p2/partition": "2\n",
            f"{block}/nvme0n1p2/dev": "259:2\n",
            f"{block}/nvme0n1p2/start": "1050624\n",
            f"{block}/nvme0n1p2/size": "499065856\n",
            "/run/udev/data/b259:0": "S:disk/by-path/pci-0000:01:00.0-nvme-1\nS:disk/by-id/nvme-eui.5cd2e42a81a0c3f1\n"
            "E:ID_MODEL=INTEL SSDPEKKA256G8\nE:ID_PATH=pci-0000:01:00.0-nvme-1\nE:ID_SERIAL_SHORT=BTHH8264\n"
            "E:ID_WWN=eui.5cd2e42a81a0c3f1\n",
        }


def mdstat(levels: Sequence[str], *parts: str) -> str:
    """Return /proc/mdstat of these arrays."""
    personalities = " ".join(f"[{level}]" for level in levels)
    return f"Personalities : {personalities} \n{''.join(parts)}unused devices: <none>\n"
