"""Stories of AoE and flashcache: the target node before and after its MTU was changed, and a diskless hypervisor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sdstop.collectors.aoe.readings import pieces
from tests.arrays import ArraySpec, Random
from tests.arrays.spec import KIB
from tests.nodes.system import Node, Shape
from tests.stories import flashcaches
from tests.stories.archive import Archive
from tests.stories.disks import SYSTEM, Model, Shelf, SystemDisk, mdstat
from tests.stories.interfaces import LOOPBACK, OFFICE, Interfaces, Nic
from tests.stories.rows import Rows, text
from tests.stories.scene import NO_PATHS, Part, Stories

_STARTED = 1_795_601_042.0
_SECONDS, _STEP = 60, 5
_GUESTS = 4

_SHAPE = Shape("san1", kernel="3.16.0-4-amd64", cpus=4, memory=16_433_020, iowait=0.08, system=0.06, load=2.2)
_VERSION = (
    "Linux version 3.16.0-4-amd64 (builder@san1) (gcc version 4.8.4 (Debian 4.8.4-1) ) "
    "#1 SMP Debian 3.16.7-ckt11-1 (2015-05-24)\n"
)
_STORAGE = Nic("eth1", 3, mtu=4000, speed=10000, rates=(2.1e6, 0.6e6), size=2100, driver="ixgbe")

_NUMBERS = {
    "sda": (8, 0), "sdf": (8, 80), "sdf1": (8, 81), "sdf2": (8, 82), "sdg": (8, 96), "sdh": (8, 112),
    **{f"dm-{minor}": (254, minor) for minor in range(9)},
}  # fmt: skip


def _uuid(name: str, ending: str = "") -> str:
    """Return a UUID as LVM gives it: 32 characters of the group, 32 of the volume."""
    marks = (hashlib.sha256(part.encode()).hexdigest()[:32] for part in (name.partition("-")[0], name))
    return f"LVM-{''.join(marks)}{ending}"


_MAPPED = {
    flashcaches.NAME: ("dm-0", _GUESTS, "", ("sda", "md2")),
    **{f"vmstore-vm0{n}": (f"dm-{n}", 1, _uuid(f"vmstore-vm0{n}"), ("dm-0",)) for n in range(1, _GUESTS + 1)},
    "mail-fast_cdata": ("dm-5", 1, _uuid("mail-fast", "-cdata"), ("sdg",)),
    "mail-fast_cmeta": ("dm-6", 1, _uuid("mail-fast", "-cmeta"), ("sdg",)),
    "mail-spool_corig": ("dm-7", 1, _uuid("mail-spool", "-real"), ("sdh",)),
    "mail-spool": ("dm-8", 1, _uuid("mail-spool"), ("dm-5", "dm-6", "dm-7")),
}
"""Device mapper's devices: kernel name, how often it is open, UUID, what it is built upon."""
_SPOOL = 1953513472
_LOGICAL = 629145600


