"""Both sides of DRBD connections: who is apart, by whose doing, and what was written there."""

from __future__ import annotations

import pytest

from sdstop.core.finding import Damage, Severity
from tests.nodes.drbd import STATUS, resource, status
from tests.nodes.drbd_sides import PROC, pair, shown, side
from tests.nodes.site import Shown, finding, found, ruled_out, site, unchecked

WELL = side("Connected", "Primary/Secondary", "UpToDate/UpToDate")
PEER = side("Connected", "Secondary/Primary", "UpToDate/UpToDate")


def test_a_healthy_pair_is_ruled_out() -> None:
    made = pair(WELL, PEER)
    assert made.judgement.findings == ()
    assert ruled_out(made, "split-brain", "drbd0") == "both sides Connected: UpToDate and UpToDate"
    assert ruled_out(made, "replication-stopped", "drbd0").startswith("both sides Connected")


def test_both_primary_without_each_other_is_a_split_brain() -> None:
    made = pair(side("StandAlone", "Primary/Unknown", oos=4096), side("StandAlone", "Primary/Unknown", oos=64))
    split = finding(made, "split-brain")
    assert (split.severity, split.damage) == (Severity.CRITICAL, Damage.DATA)
    assert (split.host, split.between) == ("", ("store1", "store2"))
    assert split.title == "SPLIT BRAIN: BOTH SIDES PRIMARY"
    assert split.cause == "Both sides write apart: 4 MiB on store1, 64 KiB on store2."
    steps = list(split.steps)
    there = next(step for step in steps if step.startswith("To discard the changes of store2 (the fewer"))
    discard = steps[steps.index(there) + 1 :]
    assert discard[:3] == [
        "drbdadm disconnect minor-0",
        "drbdadm secondary minor-0",
        "drbdadm connect --discard-my-data minor-0",
    ]
    assert discard[3] == "Then on store1, which is StandAlone too:"
    assert "cannot be undone" in there
    assert found(made, "replication-stopped") == []
    order = [episode.finding.id for episode in made.episodes()]
    assert order[0] == split.id
    assert {"store1:split-brain:drbd0/peer", "store1:cluster-degraded:drbd0", "store2:cluster-degraded:drbd0"} <= set(
        split.explains
    )


def test_neither_side_is_proposed_where_both_have_as_many_changes() -> None:
    both = side("StandAlone", "Primary/Unknown", oos=64)
    steps = finding(pair(both, both), "split-brain").steps
    (discard,) = (step for step in steps if step.startswith("To discard the changes of store1 ("))
    assert discard == "To discard the changes of store1 (64 KiB, Primary), which cannot be undone, run there:"


def test_a_side_that_was_primary_alone_before_counts() -> None:
    """store2 was written to while the cable was cut, and is Secondary again when both are seen."""
    before = side("WFConnection", "Primary/Unknown", oos=128)
    after = side("StandAlone", "Secondary/Unknown", oos=128)
    other: Shown = [(1, {PROC: before}), (6, {PROC: before}), (11, {PROC: after})]
    made = site({"store1": shown(side("StandAlone", "Primary/Unknown", oos=512)), "store2": other})
    split = finding(made, "split-brain")
    assert split.title == "SPLIT BRAIN: BOTH SIDES WRITTEN TO"
    assert any(
        step.startswith("To discard the changes of store2 (the fewer: 128 KiB, Secondary)") for step in split.steps
    )


BOTH_TRY = "NO CONNECTION: BOTH SIDES TRY"


@pytest.mark.parametrize(
    ("one", "other", "host", "title"),
    [
        (("WFConnection", "Primary/Unknown"), ("StandAlone", "Secondary/Unknown"), "store2", "ONE SIDE STANDALONE"),
        (("StandAlone", "Secondary/Unknown"), ("WFConnection", "Primary/Unknown"), "store1", "ONE SIDE STANDALONE"),
        (("StandAlone", "Primary/Unknown"), ("StandAlone", "Secondary/Unknown"), "", "BOTH SIDES STANDALONE"),
        (("WFConnection", "Primary/Unknown"), ("WFConnection", "Secondary/Unknown"), "", BOTH_TRY),
    ],
)  # fmt: skip
def test_the_side_that_keeps_them_apart_is_named(
    one: tuple[str, str], other: tuple[str, str], host: str, title: str
) -> None:
    made = pair(side(*one), side(*other))
    stopped = finding(made, "replication-stopped")
    assert (stopped.host, stopped.title, stopped.severity) == (host, title, Severity.CRITICAL)
    if host:
        assert any(f"drbdadm connect minor-0   # on {host}" in step for step in stopped.steps)
    assert ruled_out(made, "split-brain", "drbd0").startswith("nothing written on store")
    assert stopped.confidence is None


