"""hba-oversubscribed and hba-unbalanced: sixty disks in three zonings."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sdstop.analysis.fabric.hba_throughput import pcie_payload
from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.port_readings import PHYS
from sdstop.collectors.fabric.sas import SAS
from sdstop.core.finding import Severity
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.rules.fabric.hba_unbalanced import HBA_UNBALANCED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.hba import Card, files

FIRST = "0000:81:00.0"
OVER, UNEVEN = "hba-oversubscribed", "hba-unbalanced"


def names(start: int, end: int) -> tuple[str, ...]:
    return tuple(f"sd{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(start, end))


def judged(*counts: int, more: dict[str, str] | None = None, **of_cards: object) -> Judged:
    """Judge HBAs 81, 82 ... with so many disks each."""
    ends = [0]
    for count in counts:
        ends.append(ends[-1] + count)
    cards = [
        Card(0x81 + n, names(*span), **of_cards)  # type: ignore[arg-type]
        for n, span in enumerate(pairwise(ends))
    ]
    shown = files(*cards) | (more or {})
    return Judged([BLOCKDEV, HBA, SAS], [HBA_OVERSUBSCRIBED, HBA_UNBALANCED], [(0.0, shown)])


def test_four_hbas_with_fifteen_each() -> None:
    said = judged(15, 15, 15, 15)
    assert "59.4%" in said.ruled_out(FIRST, OVER).summary
    assert "evenly on 4 HBAs" in said.ruled_out(FIRST, UNEVEN).summary


def test_all_sixty_behind_one() -> None:
    said = judged(60, 0, 0, 0)
    over, uneven = said.finding(FIRST, OVER), said.finding(FIRST, UNEVEN)
    assert over.severity is Severity.WARNING
    assert value(over, "share") == pytest.approx(60 * 265e6 / (8e9 * 8 * 128 / 130 / 8 * 0.85))
    assert (uneven.severity, value(uneven, "times")) == (Severity.WARNING, 4.0)


def test_thirty_on_two_is_info() -> None:
    assert judged(30, 30).finding(FIRST, OVER).severity is Severity.INFO


@pytest.mark.parametrize(("count", "fires"), [(25, False), (26, True)])
def test_as_much_as_the_link_carries(count: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(count)
    if fires:
        said.finding(FIRST, OVER)
    else:
        said.ruled_out(FIRST, OVER)


@pytest.mark.parametrize(("count", "severity"), [(50, Severity.INFO), (51, Severity.WARNING)])
def test_twice_as_much_is_a_warning(count: int, severity: Severity) -> None:
    assert judged(count).finding(FIRST, OVER).severity is severity


def test_flash_by_itself_is_info() -> None:
    assert judged(48, rotates=False).finding(FIRST, OVER).severity is Severity.INFO


@pytest.mark.parametrize(("share", "severity"), [(0.78, Severity.INFO), (0.82, Severity.WARNING)])
def test_a_link_that_is_full_now_is_a_warning(share: float, severity: Severity) -> None:
    disks = names(0, 24)
    each = share * pcie_payload(8e9, 8, 0.85) / len(disks)
    shown: list[tuple[float, Files]] = []
    for t in range(6):
        lines = "".join(f"8 {n} {disk} {t} 0 {int(each * t / 512)} 0 0 0 0 0 0 0 0\n" for n, disk in enumerate(disks))
        shown.append((float(t), files(Card(0x81, disks, rotates=False)) | {"/proc/diskstats": lines}))
    said = Judged([BLOCKDEV, HBA, SAS, DISKSTATS], [HBA_OVERSUBSCRIBED], shown)
    assert said.finding(FIRST).severity is severity


def test_the_sas_links_may_be_the_narrower_ones() -> None:
    phys = {
        f"{PHYS}/phy-129:{n}/{name}": "6.0 Gbit\n"
        for n in range(4)
        for name in ("negotiated_linkrate", "maximum_linkrate_hw")
    }
    finding = judged(15, more=phys).finding(FIRST, OVER)
    assert value(finding, "carries") == 4 * 600e6
    assert any(cite.key == f"{PHYS}/phy-129:3/negotiated_linkrate" for cite in finding.evidence)


@pytest.mark.parametrize(("counts", "fires"), [((13, 7), False), ((14, 6), True)])
def test_a_third_above_the_mean(counts: tuple[int, int], fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged(*counts)
    if fires:
        assert said.finding(FIRST, UNEVEN).severity is Severity.INFO
    else:
        said.ruled_out(FIRST, UNEVEN)


def test_a_few_disks_are_not_worth_a_word() -> None:
    assert judged(7, 0).silent(UNEVEN)


def test_other_hbas_are_other_things() -> None:
    shown = files(Card(0x81, names(0, 20)), Card(0x82, names(20, 22), ids=("0x8086", "0x1"), model="BOOT"))
    assert Judged([BLOCKDEV, HBA], [HBA_UNBALANCED], [(0.0, shown)]).silent()


def test_two_paths_to_each_disk_are_not_two_disks() -> None:
    wwids = {f"/sys/block/{name}/device/wwid": f"naa.5000c500{n % 30:08x}\n" for n, name in enumerate(names(0, 60))}
    said = judged(30, 30, more=wwids)
    assert said.ruled_out(FIRST, OVER).summary.startswith("15 disks")
    said.ruled_out(FIRST, UNEVEN)


def test_a_link_that_nobody_knows_is_not_called_wide_enough() -> None:
    assert "unknown" in judged(20, link=("Unknown", "0")).unchecked(FIRST, OVER).reason


def test_what_a_hypervisor_makes_up_is_left_alone() -> None:
    assert judged(40, 0, model="QEMU HARDDISK").silent(OVER)
    assert judged(40, 0, ids=("0x1af4", "0x1004")).silent()


def test_payload_of_pci_express() -> None:
    assert pcie_payload(8e9, 8, 1.0) == pytest.approx(7.877e9, rel=1e-3)
    assert pcie_payload(5e9, 8, 1.0) == pytest.approx(4e9)


def test_a_link_that_saves_power_is_not_a_warning() -> None:
    """At 2.5 of 8 GT/s a link of 15 idle disks carries less; pcie-degraded says whether that lasts under load."""
    slow = judged(15, link=("2.5 GT/s PCIe", "8")).finding(FIRST, OVER)
    assert slow.severity is Severity.INFO
