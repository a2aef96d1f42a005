"""numa-imbalance: memory of nodes, full nodes, pages from far away."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.collectors.fabric.numa import NUMA
from sdstop.collectors.fabric.readings import NODES
from sdstop.core.finding import Severity
from sdstop.rules.memory.numa_imbalance import NUMA_IMBALANCE
from tests.nodes.frames import Judged, value

GIB = 1 << 20
"""In KiB, as meminfo has it."""


def node(
    number: int, memory: int | None = 64 * GIB, cpus: str | None = None, free: int = GIB, **pages: int
) -> dict[str, str]:
    base = f"{NODES}/node{number}"
    counters = {"numa_miss": 0, "numa_foreign": 0, "local_node": 0, "other_node": 0} | pages
    found = {
        f"{base}/cpulist": f"{number * 8}-{number * 8 + 7}\n" if cpus is None else cpus,
        f"{base}/numastat": "".join(f"{name} {count}\n" for name, count in counters.items()),
    }
    if memory is not None:
        total = f"Node {number} MemTotal: {memory} kB\nNode {number} MemFree: {free} kB\n"
        found[f"{base}/meminfo"] = total
    return found


def judged(*moments: Sequence[dict[str, str]]) -> Judged:
    shown = [(10.0 * n, {k: v for part in found for k, v in part.items()}) for n, found in enumerate(moments)]
    return Judged([NUMA], [NUMA_IMBALANCE], shown)


def test_equal_memory_is_good() -> None:
    assert "2 nodes with similar memory" in judged([node(0), node(1)]).ruled_out("memory").summary
    judged([node(0, 96 * GIB), node(1)]).ruled_out("memory")


def test_unequal_memory_is_worth_knowing() -> None:
    finding = judged([node(0, 97 * GIB), node(1)]).finding("memory")
    assert finding.severity is Severity.INFO
    assert finding.cause == "Memory per node: 64 GiB to 97 GiB."


def test_a_node_without_memory_is_a_warning() -> None:
    finding = judged([node(0), node(1, 0)]).finding("memory")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "node1 has CPUs but no memory."


def test_memory_without_cpus_is_of_another_kind() -> None:
    assert judged([node(0), node(1, 512 * GIB, cpus="\n")]).silent()
    judged([node(0), node(1), node(2, 512 * GIB, cpus="\n")]).ruled_out("memory")


def test_one_node_is_nothing_to_say() -> None:
    assert judged([node(0)]).silent()


def test_memory_that_is_not_told_is_not_checked() -> None:
    assert "memory of node1 unknown" in judged([node(0), node(1, None)]).unchecked("memory").reason


def far(local: int, other: int, times: int = 3) -> Judged:
    """Return what is said where so many pages come in each ten seconds."""
    return judged(*([node(0, local_node=local * n, other_node=other * n), node(1)] for n in range(times)))


def test_pages_from_other_nodes() -> None:
    finding = far(80_000, 20_000).finding("node0")
    assert finding.severity is Severity.INFO
    assert value(finding, "remote") == 0.2
    assert "20.0% of 10000 pages/s" in finding.cause
    far(81_000, 20_000).ruled_out("node0")
    far(7_000, 2_900).ruled_out("node0")


def test_one_reading_is_not_enough() -> None:
    assert far(0, 90_000, times=2).unchecked("node0").reason == "collecting data: 1 of 2 samples"


def full(foreign: int, local: int = 90_000) -> Judged:
    return judged(*(
        [node(0, free=4096, local_node=local * n, numa_foreign=foreign * n), node(1, numa_miss=foreign * n)]
        for n in range(3)
    ))  # fmt: skip


def test_a_full_node_is_a_warning() -> None:
    finding = full(10_000).finding("node0")
    assert finding.severity is Severity.WARNING
    assert finding.title == "NUMA NODE FULL"
    assert finding.cause == "10.0% of its allocations (1000 pages/s) go to other nodes."
    assert value(finding, "free") == 4 << 20
    full(9_990).ruled_out("node0")
    full(10_000, 91_000).ruled_out("node0")
