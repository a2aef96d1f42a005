"""A bcache that writes its dirty data back: slowly, by its own limit, and at once, because it is detached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.nodes.system import Shape
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_797_100_000.0
_MIB = 1 << 20
_SET = "/sys/fs/bcache/6f1d5c0e-2f0b-4c0e-9a53-0c8f5f6a7b11"
_BASE = "/sys/block/bcache0/bcache"
_DISK, _FLASH = 7_814_037_168, 41_943_040


def printed(number: int) -> str:
    """Return a number as bcache prints it (drivers/md/bcache/util.c: bch_hprint): `12.9G`, `248.0k`."""
    unit, rest = 0, 0
    while True:
        unit, rest, number = unit + 1, number & 1023, number >> 10
        if number < 1000:
            return f"{number}.{rest * 10 >> 10}{'?kMGTPEZY'[unit]}"


@dataclass(frozen=True, slots=True)
class Draining:
    """The node: dirty data in MiB and how much of it is written back a second, its limit, and what writes wait for."""

    taken: float
    dirty: int
    drains: int
    rate: str
    writes: int
    wait: float
    busy: float

    def write(self, path: Path) -> None:
        """Write the capture."""
        disks = {"sdb": (8, 16), "nvme1n1": (259, 5), "bcache0": (252, 0)}
        Told(Shape("backup2", cpus=8, iowait=0.2, load=4.0), self.taken, 2, 46, self._told, disks, self._counted).write(
            path
        )

    def _counted(self, second: int) -> Rows:
        written, back = self.writes * 16_384, self.drains * _MIB
        rows = self.writes + self.drains * 4
        disk = moved(second, writes=rows, written=written + back, write_wait=self.wait * 0.9, busy=self.busy)
        cache = moved(second, reads=self.drains * 4, read=back, read_wait=0.0003, busy=0.04)
        upper = moved(second, writes=self.writes, written=written, write_wait=self.wait, busy=self.busy)
        return {"sdb": disk, "nvme1n1": cache, "bcache0": upper}

    def _told(self, second: int) -> Evidence:
        found: Evidence = {
            f"{_BASE}/dirty_data": f"{printed((self.dirty - self.drains * second) * _MIB)}\n",
            f"{_BASE}/writeback_rate": f"{self.rate}\n",
        }
        return found if second else {**found, **_fixed()}


def _fixed() -> dict[str, str]:
    """Return what does not change: the set, the devices, and counters of reads, of which there are none."""
    stats = dict.fromkeys(("hits", "misses", "bypass_hits", "bypass_misses"), "0")
    member = f"{_SET}/cache0"
    said = {
        "state": "dirty", "cache_mode": "writethrough [writeback] writearound none", "sequential_cutoff": "4.0M",
        "writeback_running": "1", "writeback_percent": "10", "backing_dev_name": "sdb", "io_errors": "0",
        **{f"stats_total/cache_{name}": count for name, count in stats.items()},
    }  # fmt: skip
    files = {f"{_BASE}/{name}": f"{value}\n" for name, value in said.items()}
    files |= {
        "/sys/block/bcache0/dev": "252:0\n", "/sys/block/bcache0/size": f"{_DISK - 16}\n",
        f"link:{_BASE}": "../../../devices/pci0000:00/ata2/block/sdb/bcache",
        f"link:{_BASE}/cache": f"../../../../../../{_SET.lstrip('/')}",
        f"{_SET}/block_size": "4.0k\n", f"link:{member}": "../../../devices/pci0000:00/nvme/nvme1/nvme1n1/bcache",
        f"{member}/nbuckets": "40960\n", f"{member}/bucket_size": "512.0k\n", f"{member}/io_errors": "0\n",
        f"{member}/cache_replacement_policy": "[lru] fifo random\n",
        "link:/sys/block/bcache0/slaves/sdb": "../../sdb", "link:/sys/block/bcache0/slaves/nvme1n1": "../../nvme1n1",
    }  # fmt: skip
    for name, number, sectors, rotates in (("sdb", "8:16", _DISK, 1), ("nvme1n1", "259:5", _FLASH, 0)):
        base = f"/sys/block/{name}"
        files |= {f"{base}/dev": f"{number}\n", f"{base}/size": f"{sectors}\n",
                  f"{base}/queue/rotational": f"{rotates}\n"}  # fmt: skip
    return files


STORIES: Stories = {
    "bcache-drains-slowly": lambda: Draining(_STARTED, 9_700, 8, "8.0M", 90, 0.62, 0.99),
    "bcache-detaching": lambda: Draining(_STARTED + 90_000, 6_900, 48, "4.0k", 20, 0.021, 0.7),
}
