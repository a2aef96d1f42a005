"""Nodes whose devices belong to one peer group, as evidence: RAID1, raidz, LVM stripes, multipath, like disks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.devicemapper.mapper import MAPPER
from sdstop.collectors.devicemapper.raids import MAPPED_RAIDS
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.zfs.pools import ZFS
from sdstop.core.evidence import command_key
from tests.nodes import zfs
from tests.rules.stripes import Files, Load

COLLECTORS = (DISKSTATS, BLOCKDEV, MDRAID, MDMEMBERS, MAPPER, MAPPED_RAIDS, ZFS)

DISKS = ("sdb", "sdc", "sdd", "sde", "sdf", "sdg")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Loads = Callable[[str, int], Load]
"""Device and second to its load."""


def number(name: str) -> str:
    """Return major and minor of a disk, a partition or a device mapper device."""
    if name.startswith("dm-"):
        return f"253:{name[3:]}"
    return f"8:{16 * _LETTERS.index(name[2]) + int(name[3:] or 0)}"


def disks(names: Sequence[str], *, rotational: int = 1, model: str = "ST4000NM", partitions: bool = False) -> Files:
    """Return sysfs of SCSI disks of one model; with `partitions`, each has two."""
    found: Files = {}
    for name in names:
        folder = f"/sys/block/{name}"
        found |= {f"{folder}/dev": f"{number(name)}\n", f"{folder}/queue/rotational": f"{rotational}\n",
                  f"{folder}/device/model": f"{model}\n", f"{folder}/size": "7814037168\n",
                  f"link:{folder}/device": f"../../../{_LETTERS.index(name[2])}:0:0:0"}  # fmt: skip
        for part in (1, 2) if partitions else ():
            found |= {f"{folder}/{name}{part}/partition": f"{part}\n",
                      f"{folder}/{name}{part}/dev": f"{number(f'{name}{part}')}\n",
                      f"{folder}/{name}{part}/start": "2048\n", f"{folder}/{name}{part}/size": "8192\n"}  # fmt: skip
    return found


def raid1(names: Sequence[str]) -> Files:
    """Return what md shows of a mirror of these members."""
    members = " ".join(f"{name}[{slot}]" for slot, name in reversed(list(enumerate(names))))
    text = (
        f"md1 : active raid1 {members}\n      1000 blocks super 1.2 [{len(names)}/{len(names)}] [{'U' * len(names)}]\n"
    )
    found = {"/proc/mdstat": f"Personalities : [raid1] \n{text}      \nunused devices: <none>\n"}
    base = "/sys/block/md1/md"
    found |= {f"{base}/level": "raid1\n", f"{base}/raid_disks": f"{len(names)}\n", f"{base}/sync_action": "idle\n"}
    for slot, name in enumerate(names):
        found |= {f"{base}/dev-{name}/slot": f"{slot}\n", f"{base}/dev-{name}/state": "in_sync\n"}
    return found


def pool(names: Sequence[str], layout: str = "raidz2-0") -> Files:
    """Return what ZFS shows of a pool with one vdev of these disks."""
    leaves = [(2, f"/dev/{name}", "ONLINE") for name in names]
    return zfs.node(zfs.status(zfs.tree((1, layout, "ONLINE"), *leaves)))


def mapping(names: Sequence[str], target: str = "striped") -> Files:
    """Return what device mapper shows of an LVM stripe, or a multipath map, over these disks."""
    parts = " ".join(f"{number(name)} 0" for name in names)
    args = {"striped": f"striped {len(names)} 128 {parts}",
            "multipath": f"multipath 0 0 1 1 service-time 0 {len(names)} 1 "
            + " ".join(f"{number(name)} 1" for name in names)}[target]  # fmt: skip
    name, uuid = ("vg0-data", "LVM-abc") if target == "striped" else ("mpatha", "mpath-3600")
    found = {command_key(TABLE): f"{name}: 0 1000000 {args}\n", command_key(INFO): f"{name}:253:0:L--w:1:1:0:{uuid}\n",
             "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/name": f"{name}\n",
             "/sys/block/dm-0/dm/uuid": f"{uuid}\n", "/sys/block/dm-0/queue/iostats": "0\n"}  # fmt: skip
    return found | {f"link:/sys/block/dm-0/slaves/{disk}": f"../../{disk}" for disk in names}


FIRST_IMAGE = 10
"""Number of the device mapper device of a raid volume's first image."""


def images(names: Sequence[str]) -> Files:
    """Return what sysfs shows of a raid volume of LVM (vg0-data, dm-0) with an image, and metadata, on each disk."""
    parts = {"dm-0": ("vg0-data", "")}
    for place, disk in enumerate(names):
        parts[f"dm-{FIRST_IMAGE + place}"] = (f"vg0-data_rimage_{place}", disk)
        parts[f"dm-{2 * FIRST_IMAGE + place}"] = (f"vg0-data_rmeta_{place}", disk)
    found: Files = {}
    for place, (device, (name, disk)) in enumerate(parts.items()):
        base = f"/sys/block/{device}"
        found |= {f"{base}/dev": f"253:{device[3:]}\n", f"{base}/dm/name": f"{name}\n", f"{base}/size": "7814037168\n",
                  f"{base}/dm/uuid": f"LVM-{'v' * 32}{place:032}\n"}  # fmt: skip
        below = [disk] if disk else [part for part, (known, _) in parts.items() if known != "vg0-data"]
        found |= {f"link:{base}/slaves/{each}": f"../../{each}" for each in below}
    return found


def shown(
    structure: Files, names: Sequence[str], load: Loads, *, seconds: int = 40, interval: float = 1.0
) -> list[tuple[float, Files]]:
    """Make frames of devices that have their loads each second; waits and queues are in ms and by Little's law."""
    totals = {name: [0.0] * 8 for name in names}
    found = []
    for second in range(seconds + 1):
        rows = []
        for name, now in totals.items():
            does = load(name, second)
            if second:
                read_wait = does.wait if does.read_wait is None else does.read_wait
                waited = does.reads * read_wait + does.writes * does.wait
                steps = (does.reads, does.reads * 16, does.reads * read_wait, does.writes, does.writes * 16,
                         does.writes * does.wait, does.busy * 1000,
                         waited if does.queue is None else does.queue * 1000)  # fmt: skip
                for index, step in enumerate(steps):
                    now[index] += step * interval
            n = [round(value) for value in now]
            major, minor = number(name).split(":")
            rows.append(
                f"{major:>4} {minor:>7} {name} {n[0]} 0 {n[1]} {n[2]} {n[3]} 0 {n[4]} {n[5]} {does.in_flight} "
                f"{n[6]} {n[7]} 0 0 0 0 0 0\n"
            )
        found.append((second * interval, {**structure, "/proc/diskstats": "".join(rows)}))
    return found


GROUPS: Mapping[str, Callable[[Sequence[str]], Files]] = {
    "mirror of md": raid1,
    "raidz2": pool,
    "dRAID": lambda names: pool(names, f"draid1:{len(names) - 1}d:{len(names)}c:0s-0"),
    "ZFS mirror": lambda names: pool(names, "mirror-0"),
    "LVM stripe": mapping,
    "multipath": lambda names: mapping(names, "multipath"),
    "like disks": lambda _: {},
}
"""Kinds of groups that these disks may form; all of them also get sysfs of the disks."""

STACKED: Mapping[str, Callable[[Sequence[str]], Files]] = {"LVM raid": images}
"""The same of groups whose members are devices on these disks, with counters of their own."""
