"""numa-remote-hba: only what the node says of itself."""

from __future__ import annotations

from sdstop.collectors.hba import HBA
from sdstop.collectors.numa import NET, NODES, NUMA
from sdstop.finding import Severity
from sdstop.rules.numa_remote_hba import NUMA_REMOTE_HBA
from tests.frames import Judged, value
from tests.hbanode import Card, files

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
    assert "20 of 20 disks hang on 2 HBAs near node1 of 2" in finding.summary
    assert value(finding, "share") == 1.0


def test_a_node_without_memory_is_a_warning() -> None:
    assert judged(*two(1, 1), memory=(1 << 24, 0)).finding("node1").severity is Severity.WARNING


def test_spread_over_nodes_is_good() -> None:
    assert "node0: 10 disks, node1: 10 disks" in judged(*two(0, 1)).ruled_out("").summary


def test_nine_of_ten() -> None:
    judged(*two(1, 0, 17)).ruled_out("")
    judged(Card(0x82, NAMES[:9], node=1), Card(0x83, NAMES[9:18], node=1), Card(0x84, NAMES[18:], node=0)).finding(
        "node1"
    )


def test_a_network_card_on_the_other_node() -> None:
    finding = judged(*two(1, 1), eth0=0).finding("node1")
    assert finding.severity is Severity.INFO
    assert "(eth0)" in finding.summary
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
