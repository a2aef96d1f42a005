"""Which CPUs take the interrupts of cards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.interrupts import INTERRUPTS
from sdstop.collectors.fabric.locality import node_of
from sdstop.collectors.fabric.readings import IRQ, NODES, PCI, CardInterrupts
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.core.model import Source

NODE_CPUS = {f"{NODES}/node0/cpulist": "0-7,16-23\n", f"{NODES}/node1/cpulist": "8-15,24-31\n"}


def card(
    cpus: dict[int, str], node: int = 1, pci_class: str = "0x010700", address: str = "0000:82:00.0"
) -> dict[str, str]:
    """Return a card with an interrupt for each entry: its number and the CPUs that take it."""
    above = f"../../../devices/pci0000:80/0000:80:02.0/{address}"
    return {
        f"{PCI}/{address}/class": f"{pci_class}\n",
        f"{PCI}/{address}/numa_node": f"{node}\n",
        f"link:{PCI}/{address}": above,
        **{f"{PCI}/{address}/msi_irqs/{irq}": "msix\n" for irq in cpus},
        **{f"{IRQ}/{irq}/effective_affinity_list": f"{text}\n" for irq, text in cpus.items()},
    }


def rows(found: dict[str, str]) -> list[CardInterrupts]:
    return [row for row in INTERRUPTS.read(EvidenceHost.of(found)) if isinstance(row, CardInterrupts)]


def test_near_and_far() -> None:
    (row,) = rows(NODE_CPUS | card({61: "8", 62: "24-25", 63: "0"}))
    assert (row.card, row.kind, row.node, row.irqs, row.cpus, row.far) == (
        "0000:82:00.0", "storage", 1, 3, "0,8,24-25", 1,
    )  # fmt: skip
    assert row.source("far") == Source(f"{IRQ}/63/effective_affinity_list")
    assert row.source() == Source(f"{PCI}/0000:82:00.0/numa_node")


def test_one_that_may_go_to_both_nodes_is_not_far() -> None:
    assert rows(NODE_CPUS | card({61: "0-31"}))[0].far == 0


def test_old_kernels_say_where_it_may_go() -> None:
    found = card({61: "0"})
    found[f"{IRQ}/61/smp_affinity_list"] = found.pop(f"{IRQ}/61/effective_affinity_list")
    assert rows(NODE_CPUS | found)[0].far == 1


def test_network_cards_have_interfaces() -> None:
    found = card({70: "3"}, 0, "0x020000") | {f"{PCI}/0000:82:00.0/net/eth4/mtu": "1500\n"}
    (row,) = rows(NODE_CPUS | found)
    assert (row.kind, row.interfaces, row.far) == ("network", "eth4", 0)


def test_what_is_neither_or_has_no_message_interrupts_is_left_out() -> None:
    assert rows(NODE_CPUS | card({61: "0"}, pci_class="0x030000")) == []
    assert rows(NODE_CPUS | card({})) == []


def test_a_card_whose_node_nobody_knows_has_no_far_ones() -> None:
    (row,) = rows(NODE_CPUS | card({61: "0"}, node=-1))
    assert (row.node, row.far, row.irqs) == (None, None, 1)


def test_one_node_is_nothing_to_read() -> None:
    with pytest.raises(Absent, match="one NUMA node"):
        INTERRUPTS.read(EvidenceHost.of({f"{NODES}/node0/cpulist": "0-7\n"} | card({61: "0"}, 0)))


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_no_text_raises_anything(cpus: str, node: str, kind: str) -> None:
    found = card({61: cpus}) | {f"{PCI}/0000:82:00.0/numa_node": node, f"{NODES}/node3/cpulist": kind}
    rows(NODE_CPUS | found)


# --- near which node ---------------------------------------------------------------------------------------


def known(found: dict[str, str], above: tuple[str, ...] = ("0000:80:02.0", "0000:81:00.0")) -> object:
    nodes = {0: frozenset({0, 1}), 1: frozenset({2, 3})}
    return node_of(EvidenceHost.of(found), "0000:82:00.0", above, nodes)


def test_the_firmware_comes_first() -> None:
    own = {f"{PCI}/0000:82:00.0/numa_node": "1\n", f"{PCI}/0000:81:00.0/numa_node": "0\n"}
    assert known(own) == (1, "firmware")


def test_a_bridge_above_is_as_near() -> None:
    found = {f"{PCI}/0000:82:00.0/numa_node": "-1\n", f"{PCI}/0000:81:00.0/numa_node": "-1\n"}
    assert known(found | {f"{PCI}/0000:80:02.0/numa_node": "0\n"}) == (0, "bridge")
    assert known(found) == (None, None)


@pytest.mark.parametrize(("cpus", "said"), [("2-3", (1, "cpus")), ("0-3", (None, None)), ("2", (None, None))])
def test_the_cpus_of_its_bus(cpus: str, said: object) -> None:
    assert known({f"{PCI}/0000:82:00.0/local_cpulist": cpus}) == said


def test_what_it_does_not_hang_on_says_nothing_of_it() -> None:
    assert known({f"{PCI}/0000:80:03.0/numa_node": "0\n"}) == (None, None)
