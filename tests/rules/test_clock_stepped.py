"""clock-stepped: the time of boot moves when the clock is set."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Severity
from sdstop.rules.system.clock_stepped import CLOCK_STEPPED
from tests.nodes.frames import Judged


def judged(boots: Sequence[int]) -> Judged:
    shown = [(float(n), {"/proc/stat": f"cpu  1 2 3 4 5 6 7 8 9 10\nbtime {boot}\n"}) for n, boot in enumerate(boots)]
    return Judged([NODE], [CLOCK_STEPPED], shown)


@pytest.mark.parametrize(("boots", "title"), [
    ((5000, 5000, 5090), "CLOCK SET FORWARD by 1m30"),
    ((5000, 4998, 4998), "CLOCK SET BACK by 2.0s"),
    ((5000, 5400, 5000), "CLOCK SET FORWARD by 6m40"),
])  # fmt: skip
def test_a_step_is_mentioned(boots: Sequence[int], title: str) -> None:
    finding = judged(boots).finding("clock")
    assert (finding.severity, finding.title) == (Severity.INFO, title)


@pytest.mark.parametrize("boots", [(5000, 5000), (5000, 5001, 5000), (5000, 4999)])
def test_rounding_is_no_step(boots: Sequence[int]) -> None:
    assert judged(boots).ruled_out("clock").summary.startswith("not set in")


def test_one_sample_shows_no_step() -> None:
    assert judged((5000,)).unchecked("clock").calm
