"""Every state of every real cluster, made, recorded and judged; README.md says what that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters import scenario
from tests.clusters.lab import Lab, judge
from tests.clusters.scenario import Scenario

pytestmark = [pytest.mark.clusters]


@pytest.fixture(scope="module")
def labs() -> Iterator[dict[str, Lab]]:
    """The clusters that are running, by system: one at a time."""
    running: dict[str, Lab] = {}
    yield running
    for lab in running.values():
        lab.down()


def states() -> list[object]:
    return [
        pytest.param(one, id=one.name, marks=pytest.mark.needs(*scenario.needs(one.system))) for one in scenario.every()
    ]


@pytest.mark.parametrize("one", states())
def test_a_state_is_judged_as_expected(one: Scenario, labs: dict[str, Lab], tmp_path: Path) -> None:
    if one.system not in labs:
        for system in list(labs):
            labs.pop(system).down()
        lab = Lab(one.system)
        lab.up()
        labs[one.system] = lab
    lab = labs[one.system]
    lab.enter(one)
    try:
        captures = lab.record(one, tmp_path)
    finally:
        lab.leave(one)
    assert judge(one, captures) == []
