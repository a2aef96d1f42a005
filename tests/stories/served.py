"""A dRAID that serves a volume to hypervisors: small blocks, no log device and one link for all; and mended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdstop.collectors.network.clients import ROUTES
from sdstop.collectors.network.connections import SOCKETS
from sdstop.collectors.network.peer_readings import ASK_CLIENTS
from sdstop.collectors.zfs.readings import KSTATS, PARAMETERS
from sdstop.core.evidence import command_key
from sdstop.rules.zfs.zvol_slow_path import BlockLayout
from tests.nodes.block import disk_name
from tests.nodes.clients import HEAD, line
from tests.nodes.system import Shape
from tests.nodes.zfs import SETTINGS, SIZES, STATUS, kstat, status, tree, zil
from tests.stories.disks import disk_number
from tests.stories.interfaces import STILL, Nic
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_040_000.0
_BEFORE = 600_000.0
_CHILDREN = 11
_LAYOUT = BlockLayout("draid2:4d:11c:1s-0", 4, 2, 4096, fixed=True)
_CLIENTS = 24
_EACH = 4.6e6
"""Bytes a second that each hypervisor writes."""
_REQUEST = 16384
_COMMITS = 900
_COMMITTED = 8192
"""Bytes that the intent log takes for each."""
_FRAMED = 1448 / 1514
"""Data of a full frame."""
_VOLUME = "tank/vmstore"
_LOG = "/dev/disk/by-id/nvme-INTEL_SSDPE21K375GA_PHKE81"
_TCP = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 010200C0:0CBC 0B0200C0:032C 01 00000000:00000000 00:00000000 00000000     0        0 31337 1\n"
)
_ROUTE = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eno1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)


@dataclass(frozen=True, slots=True)
class Served:
    """The server: block of its volume, whether there is a log device, Mbit/s of its link."""

    taken: float
    block: int
    logs: bool
    speed: int

    @property
    def written(self) -> float:
        """Bytes a second that all clients write: what the volume gets."""
        return _CLIENTS * _EACH

    @property
    def each_disk(self) -> float:
        """Bytes a second that reach each child: whole rows of the volume, and of the log unless it has devices."""
        log = 0.0 if self.logs else _COMMITS * _LAYOUT.takes(_COMMITTED)
        return (self.written / _LAYOUT.share(self.block) + log) / _CHILDREN

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = {disk_name(n): disk_number(n) for n in range(_CHILDREN)} | {"zd0": (230, 0)}
        if self.logs:
            names |= {"nvme1n1": (259, 3), "nvme2n1": (259, 4)}
        wire = self.written / _FRAMED
        nic = Nic("eth1", 3, speed=self.speed, rates=(wire, wire / 60), size=1514, driver="ixgbe", spread=(0.99, 1.01))
        shape = Shape("nas5", cpus=16, system=0.14, iowait=0.2, load=9.0, stalled=0.4)
        Told(shape, self.taken, 5, 13, self._told, names, self._counted, (*STILL, nic)).write(path)

    def _counted(self, second: int) -> Rows:
        """Return what disks, log devices and the volume have counted."""
        writes = self.each_disk / 131_072
        disk = moved(second, writes=writes, written=self.each_disk, write_wait=0.011, busy=writes * 0.0028,
                     before=_BEFORE)  # fmt: skip
        found = {disk_name(n): list(disk) for n in range(_CHILDREN)}
        wait = 0.0009 if self.logs else 0.012
        found["zd0"] = moved(second, writes=self.written / _REQUEST, written=self.written, write_wait=wait,
                             busy=0.99, before=_BEFORE)  # fmt: skip
        log = moved(second, writes=_COMMITS, written=_COMMITS * _COMMITTED, write_wait=0.00003, busy=0.03,
                    before=_BEFORE)  # fmt: skip
        return found | ({"nvme1n1": list(log), "nvme2n1": list(log)} if self.logs else {})

    def _told(self, second: int) -> Evidence:
        passed = int(_BEFORE + second)
        committed = _COMMITS * passed
        written = int(self.written * passed)
        files: dict[str, str | bytes] = {
            SOCKETS[0]: _TCP,
            ROUTES: _ROUTE,
            f"{KSTATS}/tank/objset-0x42": kstat(
                name=_VOLUME, writes=written // _REQUEST, nwritten=written, reads=0, nread=0
            ),
            **zil(committed, committed if self.logs else 0),
        }
        if not second % 10:
            connections = (
                line(f"192.0.2.{11 + n}", int(_EACH * passed), int(_EACH * passed / 60), port=3260)
                for n in range(_CLIENTS)
            )
            files[command_key(ASK_CLIENTS)] = HEAD + "".join(connections)
            files[STATUS] = status(self._tree())
        if not second:
            files |= self._fixed()
        return files

    def _tree(self) -> str:
        disks = ((2, f"/dev/disk/by-id/wwn-0x5000c500a1b2{n:04x}-part1", "ONLINE") for n in range(_CHILDREN))
        logs = ((-1, "logs", ""), (1, "mirror-1", "ONLINE"), *((2, f"{_LOG}{n}", "ONLINE") for n in (1, 2)))
        spares = ((-1, "spares", ""), (1, "draid2-0-0", "AVAIL"))
        return tree((1, _LAYOUT.vdev, "ONLINE"), *disks, *(logs if self.logs else ()), *spares)

    def _fixed(self) -> dict[str, str]:
        size = 22 << 40
        settings = {"type": "volume", "volblocksize": self.block, "sync": "standard", "compression": "off"}
        found = {
            f"{KSTATS}/tank/state": "ONLINE\n",
            "/sys/module/zfs/version": "2.1.11-1\n",
            f"{PARAMETERS}/zfs_resilver_min_time_ms": "3000\n",
            SIZES: f"tank\t{4 * size}\t{size}\t{3 * size}\t4\n",
            SETTINGS: "".join(f"{_VOLUME}\t{name}\t{value}\n" for name, value in settings.items()),
            f"link:/dev/zvol/{_VOLUME}": "../../zd0",
            **({f"link:{_LOG}{n}": f"../../nvme{n}n1" for n in (1, 2)} if self.logs else {}),
        }
        for n in range(_CHILDREN):
            base, (major, minor) = f"/sys/block/{disk_name(n)}", disk_number(n)
            found |= {
                f"link:/dev/disk/by-id/wwn-0x5000c500a1b2{n:04x}-part1": f"../../{disk_name(n)}1",
                f"{base}/dev": f"{major}:{minor}\n", f"{base}/size": "15628053168\n",
                f"{base}/queue/rotational": "1\n", f"{base}/queue/physical_block_size": "4096\n",
                f"{base}/queue/logical_block_size": "512\n", f"{base}/device/model": "MG07SCA14TA\n",
                f"{base}/{disk_name(n)}1/partition": "1\n", f"{base}/{disk_name(n)}1/dev": f"{major}:{minor + 1}\n",
                f"{base}/{disk_name(n)}1/start": "2048\n", f"{base}/{disk_name(n)}1/size": "15628034048\n",
            }  # fmt: skip
        return found


STORIES: Stories = {
    "draid-served": lambda: Served(_STARTED, 8192, logs=False, speed=1000),
    "draid-served-mended": lambda: Served(_STARTED + 900_000, 16384, logs=True, speed=10000),
}
