"""Network statistics from recorded output of `sar -n DEV` and `sar -n EDEV` (also part of `sar -A`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sdstop.collectors.network.path_readings import InterfaceDay
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.form import Form, Several
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import added
from sdstop.readings.sysstat import BANNER_FORM, STAMP_FORM, Figures, shows, stamped_rows, without_host

_BYTES = {"rxkB/s": 1024, "rxbyt/s": 1, "txkB/s": 1024, "txbyt/s": 1}


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
