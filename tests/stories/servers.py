"""A server whose second processor has no memory of its own, with both HBAs beside it; and as it ought to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdstop.collectors.fabric.readings import NODES
from tests.nodes.block import disk_name
from tests.nodes.edac import Controller
from tests.nodes.firmware import board
from tests.nodes.hba import Card, files
from tests.nodes.system import Shape
from tests.stories.disks import disk_number
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_300_000.0
_DISKS = 20
_MODULES = 8
_GB = 16_200_000
"""KiB that are left of a module of 16 GB."""
_RATE = 90e6
"""Bytes a second that are read from each disk."""
_DAYS = 30 * 86_400


@dataclass(frozen=True, slots=True)
class Server:
    """Modules of each processor, the node of each HBA, lanes of the second one, and errors that were corrected.

    `used` is the number of modules that the kernel has, and `step` the seconds by which the clock is set after half a
    minute. `traffic` are bytes a second between the caches of each processor and memory, as resctrl measures them. The
    disk `unused` gets no request after 15 s.
    """

    taken: float
    modules: tuple[int, int]
    places: tuple[int, int]
    lanes: int
    corrected: int
    configured: int
    traffic: tuple[float, float]
    used: int = _MODULES
    step: int = 0
    unused: str = ""

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = {disk_name(n): disk_number(n) for n in range(_DISKS)}
        shape = Shape("db7", cpus=32, memory=self.used * _GB, system=0.09, iowait=0.04, load=5.0, step=self.step)
        Told(shape, self.taken, 5, 13, self._told, names, self._counted).write(path)

    def _counted(self, second: int) -> Rows:
        rows = {disk_name(n): self._row(second) for n in range(_DISKS)}
        return rows | ({self.unused: self._row(min(second, 15))} if self.unused else {})

    def _row(self, second: int) -> list[int]:
        return [*moved(second, reads=_RATE / (1 << 20), read=_RATE, read_wait=0.006, busy=0.5)]

    def _told(self, second: int) -> Evidence:
        found: dict[str, str | bytes] = {}
        if not second % 60:
            found |= self._controller(second).files()
        for number, count in enumerate(self.modules):
            found |= self._node(number, count, second)
            found |= self._measured(number, count, second)
        if not second:
            names = [disk_name(n) for n in range(_DISKS)]
            half = _DISKS // 2
            cards = (
                Card(0x82, tuple(names[:half]), node=self.places[0]),
                Card(0x83, tuple(names[half:]), node=self.places[1], link=("8.0 GT/s PCIe", str(self.lanes))),
            )
            found |= files(*cards)
            for number, name in enumerate(names):
                major, minor = disk_number(number)
                found[f"/sys/block/{name}/dev"] = f"{major}:{minor}\n"
            memory = board(
                self.modules, max(self.modules), speed=2400, configured=self.configured, system=("Example", "2U")
            )
            found["/sys/firmware/dmi/tables/DMI"] = memory.table()
        return found

    def _measured(self, number: int, modules: int, second: int) -> dict[str, str]:
        """Return the traffic of a processor; without modules of its own, all of it goes to the other one."""
        base = f"/sys/fs/resctrl/mon_data/mon_L3_{number:02d}"
        total = int(self.traffic[number] * (_DAYS + second))
        local = total - total // 12 if modules else 0
        return {f"{base}/mbm_total_bytes": f"{total}\n", f"{base}/mbm_local_bytes": f"{local}\n"}

    def _controller(self, second: int) -> Controller:
        """Return the memory controller of the first processor; its module in slot A1 was corrected so many times."""
        labels = [f"CPU_SrcID#0_Ha#0_Chan#{n}_DIMM#0" for n in range(self.modules[0])]
        counts = dict.fromkeys(labels, (0, 0)) | {labels[0]: (self.corrected, 0)}
        return Controller(counts, seconds=_DAYS + second)

    def _node(self, number: int, modules: int, second: int) -> dict[str, str]:
        """Return a NUMA node: processors of a node without memory get their pages from the other one."""
        base, total = f"{NODES}/node{number}", modules * _GB
        pages = 41_000_000 + 12_000 * second
        far = 0 if all(self.modules) else pages // 2
        local = (pages if modules else 0, far if modules else 0)
        return {
            f"{base}/cpulist": ("0-7,16-23\n", "8-15,24-31\n")[number],
            f"{base}/distance": ("10 21\n", "21 10\n")[number],
            f"{base}/meminfo": f"Node {number} MemTotal: {total} kB\nNode {number} MemFree: {total // 7} kB\n",
            f"{base}/numastat": f"numa_hit {sum(local)}\nnuma_miss 0\nnuma_foreign {0 if modules else far}\n"
            f"interleave_hit 0\nlocal_node {local[0]}\nother_node {local[1]}\n",
        }


STORIES: Stories = {
    "server-lopsided": lambda: Server(_STARTED, (8, 0), (1, 1), 4, 3_700, 2133, (51e9, 11e9)),
    "server-module-lost": lambda: Server(
        _STARTED + 900_000, (4, 4), (0, 1), 8, 0, 2400, (14e9, 13e9), used=_MODULES - 1, step=90
    ),
    "server-even": lambda: Server(_STARTED + 600_000, (4, 4), (0, 1), 8, 0, 2400, (14e9, 13e9)),
    "server-disk-unused": lambda: Server(_STARTED + 1_200_000, (4, 4), (0, 1), 8, 0, 2400, (14e9, 13e9), unused="sdh"),
}
