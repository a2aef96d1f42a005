"""Network interfaces: traffic from /proc/net/dev every second, link state from sysfs less often."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from sdstop.collectors.network import netclass
from sdstop.collectors.network.netclass import CLASS
from sdstop.core import format as human
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.joins import Identity, Naming, Stated, ThingKind
from sdstop.core.model import Derivation, Fact, Kind, Label, Metric, Name, Reading, Source, State, files, recorded
from sdstop.core.text import is_whole

PROC_DEV = "/proc/net/dev"


STATISTICS = {
    "rx_errors": "rx_errors", "rx_dropped": "rx_dropped", "rx_missed": "rx_missed_errors",
    "rx_over": "rx_over_errors", "rx_length": "rx_length_errors", "rx_crc": "rx_crc_errors",
    "rx_frame": "rx_frame_errors", "rx_fifo": "rx_fifo_errors", "rx_nohandler": "rx_nohandler",
    "tx_errors": "tx_errors", "tx_dropped": "tx_dropped", "tx_carrier": "tx_carrier_errors",
    "tx_fifo": "tx_fifo_errors", "collisions": "collisions",
}  # fmt: skip
"""Counter fields of Interface and their files in /sys/class/net/X/statistics."""


class Interface(Reading, frozen=True):
    """A network interface: its kind, its link and its individual error counters.

    Read from /sys/class/net/X (kernel net/core/net-sysfs.c) every 10 s, and at once when an interface appears,
    disappears or changes state. `speed` is None unless measured or negotiated: virtual interfaces report a made-up one.
    """

    family: ClassVar[str] = "interface"
    title: ClassVar[str] = "Network interfaces"
    rows_of = (Source("{told}", "{interface}"), Source(f"{CLASS}/{{interface}}/operstate"))
    fields_of = recorded(
        "{interface}",
        files(f"{CLASS}/{{interface}}", "carrier", "carrier_changes", "mtu", "speed", "duplex", "ifindex")
        | files(f"{CLASS}/{{interface}}", interface="uevent", kind="uevent", up="flags", mac="address")
        | files(f"{CLASS}/{{interface}}/statistics", **STATISTICS)
        | {
            "master": Source(f"link:{CLASS}/{{interface}}/master"),
            "driver": Source(f"link:{CLASS}/{{interface}}/device/driver"),
            "parent": Source(f"list:{CLASS}/{{interface}}", "lower_{parent}"),
        },
    )
    things: ClassVar = {
        "interface": Identity(
            Stated("kind", {"bond": ThingKind.BOND, "team": ThingKind.BOND}, ThingKind.NIC), Naming.NET
        ),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    kind: Annotated[
        str,
        Fact(
            "Kind", "physical, bond, bridge, vlan, veth, macvlan, vxlan, tun, team, loopback, virtual ...", plain=True
        ),
    ]
    operstate: Annotated[
        str | None,
        State(
            "State", "Operational state: up, down, unknown, dormant, lowerlayerdown, notpresent, testing", detail=True
        ),
    ]
    up: Annotated[bool | None, Metric("Up", "Whether the interface is administratively up", export=True, detail=True)]
    carrier: Annotated[bool | None, Metric("Carrier", "Whether the link is up (carrier)")]
    carrier_changes: Annotated[
        int | None, Metric("Carrier changes", "Changes of the carrier since boot", kind=Kind.COUNTER)
    ]
    mtu: Annotated[int | None, Metric("MTU", "MTU of the interface", "bytes", exact=True, setting=True)]
    speed: Annotated[
        int | None, Metric("Speed", "Line speed of the interface in one direction", "bytes_per_second", setting=True)
    ]
    duplex: Annotated[str | None, Fact("Duplex", "full or half", plain=True)]
    master: Annotated[
        str | None, Fact("Master", "Bond, bridge or team that contains the interface", names=Name.INTERFACE)
    ]
    parent: Annotated[str | None, Fact("Parent", "Lower interface (vlan, macvlan)", names=Name.INTERFACE)]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver of a physical interface", plain=True)]
    mac: Annotated[str | None, Fact("Address", "Hardware address", export=False, names=Name.IDENTIFIER)]
    ifindex: Annotated[int | None, Metric("Index", "Interface number", export=False)]
    rx_errors: Annotated[int | None, Metric("RX errors", "Receive errors of any kind", kind=Kind.COUNTER, detail=True)]
    rx_dropped: Annotated[
        int | None,
        Metric(
            "RX dropped",
            "Received frames dropped by the host: no buffer, or unknown protocol",
            kind=Kind.COUNTER,
            detail=True,
        ),
    ]
    rx_missed: Annotated[
        int | None,
        Metric("RX missed", "Received frames missed for lack of buffers (rx_missed_errors)", kind=Kind.COUNTER),
    ]
    rx_over: Annotated[
        int | None, Metric("RX overflow", "Received frames lost to receiver overruns", kind=Kind.COUNTER, detail=True)
    ]
    rx_length: Annotated[
        int | None,
        Metric(
            "RX length", "Received frames of a wrong length, mostly larger than the MTU", kind=Kind.COUNTER, detail=True
        ),
    ]
    rx_crc: Annotated[int | None, Metric("RX CRC", "Received frames with a wrong checksum", kind=Kind.COUNTER)]
    rx_frame: Annotated[
        int | None, Metric("RX alignment", "Received frames with an alignment error", kind=Kind.COUNTER, detail=True)
    ]
    rx_fifo: Annotated[int | None, Metric("RX FIFO", "Received frames lost in the card's queue", kind=Kind.COUNTER)]
    rx_nohandler: Annotated[
        int | None,
        Metric(
            "RX no handler", "Frames received on an inactive bond slave (rx_nohandler)", kind=Kind.COUNTER, detail=True
        ),
    ]
    tx_errors: Annotated[int | None, Metric("TX errors", "Transmit errors of any kind", kind=Kind.COUNTER, detail=True)]
    tx_dropped: Annotated[
        int | None, Metric("TX dropped", "Frames dropped before they were sent", kind=Kind.COUNTER, detail=True)
    ]
    tx_carrier: Annotated[
        int | None, Metric("TX carrier", "Frames not sent because the link failed", kind=Kind.COUNTER, detail=True)
    ]
    tx_fifo: Annotated[
        int | None, Metric("TX FIFO", "Frames not sent because the card's queue failed", kind=Kind.COUNTER, detail=True)
    ]
    collisions: Annotated[int | None, Metric("Collisions", "Collisions (half duplex)", kind=Kind.COUNTER, detail=True)]
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None

    @property
    def active(self) -> bool:
        """Whether the interface can carry traffic: up, and not known to lack a link."""
        return self.up is not False and self.carrier is not False and self.operstate not in _AWAY


_AWAY = frozenset({"down", "notpresent", "lowerlayerdown"})


class Traffic(Reading, frozen=True):
    """Traffic counters of an interface since its creation, from /proc/net/dev every second.

    The kernel combines counters here: `rx_dropped` includes frames missed by the card, `rx_frame` frames with a wrong
    length, a bad checksum or an overrun; Interface has them separately.
    """

    family: ClassVar[str] = "interface_traffic"
    title: ClassVar[str] = "Interface traffic"
    rows_of = (Source("{told}", "{interface}"), Source(PROC_DEV, "{interface}:"))
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    rx_bytes: Annotated[int, Metric("RX", "Bytes received", "bytes", kind=Kind.COUNTER)]
    rx_packets: Annotated[int, Metric("RX packets", "Packets received", kind=Kind.COUNTER)]
    rx_errors: Annotated[int, Metric("RX errors", "Receive errors", kind=Kind.COUNTER, export=False)]
    rx_dropped: Annotated[
        int, Metric("RX dropped", "Packets dropped or missed on receipt", kind=Kind.COUNTER, export=False)
    ]
    rx_fifo: Annotated[
        int | None, Metric("RX FIFO", "Packets lost in the receive queue", kind=Kind.COUNTER, export=False)
    ]
    rx_frame: Annotated[
        int | None,
        Metric("RX frame", "Packets with a wrong length or checksum, or overrun", kind=Kind.COUNTER, export=False),
    ]
    rx_multicast: Annotated[int, Metric("RX multicast", "Multicast packets received", kind=Kind.COUNTER)]
    tx_bytes: Annotated[int, Metric("TX", "Bytes sent", "bytes", kind=Kind.COUNTER)]
    tx_packets: Annotated[int, Metric("TX packets", "Packets sent", kind=Kind.COUNTER)]
    tx_errors: Annotated[int, Metric("TX errors", "Transmit errors", kind=Kind.COUNTER, export=False)]
    tx_dropped: Annotated[int, Metric("TX dropped", "Packets dropped on sending", kind=Kind.COUNTER, export=False)]
    tx_fifo: Annotated[int | None, Metric("TX FIFO", "Packets lost in the send queue", kind=Kind.COUNTER, export=False)]
    tx_collisions: Annotated[int, Metric("Collisions", "Collisions", kind=Kind.COUNTER, export=False)]
    tx_carrier: Annotated[
        int | None,
        Metric(
            "TX carrier",
            "Carrier lost, aborted, window and heartbeat errors",
            kind=Kind.COUNTER,
            export=False,
        ),
    ]
    told: Annotated[str | None, Fact("Source", "Evidence, if not /proc/net/dev", export=False, names=Name.EVIDENCE)] = (
        None
    )


class InterfaceActivity(Reading, frozen=True):
    """Traffic rates of an interface between two samples of /proc/net/dev."""

    family: ClassVar[str] = "interface_activity"
    title: ClassVar[str] = "Interface activity"
    exported: ClassVar[bool] = False
    rows_of = Source(PROC_DEV, "{interface}:")
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    rx_bytes_per_second: Annotated[float, Metric("RX", "Bytes received per second", "bytes_per_second")]
    tx_bytes_per_second: Annotated[float, Metric("TX", "Bytes sent per second", "bytes_per_second")]
    rx_packets_per_second: Annotated[float, Metric("RX pkt/s", "Packets received per second", "per_second")]
    tx_packets_per_second: Annotated[float, Metric("TX pkt/s", "Packets sent per second", "per_second")]
    rx_size: Annotated[float | None, Metric("RX size", "Mean size of a received packet", "bytes")]
    tx_size: Annotated[float | None, Metric("TX size", "Mean size of a sent packet", "bytes")]
    rx_errors_per_second: Annotated[float, Metric("RX err/s", "Receive errors per second", "per_second")]
    tx_errors_per_second: Annotated[float, Metric("TX err/s", "Transmit errors per second", "per_second")]
    rx_dropped_per_second: Annotated[float, Metric("RX drop/s", "Dropped or missed packets per second", "per_second")]
    tx_dropped_per_second: Annotated[float, Metric("TX drop/s", "Packets dropped on sending", "per_second")]


_COLUMNS = 16


def read_traffic(host: Host) -> Iterable[Reading]:
    """Return a Traffic for each line of /proc/net/dev; this call only reads."""
    return _lines(host.text(PROC_DEV))


def _lines(text: str) -> Iterator[Traffic]:
    yield from parse_dev(text)


def parse_dev(text: str) -> list[Traffic]:
    """Parse /proc/net/dev (net/core/net-procfs.c).

        Inter-|   Receive                                                |  Transmit
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls ...
          eth0: 1296582117 1021387    0   12    0     0          0      3140 88120340  611202    0    0    0 ...

    Lines without 16 numbers are skipped. Raises Malformed for text without the heading.
    """
    if "Receive" not in text[:200]:
        raise Malformed(f"{PROC_DEV}: no heading in {text[:60]!r}")
    rows = (_traffic(line) for line in text.splitlines()[2:])
    return [row for row in rows if row is not None]


@lru_cache(maxsize=2048)
def _traffic(line: str) -> Traffic | None:
    name, _, rest = line.rpartition(":")
    words = rest.split()
    if not name.strip() or len(words) < _COLUMNS or not all(is_whole(w) for w in words[:_COLUMNS]):
        return None
    n = [int(word) for word in words[:_COLUMNS]]
    # rx: bytes packets errs drop fifo frame (compressed) multicast, tx: bytes packets errs drop fifo colls carrier
    return Traffic(
        name.strip(), n[0], n[1], n[2], n[3], n[4], n[5], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14]
    )


def activity(before: Traffic, after: Traffic, seconds: float) -> InterfaceActivity | None:
    """Return the rates between two samples; None if a counter decreased (the interface was recreated)."""
    if seconds <= 0:
        return None
    counters = [
        (before.rx_bytes, after.rx_bytes), (before.tx_bytes, after.tx_bytes),
        (before.rx_packets, after.rx_packets), (before.tx_packets, after.tx_packets),
        (before.rx_errors, after.rx_errors), (before.tx_errors, after.tx_errors),
        (before.rx_dropped, after.rx_dropped), (before.tx_dropped, after.tx_dropped),
    ]  # fmt: skip
    steps = [b - a for a, b in counters]
    if min(steps) < 0:
        return None
    rx, tx, rx_packets, tx_packets, rx_errors, tx_errors, rx_dropped, tx_dropped = steps
    return InterfaceActivity(
        interface=after.interface,
        rx_bytes_per_second=rx / seconds,
        tx_bytes_per_second=tx / seconds,
        rx_packets_per_second=rx_packets / seconds,
        tx_packets_per_second=tx_packets / seconds,
        rx_size=rx / rx_packets if rx_packets else None,
        tx_size=tx / tx_packets if tx_packets else None,
        rx_errors_per_second=rx_errors / seconds,
        tx_errors_per_second=tx_errors / seconds,
        rx_dropped_per_second=rx_dropped / seconds,
        tx_dropped_per_second=tx_dropped / seconds,
    )


_MEGABIT = 125_000
"""Bytes per second in 1 Mb/s, the unit of `speed`."""
_UP = 1
"""IFF_UP in `flags`."""


def read_interfaces(host: Host) -> Iterable[Reading]:
    """Return an Interface for each directory in /sys/class/net."""
    known = netclass.folders(host)
    return [_interface(host, folder, measured=netclass.measured(folder, known)) for folder in known.values()]


def _changes(host: Host, interface: str) -> int | None:
    """Return the changes of the carrier since boot, None if not counted (before Linux 3.15) or not readable.

    Any user may read the file, and it always holds a number: anything else is a defect of the evidence.
    """
    path = f"{CLASS}/{interface}/carrier_changes"
    try:
        text = host.text(path).strip()
    except Absent:
        return None
    except TimedOut:
        raise
    except Unreadable as error:
        host.defect(path, human.safe(error, 80) or "not readable", interface)
        return None
    if not text.isdecimal() or len(text) > _DIGITS:
        host.defect(path, "not a number", interface)
        return None
    return int(text)


_DIGITS = 20


def _interface(host: Host, folder: netclass.Folder, *, measured: bool) -> Interface:
    base = f"{CLASS}/{folder.name}"
    flags = host.number(f"{base}/flags")
    carrier = host.maybe(f"{base}/carrier")  # EINVAL while the interface is down
    speed = host.number(f"{base}/speed") if measured else None
    duplex = host.maybe(f"{base}/duplex") if measured else None
    statistics: dict[str, Any] = {field: host.number(f"{base}/statistics/{name}") for field, name in STATISTICS.items()}
    parents = folder.lower if folder.kind not in {"bond", "bridge", "team"} else ()
    return Interface(
        interface=folder.name,
        kind=folder.kind,
        operstate=host.maybe(f"{base}/operstate") or None,
        up=None if flags is None else bool(flags & _UP),
        carrier=carrier == "1" if carrier in {"0", "1"} else None,
        carrier_changes=_changes(host, folder.name),
        mtu=host.number(f"{base}/mtu"),
        # -1, 0 and 4294967295 all mean unknown.
        speed=speed * _MEGABIT if speed is not None and 0 < speed < 0xFFFFFFFF else None,
        duplex=duplex if duplex in {"full", "half"} else None,
        master=host.target(f"{base}/master"),
        parent=parents[0] if len(parents) == 1 else None,
        driver=host.target(f"{base}/device/driver") if folder.kind == "physical" else None,
        mac=host.maybe(f"{base}/address") or None,
        ifindex=host.number(f"{base}/ifindex"),
        **statistics,
    )


def fingerprint(host: Host) -> Hashable:
    """Return each interface with its state and MTU, the changes of which trigger an immediate sample."""
    return tuple(
        (name, host.maybe(f"{CLASS}/{name}/operstate"), host.maybe(f"{CLASS}/{name}/mtu")) for name in host.names(CLASS)
    )


_TRAFFIC = 1e6
"""Bytes per second of all interfaces, in either direction, above which they work."""


def stirs(before: bytes, now: bytes, seconds: float) -> bool:
    """Return whether the interfaces move more than those of an idle node, or one was added or removed."""
    try:
        old = {row.interface: row for row in parse_dev(before.decode())}
        new = {row.interface: row for row in parse_dev(now.decode())}
    except (Malformed, ValueError):
        return True
    if seconds <= 0 or old.keys() != new.keys():
        return True
    moved = [(row, old[name]) for name, row in new.items()]
    return any(
        not 0 <= sum(getattr(row, name) - getattr(past, name) for row, past in moved) <= _TRAFFIC * seconds
        for name in ("rx_bytes", "tx_bytes")
    )


NETWORK = Collector(
    "network",
    "Traffic of the network interfaces",
    read_traffic,
    (Traffic,),
    (Need(PROC_DEV, "bytes, packets, errors and drops of every interface", filled=True, everyone=True),),
    LIVE,
    derives=(Derivation(Traffic, InterfaceActivity, activity),),
    eager=True,
    stirs=stirs,
)

INTERFACES = Collector(
    "interfaces",
    "Network interfaces, their links and errors",
    read_interfaces,
    (Interface,),
    (
        Need(f"list:{CLASS}", "which interfaces there are", everyone=True),
        Need(f"list:{CLASS}/*", "the interfaces below them, and their kind"),
        Need(
            f"{CLASS}/*/*",
            "MTU, speed, duplex, state, carrier, kind, addresses",
            filled=("mtu", "operstate", "speed", "carrier_changes", "flags", "ifindex"),
        ),
        Need(f"{CLASS}/*/statistics/*", "errors and drops one by one", filled=True),
        Need(f"link:{CLASS}/*/master", "the bond or bridge it belongs to"),
        Need(f"link:{CLASS}/*/device/driver", "driver of an interface"),
    ),
    10.0,
    deadline=5.0,
    fingerprint=fingerprint,
    resting=30.0,
)
