"""NUMA nodes in sysfs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.numa import CPUS, NUMA, activity, first_cpu, parse_meminfo, parse_numastat
from sdstop.collectors.fabric.readings import NET, NODES, InterfaceNode, NumaNode
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.model import Reading, Source
from sdstop.core.replay import Replay
from sdstop.core.topologies import Topologies
from tests.fixtures import opened

NODE = {
    f"{NODES}/node1/cpulist": "8-15,24-31\n",
    f"{NODES}/node1/distance": "21 10\n",
    f"{NODES}/node1/meminfo": "Node 1 MemTotal:       16461000 kB\nNode 1 MemFree:           51200 kB\n",
    f"{NODES}/node1/numastat": "numa_hit 12\nnuma_miss 3\nlocal_node 300\nother_node 100\n",
    f"{NODES}/online": "0-1\n",
}


def rows(found: dict[str, str]) -> list[Reading]:
    return list(NUMA.read(EvidenceHost.of(found)))


def test_a_node() -> None:
    (row,) = rows(NODE)
    assert isinstance(row, NumaNode)
    assert (row.node, row.number, row.cpus, row.distance) == ("node1", 1, "8-15,24-31", "21 10")
    assert (row.memory, row.free) == (16461000 << 10, 51200 << 10)
    assert (row.local, row.other, row.missed) == (300, 100, 3)
    assert row.source("free") == Source(f"{NODES}/node1/meminfo", "MemFree:")
    assert row.source("missed") == Source(f"{NODES}/node1/numastat", "numa_miss")


def test_a_socket_is_near_the_node_of_its_cpus() -> None:
    files = NODE | {f"{CPUS}/cpu8/topology/physical_package_id": "1\n"}
    (row,) = rows(files)
    assert isinstance(row, NumaNode)
    assert row.socket == 1
    found = Topologies().of({NumaNode: {"node1": row}})
    socket = found.find("1")
    assert socket is not None
    assert [thing.name for thing in found.below(socket)] == ["node1"]


@pytest.mark.parametrize(("cpus", "first"), [("8-15,24-31", 8), ("3", 3), ("", None), (None, None), ("x", None)])
def test_the_first_cpu_of_a_list(cpus: str | None, first: int | None) -> None:
    assert first_cpu(cpus) == first


def test_what_a_node_does_not_say_is_none() -> None:
    (row,) = rows({f"{NODES}/node0/cpulist": "\n"})
    assert isinstance(row, NumaNode)
    assert (row.cpus, row.memory, row.local) == ("", None, None)
    assert activity(row, row, 1.0) is None


@pytest.mark.parametrize(("said", "node"), [("1\n", 1), ("0\n", 0), ("-1\n", None)])
def test_network_cards(said: str, node: int | None) -> None:
    assert rows({f"{NET}/eth0/device/numa_node": said, f"{NET}/lo/mtu": "65536\n"}) == [
        InterfaceNode("eth0", node, None if node is None else "firmware")
    ]


def test_where_pages_came_from() -> None:
    before = NumaNode("node0", None, None, None, None, 100, 50, 0)
    found = activity(before, NumaNode("node0", None, None, None, None, 400, 150, 20), 10.0)
    assert found is not None
    assert (found.pages_per_second, found.missed_per_second, found.remote) == (40.0, 2.0, 0.25)
    idle = activity(before, before, 10.0)
    assert idle is not None
    assert idle.remote is None
    assert activity(before, NumaNode("node0", None, None, None, None, 99, 50, 0), 10.0) is None


@given(st.text(max_size=60))
def test_no_text_raises_anything(text: str) -> None:
    parse_meminfo(text)
    parse_numastat(text)
    rows({f"{NODES}/node0/{name}": text for name in ("cpulist", "meminfo", "numastat", "distance")})


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_what_the_kernel_prints_is_read(total: int, free: int) -> None:
    text = f"Node 7 MemTotal:  {total:>8} kB\nNode 7 MemFree:   {free:>8} kB\nNode 7 MemUsed: 1 kB\n"
    assert parse_meminfo(text) == {"MemTotal": total * 1024, "MemFree": free * 1024}


def test_two_nodes_of_a_real_kernel() -> None:
    origin, frames = opened("vm-numa-one-dimm")
    replay = Replay([NUMA], known=origin.collectors)
    found = [replay.feed(frame) for frame in frames][-1].rows(NumaNode)
    assert {name: (row.cpus, row.distance) for name, row in found.items()} == {
        "node0": ("0-1", "10 21"), "node1": ("2-3", "21 10"),
    }  # fmt: skip
    assert found["node0"].memory == 2983856 << 10
    assert all(row.local is not None and row.missed == 0 for row in found.values())
