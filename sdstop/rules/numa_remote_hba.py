"""Disks that are all on one of several NUMA nodes: I/O from the other nodes crosses between the sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sdstop.collectors.fabric.hba import DiskPath, Hba
from sdstop.collectors.fabric.interrupts import CardInterrupts
from sdstop.collectors.fabric.numa import InterfaceNode, NumaNode
from sdstop.collectors.network.interfaces import Interface
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.history import Window
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
        yield Unchecked(f"the firmware does not say near which node {unknown} of {disks.total()} disks are")
        return
    node, most = near.most_common(1)[0]
    spread = ", ".join(f"node{number}: {count} disks" for number, count in sorted(near.items()))
    here = [row for row in hbas if row.node == node]
    if most / disks.total() < limits["share"]:
        yield from passed(places, f"HBAs are near several nodes ({spread})")
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
        said = f"1 HBA with {most} disks, which is near one node or the other"
        yield RuledOut(f"node{node}", said, others=others)


def _interrupts(window: Window, hba: Hba, limits: Limits) -> Iterator[Verdict]:
    """Judge which CPUs handle an HBA's interrupts: completed data is in the caches and memory of their node."""
    row = window.get(CardInterrupts, hba.hba)
    if row is None or row.far is None or row.node is None:
        return
    if row.far / row.irqs < limits["far"]:
        yield RuledOut(hba.hba, f"{row.irqs - row.far} of {row.irqs} interrupts go to CPUs of its own node{row.node}")
        return
    yield Finding(
        severity=Severity.INFO,
        subject=hba.hba,
        cause=(
            f"{row.far} of its {row.irqs} interrupts go to CPUs of other nodes ({row.cpus}); it is near node{row.node}"
        ),
        values=(
            Value(
                "far", "interrupts that only CPUs of other nodes take", row.far / row.irqs, "ratio", above=limits["far"]
            ),
            Value("irqs", "message interrupts that it has", row.irqs),
        ),
        evidence=cites(window.cite(row, "far"), window.cite(row)),
        advice=(
            (
                f"cd /proc/irq && grep . $(ls /sys/bus/pci/devices/{quoted(hba.hba)}/msi_irqs | sed "
                "s,$,/effective_affinity_list,)"
            ),
            "systemctl status irqbalance   # it moves interrupts; those that the kernel manages nobody can move",
        ),
        refuted_by="interrupts that hardly ever come: /proc/interrupts counts them by CPU",
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
    others = ", ".join(row.node for number, row in sorted(nodes.items()) if number != node)
    text = f"{count} of {disks.total()} disks hang on {len(here)} HBAs near node{node} of {len(nodes)}"
    if bare:
        text += ", which has no memory: all their data cross to another node"
    else:
        text += f": what CPUs of {others} read and write crosses between the nodes"
    if cards:
        text += f"; the network cards with a link are near other nodes ({', '.join(cards)}), so what they serve crosses"
    taken = [found for hba in here if (found := window.get(CardInterrupts, hba.hba)) and found.far is not None]
    far, irqs = sum(found.far or 0 for found in taken), sum(found.irqs for found in taken)
    return Finding(
        severity=Severity.WARNING if bare else Severity.INFO,
        subject=f"node{node}",
        cause=text,
        values=(
            Value("share", "share of the disks that are near this node", count / disks.total(), "ratio"),
            Value("hbas", "HBAs near this node", len(here)),
            Value("far", "share of their interrupts that other nodes take", far / irqs if irqs else None, "ratio"),
            *(Value(f"memory{number}", f"memory of {row.node}", row.memory, "bytes") for number, row in nodes.items()),
        ),
        evidence=cites(
            *(window.cite(row, "node") for row in here[:4]),
            *(window.cite(row, "memory") for row in nodes.values() if bare and row.memory == 0),
            *(window.cite(row) for name in cards[:2] if (row := window.get(InterfaceNode, name)) is not None),
        ),
        advice=(
            f"numactl --cpunodebind={node} COMMAND   # keep the work near the disks",
            f"move HBAs into slots of {others}: the board's manual says which these are",
            "numastat -n; grep . /sys/devices/system/node/node*/numastat   # other_node: how much does cross",
        ),
        refuted_by=f"a load that runs on CPUs of node{node} alone, in memory of that node",
    )


NUMA_REMOTE_HBA = Rule(
    "numa-remote-hba",
    "all disks are near one NUMA node of several",
    Severity.WARNING,
    _check,
    (NumaNode, Hba, DiskPath),
    (
        Threshold("share", 0.9, "share of the disks near one node", "ratio"),
        Threshold("far", 0.5, "share of an HBA's interrupts that only CPUs of other nodes take", "ratio"),
    ),
    either=3,
    covers=(Covers(Hba, "node{node}"),),
)
