"""Near which NUMA node a PCI function sits, where the firmware says it, or says it of what the function hangs on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sdstop.collectors.fabric.cpulist import parse_cpulist
from sdstop.collectors.fabric.place import parse_place
from sdstop.core.host import Host, TimedOut, Unreadable

PCI = "/sys/bus/pci/devices"
NODES = "/sys/devices/system/node"

FIRMWARE, BRIDGE, CPUS = "firmware", "bridge", "cpus"


def node_cpus(host: Host) -> dict[int, frozenset[int]]:
    """Return the CPUs of each node of the machine; none where it does not tell its nodes."""
    found = {}
    for name in host.names(NODES):
        if re.fullmatch(r"node\d{1,4}", name):
            cpus = parse_cpulist(host.maybe(f"{NODES}/{name}/cpulist"))
            if cpus is not None:
                found[int(name.removeprefix("node"))] = cpus
    return found


def functions(host: Host, address: str) -> tuple[str, ...]:
    """Return the PCI functions on the way to one, outermost first, itself last."""
    try:
        return parse_place(host.link(f"{PCI}/{address}")).functions
    except TimedOut:
        raise
    except Unreadable:
        return ()


def node_of(
    host: Host, address: str, above: tuple[str, ...], nodes: Mapping[int, frozenset[int]]
) -> tuple[int | None, str | None]:
    """Return the node of a function, and by what it is known: firmware, bridge, cpus; None, None where by nothing.

    Firmware says -1 for many functions. A bridge above is as near to the processors as what hangs on it; before Linux
    2.6.32 local_cpulist had the CPUs of the bus all the same, later it has all CPUs. `above` are bridges, outermost
    first. Nothing is taken over from a neighbour on the same bus.
    """
    for function, by in ((address, FIRMWARE), *((bridge, BRIDGE) for bridge in reversed(above))):
        said = host.number(f"{PCI}/{function}/numa_node")
        if said is not None and said >= 0:
            return said, by
    if len(nodes) > 1:
        local = parse_cpulist(host.maybe(f"{PCI}/{address}/local_cpulist"))
        for number, cpus in nodes.items():
            if cpus and cpus == local:
                return number, CPUS
    return None, None
