"""What the rules say, frame by frame, of a rebuild that a real kernel (Linux 6.1) went through.

A member fails; another is added; the recovery runs against a limit of 2000 KiB/s, is frozen, runs on, and stands for
fifteen seconds at sync_max while mdstat goes on printing a speed.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdstop.collectors.md.readings import Array
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Look
from sdstop.readings.rebuild import Rebuild
from tests.fixtures import story
from tests.nodes.frames import check

RECORDING = "vm-md-rebuild"


@pytest.fixture
def looks() -> Sequence[Look]:
    return story(RECORDING).looks


def said(look: Look, rule: str) -> Finding | None:
    return next((finding for finding in look.judgement.findings if finding.rule == rule), None)


def array(look: Look) -> Array:
    return look.now.rows(Array)["md0"]


def test_degraded_is_said_exactly_while_it_is(looks: Sequence[Look]) -> None:
    assert {bool(array(look).degraded) for look in looks} == {False, True}
    for look in looks:
        finding = said(look, "array-degraded")
        assert (finding is not None) == bool(array(look).degraded)
        if finding is not None:
            check(finding)
            assert finding.severity is Severity.CRITICAL
            assert finding.impact == "vdb has the only copy of its data; losing vdb loses data."


def test_frozen_is_said_while_nothing_rebuilds(looks: Sequence[Look]) -> None:
    frozen = [look for look in looks if array(look).action == "frozen"]
    assert len(frozen) >= 15
    for look in frozen:
        finding = said(look, "array-degraded")
        assert finding is not None
        assert "no rebuild: it is frozen" in finding.cause
        assert said(look, "rebuild-running") is None
        assert said(look, "rebuild-stalled") is None


def test_a_stall_is_said_in_the_stall_alone(looks: Sequence[Look]) -> None:
    stalled = []
    for look in looks:
        finding = said(look, "rebuild-stalled")
        if finding is not None:
            check(finding)
            assert finding.severity is Severity.CRITICAL
            assert "sync_max" in finding.summary
            stalled.append(look)
    assert len(stalled) == 5  # of fifteen seconds the first ten are not yet a stall
    for look in stalled:
        (row,) = look.now.rows(Rebuild).values()
        assert row.done == row.stop
        assert row.speed is not None
        assert row.speed > 1 << 20  # what mdstat still prints
        assert said(look, "rebuild-running") is None


def test_it_runs_whenever_it_moves(looks: Sequence[Look]) -> None:
    running = [look for look in looks if said(look, "rebuild-running") is not None]
    assert len(running) >= 45
    assert all(look.now.rows(Rebuild) for look in running)


def test_the_estimate_has_the_truth_between_its_bounds(looks: Sequence[Look]) -> None:
    """The recovery moved at 2000 KiB/s, which its limit says: so long it would have taken from every frame on."""
    inside = outside = 0
    for look in looks:
        finding = said(look, "rebuild-running")
        values = {value.name: value.value for value in finding.values} if finding is not None else {}
        soonest, latest = values.get("soonest"), values.get("latest")
        if isinstance(soonest, float) and isinstance(latest, float):
            (row,) = look.now.rows(Rebuild).values()
            assert row.total is not None
            assert row.done is not None
            truth = (row.total - row.done) / (2000 * 1024)
            inside += soonest <= truth <= latest
            outside += not soonest <= truth <= latest
    assert inside >= 20
    assert outside <= inside / 5


def test_it_is_held_by_its_limit_and_that_is_not_worth_a_warning(looks: Sequence[Look]) -> None:
    found = [finding for look in looks if (finding := said(look, "rebuild-throttled")) is not None]
    assert len(found) >= 20
    assert {finding.severity for finding in found} == {Severity.INFO}  # it is done within a minute
    assert all("dev.raid.speed_limit_max" in finding.summary for finding in found)


def test_nothing_else_is_said(looks: Sequence[Look]) -> None:
    rules = {finding.rule for look in looks for finding in look.judgement.findings}
    assert rules == {"array-degraded", "rebuild-running", "rebuild-stalled", "rebuild-throttled"}
