"""Volumes of LVM: a mirror that lost a leg, a pool and a snapshot that fill, a file system that is full."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.nodes.system import Shape
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_600_000.0
_GROUP = "LVM-Ue44eq1dG638mLoNITSnMMkH34nqGsi5"
_DM = 253
_SECTORS = 209_715_200
"""100 GiB."""
_DISKS = {"sdb": 16, "sdc": 32, "sdd": 48, "sde": 64}
_POOL_BLOCKS, _BLOCK = 1_638_400, 128
"""Blocks of the pool, 64 KiB each: 100 GiB."""
_SNAPSHOT = 41_943_040
"""Sectors for changes: 20 GiB."""
_GIB = 1 << 30
_DEVICES = (
    ("vg0-home_rmeta_0", "", ("sdb",)), ("vg0-home_rimage_0", "", ("sdb",)), ("vg0-home_rmeta_1", "", ("sdc",)),
    ("vg0-home_rimage_1", "", ("sdc",)), ("vg0-home", "", ("dm-0", "dm-1", "dm-2", "dm-3")),
    ("vg1-pool_tmeta", "-tmeta", ("sdd",)), ("vg1-pool_tdata", "-tdata", ("sdd",)),
    ("vg1-pool-tpool", "-tpool", ("dm-5", "dm-6")), ("vg1-web", "", ("dm-7",)), ("vg1-mail", "", ("dm-7",)),
    ("vg2-db-real", "-real", ("sde",)), ("vg2-backup-cow", "-cow", ("sde",)), ("vg2-backup", "", ("dm-10", "dm-11")),
    ("vg2-db", "", ("dm-10",)), ("archive", "CRYPT-INTEGRITY-archive", ("sde",)),
)  # fmt: skip
"""Devices by number: name, end of the UUID (or all of it), devices below."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """The node: letters of the mirror, blocks of the pool and how they grow, changes of the snapshot, and so on."""

    taken: float
    letters: str
    used: int
    growth: int
    changed: int
    change: int
    mismatches: int
    available: int
    inodes: int
    forced: bool

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = {name: (8, minor) for name, minor in _DISKS.items()} | {
            f"dm-{n}": (_DM, n) for n in range(len(_DEVICES))
        }
        Told(Shape("vault2", iowait=0.02, load=1.0), self.taken, 5, 16, self._told, names, self._counted).write(path)

    def _counted(self, second: int) -> Rows:
        """Return rows of disks and volumes that are little used."""
        slow = moved(
            second, reads=12, read=98_304, read_wait=0.004, writes=9, written=73_728, write_wait=0.003, busy=0.06
        )
        return dict.fromkeys((*_DISKS, *(f"dm-{n}" for n in range(len(_DEVICES)))), slow)

    def _status(self, second: int) -> str:
        used = min(self.used + self.growth * second, _POOL_BLOCKS)
        mode = "rw" if used < _POOL_BLOCKS else "out_of_data_space"
        changed = min(self.changed + self.change * second, _SNAPSHOT)
        states = {
            "vg0-home": f"raid raid1 2 {self.letters} {_SECTORS}/{_SECTORS} idle 0 0 -",
            "vg1-pool-tpool": f"thin-pool 7 2211/32768 {used}/{_POOL_BLOCKS} - {mode} discard_passdown "
            "queue_if_no_space - 1024 ",
            "vg1-web": f"thin {used * _BLOCK // 2} {_SECTORS - 1}",
            "vg1-mail": f"thin {(used - used // 2) * _BLOCK} {_SECTORS - 1}",
            "vg2-backup": f"snapshot {changed}/{_SNAPSHOT} {changed // 256}",
            "vg2-db": "snapshot-origin ",
            "archive": f"integrity {self.mismatches} {_SECTORS} -",
        }
        return "".join(f"{name}: 0 {_SECTORS} {states.get(name, 'linear ')}\n" for name, _, _ in _DEVICES)

    def _spaces(self) -> str:
        row = {"writable": True, "super_writable": True, "hint": None, "filesystem": "ext4", "files": 6_553_600,
               "files_free": 6_100_000, "size": 98 * _GIB, "free": 60 * _GIB, "available": 55 * _GIB}  # fmt: skip
        return json.dumps([
            {"point": "/home", "source": "/dev/mapper/vg0-home", "number": "253:4", **row,
             "free": self.available + 5 * _GIB, "available": self.available},
            {"point": "/srv/mail", "source": "/dev/mapper/vg1-mail", "number": "253:9", **row,
             "files_free": self.inodes},
            {"point": "/srv/db", "source": "/dev/mapper/vg2-db", "number": "253:13", **row,
             "super_writable": not self.forced},
        ])  # fmt: skip

    def _told(self, second: int) -> Evidence:
        found: dict[str, str | bytes] = {
            "cmd:dmsetup status --noflush": self._status(second),
            "answers/filesystems.space.json": self._spaces(),
        }
        return found if second else found | _structure(forced=self.forced)


def _structure(*, forced: bool) -> dict[str, str]:
    """Return what does not change: names, tables, links and mounts."""
    access = "ro" if forced else "rw"
    found = {
        "cmd:dmsetup table": _TABLE,
        "cmd:dmsetup info -c --noheadings --separator :": "".join(
            f"{name}:{_DM}:{n}:L--w:1:1:0:{_uuid(n)}\n" for n, (name, _, _) in enumerate(_DEVICES)
        ),
        "/proc/self/mounts": "/dev/mapper/vg0-home /home ext4 rw\n/dev/mapper/vg1-mail /srv/mail ext4 rw\n"
        f"/dev/mapper/vg2-db /srv/db ext4 {access}\n",
    }
    for name, minor in _DISKS.items():
        base = f"/sys/block/{name}"
        found |= {f"{base}/dev": f"8:{minor}\n", f"{base}/size": "3907029168\n", f"{base}/queue/rotational": "1\n",
                  f"{base}/device/model": "ST2000NM0055-1V4\n", f"{base}/device/state": "running\n"}  # fmt: skip
    for number, (name, _, below) in enumerate(_DEVICES):
        base = f"/sys/block/dm-{number}"
        found |= {f"{base}/dev": f"{_DM}:{number}\n", f"{base}/size": f"{_SECTORS}\n", f"{base}/dm/name": f"{name}\n",
                  f"{base}/dm/uuid": f"{_uuid(number)}\n", f"{base}/dm/suspended": "0\n",
                  f"link:/dev/mapper/{name}": f"../dm-{number}"}  # fmt: skip
        found |= {f"link:{base}/slaves/{lower}": f"../../{lower}" for lower in below}
    return found


def _uuid(number: int) -> str:
    end = _DEVICES[number][1]
    return end if end.startswith("CRYPT") else f"{_GROUP}{'593hCjXTEMKjeD6ztTEigHYCvZwxJ'}{number:03}{end}"


_TABLE = f"""vg0-home: 0 {_SECTORS} raid raid1 3 0 region_size 4096 2 253:0 253:1 253:2 253:3
vg0-home_rimage_0: 0 {_SECTORS} linear 8:16 10240
vg0-home_rimage_1: 0 {_SECTORS} linear 8:32 10240
vg0-home_rmeta_0: 0 8192 linear 8:16 2048
vg0-home_rmeta_1: 0 8192 linear 8:32 2048
vg1-mail: 0 {_SECTORS} thin 253:7 2
vg1-pool-tpool: 0 {_SECTORS} thin-pool 253:5 253:6 {_BLOCK} 0 0
vg1-pool_tdata: 0 {_SECTORS} linear 8:48 264192
vg1-pool_tmeta: 0 262144 linear 8:48 2048
vg1-web: 0 {_SECTORS} thin 253:7 1
vg2-backup: 0 {_SECTORS} snapshot 253:10 253:11 P 8
vg2-backup-cow: 0 {_SNAPSHOT} linear 8:64 209717248
vg2-db: 0 {_SECTORS} snapshot-origin 253:10
vg2-db-real: 0 {_SECTORS} linear 8:64 2048
archive: 0 {_SECTORS} integrity 8:64 0 4 J 6 journal_sectors:88704 internal_hash:crc32c
"""

STORIES: Stories = {
    "lvm-failing": lambda: Volumes(
        _STARTED, "AD", used=1_480_000, growth=900, changed=36_000_000, change=2048, mismatches=0, available=_GIB // 2,
        inodes=6_100_000, forced=True,
    ),
    "lvm-mended": lambda: Volumes(
        _STARTED + 700_000, "AA", used=620_000, growth=1, changed=4_100_000, change=40, mismatches=0,
        available=55 * _GIB, inodes=6_100_000, forced=False,
    ),
}  # fmt: skip
