"""Stories of things that fail alone, without peers to compare them with, and of a node on which all of them work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tests.arrays import ArraySpec, Random, simulate
from tests.arrays.spec import GIB, KIB, Level
from tests.nodes.system import Shape
from tests.stories.clusters import Watched
from tests.stories.disks import Shelf
from tests.stories.interfaces import LOOPBACK, OFFICE, Nic
from tests.stories.rows import Rows, rows
from tests.stories.scene import Part, Scene, Stories
from tests.stories.told import moved

_STARTED = 1_797_400_000.0
_SECONDS = 75
_AT = 15
_PLACES = {"sdb": "8:16", "sdc": "8:32", "sdd": "8:48", "nvme1n1": "259:8"}
_PCI = "../devices/pci0000:00/0000:00:17.0/ata{n}/host{n}/target{n}:0:0/{n}:0:0:0/block/{name}"
_LINKS = {f"/sys/block/{name}": _PCI.format(n=n, name=name) for n, name in enumerate(("sdb", "sdc", "sdd"), 2)} | {
    "/sys/block/nvme1n1": "../devices/pci0000:64/0000:64:00.0/0000:65:00.0/nvme/nvme1/nvme1n1"
}
_SLAVE = "/sys/block/dm-0/slaves/sdc"
"""Link that the kernel keeps while the mapping is there, even without the disk."""


def _disk(name: str, model: str = "ST8000NM0055-1RM", size: int = 15_628_053_168) -> dict[str, str]:
    """Return the files of a disk."""
    base = f"/sys/devices{_LINKS[f'/sys/block/{name}'].removeprefix('../devices')}"
    flash = name.startswith("nvme")
    return {
        f"{base}/dev": f"{_PLACES[name]}\n",
        f"{base}/size": f"{size}\n",
        f"{base}/ro": "0\n",
        f"{base}/queue/rotational": f"{int(not flash)}\n",
        f"{base}/queue/iostats": "1\n",
        f"{base}/queue/logical_block_size": "512\n",
        f"{base}/device/model": f"{model}\n",
        f"{base}/device/state": f"{'live' if flash else 'running'}\n",
    }


def _rows(found: Mapping[str, Sequence[int]]) -> str:
    """Return lines of /proc/diskstats."""
    numbers = {"dm-0": "253:0", "md0": "9:0"} | _PLACES
    lines = []
    for name, counters in found.items():
        major, minor = numbers[name].split(":")
        lines.append(f"{major:>4} {minor:>7} {name} {' '.join(map(str, counters))}\n")
    return "".join(lines)


def _gone(name: str, *others: str) -> str:
    """Return the outcomes of a frame in which a disk is gone, and other files are not there."""
    absent = {"outcome": "absent", "detail": "no such file"}
    return json.dumps(dict.fromkeys(sorted({*_disk(name), f"link:/sys/block/{name}", *others}), absent)) + "\n"


def _story(host: str, more: Callable[[int], Mapping[str, str]], names: Sequence[str], **shape: float) -> Watched:
    links = {path: target for path, target in _LINKS.items() if path.rpartition("/")[2] in names}
    links |= {_SLAVE: "../../sdc"} if "dm-0" in names else {}
    return Watched(Shape(host, cpus=8, **shape), 1, _SECONDS + 1, more, links)  # type: ignore[arg-type]


# --- a network link ------------------------------------------------------------------------------------------


def _flapping(failed_before: int, every: int) -> Scene:
    """Let a link fail every so many seconds, for a second each time: the next sample sees it up."""
    nics = (LOOPBACK, OFFICE, Nic("ens2f0", 3, mtu=9000, speed=10000, rates=(40e6, 90e6), size=7000, driver="ice"))
    extra = {
        second: {"/sys/class/net/ens2f0/carrier_changes": f"{2 * (failed_before + (second + every - 25) // every)}\n"}
        for second in range(0, _SECONDS + 1, 5)
    }
    return Scene(Shape("nas7", uptime=260_000.0), _STARTED, _SECONDS, nics=nics, extra=extra)


# --- disks ---------------------------------------------------------------------------------------------------


def _loaded(second: float, *, writes: float = 40.0) -> list[int]:
    return moved(second, reads=60, read=60 * 16384, read_wait=0.006, writes=writes, written=writes * 16384,
                 write_wait=0.004, busy=0.42)  # fmt: skip


def _half_hung(second: int) -> dict[str, str]:
    """Let the writes of sdb wait from a second on while its reads go on."""
    now = _loaded(second)
    if second >= _AT:
        now[4:8] = _loaded(_AT)[4:8]
        now[8] = min(32, 4 + second - _AT)
    files = {"/proc/diskstats": _rows({"sdb": now})}
    return files if second else files | _disk("sdb") | {"/proc/mounts": "/dev/sdb /srv/spool xfs rw,noatime 0 0\n"}


_MOUNTS = "/dev/nvme0n1p2 / ext4 rw,relatime 0 0\n/dev/sdd /srv/archive xfs rw,noatime 0 0\n"


def _unplugged(second: int) -> dict[str, str]:
    """Let sdd vanish below its file system; the log has the rest."""
    there = second < _AT
    found = {"sdb": _loaded(second, writes=2.0)} | ({"sdd": _loaded(second)} if there else {})
    files = {"/proc/diskstats": _rows(found)}
    if not second:
        files |= _disk("sdb") | _disk("sdd") | {"/proc/mounts": _MOUNTS}
    return files if there else files | {"outcomes.json": _gone("sdd", "/proc/mdstat")}


_SLOW_NVME = "INTEL SSDPE21K375GA"


def _slow_nvme(second: int) -> dict[str, str]:
    """Let an Optane drive, the only one of its kind, need 200 ms for each of eight requests at a time."""
    now = moved(second, reads=30, read=30 * 4096, read_wait=0.2, writes=10, written=10 * 4096, write_wait=0.2, busy=1.0)
    now[8] = 8
    files = {"/proc/diskstats": _rows({"nvme1n1": now})}
    return files if second else files | _disk("nvme1n1", _SLOW_NVME, 732_585_168)


def _slow_disk(second: int) -> dict[str, str]:
    """Let a disk, the only one of its kind, need 320 ms for each request."""
    now = moved(second, reads=2, read=2 * 4096, read_wait=0.9, writes=1.1, written=1.1 * 4096, write_wait=1.1, busy=1.0)
    now[8] = 3
    files = {"/proc/diskstats": _rows({"sdb": now})}
    return files if second else files | _disk("sdb")


_MAPPING = {
    "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/size": "15628050000\n", "/sys/block/dm-0/dm/name": "vg0-media\n",
    "/sys/block/dm-0/dm/uuid": "LVM-k9WQk5TjoHfNDXA1Zyd9Uhp0S6cBxRe2\n", "/sys/block/dm-0/dm/suspended": "0\n",
}  # fmt: skip


def _below_mapping(second: int) -> dict[str, str]:
    """Let sdc vanish below a logical volume."""
    there = second < _AT
    now = _loaded(min(second, _AT))
    found = {"sdb": _loaded(second, writes=2.0), "dm-0": now} | ({"sdc": now} if there else {})
    files = {"/proc/diskstats": _rows(found)}
    if not second:
        files |= _disk("sdb") | _disk("sdc") | _MAPPING
    return files if there else files | {"outcomes.json": _gone("sdc", "/proc/mdstat")}


_MD = """Personalities : [raid1]
md0 : active raid1 sdc[1] sdb[0]
      7813894464 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
