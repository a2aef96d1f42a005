"""The 60-bay server whose rebuild was slow: behind one HBA, then with two modules for two processors, then mended."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from sdstop.core.evidence import slug
from tests.nodes.block import disk_name
from tests.nodes.firmware import board
from tests.nodes.sas import IOCS, Zoning, smp_logs
from tests.nodes.system import Node, Shape
from tests.stories.archive import Archive
from tests.stories.disks import SYSTEM, SystemDisk, disk_number
from tests.stories.draid import TIB, DraidPool
from tests.stories.interfaces import STILL, Interfaces
from tests.stories.rows import Rows, text
from tests.stories.scene import NO_PATHS, Stories

_STARTED = 1_795_400_000.0
_STEP = 20
_SECONDS = 300
_DISKS = 60
_CHILDREN = 58
_DEAD = 41
"""The child that is rebuilt: its bay is empty, and the pool's distributed spare stands in for it."""
_POOL = "N58-C3-D16-P3-S1"
_TOTAL = 640 * TIB
_DONE = 0.125
_MIB = 1 << 20
_OUTER = 265e6
"""Bytes a second that a drive moves on its outer tracks, when it does nothing else."""
_NO_MD = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'


@dataclass(frozen=True, slots=True)
class Bay:
    """A state of the server: drives of each HBA, modules of each processor, bytes a second of each drive."""

    host: str
    drives: tuple[int, ...]
    modules: int
    rate: float
    began: float
    """When, after _STARTED."""
    rebuilding: bool = True
    asked: bool = False  # whether somebody kept what smp_rep_phy_err_log and sg_map printed

    @property
    def zoning(self) -> Zoning:
        """Which drives each HBA sees."""
        ends = [sum(self.drives[: n + 1]) for n in range(len(self.drives))]
        return Zoning({
            ioc.host: range(end - count, end) for ioc, count, end in zip(IOCS, self.drives, ends, strict=True)
        })  # fmt: skip

    def write(self, path: Path) -> None:
        """Write the capture."""
        shape = Shape(
            self.host, cpus=32, memory=self.modules * 2 * 16_200_000, system=0.16, iowait=0.05, load=21.0, stalled=0.3
        )
        taken = _STARTED + self.began
        node, interfaces, system = Node(shape, taken), Interfaces(self.host, STILL), SystemDisk(self.host)
        disks, pool = _Drives(self.host, self.rate), self._pool()
        archive = Archive(path, self.host, taken=taken, monotonic=shape.uptime)
        archive.links(self.zoning.links())
        for second in range(0, _SECONDS + 1, _STEP):
            files: dict[str, str | bytes] = {**node.files(second), **interfaces.files(second)}
            files["/proc/diskstats"] = text(SYSTEM, system.rows()) + text(disks.numbers, disks.rows(second))
            files |= pool.files(second)
            files["outcomes.json"] = _NO_MD
            if not second:
                files |= system.sysfs() | NO_PATHS | self.zoning.files() | self._memory() | pool.settings()
                files["/sys/firmware/dmi/tables/DMI"] = board(
                    (self.modules, self.modules), 4, system=("Example", "60-bay node")
                ).table()
                if self.asked:
                    files |= smp_logs()
                    files[f"commands/{slug('sg_map -i -x')}/stdout"] = self.zoning.sg_map()
            archive.add(files, second)
        archive.finish()

    def _memory(self) -> dict[str, str]:
        """Return the two nodes."""
        found: dict[str, str] = {}
        for n, cpus in enumerate(("0-7,16-23", "8-15,24-31")):
            base, total = f"/sys/devices/system/node/node{n}", self.modules * 16_200_000
            found |= {
                f"{base}/cpulist": f"{cpus}\n",
                f"{base}/distance": "10 21\n" if n == 0 else "21 10\n",
                f"{base}/meminfo": f"Node {n} MemTotal:       {total} kB\nNode {n} MemFree:        {total // 9} kB\n",
                f"{base}/numastat": "numa_hit 91120443\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 4120\n"
                f"local_node {90_000_000 + n * 44_000}\nother_node {1_100_000 + n * 9_000}\n",
            }
        return found

    def _pool(self) -> DraidPool:
        """Return the pool, of which all but two of the drives are children."""
        rate = self.rate * (_CHILDREN - 1)
        return DraidPool(
            tuple(disk_name(child) for child in range(_CHILDREN)), failed=_DEAD, rate=rate, name=_POOL, data=16,
            parity=3, spares=1, allocated=_TOTAL, started=_DONE, elapsed=_DONE * _TOTAL / rate,
            rebuilding=self.rebuilding, partition="", since="Mon Nov 16 06:20:41 2026",
        )  # fmt: skip


class _Drives:
    """What the drives have counted: each but the dead one and the spares is read from end to end.

    A drive writes its share of what was lost, too. Requests are of 1 MiB, as zfs_rebuild_max_segment has them.
    """

    def __init__(self, host: str, rate: float) -> None:
        self._rng = random.Random(f"drives {host}")
        self._rate = rate
        self._at = 0
        self.numbers = {disk_name(disk): disk_number(disk) for disk in range(_DISKS)}
        past = 9_000_000
        self._rows = {disk: self._past(past + self._rng.randrange(400_000)) for disk in range(_DISKS)}

    @staticmethod
    def _past(requests: int) -> list[int]:
        """Return what a drive of many months counted; times stay below 32 bits."""
        sectors = requests * 2048
        return [requests, 0, sectors, requests * 24, requests // 9, 0, sectors // 9, requests // 9 * 9, 0,
                requests * 18, requests * 24 + requests // 9 * 9, 0, 0, 0, 0, 0, 0]  # fmt: skip

    def rows(self, second: int) -> Rows:
        """Return the rows at this second; it is to be called with rising ones."""
        passed, self._at = second - self._at, second
        found: Rows = {}
        for disk, row in self._rows.items():
            if passed and disk != _DEAD and disk < _CHILDREN:
                reads = round(self._rate * passed / _MIB * self._rng.uniform(0.97, 1.03))
                writes = round(reads / (_CHILDREN - 1))
                busy = min(1.0, self._rate / _OUTER * self._rng.uniform(0.97, 1.03))
                for index, more in (
                    (0, reads), (2, reads * 2048), (3, reads * 24), (4, writes), (6, writes * 2048), (7, writes * 9),
                    (9, round(busy * passed * 1000)), (10, reads * 24 + writes * 9),
                ):  # fmt: skip
                    row[index] += more
                row[8] = self._rng.randrange(1, 4)
            found[disk_name(disk)] = list(row)
        return found


STORIES: Stories = {
    "draid-one-hba": lambda: Bay("bay60", (60, 0, 0, 0), 1, 94e6, 0.0),
    "draid-one-dimm": lambda: Bay("bay60", (15, 15, 15, 15), 1, 110e6, 600_000.0, asked=True),
    "draid-mended": lambda: Bay("bay60", (15, 15, 15, 15), 2, 60e6, 1_200_000.0, rebuilding=False),
}
