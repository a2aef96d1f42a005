"""The interfaces of a made-up node: /sys/class/net, /proc/net/dev and the counters of the IP stack."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

_HEADING = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n"
)
_STATISTICS = (
    "collisions", "multicast", "rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors",
    "rx_fifo_errors", "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors",
    "rx_packets", "tx_aborted_errors", "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors",
    "tx_fifo_errors", "tx_heartbeat_errors", "tx_packets", "tx_window_errors",
)  # fmt: skip
_TRAFFIC = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")


@dataclass(frozen=True, slots=True)
class Nic:
    """An interface: `rates` are bytes a second received and sent, `growing` are counters' steps a second.

    `extra` are further files of its folder, `speed` Mbit/s as the kernel shows it, None where reading fails; rates vary
    between the shares of `spread`.
    """

    name: str
    index: int
    mtu: int = 1500
    speed: int | None = None
    up: bool = True
    rates: tuple[float, float] = (0.0, 0.0)
    size: int = 1400
    growing: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)
    iflink: int | None = None
    devtype: str = ""
    driver: str = ""
    flags: int = 0x1003
    hardware: int = 1
    extra: Mapping[str, str] = field(default_factory=dict)
    spread: tuple[float, float] = (0.93, 1.07)


class Interfaces:
    """All interfaces of a node; `files` is to be called once a second, in order."""

    def __init__(self, host: str, nics: Sequence[Nic]) -> None:
        """Start with what they counted since boot."""
        self._nics = nics
        self._rng = random.Random(f"interfaces {host}")
        self._counts = {nic.name: self._begin(nic) for nic in nics}
        self._segments = [6_120_433_021, 7_410_220_918, 84_112]

    def _begin(self, nic: Nic) -> dict[str, float]:
        counts = dict.fromkeys(_STATISTICS, 0.0)
        if nic.up:
            for kind, rate in zip(("rx", "tx"), nic.rates, strict=True):
                packets = self._rng.randrange(40_000_000, 90_000_000) if rate else 812.0
                counts[f"{kind}_packets"], counts[f"{kind}_bytes"] = packets, packets * nic.size
        counts.update(nic.counted)
        return counts

    def files(self, elapsed: float) -> dict[str, str]:
        """Return the files `elapsed` seconds after the first frame."""
        if elapsed:
            self._pass()
        lines = "".join(self._line(nic) for nic in self._nics)
        files = {"/proc/net/dev": _HEADING + lines, "/proc/net/snmp": self._snmp()}
        if not int(elapsed) % 10:
            for nic in self._nics:
                counts = self._counts[nic.name]
                chosen = [name for name in _STATISTICS if name not in _TRAFFIC]
                folder = f"/sys/class/net/{nic.name}/statistics"
                files |= {f"{folder}/{name}": f"{int(counts[name])}\n" for name in chosen if _told(nic, name)}
            files |= self._queues()
        if not elapsed:
            for nic in self._nics:
                files |= _sysfs(nic)
        return files

    def _pass(self) -> None:
        for nic in self._nics:
            counts = self._counts[nic.name]
            for kind, rate in zip(("rx", "tx"), nic.rates, strict=True):
                passed = rate * self._rng.uniform(*nic.spread)
                counts[f"{kind}_bytes"] += passed
                counts[f"{kind}_packets"] += passed // nic.size
            for name, step in nic.growing.items():
                counts[name] += round(step * self._rng.uniform(0.8, 1.2))
        moved = sum(sum(nic.rates) for nic in self._nics) / 3000
        self._segments[0] += int(moved)
        self._segments[1] += int(moved * 1.1)
        self._segments[2] += int(moved * 0.00001)

    def _line(self, nic: Nic) -> str:
        """Return the interface's line, added up as dev_seq_printf_stats does."""
        c = {name: int(count) for name, count in self._counts[nic.name].items()}
        dropped = c["rx_dropped"] + c["rx_missed_errors"]
        frame = c["rx_length_errors"] + c["rx_over_errors"] + c["rx_crc_errors"] + c["rx_frame_errors"]
        return (
            f"{nic.name:>6}: {c['rx_bytes']:7d} {c['rx_packets']:7d} {c['rx_errors']:4d} {dropped:4d} "
            f"{c['rx_fifo_errors']:4d} {frame:5d} {c['rx_compressed']:10d} {c['multicast']:9d} {c['tx_bytes']:8d} "
            f"{c['tx_packets']:7d} {c['tx_errors']:4d} {c['tx_dropped']:4d} {c['tx_fifo_errors']:4d} "
            f"{c['collisions']:5d} {c['tx_carrier_errors']:7d} {c['tx_compressed']:10d}\n"
        )

    def _snmp(self) -> str:
        received, sent, again = self._segments
        ip = "Ip: Forwarding DefaultTTL InReceives ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates\n"
        tcp = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors"
        return (
            f"{ip}Ip: 2 64 {received + 51_204} 0 0 0 0 0 0\n"
            f"{tcp}\nTcp: 1 200 120000 -1 61 {received} {sent} {again} 12 8014 0\n"
        )

    def _queues(self) -> dict[str, str]:
        ext = "TcpExt: ListenOverflows ListenDrops TCPTimeouts TCPBacklogDrop TCPMTUPFail TCPMTUPSuccess\n"
        return {
            "/proc/net/netstat": f"{ext}TcpExt: 0 0 9417 0 0 0\n",
            "/proc/net/softnet_stat": "".join(
                f"{self._segments[0] // 8 + cpu * 7919:08x} 00000000 0000001{cpu:x}{' 00000000' * 12}\n"
                for cpu in range(4)
            ),
        }


