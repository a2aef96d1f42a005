"""Layers in the wrong place, and discards and flushes of the wrong kind: a node full of them, and its healthy twin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.zfs.settings import GET
from sdstop.core.evidence import command_key
from tests.nodes.system import Shape
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_797_300_000.0
_STEP = 2
_SECTORS = 1_953_525_168
_PART = 209_715_200
_GRANULE = 1 << 20
_DISKS = {"sdb": (8, 16), "sdc": (8, 32), "sdd": (8, 48), "loop0": (7, 0)}
_NAMES = ("fastdata", "vg0-data", "archive")


@dataclass(frozen=True, slots=True)
class Layers:
    """The node: `right` puts every layer in its place; a discard has so many bytes, a flush so many seconds."""

    host: str
    taken: float
    right: bool
    discard: int
    flush: float

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = _DISKS | {f"dm-{n}": (253, n) for n in range(len(_NAMES))}
        shape = Shape(self.host, cpus=8, iowait=0.02, load=1.0)
        Told(shape, self.taken, _STEP, 10, self._told, names, self._counted).write(path)

    def _counted(self, second: int) -> Rows:
        calm = moved(second, reads=20, read=160_000, read_wait=0.002, writes=9, written=73_728, write_wait=0.002,
                     busy=0.06)  # fmt: skip
        rows = dict.fromkeys((*_DISKS, *(f"dm-{n}" for n in range(len(_NAMES)))), calm)
        flushed = moved(second, reads=20, read=160_000, read_wait=0.002, writes=60, written=491_520, write_wait=0.002,
                        busy=0.1)  # fmt: skip
        discards, flushes = 20 * second, 45 * second
        flushed[11:17] = [discards, 0, discards * self.discard // 512, discards, flushes,
                          int(flushes * self.flush * 1000)]  # fmt: skip
        return rows | {"sdd": flushed}

    def _told(self, second: int) -> Evidence:
        seconds = 600_000 + second if self.right else 0
        hits_and_misses = " ".join(str(rate * seconds) for rate in (18, 2, 8, 1))
        status = (
            f"fastdata: 0 {_SECTORS} cache 8 2210/65536 128 400000/400000 {hits_and_misses} "
            "900 900 120 1 writeback 2 migration_threshold 2048 smq 0 rw - \n"
        )
        found: dict[str, str | bytes] = {
            command_key(STATUS): f"{status}vg0-data: 0 {_PART} linear \narchive: 0 {_PART} linear \n"
        }
        return found if second else found | self._structure()

    def _structure(self) -> dict[str, str]:
        below = "253:0" if self.right else "8:16"
        broken = "" if self.right else f"archive: {_PART // 2} {_PART // 2} error \n"
        length = _PART if self.right else _PART // 2
        log = "sdc3" if self.right else "loop0"
        sync = "standard" if self.right else "disabled"
        found = {
            command_key(TABLE): f"fastdata: 0 {_SECTORS} cache 8:33 8:34 8:16 128 1 writeback smq 0\n"
            f"vg0-data: 0 {_PART} linear {below} 2048\narchive: 0 {length} linear 8:48 2048\n{broken}",
            command_key(INFO): "".join(f"{name}:253:{n}:L--w:1:1:0:{_uuid(n)}\n" for n, name in enumerate(_NAMES)),
            "/proc/self/mounts": "/dev/mapper/vg0-data /srv/data ext4 rw\n/dev/mapper/archive /srv/archive xfs rw\n"
            "tank /tank zfs rw\n",
            "/proc/spl/kstat/zfs/tank/state": "ONLINE\n",
            "cmd:zpool status -v": _POOL.format(log=log),
            command_key(GET): "".join(
                f"{dataset}\t{name}\t{value}\t-\n"
                for dataset, own in (("tank", "standard"), ("tank/vm", sync))
                for name, value in (("type", "filesystem"), ("sync", own), ("recordsize", "131072"))
            ),
            "/sys/block/loop0/loop/backing_file": "/run/slog.img\n",
            "/sys/block/sdd/queue/discard_granularity": f"{_GRANULE}\n",
            "/sys/block/sdd/queue/write_cache": "write back\n",
        }
        for name, (major, minor) in _DISKS.items():
            base = f"/sys/block/{name}"
            found |= {f"{base}/dev": f"{major}:{minor}\n", f"{base}/size": f"{_SECTORS}\n"}
            if major == 8:
                found |= {f"{base}/queue/rotational": str(int(name == "sdb")) + "\n",
                          f"{base}/device/model": "MZ7L3960HCJR-00\n", f"{base}/device/state": "running\n"}  # fmt: skip
        for part in (1, 2, 3):
            base = f"/sys/block/sdc/sdc{part}"
            found |= {f"{base}/dev": f"8:{32 + part}\n", f"{base}/partition": f"{part}\n", f"{base}/size": "2097152\n"}
        lower = {0: ("sdb", "sdc1", "sdc2"), 1: ("dm-0",) if self.right else ("sdb",), 2: ("sdd",)}
        for number, name in enumerate(_NAMES):
            base = f"/sys/block/dm-{number}"
            found |= {f"{base}/dev": f"253:{number}\n", f"{base}/size": f"{_PART}\n", f"{base}/dm/name": f"{name}\n",
                      f"{base}/dm/uuid": f"{_uuid(number)}\n", f"{base}/dm/suspended": "0\n",
                      f"link:/dev/mapper/{name}": f"../dm-{number}"}  # fmt: skip
            found |= {f"link:{base}/slaves/{device}": f"../../{device}" for device in lower[number]}
        return found


def _uuid(number: int) -> str:
    return "LVM-Ue44eq1dG638mLoNITSnMMkH34nqGsi5593hCjXTEMKjeD6ztTEigHYCvZwxJ001" if number == 1 else ""


_POOL = """  pool: tank
 state: ONLINE
  scan: scrub repaired 0B in 01:11:40 with 0 errors on Sat Dec 12 01:35:42 2026
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  sde       ONLINE       0     0     0
\tlogs
\t  {log:<10}ONLINE       0     0     0

errors: No known data errors
"""

STORIES: Stories = {
    "layers-misplaced": lambda: Layers("vault9", _STARTED, right=False, discard=65_536, flush=0.012),
    "layers-in-place": lambda: Layers("vault10", _STARTED + 86_400, right=True, discard=4 * _GRANULE, flush=0.0004),
}