@dataclass(frozen=True, slots=True)
class Target:
    """The target's node: its MTU, and what the cache counted before and counts a second."""

    mtu: int
    begun: float
    before: flashcaches.Counts
    sizes: Mapping[int, float]
    each: flashcaches.Counts
    each_size: Mapping[int, float]
    then: Target | None = None
    """How it goes on from second `at` to second `last`; of it, but the MTU and what is counted a second."""
    at: int = _SECONDS
    last: int = _SECONDS

    def write(self, path: Path) -> None:
        """Write the capture."""
        storage = replace(_STORAGE, mtu=self.mtu)
        node, interfaces = Node(_SHAPE, self.begun), Interfaces(_SHAPE.host, (LOOPBACK, OFFICE, storage))
        system = SystemDisk(_SHAPE.host)
        load = Random(rate=40.0, writes=0.8, sizes=(4 * KIB, 16 * KIB))
        spec = ArraySpec(disks=4, chunk=64 * KIB, member_size=1465147392 * 512, name="md2", random=load)
        shelf = Shelf(spec, Model("ATA", "ST3750640NS", "5000c500"), first=1)
        part = Part.simulated(shelf, 17, self.last)  # for what mdstat and sysfs have of it
        archive = Archive(path, _SHAPE.host, taken=self.begun, monotonic=_SHAPE.uptime)
        archive.links(shelf.links() | _links())
        for second in range(self.last + 1):
            files = node.files(second) | interfaces.files(second)
            if second == self.at:
                files[f"/sys/class/net/{storage.name}/mtu"] = f"{self._later.mtu}\n"
            files = {name: value for name, value in files.items() if not name.startswith("/proc/pressure")}
            files["/proc/diskstats"] = _of_old_kernel(
                text(_NUMBERS, self._flash(second) | _as_sdf(system.rows())) + text(shelf.devices, self._array(second))
            )
            files["/proc/mdstat"] = mdstat([spec.level], part.mdstat[min(second, len(part.mdstat) - 1)])
            files |= part.sysfs[min(second, len(part.sysfs) - 1)]
            files |= self._caches(second)
            if not second:
                files |= _fixed() | shelf.udev(_SHAPE.host) | NO_PATHS
            if not second % _STEP:
                archive.add(files, second)
        archive.finish()

    @property
    def _later(self) -> Target:
        return self if self.then is None else self.then

    def _spans(self, second: int) -> tuple[int, int]:
        """Return how long it went on as at first, and how long as later."""
        return min(second, self.at), max(second - self.at, 0)

    def _flash(self, second: int) -> Rows:
        first, later = self._spans(second)
        return _flash(self.each, self._later.each, first, later)

    def _array(self, second: int) -> Rows:
        return _array(self.each, self._later.each, *self._spans(second))

    def _caches(self, second: int) -> dict[str, str]:
        first, later = self._spans(second)
        counts = flashcaches.after(flashcaches.after(self.before, self.each, first), self._later.each, later)
        sizes = flashcaches.after_sizes(self.sizes, self.each_size, first)
        sizes = flashcaches.after_sizes(sizes, self._later.each_size, later)
        linear = "".join(f"{name}: 0 {_size(name)} linear \n" for name in _MAPPED if _linear(name))
        return {
            "commands/dmsetup_status_--noflush/stdout": f"{flashcaches.status(counts)}{linear}{_spool(second)}",
            "commands/dmsetup_table_--target_flashcache/stdout": flashcaches.table(sizes),
        } | (_slow(sizes) if not second else {})


def _linear(name: str) -> bool:
    return name not in {flashcaches.NAME, "mail-spool"}


def _size(name: str) -> int:
    return {"mail-fast_cdata": 61341696, "mail-fast_cmeta": 524288}.get(
        name, _LOGICAL if name.startswith("vmstore") else _SPOOL
    )


def _spool(second: int) -> str:
    """Return the status of the healthy cache beside it: dm-cache before the disk with the mail."""
    counted = [41_200_311 + 61 * second, 6_902_118 + 9 * second, 22_018_440 + 34 * second, 2_901_772 + 4 * second]
    moved = f"{391_204 + second // 2} {838_404 + second // 2}"
    return (
        f"mail-spool: 0 {_SPOOL} cache 8 1210/65536 128 447200/479232 {' '.join(map(str, counted))} {moved} "
        f"{210 + second % 3} 1 writeback 2 migration_threshold 2048 mq 10 random_threshold 4 sequential_threshold 512 "
        "discard_promote_adjustment 1 read_promote_adjustment 4 write_promote_adjustment 8 rw\n"
    )


def _slow(sizes: Mapping[int, float]) -> dict[str, str]:
    """Return what is asked for seldom: the table of all mappings, and their numbers."""
    lines = [flashcaches.table(sizes)]
    for name, (_, _, _, below) in _MAPPED.items():
        if _linear(name):
            start = 2048 if not name.startswith("vmstore") else 2048 + _LOGICAL * (int(name[-1]) - 1)
            lower = "254:0" if below == ("dm-0",) else f"8:{_NUMBERS[below[0]][1]}"
            lines.append(f"{name}: 0 {_size(name)} linear {lower} {start}\n")
    lines.append(f"mail-spool: 0 {_SPOOL} cache 254:6 254:5 254:7 128 1 writeback mq 0\n")
    info = "".join(
        f"{name}:254:{device[3:]}:L--w:{opened}:1:0:{uuid}\n" for name, (device, opened, uuid, _) in _MAPPED.items()
    )
    return {"commands/dmsetup_table/stdout": "".join(lines), f"commands/{_INFO}/stdout": info}


_INFO = "dmsetup_info_-c_--noheadings_--separator_:"


