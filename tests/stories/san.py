"""A node with all kinds of paths to its storage: neglected ones, and the healthy twin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.readings import TABLE
from sdstop.collectors.network.peer_readings import ASK_SERVERS
from sdstop.core.evidence import command_key
from tests.nodes.system import Shape
from tests.stories.interfaces import LOOPBACK, OFFICE, Nic
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_797_100_000.0
_STEP = 30
_SECTORS = 2_147_483_648
"""1 TiB."""
_MB = 1_000_000
_DISKS = {"sdb": (16, "31"), "sdc": (32, "31"), "sdd": (48, "32"), "sde": (64, "32")}
"""Minor number, and the end of the world wide name: two paths to each of two disks."""
_WWN = "5000c500a5d2b4"
_FC = "/sys/class/fc_host/host7"
_RDMA = "/sys/class/infiniband/mlx5_0/ports/1"
_TCP = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 1500140A:9C40 0700140A:1144 01 00000000:00000000 00:00000000 00000000     0        0 31204 1\n"
)


@dataclass(frozen=True, slots=True)
class San:
    """The node; `grows` are steps a second of its counters, `shares` are those of the paths to the second disk."""

    host: str
    taken: float
    beside: bool
    shares: tuple[float, float]
    crc: float
    timeouts: float
    again: float
    paused: float

    def write(self, path: Path) -> None:
        """Write the capture."""
        names = {name: (8, minor) for name, (minor, _) in _DISKS.items()} | {"dm-0": (253, 0), "dm-1": (253, 1)}
        names |= {f"nvme0c{n}n1": (259, n) for n in (0, 1)} | {"nvme0n1": (259, 2)}
        nics = (LOOPBACK, OFFICE, Nic("ens1f0", 3, mtu=9000, speed=25000, rates=(90e6, 45e6), size=6000, driver="ice"))
        shape = Shape(self.host, cpus=16, iowait=0.05, load=3.0)
        Told(shape, self.taken, _STEP, 5, self._told, names, self._counted, nics).write(path)

    def _counted(self, second: int) -> Rows:
        calm = moved(second, reads=200, read=3 * _MB, read_wait=0.0006, busy=0.1)
        rows = dict.fromkeys(("sdb", "sdc", "dm-0", "nvme0c0n1", "nvme0c1n1", "nvme0n1"), calm)
        wait = 0.004 if self.beside else 0.0006  # a queue; samples 30 s apart are too rare to find a slow path
        for name, share in zip(("sdd", "sde"), self.shares, strict=True):
            rate = 600 * _MB * share
            rows[name] = moved(second, reads=rate / 262_144, read=rate, read_wait=wait, busy=min(share * 0.9, 0.9))
        return rows | {"dm-1": moved(second, reads=600 * _MB / 262_144, read=600 * _MB, read_wait=wait, busy=0.9)}

    def _told(self, second: int) -> Evidence:
        sent = 4_000_000 + 900 * second
        again = 900 + int(self.again * 900 * second)
        paused = 120_000 + int(self.paused * second)
        found: dict[str, str | bytes] = {
            f"{_FC}/statistics/invalid_crc_count": f"{4100 + int(self.crc * second):#x}\n",
            f"{_RDMA}/hw_counters/local_ack_timeout_err": f"{820 + int(self.timeouts * second)}\n",
            f"{_RDMA}/hw_counters/packet_seq_err": f"{77 + second // 30}\n",
            command_key(ASK_SERVERS): "Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
            f"0      0      10.20.0.21:40000   10.20.0.7:4420  cubic wscale:9,9 rto:204 rtt:0.31/0.12 mss:8948 cwnd:10 "
            f"segs_out:{sent} segs_in:{sent} retrans:0/{again} lastsnd:4\n",
            "cmd:ethtool --statistics ens1f0": f"     rx_priority_3_xoff.nic: {paused}\n     tx_priority_3_xoff.nic: "
            f"{40 + second // 30}\n",
        }  # fmt: skip
        return found if second else found | self._structure()

    def _structure(self) -> dict[str, str]:
        members = {"mpatha": "8:16" if self.beside else "8:16 8:32", "mpathb": "8:48 8:64"}
        found = {
            command_key(STATUS): "".join(
                f"{name}: 0 {_SECTORS} multipath 2 0 1 0 1 1 A 0 {len(paths.split())} 2 "
                f"{' '.join(f'{path} A 0 0 1' for path in paths.split())} \n"
                for name, paths in members.items()
            ),
            command_key(TABLE): "".join(
                f"{name}: 0 {_SECTORS} multipath 1 queue_if_no_path 1 alua 1 1 service-time 0 {len(paths.split())} 2 "
                f"{' '.join(f'{path} 1 1' for path in paths.split())}\n"
                for name, paths in members.items()
            ),
            "/proc/self/mounts": f"/dev/{'sdc' if self.beside else 'mapper/mpatha'} /srv/images xfs rw\n"
            "/dev/mapper/mpathb /srv/db xfs rw\n",
            "/proc/net/tcp": _TCP,
            "cmd:ethtool --statistics eno1": "     tx_flow_control_xoff: 0\n     rx_flow_control_xoff: 0\n",
            f"{_FC}/port_state": "Online\n", f"{_FC}/speed": "16 Gbit\n", f"{_FC}/port_name": "0x100000109b1c2d3e\n",
            f"{_FC}/supported_speeds": "4 Gbit, 8 Gbit, 16 Gbit\n",
            **{f"{_FC}/statistics/{name}": f"{count:#x}\n" for name, count in _FC_COUNTS.items()},
            f"{_RDMA}/state": "4: ACTIVE\n", f"{_RDMA}/rate": "25 Gb/sec (1X EDR)\n",
            f"{_RDMA}/link_layer": "Ethernet\n", f"{_RDMA}/counters/link_downed": "2\n",
            f"{_RDMA}/counters/port_rcv_errors": "0\n", f"{_RDMA}/counters/symbol_error": "0\n",
            "/sys/class/nvme-subsystem/nvme-subsys0/iopolicy": "round-robin\n",
        }  # fmt: skip
        for n in (0, 1):
            found |= {
                f"/sys/class/nvme/nvme{n}/state": "live\n", f"/sys/class/nvme/nvme{n}/transport": "tcp\n",
                f"/sys/class/nvme/nvme{n}/subsysnqn": "nqn.2026-11.example:fast\n",
                f"/sys/class/nvme/nvme{n}/address": f"traddr=10.20.0.{7 + n},trsvcid=4420,src_addr=10.20.0.21\n",
                f"/sys/class/nvme/nvme{n}/nvme0c{n}n1/size": "4194304\n",
                f"/sys/block/nvme0c{n}n1/dev": f"259:{n}\n", f"/sys/block/nvme0c{n}n1/hidden": "1\n",
                f"/sys/block/nvme0c{n}n1/ana_state": "optimized\n",
            }  # fmt: skip
        for number, name in enumerate(("mpatha", "mpathb")):
            base = f"/sys/block/dm-{number}"
            found |= {
                f"{base}/dev": f"253:{number}\n", f"{base}/size": f"{_SECTORS}\n", f"{base}/dm/name": f"{name}\n",
                f"{base}/dm/uuid": f"mpath-3{_WWN}3{number + 1}\n", f"{base}/dm/suspended": "0\n",
            }  # fmt: skip
        for name, (minor, end) in _DISKS.items():
            base = f"/sys/block/{name}"
            found |= {
                f"{base}/dev": f"8:{minor}\n", f"{base}/size": f"{_SECTORS}\n", f"{base}/queue/rotational": "0\n",
                f"{base}/device/wwid": f"naa.{_WWN}{end}\n", f"{base}/device/model": "LUN C-Mode\n",
                f"{base}/device/vendor": "NETAPP\n", f"{base}/device/state": "running\n",
                f"link:{base}/device": f"../../../7:0:{minor // 16 % 2}:{int(end) - 31}",
            }  # fmt: skip
        return found


_FC_COUNTS = {
    "link_failure_count": 3, "loss_of_sync_count": 5, "loss_of_signal_count": 0xFFFF_FFFF_FFFF_FFFF,
    "invalid_tx_word_count": 88,
}  # fmt: skip

STORIES: Stories = {
    "san-neglected": lambda: San(
        "db8", _STARTED, beside=True, shares=(1.0, 0.0), crc=1.2, timeouts=4.0, again=0.02, paused=2400.0
    ),
    "san-tended": lambda: San(
        "db9", _STARTED + 86_400, beside=False, shares=(0.5, 0.5), crc=0.01, timeouts=0.05, again=0.0004, paused=0.2
    ),
}
