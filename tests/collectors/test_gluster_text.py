"""Texts of gluster volume status and heal info."""

from __future__ import annotations

import pytest

from sdstop.collectors.gluster.printed import (
    GLUSTER_TEXT,
    Healing,
    parse_heal,
    parse_info,
    parse_peer_status,
    parse_status,
)
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.gluster.gluster_heal_pending import GLUSTER_HEAL_PENDING
from sdstop.rules.gluster.gluster_split_brain import GLUSTER_SPLIT_BRAIN
from sdstop.rules.gluster.gluster_volume_degraded import GLUSTER_VOLUME_DEGRADED
from tests.nodes.frames import Judged

HEAD = "Status of volume: gv0\nGluster process                             TCP Port  RDMA Port  Online  Pid\n"
LINE = f"{'-' * 78}\n"
TAIL = " \nTask Status of Volume gv0\n" + LINE + "There are no active volume tasks\n \n"


def status(*rows: tuple[str, bool]) -> str:
    shown = "".join(
        f"{name:<44}{'49152' if up else 'N/A':<10}{'0' if up else 'N/A':<11}{'Y' if up else 'N':<8}"
        f"{'1201' if up else 'N/A':<5}\n"
        for name, up in rows
    )
    return f"{HEAD}{LINE}{shown}{TAIL}"


def judged(key: str, text: str) -> Judged:
    rules = [CLUSTER_DEGRADED, GLUSTER_VOLUME_DEGRADED, GLUSTER_HEAL_PENDING, GLUSTER_SPLIT_BRAIN]
    return Judged((GLUSTER_TEXT,), rules, [(0.0, {key: text})])


STATUS = "cmd:gluster volume status"


def test_a_brick_that_is_offline_is_a_finding() -> None:
    said = judged(STATUS, status(("Brick n1:/b", True), ("Brick n2:/b", False)))
    finding = said.finding("gv0", "gluster-volume-degraded")
    assert (finding.severity, finding.cause) == (Severity.WARNING, "1 of 2 bricks offline: n2:/b.")
    assert "Brick n2:/b" in finding.evidence[0].excerpt


def test_bricks_that_are_online_are_not() -> None:
    said = judged(STATUS, status(("Brick n1:/b", True), ("Brick n2:/b", True), ("NFS Server on localhost", False)))
    assert isinstance(said.of("gv0"), RuledOut)


def test_a_long_name_is_in_two_lines() -> None:
    name = "Brick server-with-a-long-name.example.net:/srv/gluster/brick1"
    text = f"{HEAD}{LINE}{name[:43]}\n{status((name[43:], False)).split(LINE)[1]}"
    ((process,),) = parse_status(text).values()
    assert (process.name, process.is_brick, process.is_online) == (name.removeprefix("Brick "), True, False)


@pytest.mark.parametrize("end", ["\n", "\nTask Status of Volume gv0\n", ""])
def test_half_a_name_is_malformed(end: str) -> None:
    with pytest.raises(Malformed):
        parse_status(f"{HEAD}{LINE}Brick server-with-a-long-name.example.net:/{end}")


HEAL = "cmd:gluster volume heal gv0 info"
ONE = "Brick n1:/b\n/vm.img\nStatus: Connected\nNumber of entries: {}\n\nBrick n2:/b\nStatus: Connected\n"


@pytest.mark.parametrize(
    ("text", "healing"),
    [
        (ONE.format(3) + "Number of entries: 0\n", Healing(3, 0, 0)),
        (ONE.format(3).replace("/vm.img", "/vm.img - Is in split-brain") + "Number of entries: 1\n", Healing(3, 1, 0)),
        (ONE.format(3) + "Number of entries: -\n", Healing(3, 0, 1)),
        ("Brick n1:/b\n/x\nStatus: Connected\nNumber of entries in split-brain: 1\n", Healing(None, 1, 0)),
        (
            (
                "Brick n1:/b\nStatus: Connected\nTotal Number of entries: 9\nNumber of entries in heal pending: 8\n"
                "Number of entries in split-brain: 2\nNumber of entries possibly healing: 1\n"
            ),
            Healing(9, 2, 0),
        ),
    ],
)
def test_entries_to_heal(text: str, healing: Healing) -> None:
    assert parse_heal(text) == healing


@pytest.mark.parametrize("text", ["", "Brick n1:/b\nStatus: Connected\n", ONE.format(1)])
def test_a_brick_without_its_count_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_heal(text)


