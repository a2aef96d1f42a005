"""A storage node of N disks as a tree of files: what sdstop's --root reads, and what peers are shown as /proc and /sys.

    python bench/tree.py build DIR --disks 1000
    python bench/tree.py build DIR --disks 400 --members 2
    python bench/tree.py build DIR --disks 10 --maps 300      # multipath maps of four paths each, beside the disks
    python bench/tree.py advance DIR            # counters move once a second, until interrupted
    python bench/tree.py advance DIR --independent

SCSI disks behind an HBA for every 250 of them, raid10 arrays of 46 (the first one rebuilds), a dm device for every
four disks, a bond of two interfaces. It is complete, every queue attribute and udev record included: some peers give
up early on a device that lacks one, and then look cheap. Every counter of every disk moves, which is the worst case.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

MEMBERS = 46
"""Disks of an array."""
PER_HBA = 250
PATHS = 4
"""Paths of a multipath map."""
DISKSTATS = "proc/diskstats"
MDSTAT = "proc/mdstat"
NET_DEV = "proc/net/dev"

_QUEUE: Mapping[str, object] = {
    "add_random": 0, "atomic_write_boundary_bytes": 0, "atomic_write_max_bytes": 0, "atomic_write_unit_max_bytes": 0,
    "atomic_write_unit_min_bytes": 0, "chunk_sectors": 0, "dax": 0, "discard_granularity": 0, "discard_max_bytes": 0,
    "discard_max_hw_bytes": 0, "discard_zeroes_data": 0, "dma_alignment": 511, "fua": 0, "hw_sector_size": 512,
    "io_poll": 0, "io_poll_delay": -1, "io_timeout": 30000, "iostats": 1, "iostats_passthrough": 0,
    "logical_block_size": 512, "max_discard_segments": 1, "max_hw_sectors_kb": 32767, "max_integrity_segments": 0,
    "max_sectors_kb": 1280, "max_segment_size": 65536, "max_segments": 168, "max_write_streams": 0,
    "minimum_io_size": 4096, "nomerges": 0, "nr_requests": 256, "nr_zones": 0, "optimal_io_size": 0,
    "physical_block_size": 4096, "read_ahead_kb": 128, "rotational": 1, "rq_affinity": 1,
    "scheduler": "none [mq-deadline]", "stable_writes": 0, "virt_boundary_mask": 0, "wbt_lat_usec": 75000,
    "write_cache": "write back", "write_same_max_bytes": 0, "write_stream_granularity": 0, "write_zeroes_max_bytes": 0,
    "write_zeroes_unmap_max_bytes": 0, "write_zeroes_unmap_max_hw_bytes": 0, "zone_append_max_bytes": 0,
    "zone_write_granularity": 0, "zoned": "none",
}  # fmt: skip
_SCSI: Mapping[str, object] = {
    "vendor": "SEAGATE", "model": "ST8000NM0075", "rev": "E002", "state": "running", "timeout": 30, "queue_depth": 254,
    "iorequest_cnt": "0x1000", "iodone_cnt": "0x1000", "ioerr_cnt": "0x0", "type": 0, "queue_type": "simple",
}  # fmt: skip
_STATISTICS = (
    "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors",
    "tx_errors", "rx_dropped", "tx_dropped", "multicast", "collisions",
    "rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors",
    "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors",
    "tx_window_errors", "rx_compressed", "tx_compressed", "rx_nohandler",
)  # fmt: skip
_INTERFACES: Mapping[str, int] = {"lo": 65536, "ens1f0": 9000, "ens1f1": 9000, "ens2f0": 1500, "bond0": 9000}
_COPIED = (
    "stat", "meminfo", "vmstat", "loadavg", "uptime",
    "version", "cpuinfo", "filesystems", "swaps", "interrupts",
    "softirqs", "schedstat", "net/netstat", "net/snmp", "net/sockstat",
    "net/softnet_stat", "net/route", "pressure/io", "pressure/cpu", "pressure/memory",
    "sys/kernel/hostname", "sys/kernel/osrelease", "sys/fs/file-nr",
)  # fmt: skip
"""What has nothing to do with disks is as it is on this machine."""

_SIZE = 15_628_053_168
_START = 1_000_000_000


def disk_name(index: int) -> str:
    """Return the kernel's name of the index-th SCSI disk: sda, sdz, sdaa."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return f"sd{letters}"


