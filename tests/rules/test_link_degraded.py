"""link-degraded: which links are at fault, and which are only unused."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.interfaces import CLASS, INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.core.finding import Severity
from sdstop.rules.link_degraded import LINK_DEGRADED
from tests.nodes.frames import Judged, check
from tests.nodes.network import Nic, files


def judged(*moments: dict[str, str]) -> Judged:
    shown = [(10.0 * number, each) for number, each in enumerate(moments)]
    return Judged((NETWORK, INTERFACES, LINKS), [LINK_DEGRADED], shown)


def bond(mode: str = "802.3ad 4", link: str = "up", **slaves: Nic) -> dict[str, str]:
    """Return a bond over these slaves; a slave without carrier is down."""
    base = f"{CLASS}/bond0/bonding"
    more = {f"{base}/mode": f"{mode}\n", f"{base}/slaves": f"{' '.join(slaves)}\n", f"{base}/mii_status": f"{link}\n"}
    for number, (name, nic) in enumerate(slaves.items()):
        own = f"{CLASS}/{name}/bonding_slave"
        active = nic.carrier and (number == 0 or not mode.startswith("active-backup"))
        more |= {f"{own}/mii_status": "up\n" if nic.carrier else "down\n", f"{own}/link_failure_count": "0\n",
                 f"{own}/state": "active\n" if active else "backup\n"}  # fmt: skip
    upper = Nic("bond0", kind="bond", lower=tuple(slaves), carrier=link == "up", rx_packets=9)
    return files(upper, *slaves.values(), more=more)


def slave(name: str, *, carrier: bool = True, speed: int = 10_000) -> Nic:
    return Nic(name, master="bond0", carrier=carrier, speed=speed, rx_packets=9)


def test_a_link_that_carried_something_and_is_down_is_a_warning() -> None:
    finding = judged(files(Nic("eth0", carrier=False, rx_packets=9, rx_bytes=1 << 30))).finding("eth0")
    assert finding.severity is Severity.WARNING
    assert "no link, after 1 GiB received since boot" in finding.summary
    check(finding)


@pytest.mark.parametrize(
    ("nic", "words"),
    [
        (Nic("eth0", rx_packets=9), "link up"),
        (Nic("eth0", carrier=False), "no link, 0 frames received since boot"),
        (Nic("eth0", up=False, rx_packets=9), "switched off by the administrator"),
    ],
)
def test_a_link_that_is_up_or_not_used_is_good(nic: Nic, words: str) -> None:
    assert words in judged(files(nic)).ruled_out("eth0").summary


def test_half_duplex_is_a_warning() -> None:
    finding = judged(files(Nic("eth0", duplex="half", rx_packets=9))).finding("eth0")
    assert "half duplex" in finding.summary


def test_other_kinds_of_interfaces_are_not_judged() -> None:
    assert judged(files(Nic("br0", kind="bridge", carrier=False, rx_packets=9), Nic("eth0"))).ruled_out("eth0").summary


@pytest.mark.parametrize("flaps", [0, 1, 2, 3])
def test_a_link_flaps_from_the_second_time_on(flaps: int) -> None:
    changes = f"{CLASS}/eth0/carrier_changes"
    said = judged(files(Nic("eth0"), more={changes: "5\n"}), files(Nic("eth0"), more={changes: f"{5 + 2 * flaps}\n"}))
    if flaps < 2:
        assert said.ruled_out("eth0").summary
    else:
        assert f"{flaps} times while watched" in said.finding("eth0").summary


# --- bonds --------------------------------------------------------------------------------------------------


def test_a_whole_bond_is_good() -> None:
    said = judged(bond(a=slave("a"), b=slave("b")))
    assert [said.ruled_out(name).summary for name in ("bond0", "a", "b")] == ["link up, lost 0 times while watched"] * 3


def test_a_slave_without_link_is_a_warning_and_the_bond_is_good() -> None:
    said = judged(bond(a=slave("a"), b=slave("b", carrier=False)))
    assert said.finding("b").severity is Severity.WARNING
    assert "bond0 works without it" in said.finding("b").summary
    assert said.ruled_out("bond0").summary


def test_a_bond_without_link_is_critical() -> None:
    said = judged(bond(link="down", a=slave("a", carrier=False), b=slave("b", carrier=False)))
    assert said.finding("bond0").severity is Severity.CRITICAL


def test_a_slower_slave_is_a_warning() -> None:
    said = judged(bond(a=slave("a"), b=slave("b", speed=1000)))
    assert "runs at 119 MiB/s, another slave of bond0 at 1.2 GiB/s" in said.finding("b").summary
    assert said.ruled_out("a").summary


def test_a_backup_is_at_fault_where_the_bond_balances() -> None:
    spare = bond("active-backup 1", a=slave("a"), b=slave("b"))
    assert judged(spare).ruled_out("b").summary
    lost = bond(a=slave("a"), b=slave("b")) | {f"{CLASS}/b/bonding_slave/state": "backup\n"}
    assert "carries nothing for bond0" in judged(lost).finding("b").summary
