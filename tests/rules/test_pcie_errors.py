"""pcie-errors, and pcie-degraded of network cards."""

from __future__ import annotations

import pytest

from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.pcie import PCIE, counted
from sdstop.collectors.fabric.readings import PCI, PORT, PcieFunction
from sdstop.collectors.network.interfaces import NETWORK
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.core.host import Absent
from sdstop.rules.fabric.pcie_degraded import PCIE_DEGRADED
from sdstop.rules.fabric.pcie_errors import PCIE_ERRORS
from tests.nodes.frames import Judged
from tests.nodes.hba import ABOVE, Card, files

CARD = Card()


def aer(kind: str, total: str, **counts: int) -> dict[str, str]:
    lines = "".join(f"{name} {count}\n" for name, count in counts.items())
    return {f"{PCI}/{CARD.address}/aer_dev_{kind}": f"{lines}TOTAL_ERR_{total} {sum(counts.values())}\n"}


def judged(*shown: dict[str, str], minutes: float = 1.0) -> Verdict:
    frames = [(60 * minutes * place, files(CARD) | each) for place, each in enumerate(shown)]
    return Judged([PCIE], [PCIE_ERRORS], frames).of(CARD.address)


def corrected(count: int) -> dict[str, str]:
    return aer("correctable", "COR", RxErr=0, BadTLP=count) | aer("fatal", "FATAL", DLP=0)


@pytest.mark.parametrize(("new", "found"), [(19, False), (20, True)])
def test_corrected_errors_count_if_they_grow(new: int, found: bool) -> None:  # noqa: FBT001
    verdict = judged(corrected(400), corrected(400 + new))
    assert isinstance(verdict, Finding) is found
    assert not isinstance(verdict, Finding) or verdict.severity is Severity.WARNING


def test_growth_within_an_hour_counts() -> None:
    assert isinstance(judged(*(corrected(n) for n in range(70))), Finding)
    assert not isinstance(judged(*(corrected(n // 4) for n in range(130))), Finding)


@pytest.mark.parametrize(
    ("kind", "total", "severity"),
    [("fatal", "FATAL", Severity.CRITICAL), ("nonfatal", "NONFATAL", Severity.WARNING)],
)
def test_one_new_error_that_was_not_corrected_is_enough(kind: str, total: str, severity: Severity) -> None:
    verdict = judged(aer(kind, total, DLP=1), aer(kind, total, DLP=2))
    assert isinstance(verdict, Finding)
    assert verdict.severity is severity
    old = judged(aer(kind, total, DLP=2))
    assert isinstance(old, Finding)
    assert (old.severity, old.title.endswith("since boot")) == (Severity.INFO, True)


def test_errors_of_probing_do_not_count() -> None:
    verdict = judged(aer("nonfatal", "NONFATAL", UnsupReq=7), aer("nonfatal", "NONFATAL", UnsupReq=9))
    assert not isinstance(verdict, Finding)


def test_a_million_is_too_many_at_any_time() -> None:
    assert isinstance(judged(corrected(1_000_000)), Finding)
    assert not isinstance(judged(corrected(999_999)), Finding)


@pytest.mark.parametrize(
    ("text", "count"),
    [("RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 3\n", 3), ("RxErr 0\n", None), ("", None), (None, None), ("junk\n", None)],
)
def test_counters_need_their_total(text: str | None, count: int | None) -> None:
    assert counted(text) == count


def test_ports_are_listed_only_with_counters() -> None:
    rows = list(PCIE.read(EvidenceHost.of(files(CARD))))
    assert [row.kind for row in rows if isinstance(row, PcieFunction)] == ["storage"]
    more = files(CARD) | {f"{PCI}/{ABOVE}/aer_dev_fatal": "TOTAL_ERR_FATAL 0\n"}
    rows = list(PCIE.read(EvidenceHost.of(more)))
    assert [row.kind for row in rows if isinstance(row, PcieFunction)] == [PORT, "storage"]


def test_a_node_without_such_functions_has_none() -> None:
    with pytest.raises(Absent):
        list(PCIE.read(EvidenceHost.of({f"{PCI}/0000:00:00.0/class": "0x060000\n"})))


@pytest.mark.parametrize(("lanes", "found"), [("8", False), ("4", True)])
def test_a_network_card_on_few_lanes_is_found(lanes: str, found: bool) -> None:  # noqa: FBT001
    card = Card(link=("8.0 GT/s PCIe", lanes), pci_class="0x020000", disks=())
    named = files(card) | {f"{PCI}/{card.address}/net/ens3/address": "b8:ce:f6:00:11:22\n"}
    said = Judged([HBA, PCIE, NETWORK], [PCIE_DEGRADED], [(0.0, named), (60.0, named)])
    verdict = said.of(card.address)
    assert isinstance(verdict, Finding) is found
    if isinstance(verdict, Finding):
        assert verdict.impact == "Traffic of ens3 shares the reduced bandwidth."