def disk_number(index: int) -> tuple[int, int]:
    """Return major and minor: 16 majors of 16 disks, then further minors of the same majors (drivers/scsi/sd.c)."""
    majors = (8, *range(65, 72), *range(128, 136))
    return majors[index % 256 // 16], index % 16 * 16 + index // 256 * 256


@dataclass(slots=True)
class _Builder:
    """Writes the files. Contents that many files share are one file with many names."""

    root: Path
    rows: list[str] = field(default_factory=list)
    _shared: dict[str, str] = field(default_factory=dict)
    _random: Random = field(default_factory=lambda: Random(42))

    def write(self, path: str, value: object) -> None:
        """Write an attribute that never changes."""
        place, text = f"{self.root}/{path}", f"{value}\n"
        known = self._shared.get(text)
        if known is not None:
            try:
                self._linked(known, place)
            except OSError as error:
                if error.errno != errno.EMLINK:
                    raise
            else:
                return
        self._shared[text] = place
        self.file(path, text)

    def _linked(self, known: str, place: str) -> None:
        try:
            os.link(known, place)
        except FileNotFoundError:
            Path(place).parent.mkdir(parents=True)
            os.link(known, place)

    def file(self, path: str, text: str) -> None:
        """Write a file of its own."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def link(self, path: str, target: str) -> None:
        """Make a relative link from one place in the tree to another."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(target, Path(path).parent))

    def attributes(self, folder: str, values: Mapping[str, object]) -> None:
        """Write a folder of attributes."""
        for name, value in values.items():
            self.write(f"{folder}/{name}", value)

    def device(self, name: str, number: tuple[int, int], parent: str) -> str:
        """Write a whole block device and return its folder."""
        folder = f"sys/devices/{parent}/block/{name}"
        sequence = len(self.rows) + 1
        dev = f"{number[0]}:{number[1]}"
        self.attributes(folder, {
            "size": _SIZE, "ro": 0, "removable": 0, "range": 16, "ext_range": 256, "hidden": 0, "dev": dev,
            "alignment_offset": 0, "discard_alignment": 0, "capability": 0, "events": "", "diskseq": sequence,
            "inflight": "       0        0",
            "uevent": f"MAJOR={number[0]}\nMINOR={number[1]}\nDEVNAME={name}\nDEVTYPE=disk\nDISKSEQ={sequence}",
        })  # fmt: skip
        self.attributes(f"{folder}/queue", _QUEUE)
        for empty in ("holders", "slaves"):
            (self.root / folder / empty).mkdir()
        for place in (f"sys/block/{name}", f"sys/class/block/{name}", f"sys/dev/block/{dev}"):
            self.link(place, folder)
        self.file(f"run/udev/data/b{dev}", _udev(sequence))
        counters = [_START + self._random.randrange(_START) for _ in range(17)]
        counters[8] = 0  # in flight
        stat = " ".join(map(str, counters))
        self.file(f"{folder}/stat", f"{stat}\n")
        self.rows.append(f"{number[0]:4d} {number[1]:7d} {name} {stat}")
        return folder


def _udev(sequence: int) -> str:
    wwn = f"5000c500{sequence:08x}"
    return (
        f"S:disk/by-id/wwn-0x{wwn}\nS:disk/by-path/pci-0000:03:00.0-sas-phy{sequence}-lun-0\nW:{sequence}\nI:1000000\n"
        f"E:ID_BUS=scsi\nE:ID_MODEL=ST8000NM0075\nE:ID_REVISION=E002\nE:ID_SERIAL=3{wwn}\nE:ID_SERIAL_SHORT={wwn}\n"
        f"E:ID_WWN=0x{wwn}\nE:ID_PATH=pci-0000:03:00.0-sas-phy{sequence}-lun-0\nG:systemd\n"
    )


def build(root: Path, disks: int, members: int = MEMBERS, maps: int = 0) -> None:
    """Write the tree of a node with arrays of so many members and multipath maps, into a folder that is not there."""
    root.mkdir(parents=True)
    tree = _Builder(root)
    _copy(tree)
    folders = [_disk(tree, index) for index in range(disks)]
    sizes = [members] * (disks // members) or ([disks // 2 * 2] if disks >= 4 else [])
    status = ["Personalities : [raid10] \n"]
    for number, size in enumerate(sizes):
        start = number * members
        status.append(_array(tree, number, start, folders[start : start + size]))
    status.append("unused devices: <none>\n")
    for number in range(disks // 4):
        folder = tree.device(f"dm-{number}", (253, number), "virtual")
        tree.attributes(f"{folder}/dm", {"name": f"vg0-vol{number}", "uuid": f"LVM-{number:064d}", "suspended": 0})
        _built_upon(tree, folder, f"dm-{number}", [folders[number]], [disk_name(number)])
    for number in range(maps):
        _map(tree, number, disks + PATHS * number, disks // 4 + number)
    _network(tree)
    tree.file(MDSTAT, "".join(status))
    tree.file(DISKSTATS, "".join(f"{row}\n" for row in tree.rows))


def _copy(tree: _Builder) -> None:
    for name in _COPIED:
        with contextlib.suppress(OSError):  # not every kernel has it
            tree.file(f"proc/{name}", Path("/proc", name).read_text(encoding="utf-8", errors="replace"))
    for top in ("cpu", "node"):  # peers ask for the processors
        for folder, folders, files in os.walk(f"/sys/devices/system/{top}"):
            folders[:] = [name for name in folders if not Path(folder, name).is_symlink()]
            for name in files:
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    tree.file(f"{folder[1:]}/{name}", Path(folder, name).read_text(encoding="ascii"))
    for folder in ("sys/fs/cgroup", "sys/class/hwmon", "sys/class/thermal", "sys/class/power_supply", "sys/module"):
        (tree.root / folder).mkdir(parents=True)


def _disk(tree: _Builder, index: int) -> str:
    hba, bay = divmod(index, PER_HBA)
    enclosure, slot = divmod(bay, 24)
    port = f"pci{hba:04x}:00/{hba:04x}:00:01.0/host{hba}/port-{hba}:0/expander-{hba}:{enclosure}/port-{hba}:{slot}"
    target = f"{port}/end_device-{hba}:{enclosure}:{slot}/target{hba}:0:{bay}/{hba}:0:{bay}:0"
    name = disk_name(index)
    folder = tree.device(name, disk_number(index), target)
    tree.attributes(f"sys/devices/{target}", {**_SCSI, "wwid": f"naa.5000c500{index:08x}"})
    tree.link(f"sys/devices/{target}/driver", "sys/bus/scsi/drivers/sd")
    tree.link(f"{folder}/device", f"sys/devices/{target}")
    return folder


def _map(tree: _Builder, number: int, first: int, minor: int) -> None:
    """Write a multipath map of PATHS Fibre Channel paths, two by each of two adapters."""
    names, folders = [], []
    wwid = f"3600a0980{number:024x}"
    for path in range(PATHS):
        host, port, name = 900 + path // 2, path % 2, disk_name(first + path)
        target = f"pci0000:80/0000:80:0{1 + path // 2}.0/host{host}/rport-{host}:0-{port}/target{host}:0:{port}"
        scsi = f"{target}/{host}:0:{port}:{number}"
        folder = tree.device(name, disk_number(first + path), scsi)
        tree.attributes(f"sys/devices/{scsi}", {**_SCSI, "vendor": "NETAPP", "model": "LUN", "wwid": f"naa.{wwid[1:]}"})
        tree.link(f"sys/devices/{scsi}/driver", "sys/bus/scsi/drivers/sd")
        tree.link(f"{folder}/device", f"sys/devices/{scsi}")
        names.append(name)
        folders.append(folder)
    folder = tree.device(f"dm-{minor}", (253, minor), "virtual")
    tree.attributes(f"{folder}/dm", {"name": f"mpath{number}", "uuid": f"mpath-{wwid}", "suspended": 0})
    _built_upon(tree, folder, f"dm-{minor}", folders, names)


def dmsetup(disks: int, maps: int, *, table: bool) -> str:
    """Return what `dmsetup table --target multipath` prints for the maps of a tree, or `dmsetup status`."""
    lines = []
    for number in range(maps):
        devices = ["{}:{}".format(*disk_number(disks + PATHS * number + path)) for path in range(PATHS)]
        if table:
            paths = " ".join(f"{device} 1 1" for device in devices)
            told = f"1 queue_if_no_path 1 alua 1 1 service-time 0 {PATHS} 2 {paths}"
        else:
            paths = " ".join(f"{device} A 0 0 1" for device in devices)
            told = f"2 0 1 0 1 1 A 0 {PATHS} 2 {paths}"
        lines.append(f"mpath{number}: 0 {_SIZE} multipath {told}\n")
    return "".join(lines)


def _array(tree: _Builder, number: int, start: int, below: Sequence[str]) -> str:
    """Write a raid10 and return its lines of mdstat; the first array rebuilds a member."""
    name, count, rebuilds = f"md{number}", len(below), number == 0
    folder = tree.device(name, (9, number), "virtual")
    names = [disk_name(start + slot) for slot in range(count)]
    tree.attributes(f"{folder}/md", {
        "level": "raid10", "raid_disks": count, "chunk_size": 524288, "layout": 258, "array_state": "active",
        "degraded": int(rebuilds), "sync_action": "recover" if rebuilds else "idle", "last_sync_action": "check",
        "sync_completed": f"100000000 / {_SIZE}" if rebuilds else "none", "sync_max": "max", "mismatch_cnt": 0,
        "sync_speed": 120000 if rebuilds else "none", "sync_speed_min": "1000 (system)",
        "sync_speed_max": "200000 (system)", "metadata_version": "1.2", "consistency_policy": "bitmap",
        "component_size": _SIZE // 2, "suspend_lo": 0, "suspend_hi": 0, "reshape_position": "none",
    })  # fmt: skip
    for slot, member in enumerate(names):
        state = "spare" if rebuilds and slot == 0 else "in_sync"
        recovered = 100_000_000 if state == "spare" else "none"
        tree.attributes(f"{folder}/md/dev-{member}", {
            "state": state, "slot": slot, "errors": 0, "size": (_SIZE - 264192) // 2, "offset": 264192,
            "recovery_start": recovered, "bad_blocks": "", "unacknowledged_bad_blocks": "",
        })  # fmt: skip
        tree.link(f"{folder}/md/dev-{member}/block", below[slot])
        tree.link(f"{folder}/md/rd{slot}", f"{folder}/md/dev-{member}")
    _built_upon(tree, folder, name, below, names)
    devices = " ".join(f"{member}[{slot}]" for slot, member in enumerate(names))
    working, slots = (count - 1, "_" + "U" * (count - 1)) if rebuilds else (count, "U" * count)
    progress = "      [>....................]  recovery =  0.6% ({}/{}) finish=1080.0min speed=120000K/sec\n"
    return (
        f"{name} : active raid10 {devices}\n      {count // 2 * (_SIZE // 2)} blocks super 1.2 512K chunks "
        f"2 near-copies [{count}/{working}] [{slots}]\n"
        + (progress.format(50_000_000, _SIZE // 2) if rebuilds else "")
        + "      bitmap: 0/117 pages [0KB], 65536KB chunk\n\n"
    )


def _built_upon(tree: _Builder, folder: str, name: str, below: Sequence[str], names: Sequence[str]) -> None:
    for lower, member in zip(below, names, strict=True):
        tree.link(f"{folder}/slaves/{member}", lower)
        tree.link(f"{lower}/holders/{name}", folder)


def _network(tree: _Builder) -> None:
    head = ["Inter-|   Receive                                                |  Transmit\n"]
    head.append(
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls"
    )
    lines = [*head, " carrier compressed\n"]
    for index, (name, mtu) in enumerate(_INTERFACES.items(), start=1):
        folder = f"sys/devices/virtual/net/{name}"
        tree.attributes(folder, {
            "mtu": mtu, "operstate": "up", "speed": 25000, "address": f"02:00:00:00:00:{index:02x}", "carrier": 1,
            "duplex": "full", "ifindex": index, "type": 772 if name == "lo" else 1, "flags": "0x1003",
            "tx_queue_len": 1000, "addr_assign_type": 0, "addr_len": 6, "broadcast": "ff:ff:ff:ff:ff:ff",
            "carrier_changes": 2, "dev_id": "0x0", "dormant": 0, "iflink": index, "link_mode": 0, "netdev_group": 0,
        })  # fmt: skip
        tree.attributes(f"{folder}/statistics", dict.fromkeys(_STATISTICS, 0))
        tree.link(f"sys/class/net/{name}", folder)
        row = f"{_START} {_START} 0 0 0 0 0 0 {_START} {_START} 0 0 0 0 0 0"
        lines.append(f"{name:>6}: {row}\n")
    tree.file(NET_DEV, "".join(lines))


class Counters:
    """Moves a tree's counters. Files keep inode and length, so whoever has them open or bound sees the new figures."""

    def __init__(self, root: Path, *, independent: bool = False, idle: float = 0.0) -> None:
        """Take the counters as they stand; each of those that are `independent` moves by a number of its own.

        Of the devices, `idle` is the share that does nothing.
        """
        rows = [line.split() for line in (root / DISKSTATS).read_text().splitlines()]
        self._rows = [(f"{row[0]:>4} {row[1]:>7} {row[2]}", [int(word) for word in row[3:]]) for row in rows]
        self._net = (root / NET_DEV).read_text()
        self._mdstat = (root / MDSTAT).read_text()
        self._ticks = 0
        self._random = Random(1)
        self._independent = independent
        self._busy_each = max(round(1 / (1 - idle)), 1)
        self._files = {name: os.open(root / name, os.O_RDWR) for name in (DISKSTATS, NET_DEV, MDSTAT)}

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._files.values():
            os.close(descriptor)

    def advance(self) -> None:
        """Let a second pass: every device serves about a hundred requests; a member of each fourth array ten times."""
        self._ticks += 1
        for index, (_, counters) in enumerate(self._rows):
            if index % self._busy_each:
                continue
            hot = index % (4 * MEMBERS) == MEMBERS + 7
            requests = self._random.randrange(900, 1100) if hot else self._random.randrange(80, 120)
            reads, writes = requests // 2, requests - requests // 2
            steps = (reads, 1, reads * 8, reads * 4, writes, 1, writes * 16, writes * 5)
            if self._independent:
                steps = tuple(self._random.randrange(2 * step) + 1 for step in steps)
            for place, step in enumerate(steps):
                counters[place] += step
            counters[8] = 9 if hot else 1
            counters[9] += 990 if hot else 300
            counters[10] += reads * 4 + writes * 5
            counters[11] += 1
            counters[13] += 8
            counters[14] += 1
            counters[15] += 1
            counters[16] += 1
        self._put(DISKSTATS, "".join(f"{head} {' '.join(map(str, counters))}\n" for head, counters in self._rows))
        self._put(NET_DEV, self._net.replace(str(_START), str(_START + self._ticks * 100_003)))
        done = 50_000_000 + self._ticks * 120_000 % 40_000_000
        self._put(MDSTAT, self._mdstat.replace("(50000000/", f"({done}/"))

    def _put(self, name: str, text: str) -> None:
        os.pwrite(self._files[name], text.encode(), 0)


def main() -> None:
    """Build a tree, or advance its counters once a second."""
    parser = argparse.ArgumentParser(description="A storage node as a tree of files.")
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("build")
    builder.add_argument("root", type=Path)
    builder.add_argument("--disks", type=int, default=1000)
    builder.add_argument("--members", type=int, default=MEMBERS)
    builder.add_argument("--maps", type=int, default=0)
    mover = commands.add_parser("advance")
    mover.add_argument("root", type=Path)
    mover.add_argument("--independent", action="store_true")
    mover.add_argument("--idle", type=float, default=0.0)
    options = parser.parse_args()
    if options.command == "build":
        shutil.rmtree(options.root, ignore_errors=True)
        build(options.root, options.disks, options.members, options.maps)
        return
    counters = Counters(options.root, independent=options.independent, idle=options.idle)
    due = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            counters.advance()
            due += 1.0
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
