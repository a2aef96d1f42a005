"""Network interfaces: traffic from /proc/net/dev every second, link state from sysfs less often."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from sdstop.collectors.network import netclass
from sdstop.collectors.network.readings import CLASS, PROC_DEV, STATISTICS, Interface, InterfaceActivity, Traffic
from sdstop.core import format as human
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Derivation, Reading
from sdstop.core.text import is_whole

_COLUMNS = 16
"""Counters in a line of /proc/net/dev."""


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
    before, now = _KNOWN.rows, dict[str, Traffic | None]()
    for line in text.splitlines()[2:]:
        now[line] = before[line] if line in before else _traffic(line)
    _KNOWN.rows = now
    return [row for row in now.values() if row is not None]


class _LastLines:
    """Rows of the lines of the text that was parsed last: most interfaces of a node of containers are at rest."""

    def __init__(self) -> None:
        self.rows: dict[str, Traffic | None] = {}


_KNOWN = _LastLines()


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
"""Digits of the largest counter of 64 bits."""


def _interface(host: Host, folder: netclass.Folder, *, measured: bool) -> Interface:
    base = f"{CLASS}/{folder.name}"
    flags = host.number(f"{base}/flags")
    carrier = host.maybe(f"{base}/carrier")  # EINVAL while the interface is down
    speed = host.number(f"{base}/speed") if measured else None
    duplex = host.maybe(f"{base}/duplex") if measured else None
    statistics: list[Any] = [host.number(f"{base}/statistics/{name}") for name in STATISTICS.values()]
    parents = folder.lower if folder.kind not in {"bond", "bridge", "team"} else ()
    return Interface(  # by position, in a tenth of the time: a node may have thousands
        folder.name,
        folder.kind,
        host.maybe(f"{base}/operstate") or None,
        None if flags is None else bool(flags & _UP),
        carrier == "1" if carrier in {"0", "1"} else None,
        _changes(host, folder.name),
        host.number(f"{base}/mtu"),
        # -1, 0 and 4294967295 all mean unknown.
        speed * _MEGABIT if speed is not None and 0 < speed < 0xFFFFFFFF else None,
        duplex if duplex in {"full", "half"} else None,
        host.target(f"{base}/master"),
        parents[0] if len(parents) == 1 else None,
        host.target(f"{base}/device/driver") if folder.kind == "physical" else None,
        host.maybe(f"{base}/address") or None,
        host.number(f"{base}/ifindex"),
        *statistics,
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
