"""Disks that are all on one of several NUMA nodes: I/O from the other nodes crosses between the sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sdstop.collectors.fabric.readings import CardInterrupts, DiskPath, Hba, InterfaceNode, NumaNode
from sdstop.collectors.network.readings import Interface
from sdstop.core.advice import run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites, passed, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.core.shell import quoted


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    nodes = {row.number: row for row in window.rows(NumaNode).values()}
    disks = Counter(path.hba for path in window.rows(DiskPath).values())
    hbas = [row for row in window.rows(Hba).values() if disks[row.hba]]
    places = sorted({f"node{row.node}" for row in window.rows(Hba).values() if row.node is not None})
    if len(nodes) < 2 or not hbas:
        why = "not applicable: 1 NUMA node" if len(nodes) < 2 else "no disks behind HBAs"
        yield from unchecked(places, why, calm=True)
        return
    unknown = sum(disks[row.hba] for row in hbas if row.node is None)
    for row in hbas:
        yield from _interrupts(window, row, limits)
    near: Counter[int] = Counter()
    for row in hbas:
        if row.node is not None:
            near[row.node] += disks[row.hba]
    if not near or unknown / disks.total() > 1 - limits["share"]:
        yield Unchecked(f"firmware gives no NUMA node for {unknown} of {disks.total()} disks")
        return
    node, most = near.most_common(1)[0]
    spread = ", ".join(f"node{number}: {count} disks" for number, count in sorted(near.items()))
    here = [row for row in hbas if row.node == node]
    if most / disks.total() < limits["share"]:
        yield from passed(places, f"HBAs on several nodes ({spread})")
        return
    others = tuple(place for place in places if place != f"node{node}")
    bare = node in nodes and nodes[node].memory == 0
    cards = _cards(window)
    apart = sorted(name for name, at in cards.items() if at != node)
    crossing = bool(cards) and len(apart) == len(cards)
    if bare or crossing or len(here) > 1:
        found = _finding(window, node, here, disks, nodes, apart if crossing else [], bare=bare)
        yield replace(found, others=others)
    else:
        said = f"1 HBA with {most} disks, necessarily on one node"
        yield RuledOut(f"node{node}", said, others=others)


def _interrupts(window: Window, hba: Hba, limits: Limits) -> Iterator[Verdict]:
    """Judge which CPUs handle an HBA's interrupts: completed data is in the caches and memory of their node."""
    row = window.get(CardInterrupts, hba.hba)
    if row is None or row.far is None or row.node is None:
        return
    if row.far / row.irqs < limits["far"]:
        yield RuledOut(hba.hba, f"{row.irqs - row.far} of {row.irqs} interrupts on CPUs of its own node{row.node}")
        return
    yield Finding(
        severity=Severity.INFO,
        subject=hba.hba,
        title="REMOTE INTERRUPTS",
        cause=f"{row.far} of {row.irqs} interrupts go to other nodes; the HBA is on node{row.node}.",
        impact="Completed data can cross the interconnect once more.",
        values=(
            Value("far", "interrupts on other nodes only", row.far / row.irqs, "ratio", above=limits["far"]),
            Value("irqs", "message interrupts", row.irqs),
            Value("cpus", "CPUs that take them", row.cpus),
        ),
        evidence=cites(window.cite(row, "far"), window.cite(row)),
        advice=(
            run("systemctl", "status", "irqbalance", note="moves interrupts, except managed ones"),
            run("ls", f"/sys/bus/pci/devices/{hba.hba}/msi_irqs", note="its interrupts"),
            run("grep", "-r", "", "/proc/irq", "--include=effective_affinity_list", note="CPUs of every interrupt"),
        ),
        refuted_by=f"effective_affinity_list with CPUs of node{row.node}",
        harmless_if="the interrupt rate is low (/proc/interrupts)",
    )


def _cards(window: Window) -> dict[str, int]:
    """Return the node of each network card with a link; empty if any of them is unknown."""
    found = {}
    for row in window.rows(InterfaceNode).values():
        known = window.get(Interface, row.interface)
        if known is not None and not known.carrier:
            continue
        if row.node is None:
            return {}
        found[row.interface] = row.node
    return found


def _finding(
    window: Window,
    node: int,
    here: list[Hba],
    disks: Counter[str],
    nodes: dict[int, NumaNode],
    cards: list[str],
    *,
    bare: bool,
) -> Finding:
    count = sum(disks[row.hba] for row in here)
    others = ", ".join(quoted(row.node) for number, row in sorted(nodes.items()) if number != node)
    impact = f"I/O from CPUs of {others} crosses the interconnect."
    if bare:
        impact = f"node{node} has no memory: all its data crosses the interconnect."
    elif cards:
        impact = "The network cards are on other nodes: all data served cross."
    taken = [found for hba in here if (found := window.get(CardInterrupts, hba.hba)) and found.far is not None]
    far, irqs = sum(found.far or 0 for found in taken), sum(found.irqs for found in taken)
    return Finding(
        severity=Severity.WARNING if bare else Severity.INFO,
        subject=f"node{node}",
        title="DISKS ON ONE NUMA NODE",
        cause=f"{count} of {disks.total()} disks are attached to {len(here)} HBAs on node{node} of {len(nodes)}.",
        impact=impact,
        values=(
            Value("share", "disks on this node", count / disks.total(), "ratio"),
            Value("hbas", "HBAs on this node", len(here)),
            Value("far", "interrupts on other nodes", far / irqs if irqs else None, "ratio"),
            *((Value("cards", "network cards on other nodes", ", ".join(cards)),) if cards else ()),
            *(Value(f"memory{number}", f"memory of {row.node}", row.memory, "bytes") for number, row in nodes.items()),
        ),
        evidence=cites(
            *(window.cite(row, "node") for row in here[:4]),
            *(window.cite(row, "memory") for row in nodes.values() if bare and row.memory == 0),
            *(window.cite(row) for name in cards[:2] if (row := window.get(InterfaceNode, name)) is not None),
        ),
        advice=(
            f"Move HBAs to slots of {others} (see the board manual).",
            run("numactl", f"--cpunodebind={node}", "COMMAND", note="the load beside its disks"),
            run("numastat", note="other_node: cross-node traffic"),
        ),
        refuted_by="numa_node files of HBAs that are on other nodes",
        harmless_if=f"the load runs only on CPUs and memory of node{node}",
        view_subject=here[0].hba,
    )


NUMA_REMOTE_HBA = Rule(
    "numa-remote-hba",
    "all disks attached to one of several NUMA nodes, or HBA interrupts on another node",
    Severity.WARNING,
    _check,
    (NumaNode, Hba, DiskPath),
    (
        Threshold("share", 0.9, "share of the disks on one node", "ratio"),
        Threshold("far", 0.5, "share of an HBA's interrupts on other nodes", "ratio"),
    ),
    either=3,
    covers=(Covers(Hba, "node{node}"),),
    standing=True,
    view="fabric",
    advice="Move HBAs to slots of the node that has the memory (see the board manual).",
)
