"""link-oversubscribed: eighty machines on one link of 1 Gbit/s, of which ten want much."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.clients import CLIENTS, ROUTES
from sdstop.collectors.network.connections import SOCKETS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.peer_readings import ASK_CLIENTS
from sdstop.collectors.network.readings import CLASS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Severity
from sdstop.rules.network.link_oversubscribed import LINK_OVERSUBSCRIBED
from tests.nodes.clients import HEAD, ROUTE, TCP, line
from tests.nodes.frames import Judged, value

USABLE = {"link-oversubscribed": {"usable": 0.8}}
"""Of 125 MB/s, 100: what the owners counted on."""


def frame(
    second: int, rates: list[float], wire: float, *, reading: bool = True, more: dict[str, str]
) -> dict[str, str]:
    """Return a node after so many seconds, of which each client moved so many MB/s, and the line so many bytes/s."""
    moved = [round(rate * 1e6 * second) for rate in rates]
    lines = [
        line(f"192.0.2.{n + 10}", 0 if reading else total, total if reading else 0) for n, total in enumerate(moved)
    ]
    tx, rx = (round(wire * second), 0) if reading else (0, round(wire * second))
    head = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes\n"
    base = f"{CLASS}/eth1"
    return {
        SOCKETS[0]: TCP, command_key(ASK_CLIENTS): HEAD + "".join(lines), ROUTES: ROUTE,
        "/proc/net/dev": f"{head}  eth1: {rx} 0 0 0 0 0 0 0 {tx} 0 0 0 0 0 0 0\n",
        f"{base}/operstate": "up\n", f"{base}/carrier": "1\n", f"{base}/speed": "1000\n", f"{base}/duplex": "full\n",
        f"{base}/flags": "0x1003\n", f"{base}/type": "1\n", f"{base}/mtu": "1500\n",
        f"link:{base}/device": "../../../0000:02:00.0", f"link:{base}/device/driver": "../../bus/pci/drivers/ixgbe",
    } | more  # fmt: skip


def judged(rates: list[float], wire: float, *, reading: bool = True, **more: str) -> Judged:
    changed = {f"{CLASS}/eth1/{name}": text for name, text in more.items()}
    shown = [(float(s), frame(s, rates, wire, reading=reading, more=changed)) for s in (0, 10, 20, 30)]
    return Judged([NETWORK, INTERFACES, CLIENTS], [LINK_OVERSUBSCRIBED], shown, USABLE)


STORY = [0.1] * 70 + [9.3] * 10


@pytest.mark.parametrize(("reading", "word"), [(True, "reading"), (False, "writing")])
def test_the_arithmetic_of_the_story(reading: bool, word: str) -> None:  # noqa: FBT001  # a case
    finding = judged(STORY, 110e6, reading=reading).finding("eth1")
    assert finding.severity is Severity.WARNING
    assert finding.title == "LINK OVERSUBSCRIBED: 10 clients"
    assert finding.cause == f"10 of 80 {word} clients share 95.4 MiB/s; 70 others use 6.7 MiB/s."
    assert finding.impact == "8.9 MiB/s per client: 1m55 per GiB."  # 115.5 s
    assert value(finding, "each") == pytest.approx(9.3e6)
    assert value(finding, "light") == pytest.approx(7e6)
    assert finding.explains == ("link-saturated:eth1",)


def test_a_line_with_room_is_ruled_out_with_what_is_left() -> None:
    said = judged(STORY, 105e6).ruled_out("eth1").summary
    assert "80 clients, 84.0% of 119 MiB/s in use; all at once would get 1.2 MiB/s each" in said


def test_one_client_that_fills_a_line_is_no_matter_of_many() -> None:
    judged([0.1] * 9 + [99.0], 112e6).ruled_out("eth1")


def test_all_of_them_the_same() -> None:
    finding = judged([1.25] * 80, 112e6).finding("eth1")
    assert finding.summary.startswith("80 of 80 reading clients share 95.4 MiB/s. 1.2 MiB/s per client: ")


def test_one_client_is_nothing_to_say() -> None:
    assert judged([99.0], 112e6).silent()


def test_what_is_not_known_is_not_guessed() -> None:
    assert "link speed unknown" in judged(STORY, 110e6, speed="-1\n").unchecked("eth1").reason
    alone = Judged(
        [NETWORK, INTERFACES, CLIENTS], [LINK_OVERSUBSCRIBED], [(0.0, frame(0, STORY, 0.0, more={}))], USABLE
    )
    assert all("two" in said.reason for said in alone.all if hasattr(said, "reason"))
    assert alone.all
