"""Fibre Channel ports: state, speed, and the errors that the adapter counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, files

CLASS = "/sys/class/fc_host"
_UNSUPPORTED = 0xFFFF_FFFF_FFFF_FFFF
_SPEED = expression(r"(\d{1,4}) Gbit")
_SPEEDS = expression(r"(\d{1,4}) Gbit")
_GIGABIT = 125_000_000
_STATISTICS = {
    "link_failures": "link_failure_count",
    "lost_sync": "loss_of_sync_count",
    "lost_signal": "loss_of_signal_count",
    "invalid_words": "invalid_tx_word_count",
    "invalid_crc": "invalid_crc_count",
}


class FcPort(Reading, frozen=True):
    """A Fibre Channel port of this node (kernel drivers/scsi/scsi_transport_fc.c).

    The counters are those of the link error status block (FC-FS), since the adapter was reset. Each one is a question
    to the adapter, so they are read once a minute.
    """

    family: ClassVar[str] = "fc_port"
    title: ClassVar[str] = "Fibre Channel ports"
    remembered: ClassVar[int] = 64
    rows_of = Source(f"{CLASS}/{{port}}/port_state")
    fields_of: ClassVar = {
        **files(f"{CLASS}/{{port}}", "speed", name="port_name", supported="supported_speeds"),
        **files(f"{CLASS}/{{port}}/statistics", **_STATISTICS),
    }
    things: ClassVar = {"port": Identity(ThingKind.CONTROLLER, Naming.SCSI)}

    port: Annotated[str, Label("Port", "SCSI host of the port: host7", plain=True)]
    name: Annotated[str | None, Fact("WWPN", "World wide name of the port", names=Name.IDENTIFIER)]
    state: Annotated[str | None, State("State", "State of the port: Online, Linkdown, Offline, Blocked, Error ...")]
    speed: Annotated[int | None, Metric("Speed", "Negotiated speed of the port", "bytes_per_second", setting=True)]
    supported: Annotated[str | None, Fact("Supports", "Speeds that the adapter supports", export=False, plain=True)]
    link_failures: Annotated[int | None, Metric("Link failures", "Losses of the link", kind=Kind.COUNTER)]
    lost_sync: Annotated[int | None, Metric("Sync lost", "Losses of synchronization", kind=Kind.COUNTER)]
    lost_signal: Annotated[int | None, Metric("Signal lost", "Losses of the signal", kind=Kind.COUNTER)]
    invalid_words: Annotated[int | None, Metric("Bad words", "Invalid transmission words", kind=Kind.COUNTER)]
    invalid_crc: Annotated[int | None, Metric("Bad CRC", "Frames with a wrong checksum", kind=Kind.COUNTER)]

    @property
    def fastest(self) -> int | None:
        """The fastest supported speed in bytes per second, None if unknown."""
        return max((int(each) * _GIGABIT for each in _SPEEDS.findall(self.supported or "")), default=None)


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each port. Raises Absent without any."""
    names = host.entries(CLASS)
    if not names:
        raise Absent(f"list:{CLASS}", "no Fibre Channel port")
    return [_port(host, name) for name in names]


def _port(host: Host, name: str) -> FcPort:
    base = f"{CLASS}/{name}"
    speed = _SPEED.fullmatch(host.maybe(f"{base}/speed") or "")
    counts = {field: _count(host, f"{base}/statistics/{file}") for field, file in _STATISTICS.items()}
    return FcPort(
        name,
        host.maybe(f"{base}/port_name") or None,
        host.maybe(f"{base}/port_state") or None,
        int(speed[1]) * _GIGABIT if speed is not None else None,
        host.maybe(f"{base}/supported_speeds") or None,
        **counts,
    )


def _count(host: Host, path: str) -> int | None:
    """Return a counter; adapters that do not count it report all bits set."""
    number = host.number(path)
    return number if number is not None and 0 <= number < _UNSUPPORTED else None


FC = Collector(
    "fc",
    "Fibre Channel ports",
    read,
    (FcPort,),
    (
        Need(f"list:{CLASS}", "which ports there are"),
        Need(f"{CLASS}/*/*", "state, speed and name of a port", filled=("port_state", "port_name", "speed")),
        *(Need(f"{CLASS}/*/statistics/{name}", "errors of the link", filled=True) for name in _STATISTICS.values()),
    ),
    SLOW,
    deadline=10.0,
)
