"""RDMA ports: InfiniBand and RoCE adapters, the errors of their links, and their retransmissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sdstop.collectors.fabric.port_readings import COUNTERS, HARDWARE, INFINIBAND, RdmaPort
from sdstop.collectors.fabric.rdma_text import FORMS, recorded_ports
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

_RATE = expression(r"(\d{1,5}(?:\.\d)?) Gb/sec(?: \((?:(\d{1,2})X)?.{0,30}\))?")
_NUMBERED = expression(r"\d{1,2}: (.{1,40})")
_GIGABIT = 125_000_000
"""Bytes per second of 1 Gbit/s."""


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each port, of sysfs or else of recorded outputs. Raises Absent without any."""
    try:
        adapters = host.entries(INFINIBAND)
    except Absent:
        if recorded := recorded_ports(host):
            return recorded
        raise
    rows = [
        _port(host, adapter, number) for adapter in adapters for number in host.names(f"{INFINIBAND}/{adapter}/ports")
    ]
    if not rows:
        raise Absent(f"list:{INFINIBAND}", "no RDMA adapter")
    return rows


def _port(host: Host, adapter: str, number: str) -> RdmaPort:
    base = f"{INFINIBAND}/{adapter}/ports/{number}"
    rate = _RATE.fullmatch(host.maybe(f"{base}/rate") or "")
    state = _NUMBERED.fullmatch(host.maybe(f"{base}/state") or "")
    physical = _NUMBERED.fullmatch(host.maybe(f"{base}/phys_state") or "")
    interfaces = host.names(f"{INFINIBAND}/{adapter}/device/net")
    folders = ((COUNTERS, "counters"), (HARDWARE, "hw_counters"))
    counts: dict[str, Any] = {
        field: host.number(f"{base}/{folder}/{file}") for names, folder in folders for field, file in names.items()
    }
    return RdmaPort(
        adapter,
        number,
        host.maybe(f"{base}/link_layer") or None,
        state[1] if state is not None else None,
        int(float(rate[1]) * _GIGABIT) if rate is not None else None,
        interfaces[0] if len(interfaces) == 1 else None,
        **counts,
        lanes=int(rate[2]) if rate is not None and rate[2] is not None else None,
        physical=physical[1] if physical is not None else None,
    )


RDMA = Collector(
    "rdma",
    "RDMA ports",
    read,
    (RdmaPort,),
    (
        Need(f"list:{INFINIBAND}", "which adapters there are"),
        Need(f"list:{INFINIBAND}/*/ports", "ports of an adapter"),
        Need(f"list:{INFINIBAND}/*/device/net", "network interface of an adapter"),
        Need(f"{INFINIBAND}/*/ports/*/*", "state, rate and layer of a port", filled=("state", "rate", "link_layer")),
        *(Need(f"{INFINIBAND}/*/ports/*/counters/{name}", "errors of the link") for name in COUNTERS.values()),
        *(Need(f"{INFINIBAND}/*/ports/*/hw_counters/{name}", "packets sent again") for name in HARDWARE.values()),
        Need("cmd:ibstat*", "states of ports, from captures only; never run"),
        Need("cmd:ibstatus*", "states, rates and lanes of ports, from captures only"),
        Need("cmd:rdma *", "states of ports, from captures only"),
    ),
    SLOW,
    deadline=10.0,
    forms=FORMS,
)
