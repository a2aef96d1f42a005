"""NUMA node of a PCI function, as reported by the firmware for the function or a bridge above it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sdstop.collectors.fabric.cpulist import parse_cpulist
from sdstop.collectors.fabric.place import parse_place
from sdstop.collectors.fabric.readings import NODES, PCI
from sdstop.core.host import Host, TimedOut, Unreadable

FIRMWARE, BRIDGE, CPUS = "firmware", "bridge", "cpus"


def node_cpus(host: Host) -> dict[int, frozenset[int]]:
    """Return the CPUs of each NUMA node; empty if the machine does not report its nodes."""
    found = {}
    for name in host.names(NODES):
        if re.fullmatch(r"node\d{1,4}", name):
            cpus = parse_cpulist(host.maybe(f"{NODES}/{name}/cpulist"))
            if cpus is not None:
                found[int(name.removeprefix("node"))] = cpus
    return found


def functions(host: Host, address: str) -> tuple[str, ...]:
    """Return the PCI functions on the path to one, outermost first, including the function itself."""
    try:
        return parse_place(host.link(f"{PCI}/{address}")).functions
    except TimedOut:
        raise
    except Unreadable:
        return ()


def node_of(
    host: Host, address: str, above: tuple[str, ...], nodes: Mapping[int, frozenset[int]]
) -> tuple[int | None, str | None]:
    """Return a function's NUMA node and its origin (firmware, bridge, cpus); None, None if unknown.

    Firmware reports -1 for many functions. A function is on the same node as the bridge above it. Before Linux 2.6.32
    local_cpulist still listed the CPUs of the bus; later kernels list all CPUs. `above` lists the bridges, outermost
    first. The node of another function on the same bus is never used.
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
