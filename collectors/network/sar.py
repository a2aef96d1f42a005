"""Network statistics from recorded output of `sar -n DEV` and `sar -n EDEV` (also part of `sar -A`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.form import Form, Several
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source
from sdstop.core.text import added
from sdstop.readings.sysstat import BANNER_FORM, STAMP_FORM, Figures, shows, stamped_rows, without_host

_BYTES = {"rxkB/s": 1024, "rxbyt/s": 1, "txkB/s": 1024, "txbyt/s": 1}


class InterfaceDay(Reading, frozen=True, kw_only=True):
    """Activity of an interface over the time recorded by sysstat: means of all intervals, and the largest one.

    `since` and `to` are times of day as printed, in the node's time zone. Errors and drops are None if only
    `sar -n DEV` was recorded, traffic if only `sar -n EDEV` was.
    """

    family: ClassVar[str] = "interface_day"
    title: ClassVar[str] = "Network statistics recorded by sar"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", " {interface} ")
    things: ClassVar = {
        "interface": Identity(None, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    intervals: Annotated[int, Metric("Intervals", "Number of recorded intervals")]
    since: Annotated[str, Fact("From", "End of the first interval", plain=True)]
    to: Annotated[str, Fact("To", "End of the last interval", plain=True)]
    rx: Annotated[float | None, Metric("RX", "Mean bytes received per second", "bytes_per_second")]
    rx_most: Annotated[
        float | None, Metric("RX at most", "Bytes received per second in the busiest interval", "bytes_per_second")
    ]
    tx: Annotated[float | None, Metric("TX", "Mean bytes sent per second", "bytes_per_second")]
    tx_most: Annotated[
        float | None, Metric("TX at most", "Bytes sent per second in the busiest interval", "bytes_per_second")
    ]
    busy_most: Annotated[
        float | None, Metric("Used at most", "Share of the line rate that was used in the busiest interval", "ratio")
    ]
    rx_errors: Annotated[float | None, Metric("RX err/s", "Mean receive errors per second", "per_second")]
    tx_errors: Annotated[float | None, Metric("TX err/s", "Mean transmit errors per second", "per_second")]
    rx_dropped: Annotated[float | None, Metric("RX drop/s", "Mean frames dropped on receiving", "per_second")]
    tx_dropped: Annotated[float | None, Metric("TX drop/s", "Mean frames dropped on sending", "per_second")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


def parse(text: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return the values of all tables of interfaces by interface and time: {"eth0": {"12:10:01": {"rxkB/s": 1.0}}}.

    12:00:01        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
    12:10:01         eth0      1.00      1.00      0.10      0.10      0.00      0.00      0.00      0.00

    12:00:01        IFACE   rxerr/s   txerr/s    coll/s  rxdrop/s  txdrop/s  txcarr/s  rxfram/s  rxfifo/s  txfifo/s
    12:10:01         eth0      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00
    """
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for row in stamped_rows(text, "IFACE"):
        found[row.device].setdefault(row.at, {}).update(row.figures)
    return dict(found)


def day(interface: str, intervals: Mapping[str, Figures], origin: str) -> InterfaceDay:
    """Return the InterfaceDay of an interface."""
    rows = list(intervals.values())
    times = list(intervals)

    def values(*names: str) -> list[float]:
        return [row[name] * _BYTES.get(name, 1) for row in rows for name in names if name in row]

    def mean(of: list[float]) -> float | None:
        return added(of) / len(of) if of else None

    received, sent, used = values("rxkB/s", "rxbyt/s"), values("txkB/s", "txbyt/s"), values("%ifutil")
    return InterfaceDay(
        interface=interface,
        intervals=len(rows),
        since=times[0],
        to=times[-1],
        rx=mean(received),
        rx_most=max(received, default=None),
        tx=mean(sent),
        tx_most=max(sent, default=None),
        busy_most=max(used) / 100 if used else None,
        rx_errors=mean(values("rxerr/s")),
        tx_errors=mean(values("txerr/s")),
        rx_dropped=mean(values("rxdrop/s")),
        tx_dropped=mean(values("txdrop/s")),
        origin=origin,
    )


def read(host: Host) -> Iterable[Reading]:
    """Return an InterfaceDay for each interface, of all recorded outputs.

    Raises Absent if none has a table of interfaces.
    """
    tables: dict[str, dict[str, dict[str, float]]] = {}
    origins: dict[str, str] = {}
    for key in host.recorded_texts("sar", shows("IFACE")):
        for interface, intervals in parse(host.recorded_output(key.partition(":")[2]).text).items():
            origins.setdefault(interface, key)
            for at, figures in intervals.items():
                tables.setdefault(interface, {}).setdefault(at, {}).update(figures)
    if not tables:
        raise Absent(NETWORK.key, "none recorded; not used on a live node", recorded=False)
    return [day(interface, intervals, origins[interface]) for interface, intervals in tables.items()]


NETWORK = Form(
    key="cmd:sar -n DEV",
    first=rf"(?:{BANNER_FORM})?{STAMP_FORM}(?:IFACE\s+rx\w+/s\s|rx\w+/s\s.*\sIFACE$)",
    reads="traffic, errors and drops of interfaces",
    versions="sysstat 9.1 and later",
    several=Several.JOINED,
)
SAR_NETWORK = Collector(
    "sar-network",
    "Recorded sar -n DEV",
    read,
    (InterfaceDay,),
    (Need("cmd:sar *", "traffic of interfaces, from captures and sosreports only; never run", redact=without_host),),
    pace=SLOW,
    forms=(NETWORK,),
)
