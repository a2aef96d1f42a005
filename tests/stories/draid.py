"""A ZFS pool of one dRAID that rebuilds onto a distributed spare, as the tools of OpenZFS 2.1 tell it.

What a story's scene takes from here (`pool` is made once, asked second by second, and holds no state):

    pool = DraidPool(disks=("sda", ...60 names...), failed=17, rate=2.1e9)
    files = pool.files(second)       # add to the frame's files; {} for seconds in which nothing of it is read
    pool.settings()                  # further files of the first frame: parameters, version, settings of datasets

`rate` is how many bytes a second the rebuild looks at over all disks: what the story's bottleneck leaves of it. The
disks' own counters (/proc/diskstats) are the scene's: of the 60 disks each reads about rate / 60, and writes
rate / 60 / (data + parity) for the blocks it takes over. `zpool status` is read every ten seconds, as sdstop does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sdstop.collectors.zfs.pools import LIST, TEXT
from sdstop.collectors.zfs.readings import IOSTAT, KSTATS, PARAMETERS
from sdstop.collectors.zfs.settings import GET
from sdstop.core.evidence import slug

TIB = 1 << 40
EVERY = 10
"""Seconds between two readings of `zpool status`."""

_PARAMETERS = {
    "zfs_resilver_min_time_ms": 3000, "zfs_scrub_min_time_ms": 1000, "zfs_scan_vdev_limit": 16 << 20,
    "zfs_vdev_scrub_max_active": 3, "zfs_rebuild_vdev_limit": 64 << 20, "zfs_vdev_rebuild_max_active": 3,
    "zfs_scan_suspend_progress": 0,
}  # fmt: skip


def nicenum(number: float) -> str:
    """Return a number as zfs_nicebytes prints it: `1.38P`, `43.4T`, `306T`; bytes have a B."""
    units = "BKMGTPE"
    place = 0
    while number >= 1024 and place < len(units) - 1:
        number /= 1024
        place += 1
    if place == 0:
        return f"{int(number)}B"
    digits = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{digits}f}{units[place]}"


def clock(seconds: float) -> str:
    """Return a duration as ZFS prints it, days only where there are any."""
    whole = int(seconds)
    days, rest = divmod(whole, 86400)
    words = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} days {words}" if days else words


@dataclass(frozen=True, slots=True)
class DraidPool:
    """A pool `name` of one dRAID over `disks`, of which `failed` is gone and rebuilt onto a distributed spare.

    `allocated` bytes are to be looked at, `started` of it (0..1) when the story begins, `rate` bytes in each second;
    `elapsed` seconds had it run by then. `rebuilding` False: nothing failed, and nothing is under way.
    """

    disks: tuple[str, ...]
    failed: int = 17
    rate: float = 2.1e9
    name: str = "tank"
    data: int = 8
    parity: int = 2
    spares: int = 2
    size: int = 60 * 14 * 10**12
    allocated: int = 301 * TIB
    started: float = 0.42
    elapsed: float = 61_000.0
    rebuilding: bool = True
    since: str = "Fri Nov 20 03:11:27 2026"
    partition: str = "1"
    links: dict[str, str] = field(default_factory=dict)

    @property
    def vdev(self) -> str:
        """Name of the dRAID: `draid2:8d:60c:2s-0`."""
        return f"draid{self.parity}:{self.data}d:{len(self.disks)}c:{self.spares}s-0"

    @property
    def spare(self) -> str:
        """Name of its first distributed spare."""
        return f"draid{self.parity}-0-0"

    def scanned(self, second: float) -> float:
        """Return the bytes that were looked at by then."""
        return min(self.allocated * self.started + self.rate * second, float(self.allocated))

    def files(self, second: int) -> dict[str, str]:
        """Return what a frame of that second has new of the pool: commands and kstats, by path in a capture."""
        files: dict[str, str] = {}
        if not second:
            files |= {
                f"{KSTATS}/{self.name}/state": "DEGRADED\n" if self.rebuilding else "ONLINE\n",
                _command(LIST): f"{self.name}\t{self.size}\t{self.allocated}\t{self.size - self.allocated}\t7\n",
                _command(IOSTAT): self.iostat(),
                f"{KSTATS}/zil": _kstat(
                    zil_commit_count=182_113, zil_itx_metaslab_normal_count=201_556,
                    zil_itx_metaslab_normal_bytes=9_221_447_680, zil_itx_metaslab_slog_count=0,
                    zil_itx_metaslab_slog_bytes=0,
                ),
                f"{KSTATS}/{self.name}/objset-0x36": f"{_HEAD}{'dataset_name':<31} 7    {self.name}\n"
                + _rows(writes=88_121_002, nwritten=11_550_330_183_680, reads=902_113, nread=118_241_755_136),
            }  # fmt: skip
        if not second % EVERY:
            files[_command(TEXT)] = self.status(second)
        return files

    def settings(self) -> dict[str, str]:
        """Return the files that the first frame has besides."""
        rows = {"type": "filesystem", "sync": "standard", "logbias": "latency", "compression": "lz4",
                "primarycache": "all", "recordsize": "1048576", "used": str(int(self.allocated * 0.78))}  # fmt: skip
        return {
            **{f"{PARAMETERS}/{name}": f"{value}\n" for name, value in _PARAMETERS.items()},
            "/sys/module/zfs/version": "2.1.11-1\n",
            _command(GET): "".join(f"{self.name}\t{name}\t{value}\n" for name, value in rows.items()),
        }

    def status(self, second: float) -> str:
        """Return what `zpool status -pP -s -t` prints."""
        lines = [f"  pool: {self.name}", f" state: {'DEGRADED' if self.rebuilding else 'ONLINE'}"]
        if self.rebuilding:
            done, total = self.scanned(second), self.allocated
            rate = done / (self.elapsed + second)
            left = clock((total - done) / rate)
            amounts = f"{nicenum(done)} scanned at {nicenum(rate)}/s, {nicenum(done * 0.92)} issued "
            amounts += f"{nicenum(rate * 0.92)}/s"
            lines += [
                "status: One or more devices is currently being resilvered.  The pool will",
                "\tcontinue to function, possibly in a degraded state.",
                "action: Wait for the resilver to complete.",
                f"  scan: resilver ({self.vdev}) in progress since {self.since}",
                f"\t{amounts}, {nicenum(total)} total",
                f"\t{nicenum(done / len(self.disks))} resilvered, {100 * done / total:.2f}% done, {left} to go",
            ]
        width = max(len(self.vdev) + 2, *(len(self._path(disk)) + 6 for disk in self.disks))
        lines += ["config:", "", f"\t{'NAME':<{width}}  STATE     READ WRITE CKSUM  SLOW"]
        state = "DEGRADED" if self.rebuilding else "ONLINE"
        lines += [self._row(0, self.name, state, width), self._row(2, self.vdev, state, width)]
        for place, disk in enumerate(self.disks):
            if place == self.failed and self.rebuilding:
                lines += [
                    self._row(4, f"spare-{place}", "DEGRADED", width),
                    self._row(6, self._path(disk), "FAULTED", width, "too many errors", errors=(3, 41, 0)),
                    self._row(6, self.spare, "ONLINE", width, "(resilvering)"),
                ]
            else:
                note = "(resilvering)" if self.rebuilding else ""
                lines.append(self._row(4, self._path(disk), "ONLINE", width, note))
        lines.append("\tspares")
        for number in range(self.spares):
            busy = self.rebuilding and not number
            name = f"draid{self.parity}-0-{number}"
            lines.append(f"\t  {name:<{width - 2}}  {'INUSE     currently in use' if busy else 'AVAIL   '}".rstrip())
        return "\n".join([*lines, "", "errors: No known data errors", ""])

    def iostat(self) -> str:
        """Return what `zpool iostat -v -H -p -l -q` prints: queues of a rebuild at work, means since the import."""
        whole = [self.allocated, self.size - self.allocated, 4211, 1873, 601_234_112, 88_231_936]
        waits = "\t".join(
            map(str, (24_113_000, 10_220_000, 23_950_000, 9_101_000, 21_000, 18_000, "-", 1_120_000, "-", "-"))
        )
        busy = self.rebuilding
        rows = [(self.name, whole), (self.vdev, whole)]
        rows += [(disk, [0, 0, 70, 31, 10_020_568, 1_470_532]) for disk in self.disks]
        text = ""
        for place, (name, numbers) in enumerate(rows):
            queued = (3 if place > 1 else 3 * len(self.disks)) if busy else 0
            queues = "\t".join(map(str, (0, 0, 0, 0, 0, 0, 0, queued // 3, 0, 0, 0, 0)))
            text += f"{name}\t" + "\t".join(map(str, numbers)) + f"\t{waits}\t{queues}\n"
        return text

    def _path(self, disk: str) -> str:
        return self.links.get(disk, f"/dev/{disk}{self.partition}")

    def _row(
        self, depth: int, name: str, state: str, width: int, note: str = "", errors: tuple[int, int, int] = (0, 0, 0)
    ) -> str:
        counts = " ".join(f"{number:5}" for number in errors)
        return f"\t{' ' * depth}{name:<{width - depth}}  {state:<8} {counts} {0:5}{'  ' + note if note else ''}"


def _command(argv: tuple[str, ...]) -> str:
    return f"commands/{slug(' '.join(argv))}/stdout"


_HEAD = f"22 1 0x01 7 2160 96394609890 163258348824\n{'name':<31} type data\n"


def _rows(**numbers: int) -> str:
    return "".join(f"{name:<31} 4    {value}\n" for name, value in numbers.items())


def _kstat(**numbers: int) -> str:
    return _HEAD + _rows(**numbers)
