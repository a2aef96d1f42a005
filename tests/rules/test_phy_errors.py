"""phy-errors: growing is a finding, old and few is not."""

from __future__ import annotations

import pytest

from sdstop.collectors.fabric.port_readings import PHYS, PORTS
from sdstop.collectors.fabric.sas import SAS
from sdstop.core.finding import Finding, Severity
from sdstop.rules.fabric.phy_errors import PHY_ERRORS
from tests.nodes.frames import Judged, check, value
from tests.nodes.sas import Phy, files

OLD = (Phy(52, 168, 172, 5), Phy(53, 6, 6), Phy(54, 267, 270, 4), Phy(55, 127, 131, 5))
QUIET = tuple(Phy(number) for number in range(52))


def judged(*readings: tuple[Phy, ...], config: dict[str, float] | None = None) -> Judged:
    """Judge readings that are five minutes apart; a file that changes tells that all were read again."""
    shown = [(300.0 * n, files(*phys) | {f"{PORTS}/port-1:9/num_phys": f"{n}\n"}) for n, phys in enumerate(readings)]
    return Judged([SAS], [PHY_ERRORS], shown, {"phy-errors": config} if config else None)


def test_old_and_few_is_info() -> None:
    phys = (*QUIET, *OLD, Phy(56, state="Unknown"))
    finding = judged(phys, phys).finding("expander-1:0")
    assert finding.severity is Severity.INFO
    assert "4 of 56 phys" in finding.summary
    assert finding.title == "OLD SAS LINK ERRORS"
    assert "none of them are new" in finding.impact
    assert (value(finding, "worst"), value(finding, "phys")) == (270, 4)


def test_one_reading_does_not_tell_how_old() -> None:
    finding = judged((*QUIET, *OLD)).finding("expander-1:0")
    assert finding.severity is Severity.INFO
    assert finding.title == "SAS LINK ERRORS of unknown age"
    assert "Another sample shows" in finding.impact
    assert finding.totals


@pytest.mark.parametrize(("total", "severity"), [(999_999, Severity.INFO), (1_000_000, Severity.WARNING)])
def test_millions_are_a_warning_until_they_are_seen_to_be_old(total: int, severity: Severity) -> None:
    phys = (Phy(1, total),)
    assert judged(phys).finding("expander-1:0").severity is severity
    assert judged(phys, phys).finding("expander-1:0").severity is Severity.INFO


def test_no_errors_is_good() -> None:
    said = judged(QUIET, QUIET).ruled_out("expander-1:0")
    assert "52 phys, no errors" in said.summary


@pytest.mark.parametrize(
    ("new", "severity"), [(9, None), (10, Severity.WARNING), (83, Severity.WARNING), (84, Severity.CRITICAL)]
)
def test_growing_by_rate(new: int, severity: Severity | None) -> None:
    said = judged((Phy(1, 500, 500), Phy(2)), (Phy(1, 500 + new, 500 + new), Phy(2)))
    if severity is None:
        assert said.finding("expander-1:0").severity is Severity.INFO
        return
    finding = said.finding("phy-1:0:1")
    assert finding.severity is severity
    assert value(finding, "damaged") == new  # a word that is invalid and of wrong disparity is one
    assert value(finding, "per_hour") == pytest.approx(new * 12)
    assert "end_device-1:0:1" in str(value(finding, "link"))


def test_a_long_time_makes_the_same_count_usual() -> None:
    shown = [(0.0, files(Phy(1))), (900.0, files(Phy(1, 10)))]  # 40 an hour
    finding = Judged([SAS], [PHY_ERRORS], shown).finding("expander-1:0")
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize("grown", [Phy(1, lost=1), Phy(1, resets=1)])
def test_a_link_that_is_lost_is_a_warning(grown: Phy) -> None:
    assert judged((Phy(1),), (grown,)).finding("phy-1:0:1").severity is Severity.WARNING


def test_the_errors_of_hot_plug_are_not_held_against_it() -> None:
    said = judged((Phy(1, address="0x5000c50000000001"),), (Phy(1, 400, 400, 2, 1, address="0x5000c50000000002"),))
    assert said.finding("expander-1:0").severity is Severity.INFO


def test_the_thresholds_are_of_config() -> None:
    judged((Phy(1),), (Phy(1, 5),), config={"count": 5.0}).finding("phy-1:0:1")
    judged((Phy(1),), (Phy(1, 80),), config={"per_hour": 1e4}).finding("expander-1:0")


def test_a_driver_that_does_not_count_is_not_called_good() -> None:
    phys = (Phy(1, counted=False),)
    assert "reports no error counters" in judged(phys, phys).unchecked("expander-1:0").reason


def test_what_was_not_recorded_is_not_called_good() -> None:
    assert Judged([SAS], [PHY_ERRORS], [(0.0, {"/proc/uptime": "1"})]).unchecked("").reason


def wide(*states: str) -> Judged:
    """Judge the four phys of one port, which have these states."""
    known: dict[str, str] = {}
    for number, state in enumerate(states):
        known |= files(Phy(number, state="12.0 Gbit"))
        known[f"{PHYS}/phy-1:0:{number}/negotiated_linkrate"] = f"{state}\n"
        known[f"link:{PHYS}/phy-1:0:{number}/device/port"] = "../../port-1:0:0"
    return Judged([SAS], [PHY_ERRORS], [(0.0, known)])


@pytest.mark.parametrize("state", ["6.0 Gbit", "Phy disabled", "Link Rate failed"])
def test_a_phy_below_the_others_of_its_port_is_a_warning(state: str) -> None:
    finding = wide("12.0 Gbit", state, "12.0 Gbit", "12.0 Gbit").finding("phy-1:0:1/rate")
    assert finding.severity is Severity.WARNING
    assert "other phys of the port run at 1.1 GiB/s" in finding.cause
    assert value(finding, "port") == "port-1:0:0"


@pytest.mark.parametrize("states", [("12.0 Gbit",) * 4, ("6.0 Gbit",) * 4, ("3.0 Gbit",)])
def test_phys_of_one_rate_are_good(states: tuple[str, ...]) -> None:
    assert "no errors" in wide(*states).ruled_out("expander-1:0").summary


# --- links to single disks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "is_found"),
    [
        (("6.0 Gbit",) * 3 + ("3.0 Gbit",), True),
        (("12.0 Gbit",) * 3 + ("1.5 Gbit",), True),
        (("6.0 Gbit",) * 2 + ("3.0 Gbit",), False),
        (("12.0 Gbit",) * 3 + ("6.0 Gbit",), False),
        (("6.0 Gbit",) * 5 + ("3.0 Gbit",) * 2, False),
        (("3.0 Gbit",) * 6, False),
    ],
)
def test_a_disk_at_the_rate_of_an_old_generation_among_newer_ones(rates: tuple[str, ...], is_found: bool) -> None:  # noqa: FBT001
    phys = tuple(Phy(number, state=rate) for number, rate in enumerate(rates))
    found = [each for each in judged(phys).all if isinstance(each, Finding)]
    assert [each.subject for each in found] == ([f"phy-1:0:{len(rates) - 1}/rate"] if is_found else [])
    for each in found:
        check(each)