class _Counting:
    """Counters of block devices that went on as they did: `first` seconds at one pace, `rest` seconds at another."""

    def __init__(self, first: int, rest: int) -> None:
        self._first, self._rest = 300_000 + first, rest

    def row(
        self,
        before: tuple[float, float],
        now: tuple[float, float],
        size: float,
        waits: tuple[float, float],
        merged: float = 1.0,
    ) -> list[int]:
        """Return the counters of a device: reads and writes a second, bytes of each, and their waits then and now (ms).

        `merged` requests are merged into one.
        """
        arrived = [int(b * self._first + n * self._rest) for b, n in zip(before, now, strict=True)]
        counts = [int(count / merged) for count in arrived]
        times = [
            int((b * self._first * waits[0] + n * self._rest * waits[1]) / merged)
            for b, n in zip(before, now, strict=True)
        ]
        shares = [min(0.7 * sum(rates) / merged * wait / 1000, 0.97)
                  for rates, wait in zip((before, now), waits, strict=True)]  # fmt: skip
        busy = int(1000 * (shares[0] * self._first + shares[1] * self._rest))
        row: list[int] = []
        for count, came, time in zip(counts, arrived, times, strict=True):
            row += [count, came - count, int(came * size / 512), time]
        return [*row, 0, busy, sum(times)]


_SSD_WAIT, _ARRAY_WAIT, _DISK_WAIT = 0.1, 12.0, 11.0
"""Milliseconds of a request of the SSD, of md2 and of its disks."""
_MERGED = 10.0
"""Neighboring pieces of the guests' requests that the disks' scheduler makes one request of."""


def _passed(each: flashcaches.Counts) -> tuple[float, float]:
    """Return the reads and writes a second that the cache passes on to md2, what it cleans included."""
    return each["disk reads"], each["disk writes"]


def _cache_wait(each: flashcaches.Counts) -> float:
    """Return the wait of a request of the cache: of md2 for those that bypass or miss it, else of the SSD."""
    slow = (each["disk reads"] + each["uncached writes"]) / (each["reads"] + each["writes"])
    return slow * _ARRAY_WAIT + (1 - slow) * _SSD_WAIT + 0.2


def _array(each: flashcaches.Counts, later: flashcaches.Counts, first: int, rest: int) -> Rows:
    """Return the counters of md2 and its disks: what the cache passes on; a write goes to both legs of a mirror."""
    counting = _Counting(first, rest)
    before, now = _passed(each), _passed(later)

    def of_disk(rates: tuple[float, float]) -> tuple[float, float]:
        return rates[0] / 4, rates[1] / 2

    disks = {
        f"sd{letter}": counting.row(of_disk(before), of_disk(now), 2200, (_DISK_WAIT, _DISK_WAIT), _MERGED)
        for letter in "bcde"
    }
    return disks | {"md2": counting.row(before, now, 2200, (_ARRAY_WAIT, _ARRAY_WAIT))}


def _flash(each: flashcaches.Counts, later: flashcaches.Counts, first: int, rest: int) -> Rows:
    """Return the counters of the SSD, the mail's disks and device mapper's devices.

    `each` is what they counted a second before and in the `first` seconds, `later` in the `rest` of them.
    """
    counting = _Counting(first, rest)

    def row(reads: float, writes: float, size: float, wait: float) -> list[int]:
        return counting.row((reads, writes), (reads, writes), size, (wait, wait))

    def moving(parts: int, reads: str, writes: str, size: float, waits: tuple[float, float]) -> list[int]:
        before, now = ((counts[reads] / parts, counts[writes] / parts) for counts in (each, later))
        return counting.row(before, now, size, waits)

    waits = _cache_wait(each), _cache_wait(later)
    came = {f"dm-{n}": moving(_GUESTS, "reads", "writes", 2054, waits) for n in range(1, _GUESTS + 1)}
    return came | {
        "dm-0": moving(1, "reads", "writes", 2054, waits),
        "sda": moving(1, "ssd reads", "ssd writes", 4096, (_SSD_WAIT, _SSD_WAIT)),
        "dm-8": row(70, 38, 8192, 0.4),
        "dm-5": row(61, 40, 8192, 0.1),
        "dm-6": row(0, 1, 4096, 0.1),
        "dm-7": row(9, 6, 16384, 2.0),
        "sdg": row(61, 41, 8192, 0.1),
        "sdh": row(9, 6, 16384, 2.0),
    }


def _as_sdf(found: Rows) -> Rows:
    """Return the system's disk by the name that it has here."""
    names = dict(zip(SYSTEM, ("sdf", "sdf1", "sdf2"), strict=True))
    return {names[name]: numbers for name, numbers in found.items()}


def _of_old_kernel(diskstats: str) -> str:
    """Return /proc/diskstats as kernels before 4.18 have it: 11 counters."""
    lines = (re.match(r" *\d+ +\d+ \S+(?: \d+){11}", line) for line in diskstats.splitlines())
    return "".join(f"{line[0]}\n" for line in lines if line is not None)


