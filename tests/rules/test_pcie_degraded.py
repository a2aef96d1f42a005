"""pcie-degraded: what both ends allow is the measure, not what one of them could."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.readings import PCI
from sdstop.core.finding import Severity
from sdstop.rules.fabric.pcie_degraded import PCIE_DEGRADED
from tests.nodes.frames import Judged, value
from tests.nodes.hba import Card, files

HBA_ID = "0000:82:00.0"


def judged(card: Card, *, load: int = 0, seconds: int = 8, without: str = "") -> Judged:
    """Judge readings a second apart with `load` bytes a second on each disk."""
    shown = []
    for t in range(seconds):
        sectors = load * t // 512
        lines = "".join(f"8 {n} {disk} {t} 0 {sectors} 0 0 0 0 0 0 0 0\n" for n, disk in enumerate(card.disks))
        found = files(card) | {"/proc/diskstats": lines, f"{PCI}/0000:00:00.0/class": f"{t % 2}\n"}
        shown.append((float(t), {path: text for path, text in found.items() if not without or without not in path}))
    return Judged([DISKSTATS, HBA], [PCIE_DEGRADED], shown)


@pytest.mark.parametrize("width", ["1", "4", "7"])
def test_fewer_lanes_than_both_ends_have(width: str) -> None:
    finding = judged(Card(link=("8.0 GT/s PCIe", width))).finding(HBA_ID)
    assert finding.severity is Severity.WARNING
    assert f"8 GT/s x{width}" in finding.title
    assert "both ends support 8 GT/s x8" in finding.cause
    assert (value(finding, "width"), value(finding, "disks")) == (int(width), 2)


def test_as_wide_as_both_ends_have() -> None:
    assert "8 GT/s x8" in judged(Card()).ruled_out(HBA_ID).summary


def test_a_slot_that_is_slower_or_narrower_than_the_card_is_no_fault() -> None:
    card = Card(link=("8.0 GT/s PCIe", "4"), can=("16.0 GT/s PCIe", "8"), port=("8.0 GT/s PCIe", "4"))
    judged(card).ruled_out(HBA_ID)


def test_a_card_that_is_slower_than_its_slot_is_no_fault() -> None:
    judged(Card(link=("5.0 GT/s PCIe", "8"), can=("5.0 GT/s PCIe", "8"))).ruled_out(HBA_ID)


@pytest.mark.parametrize(
    ("load", "severity"), [(0, Severity.INFO), (4_000_000, Severity.INFO), (6_000_000, Severity.WARNING)]
)
def test_a_slow_link_counts_under_load(load: int, severity: Severity) -> None:
    finding = judged(Card(link=("2.5 GT/s PCIe", "8")), load=load).finding(HBA_ID)
    assert finding.severity is severity
    assert ("save power" in finding.impact) is (severity is Severity.INFO)


def test_and_twice() -> None:
    assert judged(Card(link=("2.5 GT/s PCIe", "8")), load=10**8, seconds=1).finding(HBA_ID).severity is Severity.INFO


def test_what_one_end_can_is_not_guessed() -> None:
    said = judged(Card(link=("8.0 GT/s PCIe", "4")), without="80:02.0/max_link_width")
    assert "unknown" in said.unchecked(HBA_ID).reason


def test_a_link_below_the_card_in_an_unknown_slot_is_unchecked_with_both_numbers() -> None:
    said = judged(Card(link=("2.5 GT/s PCIe", "4")), without="80:02.0/max_link")
    assert said.unchecked(HBA_ID).reason == "link at 2.5 GT/s x4, the card supports 8 GT/s x8; the slot is unknown"


def test_a_link_at_the_maximum_of_the_card_is_good_in_any_slot() -> None:
    assert "maximum of the card" in judged(Card(), without="80:02.0/max_link").ruled_out(HBA_ID).summary


def test_a_card_of_a_hypervisor_has_no_link_to_judge() -> None:
    assert judged(Card(link=("2.5 GT/s PCIe", "1"), ids=("0x1af4", "0x1004"))).silent()


def test_no_link_is_nothing_to_say() -> None:
    assert judged(Card(link=("Unknown", "0"))).silent()


def test_a_card_that_was_passed_to_a_guest_sits_in_a_slot_that_nobody_sees() -> None:
    card = Card(link=("8.0 GT/s PCIe", "4"), port=("16.0 GT/s PCIe", "32"), port_vendor="0x1b36")
    assert "virtual" in judged(card).unchecked(HBA_ID).reason
