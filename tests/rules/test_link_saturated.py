"""link-saturated: a line that is full in one direction."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.core.finding import Severity
from sdstop.rules.network.link_saturated import LINK_SATURATED
from tests.nodes.frames import Files, Judged, value
from tests.nodes.network import Nic, files

GIGABIT = 125_000_000


def judged(
    rates: list[tuple[float, float]], *, packet: int = 1514, config: dict[str, float] | None = None, **settings: object
) -> Judged:
    """Judge readings of (received, sent) as shares of a gigabit, in frames of `packet` bytes, a second apart."""
    nic = Nic("eth0", speed=1000, **settings)  # type: ignore[arg-type]
    shown: list[tuple[float, Files]] = [(0.0, files(nic))]
    for t, (rx, tx) in enumerate(rates, start=1):
        # The counters miss 24 bytes of each frame on the wire.
        frames = [int(share * GIGABIT / (packet + 24)) for share in (rx, tx)]
        nic.rx_packets, nic.tx_packets = nic.rx_packets + frames[0], nic.tx_packets + frames[1]
        nic.rx_bytes, nic.tx_bytes = nic.rx_bytes + frames[0] * packet, nic.tx_bytes + frames[1] * packet
        shown.append((float(t), files(nic)))
    rules = {"link-saturated": config} if config else None
    return Judged((NETWORK, INTERFACES), [LINK_SATURATED], shown, rules)


@pytest.mark.parametrize(("share", "fires"), [(0.84, False), (0.86, True), (0.99, True)])
@pytest.mark.parametrize("receives", [True, False])
def test_85_percent_of_the_line(share: float, fires: bool, receives: bool) -> None:  # noqa: FBT001  # a table
    said = judged([(share, 0.1) if receives else (0.1, share)] * 4)
    if fires:
        finding = said.finding("eth0")
        assert finding.severity is Severity.WARNING
        assert finding.title == f"LINK SATURATED: {'receiving' if receives else 'sending'}"
        assert value(finding, "rx" if receives else "tx") == pytest.approx(share, abs=0.001)
        assert value(finding, "speed") == GIGABIT
    else:
        assert "84.0" in said.ruled_out("eth0").summary


def test_small_frames_fill_the_line_with_what_no_counter_has() -> None:
    finding = judged([(0.95, 0.0)] * 4, packet=60).finding("eth0")
    assert value(finding, "rx_rate") == pytest.approx(0.95 * GIGABIT * 60 / 84, rel=0.01)


@pytest.mark.parametrize(("full", "fires"), [(2, False), (3, True)])
def test_three_readings_in_a_row(full: int, fires: bool) -> None:  # noqa: FBT001  # a table
    said = judged([(0.1, 0.1)] * 5 + [(0.95, 0.1)] * full)
    if fires:
        said.finding("eth0")
    else:
        said.ruled_out("eth0")


def test_directions_are_not_added_and_do_not_take_turns() -> None:
    judged([(0.6, 0.6)] * 4).ruled_out("eth0")
    judged([(0.95, 0.0), (0.0, 0.95), (0.95, 0.0)]).ruled_out("eth0")


def test_half_duplex_shares_the_line() -> None:
    finding = judged([(0.5, 0.45)] * 4, duplex="half").finding("eth0")
    assert finding.title.endswith("half duplex")


def test_both_directions() -> None:
    assert judged([(0.95, 0.95)] * 4).finding("eth0").title.endswith("sending and receiving")


def test_the_thresholds_are_of_config() -> None:
    judged([(0.7, 0.0)] * 4, config={"share": 0.6}).finding("eth0")
    judged([(0.95, 0.0)] * 4, config={"readings": 6.0}).unchecked("eth0")


def test_a_speed_that_nobody_knows_is_never_guessed() -> None:
    shown: list[tuple[float, Files]] = [
        (float(t), files(Nic("eth0", speed=-1, rx_bytes=10**9 * t, rx_packets=10**6 * t))) for t in range(5)
    ]
    said = Judged((NETWORK, INTERFACES), [LINK_SATURATED], shown)
    assert "link speed unknown" in said.unchecked("eth0").reason


def test_an_idle_interface_of_unknown_speed_is_not_worth_a_word() -> None:
    shown: list[tuple[float, Files]] = [(float(t), files(Nic("eth0", speed=-1))) for t in range(5)]
    assert Judged((NETWORK, INTERFACES), [LINK_SATURATED], shown).silent()


def test_too_few_readings_are_unchecked() -> None:
    assert "2 of 3 samples" in judged([(0.95, 0.0)] * 2).unchecked("eth0").reason


@pytest.mark.parametrize("kind", ["bond", "bridge", "vlan", "tun", "loopback"])
def test_what_has_no_line_of_its_own_is_left_alone(kind: str) -> None:
    assert judged([(0.95, 0.0)] * 4, kind=kind).silent()


def test_a_link_that_is_down_is_left_alone() -> None:
    assert judged([(0.0, 0.0)] * 4, carrier=False).silent()


@pytest.mark.parametrize(("other", "room"), [(0.1, True), (0.9, False)])
def test_a_full_slave_beside_an_idle_one(other: float, room: bool) -> None:  # noqa: FBT001  # a table
    shown: list[tuple[float, Files]] = []
    for t in range(5):
        slaves = [
            Nic(f"eth{n}", speed=1000, master="bond0", tx_bytes=int(t * share * GIGABIT))
            for n, share in enumerate((0.95, other))
        ]
        shown.append((float(t), files(*slaves, Nic("bond0", kind="bond", speed=2000, lower=("eth0", "eth1")))))
    finding = Judged((NETWORK, INTERFACES), [LINK_SATURATED], shown).finding("eth0")
    assert ("eth1 of bond0 has spare capacity" in finding.impact) is room
    assert any("xmit_hash_policy" in line for line in finding.steps) is room