def _links() -> dict[str, str]:
    links = {}
    for name, (device, _, _, below) in _MAPPED.items():
        for lower in below:
            links[f"/sys/block/{device}/slaves/{lower}"] = f"../../{lower}"
            links[f"/sys/block/{lower}/holders/{device}"] = f"../../{device}"
        group, _, volume = name.partition("-")
        links[f"/dev/{group}/{volume}" if volume else f"/dev/mapper/{name}"] = f"../{device}"
    for number, disk in ((0, "sda"), (5, "sdf"), (6, "sdg"), (7, "sdh")):
        links[f"/sys/block/{disk}/device"] = f"../../../0:0:{number}:0"
    return links


_DISKS = {
    "sda": ("INTEL SSDSA2CW060G3", 117231408, 0), "sdf": ("WDC WD2502ABYS-01B7A0", 490350672, 1),
    "sdg": ("INTEL SSDSA2CW080G3", 156301488, 0), "sdh": ("ST31000524NS", 1953525168, 1),
}  # fmt: skip


def _fixed() -> dict[str, str]:
    """Return what never changes: devices, processes of vblade, the module."""
    files = {"/proc/version": _VERSION, "/sys/module/flashcache/initstate": "live\n"}
    for disk, (model, sectors, rotational) in _DISKS.items():
        files |= {
            f"/sys/block/{disk}/dev": "{}:{}\n".format(*_NUMBERS[disk]),
            f"/sys/block/{disk}/size": f"{sectors}\n",
            f"/sys/block/{disk}/queue/rotational": f"{rotational}\n",
            f"/sys/block/{disk}/device/model": f"{model:<16}\n",
            f"/sys/block/{disk}/device/state": "running\n",
        }
    for part, start, sectors in ((1, 2048, 1048576), (2, 1050624, 489297920)):
        folder = f"/sys/block/sdf/sdf{part}"
        files |= {f"{folder}/partition": f"{part}\n", f"{folder}/dev": f"8:{80 + part}\n",
                  f"{folder}/start": f"{start}\n", f"{folder}/size": f"{sectors}\n"}  # fmt: skip
    for name, (device, _, uuid, _) in _MAPPED.items():
        folder = f"/sys/block/{device}"
        size = flashcaches.SECTORS if name == flashcaches.NAME else _size(name)
        files |= {f"{folder}/dev": f"254:{device[3:]}\n", f"{folder}/size": f"{size}\n",
                  f"{folder}/dm/name": f"{name}\n", f"{folder}/dm/uuid": f"{uuid}\n"}  # fmt: skip
    names = [*_NUMBERS.items(), *((f"sd{letter}", (8, 16 * n)) for n, letter in enumerate("bcde", 1)), ("md2", (9, 2))]
    files["/proc/partitions"] = "major minor  #blocks  name\n\n" + "".join(
        f"{major:4d} {minor:8d} {1048576:10d} {name}\n" for name, (major, minor) in names
    )
    return files | _vblades()


def _vblades() -> dict[str, str]:
    lines = ["sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"]
    files = {}
    for guest in range(1, _GUESTS + 1):
        pid = 2210 + 4 * guest
        argv = ("vblade", "-d", "0", str(guest), "eth1", f"/dev/vmstore/vm0{guest}")
        files[f"/proc/{pid}/comm"] = "vblade\n"
        files[f"/proc/{pid}/cmdline"] = "".join(f"{word}\0" for word in argv)
        lines.append(f"ffff88042b{guest:06x} 3      3    88a2   3     1 0      0      {11800 + guest}\n")
    return files | {"/proc/net/packet": "".join(lines)}


def _as_found() -> Target:
    """Make the node of the transcripts; it goes on as it ever did."""
    each, sizes = flashcaches.as_before(1180.0), flashcaches.sizes_as_before(1180.0)
    return Target(4000, _STARTED, flashcaches.TRANSCRIPT, flashcaches.SIZES, each, sizes)


def _later(mtu: int, days: int, hours: float, rate: float, arriving: Mapping[int, float]) -> Target:
    """Make the node some hours after its MTU was changed: what the cache counted before was not reset.

    `arriving` are shares of requests by size.
    """
    past = 1.0 - arriving.get(4096, 0.0)
    each = flashcaches.counting(rate, past)
    each_size = {size: rate * share for size, share in arriving.items()}
    before = flashcaches.after(flashcaches.TRANSCRIPT, each, hours * 3600)
    sizes = flashcaches.after_sizes(flashcaches.SIZES, each_size, hours * 3600)
    return Target(mtu, _STARTED + days * 86400, before, sizes, each, each_size)


ASKED: Mapping[int, float] = {4 * KIB: 0.44, 8 * KIB: 0.14, 16 * KIB: 0.18, 64 * KIB: 0.14, 128 * KIB: 0.1}
"""Shares of the guests' requests by size, before frames cut them; all begin at whole blocks."""