_ARRAY = {
    f"/sys/block/md0/md/{name}": f"{said}\n"
    for name, said in {
        "level": "raid1", "raid_disks": "2", "array_state": "clean", "degraded": "0", "sync_action": "idle",
        "mismatch_cnt": "0", "dev-sdb/state": "in_sync", "dev-sdb/slot": "0", "dev-sdb/errors": "0",
        "dev-sdc/state": "in_sync", "dev-sdc/slot": "1", "dev-sdc/errors": "0",
    }.items()
}  # fmt: skip


def _of_mirror(second: int) -> dict[str, str]:
    """Let a member of an idle mirror vanish: md notices with the next write to it."""
    there = second < _AT
    now = _loaded(min(second, _AT), writes=0.0)
    found = {"sdb": _loaded(second, writes=0.0), "md0": now} | ({"sdc": now} if there else {})
    files = {"/proc/diskstats": _rows(found), "/proc/mdstat": _MD, "outcomes.json": "{}\n"}
    if not second:
        files |= _disk("sdb") | _disk("sdc") | _ARRAY | {"/sys/block/md0/dev": "9:0\n"}
    return files if there else files | {"outcomes.json": _gone("sdc")}


def _in_order(second: int) -> dict[str, str]:
    """Show all of these devices at work: near the thresholds, and after a disk was unmounted and removed."""
    there = second < _AT
    held = second - second % 9  # writes complete every nine seconds
    busy = _loaded(second)
    busy[4:8] = _loaded(held)[4:8]
    busy[8] = 4 + second % 9
    nvme = moved(second, reads=300, read=300 * 4096, read_wait=0.024, writes=60, written=60 * 4096, write_wait=0.02,
                 busy=1.0)  # fmt: skip
    nvme[8] = 8
    found = {"sdb": busy, "nvme1n1": nvme, "dm-0": _loaded(second), "sdc": _loaded(second)}
    found |= {"sdd": _loaded(min(second, 6))} if there else {}
    mounts = _MOUNTS if second < 2 else _MOUNTS.replace("/dev/sdd /srv/archive xfs rw,noatime 0 0\n", "")
    files = {"/proc/diskstats": _rows(found), "/proc/mounts": mounts}
    if not second:
        files |= _disk("sdb") | _disk("sdc") | _disk("sdd") | _disk("nvme1n1", _SLOW_NVME, 732_585_168) | _MAPPING
    return files if there else files | {"outcomes.json": _gone("sdd", "/proc/mdstat")}


