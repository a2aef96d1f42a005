"""numa-remote-hba: only what the node says of itself."""

from __future__ import annotations

from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.interrupts import INTERRUPTS
from sdstop.collectors.fabric.numa import NUMA
from sdstop.collectors.fabric.readings import IRQ, NET, NODES, PCI
from sdstop.core.finding import Severity
from sdstop.rules.fabric.numa_remote_hba import NUMA_REMOTE_HBA
from tests.nodes.frames import Judged, value
from tests.nodes.hba import Card, files

NAMES = tuple(f"sd{c}" for c in "abcdefghijklmnopqrst")


def nodes(*memory: int) -> dict[str, str]:
    return {
        path: text
        for n, kib in enumerate(memory)
        for path, text in (
            (f"{NODES}/node{n}/cpulist", f"{n * 8}-{n * 8 + 7}\n"),
            (f"{NODES}/node{n}/meminfo", f"Node {n} MemTotal:  {kib} kB\n"),
        )
    }


def judged(*cards: Card, memory: tuple[int, ...] = (1 << 24, 1 << 24), **nics: int) -> Judged:
    network = {f"{NET}/{name}/device/numa_node": f"{node}\n" for name, node in nics.items()}
    return Judged([HBA, NUMA], [NUMA_REMOTE_HBA], [(0.0, files(*cards) | nodes(*memory) | network)])


def two(first: int, second: int, split: int = 10) -> tuple[Card, Card]:
    return Card(0x82, NAMES[:split], node=first), Card(0x83, NAMES[split:], node=second)


def test_all_on_one_node_is_worth_knowing() -> None:
    finding = judged(*two(1, 1)).finding("node1")
    assert finding.severity is Severity.INFO
    assert "20 of 20 disks are attached to 2 HBAs on node1 of 2" in finding.cause
    assert value(finding, "share") == 1.0


def test_a_node_without_memory_is_a_warning() -> None:
    assert judged(*two(1, 1), memory=(1 << 24, 0)).finding("node1").severity is Severity.WARNING


def test_spread_over_nodes_is_good() -> None:
    assert "node0: 10 disks, node1: 10 disks" in judged(*two(0, 1)).ruled_out("node0").summary


def test_nine_of_ten() -> None:
    judged(*two(1, 0, 17)).ruled_out("node1")
    judged(Card(0x82, NAMES[:9], node=1), Card(0x83, NAMES[9:18], node=1), Card(0x84, NAMES[18:], node=0)).finding(
        "node1"
    )


def test_a_network_card_on_the_other_node() -> None:
    finding = judged(*two(1, 1), eth0=0).finding("node1")
    assert finding.severity is Severity.INFO
    assert value(finding, "cards") == "eth0"
    assert "network cards are on other nodes" in finding.impact
    assert "network" not in judged(*two(1, 1), eth0=0, eth1=1).finding("node1").summary
    assert "network" not in judged(*two(1, 1), eth0=0, eth1=-1).finding("node1").summary


def test_one_hba_has_to_be_somewhere() -> None:
    judged(Card(node=1)).ruled_out("node1")
    judged(Card(node=1), eth0=0).finding("node1")


def test_a_node_that_nobody_knows_is_not_guessed() -> None:
    assert "20 of 20 disks" in judged(*two(-1, -1)).unchecked("").reason
    assert "10 of 20 disks" in judged(*two(1, -1)).unchecked("").reason


def test_one_node_is_nothing_to_say() -> None:
    assert judged(*two(0, 0), memory=(1 << 24,)).silent()


def interrupts(*cpus: str) -> Judged:
    """Judge two HBAs near both nodes, of which the first, at node1, has interrupts that go to these CPUs."""
    found = files(*two(1, 0)) | nodes(1 << 24, 1 << 24)
    for n, text in enumerate(cpus):
        found[f"{PCI}/0000:82:00.0/msi_irqs/{n}"] = "msix\n"
        found[f"{IRQ}/{n}/effective_affinity_list"] = f"{text}\n"
    return Judged([HBA, NUMA, INTERRUPTS], [NUMA_REMOTE_HBA], [(0.0, found)])


def test_interrupts_that_go_to_the_other_node() -> None:
    finding = interrupts("0-3", "8").finding("0000:82:00.0")
    assert finding.severity is Severity.INFO
    assert finding.cause == "1 of 2 interrupts go to other nodes; the HBA is on node1."
    assert value(finding, "cpus") == "0-3,8"
    assert finding.evidence[0].key == f"{IRQ}/0/effective_affinity_list"
    assert "2 of 3 interrupts on CPUs of its own node1" in interrupts("8", "9", "1").ruled_out("0000:82:00.0").summary


def test_interrupts_of_hbas_near_one_node_are_among_the_numbers() -> None:
    found = files(*two(1, 1)) | nodes(1 << 24, 1 << 24)
    found |= {f"{PCI}/0000:82:00.0/msi_irqs/7": "msix\n", f"{IRQ}/7/effective_affinity_list": "0\n"}
    said = Judged([HBA, NUMA, INTERRUPTS], [NUMA_REMOTE_HBA], [(0.0, found)])
    assert value(said.finding("node1"), "far") == 1.0


def test_a_node_that_a_bridge_tells() -> None:
    first, second = two(-1, 0)
    found = files(first, second) | nodes(1 << 24, 1 << 24) | {f"{PCI}/0000:80:02.0/numa_node": "1\n"}
    said = Judged([HBA, NUMA], [NUMA_REMOTE_HBA], [(0.0, found)])
    assert "node0: 10 disks, node1: 10 disks" in said.ruled_out("node1").summary