def arriving(payload: int) -> dict[int, float]:
    """Return the shares of what reaches the cache by size, by the arithmetic of frames and blocks."""
    found: dict[int, float] = {}
    for length, share in ASKED.items():
        for size, count in pieces(payload, length).items():
            found[size] = found.get(size, 0.0) + share * count
    total = sum(found.values())
    return {size: count / total for size, count in sorted(found.items())}


def _at_9000() -> Target:
    return _later(9000, 6, 40.0, 1650.0, arriving(8704))


def _at_8700() -> Target:
    # A few requests are no whole blocks whatever the MTU: boot loaders, partitions that begin at sector 63.
    few = {512: 0.009, 3584: 0.012}
    whole = {size: share * (1 - sum(few.values())) for size, share in arriving(8192).items()}
    return _later(8700, 9, 5.0, 2100.0, few | whole)


def _mended() -> Target:
    """Somebody gives eth1 the MTU that is right while it is watched; all else goes on."""
    after = _at_8700()
    return replace(_at_9000(), then=replace(after, begun=0.0), at=45, last=110)


@dataclass(frozen=True, slots=True)
class Initiator:
    """A diskless hypervisor: all that it has comes by AoE from the target."""

    def write(self, path: Path) -> None:
        """Write the capture."""
        shape = Shape("hyper3", cpus=8, iowait=0.31, system=0.05, load=6.4, stalled=0.62)
        own = {"address": "02:1b:21:9a:40:13"}
        storage = Nic("eth1", 3, mtu=4200, speed=10000, rates=(0.5e6, 2.4e6), size=2300, driver="ixgbe", extra=own)
        begun = _STARTED + 20  # while the target is watched, too
        node, interfaces = Node(shape, begun), Interfaces(shape.host, (LOOPBACK, OFFICE, storage))
        archive = Archive(path, shape.host, taken=begun, monotonic=shape.uptime)
        for second in range(_SECONDS + 1):
            files = node.files(second) | interfaces.files(second)
            files["/proc/diskstats"] = self._diskstats(second)
            if not second:
                files |= self._fixed() | NO_PATHS
                files["outcomes.json"] = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'
            if not second % _STEP:
                archive.add(files, second)
        archive.finish()

    @staticmethod
    def _diskstats(second: int) -> str:
        """Return the disk's counters, as the initiator has them: whole requests, however many frames they take."""
        past = 90_000 + second
        reads, writes = 24 * past, 61 * past
        numbers = [reads, 0, reads * 40, reads * 14, writes, 900 * past // 100, writes * 36, writes * 19, 3,
                   past * 640, reads * 14 + writes * 19, 0, 0, 0, 0, 0, 0]  # fmt: skip
        root = [number // 20 for number in numbers[:8]] + [0] + [number // 20 for number in numbers[9:]]
        devices = {"etherd/e0.1": (152, 16), "etherd/e0.1p1": (152, 17)}
        return text(devices, {"etherd/e0.1": numbers, "etherd/e0.1p1": root})

    @staticmethod
    def _fixed() -> dict[str, str]:
        block = "/sys/block/etherd!e0.1"
        said = {
            "dev": "152:16", "size": str(_LOGICAL), "ro": "0", "removable": "0", "state": "up",
            "mac": "021b219a4003", "netif": "eth1", "firmware-version": "0x4014", "payload": "3584",
            "queue/rotational": "1", "queue/iostats": "1", "queue/scheduler": "[mq-deadline] none",
            "queue/logical_block_size": "512", "queue/physical_block_size": "512", "etherd!e0.1p1/partition": "1",
            "etherd!e0.1p1/dev": "152:17", "etherd!e0.1p1/start": "2048", "etherd!e0.1p1/size": str(_LOGICAL - 2048),
        }  # fmt: skip
        return {f"{block}/{name}": f"{value}\n" for name, value in said.items()} | {
            "/sys/kernel/debug/aoe/e0.1": "rttavg: 3120 rttdev: 2410\nnskbpool: 0\nkicked: 0\nmaxbcnt: 3584\nref: 1\n",
            "/proc/net/packet": "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n",
        }


_MAKERS: Mapping[str, Callable[[], Target | Initiator]] = {
    "aoe-flashcache": _as_found,
    "aoe-flashcache-8700": _at_8700,
    "aoe-flashcache-9000": _at_9000,
    "aoe-flashcache-mended": _mended,
    "aoe-initiator": Initiator,
}
STORIES: Stories = dict(_MAKERS)