def test_split_brain_alone_does_not_show_what_waits() -> None:
    text = "Brick n1:/b\nStatus: Connected\nNumber of entries in split-brain: {}\n\n"
    said = judged(f"{HEAL} split-brain", text.format(0))
    assert isinstance(said.of("gv0", "gluster-split-brain"), RuledOut)
    pending = said.of("gv0", "gluster-heal-pending")
    assert isinstance(pending, Unchecked)
    assert pending.calm
    finding = judged(f"{HEAL} split-brain", text.format(2)).finding("gv0", "gluster-split-brain")
    assert (finding.severity, finding.cause) == (Severity.CRITICAL, "2 entries in split brain.")


def test_a_brick_that_did_not_answer_is_not_good() -> None:
    said = judged(HEAL, ONE.format(0) + "Number of entries: -\n")
    verdicts = [said.of("gv0", rule) for rule in ("gluster-split-brain", "gluster-heal-pending")]
    assert [each.gap for each in verdicts if isinstance(each, Unchecked)] == [Gap.OPEN, Gap.OPEN]


def test_where_xml_was_recorded_the_text_is_not_used() -> None:
    files = {STATUS: status(("Brick n1:/b", False)), "cmd:gluster --mode=script --xml volume info": "<cliOutput/>"}
    said = Judged((GLUSTER_TEXT,), [GLUSTER_VOLUME_DEGRADED], [(0.0, files)])
    assert not [each for each in said.all if isinstance(each, Finding)]


def peers(*states: str, count: int | None = None) -> str:
    rows = (
        f"\nHostname: n{number}\nUuid: 5a7a1f7e-5d0c-4d44-9b0e-0c7d8a7f3c1{number}\nState: {state}\n"
        for number, state in enumerate(states, 2)
    )
    return f"Number of Peers: {len(states) if count is None else count}\n{''.join(rows)}"


PEERS = "cmd:gluster peer status"
IN, OUT = "Peer in Cluster (Connected)", "Peer in Cluster (Disconnected)"


@pytest.mark.parametrize(
    ("states", "title"),
    [
        ((IN, IN), None),
        ((IN, OUT), "SERVER OUT OF REACH"),
        ((OUT, OUT), "THIS SERVER IS ALONE"),
        ((IN, "Peer Rejected (Connected)"), "SERVER OUT OF REACH"),
    ],
)
def test_the_servers_of_a_pool(states: tuple[str, ...], title: str | None) -> None:
    said = judged(PEERS, peers(*states)).of("gluster", "cluster-degraded")
    assert (said.title if isinstance(said, Finding) else None) == title
    assert isinstance(said, Finding | RuledOut)


def test_other_names_of_a_server_are_passed_over() -> None:
    assert [peer.name for peer in parse_peer_status(f"{peers(IN)}Other names:\nn2.example.net\n")] == ["n2"]


@pytest.mark.parametrize("text", [peers(IN, count=2), peers(IN, "Peer in Cluster"), "Number of Peers: 1\n"])
def test_a_list_of_servers_that_is_cut_off_is_not_understood(text: str) -> None:
    with pytest.raises(Malformed):
        parse_peer_status(text)


def info(bricks: int, listed: int, kind: str = "Replicate", state: str = "Started", layout: str = "1 x 2 = ") -> str:
    rows = "".join(f"Brick{n}: n{n}:/b\n" for n in range(1, listed + 1))
    return (
        f" \nVolume Name: gv0\nType: {kind}\nVolume ID: 5a7a1f7e-5d0c-4d44-9b0e-0c7d8a7f3c11\nStatus: {state}\n"
        f"Number of Bricks: {layout}{bricks}\nTransport-type: tcp\nBricks:\n{rows}"
    )


@pytest.mark.parametrize(
    ("kind", "layout", "copies", "arbiters", "dispersed", "redundancy"),
    [
        ("Distribute", "", 1, 0, 0, 0),
        ("Replicate", "1 x 3 = ", 3, 0, 0, 0),
        ("Replicate", "1 x (2 + 1) = ", 3, 1, 0, 0),
        ("Disperse", "1 x (2 + 1) = ", 1, 0, 3, 1),
    ],
)
def test_the_layout_of_a_volume(  # a table
    kind: str, layout: str, copies: int, arbiters: int, dispersed: int, redundancy: int
) -> None:
    (volume,) = parse_info(info(3, 3, kind, layout=layout))
    assert (volume.copies, volume.arbiters) == (copies, arbiters)
    assert (volume.dispersed, volume.redundancy, len(volume.bricks)) == (dispersed, redundancy, 3)


@pytest.mark.parametrize("text", ["", info(2, 1), info(2, 2, layout="two x "), info(2, 2).replace("Status", "State")])
def test_a_list_that_lacks_bricks_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_info(text)


def test_a_volume_of_which_no_status_is_shown_is_not_good() -> None:
    assert isinstance(judged("cmd:gluster volume info", info(2, 2)).of("gv0"), Unchecked)
    assert isinstance(judged("cmd:gluster volume info", info(2, 2, state="Stopped")).of("gv0"), RuledOut)
