"""NUMA nodes: CPUs, memory, distances and page allocation; NUMA nodes of network cards."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.collectors.fabric.locality import FIRMWARE, functions, node_cpus, node_of
from sdstop.collectors.fabric.place import is_function
from sdstop.collectors.fabric.readings import NET, NODES, PCI, InterfaceNode, NumaActivity, NumaNode
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Host
from sdstop.core.model import Derivation, Reading

CPUS = "/sys/devices/system/cpu"


_FIRST = expression(r"\d{1,5}", re.ASCII)
_MEMORY = expression(r"^Node \d+ (MemTotal|MemFree):\s+(\d{1,18}) kB$", re.MULTILINE)
_COUNT = expression(r"^(\w+) (\d{1,20})$", re.MULTILINE)


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse a node's meminfo into bytes by name.

    Node 0 MemTotal:       65842300 kB
    Node 0 MemFree:         1234567 kB
    """
    return {name: int(kib) * 1024 for name, kib in _MEMORY.findall(text)}


def parse_numastat(text: str) -> dict[str, int]:
    """Parse a node's numastat into pages by name.

    numa_miss 0
    local_node 37242
    other_node 528
    """
    return {name: int(pages) for name, pages in _COUNT.findall(text)}


def first_cpu(cpus: str | None) -> int | None:
    """Return the first CPU of a list such as `0-7,16-23`, None if there is none."""
    found = _FIRST.match(cpus or "")
    return int(found[0]) if found else None


def _node(host: Host, name: str) -> NumaNode:
    base = f"{NODES}/{name}"
    cpus = host.maybe(f"{base}/cpulist")
    first = first_cpu(cpus)
    memory = parse_meminfo(host.maybe(f"{base}/meminfo") or "")
    pages = parse_numastat(host.maybe(f"{base}/numastat") or "")
    return NumaNode(
        node=name,
        cpus=cpus,
        distance=host.maybe(f"{base}/distance") or None,
        memory=memory.get("MemTotal"),
        free=memory.get("MemFree"),
        local=pages.get("local_node"),
        other=pages.get("other_node"),
        missed=pages.get("numa_miss"),
        foreign=pages.get("numa_foreign"),
        socket=host.number(f"{CPUS}/cpu{first}/topology/physical_package_id") if first is not None else None,
    )


def read(host: Host) -> Iterable[Reading]:
    """Yield every NUMA node, and the NUMA node of every network card."""
    for name in host.names(NODES):
        if re.fullmatch(r"node\d{1,4}", name):
            yield _node(host, name)
    nodes = None
    for name in host.names(NET):
        node = host.number(f"{NET}/{name}/device/numa_node")
        if node is None:
            continue
        address, by = host.target(f"{NET}/{name}/device"), FIRMWARE if node >= 0 else None
        if node < 0 and address is not None and is_function(address):
            nodes = node_cpus(host) if nodes is None else nodes
            known, by = node_of(host, address, functions(host, address)[:-1], nodes)
            node = -1 if known is None else known
        yield InterfaceNode(name, node if node >= 0 else None, by)


def activity(before: NumaNode, after: NumaNode, seconds: float) -> NumaActivity | None:
    """Return the page allocation between two samples; None if it is not counted or a counter was reset."""
    if seconds <= 0 or before.local is None or after.local is None or before.other is None or after.other is None:
        return None
    local, other = after.local - before.local, after.other - before.other
    missed = after.missed - before.missed if after.missed is not None and before.missed is not None else None
    foreign = after.foreign - before.foreign if after.foreign is not None and before.foreign is not None else None
    if min(local, other, missed or 0, foreign or 0) < 0:
        return None
    pages = local + other
    return NumaActivity(
        after.node,
        pages / seconds,
        None if missed is None else missed / seconds,
        None if foreign is None else foreign / seconds,
        other / pages if pages else None,
    )


NUMA = Collector(
    "numa",
    "NUMA nodes, and the nodes of network cards",
    read,
    (NumaNode, InterfaceNode),
    (
        Need(f"list:{NODES}", "which nodes there are"),
        Need(
            f"{NODES}/*/*",
            "CPUs, memory, distances, and origin of pages",
            filled=("meminfo", "numastat", "distance"),
        ),
        Need(f"{CPUS}/cpu*/topology/physical_package_id", "the processor socket of a node"),
        Need(f"list:{NET}", "which interfaces there are"),
        Need(f"{NET}/*/device/numa_node", "the node of a network card"),
        Need(f"link:{NET}/*/device", "which PCI function it is, where the firmware does not say its node"),
        Need(f"link:{PCI}/*", "bridges above a network card"),
        Need(f"{PCI}/*/*", "NUMA nodes of network cards, and the CPUs near them"),
    ),
    10.0,
    deadline=5.0,
    derives=(Derivation(NumaNode, NumaActivity, activity),),
)
