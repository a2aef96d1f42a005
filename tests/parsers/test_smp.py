"""What smp_utils print."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.smp import (
    ExpanderReport,
    Phy,
    PhyErrors,
    data_rate,
    parse_discover,
    parse_errors,
    parse_general,
    refusal,
)
from sdstop.core.host import Malformed
from tests.nodes.sas import GENERAL, LOG


def test_an_error_log() -> None:
    assert parse_errors(LOG) == [PhyErrors(52, 567, 168, 172, 5, 0)]


def test_a_change_count_of_0_is_left_out_by_the_tool() -> None:
    assert parse_errors(LOG.replace("  Expander change count: 567\n", ""))[0].changes is None


def test_a_loop_in_one_file() -> None:
    vacant = "Report phy error log result: Phy vacant\n"
    text = LOG + vacant + LOG.replace("52", "53").replace("168", "4294967295")
    assert [(log.phy, log.invalid_dwords) for log in parse_errors(text)] == [(52, 168), (53, 4294967295)]


@pytest.mark.parametrize("line", LOG.splitlines()[2:])
def test_a_log_that_is_cut_is_none(line: str) -> None:
    assert parse_errors(LOG.replace(line + "\n", "")) == []


def test_refusals() -> None:
    assert refusal("Report phy error log result: Phy vacant\n") == "Phy vacant"
    assert refusal("Report phy error log result (for phy_id=0): SMP zone violation\n") == "SMP zone violation"
    assert refusal(LOG) is None


def test_general() -> None:
    assert parse_general(GENERAL) == ExpanderReport(65, 567, zoning=True, enclosure="500093d0016c0000")
    assert parse_general("Report general, brief response:\n  number of phys: 24\n") == ExpanderReport(
        24, None, None, None
    )


@pytest.mark.parametrize("text", ["", "smp_send_req failed, res=-1\n", "Report general result: Unknown function\n"])
def test_no_general(text: str) -> None:
    with pytest.raises(Malformed, match="smp_rep_general: no response"):
        parse_general(text)


@pytest.mark.parametrize(
    ("line", "phy"),
    [
        ("  phy   0:U:attached:[500605b00b5c1230:04  i(SSP+STP+SMP)]  12 Gbps  ZG:8",
         Phy(0, "up", 1_200_000_000, "0x500605b00b5c1230", "end device", 8)),
        ("  phy  11:T:attached:[5000c50000000afd:00  t(SSP)]  6 Gbps  ZG:2  dsn=5",
         Phy(11, "up", 600_000_000, "0x5000c50000000afd", "end device", 2, 5)),
        ("  phy  40:S:attached:[500093d0016c003f:00 exp i(SMP) t(SMP)]  22.5 Gbps  [att: 22.5 G capable]",
         Phy(40, "up", 2_400_000_000, "0x500093d0016c003f", "edge expander")),
        ("  phy  36:D:attached:[500093d0016c003d:64  V i(SMP) t(SSP)]", Phy(36, "up", None, "0x500093d0016c003d",
         "end device")),
        ("  phy  12:T:attached:[0000000000000000:00]", Phy(12, "none")),
        ("  phy  13:D:disabled", Phy(13, "disabled")),
        ("  phy  14:D:reset problem  dsn=3", Phy(14, "reset problem", slot=3)),
        ("  phy  56: inaccessible (phy vacant)", Phy(56, "vacant")),
    ],
)  # fmt: skip
def test_a_discovered_phy(line: str, phy: Phy) -> None:
    assert parse_discover(f"{line}\n>> something else\n") == [phy]


@given(st.text(max_size=80), st.integers(0, len(GENERAL)), st.integers(0, len(LOG)))
def test_no_text_raises_anything_else(text: str, cut: int, place: int) -> None:
    for said in (text, LOG[:place] + text + LOG[place:], f"  phy  11:T:attached:[{text}", f"  phy {text}"):
        assert all(log.phy >= 0 for log in parse_errors(said))
        assert all(phy.state for phy in parse_discover(said))
        assert refusal(said) is None or refusal(said)
    with contextlib.suppress(Malformed):
        parse_general(GENERAL[:cut] + text)


def test_what_a_link_carries() -> None:
    assert [data_rate(gbit) for gbit in (1.5, 3, 6, 12, 22.5)] == [
        150_000_000, 300_000_000, 600_000_000, 1_200_000_000, 2_400_000_000,
    ]  # fmt: skip