# --- arrays ---------------------------------------------------------------------------------------------------


def _spec(*slow: tuple[int, float], rate: float, disks: int = 8) -> ArraySpec:
    load = Random(rate=rate, writes=0.6)
    return ArraySpec(Level.RAID6, disks=disks, chunk=512 * KIB, member_size=3726 * GIB, random=load, slow=slow)


def _half_slow() -> Scene:
    """Let three of six disks, those of one backplane, take nearly four times as long as the others."""
    shape = Shape("vault6", iowait=0.3, load=7.0, stalled=0.6)
    return Scene(
        shape, _STARTED, 60, [Part.simulated(Shelf(_spec(*((n, 3.8) for n in range(3)), rate=12.0, disks=6)), 11, 60)]
    )


def _relapsing() -> Scene:
    """Let one disk be slow for one second of every eight."""
    good, bad = (list(simulate(spec, 23, _SECONDS)) for spec in (_spec(rate=24.0), _spec((5, 8.0), rate=24.0)))
    shelf = Shelf(_spec(rate=24.0))
    healthy, sick = ([shelf.rows(rows(frame)) for frame in frames] for frames in (good, bad))
    part = Part.of(shelf, good)
    part.rows = healthy[:1]
    for second in range(1, _SECONDS + 1):
        source = sick if second % 8 == 3 else healthy
        part.rows.append(_later(part.rows[-1], source[second - 1], source[second]))
    return Scene(Shape("vault8", iowait=0.2, load=4.0, stalled=0.4), _STARTED, _SECONDS, [part])


_GAUGE = 8
"""Column of the requests in flight."""


def _later(now: Rows, before: Rows, after: Rows) -> Rows:
    """Return counters that grow as those of another simulation did."""
    return {
        name: [
            after[name][at] if at == _GAUGE else count + after[name][at] - before[name][at]
            for at, count in enumerate(counts)
        ]
        for name, counts in now.items()
    }


STORIES: Stories = {
    "link-flapping": lambda: _flapping(4_200, 40),
    "link-failed-once": lambda: _flapping(3, 500),
    "writes-hung": lambda: _story("spool3", _half_hung, ["sdb"], iowait=0.3, load=9.0, stalled=0.5),
    "disk-gone-mounted": lambda: _story("keep2", _unplugged, ["sdb", "sdd"]),
    "nvme-alone-slow": lambda: _story("db8", _slow_nvme, ["nvme1n1"], iowait=0.2, load=8.0, stalled=0.3),
    "disk-alone-slow": lambda: _story("logs4", _slow_disk, ["sdb"], iowait=0.2, load=3.0, stalled=0.3),
    "disk-gone-mapped": lambda: _story("media5", _below_mapping, ["sdb", "sdc", "dm-0"]),
    "disk-gone-mirrored": lambda: _story("mail6", _of_mirror, ["sdb", "sdc"]),
    "devices-alone-healthy": lambda: _story("keep3", _in_order, ["sdb", "sdc", "sdd", "nvme1n1", "dm-0"]),
    "half-slow": _half_slow,
    "relapsing-member": _relapsing,
}