def test_a_port_without_carrier_is_blamed() -> None:
    nic = {
        "/sys/class/net/eth1/uevent": "INTERFACE=eth1\nIFINDEX=3\n",
        "/sys/class/net/eth1/type": "1\n",
        "/sys/class/net/eth1/flags": "0x1003\n",
        "/sys/class/net/eth1/operstate": "down\n",
        "/sys/class/net/eth1/carrier": "0\n",
        "/sys/class/net/eth1/mtu": "9000\n",
        "/sys/class/net/eth1/device/uevent": "DRIVER=ixgbe\n",
        "/proc/net/dev": "Inter-|   Receive  |  Transmit\n face |bytes\n",
    }
    waits = side("WFConnection", "Primary/Unknown")
    made = site(
        {
            "store1": shown(waits),
            "store2": [(1 + 5 * n, {PROC: side("WFConnection", "Secondary/Unknown"), **nic}) for n in range(4)],
        }
    )
    stopped = finding(made, "replication-stopped")
    assert stopped.host == "store2"
    assert "eth1 of store2 has no carrier" in stopped.cause
    assert {cite.key for cite in stopped.evidence if cite.host == "store2"} == {PROC, "/sys/class/net/eth1/carrier"}


CONNECTING = status(resource(state="Connecting", peer_disk="DUnknown"))


def test_a_peer_that_was_captured_and_has_no_such_resource_is_down_there() -> None:
    made = site({"store1": [(5 * n, {STATUS: CONNECTING}) for n in range(4)],
                 "store2": [(1 + 5 * n, {STATUS: status()}) for n in range(4)]})  # fmt: skip
    down = finding(made, "replication-stopped")
    assert (down.host, down.title) == ("store2", "RESOURCE DOWN ON THE PEER")
    assert "drbdadm up r0   # on store2" in down.steps


def test_a_side_whose_source_failed_is_unchecked() -> None:
    one = [(5 * n, {STATUS: CONNECTING}) for n in range(4)]
    made = site({"store1": one, "store2": [(1 + 5 * n, {STATUS: "not json"}) for n in range(4)]})
    assert found(made, "replication-stopped") == []
    assert unchecked(made, "replication-stopped", "r0").startswith("store2: drbd")


def test_one_node_alone_is_unchecked() -> None:
    made = site({"store1": shown(side("StandAlone", "Primary/Unknown", oos=4)), "other": shown("version: 8.4.11\n", 1)})
    assert found(made, "split-brain") == []
    assert unchecked(made, "split-brain", "drbd0") == "peer unnamed, and no other capture has this resource"


def test_a_peer_by_name_that_is_not_among_them_is_unchecked() -> None:
    one = [(5 * n, {STATUS: status(resource(state="StandAlone", peer_disk="DUnknown"))}) for n in range(4)]
    made = site({"store1": one, "store3": [(1 + 5 * n, {STATUS: status()}) for n in range(4)]})
    assert unchecked(made, "split-brain", "r0") == "no capture of store2"


def test_three_nodes_with_an_unnamed_peer_are_not_guessed() -> None:
    made = site({name: shown(WELL, at) for at, name in enumerate(("a", "b", "c"))})
    assert unchecked(made, "split-brain", "drbd0") == "peer unnamed, and 2 other nodes have this resource"


def test_one_side_connected_and_the_other_not_is_no_finding() -> None:
    made = pair(WELL, side("StandAlone", "Secondary/Unknown"))
    assert found(made, "replication-stopped") == []
    assert "the state is changing" in unchecked(made, "split-brain", "drbd0")


@pytest.mark.parametrize(("later", "judged"), [(585.0, True), (600.0, True), (601.0, False), (7200.0, False)])
def test_captures_of_different_times_are_not_joined(later: float, *, judged: bool) -> None:
    """Four frames of 5 s: the last ones are as far apart as the first ones; 600 s are allowed by default."""
    one, other = side("WFConnection", "Primary/Unknown"), side("StandAlone", "Secondary/Unknown")
    made = site({"store1": shown(one), "store2": shown(other, later)})
    assert bool(found(made, "replication-stopped")) is judged
    if judged:
        assert finding(made, "replication-stopped").confidence == 0.9
    else:
        apart = unchecked(made, "replication-stopped", "drbd0")
        assert apart.startswith("captures of store1, store2 are ")
        assert apart.endswith("apart by their clocks")
    said = made.headline()
    assert (said.code == 2) is True  # each node's own findings count


def test_the_time_between_captures_can_be_configured() -> None:
    one, other = side("WFConnection", "Primary/Unknown"), side("StandAlone", "Secondary/Unknown")
    config = {"replication-stopped": {"apart": 10_000.0}}
    made = site({"store1": shown(one), "store2": shown(other, 7200)}, config)
    assert finding(made, "replication-stopped").host == "store2"


def test_a_fault_that_ends_while_both_are_watched_is_over() -> None:
    cut = side("WFConnection", "Primary/Unknown"), side("StandAlone", "Secondary/Unknown")
    frames = [(5.0 * n, {PROC: cut[0] if n < 3 else WELL}) for n in range(6)]
    others = [(5.0 * n + 1, {PROC: cut[1] if n < 3 else PEER}) for n in range(6)]
    made = site({"store1": frames, "store2": others})
    assert found(made, "replication-stopped") == []
    assert ruled_out(made, "replication-stopped", "drbd0").startswith("both sides Connected")
    (episode,) = (e for e in made.episodes() if e.finding.rule == "replication-stopped")
    assert episode.until is not None
    assert 5 <= episode.until - episode.since <= 15
