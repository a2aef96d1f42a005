"""Fibre Channel ports: state, speed, and the errors that the adapter counts."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.fabric.port_readings import FC_HOSTS, GIGABIT, STATISTICS, FcPort
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

_UNSUPPORTED = 0xFFFF_FFFF_FFFF_FFFF
"""Value of a counter that the driver does not keep (-1 of 64 bits)."""
_SPEED = expression(r"(\d{1,4}) Gbit")


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each port. Raises Absent without any."""
    names = host.entries(FC_HOSTS)
    if not names:
        raise Absent(f"list:{FC_HOSTS}", "no Fibre Channel port")
    return [_port(host, name) for name in names]


def _port(host: Host, name: str) -> FcPort:
    base = f"{FC_HOSTS}/{name}"
    speed = _SPEED.fullmatch(host.maybe(f"{base}/speed") or "")
    counts = {field: _count(host, f"{base}/statistics/{file}") for field, file in STATISTICS.items()}
    return FcPort(
        name,
        host.maybe(f"{base}/port_name") or None,
        host.maybe(f"{base}/port_state") or None,
        int(speed[1]) * GIGABIT if speed is not None else None,
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
        Need(f"list:{FC_HOSTS}", "which ports there are"),
        Need(f"{FC_HOSTS}/*/*", "state, speed and name of a port", filled=("port_state", "port_name", "speed")),
        *(Need(f"{FC_HOSTS}/*/statistics/{name}", "errors of the link", filled=True) for name in STATISTICS.values()),
    ),
    SLOW,
    deadline=10.0,
)
