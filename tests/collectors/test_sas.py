"""SAS in sysfs: phys, ports and what is attached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.collectors.fabric.port_readings import PHYS, SasDevice, SasPhy, SasPhyActivity, SasPort
from sdstop.collectors.fabric.sas import SAS, activity, owner, rate
from sdstop.core.columns import Columns
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.model import Reading, Source
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import Replay
from tests.fixtures import opened
from tests.nodes.sas import Phy, files

FIXTURE = "vm-sas-hba"


def rows(found: dict[str, str]) -> list[Reading]:
    return list(SAS.read(EvidenceHost.of(found)))


def phy(found: Phy) -> SasPhy:
    said = [row for row in rows(files(found)) if isinstance(row, SasPhy)]
    assert len(said) == 1
    return said[0]


def test_a_phy_of_an_expander() -> None:
    row = phy(Phy(52, 168, 172, 5, 0))
    assert (row.phy, row.owner, row.port, row.attached) == (
        "phy-1:0:52", "expander-1:0", "port-1:0:52", "end_device-1:0:52",
    )  # fmt: skip
    assert (row.state, row.rate, row.maximum_rate, row.number) == ("up", 1_200_000_000, 1_200_000_000, 52)
    assert (row.invalid_dwords, row.disparity_errors, row.sync_losses, row.reset_problems) == (168, 172, 5, 0)
    assert row.source("sync_losses") == Source(f"{PHYS}/phy-1:0:52/loss_of_dword_sync_count")


def test_devices_and_ports() -> None:
    found = rows(files(Phy(7)))
    expander, end = (
        next(row for row in found if isinstance(row, SasDevice) and row.device == name)
        for name in ("expander-1:0", "end_device-1:0:7")
    )
    assert (expander.port, expander.above, expander.host, expander.product) == (
        "port-1:0", "host1", "host1", "NEWISYS NDS-4602-CS",
    )  # fmt: skip
    assert (end.port, end.above, end.bay, end.kind) == ("port-1:0:7", "expander-1:0", 7, "end device")
    assert {row.port: row.phys for row in found if isinstance(row, SasPort)} == {"port-1:0": 4, "port-1:0:7": 1}


@pytest.mark.parametrize("state", ["Unknown", "Phy disabled"])
def test_nobody_asks_a_phy_with_nothing_attached_for_errors(state: str) -> None:
    host = RecordingHost(EvidenceHost.of(files(Phy(9, 5, state=state))))
    row = next(row for row in SAS.read(host) if isinstance(row, SasPhy))
    assert (row.state, row.rate, row.invalid_dwords) == (state, None, None)
    assert not [key for key in host.evidence if key.endswith("_count")]


@pytest.mark.parametrize(
    ("said", "data"),
    [("1.5 Gbit", 150_000_000), ("12.0 Gbit", 1_200_000_000), ("22.5 Gbit", 2_400_000_000), ("Unknown", None),
     ("Link Rate failed", None), ("", None), (None, None), ("-1 Gbit", None)],
)  # fmt: skip
def test_rates(said: str | None, data: int | None) -> None:
    assert rate(said) == data


@pytest.mark.parametrize(
    ("name", "whose"),
    [("phy-1:0:52", "expander-1:0"), ("phy-8:3", "host8"), ("port-1:0", "host1"), ("port-1:2:0", "expander-1:2"),
     ("x", "")],
)  # fmt: skip
def test_owners(name: str, whose: str) -> None:
    assert owner(name) == whose


@given(st.text(max_size=30), st.text(alphabet="phy-0123456789:", max_size=20))
def test_no_text_raises_anything(text: str, name: str) -> None:
    assert rate(text) is None or rate(text) == rate(text.strip())
    owner(name)
    base = f"{PHYS}/phy-1:0"
    rows({f"{base}/{file}": text for file in ("negotiated_linkrate", "invalid_dword_count", "phy_identifier")})


def rates(before: SasPhy, after: SasPhy, seconds: float = 60.0) -> list[SasPhyActivity]:
    """Return the rates of a phy, with others beside it: one before it that has gone, and one after it that is new."""
    gone, new = replace(before, phy="phy-1:0:88"), replace(before, phy="phy-1:0:99")
    tables = [Columns.of(SasPhy, {row.phy: row for row in found}) for found in ((gone, before), (after, new))]
    made = activity(tables[0], tables[1], seconds)
    assert made.derived
    return [row for row in made.values() if isinstance(row, SasPhyActivity)]


def test_errors_between_two_readings() -> None:
    before = phy(Phy(1, 10, 10))
    (grown,) = rates(before, replace(before, invalid_dwords=40, sync_losses=1))
    assert (grown.phy, grown.seconds) == (before.phy, 60.0)
    assert (grown.invalid_dwords_per_second, grown.disparity_errors_per_second) == (0.5, 0.0)
    assert grown.sync_losses_per_second == pytest.approx(1 / 60)


@pytest.mark.parametrize(
    "change",
    [{"invalid_dwords": 9}, {"attached": "end_device-1:0:2"}, {"rate": 600_000_000}, {"state": "Unknown"},
     {"address": "0x1"}],
)  # fmt: skip
def test_another_link_or_a_reset_counter_has_no_rate(change: dict[str, object]) -> None:
    before = phy(Phy(1, 10, 10))
    assert rates(before, replace(before, sync_losses=3, **change)) == []


def test_what_is_not_counted_has_no_rate() -> None:
    row = phy(Phy(1, counted=False))
    assert row.invalid_dwords is None
    assert rates(row, row) == []


def test_a_counter_that_is_not_counted_leaves_the_others_their_rates() -> None:
    before = replace(phy(Phy(1, 10, 10)), disparity_errors=None)
    (grown,) = rates(before, replace(before, invalid_dwords=40))
    assert (grown.invalid_dwords_per_second, grown.disparity_errors_per_second) == (0.5, None)
    assert rates(before, before, seconds=0.0) == []


def test_an_hba_of_a_real_kernel() -> None:
    origin, frames = opened(FIXTURE)
    replay = Replay([SAS], known=origin.collectors)
    shot = [replay.feed(frame) for frame in frames][-1]
    found = shot.rows(SasPhy)
    assert {name: row.state for name, row in found.items()} == {
        f"phy-8:{n}": "up" if n < 2 else "Link Rate failed" for n in range(8)
    }
    first = found["phy-8:0"]
    assert (first.rate, first.maximum_rate, first.invalid_dwords, first.owner) == (300_000_000, 300_000_000, 0, "host8")
    ends = shot.rows(SasDevice)
    assert {name: (row.port, row.above) for name, row in ends.items()} == {
        f"end_device-8:{n}": (f"port-8:{n}", "host8") for n in range(2)
    }


def test_hot_plug_does_not_have_every_expander_asked() -> None:
    assert SAS.fingerprint is None
    assert SAS.pace >= 60
