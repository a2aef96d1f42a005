"""What real clusters answered, replayed: every state is judged as its scenario expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdstop.cli import command
from sdstop.readings.cluster import ClusterPool
from tests.clusters import scenario
from tests.clusters.scenario import HEALTHY, RECORDED, Scenario
from tests.expectation import Misdeclared, course, differences

STORIES = Path(__file__).parent.parent.parent / "fixtures"
TAKEN = [(one, node) for one in scenario.every() for node in one.nodes]


@pytest.mark.parametrize(("one", "node"), [pytest.param(*taken, id=f"{taken[0].name}@{taken[1]}") for taken in TAKEN])
def test_a_recording_is_judged_as_its_scenario_expects(one: Scenario, node: int) -> None:
    path = one.recording(node)
    assert path.is_file(), f"python -m tests.clusters record {one.system} {one.state}"
    assert differences(one.expected_of(node), course(path)) == []
    assert path.stat().st_size < 100_000


def test_every_recording_belongs_to_a_scenario() -> None:
    assert {path.name for path in RECORDED.glob("*.tar.gz")} == {one.recording(node).name for one, node in TAKEN}


@pytest.mark.parametrize("system", scenario.systems())
def test_every_system_has_a_healthy_twin_of_which_nothing_is_said(system: str) -> None:
    twin = scenario.load(system, HEALTHY)
    assert twin.load
    assert all(not one.expect.found and not one.expect.allowed for one in twin.expect)


def test_nothing_is_said_of_a_healthy_powerflex_for_minutes() -> None:
    """It cannot run here, so that its twin is a story: 14 answers of a gateway, all with load."""
    said = course(STORIES / "scaleio-roomy")
    assert said.seconds[-1] >= 120
    assert all(not judgement.findings for judgement in said.judgements)
    loads = [
        row for row in said.session.head().window.rows(ClusterPool).values() if (row.reads or 0) + (row.writes or 0)
    ]
    assert loads
    good = {each.rule for each in said.judgements[-1].ruled_out}
    assert {"cluster-degraded", "mdm-no-redundancy", "spare-below-fault-set", "capacity-near-full"} <= good


def test_a_cluster_that_rejects_the_key_of_this_node_is_not_ok(capsys: pytest.CaptureFixture[str]) -> None:
    path = RECORDED / "ceph-key-rejected.tar.gz"
    assert command.execute(["check", "--from", str(path)]) == 3
    assert "the monitors reject the key of this node's keyring" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"about": "a", "expect": [{"found": []}], "colour": "red"}, "colour: no such key"),
        ({"about": "a", "expect": [{"found": []}], "seconds": "8"}, "seconds: '8' has the wrong type"),
        ({"expect": [{"found": []}]}, "about: say"),
        ({"about": "a"}, "expect: say what"),
        ({"about": "a", "expect": [{"found": ["odd"]}]}, "write severity, rule, subject"),
        ({"about": "a", "expect": [{"node": 3, "found": []}]}, "no capture is taken on node 3"),
        ({"about": "a", "nodes": [1, 2], "expect": [{"found": []}]}, "nothing is said of node 2"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(declared: dict[str, object], said: str) -> None:
    with pytest.raises(Misdeclared, match=said):
        scenario.parse("ceph", "x", declared)


def test_recordings_are_named_after_state_and_node() -> None:
    one = scenario.parse("drbd", "cable-cut", {"about": "a", "nodes": [1, 2], "expect": [{}, {"node": 2}]})
    assert [one.recording(node) for node in one.nodes] == [
        Path(RECORDED / "drbd-cable-cut.tar.gz"),
        Path(RECORDED / "drbd-cable-cut@2.tar.gz"),
    ]