def _told(nic: Nic, name: str) -> bool:
    """Keep the files few: of an interface on which nothing is amiss, those that are looked at first."""
    looked_at = {"rx_errors", "rx_dropped", "rx_missed_errors", "rx_length_errors", "tx_errors", "tx_dropped"}
    return bool(nic.growing) or name in looked_at


def _sysfs(nic: Nic) -> dict[str, str]:
    folder = f"/sys/class/net/{nic.name}"
    octets = ":".join(f"{byte:02x}" for byte in (0x02, 0x1B, 0x21, 0x9A, 0x40, nic.index))
    loopback = nic.hardware == 772
    kind = f"DEVTYPE={nic.devtype}\n" if nic.devtype else ""
    files = {
        "mtu": nic.mtu,
        "operstate": "unknown" if loopback else "up" if nic.up else "down",
        "flags": f"0x{nic.flags if nic.up else nic.flags & ~1:x}",
        "type": nic.hardware,
        "address": "00:00:00:00:00:00" if loopback else octets,
        "ifindex": nic.index,
        "iflink": nic.index if nic.iflink is None else nic.iflink,
        "uevent": f"{kind}INTERFACE={nic.name}\nIFINDEX={nic.index}",
        "tx_queue_len": 1000,
    }
    if nic.up:
        files["carrier"] = 1
    if nic.driver:
        files["device/uevent"] = f"DRIVER={nic.driver}\nPCI_SLOT_NAME=0000:18:00.{nic.index % 4}"
    if nic.speed is not None:
        files |= {"speed": nic.speed, "duplex": "full"}
    return {f"{folder}/{name}": f"{value}\n" for name, value in (files | dict(nic.extra)).items()}


LOOPBACK = Nic("lo", 1, mtu=65536, hardware=772, flags=0x9)
OFFICE = Nic("eno1", 2, speed=1000, size=300, driver="tg3")
STILL = (LOOPBACK, OFFICE)
"""Of a node whose story is about its disks: nothing moves, so that its frames are the smaller."""


def serving(receive: float, send: float) -> tuple[Nic, ...]:
    """Return the interfaces of a node that is asked for its storage over 10 Gbit/s: bytes a second each way."""
    return (
        replace(LOOPBACK, rates=(900.0, 900.0), size=200),
        replace(OFFICE, rates=(41_000.0, 22_000.0)),
        Nic("ens1f0", 3, mtu=9000, speed=10000, rates=(receive, send), size=7000, driver="ixgbe"),
    )
