"""Every state of every real cluster, made, recorded and judged; README.md says what that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clusters import scenario
from tests.clusters.lab import Lab, judge
from tests.clusters.scenario import Scenario

pytestmark = [pytest.mark.clusters]
MINUTES = 150.0
"""Seconds for which nothing may be found in a healthy cluster: more than the pace of its sources, but heal counts."""


@pytest.fixture(scope="module")
def labs() -> Iterator[dict[str, Lab]]:
    """The clusters that are running, by system: one at a time."""
    running: dict[str, Lab] = {}
    yield running
    for lab in running.values():
        lab.down()


def states() -> Iterator[object]:
    """Yield each state; the healthy twin of a system is recorded for minutes, too."""
    for one in scenario.every():
        needs = pytest.mark.needs(*scenario.needs(one.system))
        yield pytest.param(one, id=one.name, marks=needs)
        if one.state == scenario.HEALTHY:
            longer = replace(one, seconds=MINUTES, interval=5.0)
            yield pytest.param(longer, id=f"{one.name}-for-minutes", marks=needs)


@pytest.mark.parametrize("one", list(states()))
def test_a_state_is_judged_as_expected(one: Scenario, labs: dict[str, Lab], tmp_path: Path) -> None:
    if one.system not in labs:
        for system in list(labs):
            labs.pop(system).down()
        lab = Lab(one.system)
        lab.up()
        labs[one.system] = lab
    lab = labs[one.system]
    captures = lab.state(one, tmp_path)
    assert judge(one, captures) == []
