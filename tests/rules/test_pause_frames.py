"""pause-frames: names of several drivers, and the rate from which a switch is reported."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.pause import PAUSE, parse
from sdstop.collectors.network.readings import PauseFrames
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.rules.network.pause_frames import PAUSE_FRAMES
from tests.nodes.frames import Judged
from tests.nodes.network import Nic, files

NAME = "pause-frames"


@pytest.mark.parametrize(
    ("text", "received", "sent"),
    [
        ("     rx_pause_ctrl_phy: 10234\n     tx_pause_ctrl_phy: 7\n     rx_prio3_pause: 10234\n", 10234, 7),
        ("     rx_prio3_pause: 40\n     rx_prio4_pause: 2\n     rx_prio3_pause_duration: 99\n", 42, None),
        ("     rx_flow_control_xon: 5\n     rx_flow_control_xoff: 6\n     tx_flow_control_xoff: 0\n", 6, 0),
        ("     port.link_xoff_rx: 3\n     port.tx_priority_3_xoff: 4\n", 3, 4),
        ("     rx_xoff_pause_rcvd: 8\n     tx_xoff_sent: 9\n", 8, 9),
        ("     rx_bytes: 8\nno numbers: at all\n", None, None),
        ("", None, None),
    ],
)
def test_names_of_drivers(text: str, received: int | None, sent: int | None) -> None:
    assert parse(text) == (received, sent)


def judged(*counts: tuple[int, int], every: float = 120.0) -> Judged:
    nics = (Nic("ens1", kind="physical"), Nic("veth7", kind="veth"))
    shown = []
    for n, (received, sent) in enumerate(counts):
        text = f"     rx_pause_ctrl_phy: {received}\n     tx_pause_ctrl_phy: {sent}\n"
        shown.append((every * n, {**files(*nics), "cmd:ethtool --statistics ens1": text}))
    return Judged((PAUSE,), [PAUSE_FRAMES], shown)


def test_physical_interfaces_have_a_row() -> None:
    assert dict(judged((10, 2)).window.rows(PauseFrames)) == {"ens1": PauseFrames("ens1", 10, 2)}


def test_a_card_that_counts_none_has_no_row() -> None:
    with pytest.raises(Absent):
        list(PAUSE.read(EvidenceHost.of({**files(Nic("ens1")), "cmd:ethtool --statistics ens1": "     rx_bytes: 4\n"})))


@pytest.mark.parametrize(("new", "found"), [(11_999, False), (12_000, True)])
def test_a_hundred_frames_a_second(new: int, found: bool) -> None:  # noqa: FBT001
    said = judged((5000, 0), (5000 + new, 1))
    if found:
        finding = said.finding("ens1", NAME)
        assert (finding.title, finding.cause) == (
            "PAUSED BY THE SWITCH: 100/s",
            "The interface received 100 pause frames per second.",
        )
    else:
        assert said.ruled_out("ens1", NAME).summary.startswith("pause frames: received ")


def test_a_node_that_pauses_the_switch() -> None:
    assert judged((0, 5), (0, 240_005)).finding("ens1", NAME).title == "PAUSES THE SWITCH: 2000/s"


def test_one_sample_decides_nothing() -> None:
    assert judged((9_000_000, 0)).unchecked("ens1", NAME).calm
