"""ATA over Ethernet: readings, and arithmetic for frame payloads and request splitting. No I/O.

The Linux driver (drivers/block/aoe/aoecmd.c: aoecmd_cfg_rsp) subtracts 36 bytes of headers from the MTU and fills the
rest with whole sectors; vblade and other targets do the same, and the smallest payload applies.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State
from sdstop.readings.disk import sysfs_name

HEADERS = 36
"""Bytes that both ends subtract from the MTU, including 14 of Ethernet, which do not count toward the MTU."""
SECTOR = 512
"""Bytes."""
FALLBACK = 1024
"""Payload in bytes that the driver uses if not even one sector fits."""
MOST_SECTORS = 255
"""Maximum number of sectors in a frame: the count is one byte."""


_FILES = {"state": "state", "mac": "mac", "interfaces": "netif", "firmware": "firmware-version"}
"""Attributes in sysfs by field."""


class AoeTarget(Reading, frozen=True):
    """An imported AoE disk (initiator side), from /sys/block/etherd!eX.Y."""

    family: ClassVar[str] = "aoe_target"
    title: ClassVar[str] = "AoE disks"
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV),
        "target": Identity(ThingKind.TARGET, Naming.TARGET),
        "interfaces": Identity(None, Naming.NET, many=True),
    }
    joins = (
        Join("device", "target", Relation.SERVED),
        Join("device", "interfaces", Relation.CARRIED),
    )

    device: Annotated[str, Label("Device", "Kernel name, etherd/e0.1", names=Name.DEVICE)]
    state: Annotated[str | None, State("State", "State of the AoE target: up, down, down,closewait ...")]
    payload: Annotated[
        int | None, Metric("Payload", "Payload bytes of an AoE frame", "bytes", exact=True, setting=True)
    ]
    interfaces: Annotated[
        str | None, Fact("Interfaces", "Interfaces that lead to the target, separated by commas", names=Name.INTERFACE)
    ]
    mac: Annotated[str | None, Fact("Target", "Hardware address of the (first) target", names=Name.IDENTIFIER)]
    firmware: Annotated[
        str | None,
        Fact("Firmware", "Version reported by the target, 0x4019 is vblade 25", export=False, plain=True, setting=True),
    ]
    rtt: Annotated[float | None, Metric("Round trip", "Average round trip (debugfs rttavg)", "seconds")] = None
    largest: Annotated[
        int | None, Metric("Largest", "Largest payload of a frame (debugfs maxbcnt)", "bytes", export=False)
    ] = None

    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None

    def source(self, field: str = "") -> Source | None:
        """Return the attribute of a field (by default the payload), or the line of an output."""
        if self.told is not None:
            return Source(self.told, f"{self.target} ")
        return Source(f"/sys/block/{sysfs_name(self.device)}/{_FILES.get(field, 'payload')}")

    @property
    def target(self) -> str:
        """Shelf and slot, as eSHELF.SLOT."""
        return self.device.removeprefix("etherd/")


class AoeExport(Reading, frozen=True):
    """An exported AoE disk (target side), from the command line of its vblade process."""

    family: ClassVar[str] = "aoe_export"
    title: ClassVar[str] = "AoE exports"
    rows_of = Source("{where}", "vblade")
    things: ClassVar = {
        "target": Identity(ThingKind.TARGET, Naming.TARGET, "e{shelf}.{slot}"),
        "kernel": Identity(None, Naming.DEV),
        "interface": Identity(None, Naming.NET),
    }
    joins = (
        Join("target", "kernel", Relation.STORED),
        Join("target", "interface", Relation.CARRIED),
    )

    shelf: Annotated[int, Label("Shelf", "AoE major number")]
    slot: Annotated[int, Label("Slot", "AoE minor number")]
    interface: Annotated[str, Label("Interface", "Interface that serves the export", names=Name.INTERFACE)]
    device: Annotated[str, Fact("Device", "Path of the exported device or file", names=Name.PATH)]
    direct: Annotated[int, Metric("Direct", "Whether vblade uses direct I/O (-d)", setting=True)]
    pid: Annotated[int, Metric("Process", "Process number", export=False)]
    where: Annotated[str, Fact("Where", "Evidence that it was read from", export=False, names=Name.EVIDENCE)] = ""
    kernel: Annotated[
        str | None,
        Fact("Kernel name", "Kernel name of the device; absent for a file, or if unknown", names=Name.DEVICE),
    ] = None
    sync: Annotated[int | None, Metric("Sync", "Whether vblade writes synchronously (-s)", setting=True)] = None
    read_only: Annotated[int | None, Metric("Read-only", "Whether vblade refuses writes (-r)", setting=True)] = None
    buffers: Annotated[
        int | None, Metric("Buffers", "Advertised queue length (-b); absent if default", setting=True)
    ] = None
    clients: Annotated[
        str | None,
        Fact(
            "Clients", "Hardware addresses of permitted clients (-m); absent: all", export=False, names=Name.IDENTIFIER
        ),
    ] = None
    offset: Annotated[int | None, Metric("Offset", "Export offset (-o)", "bytes")] = None


def payload(mtu: int) -> int:
    """Return a frame's payload in bytes by MTU: 9000 -> 8704, 8700 -> 8192, 4200 -> 4096, 4000 -> 3584."""
    return min(max((mtu - HEADERS) // SECTOR, 0), MOST_SECTORS) * SECTOR or FALLBACK


def aligned(mtu: int, block: int = 4096) -> bool:
    """Return whether frames carry whole blocks at an MTU."""
    return payload(mtu) % block == 0


def good_mtus(largest: int, block: int = 4096) -> tuple[int, int] | None:
    """Return the highest MTU range up to `largest` at which frames carry whole blocks; None if there is none.

    9000 -> (8228, 8739); 4200 -> (4132, 4200).
    """
    blocks = (largest - HEADERS) // block
    while blocks > 0 and blocks * block // SECTOR > MOST_SECTORS:
        blocks -= 1
    if blocks < 1:
        return None
    low = HEADERS + blocks * block
    return low, min(low + SECTOR - 1, largest)


def pieces(payload_bytes: int, length: int, block: int = 4096) -> dict[int, int]:
    """Return how a block-aligned request is split at the target: `{bytes: number of parts of that size}`.

    The initiator sends one frame per `payload_bytes`; the target's cache splits each frame at block boundaries.
    """
    found: dict[int, int] = {}
    at = 0
    while at < length:
        frame_ends = (at // payload_bytes + 1) * payload_bytes
        block_ends = (at // block + 1) * block
        end = min(frame_ends, block_ends, length)
        found[end - at] = found.get(end - at, 0) + 1
        at = end
    return found


def whole_share(payload_bytes: int, length: int, block: int = 4096) -> float:
    """Return the fraction of a request's bytes that arrive in whole blocks: 8704 and 128 KiB -> 0.5625; 3584 -> 0.0."""
    cut = pieces(payload_bytes, length, block)
    return cut.get(block, 0) * block / length


PACKET = "/proc/net/packet"

COMMAND = ("ip", "-j", "-d", "link", "show")


class AoeSocket(Reading, frozen=True):
    """A packet socket for the AoE EtherType: a process in this network namespace uses AoE as target or initiator.

    From /proc/net/packet (kernel net/packet/af_packet.c). The kernel's own initiator needs no socket.
    """

    family: ClassVar[str] = "aoe_socket"
    title: ClassVar[str] = "AoE sockets"
    exported: ClassVar[bool] = False
    rows_of = Source(PACKET, "{inode}")

    inode: Annotated[int, Label("Socket", "Inode number of the socket")]
    ifindex: Annotated[int, Metric("Index", "Index of the interface that it listens on; 0: all")]


class AoePort(Reading, frozen=True):
    """Maximum supported MTU of an interface used by AoE, from `ip -d link`."""

    family: ClassVar[str] = "aoe_port"
    title: ClassVar[str] = "AoE interfaces"
    exported: ClassVar[bool] = False
    rows_of = Source(command_key(COMMAND), '"{interface}"')
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    max_mtu: Annotated[int | None, Metric("Max MTU", "Largest MTU that the driver supports", "bytes", exact=True)]
