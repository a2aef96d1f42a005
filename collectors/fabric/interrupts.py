"""Interrupts of HBAs and network cards: the CPUs that handle them, and whether those are on the card's NUMA node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sdstop.collectors.fabric.cpulist import cpulist, parse_cpulist
from sdstop.collectors.fabric.locality import functions, node_cpus, node_of
from sdstop.collectors.fabric.readings import IRQ, NODES, PCI, CardInterrupts
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

MOST = 128
"""Maximum number of interrupts checked per card; further queues are spread like the first ones."""
_KINDS = {1: "storage", 2: "network"}


def read(host: Host) -> Iterable[Reading]:
    """Yield a row for each card with message-signaled interrupts. Raise Absent if all CPUs are on one NUMA node."""
    nodes = node_cpus(host)
    if len(nodes) == 1:
        raise Absent(NODES, "all CPUs are on one NUMA node")
    return _rows(host, nodes)


def _rows(host: Host, nodes: Mapping[int, frozenset[int]]) -> Iterator[CardInterrupts]:
    for address in host.names(PCI):
        kind = _KINDS.get((host.number(f"{PCI}/{address}/class") or 0) >> 16)
        if kind is None:
            continue
        irqs = sorted(int(name) for name in host.names(f"{PCI}/{address}/msi_irqs") if name.isdecimal())[:MOST]
        if irqs:
            yield _card(host, address, kind, irqs, nodes)


def _card(host: Host, address: str, kind: str, irqs: list[int], nodes: Mapping[int, frozenset[int]]) -> CardInterrupts:
    node, by = node_of(host, address, functions(host, address)[:-1], nodes)
    taken = {irq: _cpus(host, irq) for irq in irqs}
    near = nodes.get(node) if node is not None else None
    known = {irq: cpus for irq, cpus in taken.items() if cpus}
    far = [irq for irq, cpus in known.items() if near and not cpus & near] if near else None
    return CardInterrupts(
        card=address,
        kind=kind,
        interfaces=",".join(host.names(f"{PCI}/{address}/net")) if kind == "network" else None,
        node=node,
        node_by=by,
        irqs=len(irqs),
        cpus=cpulist(cpu for cpus in known.values() for cpu in cpus) if known else None,
        far=len(far) if far is not None and known else None,
        first_far=far[0] if far else None,
    )


def _cpus(host: Host, irq: int) -> frozenset[int] | None:
    """Return the CPUs that handle an interrupt (since Linux 4.14), or those allowed to (older kernels)."""
    for name in ("effective_affinity_list", "smp_affinity_list"):
        cpus = parse_cpulist(host.maybe(f"{IRQ}/{irq}/{name}"))
        if cpus:
            return cpus
    return None


INTERRUPTS = Collector(
    "interrupts",
    "CPUs that handle interrupts of HBAs and network cards",
    read,
    (CardInterrupts,),
    (
        Need(f"list:{NODES}", "which NUMA nodes there are"),
        Need(f"{NODES}/*/cpulist", "CPUs of a NUMA node"),
        Need(f"list:{PCI}", "which PCI functions there are"),
        Need(f"{PCI}/*/*", "class and NUMA node of a PCI function"),
        Need(f"link:{PCI}/*", "bridges above a PCI function"),
        Need(f"list:{PCI}/*/*", "interrupts and interfaces of a PCI function"),
        Need(f"{IRQ}/*/*", "CPUs that handle an interrupt"),
    ),
    SLOW,
    deadline=5.0,
)
